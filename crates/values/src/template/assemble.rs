//! The date and time that fields say together.

use super::outside;
use super::parse::parse;
use super::pattern::Convention;
use super::read::{Found, read};
use crate::calendar::{civil, days_in_month, is_leap, iso_week_day};
use crate::error::{Result, ValueError};
use crate::moment::{Fault, Moment};

/// Hours of a zone are at most this.
const MOST_ZONE_HOURS: i32 = 15;
/// Days before each month of a year that is no leap year, and in all.
const DAYS_BEFORE: [i32; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];

/// What was read.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) moment: Moment,
    /// Seconds east, where a zone was read.
    pub(super) offset: Option<i32>,
    /// Digits of seconds; 0 for all.
    pub(super) precision: i32,
}

/// Which parts of the date are to be checked.
#[derive(Default)]
struct Said {
    year: bool,
    month: bool,
    day: bool,
}

impl Said {
    const ALL: Said = Said { year: true, month: true, day: true };
}

/// What a text says by a template.
///
/// # Errors
/// 22007 where the text does not go with the template, or the fields contradict each other; 22008 where one is outside its range; 22009
/// where the zone is.
pub(super) fn assemble(text: &str, template: &str) -> Result<Assembled> {
    let mut found = read(text, &parse(template))?;
    let mut moment = Moment { month: 1, day: 1, ..time(&found)? };
    let mut said = Said::default();
    year(&mut found, &mut moment, &mut said);
    if found.julian != 0 {
        set_day(&mut moment, found.julian.into());
        said = Said::ALL;
    }
    week(&mut found, &mut moment, &mut said);
    day(&mut found, &mut moment, &mut said)?;
    moment.micros = found.millis.wrapping_mul(1000).wrapping_add(found.micros);
    if !is_date(&moment, &said) || !is_time(&moment) {
        return Err(outside(text));
    }
    Ok(Assembled { moment, offset: offset(&found, text)?, precision: found.precision })
}

fn time(found: &Found) -> Result<Moment> {
    let of_day = found.second_of_day;
    let or = |said: i32, otherwise: i32| if said == 0 { otherwise } else { said };
    let mut hour = or(found.hour, of_day / 3600);
    if found.is_twelve_hours {
        if !(1..=12).contains(&hour) {
            let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
            let hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
            return Err(ValueError {
                hint: Some(hint.into()),
                ..ValueError::new("22007", message)
            });
        }
        match found.is_pm != 0 {
            true if hour < 12 => hour += 12,
            false if hour == 12 => hour = 0,
            _ => {}
        }
    }
    let minute = or(found.minute, of_day % 3600 / 60);
    let second = or(found.second, of_day % 60);
    Ok(Moment { hour, minute, second, ..Moment::default() })
}

fn set_day(moment: &mut Moment, julian_day: i64) {
    (moment.year, moment.month, moment.day) = civil(julian_day);
}

fn year(found: &mut Found, moment: &mut Moment, said: &mut Said) {
    if found.year == 0 && found.century == 0 {
        return;
    }
    said.year = true;
    let is_bc = found.is_bc != 0;
    if found.year != 0 && (found.century == 0 || found.year_digits > 2) {
        let year = if is_bc { found.year.wrapping_neg() } else { found.year };
        moment.year = if year < 0 { year + 1 } else { year };
        return;
    }
    let century = if is_bc { found.century.wrapping_neg() } else { found.century };
    // The 21st century begins with 2001, the 6th BC with 600 BC.
    let within = found.year % 100;
    moment.year = match (found.year, within) {
        (0, _) if century >= 0 => century.wrapping_sub(1).wrapping_mul(100).wrapping_add(1),
        (0, _) => century.wrapping_mul(100).wrapping_add(1),
        (_, 0) => century.wrapping_mul(100).wrapping_add(i32::from(century < 0)),
        _ if century >= 0 => century.wrapping_sub(1).wrapping_mul(100).wrapping_add(within),
        _ => century.wrapping_add(1).wrapping_mul(100).wrapping_sub(within).wrapping_add(1),
    };
}

fn week(found: &mut Found, moment: &mut Moment, said: &mut Said) {
    if found.week == 0 {
        return;
    }
    if found.convention != Some(Convention::IsoWeek) {
        found.day_of_year = found.week.wrapping_sub(1).wrapping_mul(7).wrapping_add(1);
        return;
    }
    let monday = iso_week_day(moment.year, found.week);
    let since = match found.weekday {
        0 => 0,
        1 => 6,
        weekday if weekday > 1 => i64::from(weekday) - 2,
        _ => 6,
    };
    set_day(moment, monday + since);
    *said = Said::ALL;
}

fn day(found: &mut Found, moment: &mut Moment, said: &mut Said) -> Result<()> {
    if found.week_of_month != 0 {
        found.day = found.week_of_month.wrapping_sub(1).wrapping_mul(7).wrapping_add(1);
    }
    if found.day != 0 {
        moment.day = found.day;
        said.day = true;
    }
    if found.month != 0 {
        moment.month = found.month;
        said.month = true;
    }
    if found.day_of_year == 0 || (moment.month > 1 && moment.day > 1) {
        return Ok(());
    }
    if moment.year == 0 && found.is_bc == 0 {
        let message = "cannot calculate day of year without year information";
        return Err(ValueError::new("22007", message));
    }
    if found.convention == Some(Convention::IsoWeek) {
        let first = iso_week_day(moment.year, 1);
        set_day(moment, first - 1 + i64::from(found.day_of_year));
        *said = Said::ALL;
        return Ok(());
    }
    let before = |month: usize| DAYS_BEFORE[month] + i32::from(month > 1 && is_leap(moment.year));
    let month = (1..=12).find(|month| found.day_of_year <= before(*month)).unwrap_or(13);
    let day = found.day_of_year.wrapping_sub(before(month - 1));
    if moment.month <= 1 {
        moment.month = month as i32;
    }
    if moment.day <= 1 {
        moment.day = day;
    }
    (said.month, said.day) = (true, true);
    Ok(())
}

fn is_date(moment: &Moment, said: &Said) -> bool {
    if said.month && !(1..=12).contains(&moment.month) {
        return false;
    }
    if said.day && !(1..=31).contains(&moment.day) {
        return false;
    }
    !(said.year && said.month && said.day) || moment.day <= days_in_month(moment.year, moment.month)
}

fn is_time(moment: &Moment) -> bool {
    (0..24).contains(&moment.hour)
        && (0..60).contains(&moment.minute)
        && (0..60).contains(&moment.second)
        && (0..1_000_000).contains(&moment.micros)
}

fn offset(found: &Found, text: &str) -> Result<Option<i32>> {
    if found.zone_sign == 0 {
        return Ok(None);
    }
    let is_inside =
        (0..=MOST_ZONE_HOURS).contains(&found.zone_hours) && (0..60).contains(&found.zone_minutes);
    if !is_inside {
        return Err(Fault::Displacement.told(text, "timestamp"));
    }
    let seconds = (found.zone_hours * 60 + found.zone_minutes) * 60;
    Ok(Some(seconds * found.zone_sign))
}
