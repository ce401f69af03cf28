//! What it costs to parse and analyse a text: a point SELECT, many columns and predicates, a join of three.

use std::hint::black_box;

use analysis::{Context, analyze};
use criterion::{Criterion, criterion_group, criterion_main};

#[path = "../tests/it/shop.rs"]
mod shop;

const POINT: &str = "SELECT title, price FROM item WHERE id = 4711";

const JOIN: &str = "SELECT a.title, b.day, c.price FROM item a JOIN sale b ON b.item = a.id \
    JOIN item c ON c.id = b.item WHERE a.price > 10 AND b.day >= '2024-01-01' ORDER BY b.day LIMIT 10";

/// 27 columns and 9 predicates.
fn wide() -> String {
    let columns: Vec<String> =
        (0..27).map(|n| format!("{} AS c{n}", ["id", "title", "price"][n % 3])).collect();
    let predicates: Vec<String> = (0..9)
        .map(|n| match n % 3 {
            0 => format!("id > {n}"),
            1 => format!("title <> 'title {n}'"),
            _ => format!("price < {n}.5"),
        })
        .collect();
    format!("SELECT {} FROM item WHERE {}", columns.join(", "), predicates.join(" AND "))
}

fn analysed(text: &str, shop: &shop::Shop) -> usize {
    let tree = syntax::parse(text).expect("a text that PostgreSQL takes");
    let statement = tree.statements().next().expect("a statement");
    let analysis = analyze(text, statement.node, shop, &Context::default(), &[]);
    analysis.expect("a statement that PostgreSQL takes").query.targets.len()
}

fn texts(c: &mut Criterion) {
    let (shop, wide) = (shop::Shop::new(), wide());
    let texts =
        [("point", POINT), ("27 columns, 9 predicates", wide.as_str()), ("join of three", JOIN)];
    for (name, text) in texts {
        c.bench_function(&format!("parse and analyse, {name}"), |b| {
            b.iter(|| analysed(black_box(text), &shop));
        });
    }
}

criterion_group!(benches, texts);
criterion_main!(benches);
