//! `extract` from and `date_trunc` of instants, in a zone.

use super::{ZoneName, local, of_parts, zone_by_name};
use crate::decimal::Decimal;
use crate::error::Result;
use crate::moment::Unit;
use crate::timestamp::{common_part, is_finite, out_of_range, truncate_parts};
use crate::unit::{self, Asked};
use crate::zone::Zone;

const TYPE: &str = "timestamp with time zone";

/// A part of an instant in a zone by the part's name; NULL where infinity has none.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that timestamps do not have.
pub fn extract(name: &str, timestamp: i64, zone: &Zone) -> Result<Option<Decimal>> {
    let asked = Asked::new(name, TYPE);
    let unit = asked.part()?;
    if !is_finite(timestamp) {
        return unit::infinite_part(unit, timestamp < 0).ok_or_else(|| asked.unsupported());
    }
    let (parts, offset) = local(timestamp, zone);
    let part = unit::offset_part(unit, offset).or_else(|| common_part(unit, timestamp, &parts));
    part.map(Some).ok_or_else(|| asked.unsupported())
}

/// As [`extract`], in doubles, as `date_part` returns it.
///
/// # Errors
/// Those of [`extract`].
pub fn date_part(name: &str, timestamp: i64, zone: &Zone) -> Result<Option<f64>> {
    if is_finite(timestamp) && unit::is_julian(name) {
        return Ok(Some(unit::julian_as_double(&local(timestamp, zone).0)));
    }
    Ok(extract(name, timestamp, zone)?.map(|part| unit::as_double(name, part)))
}

/// An instant cut to a unit by its name, as it is in a zone.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that timestamps are not cut to, 22008 outside the range of timestamps.
pub fn truncate(name: &str, timestamp: i64, zone: &Zone) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    let asked = Asked::new(name, TYPE);
    let unit = asked.truncation()?;
    let (parts, offset) = local(timestamp, zone);
    let cut = truncate_parts(unit, &parts).ok_or_else(|| asked.unsupported())?;
    let is_of_time = matches!(
        unit,
        Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour
    );
    // Below days the offset stays: an hour that comes twice is cut to itself.
    if is_of_time {
        return cut.timestamp(offset).ok_or_else(out_of_range);
    }
    of_parts(&cut, zone)
}

/// As [`truncate`], in a zone by its name.
///
/// # Errors
/// Those of [`truncate`], and 22023 for an unknown zone.
pub fn truncate_in_zone(name: &str, timestamp: i64, zone: &str) -> Result<i64> {
    if !is_finite(timestamp) {
        return Ok(timestamp);
    }
    let zone = match zone_by_name(zone)? {
        ZoneName::Fixed(offset) => Zone::fixed(offset),
        ZoneName::Abbreviated(zone) | ZoneName::Zone(zone) => zone,
    };
    truncate(name, timestamp, &zone)
}
