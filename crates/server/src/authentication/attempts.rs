//! Slow against guessing: who has failed waits longer each time, by address and role.
//!
//! An attempt is counted when it begins, so that many at once gain nothing; one that succeeds takes its failures back.
//! The table is bounded: where it is full, whoever failed longest ago is forgotten, and since an address is counted as a whole
//! too, trying many names does not help.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Attempts of a role that cost nothing, and of an address, whoever it names.
const FREE: u32 = 5;
const FREE_OF_ADDRESS: u32 = 100;

/// Attempts that may be under way beside each other: clients open their connections together.
const TOGETHER: u32 = 256;

const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// Who would have to wait longer is refused at once.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// After so long without a failure all is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(900);

/// Rows of the table.
const LIMIT: usize = 4_096;

/// Who tries: a role from an address, or anybody from it.
type Key = (IpAddr, Option<String>);

#[derive(Clone, Copy, Debug)]
struct Entry {
    failures: u32,
    /// Begun and neither failed nor succeeded yet.
    pending: u32,
    not_before: Instant,
    last: Instant,
}

/// What is remembered of failures.
#[derive(Debug, Default)]
pub struct Attempts(Mutex<HashMap<Key, Entry>>);

/// An attempt under way.
#[derive(Debug)]
pub struct Attempt<'a> {
    attempts: &'a Attempts,
    keys: [Key; 2],
    settled: bool,
}

fn delay(failures: u32, free: u32) -> Duration {
    match failures.checked_sub(free) {
        None => Duration::ZERO,
        Some(more) => FIRST_DELAY.saturating_mul(1 << more.min(16)).min(LONGEST_DELAY),
    }
}

/// A whole network of version 6 is one address: who has one has all of it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

impl Attempts {
    /// Begins an attempt: how long it has to wait first; `None` where that would be too long.
    pub fn begin(
        &self,
        address: IpAddr,
        role: &str,
        now: Instant,
    ) -> Option<(Attempt<'_>, Duration)> {
        let address = network(address);
        let role: String = role.chars().take(63).collect();
        let keys = [(address, Some(role)), (address, None)];
        let mut table = self.0.lock();
        let mut wait = Duration::ZERO;
        for (key, free) in keys.iter().zip([FREE, FREE_OF_ADDRESS]) {
            let entry = Attempts::entry(&mut table, key, now);
            let crowd = entry.pending.saturating_sub(TOGETHER);
            let due = entry.not_before.saturating_duration_since(now);
            wait = wait.max(due + delay(entry.failures.saturating_add(crowd), free + 1));
        }
        if wait > LONGEST_WAIT {
            return None;
        }
        for key in &keys {
            let entry = Attempts::entry(&mut table, key, now);
            entry.pending += 1;
            if !wait.is_zero() {
                // The next one waits behind this one.
                entry.not_before = entry.not_before.max(now + wait);
            }
        }
        drop(table);
        Some((Attempt { attempts: self, keys, settled: false }, wait))
    }

    fn entry<'t>(table: &'t mut HashMap<Key, Entry>, key: &Key, now: Instant) -> &'t mut Entry {
        if table.len() >= LIMIT && !table.contains_key(key) {
            table.retain(|_, entry| {
                entry.pending > 0 || now.saturating_duration_since(entry.last) < FORGOTTEN_AFTER
            });
            if table.len() >= LIMIT {
                let oldest = table.iter().min_by_key(|(_, entry)| entry.last);
                let oldest = oldest.map(|(key, _)| key.clone());
                if let Some(key) = oldest {
                    table.remove(&key);
                }
            }
        }
        let fresh = Entry { failures: 0, pending: 0, not_before: now, last: now };
        let entry = table.entry(key.clone()).or_insert(fresh);
        if now.saturating_duration_since(entry.last) >= FORGOTTEN_AFTER && entry.pending == 0 {
            *entry = fresh;
        }
        entry
    }

    fn settle(&self, keys: &[Key; 2], succeeded: bool, now: Instant) {
        let mut table = self.0.lock();
        for (place, key) in keys.iter().enumerate() {
            let Some(entry) = table.get_mut(key) else { continue };
            entry.pending = entry.pending.saturating_sub(1);
            match succeeded {
                false => {
                    entry.failures = entry.failures.saturating_add(1);
                    entry.last = now;
                }
                // Only the role's: one right password must not pay for guessing others.
                true if place == 0 => {
                    entry.failures = 0;
                    entry.not_before = now;
                }
                true => {}
            }
            if entry.failures == 0 && entry.pending == 0 {
                table.remove(key);
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl Attempt<'_> {
    /// The password was right.
    pub fn succeeded(mut self) {
        self.settled = true;
        self.attempts.settle(&self.keys, true, Instant::now());
    }

    #[cfg(test)]
    fn failed_at(mut self, now: Instant) {
        self.settled = true;
        self.attempts.settle(&self.keys, false, now);
    }
}

impl Drop for Attempt<'_> {
    /// It was wrong, or the client has gone.
    fn drop(&mut self) {
        if !self.settled {
            self.attempts.settle(&self.keys, false, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn guesses_one_after_another_wait_longer_and_longer() {
        let attempts = Attempts::default();
        let mut now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..20 {
            let (attempt, wait) = attempts.begin(address(1), "ann", now).expect("waits");
            waits.push(wait);
            now += wait;
            attempt.failed_at(now);
        }
        assert!(waits[..6].iter().all(Duration::is_zero), "{waits:?}");
        assert_eq!(waits[6..8], [FIRST_DELAY, FIRST_DELAY * 2]);
        assert_eq!(waits[19], LONGEST_DELAY);
        let (other, wait) = attempts.begin(address(2), "ann", now).expect("another address");
        assert!(wait.is_zero());
        other.succeeded();
        let (later, wait) =
            attempts.begin(address(1), "ann", now + FORGOTTEN_AFTER).expect("later");
        assert!(wait.is_zero());
        later.succeeded();
    }

    #[test]
    fn guesses_at_once_gain_nothing() {
        let attempts = Attempts::default();
        let now = Instant::now();
        let mut under_way = Vec::new();
        let mut at_once = 0;
        for _ in 0..1_000 {
            if let Some((attempt, wait)) = attempts.begin(address(1), "ann", now) {
                at_once += u32::from(wait.is_zero());
                under_way.push(attempt);
            }
        }
        assert!(at_once <= TOGETHER + FREE + 1, "{at_once}");
        assert!(under_way.len() < TOGETHER as usize + 30, "{}", under_way.len());
        under_way.into_iter().for_each(|attempt| attempt.failed_at(now));
        let refused = attempts.begin(address(1), "ann", now);
        assert!(refused.is_none_or(|(_, wait)| wait >= LONGEST_DELAY));
    }

    #[test]
    fn the_right_password_is_not_held_up_and_the_table_stays_small() {
        let attempts = Attempts::default();
        let now = Instant::now();
        for _ in 0..3 {
            attempts.begin(address(1), "ann", now).expect("free").0.failed_at(now);
        }
        let (attempt, wait) = attempts.begin(address(1), "ann", now).expect("free");
        assert!(wait.is_zero());
        attempt.succeeded();
        for name in 0..10_000 {
            let place = address((name % 200) as u8);
            if let Some((attempt, _)) = attempts.begin(place, &name.to_string(), now) {
                attempt.failed_at(now);
            }
        }
        assert!(attempts.len() <= LIMIT, "{}", attempts.len());
    }
}
