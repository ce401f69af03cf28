//! Whether a number lies within a distance of another, as frames of windows by RANGE ask.

use super::arithmetic::aligned;
use super::{Integer, Numeric, add, subtract};
use crate::error::Result;
use crate::int::invalid_distance;

/// Whether `value` is at most (`is_less`) or at least `base`, moved by `distance` down (`is_down`) or up. What is not a number is above
/// everything; infinity lies infinitely far from itself.
///
/// # Errors
/// 22013 for a negative distance, or none.
pub fn in_range(
    value: &Numeric,
    base: &Numeric,
    distance: &Numeric,
    is_down: bool,
    is_less: bool,
) -> Result<bool> {
    if distance.is_nan() || distance.signum() < 0 {
        return Err(invalid_distance());
    }
    if value.is_nan() || base.is_nan() {
        return Ok(if is_less { base.is_nan() } else { value.is_nan() });
    }
    let bound = match (base, distance) {
        // Possibly beyond the type.
        (Numeric::Finite(base), Numeric::Finite(distance)) => {
            let combine = if is_down { Integer::minus } else { Integer::plus };
            Numeric::Finite(aligned(base, distance, combine))
        }
        _ if is_down => subtract(base, distance)?,
        _ => add(base, distance)?,
    };
    Ok(bound.is_nan() || if is_less { *value <= bound } else { *value >= bound })
}
