//! Which offset holds in a zone: at an instant, at a local time, and for an abbreviation.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::{Offset, Rules, Zone};
use crate::calendar::{UNIX_EPOCH_DAY, civil};

const DAY_SECONDS: i64 = 86_400;
/// The calendar repeats itself after 400 years.
const CYCLE_SECONDS: i64 = 146_097 * DAY_SECONDS;
/// Later instants (about the year 9500) are asked for cycles earlier, since the library ends with 9999.
const LATEST: i64 = 237_600_000_000;
/// How many changes are looked through for an abbreviation.
const LOOKED_THROUGH: usize = 1_000;

/// An instant or local time, in seconds since 1970, moved by whole cycles to where the library knows it.
fn within_cycle(seconds: i64) -> i64 {
    if seconds <= LATEST {
        return seconds;
    }
    seconds - ((seconds - LATEST - 1) / CYCLE_SECONDS + 1) * CYCLE_SECONDS
}

fn instant(seconds: i64) -> Timestamp {
    Timestamp::from_second(within_cycle(seconds)).expect("within the library's range")
}

/// The local date and time that is `seconds` since 1970 began locally.
fn local(seconds: i64) -> DateTime {
    let seconds = within_cycle(seconds);
    let (days, of_day) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
    let (year, month, day) = civil(days + i64::from(UNIX_EPOCH_DAY));
    let part = |divisor: i64, count: i64| (of_day / divisor % count) as i8;
    let made = DateTime::new(
        year as i16,
        month as i8,
        day as i8,
        part(3600, 24),
        part(60, 60),
        part(1, 60),
        0,
    );
    made.expect("within the library's range")
}

impl Zone {
    /// What holds at an instant, in seconds since 1970-01-01 00:00 UTC.
    pub fn at(&self, seconds: i64) -> Offset {
        match &self.rules {
            Rules::Fixed(seconds, abbreviation) => {
                Offset { seconds: *seconds, is_dst: false, abbreviation: abbreviation.to_string() }
            }
            Rules::Changing(zone, names) => {
                let info = zone.to_offset_info(instant(seconds));
                let is_dst = info.dst().is_dst();
                let abbreviation = match names {
                    Some(names) => names[usize::from(is_dst)].clone(),
                    None => info.abbreviation().to_owned(),
                };
                Offset { seconds: info.offset().seconds(), is_dst, abbreviation }
            }
        }
    }

    /// The offset alone at an instant, in seconds since 1970-01-01 00:00 UTC.
    pub fn offset_at(&self, seconds: i64) -> i32 {
        match &self.rules {
            Rules::Fixed(seconds, _) => *seconds,
            Rules::Changing(zone, _) => zone.to_offset(instant(seconds)).seconds(),
        }
    }

    /// The offset at a local time, in seconds since 1970 began locally.
    pub fn offset_at_local(&self, seconds: i64) -> i32 {
        let zone = match &self.rules {
            Rules::Fixed(seconds, _) => return *seconds,
            Rules::Changing(zone, _) => zone,
        };
        let offset = match zone.to_ambiguous_timestamp(local(seconds)).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } => after,
        };
        offset.seconds()
    }

    /// The offset, where it has never been another.
    pub fn only_offset(&self) -> Option<i32> {
        match &self.rules {
            Rules::Fixed(seconds, _) => Some(*seconds),
            Rules::Changing(zone, _) => {
                let first = zone.to_offset(Timestamp::MIN);
                let is_only = zone
                    .following(Timestamp::MIN)
                    .take(LOOKED_THROUGH)
                    .all(|change| change.offset() == first);
                is_only.then(|| first.seconds())
            }
        }
    }

    /// What an abbreviation meant in this zone: latest at or before a local time (seconds since 1970 began locally), or first after it.
    /// Where the zone has never used it, the offset that holds at the local time.
    pub fn abbreviation_at_local(&self, abbreviation: &str, seconds: i64) -> (i32, bool) {
        let offset = self.offset_at_local(seconds);
        self.abbreviation_at(abbreviation, seconds - i64::from(offset)).unwrap_or((offset, false))
    }

    /// As [`Self::abbreviation_at_local`], of an instant in seconds since 1970-01-01 00:00 UTC; `None` where the zone has never used it.
    pub fn abbreviation_at(&self, abbreviation: &str, seconds: i64) -> Option<(i32, bool)> {
        let now = self.at(seconds);
        if now.abbreviation.eq_ignore_ascii_case(abbreviation) {
            return Some((now.seconds, now.is_dst));
        }
        let Rules::Changing(zone, _) = &self.rules else { return None };
        used(zone, abbreviation, instant(seconds))
    }
}

fn used(zone: &TimeZone, abbreviation: &str, at: Timestamp) -> Option<(i32, bool)> {
    let is_it = |abbreviation_then: &str| abbreviation_then.eq_ignore_ascii_case(abbreviation);
    // What holds before the first change is no change itself.
    let before = zone.preceding(at).take(LOOKED_THROUGH).find(|c| is_it(c.abbreviation()));
    if let Some(change) = before {
        return Some((change.offset().seconds(), change.dst().is_dst()));
    }
    let first = zone.to_offset_info(Timestamp::MIN);
    if is_it(first.abbreviation()) {
        return Some((first.offset().seconds(), first.dst().is_dst()));
    }
    let after = zone.following(at).take(LOOKED_THROUGH).find(|c| is_it(c.abbreviation()));
    after.map(|change| (change.offset().seconds(), change.dst().is_dst()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::julian_day;

    fn at(year: i32, month: i32, day: i32, hour: i64, minute: i64) -> i64 {
        (julian_day(year, month, day) - i64::from(UNIX_EPOCH_DAY)) * DAY_SECONDS
            + hour * 3600
            + minute * 60
    }

    #[test]
    fn gaps_take_the_offset_before_and_folds_the_one_after() {
        let zone = Zone::named("america/new_york").expect("a zone");
        assert_eq!(zone.name(), "America/New_York");
        assert_eq!(zone.offset_at_local(at(2024, 3, 10, 2, 30)), -5 * 3600);
        assert_eq!(zone.offset_at_local(at(2024, 11, 3, 1, 30)), -5 * 3600);
        assert_eq!(zone.offset_at_local(at(2024, 7, 1, 0, 0)), -4 * 3600);
    }

    #[test]
    fn rules_hold_to_the_end_of_timestamps() {
        let zone = Zone::named("America/New_York").expect("a zone");
        assert_eq!(zone.offset_at_local(at(294_276, 7, 1, 0, 0)), -4 * 3600);
        assert_eq!(zone.at(at(294_276, 1, 1, 0, 0)).abbreviation, "EST");
        assert_eq!(zone.at(at(-4713, 12, 1, 0, 0)).abbreviation, "LMT");
        assert_eq!(zone.only_offset(), None);
    }

    #[test]
    fn posix_rules() {
        let zone = Zone::named("xyz+5:30").expect("a zone");
        assert_eq!(
            zone.at(0),
            Offset { seconds: -19_800, is_dst: false, abbreviation: "XYZ".into() }
        );
        let zone = Zone::named("FOO3BAR,M3.2.0,M11.1.0").expect("a zone");
        assert_eq!(zone.at(at(2024, 7, 1, 0, 0)).abbreviation, "BAR");
        assert_eq!(zone.offset_at(at(2024, 7, 1, 0, 0)), -2 * 3600);
        assert!(Zone::named("Mars/Olympus").is_none());
    }
}
