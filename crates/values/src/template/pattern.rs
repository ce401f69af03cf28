//! The patterns of templates.

/// In which letters a name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Capital,
    Lower,
}

/// Which dates a pattern tells: those of years and months, or of weeks. A template may tell one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convention {
    Any,
    Gregorian,
    IsoWeek,
}

/// What a pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// `A.D.`
    EraDotted(Case),
    /// `AD`
    Era(Case),
    /// `A.M.`
    HalfDotted(Case),
    /// `AM`
    Half(Case),
    Century,
    Day(Case),
    DayShort(Case),
    DayOfYear,
    IsoDayOfYear,
    DayOfMonth,
    DayOfWeek,
    IsoDayOfWeek,
    /// `FF1` to `FF6`.
    Fraction(u32),
    Fixed,
    Hour24,
    Hour12,
    Minute,
    Second,
    SecondOfDay,
    Millisecond,
    Microsecond,
    Month,
    MonthName(Case),
    MonthShort(Case),
    Roman(Case),
    Quarter,
    Julian,
    Offset,
    ZoneHour,
    ZoneMinute,
    Zone(Case),
    WeekOfYear,
    WeekOfMonth,
    IsoWeek,
    /// With a comma.
    YearComma,
    /// By so many digits.
    Year(u32),
    IsoYear(u32),
}

/// A pattern as templates write it.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) pattern: Pattern,
    /// Whether it begins with a digit, so that a number before it must have its width.
    pub(super) is_digit: bool,
    pub(super) convention: Convention,
}

const fn key(name: &'static str, pattern: Pattern) -> Key {
    use Pattern::*;
    let convention = match pattern {
        DayOfYear | DayOfMonth | DayOfWeek | Month | MonthName(_) | MonthShort(_) | Roman(_)
        | WeekOfYear | WeekOfMonth | YearComma | Year(_) => Convention::Gregorian,
        IsoDayOfYear | IsoDayOfWeek | IsoWeek | IsoYear(_) => Convention::IsoWeek,
        _ => Convention::Any,
    };
    let is_letter = matches!(
        pattern,
        EraDotted(_)
            | Era(_)
            | HalfDotted(_)
            | Half(_)
            | Day(_)
            | DayShort(_)
            | Fraction(_)
            | Fixed
            | MonthName(_)
            | MonthShort(_)
            | Roman(_)
            | Offset
            | ZoneHour
            | Zone(_)
    );
    Key { name, pattern, is_digit: !is_letter, convention }
}

use Case::{Capital, Lower, Upper};
use Pattern as P;

/// In the order in which they are tried.
pub(super) static KEYS: [Key; 112] = [
    key("A.D.", P::EraDotted(Upper)),
    key("A.M.", P::HalfDotted(Upper)),
    key("AD", P::Era(Upper)),
    key("AM", P::Half(Upper)),
    key("B.C.", P::EraDotted(Upper)),
    key("BC", P::Era(Upper)),
    key("CC", P::Century),
    key("DAY", P::Day(Upper)),
    key("DDD", P::DayOfYear),
    key("DD", P::DayOfMonth),
    key("DY", P::DayShort(Upper)),
    key("Day", P::Day(Capital)),
    key("Dy", P::DayShort(Capital)),
    key("D", P::DayOfWeek),
    key("FF1", P::Fraction(1)),
    key("FF2", P::Fraction(2)),
    key("FF3", P::Fraction(3)),
    key("FF4", P::Fraction(4)),
    key("FF5", P::Fraction(5)),
    key("FF6", P::Fraction(6)),
    key("FX", P::Fixed),
    key("HH24", P::Hour24),
    key("HH12", P::Hour12),
    key("HH", P::Hour12),
    key("IDDD", P::IsoDayOfYear),
    key("ID", P::IsoDayOfWeek),
    key("IW", P::IsoWeek),
    key("IYYY", P::IsoYear(4)),
    key("IYY", P::IsoYear(3)),
    key("IY", P::IsoYear(2)),
    key("I", P::IsoYear(1)),
    key("J", P::Julian),
    key("MI", P::Minute),
    key("MM", P::Month),
    key("MONTH", P::MonthName(Upper)),
    key("MON", P::MonthShort(Upper)),
    key("MS", P::Millisecond),
    key("Month", P::MonthName(Capital)),
    key("Mon", P::MonthShort(Capital)),
    key("OF", P::Offset),
    key("P.M.", P::HalfDotted(Upper)),
    key("PM", P::Half(Upper)),
    key("Q", P::Quarter),
    key("RM", P::Roman(Upper)),
    key("SSSSS", P::SecondOfDay),
    key("SSSS", P::SecondOfDay),
    key("SS", P::Second),
    key("TZH", P::ZoneHour),
    key("TZM", P::ZoneMinute),
    key("TZ", P::Zone(Upper)),
    key("US", P::Microsecond),
    key("WW", P::WeekOfYear),
    key("W", P::WeekOfMonth),
    key("Y,YYY", P::YearComma),
    key("YYYY", P::Year(4)),
    key("YYY", P::Year(3)),
    key("YY", P::Year(2)),
    key("Y", P::Year(1)),
    key("a.d.", P::EraDotted(Lower)),
    key("a.m.", P::HalfDotted(Lower)),
    key("ad", P::Era(Lower)),
    key("am", P::Half(Lower)),
    key("b.c.", P::EraDotted(Lower)),
    key("bc", P::Era(Lower)),
    key("cc", P::Century),
    key("day", P::Day(Lower)),
    key("ddd", P::DayOfYear),
    key("dd", P::DayOfMonth),
    key("dy", P::DayShort(Lower)),
    key("d", P::DayOfWeek),
    key("ff1", P::Fraction(1)),
    key("ff2", P::Fraction(2)),
    key("ff3", P::Fraction(3)),
    key("ff4", P::Fraction(4)),
    key("ff5", P::Fraction(5)),
    key("ff6", P::Fraction(6)),
    key("fx", P::Fixed),
    key("hh24", P::Hour24),
    key("hh12", P::Hour12),
    key("hh", P::Hour12),
    key("iddd", P::IsoDayOfYear),
    key("id", P::IsoDayOfWeek),
    key("iw", P::IsoWeek),
    key("iyyy", P::IsoYear(4)),
    key("iyy", P::IsoYear(3)),
    key("iy", P::IsoYear(2)),
    key("i", P::IsoYear(1)),
    key("j", P::Julian),
    key("mi", P::Minute),
    key("mm", P::Month),
    key("month", P::MonthName(Lower)),
    key("mon", P::MonthShort(Lower)),
    key("ms", P::Millisecond),
    key("of", P::Offset),
    key("p.m.", P::HalfDotted(Lower)),
    key("pm", P::Half(Lower)),
    key("q", P::Quarter),
    key("rm", P::Roman(Lower)),
    key("sssss", P::SecondOfDay),
    key("ssss", P::SecondOfDay),
    key("ss", P::Second),
    key("tzh", P::ZoneHour),
    key("tzm", P::ZoneMinute),
    key("tz", P::Zone(Lower)),
    key("us", P::Microsecond),
    key("ww", P::WeekOfYear),
    key("w", P::WeekOfMonth),
    key("y,yyy", P::YearComma),
    key("yyyy", P::Year(4)),
    key("yyy", P::Year(3)),
    key("yy", P::Year(2)),
    key("y", P::Year(1)),
];
