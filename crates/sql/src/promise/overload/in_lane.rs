//! One lane, whose batches take longer the more they are, and which cuts what waits into parts.

use std::time::Duration;

use engine::heartbeat::promises::Response;
use engine::heartbeat::{Course, Running};

use super::super::{Asked, Forecast, decide};
use super::{Random, Tally};

/// A fifth less to a quarter more than expected.
const NOISE: (f64, f64) = (0.8, 1.25);
const PROMISE: f64 = 0.5;
/// Sessions that ask.
const SESSIONS: usize = 256;

/// What batches of a lane take.
#[derive(Clone, Copy)]
struct Batches {
    /// Parts into which it cuts what waits: one runs at a time.
    parts: usize,
    /// Seconds of a part's batch, ...
    each: f64,
    /// ... and so much more for each statement.
    statement: f64,
}

const WHOLE: Batches = Batches { parts: 1, each: 0.063, statement: 0.00057 };
const IN_PARTS: Batches = Batches { parts: 3, each: 0.04, statement: 0.0004 };

impl Batches {
    /// What is answered in a second where a turn of all parts takes half of the promise.
    fn best(&self) -> f64 {
        let turn = PROMISE / 2.0;
        (turn - self.parts as f64 * self.each) / self.statement / turn
    }
}

/// A statement that waits or runs.
struct Waiting {
    came: f64,
    part: usize,
    forecast: Option<Forecast>,
}

struct Lane {
    batches: Batches,
    course: Course,
    response: Response,
    waiting: Vec<Waiting>,
    /// What runs, whom it answers, and the work that is left.
    running: Option<(Running, Vec<Waiting>, f64)>,
    was_served: [bool; SESSIONS],
    now: f64,
    random: Random,
}

impl Lane {
    fn new(batches: Batches) -> Lane {
        Lane {
            batches,
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
            ahead: self.course.ahead(),
            predicted: None,
            deviations: 3.0,
            now: self.clock(),
        };
        let decided = decide(&self.response, &asked);
        self.was_served[session] = decided.is_ok();
        let Ok(forecast) = decided else { return false };
        self.course.come(self.clock());
        let part = (self.random.draw() * self.batches.parts as f64) as usize;
        self.waiting.push(Waiting { came: self.now, part, forecast });
        self.course.set_waiting(self.waiting.len());
        self.may_begin();
        true
    }

    /// Begins the part of whoever waits longest.
    fn may_begin(&mut self) {
        let Some(first) = self.waiting.first().filter(|_| self.running.is_none()) else { return };
        let part = first.part;
        let batch: Vec<Waiting> = self.waiting.extract_if(.., |own| own.part == part).collect();
        self.course.set_waiting(self.waiting.len());
        let running = self.course.begin(batch.len(), self.clock());
        let noise = NOISE.0 + (NOISE.1 - NOISE.0) * self.random.draw();
        let work = (self.batches.each + self.batches.statement * batch.len() as f64) * noise;
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
            let promise = Duration::from_secs_f64(PROMISE);
            for Waiting { came, forecast, .. } in batch {
                let took = Duration::from_secs_f64(self.now - came);
                let was_late = forecast.and_then(|forecast| forecast.was_late(promise, took));
                was_late.into_iter().for_each(|was_late| self.course.note(was_late));
                let is_kept = took <= promise;
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
    for batches in [WHOLE, IN_PARTS] {
        let (best, parts) = (batches.best(), batches.parts);
        for times in [1.0, 2.0, 5.0, 10.0] {
            let told = Lane::new(batches).offer(best * times, 0.0, 12, 8);
            assert!(told.kept > 0.75 * best, "{parts} parts, {times} times {best}: {told:?}");
            assert!(told.late < 0.05 * told.kept, "{parts} parts, {times} times {best}: {told:?}");
        }
    }
}

#[test]
fn refusals_take_what_they_cost_and_no_more() {
    for batches in [WHOLE, IN_PARTS] {
        // At ten times the best they take more than a third of the machine.
        let (times, refusal, best) = (10.0, 0.000_03, batches.best());
        let told = Lane::new(batches).offer(best * times, refusal, 12, 8);
        let left = 1.0 - told.refused * refusal;
        assert!((0.5..0.75).contains(&left), "{told:?}");
        assert!(told.kept > 0.25 * left * best, "{told:?}");
        assert!(told.late < 0.05 * told.kept, "{told:?}");
    }
}

#[test]
fn what_was_learned_in_a_storm_is_forgotten_after_it() {
    for batches in [WHOLE, IN_PARTS] {
        let (mut lane, best) = (Lane::new(batches), batches.best());
        lane.offer(best * 10.0, 0.000_05, 10, 1);
        let told = lane.offer(best * 0.5, 0.0, 10, 5);
        assert!(told.refused < 0.02 * best, "{told:?}");
        let again = lane.offer(best * 5.0, 0.0, 10, 5);
        assert!(again.kept > 0.75 * best, "{again:?}");
    }
}
