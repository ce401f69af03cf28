//! Which path a query takes by itself: asked of an engine from its door.

use std::sync::Arc;
use std::time::Duration;

use engine::heartbeat::{Engine, LoneRun, Sharing, Template};
use engine::plan::TemplatePlan;
use engine::types::DataType;

use crate::bookstore;
use crate::clock::{self, SteppedClock};
use crate::waiting::{HANG, eventually};

/// What a look at the clock takes while the global plan is measured.
const TICK: Duration = Duration::from_millis(50);

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

/// A shop in which time stands still.
struct Shop {
    engine: Arc<Engine>,
    clock: Arc<SteppedClock>,
    template: Arc<Template>,
}

fn shop(sharing: Sharing) -> Shop {
    let (engine, clock) = clock::engine(bookstore::options(sharing, 1));
    bookstore::fill(engine.store(), 50_000, 10);
    let template = engine.register(first_titles()).expect("it is shareable");
    Shop { engine, clock, template }
}

impl Shop {
    fn lone_run(&self) -> Option<LoneRun> {
        self.engine.lone_run(&self.template)
    }

    /// Waits until the lane is idle again: a worker still has something to do when it has answered.
    fn next_run(&self) -> LoneRun {
        eventually("a query may run alone", || self.lone_run())
    }

    fn run_in_global_plan(&self) {
        bookstore::lone(&self.engine, &self.template, vec![], |answer| {
            assert_eq!(answer.rows(), 10);
        });
    }

    /// Permission for the template, once it was measured in the global plan.
    fn permitted(&self) -> LoneRun {
        assert!(self.lone_run().is_none(), "nothing is measured yet");
        self.clock.tick(TICK);
        self.run_in_global_plan();
        eventually("it is measured", || self.template.path_costs().global.measured);
        self.clock.tick(Duration::ZERO);
        assert!(self.template.path_costs().is_alone_cheaper());
        self.next_run()
    }
}

#[test]
fn one_at_a_time_leaves_the_global_plan() {
    let shop = shop(Sharing::Automatic);
    let mut run = shop.permitted();
    assert!(shop.lone_run().is_none(), "another one runs alone");
    run.pause();
    let mut other = shop.lone_run().expect("the first waits for its client");
    run.resume();
    other.pause();
    assert!(shop.lone_run().is_none(), "the first computes again");
    drop(run);
    assert!(shop.lone_run().is_some());
}

#[test]
fn a_lane_where_somebody_waits_is_not_idle() {
    let shop = shop(Sharing::Automatic);
    drop(shop.permitted());
    let (sender, receiver) = std::sync::mpsc::channel();
    bookstore::submit(&shop.engine, &shop.template, vec![], move |answer| {
        sender.send(answer.expect("it succeeds").rows()).expect("it is awaited");
    });
    assert!(shop.lone_run().is_none());
    shop.engine.lead(shop.template.lane());
    assert_eq!(receiver.recv_timeout(HANG), Ok(10));
    shop.next_run();
}

#[test]
fn a_run_that_takes_too_long_is_the_last() {
    let shop = shop(Sharing::Automatic);
    let mut run = shop.permitted();
    let limit = shop.template.path_costs().global.corrected * 2;
    shop.clock.pass(limit);
    assert_eq!(run.complete(), limit);
    drop(run);
    assert_eq!(shop.template.path_costs().alone.measured, Some(limit));
    assert!(shop.lone_run().is_none());
}

#[test]
fn without_enough_memory_it_is_not_tried_again() {
    let shop = shop(Sharing::Automatic);
    let before = shop.template.path_costs().alone;
    shop.permitted().refuse();
    assert!(shop.template.path_costs().alone.corrected > 1000 * before.predicted);
}

#[test]
fn one_in_a_while_takes_the_global_plan_again() {
    let shop = shop(Sharing::Automatic);
    shop.permitted().complete();
    let runs = (0..1000).take_while(|_| shop.lone_run().map(|mut run| run.complete()).is_some());
    assert_eq!(runs.count(), 63);
    shop.run_in_global_plan();
    shop.next_run();
}

#[test]
fn nothing_is_chosen_for_probes_and_for_fixed_sharing() {
    let Shop { engine, .. } = shop(Sharing::Automatic);
    let point = engine.register(bookstore::item_by_id()).expect("it is shareable");
    assert!(engine.path_costs(&point).is_none() && engine.lone_run(&point).is_none());
    let never = shop(Sharing::Never);
    never.run_in_global_plan();
    assert!(never.engine.path_costs(&never.template).is_none() && never.lone_run().is_none());
}
