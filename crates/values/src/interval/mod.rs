//! `interval`: months, days and microseconds, each with its own sign.
//!
//! Intervals are compared by months of 30 days and days of 24 hours.

mod arithmetic;
mod fields;
mod iso;
mod justified;
mod kernels;
mod made;
mod part;
mod read;
mod sum;
mod typmod;
mod write;

pub use arithmetic::{add, divide, multiply, negate, subtract};
pub use justified::{justify_days, justify_hours, justify_interval};
pub use made::make;
pub use part::{date_part, extract, truncate};
pub use read::from_text;
pub use typmod::scale;
pub use write::to_text;

pub(crate) use kernels::KERNELS;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::calendar::{DAY, HOUR, MINUTE, MONTH_DAYS, SECOND};
use crate::error::{Result, ValueError};

/// Months, days and microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Years count as 12 of them.
    pub months: i32,
    /// Weeks count as 7 of them.
    pub days: i32,
    /// Hours, minutes and seconds.
    pub micros: i64,
}

impl Interval {
    /// What orders intervals, and is the same for equal ones: microseconds of months of 30 days and days of 24 hours.
    pub fn key(&self) -> i128 {
        let days = i128::from(self.months) * i128::from(MONTH_DAYS) + i128::from(self.days);
        days * i128::from(DAY) + i128::from(self.micros)
    }

    /// Each part with its sign changed; the least of its type stays.
    pub(crate) fn wrapping_negative(&self) -> Interval {
        Interval {
            months: self.months.wrapping_neg(),
            days: self.days.wrapping_neg(),
            micros: self.micros.wrapping_neg(),
        }
    }
}

impl PartialEq for Interval {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Interval {}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Interval {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Interval {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The parts of an interval as they are shown; all of months have one sign, as have all of microseconds.
#[derive(Clone, Copy, Debug)]
struct Parts {
    years: i32,
    months: i32,
    days: i32,
    hours: i64,
    minutes: i32,
    seconds: i32,
    micros: i32,
}

impl Parts {
    fn of(span: &Interval) -> Parts {
        Parts {
            years: span.months / 12,
            months: span.months % 12,
            days: span.days,
            hours: span.micros / HOUR,
            minutes: (span.micros % HOUR / MINUTE) as i32,
            seconds: (span.micros % MINUTE / SECOND) as i32,
            micros: (span.micros % SECOND) as i32,
        }
    }
}

pub(crate) fn out_of_range() -> ValueError {
    ValueError::new("22008", "interval out of range")
}

/// Canonical key: equal intervals have equal keys, which compare as they do.
pub fn to_key(span: &Interval) -> [u8; 16] {
    crate::key::of_i128(span.key())
}

/// Sixteen bytes: microseconds, days, months.
pub fn to_binary(span: &Interval) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&span.micros.to_be_bytes());
    bytes[8..12].copy_from_slice(&span.days.to_be_bytes());
    bytes[12..].copy_from_slice(&span.months.to_be_bytes());
    bytes
}

/// What [`to_binary`] wrote.
///
/// # Errors
/// 22P03 where there are not sixteen bytes.
pub fn from_binary(bytes: &[u8], typmod: i32) -> Result<Interval> {
    let bytes: &[u8; 16] = bytes.try_into().map_err(|_| crate::error::wrong_length())?;
    let four = |from: usize| bytes[from..from + 4].try_into().expect("four bytes");
    let span = Interval {
        micros: i64::from_be_bytes(bytes[..8].try_into().expect("eight bytes")),
        days: i32::from_be_bytes(four(8)),
        months: i32::from_be_bytes(four(12)),
    };
    scale(&span, typmod)
}
