//! Which path a query takes by itself: asked of an engine from its door.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::heartbeat::{Engine, LoneRun, Sharing, Template};
use engine::plan::TemplatePlan;
use engine::types::DataType;

use crate::bookstore;

const LONG: Duration = Duration::from_secs(60);

/// First rows by an order that no index has: the cost model says that they cost a fifth of what they cost in the global plan,
/// however wrong it is about that.
fn first_titles() -> TemplatePlan {
    let keys = vec![bookstore::ascending(1), bookstore::ascending(0)];
    let root = bookstore::sort(bookstore::scan(bookstore::ITEM, vec![]), keys, Some(10));
    let root = bookstore::project(root, &[(0, DataType::Integer)]);
    let output = [("i_id", DataType::Integer)];
    let text = "SELECT i_id FROM item ORDER BY i_title, i_id LIMIT 10";
    bookstore::template(root, &output, &[], text)
}

fn shop(sharing: Sharing) -> (Arc<Engine>, Arc<Template>) {
    let engine = bookstore::engine(sharing, 1);
    bookstore::fill(engine.store(), 50_000, 10);
    let template = engine.register(first_titles()).expect("it is shareable");
    (engine, template)
}

/// Waits for what a worker does after it has answered.
fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LONG, "it does not happen");
        std::thread::yield_now();
    }
}

/// Permission for the template, once it was measured in the global plan.
fn permitted(engine: &Engine, template: &Arc<Template>) -> LoneRun {
    assert!(engine.lone_run(template).is_none(), "nothing is measured yet");
    bookstore::lone(engine, template, vec![], |answer| assert_eq!(answer.rows(), 10));
    eventually(|| template.path_costs().global.measured);
    assert!(template.path_costs().is_alone_cheaper());
    eventually(|| engine.lone_run(template))
}

#[test]
fn one_at_a_time_leaves_the_global_plan() {
    let (engine, template) = shop(Sharing::Automatic);
    let mut run = permitted(&engine, &template);
    assert!(engine.lone_run(&template).is_none(), "another one runs alone");
    run.pause();
    let mut other = engine.lone_run(&template).expect("the first waits for its client");
    run.resume();
    other.pause();
    assert!(engine.lone_run(&template).is_none(), "the first computes again");
    drop(run);
    assert!(engine.lone_run(&template).is_some());
}

#[test]
fn a_lane_where_somebody_waits_is_not_idle() {
    let (engine, template) = shop(Sharing::Automatic);
    drop(permitted(&engine, &template));
    let (sender, receiver) = std::sync::mpsc::channel();
    bookstore::submit(&engine, &template, vec![], move |answer| {
        sender.send(answer.expect("it succeeds").rows()).expect("it is awaited");
    });
    assert!(engine.lone_run(&template).is_none());
    engine.lead(template.lane());
    assert_eq!(receiver.recv_timeout(LONG), Ok(10));
    eventually(|| engine.lone_run(&template));
}

#[test]
fn a_run_that_takes_too_long_is_the_last() {
    let (engine, template) = shop(Sharing::Automatic);
    let mut run = permitted(&engine, &template);
    let limit = template.path_costs().global.corrected * 2;
    std::thread::sleep(limit);
    assert!(run.complete() >= limit);
    drop(run);
    assert!(template.path_costs().alone.measured.expect("measured") >= limit);
    assert!(engine.lone_run(&template).is_none());
}

#[test]
fn without_enough_memory_it_is_not_tried_again() {
    let (engine, template) = shop(Sharing::Automatic);
    let before = template.path_costs().alone;
    permitted(&engine, &template).refuse();
    assert!(template.path_costs().alone.corrected > 1000 * before.predicted);
}

#[test]
fn one_in_a_while_takes_the_global_plan_again() {
    let (engine, template) = shop(Sharing::Automatic);
    permitted(&engine, &template).complete();
    let runs = (0..1000).take_while(|_| match engine.lone_run(&template) {
        Some(mut run) => run.complete() < LONG,
        None => false,
    });
    assert_eq!(runs.count(), 63);
    bookstore::lone(&engine, &template, vec![], |answer| assert_eq!(answer.rows(), 10));
    eventually(|| engine.lone_run(&template));
}

#[test]
fn nothing_is_chosen_for_probes_and_for_fixed_sharing() {
    let (engine, _) = shop(Sharing::Automatic);
    let point = engine.register(bookstore::item_by_id()).expect("it is shareable");
    assert!(engine.path_costs(&point).is_none() && engine.lone_run(&point).is_none());
    let (engine, template) = shop(Sharing::Never);
    bookstore::lone(&engine, &template, vec![], |answer| assert_eq!(answer.rows(), 10));
    assert!(engine.path_costs(&template).is_none() && engine.lone_run(&template).is_none());
}
