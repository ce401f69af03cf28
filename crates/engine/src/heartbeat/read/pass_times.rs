//! How long a pass takes for so many queries, as measured.
//!
//! In come passes that one generation had to itself ([`super::generation`]), or how long so many stayed in a lane ([`super::course`]);
//! out goes what one of any size is expected to take, and with it what is lost where queries ride as two generations that could have ridden
//! as one.

use std::time::Duration;

use parking_lot::Mutex;

/// Sizes are powers of two: the last is of 32,768 queries and more.
const SIZES: usize = 16;
/// Of a new measurement in the mean of its size.
const SHARE: f64 = 1.0 / 4.0;
/// Where one size only is known: time grows with the root of the number of queries, halfway between a pass that costs the
/// same whoever rides and one on which nothing is shared.
const GROWTH: f64 = 0.5;
/// What was measured of a size says little once so many of others were measured since.
const OUTDATED: u32 = 32;

/// Means by size.
#[derive(Debug, Default)]
pub struct PassTimes {
    known: Mutex<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    by_size: [Option<Pass>; SIZES],
    /// Passes so far; it may begin anew.
    passes: u32,
}

/// Mean number of queries, and of seconds, of the passes of one size.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    queries: f64,
    seconds: f64,
    /// How many passes there had been.
    noted: u32,
}

impl PassTimes {
    /// Notes a pass that so many queries had to themselves.
    pub fn note(&self, queries: usize, took: Duration) {
        if queries == 0 {
            return;
        }
        let size = (queries.ilog2() as usize).min(SIZES - 1);
        let mut known = self.known.lock();
        known.passes = known.passes.wrapping_add(1);
        let noted = known.passes;
        let new = Pass { queries: queries as f64, seconds: took.as_secs_f64(), noted };
        let known = &mut known.by_size[size];
        *known = Some(known.map_or(new, |old| Pass {
            queries: old.queries + (new.queries - old.queries) * SHARE,
            seconds: old.seconds + (new.seconds - old.seconds) * SHARE,
            noted,
        }));
    }

    /// What a pass of so many queries takes, as was measured lately; `None` where nothing was.
    pub fn expected(&self, queries: usize) -> Option<Duration> {
        // Asked for each statement that is promised something: nothing is allocated, and the lock is held for a copy.
        let Known { by_size, passes } = *self.known.lock();
        let (mut recent, mut count) = ([Pass::default(); SIZES], 0);
        for pass in by_size.into_iter().flatten() {
            if passes.wrapping_sub(pass.noted) <= OUTDATED {
                recent[count] = pass;
                count += 1;
            }
        }
        let largest = recent[..count].last()?;
        // What two sizes differ by may be chance. Taken for what is larger than both, it would keep batches from growing until
        // they are measured.
        let (queries, known) = (queries as f64, largest.queries);
        let at_known = expected(&recent[..count], queries.min(known));
        let beyond = (queries / known).max(1.0).powf(GROWTH);
        Some(Duration::from_secs_f64(at_known * beyond))
    }

    /// How much longer two generations take around the ring together than all of their queries as one; zero where
    /// nothing is known. What a pass of one query takes is counted once: at most so much is done for both together.
    pub fn lost_apart(&self, one: usize, other: usize) -> Duration {
        let known: Vec<Pass> = self.known.lock().by_size.iter().flatten().copied().collect();
        if known.is_empty() {
            return Duration::ZERO;
        }
        let takes = |queries: usize| expected(&known, queries as f64);
        let lost = takes(one) + takes(other) - takes(1) - takes(one + other);
        Duration::from_secs_f64(lost.max(0.0))
    }
}

/// Seconds of a pass of so many queries: on the line through the two sizes next to it, both in logarithms.
fn expected(known: &[Pass], queries: f64) -> f64 {
    let after = known.partition_point(|pass| pass.queries < queries);
    let upper = after.clamp(1, (known.len() - 1).max(1));
    let from = known[upper - 1];
    let growth = known.get(upper).map_or(GROWTH, |to| {
        let growth = (to.seconds / from.seconds).ln() / (to.queries / from.queries).ln();
        // More queries take no less, and no more than their share.
        growth.clamp(0.0, 1.0)
    });
    from.seconds * (queries / from.queries).powf(growth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(known: &[(usize, u64)]) -> PassTimes {
        let times = PassTimes::default();
        known.iter().for_each(|&(queries, took)| times.note(queries, Duration::from_millis(took)));
        times
    }

    #[test]
    fn nothing_is_lost_where_nothing_is_known_or_one_rides() {
        assert_eq!(PassTimes::default().lost_apart(256, 256), Duration::ZERO);
        let times = passes(&[(1, 4), (16, 38), (256, 150), (1024, 250)]);
        assert_eq!(times.lost_apart(1, 1), Duration::ZERO);
        assert!(times.lost_apart(256, 1) < Duration::from_millis(1));
    }

    #[test]
    fn many_that_ride_apart_lose_what_they_would_share() {
        let times = passes(&[(1, 4), (16, 38), (256, 150), (1024, 250)]);
        let lost = times.lost_apart(512, 512).as_millis();
        assert!((100..160).contains(&lost), "{lost}");
        assert!(times.lost_apart(256, 256) > Duration::from_millis(80));
    }

    #[test]
    fn what_is_larger_than_all_that_was_measured_is_not_held_for_as_dear_as_chance_says() {
        // A batch of sixteen took four times as long as one of four.
        let times = passes(&[(4, 20), (16, 80)]);
        assert_eq!(times.expected(8).expect("measured").as_millis(), 40);
        assert_eq!(times.expected(64).expect("measured").as_millis(), 160);
    }

    #[test]
    fn one_known_size_is_enough_and_means_follow_changes() {
        let times = passes(&[(100, 100)]);
        let lost = times.lost_apart(100, 300).as_millis();
        // 100 and 173 beside 200, less 10 for one.
        assert!((62..65).contains(&lost), "{lost}");
        (0..40).for_each(|_| times.note(100, Duration::from_millis(10)));
        assert!(times.lost_apart(100, 300) < Duration::from_millis(7));
    }
}
