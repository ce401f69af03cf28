//! Whether a number lies within a distance of another, as frames of windows by RANGE ask.

use crate::error::Result;
use crate::int::invalid_distance;

/// Whether `value` is at most (`is_less`) or at least `base`, moved by `distance` down (`is_down`) or up. What is not a number is above
/// everything; infinity lies infinitely far from itself.
///
/// # Errors
/// 22013 for a negative distance, or none.
pub fn in_range(
    value: f64,
    base: f64,
    distance: f64,
    is_down: bool,
    is_less: bool,
) -> Result<bool> {
    if distance.is_nan() || distance < 0.0 {
        return Err(invalid_distance());
    }
    if value.is_nan() || base.is_nan() {
        return Ok(match (value.is_nan(), base.is_nan()) {
            (true, true) => true,
            (true, false) => !is_less,
            _ => is_less,
        });
    }
    let bound = if is_down { base - distance } else { base + distance };
    Ok(bound.is_nan() || if is_less { value <= bound } else { value >= bound })
}
