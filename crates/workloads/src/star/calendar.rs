//! The days of the benchmark, 1992-01-01 to 1998-12-31, and everything that the date dimension says about them.

use crate::client::CopyLine;

/// Days in the seven years, two of them leap years.
pub const DAYS: usize = 2_557;

/// The first year.
pub const FIRST_YEAR: i32 = 1992;

/// The last year.
pub const LAST_YEAR: i32 = 1998;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// 1992-01-01 was a Wednesday.
const FIRST_WEEKDAY: usize = 3;

/// Months (from 1) and days that are holidays every year.
const HOLIDAYS: [(i32, i32); 10] =
    [(12, 24), (1, 1), (2, 20), (4, 20), (5, 20), (7, 20), (8, 20), (9, 20), (10, 20), (11, 20)];

/// One day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// The year.
    pub year: i32,
    /// From 1.
    pub month: i32,
    /// From 1.
    pub of_month: i32,
    /// From 1.
    pub of_year: i32,
    /// From 0, a Sunday.
    weekday: usize,
    last_of_month: bool,
}

impl Day {
    /// `yyyymmdd`: the primary key.
    pub fn key(&self) -> i32 {
        (self.year * 100 + self.month) * 100 + self.of_month
    }

    /// `Mar1998`.
    pub fn year_month(&self) -> String {
        format!("{}{}", &MONTHS[self.month as usize - 1][..3], self.year)
    }

    /// From 1: days 1 to 7 of a year are week 1, whatever the weekday.
    pub fn week_of_year(&self) -> i32 {
        (self.of_year - 1) / 7 + 1
    }

    fn season(&self) -> &'static str {
        match self.month {
            1..=3 => "Winter",
            4 => "Spring",
            5..=8 => "Summer",
            9 | 10 => "Fall",
            _ => "Christmas",
        }
    }

    /// Appends the row of the date dimension.
    pub fn append(&self, out: &mut Vec<u8>) {
        let month = MONTHS[self.month as usize - 1];
        let date = format!("{month} {}, {}", self.of_month, self.year);
        let holiday = HOLIDAYS.contains(&(self.month, self.of_month));
        CopyLine::new(out)
            .integer(self.key().into())
            .text(&date)
            .text(WEEKDAYS[self.weekday])
            .text(month)
            .integer(self.year.into())
            .integer((self.year * 100 + self.month).into())
            .text(&self.year_month())
            .integer(self.weekday as i64 + 1)
            .integer(self.of_month.into())
            .integer(self.of_year.into())
            .integer(self.month.into())
            .integer(self.week_of_year().into())
            .text(self.season())
            .flag(self.weekday == 6)
            .flag(self.last_of_month)
            .flag(holiday)
            .flag((1..=5).contains(&self.weekday))
            .end();
    }
}

/// All days in order.
#[derive(Clone, Debug)]
pub struct Calendar(Vec<Day>);

impl Calendar {
    /// The days from 1992-01-01 to 1998-12-31.
    pub fn new() -> Calendar {
        let mut days: Vec<Day> = Vec::with_capacity(DAYS);
        for year in FIRST_YEAR..=LAST_YEAR {
            let mut of_year = 0;
            for month in 1..=12 {
                let length = days_of_month(year, month);
                for of_month in 1..=length {
                    of_year += 1;
                    let weekday = (FIRST_WEEKDAY + days.len()) % 7;
                    let last_of_month = of_month == length;
                    days.push(Day { year, month, of_month, of_year, weekday, last_of_month });
                }
            }
        }
        Calendar(days)
    }

    /// The day that is so many days after 1992-01-01.
    pub fn day(&self, number: usize) -> &Day {
        &self.0[number]
    }
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar::new()
    }
}

fn days_of_month(year: i32, month: i32) -> i32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_years_with_two_leap_days() {
        let calendar = Calendar::new();
        assert_eq!(calendar.0.len(), DAYS);
        assert_eq!((calendar.day(0).key(), calendar.day(DAYS - 1).key()), (19_920_101, 19_981_231));
        let keys: Vec<i32> = calendar.0.iter().map(Day::key).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(keys.contains(&19_960_229) && !keys.contains(&19_970_229));
    }

    #[test]
    fn known_days() {
        let calendar = Calendar::new();
        let mut row = Vec::new();
        calendar.day(DAYS - 1).append(&mut row);
        let expected = "19981231\tDecember 31, 1998\tThursday\tDecember\t1998\t199812\tDec1998\t5\t31\t365\t12\t53\t\
                        Christmas\t0\t1\t0\t1\n";
        assert_eq!(String::from_utf8(row).unwrap(), expected);
        assert_eq!(calendar.day(0).week_of_year(), 1);
        assert_eq!(calendar.day(7).week_of_year(), 2);
    }
}
