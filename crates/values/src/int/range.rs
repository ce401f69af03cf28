//! Whether a number lies within a distance of another, as frames of windows by RANGE ask.

use crate::error::{Result, ValueError};

/// A distance below zero, or none.
pub(crate) fn invalid_distance() -> ValueError {
    ValueError::new("22013", "invalid preceding or following size in window function")
}

/// Whether `value` is at most (`is_less`) or at least `base`, moved by `distance` down (`is_down`) or up.
///
/// # Errors
/// 22013 for a negative distance.
pub fn in_range(
    value: i64,
    base: i64,
    distance: i64,
    is_down: bool,
    is_less: bool,
) -> Result<bool> {
    if distance < 0 {
        return Err(invalid_distance());
    }
    let (base, distance) = (i128::from(base), i128::from(distance));
    let bound = if is_down { base - distance } else { base + distance };
    let value = i128::from(value);
    Ok(if is_less { value <= bound } else { value >= bound })
}
