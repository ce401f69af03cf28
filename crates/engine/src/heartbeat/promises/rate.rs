//! How much is done in a second, now.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What is counted together.
const TICK: Duration = Duration::from_millis(100);
/// Whole ticks that make the last second.
const TICKS: u64 = 10;
/// One more than those for the tick that is under way, and some that are not looked at.
const SLOTS: usize = 16;

/// Counts of the last ticks: each with its tick's number in the upper half.
#[derive(Debug, Default)]
pub struct Rate([AtomicU64; SLOTS]);

fn tick(now: Duration) -> u64 {
    (now.as_nanos() / TICK.as_nanos()) as u64
}

impl Rate {
    /// Counts something that is done.
    pub fn note(&self, now: Duration, count: u64) {
        let tick = tick(now) & u64::from(u32::MAX);
        let slot = &self.0[tick as usize % SLOTS];
        let add = |old: u64| {
            let before = if old >> 32 == tick { old & u64::from(u32::MAX) } else { 0 };
            Some(tick << 32 | (before + count).min(u64::from(u32::MAX)))
        };
        // It never refuses.
        let _ = slot.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// What was done in the last second that is over.
    pub fn per_second(&self, now: Duration) -> f64 {
        let now = tick(now) & u64::from(u32::MAX);
        let is_counted = |slot: u64| {
            let age = now.wrapping_sub(slot >> 32);
            (1..=TICKS).contains(&age)
        };
        let slots = self.0.iter().map(|slot| slot.load(Ordering::Relaxed));
        let counts = slots.filter(|slot| is_counted(*slot)).map(|slot| slot & u64::from(u32::MAX));
        counts.sum::<u64>() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_last_second_counts() {
        let rate = Rate::default();
        (0..5_000).for_each(|i| rate.note(at(i), 2));
        assert_eq!(rate.per_second(at(5_000)), 2_000.0);
        assert_eq!(rate.per_second(at(5_500)), 1_000.0);
        assert_eq!(rate.per_second(at(7_000)), 0.0);
        rate.note(at(60_000), 7);
        assert_eq!(rate.per_second(at(60_050)), 0.0, "the tick is not over");
        assert_eq!(rate.per_second(at(60_100)), 7.0);
    }

    #[test]
    fn counts_do_not_overflow() {
        let rate = Rate::default();
        (0..3).for_each(|_| rate.note(at(50), u64::from(u32::MAX)));
        assert_eq!(rate.per_second(at(100)), f64::from(u32::MAX));
    }
}
