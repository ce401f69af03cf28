//! What those get whose answers nobody promised, while others' are.
//!
//! Whoever was promised an answer may come before those who were not ([`super::parts`]); so that these do not starve, each time that
//! promised work runs a ninth of its time is owed to them: a tenth of all. What is owed is bounded, since rest earns no credit,
//! and what runs for longer than was owed is set off against later. Called by [`super::lane`] and [`super::pool`].

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Promised work runs so many times as long as what is owed for it.
const TIMES: i64 = 9;

/// No more is owed: work that takes longer begins when so much is.
const MOST: Duration = Duration::from_millis(100);

/// What is owed to those without a promise.
#[derive(Debug, Default)]
pub struct LeastShare {
    /// Nanoseconds; below zero where they had more than their share.
    owed: AtomicI64,
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

impl LeastShare {
    /// Work begins that is expected to take so long.
    pub fn note(&self, is_promised: bool, takes: Duration) {
        let (takes, most) = (nanoseconds(takes), nanoseconds(MOST));
        let change = if is_promised { takes / TIMES } else { takes.saturating_neg() };
        // What takes longer than was owed is set off whole, what ran while nobody was promised anything is not.
        let least = if is_promised { i64::MIN } else { -most.max(takes) };
        let next = |owed: i64| Some(owed.saturating_add(change).clamp(least, most));
        // It never refuses.
        let _ = self.owed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Whether work without a promise that takes so long comes before all that was promised.
    pub fn is_owed(&self, takes: Duration) -> bool {
        self.owed.load(Ordering::Relaxed) >= nanoseconds(takes.min(MOST)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// The share of time that work without a promise gets, of this length, where promised work of that length always waits, too.
    fn share(without: Duration, promised: Duration) -> f64 {
        let least = LeastShare::default();
        let (mut got, mut all) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..10_000 {
            let is_owed = least.is_owed(without);
            let takes = if is_owed { without } else { promised };
            least.note(!is_owed, takes);
            all += takes;
            got += if is_owed { takes } else { Duration::ZERO };
        }
        got.as_secs_f64() / all.as_secs_f64()
    }

    #[test]
    fn who_has_no_promise_gets_a_tenth() {
        for (without, promised) in [(5, 5), (50, 5), (5, 50), (2_000, 10), (10, 2_000)] {
            let share = share(without * MILLISECOND, promised * MILLISECOND);
            let least = if promised > 10 * without { 0.04 } else { 0.099 };
            assert!((least..0.11).contains(&share), "{share} of {without} beside {promised}");
        }
    }

    #[test]
    fn rest_earns_no_credit() {
        let least = LeastShare::default();
        assert!(!least.is_owed(MILLISECOND), "nothing was promised yet");
        least.note(true, Duration::from_secs(1_000));
        assert!(least.is_owed(Duration::from_secs(5)));
        least.note(false, Duration::from_secs(5));
        assert!(!least.is_owed(MILLISECOND));
        least.note(true, Duration::from_secs(44));
        assert!(!least.is_owed(MILLISECOND));
        least.note(true, 2 * Duration::from_secs(1));
        assert!(least.is_owed(MILLISECOND));
    }
}
