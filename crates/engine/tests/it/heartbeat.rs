//! Batches of bookstore statements.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray};
use engine::heartbeat::{Activation, Answer, Engine, EngineOptions, Figures, Sharing};
use engine::plan::{AggregateFunction, PlanNode, TemplatePlan};
use engine::types::{DataType, Expression, Predicate, Result, SqlState, Value};

use crate::bookstore::{self, SUBJECTS};
use crate::waiting::HANG;

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

/// `column = $1`, but 13 is bad luck for the evaluator.
#[derive(Debug)]
struct Superstition;

impl Expression for Superstition {
    fn columns(&self) -> &[usize] {
        &[0]
    }

    fn parameters(&self) -> &[usize] {
        &[0]
    }

    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let (column, wanted) =
            (columns[0].as_primitive::<Int32Type>(), parameters[0].as_primitive::<Int32Type>());
        assert!((0..rows).all(|row| wanted.value(row) != 13), "a bug of ours, for a test");
        let equal = (0..rows).map(|row| Some(column.value(row) == wanted.value(row)));
        Ok(Arc::new(equal.collect::<BooleanArray>()))
    }

    fn text(&self) -> &str {
        "column = $1, superstitiously"
    }
}

fn superstitious() -> TemplatePlan {
    let root =
        bookstore::scan(bookstore::AUTHOR, vec![Predicate::Expression(Arc::new(Superstition))]);
    let root = bookstore::project(root, &[(0, DataType::Integer)]);
    let output = [("a_id", DataType::Integer)];
    bookstore::template(root, &output, &[DataType::Integer], "superstitious")
}

#[test]
fn a_panic_is_answered_to_its_culprit_only() {
    let engine = shop(Sharing::Always);
    let template = engine.register(superstitious()).expect("it is shareable");
    let requests = (10..16).map(|i| (template.clone(), vec![Value::Integer(i)])).collect();
    for (i, answer) in (10..16).zip(bookstore::run(&engine, requests)) {
        match i {
            13 => assert_eq!(answer.map_err(|e| e.state), Err(SqlState::InternalError)),
            _ => assert_eq!(answer, Ok(vec![vec![Value::Integer(i)]])),
        }
    }
}

#[test]
fn a_panic_around_a_batch_does_not_keep_the_lane() {
    let engine = shop(Sharing::Always);
    for plan in [bookstore::item_by_id(), superstitious()] {
        let template = engine.register(plan).expect("it is shareable");
        bookstore::submit(&engine, &template, vec![Value::Integer(1)], |_| {
            panic!("whoever takes this answer has a bug, for a test")
        });
        engine.lead(template.lane());
        let answers = bookstore::run(&engine, vec![(template, vec![Value::Integer(2)])]);
        assert_eq!(answers[0].as_ref().map(Vec::len), Ok(1));
    }
}

#[test]
fn a_full_lane_refuses() {
    let engine = shop(Sharing::Always);
    let template = engine.register(bookstore::item_by_id()).expect("it is shareable");
    let request = |i| (template.clone(), vec![Value::Integer(i % 1000 + 1)]);
    let answers = bookstore::run(&engine, (0..4100).map(request).collect());
    let refused = answers.iter().filter(|a| a.is_err()).count();
    assert_eq!(refused, 4);
    assert!(answers[..4096].iter().all(|a| a.as_ref().is_ok_and(|rows| rows.len() == 1)));
    assert_eq!(answers[4099].as_ref().map_err(|e| e.state), Err(SqlState::InsufficientResources));
}

#[test]
fn each_activation_reads_its_own_snapshot() {
    let engine = shop(Sharing::Always);
    for plan in [bookstore::item_by_id(), bookstore::new_products()] {
        let light = plan.parameters == [DataType::Integer];
        let template = engine.register(plan).expect("it is shareable");
        let before = engine.store().snapshot();
        let version = engine.store().published().next();
        let item = engine.store().table(bookstore::ITEM).expect("it is there");
        let id = 5000 + version.0 as i32;
        let title = format!("fresh {id}");
        item.insert(
            &[
                Value::Integer(id),
                text(&title),
                Value::Integer(1),
                text("ARTS"),
                Value::Date(30_000),
                Value::Null,
                Value::Null,
                Value::Null,
            ],
            version,
        );
        engine.store().publish(version);
        let parameter = if light { Value::Integer(id) } else { text("ARTS") };
        let (sender, receiver) = std::sync::mpsc::channel();
        for snapshot in [Some(before), None] {
            let sender = sender.clone();
            let (old, title) = (snapshot.is_some(), text(&title));
            engine.submit(Activation {
                template: template.clone(),
                parameters: vec![parameter.clone()].into(),
                snapshot,
                sharing: engine.sharing(),
                deadline: None,
                cancelled: Arc::default(),
                figures: None,
                receiver: Box::new(move |answer: Result<Answer>| {
                    let rows = bookstore::rows(&answer.expect("it succeeds"));
                    let seen = rows.iter().any(|row| row.contains(&title));
                    sender.send((old, seen)).expect("it is awaited");
                }),
            });
        }
        engine.lead(template.lane());
        let answers = [(); 2].map(|()| receiver.recv_timeout(HANG).expect("both answer"));
        assert!(answers.contains(&(true, false)) && answers.contains(&(false, true)));
    }
}

#[test]
fn several_rows_are_no_scalar() {
    let engine = shop(Sharing::Always);
    let mut plan = bookstore::lines_of_newest_order();
    plan.scalar_subqueries[0].root =
        bookstore::project(bookstore::scan(bookstore::ORDERS, vec![]), &[(0, DataType::Integer)]);
    let template = engine.register(plan).expect("it is shareable");
    let answers = bookstore::run(&engine, vec![(template, vec![])]);
    assert_eq!(answers[0].as_ref().map_err(|e| e.state), Err(SqlState::CardinalityViolation));
}

#[test]
fn what_waits_when_its_template_goes_still_runs() {
    let engine = shop(Sharing::Always);
    for plan in [bookstore::item_by_id(), bookstore::product_detail()] {
        let template = engine.register(plan).expect("it is shareable");
        let (sender, receiver) = std::sync::mpsc::channel();
        engine.submit(Activation {
            template: template.clone(),
            parameters: vec![Value::Integer(42)].into(),
            snapshot: None,
            sharing: engine.sharing(),
            deadline: None,
            cancelled: Arc::default(),
            figures: None,
            receiver: Box::new(move |answer: Result<Answer>| {
                sender.send(answer.expect("it succeeds").rows()).expect("it is awaited");
            }),
        });
        engine.unregister(template.id);
        engine.lead(template.lane());
        assert_eq!(receiver.recv_timeout(HANG), Ok(1));
    }
}

#[test]
fn figures_tell_what_a_heartbeat_did() {
    let engine = shop(Sharing::Always);
    let template = engine.register(bookstore::new_products()).expect("it is shareable");
    let place = Arc::new(OnceLock::new());
    let (sender, receiver) = std::sync::mpsc::channel();
    for subject in ["ARTS", "ARTS", "YOUTH"] {
        let sender = sender.clone();
        engine.submit(Activation {
            template: template.clone(),
            parameters: vec![text(subject)].into(),
            snapshot: None,
            sharing: engine.sharing(),
            deadline: None,
            cancelled: Arc::default(),
            figures: Some(place.clone()),
            receiver: Box::new(move |_: Result<Answer>| {
                sender.send(()).expect("it is awaited");
            }),
        });
    }
    engine.lead(template.lane());
    (0..3).for_each(|_| receiver.recv_timeout(HANG).expect("all answer"));
    let figures: &Figures = place.get().expect("they come before the answer");
    assert_eq!((figures.activations, figures.requests), (3, 2));
    let text = engine.explain(&template, &[], Some(figures)).to_string();
    assert!(text.contains("actual: "), "{text}");
    assert!(text.contains("3 activations, 2 distinct"), "{text}");
}

#[test]
fn many_threads_get_their_answers() {
    let engine = shop(Sharing::Automatic);
    let point = engine.register(bookstore::product_detail()).expect("it is shareable");
    let heavy = engine.register(bookstore::new_products()).expect("it is shareable");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (engine, point, heavy) = (&engine, &point, &heavy);
            scope.spawn(move || {
                for i in 0..200 {
                    let (template, parameter) = match (i + thread) % 4 {
                        0 => (heavy, text(SUBJECTS[i as usize % 24])),
                        _ => (point, Value::Integer(i % 1000 + 1)),
                    };
                    bookstore::lone(engine, template, vec![parameter], |answer| {
                        assert!(answer.rows() > 0);
                    });
                }
            });
        }
    });
}

/// `SELECT count(*) FROM item, item, ...`
fn counted_product(tables: usize) -> TemplatePlan {
    let item = || bookstore::scan(bookstore::ITEM, vec![]);
    let product = (1..tables).fold(item(), |left, _| bookstore::join(left, item(), &[]));
    let root = PlanNode::Aggregate {
        input: Box::new(product),
        keys: Vec::new(),
        aggregates: vec![bookstore::aggregate(AggregateFunction::Count, None, DataType::BigInt)],
    };
    let text = format!("SELECT count(*) FROM {}", vec!["item"; tables].join(", "));
    bookstore::template(root, &[("count", DataType::BigInt)], &[], &text)
}

#[test]
fn a_product_is_counted_without_being_kept() {
    let options = EngineOptions {
        queue_limit: 16,
        memory_limit: 6 << 20,
        ..bookstore::options(Sharing::Always, 2)
    };
    let engine = Engine::open(options).expect("an engine without a directory opens");
    bookstore::fill(engine.store(), 1000, 1);
    let template = engine.register(counted_product(2)).expect("it is shareable");
    let answers = bookstore::run(&engine, vec![(template, vec![])]);
    assert_eq!(answers, [Ok(vec![vec![Value::BigInt(1_000_000)]])]);
}

#[test]
fn a_query_too_large_for_memory_fails_alone_in_its_batch() {
    let options = EngineOptions {
        queue_limit: 64,
        memory_limit: 6 << 20,
        ..bookstore::options(Sharing::Always, 2)
    };
    let engine = Engine::open(options).expect("an engine without a directory opens");
    bookstore::fill(engine.store(), 1000, 1);
    let item = |predicates| bookstore::scan(bookstore::ITEM, predicates);
    let product = bookstore::join(item(vec![]), item(vec![]), &[]);
    let sorted = bookstore::sort(product, vec![bookstore::ascending(0)], None);
    let columns = [("i_id", DataType::Integer)];
    let root = bookstore::project(sorted, &[(0, DataType::Integer)]);
    let text_of = "SELECT a.i_id FROM item a, item b ORDER BY a.i_id";
    let hog = bookstore::template(root, &columns, &[], text_of);
    let hog = engine.register(hog).expect("it is shareable");
    let small = engine.register(bookstore::new_products()).expect("it is shareable");
    let mut requests: Vec<_> = SUBJECTS.iter().map(|s| (small.clone(), vec![text(s)])).collect();
    requests.insert(SUBJECTS.len() / 2, (hog, vec![]));
    let answers = bookstore::run(&engine, requests);
    for (i, answer) in answers.into_iter().enumerate() {
        match i == SUBJECTS.len() / 2 {
            true => assert_eq!(answer.map_err(|e| e.state), Err(SqlState::OutOfMemory)),
            false => assert!(answer.expect("it fits").len() > 2),
        }
    }
}

#[test]
fn a_product_ends_when_it_is_cancelled() {
    let engine = shop(Sharing::Always);
    let template = engine.register(counted_product(4)).expect("it is shareable");
    let (sender, receiver) = std::sync::mpsc::channel();
    let cancelled = Arc::new(AtomicBool::new(false));
    engine.submit(Activation {
        template: template.clone(),
        parameters: Arc::default(),
        snapshot: None,
        sharing: engine.sharing(),
        deadline: None,
        cancelled: cancelled.clone(),
        figures: None,
        receiver: Box::new(move |answer: Result<Answer>| {
            sender.send(answer.map(|answer| answer.rows())).expect("it is awaited");
        }),
    });
    let wait = std::time::Duration::from_millis(300);
    std::thread::scope(|scope| {
        scope.spawn(|| engine.lead(template.lane()));
        assert!(receiver.recv_timeout(wait).is_err(), "a million millions take longer");
        cancelled.store(true, Ordering::Relaxed);
        let answer = receiver.recv_timeout(HANG).expect("it ends");
        assert_eq!(answer.map_err(|error| error.state), Err(SqlState::QueryCanceled));
    });
}
