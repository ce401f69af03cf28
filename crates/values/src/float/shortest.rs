//! The shortest digits that read back as a number, as PostgreSQL takes them.

use super::Float;

/// More than any number of floating point has.
const EXACT_DIGITS: usize = 800;

/// Digits without zeros at the end, and the power of ten of the first one.
pub(super) struct Digits {
    pub digits: String,
    pub exponent: i32,
}

/// The shortest digits of a finite number above zero.
///
/// They lie strictly between the halves of the ways to both neighbours. Rust also takes what lies exactly on a half, where reading would
/// round back to the number, and is then a digit shorter.
pub(super) fn shortest<T: Float>(value: T) -> Digits {
    let first = Digits::of(&value.shortest());
    if let Some(even) = even_neighbour(value, &first) {
        return even;
    }
    if !is_on_half(value, &first) {
        return first;
    }
    let longer = (first.digits.len()..=17).map(|count| value.digits(count));
    let within = longer.filter(|text| value.is_written(text)).map(|text| Digits::of(&text));
    within.into_iter().find(|digits| !is_on_half(value, digits)).unwrap_or(first)
}

/// Where a number lies exactly between two shortest ones, that with an even digit at the end; Rust takes the larger one.
fn even_neighbour<T: Float>(value: T, larger: &Digits) -> Option<Digits> {
    let count = larger.digits.len();
    // A few digits tell nearly always that there is more than a five behind.
    for digits in [count + 8, EXACT_DIGITS] {
        let exact = Digits::of(&value.digits(digits));
        if exact.digits.len() != count + 1 || !exact.digits.ends_with('5') {
            return None;
        }
    }
    let exact = Digits::of(&value.digits(count + 1));
    let smaller = Digits { digits: exact.digits[..count].to_owned(), exponent: exact.exponent };
    let is_even = smaller.digits.ends_with(['0', '2', '4', '6', '8']);
    let is_within = value.is_written(&smaller.text()) && !is_on_half(value, &smaller);
    (is_even && is_within).then_some(smaller)
}

impl Digits {
    /// As Rust reads it, without a sign.
    fn text(&self) -> String {
        format!("{}e{}", self.digits, self.exponent + 1 - self.digits.len() as i32)
    }

    /// Of `d.ddde-5`.
    fn of(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let kept = digits.trim_end_matches('0').len().max(1);
        Self { digits: digits[..kept].to_owned(), exponent: exponent.parse().unwrap_or(0) }
    }
}

/// Whether decimal digits lie exactly halfway between a number and a neighbour of it.
fn is_on_half<T: Float>(value: T, digits: &Digits) -> bool {
    let Some((odd, exponent)) = odd_part(digits) else {
        return false;
    };
    let (mantissa, base, is_lower_near) = value.parts();
    let mantissa = u128::from(mantissa);
    let lower =
        if is_lower_near { (4 * mantissa - 1, base - 2) } else { (2 * mantissa - 1, base - 1) };
    (odd, exponent) == (2 * mantissa + 1, base - 1) || (odd, exponent) == lower
}

/// Decimal digits as an odd number times a power of 2; `None` where they are no such product, or the number is far larger than a
/// mantissa.
fn odd_part(digits: &Digits) -> Option<(u128, i32)> {
    let number: u128 = digits.digits.parse().ok()?;
    let power = digits.exponent + 1 - digits.digits.len() as i32;
    if power.abs() > 24 {
        return None;
    }
    let fives = 5_u128.pow(power.unsigned_abs());
    let without_tens = match power {
        0.. => number * fives,
        _ if number.is_multiple_of(fives) => number / fives,
        _ => return None,
    };
    let twos = without_tens.trailing_zeros();
    Some((without_tens >> twos, power + twos as i32))
}
