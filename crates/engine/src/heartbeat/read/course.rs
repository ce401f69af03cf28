//! When who comes into a lane now is expected to be answered.
//!
//! In come the batches of a lane, when they begin and end, and how many wait for the next one; out goes how long what runs will still
//! take, and how long the batch that a newcomer would be in. How long a batch of so many takes is measured ([`PassTimes`]), with
//! all that happens beside it. Written by [`super::lane`], [`super::lead`] and [`super::generation`]; read by whoever promises response
//! times, for each statement: nothing here is locked for longer than a look takes.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::pass_times::PassTimes;

/// How much longer than expected a batch may take before anything is known.
const FIRST: f32 = 1.25;
/// One that took longer raises it by so much; one that did not takes a tenth of that back.
const STEP: f32 = 0.1;
/// Neither less nor more.
const RANGE: (f32, f32) = (1.0, 2.0);
/// What runs takes so much of what it has taken so far still, whatever was expected: nobody knows why it is late.
const OVERDUE: u32 = 8;
/// Of a new measurement in the mean wait for a worker.
const SHARE: f32 = 1.0 / 8.0;

/// What runs in a lane and what waits.
#[derive(Debug)]
pub struct Course {
    waiting: AtomicUsize,
    /// Of each batch that runs when it began, and when it is expected to end, by the engine's clock.
    running: Mutex<Vec<(Duration, Duration)>>,
    times: PassTimes,
    /// What nine of ten batches take at most, as a multiple of what is expected, as bits.
    factor: AtomicU32,
    /// Seconds that what waits has waited for a worker while nothing of the lane ran, on average, as bits.
    delay: AtomicU32,
    /// Since when something waits and nothing runs.
    idle: Mutex<Option<Duration>>,
}

impl Default for Course {
    fn default() -> Course {
        Course {
            waiting: AtomicUsize::new(0),
            running: Mutex::default(),
            times: PassTimes::default(),
            factor: AtomicU32::new(FIRST.to_bits()),
            delay: AtomicU32::new(0.0f32.to_bits()),
            idle: Mutex::default(),
        }
    }
}

/// What a newcomer has before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ahead {
    /// Until its batch begins.
    pub rest: Duration,
    /// What its batch takes, if nobody else comes.
    pub batch: Duration,
    /// Others that wait for the same batch.
    pub waiting: usize,
    /// Nothing runs and nobody waits.
    pub is_idle: bool,
    /// What nine of ten batches take at most, as a multiple of what is expected.
    pub factor: f32,
}

/// A batch that runs, until [`Course::end`].
#[derive(Debug)]
pub struct Running {
    activations: usize,
    began: Duration,
    expected: Option<Duration>,
}

impl Course {
    /// So many wait now.
    pub fn set_waiting(&self, waiting: usize) {
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// One begins to wait.
    pub fn come(&self, now: Duration) {
        if self.running.lock().is_empty() {
            self.idle.lock().get_or_insert(now);
        }
    }

    /// A batch begins.
    pub fn begin(&self, activations: usize, now: Duration) -> Running {
        if let Some(since) = self.idle.lock().take() {
            let (new, old) = (now.saturating_sub(since).as_secs_f32(), self.delay());
            self.delay.store((old + (new - old) * SHARE).to_bits(), Ordering::Relaxed);
        }
        let expected = self.times.expected(activations);
        self.running.lock().push((now, now + expected.unwrap_or_default()));
        Running { activations, began: now, expected }
    }

    /// It has ended.
    pub fn end(&self, batch: Running, now: Duration) {
        let Running { activations, began, expected } = batch;
        let own = (began, began + expected.unwrap_or_default());
        let mut running = self.running.lock();
        if let Some(place) = running.iter().position(|other| *other == own) {
            running.swap_remove(place);
        }
        let is_idle = running.is_empty();
        drop(running);
        if is_idle && self.waiting.load(Ordering::Relaxed) > 0 {
            self.idle.lock().get_or_insert(now);
        }
        let took = now.saturating_sub(began);
        self.times.note(activations, took);
        if let Some(expected) = expected {
            let factor = self.factor();
            let is_longer = took > expected.mul_f32(factor);
            let step = if is_longer { STEP } else { -STEP / 10.0 };
            let factor = (factor + step).clamp(RANGE.0, RANGE.1);
            self.factor.store(factor.to_bits(), Ordering::Relaxed);
        }
    }

    /// What who comes now has before it; `None` where no batch was measured.
    pub fn ahead(&self, now: Duration) -> Option<Ahead> {
        let waiting = self.waiting.load(Ordering::Relaxed);
        let batch = self.times.expected(waiting + 1)?;
        let running = self.running.lock();
        let rest = |(began, end): &(Duration, Duration)| {
            let least = now.saturating_sub(*began) / OVERDUE;
            end.saturating_sub(now).max(least)
        };
        let last = running.iter().map(rest).max();
        drop(running);
        let rest = last.unwrap_or_default() + Duration::from_secs_f32(self.delay());
        let is_idle = last.is_none() && waiting == 0;
        Some(Ahead { rest, batch, waiting, is_idle, factor: self.factor() })
    }

    fn factor(&self) -> f32 {
        f32::from_bits(self.factor.load(Ordering::Relaxed))
    }

    fn delay(&self) -> f32 {
        f32::from_bits(self.delay.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// A batch that began then and took so long.
    fn run(course: &Course, activations: usize, began: Duration, took: Duration) {
        let running = course.begin(activations, began);
        course.end(running, began + took);
    }

    #[test]
    fn nothing_is_said_before_a_batch_was_measured() {
        let course = Course::default();
        assert_eq!(course.ahead(MILLISECOND), None);
        run(&course, 10, MILLISECOND, 10 * MILLISECOND);
        assert!(course.ahead(20 * MILLISECOND).expect("measured").is_idle);
    }

    #[test]
    fn a_newcomer_waits_for_what_runs_and_then_for_its_own_batch() {
        let course = Course::default();
        for i in 0..20 {
            run(&course, 10, i * 100 * MILLISECOND, 20 * MILLISECOND);
            run(&course, 100, (i * 100 + 30) * MILLISECOND, 60 * MILLISECOND);
        }
        let began = 5_000 * MILLISECOND;
        let running = course.begin(100, began);
        course.set_waiting(9);
        let ahead = course.ahead(began + 25 * MILLISECOND).expect("measured");
        assert_eq!((ahead.waiting, ahead.is_idle), (9, false));
        assert_eq!(ahead.rest.as_millis(), 35);
        assert_eq!(ahead.batch.as_millis(), 20);
        // Nobody knows when a batch ends that takes longer than was expected.
        let late = course.ahead(began + 200 * MILLISECOND).expect("measured");
        assert_eq!(late.rest.as_millis(), 25);
        course.end(running, began + 200 * MILLISECOND);
        assert!(course.ahead(began + 210 * MILLISECOND).expect("measured").factor > ahead.factor);
    }

    #[test]
    fn what_waits_for_a_worker_counts() {
        let course = Course::default();
        for i in 0..50 {
            let came = i * 100 * MILLISECOND;
            course.set_waiting(1);
            course.come(came);
            course.set_waiting(0);
            run(&course, 1, came + 40 * MILLISECOND, 10 * MILLISECOND);
        }
        let rest = course.ahead(10_000 * MILLISECOND).expect("measured").rest;
        assert!((38..41).contains(&rest.as_millis()), "{rest:?}");
    }

    #[test]
    fn batches_that_are_as_long_as_expected_need_no_room() {
        let course = Course::default();
        (0..100).for_each(|i| run(&course, 16, i * 100 * MILLISECOND, 50 * MILLISECOND));
        let factor = course.ahead(Duration::ZERO).expect("measured").factor;
        assert!(factor < 1.2, "{factor}");
    }
}
