//! Words of dates, times and intervals. They are compared by their first ten characters.

/// A word of a date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Ignored,
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Epoch,
    Infinity,
    MinusInfinity,
    /// `allballs`: midnight UTC.
    Midnight,
    IsBc(bool),
    IsPm(bool),
    /// 1 to 12.
    Month(i32),
    Weekday,
    /// `dst` after a zone.
    Daylight,
    /// `t` before a time.
    TimeFollows,
    Unit(Unit),
}

/// A unit of time, or what `extract` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Weekday,
    IsoWeekday,
    DayOfYear,
    IsoYear,
    Julian,
    Epoch,
    Zone,
    ZoneHour,
    ZoneMinute,
    Ago,
    /// A word of dates that is no unit: `now`, say.
    Reserved,
}

const COMPARED: usize = 10;

fn compared(word: &str) -> &str {
    word.get(..COMPARED).unwrap_or(word)
}

/// What a word in lower case means in a date or time.
pub(crate) fn word(text: &str) -> Option<Word> {
    Some(match compared(text) {
        "at" | "on" => Word::Ignored,
        "now" => Word::Now,
        "today" => Word::Today,
        "tomorrow" => Word::Tomorrow,
        "yesterday" => Word::Yesterday,
        "epoch" => Word::Epoch,
        "infinity" => Word::Infinity,
        "-infinity" => Word::MinusInfinity,
        "allballs" => Word::Midnight,
        "ad" => Word::IsBc(false),
        "bc" => Word::IsBc(true),
        "am" => Word::IsPm(false),
        "pm" => Word::IsPm(true),
        "dst" => Word::Daylight,
        "t" => Word::TimeFollows,
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds"
        | "wednesday" | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat"
        | "saturday" => Word::Weekday,
        other => return month(other).map(Word::Month).or_else(|| label(other).map(Word::Unit)),
    })
}

fn month(text: &str) -> Option<i32> {
    Some(match text {
        "jan" | "january" => 1,
        "feb" | "february" => 2,
        "mar" | "march" => 3,
        "apr" | "april" => 4,
        "may" => 5,
        "jun" | "june" => 6,
        "jul" | "july" => 7,
        "aug" | "august" => 8,
        "sep" | "sept" | "september" => 9,
        "oct" | "october" => 10,
        "nov" | "november" => 11,
        "dec" | "december" => 12,
        _ => return None,
    })
}

/// What a word says of the number after it.
fn label(text: &str) -> Option<Unit> {
    Some(match text {
        "y" => Unit::Year,
        "m" => Unit::Month,
        "d" => Unit::Day,
        "h" => Unit::Hour,
        "mm" => Unit::Minute,
        "s" => Unit::Second,
        "j" | "jd" | "julian" => Unit::Julian,
        "dow" => Unit::Weekday,
        "doy" => Unit::DayOfYear,
        "isodow" => Unit::IsoWeekday,
        "isoyear" => Unit::IsoYear,
        _ => return None,
    })
}

/// Whether a word of an interval says nothing.
pub(crate) fn is_ignored(text: &str) -> bool {
    text == "@"
}

/// The unit that a word in lower case names in an interval.
pub(crate) fn interval_unit(text: &str) -> Option<Unit> {
    Some(match compared(text) {
        "us" | "usec" | "usecs" | "useconds" | "microsecon" => Unit::Microsecond,
        "ms" | "msec" | "msecs" | "mseconds" | "millisecon" => Unit::Millisecond,
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
        "mon" | "mons" | "month" | "months" => Unit::Month,
        "qtr" | "quarter" => Unit::Quarter,
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
        "dec" | "decs" | "decade" | "decades" => Unit::Decade,
        "c" | "cent" | "century" | "centuries" => Unit::Century,
        "mil" | "mils" | "millennia" | "millennium" => Unit::Millennium,
        "timezone" => Unit::Zone,
        "timezone_h" => Unit::ZoneHour,
        "timezone_m" => Unit::ZoneMinute,
        "ago" => Unit::Ago,
        _ => return None,
    })
}

/// What `extract` and `date_trunc` take a word for: a unit first, else what labels a number, or `epoch`.
pub(crate) fn unit_or_word(text: &str) -> Option<Unit> {
    let unit = interval_unit(text).filter(|unit| *unit != Unit::Ago);
    unit.or_else(|| match word(text)? {
        Word::Unit(unit) => Some(unit),
        Word::Epoch => Some(Unit::Epoch),
        Word::Now | Word::Today | Word::Tomorrow | Word::Yesterday | Word::Midnight => {
            Some(Unit::Reserved)
        }
        Word::Infinity | Word::MinusInfinity => Some(Unit::Reserved),
        _ => None,
    })
}
