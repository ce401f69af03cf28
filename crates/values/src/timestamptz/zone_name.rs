//! Zones as `AT TIME ZONE` takes them: by abbreviation, name or interval.

use crate::calendar::SECOND;
use crate::error::{Result, ValueError};
use crate::interval::{self, Interval};
use crate::kernel::Context;
use crate::moment;
use crate::zone::{Abbreviation, Zone, abbreviation};

/// What a name of a zone turned out to be.
#[derive(Clone, Debug)]
pub enum ZoneName {
    /// An abbreviation of one offset, in seconds east.
    Fixed(i32),
    /// An abbreviation whose offset the zone tells.
    Abbreviated(Zone),
    /// A zone's full name.
    Zone(Zone),
}

/// The zone of an abbreviation, a full name or a POSIX rule.
///
/// # Errors
/// 22023 for an unknown zone.
pub fn zone_by_name(name: &str) -> Result<ZoneName> {
    match abbreviation(&name.to_ascii_lowercase()) {
        Some(Abbreviation::Fixed { seconds, .. }) => Ok(ZoneName::Fixed(seconds)),
        Some(Abbreviation::Of(zone)) => Ok(ZoneName::Abbreviated(zone)),
        None => match Zone::named(name) {
            Some(zone) => Ok(ZoneName::Zone(zone)),
            None => Err(moment::unknown_zone(name)),
        },
    }
}

/// Seconds east that an interval gives.
pub(crate) fn offset_of_interval(context: &Context, offset: &Interval) -> Result<i32> {
    if offset.months != 0 || offset.days != 0 {
        let shown = interval::to_text(context, offset);
        let message = format!("interval time zone \"{shown}\" must not include months or days");
        return Err(ValueError::new("22023", message));
    }
    Ok((offset.micros / SECOND) as i32)
}
