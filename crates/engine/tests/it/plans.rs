//! Golden texts: what EXPLAIN says of the bookstore's statements, and what the tables about the engine say.

use std::sync::Arc;

use engine::heartbeat::{Engine, Sharing};
use engine::plan::{AggregateFunction, PlanNode, TemplatePlan};
use engine::system;
use engine::types::{Comparison, DataType, Value};

use crate::{bookstore, golden};

fn shop() -> Arc<Engine> {
    let engine = bookstore::engine(Sharing::Always, 0);
    bookstore::fill(engine.store(), 10_000, 8_000);
    engine
}

fn all() -> Vec<(&'static str, TemplatePlan)> {
    vec![
        ("item by id", bookstore::item_by_id()),
        ("product detail", bookstore::product_detail()),
        ("promotion", bookstore::promotion()),
        ("new products", bookstore::new_products()),
        ("title search", bookstore::title_search()),
        ("best sellers", bookstore::best_sellers()),
        ("lines of newest order", bookstore::lines_of_newest_order()),
    ]
}

#[test]
fn each_statement_has_its_path() {
    let engine = shop();
    let templates: Vec<_> = all()
        .into_iter()
        .map(|(name, plan)| (name, engine.register(plan).expect("it is shareable")))
        .collect();
    let mut text = String::new();
    for (name, template) in &templates {
        let path = engine.explain(template, &[], None);
        text.push_str(&format!("-- {name}: {}\n{path}\n", template.plan.text));
    }
    golden::check("plans", &text);
}

/// `WITH sold AS (SELECT ol_i_id, SUM(ol_qty) q FROM order_line WHERE ol_o_id > $n GROUP BY ol_i_id)`
fn sold(parameter: usize) -> PlanNode {
    let lines = vec![bookstore::compare(1, Comparison::Greater, parameter)];
    PlanNode::Aggregate {
        input: Box::new(bookstore::scan(bookstore::ORDER_LINE, lines)),
        keys: vec![2],
        aggregates: vec![bookstore::aggregate(AggregateFunction::Sum, Some(3), DataType::BigInt)],
    }
}

/// `SELECT * FROM a JOIN b ON a.q = b.q`
fn of_equal_sales(a: PlanNode, b: PlanNode, text: &str) -> TemplatePlan {
    let output =
        ["a", "q", "b", "q"].into_iter().zip([DataType::Integer, DataType::BigInt].repeat(2));
    let output: Vec<_> = output.collect();
    bookstore::template(bookstore::join(a, b, &[(1, 1)]), &output, &[DataType::Integer; 2], text)
}

#[test]
fn equal_sub_plans_are_one_node() {
    let engine = shop();
    let much = |input| PlanNode::Filter {
        input: Box::new(input),
        predicates: vec![bookstore::compare(1, Comparison::Greater, 1)],
    };
    let mut text = String::new();
    for plan in [
        of_equal_sales(sold(0), sold(0), "on both sides"),
        of_equal_sales(much(sold(0)), sold(0), "below a filter and beside it"),
        of_equal_sales(sold(0), sold(1), "with another parameter"),
        of_equal_sales(much(sold(0)), much(sold(0)), "with all that is above"),
    ] {
        let template = engine.register(plan).expect("it is shareable");
        let path = engine.explain(&template, &[], None);
        text.push_str(&format!("-- {}\n{path}\n", template.plan.text));
    }
    golden::check("reuse", &text);
}

fn show(engine: &Engine, name: &str, columns: &[&str]) -> String {
    let table = system::TABLES.iter().find(|table| table.name == name).expect("it is one of ours");
    let position = |c: &&str| table.columns.iter().position(|(name, _)| name == c);
    let positions: Vec<usize> = columns.iter().map(|c| position(c).expect("a column")).collect();
    let cell = |value: &Value| match value {
        Value::Text(text) => text.to_string(),
        Value::BigInt(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let line = |row: Vec<Value>| {
        let cells: Vec<String> = positions.iter().map(|p| cell(&row[*p])).collect();
        format!("{}\n", cells.join(" | "))
    };
    (table.rows)(engine).into_iter().map(line).collect()
}

#[test]
fn the_engine_tells_about_itself() {
    let engine = shop();
    let templates: Vec<_> =
        all().into_iter().map(|(_, plan)| engine.register(plan).expect("shareable")).collect();
    let subject = |s: &str| vec![Value::Text(s.into())];
    let requests = vec![
        (templates[0].clone(), vec![Value::Integer(7)]),
        (templates[3].clone(), subject("ARTS")),
        (templates[3].clone(), subject("ARTS")),
        (templates[3].clone(), subject("YOUTH")),
    ];
    for answer in bookstore::run(&engine, requests) {
        answer.expect("they succeed");
    }
    engine.unregister(templates[4].id);
    let mut text = String::new();
    for (name, columns) in [
        ("templates", &["template", "lane", "weight", "operators", "statement"][..]),
        ("lanes", &["lane", "weight", "templates", "heartbeats", "activations", "refused"]),
        ("operators", &["node", "lane", "templates", "heartbeats", "rows", "operator"]),
        ("heartbeats", &["heartbeat", "lane", "activations", "requests", "operators", "rows"]),
    ] {
        text.push_str(&format!(
            "{name}: {}\n{}\n",
            columns.join(" | "),
            show(&engine, name, columns)
        ));
    }
    golden::check("system", &text);
}
