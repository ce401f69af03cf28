//! Intervals from text: `1 day 02:03`, `1-2`, `@ 3 hours ago`, `P1DT2H`.

use super::fields::Reading;
use super::{Interval, iso, out_of_range, scale, typmod};
use crate::error::Result;
use crate::kernel::Context;
use crate::moment::{Fault, split};

/// An interval in any form that PostgreSQL takes, with the fields and digits that a typmod keeps; the typmod also tells what a number
/// without a unit is.
///
/// # Errors
/// 22007 where the text is no interval; 22015 where a part is outside its range; 22008 where the interval is; 22023 for a typmod that
/// is none.
pub fn from_text(context: &Context, text: &str, typmod: i32) -> Result<Interval> {
    let read =
        split(text).and_then(|fields| Reading::read(context, typmod::fields(typmod), &fields));
    let read = match read {
        Err(Fault::Format) => iso::read(text),
        read => read,
    };
    let sum = read.map_err(|fault| {
        let fault = if fault == Fault::Field { Fault::Interval } else { fault };
        fault.told(text, "interval")
    })?;
    scale(&sum.interval().ok_or_else(out_of_range)?, typmod)
}
