//! Batches of bookstore statements.

use std::sync::Arc;

use engine::heartbeat::{Engine, Sharing};
use engine::types::Value;

use crate::bookstore::{self, SUBJECTS};

fn shop(sharing: Sharing) -> Arc<Engine> {
    let engine = bookstore::engine(sharing, 2);
    bookstore::fill(engine.store(), 1000, 600);
    engine
}

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

#[test]
fn a_point_query_finds_its_row() {
    let engine = shop(Sharing::Always);
    let template = engine.register(bookstore::item_by_id()).expect("it is shareable");
    let answers = bookstore::run(&engine, vec![(template, vec![Value::Integer(42)])]);
    assert_eq!(answers, [Ok(vec![vec![Value::Integer(42), text("title 42 of 42")]])]);
}

#[test]
fn a_batch_of_point_queries_gives_each_its_own() {
    let engine = shop(Sharing::Always);
    let template = engine.register(bookstore::item_by_id()).expect("it is shareable");
    let request = |i| (template.clone(), vec![Value::Integer(i)]);
    let answers = bookstore::run(&engine, (995..1005).map(request).collect());
    for (i, answer) in (995..).zip(answers) {
        let found = if i <= 1000 {
            vec![vec![Value::Integer(i), text(&format!("title {} of {i}", i % 97))]]
        } else {
            vec![]
        };
        assert_eq!(answer, Ok(found));
    }
}

#[test]
fn a_join_by_primary_key_is_a_chain_of_probes() {
    let engine = shop(Sharing::Always);
    let template = engine.register(bookstore::product_detail()).expect("it is shareable");
    let answers = bookstore::run(&engine, vec![(template, vec![Value::Integer(42)])]);
    assert_eq!(answers, [Ok(vec![vec![text("title 42 of 42"), text("name9")]])]);
}

#[test]
fn related_items_are_looked_up_one_by_one() {
    let engine = shop(Sharing::Always);
    let template = engine.register(bookstore::promotion()).expect("it is shareable");
    let answers = bookstore::run(&engine, vec![(template, vec![Value::Integer(42)])]);
    let row = |i: i32| vec![Value::Integer(i), text(&format!("title {} of {i}", i % 97))];
    assert_eq!(answers, [Ok(vec![row(43), row(50)])]);
}

#[test]
fn a_heavy_batch_gives_each_its_own() {
    let engine = shop(Sharing::Always);
    let template = engine.register(bookstore::new_products()).expect("it is shareable");
    let requests = SUBJECTS.iter().map(|s| (template.clone(), vec![text(s)])).collect();
    for answer in bookstore::run(&engine, requests) {
        assert!(answer.expect("it succeeds").len() > 40);
    }
}

#[test]
fn best_sellers_shared_equal_best_sellers_alone() {
    let requests = |engine: &Engine| {
        let template = engine.register(bookstore::best_sellers()).expect("it is shareable");
        let pairs = SUBJECTS.iter().flat_map(|s| (0..8).map(move |k| (s, k * 60)));
        pairs.map(|(s, after)| (template.clone(), vec![text(s), Value::Integer(after)])).collect()
    };
    let shared = shop(Sharing::Always);
    let alone = shop(Sharing::Never);
    let (a, b) = (requests(&shared), requests(&alone));
    assert_eq!(bookstore::run(&shared, a), bookstore::run(&alone, b));
}

#[test]
fn a_scalar_subquery_becomes_a_parameter() {
    let engine = shop(Sharing::Always);
    let template = engine.register(bookstore::lines_of_newest_order()).expect("it is shareable");
    let answers = bookstore::run(&engine, vec![(template, vec![])]);
    let row = |line| vec![Value::Integer(line), Value::Integer(600)];
    assert_eq!(answers, [Ok(vec![row(1), row(2), row(3)])]);
}
