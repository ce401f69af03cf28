//! A date and time in its parts, and what the texts of dates, times, timestamps and intervals have in common.

mod date_part;
mod fault;
mod fields;
mod label;
mod number;
mod offset_text;
mod reading;
mod time_part;
mod words;
mod write;

pub(crate) use fault::{Fault, unknown_zone};
pub(crate) use fields::{Field, FieldKind, split};
pub(crate) use number::{fraction, leading_i64};
pub(crate) use offset_text::{read_offset, write_offset};
pub(crate) use reading::{Read, Special, read_moment, read_time_of_day};
pub(crate) use time_part::clock;
pub(crate) use words::{Unit, interval_unit, is_ignored, unit_or_word};
pub(crate) use write::{
    MONTHS, MONTHS_SHORT, WEEKDAYS, ZoneText, push_seconds, write_date, write_moment, write_time,
};

use crate::calendar::{DAY, EPOCH_DAY, HOUR, MINUTE, SECOND, civil, julian_day};

/// A date and a time of day, without a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Astronomical: 0 is 1 BC.
    pub year: i32,
    /// 1 to 12.
    pub month: i32,
    /// From 1.
    pub day: i32,
    /// 0 to 24.
    pub hour: i32,
    /// 0 to 59.
    pub minute: i32,
    /// 0 to 60.
    pub second: i32,
    /// 0 to 1,000,000.
    pub micros: i32,
}

/// First timestamp: 4714-11-24 00:00:00 BC.
pub(crate) const FIRST_TIMESTAMP: i64 = -211_813_488_000_000_000;
/// After the last timestamp: 294277-01-01 00:00:00.
pub(crate) const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;

/// Whether microseconds since 2000 are in the range of timestamps.
pub(crate) fn is_timestamp(micros: i64) -> bool {
    (FIRST_TIMESTAMP..END_TIMESTAMP).contains(&micros)
}

/// Whether a year and month are near enough for Julian days to be told.
pub(crate) fn is_julian(year: i32, month: i32) -> bool {
    (year > -4713 || (year == -4713 && month >= 11))
        && (year < 5_874_898 || (year == 5_874_898 && month < 6))
}

impl Moment {
    /// The parts of a timestamp, in microseconds since 2000-01-01.
    pub fn of_timestamp(micros: i64) -> Moment {
        let (days, of_day) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        let (year, month, day) = civil(days + i64::from(EPOCH_DAY));
        Moment { year, month, day, ..Moment::of_time(of_day) }
    }

    /// The parts of a time of day, in microseconds since midnight.
    pub fn of_time(micros: i64) -> Moment {
        Moment {
            hour: (micros / HOUR) as i32,
            minute: (micros % HOUR / MINUTE) as i32,
            second: (micros % MINUTE / SECOND) as i32,
            micros: (micros % SECOND) as i32,
            ..Moment::default()
        }
    }

    /// Julian day of the date.
    pub fn julian_day(&self) -> i64 {
        julian_day(self.year, self.month, self.day)
    }

    /// Microseconds since midnight.
    pub fn time(&self) -> i64 {
        i64::from(self.hour) * HOUR
            + i64::from(self.minute) * MINUTE
            + i64::from(self.second) * SECOND
            + i64::from(self.micros)
    }

    /// Microseconds since 2000-01-01 here, less an offset in seconds; `None` outside the range of timestamps.
    pub fn timestamp(&self, offset: i32) -> Option<i64> {
        if !is_julian(self.year, self.month) {
            return None;
        }
        let days = self.julian_day() - i64::from(EPOCH_DAY);
        let micros = days.checked_mul(DAY)?.checked_add(self.time())?;
        let micros = micros.checked_sub(i64::from(offset) * SECOND)?;
        is_timestamp(micros).then_some(micros)
    }

    /// Whole seconds since 1970-01-01 here; `None` where Julian days are not told.
    pub fn local_seconds(&self) -> Option<i64> {
        if !is_julian(self.year, self.month) {
            return None;
        }
        let days = self.julian_day() - i64::from(crate::calendar::UNIX_EPOCH_DAY);
        Some(days * 86_400 + (self.time() - i64::from(self.micros)) / SECOND)
    }

    /// Whether the time of day is outside 00:00:00 to 24:00:00.
    pub fn is_time_outside(&self) -> bool {
        !(0..=24).contains(&self.hour)
            || !(0..60).contains(&self.minute)
            || !(0..=60).contains(&self.second)
            || !(0..=1_000_000).contains(&self.micros)
            || self.time() > DAY
    }
}
