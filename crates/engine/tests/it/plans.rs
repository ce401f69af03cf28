//! Golden texts: what EXPLAIN says of the bookstore's statements, and what the tables about the engine say.

use std::sync::Arc;

use engine::heartbeat::{Engine, Sharing};
use engine::plan::TemplatePlan;
use engine::system;
use engine::types::Value;

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
