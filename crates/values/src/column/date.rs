//! Parts of a column of dates.

use crate::date::Part;
use crate::decimal::Decimal;
use crate::error::Result;

/// A part of each date by the part's name, which is looked up once; none where infinity has none.
///
/// # Errors
/// 22023 for an unknown unit, 0A000 for one that dates do not have.
pub fn extract(name: &str, dates: &[i32]) -> Result<Vec<Option<Decimal>>> {
    let part = Part::of_name(name)?;
    dates.iter().map(|date| part.of(*date)).collect()
}
