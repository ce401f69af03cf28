//! How long batches of so many take now: what they take at best, and how many times that they take of late.
//!
//! Of what is at work beside a lane most slows all of its batches down alike (refusals, other lanes, a busy machine): where batches
//! are small because of that, those that are not measured meanwhile are slower by as much. Taken for what batches of a few and of
//! one differ by, it would keep them small.

use std::time::Duration;

use parking_lot::Mutex;

use super::super::pass_times::{Pass, most_per_second, seconds_of};

/// Sizes are powers of two: the last is of 32,768 queries and more.
const SIZES: usize = 16;
/// Of one batch in how much slower they are.
const SHARE: f64 = 1.0 / 4.0;
/// What a size takes at best rises by this part of what it takes, so that what is no longer true is forgotten.
const CREEP: f64 = 1.0 / 256.0;

/// Times by size.
#[derive(Debug, Default)]
pub struct BatchTimes(Mutex<Known>);

#[derive(Clone, Copy, Debug)]
struct Known {
    /// At best, by size.
    best: [Option<Pass>; SIZES],
    /// How many times that.
    slowdown: f64,
}

impl Default for Known {
    fn default() -> Known {
        Known { best: [None; SIZES], slowdown: 1.0 }
    }
}

impl Known {
    fn best_of(&self, queries: usize) -> Option<f64> {
        let (mut known, mut count) = ([Pass::default(); SIZES], 0);
        for pass in self.best.into_iter().flatten() {
            known[count] = pass;
            count += 1;
        }
        (count > 0).then(|| seconds_of(&known[..count], queries as f64))
    }

    fn note(&mut self, queries: usize, seconds: f64) {
        let size = (queries.ilog2() as usize).min(SIZES - 1);
        let new = Pass::of(queries, seconds);
        let known = self.best[size].filter(|known| known.seconds() < new.seconds());
        self.best[size] = Some(known.map_or(new, |known| known.towards(new, CREEP)));
        let ratio = self.best_of(queries).map_or(1.0, |best| new.seconds() / best);
        self.slowdown += (ratio - self.slowdown) * SHARE;
    }
}

impl BatchTimes {
    /// A batch of so many took so long.
    pub fn note(&self, queries: usize, took: Duration) {
        if queries > 0 {
            self.0.lock().note(queries, took.as_secs_f64());
        }
    }

    /// What one of so many takes now; `None` where nothing was measured.
    pub fn expected(&self, queries: usize) -> Option<Duration> {
        let known = *self.0.lock();
        known.best_of(queries).map(|best| Duration::from_secs_f64(best * known.slowdown))
    }

    /// How many queries are answered in a second by batches one after the other, of as many as take a time that `is_short`; `None`
    /// where nothing was measured.
    pub fn most_per_second(&self, is_short: impl Fn(Duration) -> bool) -> Option<f64> {
        let largest = self.0.lock().best.iter().flatten().last()?.queries();
        Some(most_per_second(largest, |queries| self.expected(queries), is_short))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn shown(times: &BatchTimes, queries: usize) -> u128 {
        times.expected(queries).expect("measured").as_millis()
    }

    #[test]
    fn what_slows_some_down_slows_all() {
        let times = BatchTimes::default();
        assert_eq!(times.expected(1), None);
        for _ in 0..8 {
            times.note(1, milliseconds(10));
            times.note(64, milliseconds(20));
        }
        assert_eq!((shown(&times, 1), shown(&times, 64)), (10, 20));
        (0..20).for_each(|_| times.note(1, milliseconds(30)));
        assert!((27..=31).contains(&shown(&times, 1)), "{}", shown(&times, 1));
        assert!((48..=62).contains(&shown(&times, 64)), "{}", shown(&times, 64));
        (0..20).for_each(|_| times.note(64, milliseconds(20)));
        assert_eq!(shown(&times, 64), 20, "nothing slows them down any more");
    }

    #[test]
    fn what_takes_no_time_takes_little() {
        let times = BatchTimes::default();
        (0..8).for_each(|_| times.note(1, Duration::ZERO));
        (0..8).for_each(|_| times.note(64, Duration::ZERO));
        assert!(times.expected(1_000).expect("measured") < milliseconds(1));
    }

    #[test]
    fn what_they_took_at_best_long_ago_is_forgotten() {
        let times = BatchTimes::default();
        times.note(4, milliseconds(1));
        times.note(64, milliseconds(4));
        (0..2_000).for_each(|_| times.note(4, milliseconds(10)));
        assert!((9..=10).contains(&shown(&times, 4)));
        assert!(shown(&times, 64) < 40, "{}", shown(&times, 64));
    }

    #[test]
    fn batches_as_large_as_may_be_answer_most() {
        let times = BatchTimes::default();
        let within = |longest| times.most_per_second(|takes| takes <= milliseconds(longest));
        assert_eq!(within(1_000), None);
        for _ in 0..8 {
            times.note(1, milliseconds(10));
            times.note(64, milliseconds(80));
        }
        assert_eq!(within(1), Some(0.0));
        assert_eq!(within(81).map(f64::round), Some(800.0));
        let beyond = within(100_000).expect("measured");
        assert!((1_100.0..1_200.0).contains(&beyond), "{beyond}: of 128, not of more");
    }
}
