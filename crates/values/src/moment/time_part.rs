//! Times as `hh:mm`, `hh:mm:ss`, `hh:mm:ss.ffffff`, `mm:ss.ffffff`.

use super::Fault;
use super::number::{fraction_micros, leading_i64};

/// Hours, minutes, seconds and microseconds of a time with colons, of which only the hours may be many. `is_short` says that two parts are
/// minutes and seconds.
pub(crate) fn clock(text: &str, is_short: bool) -> Result<(i64, i32, i32, i32), Fault> {
    let (hours, rest) = leading_i64(text)?;
    let rest = rest.strip_prefix(':').ok_or(Fault::Format)?;
    let (minutes, rest) = leading_i64(rest)?;
    let minutes = i32::try_from(minutes).map_err(|_| Fault::Field)?;
    let parts = match rest.bytes().next() {
        None if is_short => (0, i32::try_from(hours).map_err(|_| Fault::Field)?, minutes, 0),
        None => (hours, minutes, 0, 0),
        Some(b'.') => {
            let hours = i32::try_from(hours).map_err(|_| Fault::Field)?;
            (0, hours, minutes, fraction_micros(rest)?)
        }
        Some(b':') => {
            let (seconds, rest) = leading_i64(&rest[1..])?;
            let seconds = i32::try_from(seconds).map_err(|_| Fault::Field)?;
            let micros = match rest.bytes().next() {
                None => 0,
                Some(b'.') => fraction_micros(rest)?,
                Some(_) => return Err(Fault::Format),
            };
            (hours, minutes, seconds, micros)
        }
        Some(_) => return Err(Fault::Format),
    };
    let (hours, minutes, seconds, _) = parts;
    if hours < 0 || !(0..60).contains(&minutes) || !(0..=60).contains(&seconds) {
        return Err(Fault::Field);
    }
    Ok(parts)
}
