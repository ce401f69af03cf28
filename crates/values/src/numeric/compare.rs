//! Order, equality and the canonical key of `numeric`.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{Decimal, Numeric};

/// PostgreSQL's order: NaN equals itself and is above everything.
pub fn compare(a: &Numeric, b: &Numeric) -> Ordering {
    match (a, b) {
        (Numeric::Finite(a), Numeric::Finite(b)) => compare_decimals(a, b),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Numeric) -> u8 {
    match value {
        Numeric::NegativeInfinity => 0,
        Numeric::Finite(_) => 1,
        Numeric::Infinity => 2,
        Numeric::NaN => 3,
    }
}

pub(super) fn compare_decimals(a: &Decimal, b: &Decimal) -> Ordering {
    if a.scale == b.scale {
        return a.coefficient.cmp(&b.coefficient);
    }
    let (sign, other) = (a.coefficient.signum(), b.coefficient.signum());
    if sign != other || sign == 0 {
        return sign.cmp(&other);
    }
    let by_magnitude = a.magnitude().cmp(&b.magnitude());
    if by_magnitude != Ordering::Equal {
        return if sign < 0 { by_magnitude.reverse() } else { by_magnitude };
    }
    let scale = a.scale.max(b.scale);
    a.coefficient_at(scale).cmp(&b.coefficient_at(scale))
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Self) -> bool {
        compare(self, other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numeric {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self, other)
    }
}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut bytes = Vec::new();
        key(self, &mut bytes);
        state.write(&bytes);
    }
}

// The first byte of a key, in order.
const NEGATIVE_INFINITY: u8 = 1;
const NEGATIVE: u8 = 2;
const ZERO: u8 = 3;
const POSITIVE: u8 = 4;
const INFINITY: u8 = 5;
const NAN: u8 = 6;

/// Appends the canonical key: equal numbers have equal keys, bytes compare as numbers do, and no key begins another.
///
/// A finite number is its sign, the power of ten of its first digit (24 bits, the sign bit turned), and its digits without zeros at the
/// end, two a byte plus one, with a zero byte behind; of a negative number all but the first byte is turned over.
pub fn key(value: &Numeric, out: &mut Vec<u8>) {
    let first = match value {
        Numeric::NegativeInfinity => NEGATIVE_INFINITY,
        Numeric::Finite(decimal) => match decimal.coefficient.signum() {
            0 => ZERO,
            1.. => POSITIVE,
            _ => NEGATIVE,
        },
        Numeric::Infinity => INFINITY,
        Numeric::NaN => NAN,
    };
    out.push(first);
    let start = out.len();
    if let Numeric::Finite(decimal) = value
        && !decimal.is_zero()
    {
        digits_key(decimal, out);
    }
    if first == NEGATIVE {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn digits_key(decimal: &Decimal, out: &mut Vec<u8>) {
    let biased = (decimal.magnitude() + (1 << 23)) as u32;
    out.extend_from_slice(&biased.to_be_bytes()[1..]);
    let digits = decimal.coefficient.absolute().to_string();
    for pair in digits.trim_end_matches('0').as_bytes().chunks(2) {
        let ones = pair.get(1).map_or(0, |digit| digit - b'0');
        out.push((pair[0] - b'0') * 10 + ones + 1);
    }
    out.push(0);
}
