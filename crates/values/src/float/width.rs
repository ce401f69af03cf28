//! Which of a range's equal parts a number falls into.

use crate::error::{Result, ValueError};

/// The bucket of `operand` among `count` from `low` to `high`, counted from 1; 0 before them and `count + 1` behind.
///
/// # Errors
/// 2201G for no buckets, equal or infinite bounds, or NaN; 22003 where `count + 1` is no integer.
pub fn width_bucket(operand: f64, low: f64, high: f64, count: i32) -> Result<i32> {
    let invalid = |message| Err(ValueError::new("2201G", message));
    if count <= 0 {
        return invalid("count must be greater than zero");
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return invalid("operand, lower bound, and upper bound cannot be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return invalid("lower and upper bounds must be finite");
    }
    if low == high {
        return invalid("lower bound cannot equal upper bound");
    }
    // A falling range is a rising one of the negated numbers.
    let sign = if low < high { 1.0 } else { -1.0 };
    let (operand, low, high) = (sign * operand, sign * low, sign * high);
    if operand < low {
        Ok(0)
    } else if operand >= high {
        count.checked_add(1).ok_or_else(|| ValueError::new("22003", "integer out of range"))
    } else {
        Ok(inside(operand, low, high, count))
    }
}

/// Rounding can give the bucket behind the last one, and an overflow what PostgreSQL makes of it: the least integer.
fn inside(operand: f64, low: f64, high: f64, count: i32) -> i32 {
    let bucket = f64::from(count) * (operand - low) / (high - low) + 1.0;
    if (-2_147_483_648.0..2_147_483_648.0).contains(&bucket) { bucket as i32 } else { i32::MIN }
}
