//! Refusals, told to the log: who was refused what, from where; bounded, since anybody can provoke them.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Refusals that are told one after another.
const BURST: u32 = 50;

/// How long it takes until one more may be told.
const PAUSE: Duration = Duration::from_millis(200);

/// One refusal.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// Who has asked.
    pub role: &'a str,
    /// From where; `None` inside the process.
    pub address: Option<IpAddr>,
    /// What for: a statement's kind, or logging in.
    pub what: &'a str,
    /// Why not; it names the object.
    pub why: &'a str,
}

/// Tells refusals to the log, as long as there are not too many of them.
#[derive(Debug)]
pub struct Audit(Mutex<Budget>);

#[derive(Debug)]
struct Budget {
    left: u32,
    since: Instant,
    untold: u64,
}

impl Default for Audit {
    fn default() -> Audit {
        Audit(Mutex::new(Budget { left: BURST, since: Instant::now(), untold: 0 }))
    }
}

impl Budget {
    /// Whether one more may be told, and how many were not told before it.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let earned = now.saturating_duration_since(self.since).as_millis() / PAUSE.as_millis();
        let earned = u32::try_from(earned).unwrap_or(BURST).min(BURST);
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(BURST);
            self.since = now;
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Some(std::mem::take(&mut self.untold))
            }
            None => {
                self.untold += 1;
                None
            }
        }
    }
}

impl Audit {
    /// Tells one refusal, if there were not too many.
    pub fn refused(&self, refusal: Refusal<'_>) {
        let Some(untold) = self.0.lock().take(Instant::now()) else { return };
        let Refusal { role, address, what, why } = refusal;
        let address = address.map(tracing::field::display);
        tracing::warn!(target: "shareddb::audit", role, address, what, why, untold, "refused");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_refusals_are_counted_instead_of_told() {
        let start = Instant::now();
        let mut budget = Budget { left: BURST, since: start, untold: 0 };
        let told = (0..1_000).filter(|_| budget.take(start).is_some()).count();
        assert_eq!(told, BURST as usize);
        assert_eq!(budget.take(start + PAUSE), Some(1_000 - u64::from(BURST)));
        assert_eq!(budget.take(start + PAUSE), None);
    }
}
