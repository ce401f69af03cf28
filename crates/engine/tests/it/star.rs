//! Star queries in a batch give what each gives alone, and go over their fact table once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::heartbeat::{
    Activation, Answer, Engine, EngineOptions, Figures, Packing, Sharing, Template,
};
use engine::plan::{AggregateFunction, PlanNode, TemplatePlan};
use engine::storage::Store;
use engine::system::TABLES;
use engine::types::{Comparison, DataType, Predicate, Result, TableId, Value};

use crate::bookstore::{
    aggregate, column, compare, engine, equals, index, join, options, rows, run, scan, table,
    template,
};
use crate::star_schema::{CUSTOMER, LINEORDER, Numbers, Query, SUPPLIER, fill, queries, sums_by};
use crate::waiting::HANG;

type Request = (Arc<Template>, Vec<Value>);

const SMALL: TableId = TableId(201);
const FACTS: TableId = TableId(202);

/// `d (k PRIMARY KEY, v)` of some rows, with an index on `v`, and `f (id, k)` of many, each `k` as often.
fn fill_small(store: &Arc<Store>, rows: i32, facts: i32) {
    let version = store.published().next();
    let columns = ["k", "v"].map(|name| column(name, DataType::Integer, true)).into();
    let keys =
        vec![index(2010, "d_pkey", &[0], true, true), index(2011, "d_v", &[1], false, false)];
    let small = store.create_table(table(SMALL, "d", columns, keys));
    for k in 0..rows {
        small.insert(&[k, rows - k].map(Value::Integer), version);
    }
    let columns = ["id", "k"].map(|name| column(name, DataType::Integer, true)).into();
    let keys = vec![index(2020, "f_pkey", &[0], true, true)];
    let fact = store.create_table(table(FACTS, "f", columns, keys));
    for id in 0..facts {
        fact.insert(&[id, id % rows].map(Value::Integer), version);
    }
    store.publish(version);
}

/// `SELECT count(*) FROM f JOIN d ON f.k = d.k WHERE ..`, by what is asked of `d`.
fn counting(predicates: Vec<Predicate>, parameters: usize, text: &str) -> TemplatePlan {
    counting_of(vec![], predicates, parameters, text)
}

/// The same by what is asked of `f` and of `d`.
fn counting_of(
    facts: Vec<Predicate>,
    predicates: Vec<Predicate>,
    parameters: usize,
    text: &str,
) -> TemplatePlan {
    let joined = join(scan(FACTS, facts), scan(SMALL, predicates), &[(1, 0)]);
    let counts = vec![aggregate(AggregateFunction::Count, None, DataType::BigInt)];
    let root =
        PlanNode::Aggregate { input: Box::new(joined), keys: Vec::new(), aggregates: counts };
    let parameters = vec![DataType::Integer; parameters];
    template(root, &[("count", DataType::BigInt)], &parameters, text)
}

#[test]
fn a_small_dimensions_row_is_wanted_by_all_whose_probes_find_it() {
    let engine = engine(Sharing::Always, 2);
    fill_small(engine.store(), 40, 20_000);
    let register = |plan| engine.register(plan).expect("it is shareable");
    let below = register(counting(vec![compare(0, Comparison::Less, 0)], 1, "d.k < $1"));
    let above = vec![compare(1, Comparison::GreaterOrEqual, 0)];
    let above = register(counting(above, 1, "d.v >= $1"));
    let equal = register(counting(vec![equals(0, 0)], 1, "d.k = $1"));
    let from = vec![compare(0, Comparison::GreaterOrEqual, 0), compare(0, Comparison::Less, 1)];
    let from = register(counting(from, 2, "d.k >= $1 AND d.k < $2"));
    let all = register(counting(vec![], 0, "all"));
    let asked = |template: &Arc<Template>, values: &[i32]| {
        (template.clone(), values.iter().copied().map(Value::Integer).collect())
    };
    let few = [asked(&below, &[20]), asked(&below, &[30])];
    let some = [asked(&below, &[10]), asked(&above, &[25]), asked(&equal, &[3])];
    let nested = (0..20).map(|n| asked(&from, &[n, 40 - n]));
    let batches: [Vec<Request>; 4] = [
        few.to_vec(),
        [&few[..], &some[..]].concat(),
        // One rides a scan, single keys are probed.
        [&some[..], &few[..], &[asked(&all, &[])]].concat(),
        nested.chain(some.clone()).collect(),
    ];
    for batch in batches {
        let together = run(&engine, batch.clone());
        for (request, together) in batch.into_iter().zip(together) {
            let alone = run(&engine, vec![request.clone()]).remove(0);
            assert_ne!(alone, Ok(vec![vec![Value::BigInt(0)]]), "{:?}", request.1);
            assert_eq!(together, alone, "{} with {:?}", request.0.plan.text, request.1);
        }
    }
}

#[test]
fn fact_rows_that_an_index_finds_are_joined_in_the_order_that_they_lie_in() {
    let engine = engine(Sharing::Always, 2);
    fill_small(engine.store(), 40, 20_000);
    let fact = engine.store().table(FACTS).expect("it is there");
    let version = engine.store().published().next();
    // The larger the key, the earlier it lies.
    for id in (20_000..22_000).rev() {
        fact.insert(&[id, id % 40].map(Value::Integer), version);
    }
    engine.store().publish(version);
    let facts = vec![compare(0, Comparison::GreaterOrEqual, 0), compare(0, Comparison::Less, 1)];
    let dimension = vec![compare(0, Comparison::Less, 2)];
    let template = counting_of(facts, dimension, 3, "f.id >= $1 AND f.id < $2 AND d.k < $3");
    let template = engine.register(template).expect("it is shareable");
    let asked = |values: [i32; 3]| (template.clone(), values.map(Value::Integer).to_vec());
    let counted = |[from, to, below]: [i32; 3]| {
        let ids = (from..to).filter(|id| *id < 22_000 && id % 40 < below);
        Ok(vec![vec![Value::BigInt(ids.count() as i64)]])
    };
    let ranges = [[20_000, 20_150, 7], [20_100, 20_300, 33], [19_900, 20_050, 20]];
    for range in ranges {
        assert_eq!(run(&engine, vec![asked(range)]), [counted(range)]);
    }
    assert_eq!(run(&engine, ranges.map(asked).to_vec()), ranges.map(counted));
}

#[test]
fn a_fact_row_meets_one_arm_of_an_or_whole() {
    let engine = engine(Sharing::Always, 2);
    fill_small(engine.store(), 40, 20_000);
    let arms = vec![vec![compare(0, Comparison::Less, 0)], vec![equals(1, 1)]];
    let either = counting_of(
        vec![Predicate::Or(arms)],
        vec![compare(0, Comparison::Less, 2)],
        3,
        "f.id < $1 OR f.k = $2",
    );
    let either = engine.register(either).expect("it is shareable");
    let plain = vec![compare(0, Comparison::Less, 0)];
    let plain = engine.register(counting_of(plain, vec![], 1, "f.id < $1")).expect("it is, too");
    let asked = |template: &Arc<Template>, values: &[i32]| {
        (template.clone(), values.iter().copied().map(Value::Integer).collect())
    };
    let counted = |least: i32, k: i32, below: i32| {
        let ids = (0..20_000).filter(|id| (*id < least || id % 40 == k) && id % 40 < below);
        Ok(vec![vec![Value::BigInt(ids.count() as i64)]])
    };
    assert_eq!(run(&engine, vec![asked(&either, &[100, 7, 20])]), [counted(100, 7, 20)]);
    let batch =
        vec![asked(&either, &[100, 7, 20]), asked(&plain, &[50]), asked(&either, &[9, 30, 35])];
    let wanted = [counted(100, 7, 20), counted(50, -1, 40), counted(9, 30, 35)];
    assert_eq!(run(&engine, batch), wanted);
}

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
    let counts = panics(&engine);
    assert!(counts.iter().all(|count| *count == Value::BigInt(0)), "{counts:?}");
}

/// A light lane's probes are no pass, however small the dimension is.
#[test]
fn a_fact_row_by_its_key_is_probed() {
    let engine = engine(Sharing::Always, 2);
    fill_small(engine.store(), 2, 1_000);
    let plan = counting_of(vec![equals(0, 0)], vec![], 1, "f.id = $1");
    let template = engine.register(plan).expect("it is shareable");
    for members in [1, 2, 9] {
        let asked = (0..members).map(|id| (template.clone(), vec![Value::Integer(id)]));
        for answer in run(&engine, asked.collect()) {
            assert_eq!(answer, Ok(vec![vec![Value::BigInt(1)]]));
        }
    }
    assert_eq!(panics(&engine), [Value::BigInt(0)]);
}

/// By lane, batches in which something panicked.
fn panics(engine: &Arc<Engine>) -> Vec<Value> {
    let lanes = TABLES.iter().find(|table| table.name == "lanes").expect("there is one");
    let panics =
        lanes.columns.iter().position(|(name, _)| *name == "panics").expect("there is one");
    (lanes.rows)(engine).iter().map(|row| row[panics].clone()).collect()
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
            deadline: None,
            cancelled: Arc::default(),
            figures: Some(place.clone()),
            receiver: Box::new(move |answer: Result<Answer>| {
                let answer = answer.map(|answer| rows(&answer));
                sender.send((number, answer)).expect("it is awaited");
            }),
        });
    }
    engine.lead(requests[0].0.lane());
    let answers = requests.iter().map(|_| receiver.recv_timeout(HANG).expect("it is answered"));
    let mut answers: Vec<_> = answers.collect();
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
            deadline: None,
            cancelled: Arc::default(),
            figures: Some(figures.clone()),
            receiver: Box::new(move |answer: Result<Answer>| {
                sender.send(answer.is_ok()).expect("it is awaited");
            }),
        });
        engine.lead(template.lane());
        assert_eq!(receiver.recv_timeout(HANG), Ok(true), "{}", plan.text);
        let text = engine.explain(&template, &[], figures.get()).to_string();
        assert!(text.contains("one pass of 1 groupings"), "{}: {text}", plan.text);
    }
}
