//! How much time verification may take where only a share of the activations is drawn: ten times that share of one core, so
//! that 0.001 costs a hundredth of one, whatever a statement takes by itself.

use std::sync::Arc;
use std::time::Duration;

use engine::env::Clock;
use parking_lot::Mutex;

use super::Share;

/// A core's time per share of activations.
const CORES_PER_SHARE: f64 = 10.0;

/// What is saved up while nothing is drawn, in seconds.
const MOST_SAVED: f64 = 0.1;

/// Time that may be spent.
#[derive(Debug)]
pub struct Allowance {
    clock: Arc<dyn Clock>,
    account: Mutex<Account>,
}

#[derive(Debug)]
struct Account {
    /// When time was last credited.
    credited: Duration,
    /// Seconds; below zero after an answer that took long.
    balance: f64,
}

impl Allowance {
    /// As much as can be saved.
    pub fn new(clock: Arc<dyn Clock>) -> Allowance {
        let account = Account { credited: clock.now(), balance: MOST_SAVED };
        Allowance { clock, account: Mutex::new(account) }
    }

    /// Whether one more answer may be verified for whoever draws this share.
    pub fn admits(&self, share: Share) -> bool {
        let rate = share.part() * CORES_PER_SHARE;
        if rate >= 1.0 {
            return true;
        }
        let now = self.clock.now();
        let mut account = self.account.lock();
        let passed = now.saturating_sub(account.credited).as_secs_f64();
        account.credited = now;
        account.balance = (account.balance + passed * rate).min(MOST_SAVED);
        account.balance > 0.0
    }

    /// Verifying one took so long.
    pub fn spend(&self, took: Duration) {
        self.account.lock().balance -= took.as_secs_f64();
    }
}

#[cfg(test)]
mod tests {
    use engine::env::SimulatedClock;

    use super::*;

    #[test]
    fn a_thousandth_of_the_activations_takes_a_hundredth_of_a_core() {
        let clock = Arc::new(SimulatedClock::default());
        let allowance = Allowance::new(clock.clone());
        let share = Share::new(0.001).expect("a share");
        let mut spent = Duration::ZERO;
        // Something comes each millisecond and would take ten.
        for _ in 0..100_000 {
            clock.put_forward(Duration::from_millis(1));
            if allowance.admits(share) {
                allowance.spend(Duration::from_millis(10));
                spent += Duration::from_millis(10);
            }
        }
        let part = spent.as_secs_f64() / 100.0;
        assert!((0.009..0.012).contains(&part), "{part}");
    }

    #[test]
    fn who_verifies_all_is_not_bounded() {
        let allowance = Allowance::new(Arc::new(SimulatedClock::default()));
        allowance.spend(Duration::from_secs(100));
        assert!(allowance.admits(Share::ALL));
        assert!(!allowance.admits(Share::new(0.05).expect("a share")));
    }
}
