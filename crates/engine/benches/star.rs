//! The Star Schema Benchmark's queries with random parameters, one at a time and many at once, on 6 million fact rows.
//!
//! `ROWS` sets the number of fact rows.

#[path = "../tests/it/bookstore.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod bookstore;
#[path = "../tests/it/star_schema.rs"]
mod star_schema;

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::heartbeat::{Sharing, Template};
use engine::types::Value;

use self::star_schema::{Numbers, Query};

fn star(criterion: &mut Criterion) {
    let rows = std::env::var("ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(6_000_000);
    let engine = bookstore::engine(Sharing::Always, 2);
    star_schema::fill(engine.store(), rows);
    engine.store().tables().iter().for_each(|table| {
        table.statistics();
    });
    let queries: Vec<Query> = star_schema::queries();
    let register = |(plan, _): &Query| engine.register(plan.clone()).expect("it is shareable");
    let templates: Vec<Arc<Template>> = queries.iter().map(register).collect();
    let mut numbers = Numbers(1);
    let mut request = |i: usize| {
        let place = i % queries.len();
        (templates[place].clone(), queries[place].1(&mut numbers))
    };
    let mut group = criterion.benchmark_group("star");
    group.sample_size(10);
    for (template, query) in templates.iter().zip(&queries) {
        let mut numbers = Numbers(3);
        group.bench_function(&*query.0.text, |bencher| {
            bencher.iter(|| {
                let requests = [(template.clone(), query.1(&mut numbers))];
                bookstore::together(&engine, &requests);
            });
        });
    }
    for batch in [13, 64, 256, 1024] {
        group.throughput(Throughput::Elements(batch as u64));
        let requests: Vec<(Arc<Template>, Vec<Value>)> = (0..batch).map(&mut request).collect();
        group.bench_function(format!("{batch} at once"), |bencher| {
            bencher.iter(|| bookstore::together(&engine, &requests));
        });
    }
}

criterion_group!(benches, star);
criterion_main!(benches);
