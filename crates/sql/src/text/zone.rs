//! The zone of a session.
//!
//! Instants are kept in UTC. A text without an offset, and a conversion between instants and local times, mean another instant in
//! another zone. Texts are read in many places, so the zone belongs to the thread while it runs something for a session; what a plan
//! computes has it in the plan (`dialect::zoned`), since whoever runs that serves many sessions.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use engine::types::{Error, SqlState};
use values::zone::Zone;

/// The zone of a session; the default is UTC.
#[derive(Clone, Debug, Default)]
pub struct SessionZone(Option<Zone>);

impl SessionZone {
    /// The zone that `TimeZone` names; `None` where it names none.
    pub fn named(name: &str) -> Option<SessionZone> {
        let zone = zone_named(name)?;
        Some(SessionZone((!is_name_of_utc(zone.name())).then_some(zone)))
    }

    /// Whether it is UTC, by any of its names.
    pub fn is_utc(&self) -> bool {
        self.0.is_none()
    }

    /// As `SHOW TimeZone` tells it.
    pub fn name(&self) -> &str {
        self.0.as_ref().map_or("UTC", Zone::name)
    }

    /// The zone, where it is another one than UTC.
    pub fn elsewhere(&self) -> Option<&Zone> {
        self.0.as_ref()
    }
}

/// What `SHOW TimeZone` tells of this name: as it is usually written.
pub fn usual_name(name: &str) -> Option<String> {
    zone_named(name).map(|zone| zone.name().to_owned())
}

fn zone_named(name: &str) -> Option<Zone> {
    let hours = name.parse::<f64>().ok().filter(|hours| hours.abs() < 24.0);
    match hours {
        Some(hours) => Some(Zone::fixed((hours * 3_600.0) as i32)),
        None => Zone::named(name),
    }
}

/// Zones of one name have the same rules.
impl PartialEq for SessionZone {
    fn eq(&self, other: &SessionZone) -> bool {
        self.name() == other.name()
    }
}

impl Eq for SessionZone {}

fn is_name_of_utc(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "utc",
        "gmt",
        "etc/utc",
        "etc/gmt",
        "zulu",
        "etc/zulu",
        "uct",
        "etc/uct",
        "universal",
        "etc/universal",
        "<+00>-00",
    ];
    NAMES.iter().any(|own| name.eq_ignore_ascii_case(own))
}

std::thread_local! {
    static ZONE: RefCell<SessionZone> = const { RefCell::new(SessionZone(None)) };
}

/// Whether what runs now runs for a session in UTC.
pub fn is_utc() -> bool {
    ZONE.with_borrow(SessionZone::is_utc)
}

/// The zone of the session that something runs for now.
pub fn session_zone() -> SessionZone {
    ZONE.with_borrow(SessionZone::clone)
}

/// Runs something for a session in this zone.
pub fn in_zone<T>(zone: &SessionZone, run: impl FnOnce() -> T) -> T {
    struct Before(SessionZone);
    impl Drop for Before {
        fn drop(&mut self) {
            ZONE.set(std::mem::take(&mut self.0));
        }
    }
    let _before = Before(ZONE.replace(zone.clone()));
    run()
}

/// The same for a future, whichever thread polls it.
pub async fn polled_in_zone<F: Future>(zone: SessionZone, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| in_zone(&zone, || future.as_mut().poll(context))).await
}

/// What means another instant in another zone, and is brought together where nobody knows the session.
pub fn zone_refused() -> Error {
    let message = "this conversion between timestamp with time zone and local time is not supported \
                   in a TimeZone other than UTC";
    Error::new(SqlState::FeatureNotSupported, message)
        .hint("Write it as a cast or with AT TIME ZONE, or SET TimeZone TO 'UTC'.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{parse_date, parse_timestamp};

    #[test]
    fn texts_without_an_offset_are_read_in_the_sessions_zone() {
        let local = "2024-07-01 12:00:00";
        let noon = parse_timestamp(local, true).expect("a time");
        let tokyo = SessionZone::named("Asia/Tokyo").expect("a zone");
        in_zone(&tokyo, || {
            assert_eq!(session_zone(), tokyo);
            assert_eq!(parse_timestamp(local, true), Ok(noon - 9 * 3_600_000_000));
            assert_eq!(parse_timestamp(local, false), Ok(noon), "it has no zone");
            assert_eq!(parse_timestamp("2024-07-01 12:00:00Z", true), Ok(noon));
            assert!(parse_date("tomorrow").is_ok());
        });
        assert_eq!(parse_timestamp(local, true), Ok(noon));
    }

    #[test]
    fn names_of_utc_are_utc() {
        for name in ["UTC", "gmt", "Etc/UTC", "Zulu", "0"] {
            assert!(SessionZone::named(name).expect(name).is_utc(), "{name}");
        }
        for name in ["Europe/Brussels", "-7", "EST5EDT", "+02"] {
            assert!(!SessionZone::named(name).expect(name).is_utc(), "{name}");
        }
        assert_eq!(SessionZone::named("No/Where"), None);
    }
}
