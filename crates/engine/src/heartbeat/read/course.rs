//! When who comes into a lane now is expected to be answered.
//!
//! In come what begins to wait in a lane, and its batches when they begin and end; out goes how long those took on average from their
//! coming to their answer who found so many inside. That is measured by Little's law: the time that all were inside, together, over
//! how many were answered meanwhile. It holds whatever a lane does with them: parts that run one after the other or two at a time,
//! newcomers that board, workers that others take. Written by [`super::lane`], [`super::lead`] and [`super::generation`]; read by
//! whoever promises response times, for each statement: nothing here is locked for longer than a look takes.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::pass_times::PassTimes;

/// How much longer than expected an answer may take before anything is known.
const FIRST: f32 = 1.5;
/// Answers that are late where a batch ends raise it by so much, ...
const RAISE: f32 = 0.05;
/// ... where they are a fifth or more of those that might be; ...
const MANY: f32 = 0.2;
/// ... so few do not, ...
const FEW: f32 = 0.02;
/// ... but lower it by so much.
const LOWER: f32 = 0.005;
/// So many are let in before anything is known; who comes then waits for the first measurement elsewhere.
const FIRST_INSIDE: usize = 64;
const UNKNOWN: Duration = Duration::from_secs(3_600);
/// The part of those inside that must be answered for their stay to be measured.
const TURN: f64 = 0.25;
/// Neither less nor more.
const RANGE: (f32, f32) = (0.8, 2.5);

/// How many are in a lane, and how long they stay.
#[derive(Debug)]
pub struct Course {
    waiting: AtomicUsize,
    flow: Mutex<Flow>,
    /// How long those stay that find so many inside.
    stays: PassTimes,
    /// Answers of those who were let in with little to spare since a batch ended, ...
    tight: AtomicU32,
    /// ... and how many of them were late.
    late: AtomicU32,
    /// What almost all take at most, as a multiple of what is expected, as bits.
    factor: AtomicU32,
}

impl Default for Course {
    fn default() -> Course {
        Course {
            waiting: AtomicUsize::new(0),
            flow: Mutex::default(),
            stays: PassTimes::default(),
            tight: AtomicU32::new(0),
            late: AtomicU32::new(0),
            factor: AtomicU32::new(FIRST.to_bits()),
        }
    }
}

/// What went on since something was measured last.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// In batches that run.
    running: usize,
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
    /// So many are inside from now on.
    fn advance(&mut self, inside: usize, now: Duration) {
        let time = now.saturating_sub(self.since);
        if self.inside > 0 {
            self.busy += time;
            self.together += self.inside as f64 * time.as_secs_f64();
        }
        (self.inside, self.since) = (inside, now);
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
    /// How long it stays, on average.
    pub stay: Duration,
    /// What almost all take at most, as a multiple of that.
    pub factor: f32,
}

/// A batch that runs, until [`Course::end`].
#[derive(Debug)]
pub struct Running {
    activations: usize,
}

impl Course {
    /// So many wait now.
    pub fn set_waiting(&self, waiting: usize) {
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// One begins to wait.
    pub fn come(&self, now: Duration) {
        let mut flow = self.flow.lock();
        let inside = self.waiting.load(Ordering::Relaxed) + 1 + flow.running;
        flow.advance(inside, now);
    }

    /// A batch begins.
    pub fn begin(&self, activations: usize, now: Duration) -> Running {
        let mut flow = self.flow.lock();
        flow.running += activations;
        let inside = self.waiting.load(Ordering::Relaxed) + flow.running;
        flow.advance(inside, now);
        Running { activations }
    }

    /// It has ended.
    pub fn end(&self, batch: Running, now: Duration) {
        let mut flow = self.flow.lock();
        flow.running -= batch.activations;
        flow.answered += batch.activations;
        let inside = self.waiting.load(Ordering::Relaxed) + flow.running;
        flow.advance(inside, now);
        if let Some((inside, stayed)) = flow.measured() {
            self.stays.note(inside, stayed);
        }
        drop(flow);
        self.adjust();
    }

    /// What who comes now meets; `None` where nothing was measured, and few are inside.
    pub fn ahead(&self) -> Option<Ahead> {
        let inside = self.waiting.load(Ordering::Relaxed) + self.flow.lock().running;
        let unknown = || (inside >= FIRST_INSIDE).then_some(UNKNOWN);
        let stay = self.stays.expected(inside + 1).or_else(unknown)?;
        Some(Ahead { inside, stay, factor: self.factor() })
    }

    /// One was answered, or dropped, that was let in with little to spare; whether that was late.
    pub fn note(&self, is_late: bool) {
        self.tight.fetch_add(1, Ordering::Relaxed);
        self.late.fetch_add(u32::from(is_late), Ordering::Relaxed);
    }

    /// Follows what became of those who were let in with little to spare: up fast, down slowly, once for each batch, since those of
    /// one are late together.
    fn adjust(&self) {
        let tight = self.tight.swap(0, Ordering::Relaxed);
        let late = self.late.swap(0, Ordering::Relaxed);
        if tight == 0 {
            return;
        }
        let share = late as f32 / tight as f32;
        let step = if share > FEW { RAISE * (share / MANY).min(1.0) } else { -LOWER };
        let factor = (self.factor() + step).clamp(RANGE.0, RANGE.1);
        self.factor.store(factor.to_bits(), Ordering::Relaxed);
    }

    fn factor(&self) -> f32 {
        f32::from_bits(self.factor.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// So many come at once and are answered by one batch that begins at once.
    fn run(course: &Course, activations: usize, began: Duration, took: Duration) {
        for others in 0..activations {
            course.set_waiting(others);
            course.come(began);
        }
        course.set_waiting(0);
        let running = course.begin(activations, began);
        course.end(running, began + took);
    }

    #[test]
    fn who_comes_stays_as_long_as_those_who_met_as_many() {
        let course = Course::default();
        assert_eq!(course.ahead(), None);
        for i in 0..20 {
            run(&course, 10, i * 100 * MILLISECOND, 20 * MILLISECOND);
            run(&course, 100, (i * 100 + 30) * MILLISECOND, 60 * MILLISECOND);
        }
        course.set_waiting(9);
        let ahead = course.ahead().expect("measured");
        assert_eq!((ahead.inside, ahead.stay.as_millis()), (9, 20));
        let running = course.begin(90, 5_000 * MILLISECOND);
        let ahead = course.ahead().expect("measured");
        assert_eq!((ahead.inside, ahead.stay.as_millis()), (99, 60));
        course.end(running, 5_060 * MILLISECOND);
    }

    #[test]
    fn what_waits_while_another_part_runs_stays_for_both() {
        let course = Course::default();
        for i in 0..20 {
            let began = i * 1_000 * MILLISECOND;
            (0..20).for_each(|others| {
                course.set_waiting(others);
                course.come(began);
            });
            course.set_waiting(10);
            let first = course.begin(10, began);
            course.end(first, began + 100 * MILLISECOND);
            course.set_waiting(0);
            let second = course.begin(10, began + 100 * MILLISECOND);
            course.end(second, began + 200 * MILLISECOND);
        }
        // While all are inside ten are answered, while the others are ten; the mean of both sizes lies between.
        course.set_waiting(14);
        let stay = course.ahead().expect("measured").stay;
        assert!((100..200).contains(&stay.as_millis()), "{stay:?}");
    }

    #[test]
    fn who_is_late_makes_room_and_who_is_not_takes_some_back() {
        let course = Course::default();
        let factor_after = |late: usize, begins: u32| {
            (0..50).for_each(|i| course.note(i < late));
            run(&course, 1, begins * MILLISECOND, MILLISECOND);
            course.ahead().expect("measured").factor
        };
        assert!(factor_after(0, 0) < FIRST);
        assert!(factor_after(1, 10) < FIRST, "one of fifty may be");
        assert!(factor_after(5, 20) > FIRST);
        assert!((100..200).all(|i| factor_after(0, i * 10) < FIRST + RAISE));
        let before = course.ahead();
        run(&course, 1, 5_000 * MILLISECOND, MILLISECOND);
        assert_eq!(course.ahead(), before, "nobody had little to spare");
    }
}
