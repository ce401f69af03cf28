//! The proleptic Gregorian calendar by Julian days, over PostgreSQL's whole range.
//!
//! Years are astronomical: 0 is 1 BC, -1 is 2 BC. A Julian day here begins at midnight; day 0 is 4714-11-24 BC.

/// Julian day of 2000-01-01, from which dates and timestamps count.
pub const EPOCH_DAY: i32 = 2_451_545;
/// Julian day of 1970-01-01.
pub const UNIX_EPOCH_DAY: i32 = 2_440_588;
/// Microseconds in a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Microseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Microseconds in a day of 24 hours.
pub const DAY: i64 = 24 * HOUR;
/// Days in what intervals take for a month.
pub const MONTH_DAYS: i32 = 30;

/// Julian day of a date whose month may be any number and whose day may be outside the month.
pub fn julian_day(year: i32, month: i32, day: i32) -> i64 {
    // Years that begin in March, so that the leap day is the last one.
    let months = i64::from(year) * 12 + i64::from(month) - 3;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year + 1_721_120
}

/// Year, month and day of a Julian day.
pub fn civil(julian_day: i64) -> (i32, i32, i32) {
    let since = julian_day - 1_721_120;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    ((year + era * 400) as i32, month as i32, day as i32)
}

/// Whether a year has 366 days.
pub fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days in a month 1 to 12.
pub fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        2 => 28 + i32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Day of the week, 0 is Sunday.
pub fn day_of_week(julian_day: i64) -> i32 {
    (julian_day + 1).rem_euclid(7) as i32
}

/// Day of the year, from 1.
pub fn day_of_year(year: i32, month: i32, day: i32) -> i32 {
    (julian_day(year, month, day) - julian_day(year, 1, 1) + 1) as i32
}

/// Julian day of the Monday of week 1 of an ISO year: the week with January 4.
fn first_monday(year: i32) -> i64 {
    let fourth = julian_day(year, 1, 4);
    fourth - (fourth).rem_euclid(7)
}

/// ISO year, week (from 1) and day (1 is Monday) of a Julian day.
pub fn iso_week(julian_day: i64) -> (i32, i32, i32) {
    let year = civil(julian_day).0;
    let iso_year = if julian_day >= first_monday(year + 1) {
        year + 1
    } else if julian_day >= first_monday(year) {
        year
    } else {
        year - 1
    };
    let week = (julian_day - first_monday(iso_year)) / 7 + 1;
    (iso_year, week as i32, julian_day.rem_euclid(7) as i32 + 1)
}

/// Julian day of the Monday of a week of an ISO year.
pub fn iso_week_day(iso_year: i32, week: i32) -> i64 {
    first_monday(iso_year) + (i64::from(week) - 1) * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        assert_eq!(julian_day(2000, 1, 1), i64::from(EPOCH_DAY));
        assert_eq!(julian_day(1970, 1, 1), i64::from(UNIX_EPOCH_DAY));
        assert_eq!(julian_day(-4713, 11, 24), 0);
        assert_eq!(day_of_week(julian_day(2024, 2, 29)), 4);
        assert_eq!(iso_week(julian_day(2021, 1, 3)), (2020, 53, 7));
        assert_eq!(iso_week(julian_day(2018, 12, 31)), (2019, 1, 1));
    }

    #[test]
    fn days_and_dates_are_inverse() {
        for start in [0, 2_451_545, 109_203_528, 2_147_483_494] {
            for day in start..start + 1_500 {
                let (year, month, of_month) = civil(day);
                assert_eq!(julian_day(year, month, of_month), day);
                assert!((1..=days_in_month(year, month)).contains(&of_month));
            }
        }
    }
}
