//! Who asks what a running batch is already asked waits for its answer, where its snapshot shows the same rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use engine::heartbeat::{Activation, Answer, Engine, EngineOptions, Sharing, Template};
use engine::storage::Snapshot;
use engine::types::{Error, Location, Result, SqlState, TableId, Value};
use parking_lot::Mutex;

use crate::bookstore::{options, rows};
use crate::hook::Hook;
use crate::star_schema::{LINEORDER, SUPPLIER, fill, yearly};
use crate::waiting::HANG;

/// 7 chunks.
const FACTS: i32 = 50_000;

type Rows = Vec<Vec<Value>>;

/// An activation on its way.
struct Asked {
    cancelled: Arc<AtomicBool>,
    answer: Receiver<Result<Rows>>,
}

/// A statement whose pass stands still whenever its script is run.
struct Fixture {
    /// Its expression fails until somebody is answered.
    fails: Arc<AtomicBool>,
    engine: Arc<Engine>,
    hook: Arc<Hook>,
    template: Arc<Template>,
}

impl Fixture {
    fn new() -> Arc<Fixture> {
        Fixture::of(options(Sharing::Always, 1))
    }

    fn of(options: EngineOptions) -> Arc<Fixture> {
        let engine = Engine::open(options).expect("an engine without a directory opens");
        fill(engine.store(), FACTS);
        let hook = Arc::<Hook>::default();
        let template = engine.register(yearly(hook.clone())).expect("it is shareable");
        Arc::new(Fixture { fails: Arc::default(), engine, hook, template })
    }

    fn ask(&self) -> Asked {
        self.ask_with(Arc::default(), None)
    }

    fn ask_with(&self, cancelled: Arc<AtomicBool>, snapshot: Option<Snapshot>) -> Asked {
        let (sender, answer) = channel();
        let fails = self.fails.clone();
        self.engine.submit(Activation {
            template: self.template.clone(),
            parameters: Arc::default(),
            snapshot,
            sharing: self.engine.sharing(),
            deadline: None,
            cancelled: cancelled.clone(),
            figures: None,
            receiver: Box::new(move |answer: Result<Answer>| {
                fails.store(false, Ordering::Relaxed);
                sender.send(answer.map(|answer| rows(&answer))).expect("the test waits for it");
            }),
        });
        self.engine.lead(self.template.lane());
        Asked { cancelled, answer }
    }

    /// Asks, and runs `then` in the middle of the pass, which may cancel the first one: its answer, those of who came
    /// then, and how many passes all that took.
    fn during(
        self: &Arc<Self>,
        mut then: impl FnMut(&Fixture, &AtomicBool) -> Vec<Asked> + Send + 'static,
    ) -> (Result<Rows>, Vec<Result<Rows>>, usize) {
        let calls = self.calls_of_a_pass();
        let (cancelled, late) = (Arc::<AtomicBool>::default(), Arc::new(Mutex::new(Vec::new())));
        let (own, flag, came) = (self.clone(), cancelled.clone(), late.clone());
        self.hook.run(Box::new(move |call| {
            if call == 2 {
                came.lock().extend(then(&own, &flag));
            }
            match own.fails.load(Ordering::Relaxed) {
                true => Err(Error::new(SqlState::DivisionByZero, "division by zero")),
                false => Ok(()),
            }
        }));
        let first = self.ask_with(cancelled, None).answer();
        let late = late.lock().iter().map(Asked::answer).collect();
        let passes = self.hook.calls().div_ceil(calls);
        self.hook.rest();
        (first, late, passes)
    }

    fn calls_of_a_pass(&self) -> usize {
        self.hook.run(Box::new(|_| Ok(())));
        self.ask().answer().expect("it succeeds");
        self.hook.calls()
    }

    /// Another revenue, or another region, in some row.
    fn change(&self, table: TableId, column: usize, value: Value) {
        let store = self.engine.store();
        let (version, newest) = (store.published().next(), store.snapshot());
        let changed = store.table(table).expect("it is there");
        let view = changed.view(newest.version());
        let (chunk, _) = view.chunks()[0];
        let location = Location { chunk, offset: 0 };
        let (id, mut row) = (view.row_id(location), view.row(location));
        row[column] = value;
        changed.update(id, &row, version);
        store.publish(version);
    }
}

impl Asked {
    fn answer(&self) -> Result<Rows> {
        self.answer.recv_timeout(HANG).expect("it answers")
    }
}

#[test]
fn equal_newcomers_wait_for_the_answer_of_a_request_under_way() {
    let fixture = Fixture::new();
    let (first, late, passes) =
        fixture.during(|fixture, _| (0..5).map(|_| fixture.ask()).collect());
    assert!(!first.as_ref().expect("it succeeds").is_empty());
    assert_eq!(late, vec![first; 5]);
    assert_eq!(passes, 1);
}

#[test]
fn a_commit_parts_who_sees_it_from_who_does_not() {
    let fixture = Fixture::new();
    let (first, late, passes) = fixture.during(|fixture, _| {
        let before = fixture.engine.store().snapshot();
        fixture.change(LINEORDER, 8, Value::Integer(123_456_789));
        vec![fixture.ask(), fixture.ask_with(Arc::default(), Some(before))]
    });
    let first = first.expect("it succeeds");
    assert_ne!(late[0].as_ref(), Ok(&first), "it was asked after the commit");
    assert_eq!(late[1].as_ref(), Ok(&first), "its snapshot is from before");
    assert_eq!(passes, 2);
}

#[test]
fn a_commit_to_another_table_parts_nobody() {
    let fixture = Fixture::new();
    let (first, late, passes) = fixture.during(|fixture, _| {
        fixture.change(SUPPLIER, 3, Value::Text("REGION4".into()));
        vec![fixture.ask()]
    });
    assert_eq!(late, [first]);
    assert_eq!(passes, 1);
}

#[test]
fn who_followed_a_request_that_fails_asks_by_itself() {
    let fixture = Fixture::new();
    let expected = fixture.ask().answer();
    let (first, late, _) = fixture.during(|fixture, _| {
        fixture.fails.store(true, Ordering::Relaxed);
        vec![fixture.ask(), fixture.ask()]
    });
    assert_eq!(first.map_err(|error| error.state), Err(SqlState::DivisionByZero));
    assert_eq!(late, vec![expected; 2]);
}

#[test]
fn who_follows_a_cancelled_request_gets_its_answer() {
    let fixture = Fixture::new();
    let expected = fixture.ask().answer();
    let (first, late, passes) = fixture.during(|fixture, cancelled| {
        let late = vec![fixture.ask(), fixture.ask()];
        cancelled.store(true, Ordering::Relaxed);
        late
    });
    assert_eq!(first.map_err(|error| error.state), Err(SqlState::QueryCanceled));
    assert_eq!(late, vec![expected; 2]);
    assert_eq!(passes, 1);
}

#[test]
fn a_pass_ends_when_its_followers_are_cancelled_too() {
    let fixture = Fixture::new();
    let calls = fixture.calls_of_a_pass();
    let (first, late, _) = fixture.during(|fixture, cancelled| {
        let late = vec![fixture.ask(), fixture.ask()];
        late.iter().for_each(|one| one.cancelled.store(true, Ordering::Relaxed));
        cancelled.store(true, Ordering::Relaxed);
        late
    });
    for answer in late.into_iter().chain([first]) {
        assert_eq!(answer.map_err(|error| error.state), Err(SqlState::QueryCanceled));
    }
    assert!(fixture.hook.calls() < calls, "the rest of the pass is left out");
}

#[test]
fn a_cancelled_follower_leaves_the_others_their_answer() {
    let fixture = Fixture::new();
    let (first, late, passes) = fixture.during(|fixture, _| {
        let late = vec![fixture.ask(), fixture.ask()];
        late[0].cancelled.store(true, Ordering::Relaxed);
        late
    });
    let state = late[0].clone().map_err(|error| error.state);
    assert_eq!(state, Err(SqlState::QueryCanceled));
    assert_eq!(late[1], first);
    assert_eq!(passes, 1);
}

#[test]
fn no_more_follow_than_may_wait() {
    let fixture = Fixture::of(EngineOptions { queue_limit: 2, ..options(Sharing::Always, 1) });
    let (first, late, passes) =
        fixture.during(|fixture, _| (0..5).map(|_| fixture.ask()).collect());
    assert_eq!(late[..4], vec![first; 4]);
    let state = late[4].clone().map_err(|error| error.state);
    assert_eq!(state, Err(SqlState::InsufficientResources));
    assert_eq!(passes, 2);
}

#[test]
fn who_was_let_in_as_a_follower_is_not_turned_away_later() {
    let fixture = Fixture::of(EngineOptions { queue_limit: 2, ..options(Sharing::Always, 1) });
    let expected = fixture.ask().answer();
    let (first, late, _) = fixture.during(|fixture, _| {
        fixture.fails.store(true, Ordering::Relaxed);
        (0..4).map(|_| fixture.ask()).collect()
    });
    assert_eq!(first.map_err(|error| error.state), Err(SqlState::DivisionByZero));
    assert_eq!(late, vec![expected; 4]);
}

#[test]
fn without_sharing_nobody_follows() {
    let fixture = Fixture::of(options(Sharing::Never, 1));
    let (first, late, passes) = fixture.during(|fixture, _| vec![fixture.ask()]);
    assert_eq!(late, [first]);
    assert_eq!(passes, 2);
}
