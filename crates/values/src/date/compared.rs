//! Dates beside timestamps. A date after the last timestamp is above each but infinity.

use std::cmp::Ordering;

use super::{to_timestamp, to_timestamptz};
use crate::zone::Zone;

/// A date beside a timestamp, as the timestamp at its beginning.
pub fn compare_with_timestamp(date: i32, timestamp: i64) -> Ordering {
    match to_timestamp(date) {
        Ok(begins) => begins.cmp(&timestamp),
        Err(_) if timestamp == i64::MAX => Ordering::Less,
        Err(_) => Ordering::Greater,
    }
}

/// A date beside an instant, as the instant at which it begins in a zone.
pub fn compare_with_timestamptz(date: i32, timestamp: i64, zone: &Zone) -> Ordering {
    match to_timestamptz(date, zone) {
        Ok(begins) => begins.cmp(&timestamp),
        // Before the first instant, or after the last one.
        Err(_) if date < 0 && timestamp == i64::MIN => Ordering::Greater,
        Err(_) if date < 0 => Ordering::Less,
        Err(_) if timestamp == i64::MAX => Ordering::Less,
        Err(_) => Ordering::Greater,
    }
}
