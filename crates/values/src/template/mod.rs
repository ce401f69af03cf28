//! `to_char`, `to_timestamp`, `to_date` and `to_number`: dates, times, intervals and numbers by a template.

mod assemble;
mod kernels;
mod number;
mod ordinal;
mod parse;
mod pattern;
mod read;
mod source;
mod write;

pub use number::to_number;
pub use write::{interval_to_char, timestamp_to_char, timestamptz_to_char};

pub(crate) use kernels::KERNELS;

use crate::error::{Result, ValueError};
use crate::kernel::Context;
use crate::timestamp;
use crate::{date, moment};

/// The date that a text is by a template.
///
/// # Errors
/// 22007 where the text does not go with the template, or the template contradicts itself; 22008 outside the range of dates.
pub fn to_date(text: &str, template: &str) -> Result<i32> {
    let found = assemble::assemble(text, template)?;
    date::of_parts(&found.moment)
        .ok_or_else(|| ValueError::new("22008", format!("date out of range: \"{text}\"")))
}

/// The instant that a text is by a template; without a zone the session's holds.
///
/// # Errors
/// 22007 where the text does not go with the template, or the template contradicts itself; 22008 outside the range of timestamps.
pub fn to_timestamp(context: &Context, text: &str, template: &str) -> Result<i64> {
    let found = assemble::assemble(text, template)?;
    let offset = match found.offset {
        Some(offset) => offset,
        None => {
            let seconds = found.moment.local_seconds();
            seconds.map_or(0, |seconds| context.zone.offset_at_local(seconds))
        }
    };
    let timestamp = found.moment.timestamp(offset).ok_or_else(timestamp::out_of_range)?;
    timestamp::scale(timestamp, if found.precision == 0 { -1 } else { found.precision })
}

/// A text outside the range that its type has.
fn outside(text: &str) -> ValueError {
    moment::Fault::Field.told(text, "timestamp")
}
