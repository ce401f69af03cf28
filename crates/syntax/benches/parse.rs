//! What a text costs until its tree is there and checked.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use syntax::parse;

fn joined(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(separator)
}

/// 27 columns and 9 predicates.
fn wide() -> String {
    let columns = joined(27, ", ", |at| format!("column_{at}"));
    let predicates = joined(9, " AND ", |at| format!("column_{at} = {at}"));
    format!("SELECT {columns} FROM some_table WHERE {predicates} ORDER BY column_1 DESC LIMIT 10")
}

fn texts() -> Vec<(&'static str, String)> {
    let mut union = "SELECT 1".to_owned();
    (0..1_000).for_each(|at| write!(union, " UNION ALL SELECT {at}").expect("a String takes all"));
    vec![
        ("point SELECT", "SELECT a FROM t WHERE id = 4711".to_owned()),
        ("27 columns, 9 predicates", wide()),
        (
            "join of three",
            "SELECT a.x, b.y, c.z FROM a JOIN b ON a.id = b.a_id JOIN c ON b.id = c.b_id WHERE a.x > 5 AND c.z = 'x'".to_owned(),
        ),
        ("IN list of 1,000", format!("SELECT a FROM t WHERE id IN ({})", joined(1_000, ",", |at| at.to_string()))),
        ("INSERT of 1,000 rows of 3", format!("INSERT INTO t VALUES {}", joined(1_000, ",", |at| format!("({at},'text {at}',{at}.5)")))),
        ("literal of 100,000", format!("SELECT '{}'", "x".repeat(100_000))),
        ("1,000 UNION ALL", union),
        ("50,000 ANDs", format!("SELECT {}", joined(50_000, " AND ", |_| "true".to_owned()))),
    ]
}

fn parses(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    for (name, text) in texts() {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| b.iter(|| parse(black_box(&text)).expect("it is SQL")));
    }
    group.finish();
    c.bench_function("refuse a text", |b| b.iter(|| parse(black_box("SELECT a FROM FROM t"))));
}

criterion_group!(benches, parses);
criterion_main!(benches);
