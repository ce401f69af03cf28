//! Star queries in a batch give what each gives alone, and go over their fact table once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::heartbeat::{
    Activation, Answer, Engine, EngineOptions, Figures, Packing, Sharing, Template,
};
use engine::system::TABLES;
use engine::types::{Result, Value};

use crate::bookstore::{engine, options, rows, run};
use crate::star_schema::{CUSTOMER, LINEORDER, Numbers, Query, SUPPLIER, fill, queries, sums_by};

type Request = (Arc<Template>, Vec<Value>);

#[test]
fn a_batch_of_star_queries_equals_each_alone() {
    for (seed, packing) in (1..).zip([Packing::Automatic, Packing::Never, Packing::Always]) {
        equals_alone(&queries(), packing, (60_000, 200), seed);
    }
}

#[test]
fn queries_with_large_tables_in_packs_equal_each_alone() {
    let wide = [CUSTOMER, SUPPLIER].map(|dimension| sums_by(dimension, 3));
    let text = equals_alone(&wide, Packing::Always, (LARGE, 40), 4);
    for part in ["packs of 20 queries (", "the cache, working set of ", "in its pack of "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Rows that come meanwhile are in the chunk that a sample may be drawn from, and in nobody's snapshot.
#[test]
fn packs_are_made_while_rows_are_appended() {
    let options = EngineOptions { packing: Packing::Always, ..options(Sharing::Always, 2) };
    let engine = Engine::open(options).expect("an engine without a directory opens");
    fill(engine.store(), LARGE);
    let (plan, parameters) = sums_by(CUSTOMER, 3);
    let template = engine.register(plan).expect("it is shareable");
    let mut numbers = Numbers(5);
    let requests: Vec<Request> =
        (0..20).map(|_| (template.clone(), parameters(&mut numbers))).collect();
    let store = engine.store();
    let table = store.table(LINEORDER).expect("it was filled");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let version = store.published().next();
                let row = [1, 1, 1, 1, 19_920_101, 1, 1, 1, 1, 1].map(Value::Integer);
                table.insert(&row, version);
                store.publish(version);
                std::thread::sleep(Duration::from_micros(10));
            }
        });
        for _ in 0..20 {
            assert!(noted(&engine, &requests).0.iter().all(Result::is_ok));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let lanes = TABLES.iter().find(|table| table.name == "lanes").expect("there is one");
    let panics =
        lanes.columns.iter().position(|(name, _)| *name == "panics").expect("there is one");
    let count = |row: &Vec<Value>| row[panics].clone();
    let counts: Vec<Value> = (lanes.rows)(&engine).iter().map(count).collect();
    assert!(counts.iter().all(|count| *count == Value::BigInt(0)), "{counts:?}");
}

/// Fact rows for which one pass is cheaper than a hash join with dates.
const LARGE: i32 = 400_000;

/// A batch of so many of these queries over so many fact rows against each of its members by itself. What EXPLAIN ANALYZE says
/// of the first one in the batch.
fn equals_alone(
    queries: &[Query],
    packing: Packing,
    (rows, count): (i32, usize),
    seed: u64,
) -> String {
    let options = EngineOptions { packing, ..options(Sharing::Always, 2) };
    let engine = Engine::open(options).expect("an engine without a directory opens");
    fill(engine.store(), rows);
    let register = |(plan, _): &Query| engine.register(plan.clone()).expect("it is shareable");
    let templates: Vec<Arc<Template>> = queries.iter().map(register).collect();
    let mut numbers = Numbers(seed);
    let request = |i: usize| {
        let place = i % queries.len();
        (templates[place].clone(), queries[place].1(&mut numbers))
    };
    let requests: Vec<Request> = (0..count).map(request).collect();
    let (together, figures) = noted(&engine, &requests);
    let mut found = 0;
    for (request, together) in requests.iter().zip(together) {
        let together = together.expect("it succeeds");
        let alone = run(&engine, vec![request.clone()]).remove(0).expect("it succeeds");
        assert_eq!(together, alone, "seed {seed}, packing {packing:?}: {:?}", request.1);
        found += together.len();
    }
    assert!(found > 100, "seed {seed}: only {found} groups");
    engine.explain(&templates[0], &[], Some(&figures)).to_string()
}

/// Runs a batch; what its heartbeat did for the first request.
fn noted(engine: &Engine, requests: &[Request]) -> (Vec<Result<Vec<Vec<Value>>>>, Figures) {
    let (sender, receiver) = channel();
    let figures: Vec<_> = requests.iter().map(|_| Arc::new(OnceLock::new())).collect();
    for (number, ((template, parameters), place)) in requests.iter().zip(&figures).enumerate() {
        let sender = sender.clone();
        engine.submit(Activation {
            template: template.clone(),
            parameters: parameters.clone().into(),
            snapshot: None,
            sharing: engine.sharing(),
            cancelled: Arc::default(),
            figures: Some(place.clone()),
            receiver: Box::new(move |answer: Result<Answer>| {
                let answer = answer.map(|answer| rows(&answer));
                sender.send((number, answer)).expect("it is awaited");
            }),
        });
    }
    engine.lead(requests[0].0.lane());
    let mut answers: Vec<_> = receiver.iter().take(requests.len()).collect();
    answers.sort_by_key(|(number, _)| *number);
    let figures = figures[0].get().expect("they were noted").clone();
    (answers.into_iter().map(|(_, answer)| answer).collect(), figures)
}

#[test]
fn a_star_query_goes_over_its_fact_table_once() {
    let engine = engine(Sharing::Always, 2);
    fill(engine.store(), 60_000);
    let mut numbers = Numbers(1);
    // The first three ask so much of the fact table that so few of its rows are left: a hash join is cheaper at this size.
    for (plan, parameters) in queries().into_iter().skip(3) {
        let template = engine.register(plan.clone()).expect("it is shareable");
        let (sender, receiver) = channel();
        let figures = Arc::new(OnceLock::new());
        engine.submit(Activation {
            template: template.clone(),
            parameters: parameters(&mut numbers).into(),
            snapshot: None,
            sharing: engine.sharing(),
            cancelled: Arc::default(),
            figures: Some(figures.clone()),
            receiver: Box::new(move |answer: Result<Answer>| {
                sender.send(answer.is_ok()).expect("it is awaited");
            }),
        });
        engine.lead(template.lane());
        assert_eq!(receiver.recv(), Ok(true), "{}", plan.text);
        let text = engine.explain(&template, &[], figures.get()).to_string();
        assert!(text.contains("one pass of 1 groupings"), "{}: {text}", plan.text);
    }
}
