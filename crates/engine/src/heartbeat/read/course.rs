//! When who comes into a lane now is expected to be answered.
//!
//! In come what begins to wait in a lane, and its batches when they begin and end; out goes how long a newcomer is expected to stay, by
//! two laws. **By batches**: until what runs has ended, and then as long as a batch of all who wait then took of late; that is exact
//! where all who wait ride in one batch, one after the other. **By stays**: as long as those stayed on average who found so many
//! inside, which is measured by Little's law, the time that all were inside, together, over how many were answered meanwhile. It holds
//! whatever a lane does with them: parts that run one after the other or two at a time, newcomers that board, workers that others
//! take. Which of the two is trusted says how far each was off lately ([`Law`]). Written by [`super::lane`], [`super::lead`] and
//! [`super::generation`]; read by whoever promises response times, for each statement: nothing here is locked for longer than a look
//! takes.

mod batch_times;
mod law;

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use self::batch_times::BatchTimes;
use self::law::Law;
pub use self::law::{Answered, ExpectedStay};
use super::pass_times::PassTimes;
use crate::heartbeat::promises::Rate;

/// So many are let in before anything is known; who comes then waits for the first measurement elsewhere.
const FIRST_INSIDE: usize = 64;
const UNKNOWN: Duration = Duration::from_secs(3_600);
/// The part of those inside that must be answered for their stay to be measured.
const TURN: f64 = 0.25;
/// The share of a promise that one batch may take: who comes when it begins waits for it, and for the next one.
const HALF: f64 = 0.475;

/// How much longer than expected an answer may take before anything is known: the mean of those who met as many, ...
const BEYOND_MEAN: f32 = 1.5;
/// ... the batches that it waits for.
const BEYOND_BATCHES: f32 = 1.3;

/// How many are in a lane, and how long they stay.
#[derive(Debug)]
pub struct Course {
    flow: Mutex<Flow>,
    /// How long those stay that find so many inside.
    stays: PassTimes,
    /// How long a batch of so many takes.
    batches: BatchTimes,
    by_stays: Law,
    by_batches: Law,
    answered: Rate,
}

impl Default for Course {
    fn default() -> Course {
        Course {
            flow: Mutex::default(),
            stays: PassTimes::default(),
            batches: BatchTimes::default(),
            by_stays: Law::new(BEYOND_MEAN),
            by_batches: Law::new(BEYOND_BATCHES),
            answered: Rate::default(),
        }
    }
}

/// What goes on, and what went on since something was measured last.
#[derive(Clone, Debug, Default)]
struct Flow {
    waiting: usize,
    /// By when the first of those must be answered.
    due: Option<Instant>,
    /// In batches that run.
    running: usize,
    /// When each of these is expected to end.
    ends: Vec<Duration>,
    /// Waiting or running since [`Self::since`].
    inside: usize,
    since: Duration,
    /// The time in which somebody was inside, ...
    busy: Duration,
    /// ... that of all of them together, in seconds, ...
    together: f64,
    /// ... and how many were answered.
    answered: usize,
}

impl Flow {
    /// As many are inside from now on as wait, `more` than now, and run.
    fn advance(&mut self, more: usize, now: Duration) {
        let time = now.saturating_sub(self.since);
        if self.inside > 0 {
            self.busy += time;
            self.together += self.inside as f64 * time.as_secs_f64();
        }
        (self.inside, self.since) = (self.waiting + more + self.running, now);
    }

    /// How many were inside on average and how long each stayed, once a part of as many was answered as were inside: where more come
    /// than are answered it is never all of them.
    fn measured(&mut self) -> Option<(usize, Duration)> {
        let mean = self.together / self.busy.as_secs_f64().max(1e-9);
        if self.answered == 0 || (self.answered as f64) < mean * TURN {
            return None;
        }
        let stayed = Duration::from_secs_f64(self.together / self.answered as f64);
        (self.busy, self.together, self.answered) = (Duration::ZERO, 0.0, 0);
        Some((mean.round().max(1.0) as usize, stayed))
    }
}

/// What a newcomer meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ahead {
    /// Others that wait or run.
    pub inside: usize,
    /// By stays.
    pub by_stays: ExpectedStay,
    /// By batches, where one was measured.
    pub by_batches: Option<NextBatch>,
    /// That has been the nearer one of late.
    pub trusts_batches: bool,
}

/// The batch that a newcomer would ride in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextBatch {
    /// Until it ends.
    pub expected: ExpectedStay,
    /// What it takes.
    pub takes: Duration,
    /// What it would take for one.
    pub alone: Duration,
    /// How many wait for it already.
    pub others: usize,
    /// What is left until the first of those must be answered that wait for it.
    pub left: Option<Duration>,
}

impl Ahead {
    /// How long it stays.
    pub fn expected(&self) -> ExpectedStay {
        self.next_batch().map_or(self.by_stays, |next| next.expected)
    }

    /// Whether it is expected to be answered in so much time, and makes nobody late: not those who wait for the same batch, nor who
    /// comes while that runs and was promised as much (unless it takes so long by itself).
    pub fn fits(&self, room: Duration, promise: Duration) -> bool {
        let latest = self.expected().latest();
        let fits_batch = |next: &NextBatch| {
            let longest = next.takes.mul_f32(next.expected.factor);
            let is_short = next.others == 0 || longest <= promise.mul_f64(HALF);
            next.left.is_none_or(|left| latest <= left) && is_short
        };
        latest <= room && self.next_batch().is_none_or(fits_batch)
    }

    /// What one takes in the lane by itself, where batches say so.
    pub fn alone(&self) -> Option<Duration> {
        self.next_batch().map(|next| next.alone)
    }

    fn next_batch(&self) -> Option<&NextBatch> {
        self.by_batches.as_ref().filter(|_| self.trusts_batches)
    }
}

/// A batch that runs, until [`Course::end`].
#[derive(Debug)]
pub struct Running {
    activations: usize,
    began: Duration,
    until: Duration,
}

impl Course {
    /// So many wait now, and the first of them must be answered by then.
    pub fn set_waiting(&self, waiting: usize, due: Option<Instant>) {
        let mut flow = self.flow.lock();
        (flow.waiting, flow.due) = (waiting, due);
    }

    /// One begins to wait.
    pub fn come(&self, now: Duration) {
        self.flow.lock().advance(1, now);
    }

    /// A batch begins.
    pub fn begin(&self, activations: usize, now: Duration) -> Running {
        let until = now + self.batches.expected(activations).unwrap_or_default();
        let mut flow = self.flow.lock();
        flow.running += activations;
        flow.ends.push(until);
        flow.advance(0, now);
        Running { activations, began: now, until }
    }

    /// It has ended.
    pub fn end(&self, batch: Running, now: Duration) {
        let mut flow = self.flow.lock();
        flow.running -= batch.activations;
        if let Some(ended) = flow.ends.iter().position(|until| *until == batch.until) {
            flow.ends.swap_remove(ended);
        }
        flow.answered += batch.activations;
        flow.advance(0, now);
        if let Some((inside, stayed)) = flow.measured() {
            self.stays.note(inside, stayed);
        }
        drop(flow);
        self.answered.note(now, batch.activations as u64);
        self.batches.note(batch.activations, now.saturating_sub(batch.began));
        self.by_stays.adjust();
        self.by_batches.adjust();
    }

    /// What who comes now meets, by the engine's clock and the system's; `None` where nothing was measured, and few are inside.
    pub fn ahead(&self, now: Duration, at: Instant) -> Option<Ahead> {
        let flow = self.flow.lock();
        let (inside, others) = (flow.waiting + flow.running, flow.waiting);
        let left = flow.due.map(|due| due.saturating_duration_since(at));
        let rest = flow.ends.iter().max().map_or(Duration::ZERO, |end| end.saturating_sub(now));
        drop(flow);
        let unknown = || (inside >= FIRST_INSIDE).then_some(UNKNOWN);
        let stay = self.stays.expected(inside + 1).or_else(unknown)?;
        let alone = self.batches.expected(1).unwrap_or_default();
        let next_batch = |takes| {
            let expected = self.by_batches.expect(rest + takes);
            NextBatch { expected, takes, alone, others, left }
        };
        Some(Ahead {
            inside,
            by_stays: self.by_stays.expect(stay),
            by_batches: self.batches.expected(others + 1).map(next_batch),
            trusts_batches: self.trusts_batches(),
        })
    }

    fn trusts_batches(&self) -> bool {
        self.by_batches.error() <= self.by_stays.error()
    }

    /// So many times as much as was answered in the last second could be answered within `promise`; `None` where nothing was.
    pub fn growth(&self, promise: Duration, now: Duration) -> Option<f64> {
        let most = match self.trusts_batches() {
            true => self.batches.most_per_second(|takes| {
                self.by_batches.expect(takes).latest() <= promise.mul_f64(HALF)
            }),
            // Those who are inside are answered in the time for which each stays.
            false => {
                self.stays.most_per_second(|stay| self.by_stays.expect(stay).latest() <= promise)
            }
        };
        Some(most? / self.answered.per_second(now).max(1e-3))
    }

    /// One was answered, or dropped, that was let in with what it had met.
    pub fn note(&self, met: &Ahead, answered: &Answered) {
        self.by_stays.note(&met.by_stays, answered);
        met.by_batches.iter().for_each(|next| self.by_batches.note(&next.expected, answered));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// So many come at once and are answered by one batch that begins at once.
    fn run(course: &Course, activations: usize, began: Duration, took: Duration) {
        for others in 0..activations {
            course.set_waiting(others, None);
            course.come(began);
        }
        course.set_waiting(0, None);
        let running = course.begin(activations, began);
        course.end(running, began + took);
    }

    fn met(course: &Course, now: Duration) -> Ahead {
        course.ahead(now, Instant::now()).expect("measured")
    }

    #[test]
    fn who_comes_stays_as_long_as_those_who_met_as_many() {
        let course = Course::default();
        assert_eq!(course.ahead(Duration::ZERO, Instant::now()), None);
        for i in 0..20 {
            run(&course, 10, i * 100 * MILLISECOND, 20 * MILLISECOND);
            run(&course, 100, (i * 100 + 30) * MILLISECOND, 60 * MILLISECOND);
        }
        course.set_waiting(9, None);
        let ahead = met(&course, 2_000 * MILLISECOND);
        assert_eq!((ahead.inside, ahead.by_stays.stay.as_millis()), (9, 20));
        let running = course.begin(90, 5_000 * MILLISECOND);
        let ahead = met(&course, 5_000 * MILLISECOND);
        assert_eq!((ahead.inside, ahead.by_stays.stay.as_millis()), (99, 60));
        course.end(running, 5_060 * MILLISECOND);
    }

    #[test]
    fn what_waits_while_another_part_runs_stays_for_both() {
        let course = Course::default();
        for i in 0..20 {
            let began = i * 1_000 * MILLISECOND;
            (0..20).for_each(|others| {
                course.set_waiting(others, None);
                course.come(began);
            });
            course.set_waiting(10, None);
            let first = course.begin(10, began);
            course.end(first, began + 100 * MILLISECOND);
            course.set_waiting(0, None);
            let second = course.begin(10, began + 100 * MILLISECOND);
            course.end(second, began + 200 * MILLISECOND);
        }
        // While all are inside ten are answered, while the others are ten; the mean of both sizes lies between.
        course.set_waiting(14, None);
        let stay = met(&course, 20_000 * MILLISECOND).by_stays.stay;
        assert!((100..200).contains(&stay.as_millis()), "{stay:?}");
    }

    #[test]
    fn who_comes_waits_for_what_runs_and_rides_with_all_who_wait() {
        let course = Course::default();
        for i in 0..20 {
            run(&course, 16, i * 1_000 * MILLISECOND, 40 * MILLISECOND);
            run(&course, 64, (i * 1_000 + 500) * MILLISECOND, 100 * MILLISECOND);
        }
        let began = 30_000 * MILLISECOND;
        let running = course.begin(64, began);
        course.set_waiting(15, None);
        let told = |after| met(&course, began + after * MILLISECOND).by_batches.expect("measured");
        assert_eq!(told(30).takes, 40 * MILLISECOND);
        assert_eq!(told(30).expected.stay, 110 * MILLISECOND);
        assert_eq!(told(200).expected.stay, 40 * MILLISECOND, "it should have ended");
        course.end(running, began + 100 * MILLISECOND);
        assert_eq!(told(101).expected.stay, 40 * MILLISECOND, "nothing runs");
    }

    #[test]
    fn nobody_is_made_late_who_waits_or_comes_next() {
        let next = |stay: u32, takes: u32, left: Option<u32>| Ahead {
            inside: 1,
            by_stays: ExpectedStay { stay: MILLISECOND, factor: 1.0 },
            by_batches: Some(NextBatch {
                expected: ExpectedStay { stay: stay * MILLISECOND, factor: 1.0 },
                takes: takes * MILLISECOND,
                alone: MILLISECOND,
                others: 1,
                left: left.map(|left| left * MILLISECOND),
            }),
            trusts_batches: true,
        };
        let fits = |ahead: Ahead| ahead.fits(90 * MILLISECOND, 100 * MILLISECOND);
        assert!(fits(next(80, 40, None)) && fits(next(80, 40, Some(85))));
        assert!(!fits(next(95, 40, None)));
        assert!(!fits(next(80, 40, Some(75))), "who waits would be late");
        assert!(!fits(next(60, 50, None)), "who comes next would be late");
        assert!(fits(Ahead { trusts_batches: false, ..next(95, 95, Some(1)) }), "by stays");
    }

    #[test]
    fn batches_of_half_a_promise_say_how_much_more_can_be_answered() {
        let course = Course::default();
        assert_eq!(course.growth(MILLISECOND, Duration::ZERO), None);
        for i in 0..10 {
            run(&course, 16, i * 100 * MILLISECOND, 20 * MILLISECOND);
            run(&course, 64, (i * 100 + 40) * MILLISECOND, 40 * MILLISECOND);
        }
        // 800 were, and batches of 64 that are to take 40 ms, and may take a third more, are 1,600 a second.
        let growth = |promise| course.growth(promise * MILLISECOND, 1_000 * MILLISECOND);
        assert_eq!(growth(112).map(|growth| (growth * 10.0).round()), Some(20.0));
        assert_eq!(growth(60).map(|growth| (growth * 10.0).round()), Some(10.0));
        assert_eq!(growth(10), Some(0.0));
    }

    #[test]
    fn the_law_is_trusted_that_was_nearer() {
        let course = Course::default();
        run(&course, 10, Duration::ZERO, 50 * MILLISECOND);
        let room = 60 * MILLISECOND;
        course.set_waiting(9, None);
        let ahead = met(&course, 100 * MILLISECOND);
        for stay in [20, 200] {
            let by_stays = ExpectedStay { stay: stay * MILLISECOND, ..ahead.by_stays };
            let ahead = Ahead { by_stays, ..ahead };
            let answered = Answered { room, took: 50 * MILLISECOND, is_late: false };
            (0..100).for_each(|_| course.note(&ahead, &answered));
            assert!(met(&course, 100 * MILLISECOND).trusts_batches);
        }
        let answered = Answered { room, took: 500 * MILLISECOND, is_late: true };
        let by_stays = ExpectedStay { stay: 400 * MILLISECOND, ..ahead.by_stays };
        (0..300).for_each(|_| course.note(&Ahead { by_stays, ..ahead }, &answered));
        assert!(!met(&course, 100 * MILLISECOND).trusts_batches);
    }
}
