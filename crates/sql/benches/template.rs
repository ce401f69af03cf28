//! What a known statement costs from its text to its parameters.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use engine::types::DataType;
use sql::template::{TemplateCache, lift, parse};

const BEST_SELLERS: &str = "SELECT i_id, i_title, a_fname, a_lname, SUM(ol_qty) v FROM order_line \
    JOIN item ON ol_i_id = i_id JOIN author ON i_a_id = a_id \
    WHERE ol_o_id > (SELECT MAX(o_id) - 3333 FROM orders) AND i_subject = 'ARTS' \
    GROUP BY i_id, i_title, a_fname, a_lname ORDER BY v DESC LIMIT 50";

fn cached(text: &str, types: &[DataType]) -> TemplateCache<()> {
    let cache = TemplateCache::new(1000);
    let statement = parse(text).expect("the statement is SQL").remove(0);
    cache.insert(&lift(text, statement), &[], types, Arc::new(()), |_| true, |_| true);
    cache
}

fn hit(c: &mut Criterion) {
    let point = "SELECT c_fname, c_lname FROM customer WHERE c_id = 4711";
    let cache = cached(point, &[DataType::Integer]);
    c.bench_function("template hit, point query", |b| {
        b.iter(|| cache.find(black_box(point), &[], |_| true).expect("cached"));
    });
    let types = [DataType::Integer, DataType::Text, DataType::BigInt];
    let cache = cached(BEST_SELLERS, &types);
    c.bench_function("template hit, best sellers", |b| {
        b.iter(|| cache.find(black_box(BEST_SELLERS), &[], |_| true).expect("cached"));
    });
}

fn miss(c: &mut Criterion) {
    c.bench_function("parse and lift, best sellers", |b| {
        b.iter(|| {
            let statement = parse(black_box(BEST_SELLERS)).expect("the statement is SQL").remove(0);
            lift(BEST_SELLERS, statement)
        });
    });
}

criterion_group!(benches, hit, miss);
criterion_main!(benches);
