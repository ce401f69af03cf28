//! Zones written as POSIX rules: `EST5EDT,M3.2.0,M11.1.0`, `<+03>-3`, `XYZ+5`. Offsets in them are west of Greenwich.

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::{Rules, Zone};

/// Hours in an offset are below this.
const WEEK_HOURS: i32 = 7 * 24;
/// What holds where a rule names daylight saving time but not when.
const DEFAULT_CHANGES: &str = "M3.2.0,M11.1.0";

/// The zone that a rule in upper case means.
pub(super) fn parse(text: &str) -> Option<Zone> {
    let mut rest = text;
    let standard = name(&mut rest)?;
    if rest.is_empty() {
        return None;
    }
    let west = offset(&mut rest)?;
    if rest.is_empty() {
        return Some(Zone { name: text.into(), rules: Rules::Fixed(-west, standard.into()) });
    }
    let daylight = name(&mut rest).filter(|name| !name.is_empty())?;
    let is_given = !rest.is_empty() && !rest.starts_with([',', ';']);
    let daylight_west = if is_given { offset(&mut rest)? } else { west - 3600 };
    let changes = match rest.strip_prefix([',', ';']) {
        Some(changes) => changes,
        None if rest.is_empty() => DEFAULT_CHANGES,
        None => return None,
    };
    let rule = format!("<STD>{}<DST>{},{changes}", clock(west), clock(daylight_west));
    let zone = TimeZone::posix(&rule).ok()?;
    let names = Arc::new([standard.to_owned(), daylight.to_owned()]);
    Some(Zone { name: text.into(), rules: Rules::Changing(zone, Some(names)) })
}

/// Takes a name, in angle brackets or of letters; it may be empty.
fn name<'t>(rest: &mut &'t str) -> Option<&'t str> {
    if let Some(quoted) = rest.strip_prefix('<') {
        let (name, after) = quoted.split_once('>')?;
        *rest = after;
        return Some(name);
    }
    let is_end = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+');
    let end = rest.find(is_end).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    *rest = after;
    Some(name)
}

/// Takes hours, minutes and seconds: seconds.
fn offset(rest: &mut &str) -> Option<i32> {
    let is_negative = rest.starts_with('-');
    *rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let mut seconds = 3600 * number(rest, WEEK_HOURS - 1)?;
    if let Some(after) = rest.strip_prefix(':') {
        *rest = after;
        seconds += 60 * number(rest, 59)?;
        if let Some(after) = rest.strip_prefix(':') {
            *rest = after;
            seconds += number(rest, 60)?;
        }
    }
    Some(if is_negative { -seconds } else { seconds })
}

fn number(rest: &mut &str, most: i32) -> Option<i32> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits.parse().ok().filter(|number| *number <= most)
}

fn clock(seconds: i32) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    let rest = seconds.abs();
    format!("{sign}{}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}
