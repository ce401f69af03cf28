//! Statements outside lanes, whose load is all that is known: passes take longer the more ride, and newcomers get on while they turn.

use std::collections::VecDeque;
use std::time::Duration;

use engine::heartbeat::promises::{Margin, OWN, Response};

use super::super::{Asked, decide};
use super::{Random, Tally};

/// A pass takes this and so much more for each who rides.
const PASS: f64 = 0.063;
const RIDER: f64 = 0.00057;
/// Who comes gets on when this part of the last pass is done, for each that is under way, ...
const SPACING: f64 = 1.0 / 8.0;
/// ... or never on one that is so far.
const TOO_LATE: f64 = 0.75;
/// Passes under way at a time.
const PASSES: usize = 4;
const PROMISE: f64 = 0.5;
/// Statements of different kinds.
const KINDS: usize = 13;
/// What is answered in a second by passes of 256.
const BEST: f64 = 256.0 / (PASS + 256.0 * RIDER);

#[derive(Clone, Copy)]
struct Statement {
    kind: usize,
    began: f64,
    load: u64,
    latest: Option<Duration>,
}

struct Pass {
    done: f64,
    riders: Vec<Statement>,
}

struct Lane {
    responses: Vec<Response>,
    margin: Margin,
    waiting: Vec<Statement>,
    passes: VecDeque<Pass>,
    was_served: bool,
    now: f64,
    random: Random,
}

impl Lane {
    fn new() -> Lane {
        Lane {
            responses: (0..KINDS).map(|_| Response::default()).collect(),
            margin: Margin::default(),
            waiting: Vec::new(),
            passes: VecDeque::new(),
            was_served: true,
            now: 0.0,
            random: Random::new(),
        }
    }

    fn riding(&self) -> usize {
        self.passes.iter().map(|pass| pass.riders.len()).sum()
    }

    fn inside(&self) -> u64 {
        (self.riding() + self.waiting.len()) as u64
    }

    /// Asks for one; whether it was let in.
    fn ask(&mut self) -> bool {
        let kind = (self.random.draw() * KINDS as f64) as usize;
        let load = (self.inside() + 1) * OWN;
        let asked = Asked {
            promise: Duration::from_secs_f64(PROMISE),
            waited: Duration::ZERO,
            was_served: self.was_served,
            load,
            own: OWN,
            ahead: None,
            predicted: None,
            deviations: self.margin.deviations(),
            now: Duration::from_secs_f64(self.now),
        };
        let decided = decide(&self.responses[kind], &asked);
        self.was_served = decided.is_ok();
        let Ok(forecast) = decided else { return false };
        let latest = forecast.map(|forecast| forecast.latest);
        self.waiting.push(Statement { kind, began: self.now, load, latest });
        self.may_board();
        true
    }

    fn may_board(&mut self) {
        let Some(last) = self.passes.back() else { return self.board() };
        let spacing = SPACING * self.passes.len() as f64;
        if self.passes.len() < PASSES && (spacing..TOO_LATE).contains(&last.done) {
            self.board();
        }
    }

    fn board(&mut self) {
        if !self.waiting.is_empty() {
            let riders = std::mem::take(&mut self.waiting);
            self.passes.push_back(Pass { done: 0.0, riders });
        }
    }

    /// Turns for a while; adds what became of those who get off.
    fn turn(&mut self, time: f64, tally: &mut Tally) {
        self.now += time;
        let part = time / (PASS + RIDER * self.riding() as f64);
        self.passes.iter_mut().for_each(|pass| pass.done += part);
        while self.passes.front().is_some_and(|pass| pass.done >= 1.0) {
            let inside = self.inside();
            let pass = self.passes.pop_front().expect("there is one");
            pass.riders.into_iter().for_each(|rider| self.answer(rider, inside, tally));
        }
        self.may_board();
    }

    fn answer(&mut self, statement: Statement, inside: u64, tally: &mut Tally) {
        let took = self.now - statement.began;
        let load = statement.load.max(inside * OWN);
        self.responses[statement.kind].note(load, Duration::from_secs_f64(took));
        if let Some(latest) = statement.latest {
            self.margin.note(took > latest.as_secs_f64());
        }
        *(if took <= PROMISE { &mut tally.kept } else { &mut tally.late }) += 1.0;
    }

    /// Offers so many a second for some seconds; what came of them in the last of these, by second.
    fn offer(&mut self, rate: f64, seconds: u32, counted: u32) -> Tally {
        const STEP: f64 = 0.001;
        let (mut tally, mut due) = (Tally::default(), 0.0);
        for step in 0..seconds * 1_000 {
            if step == (seconds - counted) * 1_000 {
                tally = Tally::default();
            }
            self.turn(STEP, &mut tally);
            due += rate * STEP * 2.0 * self.random.draw();
            while due >= 1.0 {
                due -= 1.0;
                tally.refused += f64::from(u8::from(!self.ask()));
            }
        }
        tally.each(counted)
    }
}

#[test]
fn what_is_answered_in_time_does_not_fall_with_what_is_asked() {
    for times in [1.0, 2.0, 5.0, 10.0] {
        let told = Lane::new().offer(BEST * times, 12, 8);
        assert!(told.kept > 0.85 * BEST, "{times} times {BEST}: {told:?}");
        assert!(told.late < 0.02 * told.kept, "{times} times {BEST}: {told:?}");
    }
}

#[test]
fn what_was_learned_in_a_storm_is_forgotten_after_it() {
    let mut lane = Lane::new();
    lane.offer(BEST * 10.0, 10, 1);
    let told = lane.offer(BEST * 0.5, 10, 5);
    assert!(told.refused < 0.02 * BEST, "{told:?}");
    let again = lane.offer(BEST * 5.0, 10, 5);
    assert!(again.kept > 0.85 * BEST, "{again:?}");
}
