//! From `submit` to the answers: a lone point query, and 1,024 at once of the bookstore's heavy statements, each with
//! parameters of its own.

#[path = "../tests/it/bookstore.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod bookstore;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::heartbeat::{Engine, Sharing, Template};
use engine::types::Value;

const ITEMS: i32 = 10_000;
const ORDERS: i32 = 26_000;
const BATCH: usize = 1024;

fn shop() -> Arc<Engine> {
    let engine = bookstore::engine(Sharing::Always, 2);
    bookstore::fill(engine.store(), ITEMS, ORDERS);
    engine
}

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into().into())
}

fn subject(i: usize) -> Value {
    text(bookstore::SUBJECTS[i % bookstore::SUBJECTS.len()])
}

/// How many of the last orders count: 1,000 to 4,000, different for most.
fn window(i: usize) -> i32 {
    1000 + (i * 7919 % 3000) as i32
}

fn point(criterion: &mut Criterion) {
    let engine = shop();
    let mut group = criterion.benchmark_group("lone");
    for (name, plan) in [
        ("item by id", bookstore::item_by_id()),
        ("product detail", bookstore::product_detail()),
        ("promotion", bookstore::promotion()),
    ] {
        let template = engine.register(plan).expect("it is shareable");
        let mut i = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                i = i % ITEMS + 1;
                bookstore::lone(&engine, &template, vec![Value::Integer(i)], |answer| {
                    assert!(black_box(answer).rows() > 0);
                });
            });
        });
    }
    let template = engine.register(bookstore::lines_of_newest_order()).expect("it is shareable");
    group.bench_function("lines of newest order", |bencher| {
        bencher.iter(|| {
            bookstore::lone(&engine, &template, vec![], |answer| {
                assert!(black_box(answer).rows() > 0);
            });
        });
    });
    let template = engine.register(bookstore::new_products()).expect("it is shareable");
    group.bench_function("new products", |bencher| {
        bencher.iter(|| {
            bookstore::lone(&engine, &template, vec![subject(3)], |answer| {
                assert!(black_box(answer).rows() > 0);
            });
        });
    });
}

fn at_once(
    criterion: &mut Criterion,
    name: &str,
    engine: &Engine,
    template: &Arc<Template>,
    parameters: impl Fn(usize) -> Vec<Value>,
) {
    let mut group = criterion.benchmark_group("at once");
    group.throughput(Throughput::Elements(BATCH as u64)).sample_size(10);
    let requests: Vec<Vec<Value>> = (0..BATCH).map(parameters).collect();
    group.bench_function(name, |bencher| {
        bencher.iter(|| bookstore::at_once(engine, template, &requests));
    });
}

fn batches(criterion: &mut Criterion) {
    let engine = shop();
    let template = engine.register(bookstore::best_sellers()).expect("it is shareable");
    at_once(criterion, "best sellers", &engine, &template, |i| {
        vec![subject(i), Value::Integer(ORDERS - window(i))]
    });
    let template = engine.register(bookstore::title_search()).expect("it is shareable");
    at_once(criterion, "title search", &engine, &template, |i| vec![text(format!("%{i} of%"))]);
    let template = engine.register(bookstore::new_products()).expect("it is shareable");
    at_once(criterion, "new products", &engine, &template, |i| vec![subject(i)]);
    let template = engine.register(bookstore::item_by_id()).expect("it is shareable");
    at_once(criterion, "item by id", &engine, &template, |i| vec![Value::Integer(i as i32 + 1)]);
}

criterion_group!(benches, point, batches);
criterion_main!(benches);
