//! One lane, whose batches take longer the more they are.

use std::time::Duration;

use engine::heartbeat::promises::Response;
use engine::heartbeat::{Course, Running};

use super::super::{Asked, decide};
use super::{Random, Tally};

/// A batch takes this and so much more for each statement, a fifth less to a quarter more.
const BATCH: f64 = 0.063;
const STATEMENT: f64 = 0.00057;
const NOISE: (f64, f64) = (0.8, 1.25);
const PROMISE: f64 = 0.5;
/// Sessions that ask.
const SESSIONS: usize = 256;
/// What is answered in a second by batches of half the promise.
const BEST: f64 = (PROMISE / 2.0 - BATCH) / STATEMENT / (PROMISE / 2.0);

struct Lane {
    course: Course,
    response: Response,
    /// When those who wait came.
    waiting: Vec<f64>,
    /// What runs, when those came whom it answers, and the work that is left.
    running: Option<(Running, Vec<f64>, f64)>,
    was_served: [bool; SESSIONS],
    now: f64,
    random: Random,
}

impl Lane {
    fn new() -> Lane {
        Lane {
            course: Course::default(),
            response: Response::default(),
            waiting: Vec::new(),
            running: None,
            was_served: [true; SESSIONS],
            now: 0.0,
            random: Random::new(),
        }
    }

    fn clock(&self) -> Duration {
        Duration::from_secs_f64(self.now)
    }

    /// Asks for one; whether it was let in.
    fn ask(&mut self) -> bool {
        let session = (self.random.draw() * SESSIONS as f64) as usize;
        let asked = Asked {
            promise: Duration::from_secs_f64(PROMISE),
            waited: Duration::ZERO,
            was_served: self.was_served[session],
            load: 2,
            own: 1,
            ahead: self.course.ahead(self.clock()),
            predicted: None,
            deviations: 3.0,
            now: self.clock(),
        };
        let is_let_in = decide(&self.response, &asked).is_ok();
        self.was_served[session] = is_let_in;
        if is_let_in {
            self.course.come(self.clock());
            self.waiting.push(self.now);
            self.course.set_waiting(self.waiting.len());
            self.may_begin();
        }
        is_let_in
    }

    fn may_begin(&mut self) {
        if self.running.is_some() || self.waiting.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.waiting);
        self.course.set_waiting(0);
        let running = self.course.begin(batch.len(), self.clock());
        let noise = NOISE.0 + (NOISE.1 - NOISE.0) * self.random.draw();
        let work = (BATCH + STATEMENT * batch.len() as f64) * noise;
        self.running = Some((running, batch, work));
    }

    /// Time goes by, of which so much is left for batches; adds what became of those who are answered.
    fn run(&mut self, time: f64, share: f64, tally: &mut Tally) {
        self.now += time;
        if let Some((running, batch, left)) = self.running.take() {
            let left = left - time * share;
            if left > 0.0 {
                self.running = Some((running, batch, left));
                return;
            }
            self.course.end(running, self.clock());
            for came in batch {
                let is_kept = self.now - came <= PROMISE;
                *(if is_kept { &mut tally.kept } else { &mut tally.late }) += 1.0;
            }
        }
        self.may_begin();
    }

    /// Offers so many a second for some seconds, of which refusing one takes a part; what came of them in the last of these, by
    /// second.
    fn offer(&mut self, rate: f64, refusal: f64, seconds: u32, counted: u32) -> Tally {
        const STEP: f64 = 0.001;
        let (mut tally, mut due, mut spent) = (Tally::default(), 0.0, 0.0);
        for step in 0..seconds * 1_000 {
            if step == (seconds - counted) * 1_000 {
                tally = Tally::default();
            }
            self.run(STEP, (1.0 - spent / STEP).max(0.0), &mut tally);
            due += rate * STEP * 2.0 * self.random.draw();
            spent = 0.0;
            while due >= 1.0 {
                due -= 1.0;
                if !self.ask() {
                    tally.refused += 1.0;
                    spent += refusal;
                }
            }
        }
        tally.each(counted)
    }
}

#[test]
fn what_is_answered_in_time_does_not_fall_with_what_is_asked() {
    for times in [1.0, 2.0, 5.0, 10.0] {
        let told = Lane::new().offer(BEST * times, 0.0, 12, 8);
        assert!(told.kept > 0.75 * BEST, "{times} times {BEST}: {told:?}");
        assert!(told.late < 0.02 * told.kept, "{times} times {BEST}: {told:?}");
    }
}

#[test]
fn refusals_take_what_they_cost_and_no_more() {
    // At ten times the best they take more than a third of the machine, and a batch of one as long as half a batch else.
    let (times, refusal) = (10.0, 0.000_03);
    let told = Lane::new().offer(BEST * times, refusal, 12, 8);
    let left = 1.0 - told.refused * refusal;
    assert!((0.5..0.7).contains(&left), "{told:?}");
    assert!(told.kept > 0.25 * left * BEST, "{told:?}");
    assert!(told.late < 0.05 * told.kept, "{told:?}");
}

#[test]
fn what_was_learned_in_a_storm_is_forgotten_after_it() {
    let mut lane = Lane::new();
    lane.offer(BEST * 10.0, 0.000_05, 10, 1);
    let told = lane.offer(BEST * 0.5, 0.0, 10, 5);
    assert!(told.refused < 0.02 * BEST, "{told:?}");
    let again = lane.offer(BEST * 5.0, 0.0, 10, 5);
    assert!(again.kept > 0.75 * BEST, "{again:?}");
}
