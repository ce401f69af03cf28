//! Which of a range's equal parts a number falls into.

use std::cmp::Ordering;

use super::arithmetic::aligned;
use super::divide::{chosen_scale, quotient};
use super::{Decimal, Integer, Numeric, compare};
use crate::error::{Result, ValueError};

/// The bucket of `operand` among `count` from `low` to `high`, counted from 1; 0 before them and `count + 1` behind.
///
/// # Errors
/// 2201G for no buckets, equal or infinite bounds, or NaN; 22003 where `count + 1` is no integer.
pub fn width_bucket(operand: &Numeric, low: &Numeric, high: &Numeric, count: i32) -> Result<i32> {
    let invalid = |message| Err(ValueError::new("2201G", message));
    if count <= 0 {
        return invalid("count must be greater than zero");
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return invalid("operand, lower bound, and upper bound cannot be NaN");
    }
    let (Numeric::Finite(first), Numeric::Finite(last)) = (low, high) else {
        return invalid("lower and upper bounds must be finite");
    };
    let direction = compare(low, high);
    if direction == Ordering::Equal {
        return invalid("lower bound cannot equal upper bound");
    }
    if compare(operand, low) == direction {
        return Ok(0);
    }
    match operand {
        Numeric::Finite(operand_digits) if compare(operand, high) == direction => {
            inside(operand_digits, first, last, count)
        }
        _ => count.checked_add(1).ok_or_else(out_of_range),
    }
}

/// The bucket of what is between the bounds. The quotient is rounded before it is cut, as in
/// PostgreSQL, which can give the one behind.
fn inside(operand: &Decimal, low: &Decimal, high: &Decimal, count: i32) -> Result<i32> {
    let buckets = Decimal::new(Integer::Small(i128::from(count)), 0);
    let part = aligned(operand, low, Integer::minus).times(&buckets);
    let whole = aligned(high, low, Integer::minus);
    let rounded = quotient(&part, &whole, chosen_scale(&part, &whole));
    let bucket = rounded.cut(0).coefficient.plus(&Integer::Small(1)).to_i64();
    bucket.and_then(|bucket| i32::try_from(bucket).ok()).ok_or_else(out_of_range)
}

fn out_of_range() -> ValueError {
    ValueError::new("22003", "integer out of range")
}
