//! The zone of texts that name none.
//!
//! Instants are kept and shown in UTC. In a session with another TimeZone a text without an offset, and a conversion between
//! instants and local times, mean another instant than in UTC: there they are refused, since nobody should store an instant
//! that the client did not mean. Texts are read in many places, so the zone belongs to the thread while it runs
//! something for a session.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use engine::types::{Error, SqlState};

std::thread_local! {
    static IS_UTC: Cell<bool> = const { Cell::new(true) };
}

/// Whether what runs now runs for a session in UTC.
pub fn is_utc() -> bool {
    IS_UTC.get()
}

/// Runs something for a session whose zone is UTC, or is not.
pub fn in_zone<T>(utc: bool, run: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_UTC.set(self.0);
        }
    }
    let _before = Before(IS_UTC.replace(utc));
    run()
}

/// The same for a future, whichever thread polls it.
pub async fn polled_in_zone<F: Future>(utc: bool, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| in_zone(utc, || future.as_mut().poll(context))).await
}

/// What means another instant in another zone.
pub fn zone_refused(what: &str) -> Error {
    let message = format!("{what} is not supported in a TimeZone other than UTC");
    Error::new(SqlState::FeatureNotSupported, message)
        .hint("Name an offset from UTC in the value, or SET TimeZone TO 'UTC'.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{parse_date, parse_timestamp};

    #[test]
    fn texts_without_an_offset_are_read_in_utc_only() {
        let local = "2024-07-01 12:00:00";
        assert!(parse_timestamp(local, true).is_ok());
        in_zone(false, || {
            let state = parse_timestamp(local, true).expect_err("no offset").state;
            assert_eq!(state, SqlState::FeatureNotSupported);
            assert!(parse_timestamp("today", true).is_err());
            assert!(parse_date("tomorrow").is_err());
            assert!(parse_timestamp(local, false).is_ok(), "it has no zone");
            assert!(parse_date(local).is_ok());
            for text in ["2024-07-01 12:00:00+02", "2024-07-01T12:00:00Z", "infinity", "now"] {
                assert!(parse_timestamp(text, true).is_ok(), "{text}");
            }
        });
        assert!(parse_timestamp(local, true).is_ok());
    }
}
