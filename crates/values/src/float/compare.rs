//! Order and canonical key: NaN equals itself and is above everything, -0 equals 0.

use std::cmp::Ordering;

use super::Float;

/// PostgreSQL's order.
pub fn compare<T: Float>(a: T, b: T) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Eight bytes that compare as the numbers do; a real's are those of the same double precision.
pub(crate) fn key(value: f64, out: &mut Vec<u8>) {
    let bits = if value == 0.0 {
        0
    } else if value.is_nan() {
        f64::NAN.to_bits()
    } else {
        value.to_bits()
    };
    let sign = 1 << 63;
    let ordered = if bits & sign == 0 { bits | sign } else { !bits };
    out.extend_from_slice(&ordered.to_be_bytes());
}
