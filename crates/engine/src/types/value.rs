//! One value, owned or borrowed.
//!
//! Values are for parameters, write sets, keys and the edge of the wire. Inside a scan or an operator data
//! stays in column slices: nothing there boxes a value per row.

use std::cmp::Ordering;

use super::{DataType, NARROW_PRECISION};

/// An owned value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL of any type
    Null,
    /// `boolean`
    Boolean(bool),
    /// `smallint`
    SmallInt(i16),
    /// `integer`
    Integer(i32),
    /// `bigint`
    BigInt(i64),
    /// `real`
    Real(f32),
    /// `double precision`
    Double(f64),
    /// `numeric`: unscaled digits and the number of them after the point
    Numeric(i128, u8),
    /// any string type
    Text(Box<str>),
    /// days since 1970-01-01
    Date(i32),
    /// microseconds since 1970-01-01 00:00
    Timestamp(i64),
    /// microseconds since 1970-01-01 00:00 UTC
    TimestampTz(i64),
    /// `bytea`
    Bytea(Box<[u8]>),
}

/// A value borrowed from storage, an answer or a [`Value`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// NULL of any type
    Null,
    /// `boolean`
    Boolean(bool),
    /// `smallint`
    SmallInt(i16),
    /// `integer`
    Integer(i32),
    /// `bigint`
    BigInt(i64),
    /// `real`
    Real(f32),
    /// `double precision`
    Double(f64),
    /// `numeric`: unscaled digits and the number of them after the point
    Numeric(i128, u8),
    /// any string type
    Text(&'a str),
    /// days since 1970-01-01
    Date(i32),
    /// microseconds since 1970-01-01 00:00
    Timestamp(i64),
    /// microseconds since 1970-01-01 00:00 UTC
    TimestampTz(i64),
    /// `bytea`
    Bytea(&'a [u8]),
}

impl Value {
    /// The value, borrowed.
    #[inline]
    pub fn borrow(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Boolean(v) => ValueRef::Boolean(*v),
            Value::SmallInt(v) => ValueRef::SmallInt(*v),
            Value::Integer(v) => ValueRef::Integer(*v),
            Value::BigInt(v) => ValueRef::BigInt(*v),
            Value::Real(v) => ValueRef::Real(*v),
            Value::Double(v) => ValueRef::Double(*v),
            Value::Numeric(v, s) => ValueRef::Numeric(*v, *s),
            Value::Text(v) => ValueRef::Text(v),
            Value::Date(v) => ValueRef::Date(*v),
            Value::Timestamp(v) => ValueRef::Timestamp(*v),
            Value::TimestampTz(v) => ValueRef::TimestampTz(*v),
            Value::Bytea(v) => ValueRef::Bytea(v),
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Bytes that it keeps behind itself.
    #[inline]
    pub fn heap(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Bytea(bytes) => bytes.len(),
            _ => 0,
        }
    }
}

impl ValueRef<'_> {
    /// An owned copy.
    pub fn to_owned(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Boolean(v) => Value::Boolean(v),
            ValueRef::SmallInt(v) => Value::SmallInt(v),
            ValueRef::Integer(v) => Value::Integer(v),
            ValueRef::BigInt(v) => Value::BigInt(v),
            ValueRef::Real(v) => Value::Real(v),
            ValueRef::Double(v) => Value::Double(v),
            ValueRef::Numeric(v, s) => Value::Numeric(v, s),
            ValueRef::Text(v) => Value::Text(v.into()),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Timestamp(v) => Value::Timestamp(v),
            ValueRef::TimestampTz(v) => Value::TimestampTz(v),
            ValueRef::Bytea(v) => Value::Bytea(v.into()),
        }
    }

    /// Whether this is NULL.
    pub fn is_null(self) -> bool {
        matches!(self, ValueRef::Null)
    }

    /// The type of the value; `None` for NULL.
    pub fn data_type(self) -> Option<DataType> {
        Some(match self {
            ValueRef::Null => return None,
            ValueRef::Boolean(_) => DataType::Boolean,
            ValueRef::SmallInt(_) => DataType::SmallInt,
            ValueRef::Integer(_) => DataType::Integer,
            ValueRef::BigInt(_) => DataType::BigInt,
            ValueRef::Real(_) => DataType::Real,
            ValueRef::Double(_) => DataType::Double,
            ValueRef::Numeric(_, scale) => DataType::Numeric { precision: 38, scale },
            ValueRef::Text(_) => DataType::Text,
            ValueRef::Date(_) => DataType::Date,
            ValueRef::Timestamp(_) => DataType::Timestamp,
            ValueRef::TimestampTz(_) => DataType::TimestampTz,
            ValueRef::Bytea(_) => DataType::Bytea,
        })
    }

    /// Whether a column of that type can keep the value as it is. Types that share a representation are told apart, a numeric
    /// needs the column's scale, and one of few digits has to fit into a word.
    #[inline]
    pub fn is_of(self, data_type: DataType) -> bool {
        match (self, data_type) {
            (ValueRef::Null, _) => true,
            (ValueRef::Text(_), _) => data_type.is_string(),
            (ValueRef::Numeric(value, given), DataType::Numeric { precision, scale }) => {
                given == scale && (precision > NARROW_PRECISION || i64::try_from(value).is_ok())
            }
            _ => self.data_type() == Some(data_type),
        }
    }

    /// Total order of SQL's `ORDER BY ... ASC`: NULL last, NaN above all numbers; integers of any width,
    /// numerics and floats compare by value. Panics in debug builds on types that SQL cannot compare: the
    /// planner has coerced both sides before values meet here.
    pub fn compare(self, other: ValueRef<'_>) -> Ordering {
        use ValueRef::*;
        match (self, other) {
            (Null, Null) => Ordering::Equal,
            (Null, _) => Ordering::Greater,
            (_, Null) => Ordering::Less,
            (Boolean(a), Boolean(b)) => a.cmp(&b),
            (Text(a), Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Bytea(a), Bytea(b)) => a.cmp(b),
            (Date(a), Date(b)) => a.cmp(&b),
            (Timestamp(a) | TimestampTz(a), Timestamp(b) | TimestampTz(b)) => a.cmp(&b),
            (Date(a), Timestamp(b) | TimestampTz(b)) => compare_moments(a, b),
            (Timestamp(a) | TimestampTz(a), Date(b)) => compare_moments(b, a).reverse(),
            (a, b) => compare_numbers(a, b),
        }
    }
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Where a day begins, in microseconds since 1970-01-01 00:00. The extremes of both counts stand for infinity; `None` for a day
/// that no timestamp reaches.
pub fn midnight(days: i32) -> Option<i64> {
    match days {
        i32::MAX => Some(i64::MAX),
        i32::MIN => Some(i64::MIN),
        _ => i64::from(days).checked_mul(MICROS_PER_DAY),
    }
}

/// The day in which a moment lies, in days since 1970-01-01.
pub fn day_of(micros: i64) -> i32 {
    match micros {
        i64::MAX => i32::MAX,
        i64::MIN => i32::MIN,
        // No more than 107 million.
        _ => micros.div_euclid(MICROS_PER_DAY) as i32,
    }
}

/// A day's begin and a moment. Days go farther than timestamps, but not beyond infinity.
fn compare_moments(days: i32, micros: i64) -> Ordering {
    match midnight(days) {
        Some(midnight) => midnight.cmp(&micros),
        None if days > 0 => (i64::MAX - 1).cmp(&micros).then(Ordering::Greater),
        None => (i64::MIN + 1).cmp(&micros).then(Ordering::Less),
    }
}

fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::SmallInt(v) => Some(i64::from(v)),
        ValueRef::Integer(v) => Some(i64::from(v)),
        ValueRef::BigInt(v) => Some(v),
        _ => None,
    }
}

fn decimal(value: ValueRef<'_>) -> Option<(i128, u8)> {
    match value {
        ValueRef::Numeric(v, s) => Some((v, s)),
        _ => integer(value).map(|v| (i128::from(v), 0)),
    }
}

fn float(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Real(v) => f64::from(v),
        ValueRef::Double(v) => v,
        _ => match decimal(value) {
            Some((v, s)) => v as f64 / 10f64.powi(i32::from(s)),
            None => unreachable!("the planner compares a number with {value:?}"),
        },
    }
}

fn compare_numbers(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        return a.cmp(&b);
    }
    if let (Some((a, sa)), Some((b, sb))) = (decimal(a), decimal(b)) {
        return compare_decimals(a, sa, b, sb);
    }
    compare_floats(float(a), float(b))
}

/// Compares by value; where scaling would overflow, the whole parts decide first.
fn compare_decimals(a: i128, sa: u8, b: i128, sb: u8) -> Ordering {
    let scale = sa.max(sb);
    let scaled = |v: i128, s: u8| v.checked_mul(10i128.pow(u32::from(scale - s)));
    match (scaled(a, sa), scaled(b, sb)) {
        (Some(a), Some(b)) => a.cmp(&b),
        // Only the side with the smaller scale is multiplied, so only it can overflow: it is then farther
        // from zero than any 128-bit number.
        (None, _) => a.cmp(&0),
        (_, None) => 0.cmp(&b),
    }
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) if a == b => Ordering::Equal, // -0.0 = 0.0
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ => a.total_cmp(&b),
    }
}

/// What a stored 32-bit integer of a type is.
#[inline]
pub(crate) fn int32<'a>(value: i32, data_type: DataType) -> ValueRef<'a> {
    match data_type {
        DataType::Date => ValueRef::Date(value),
        _ => ValueRef::Integer(value),
    }
}

/// What a stored 64-bit integer of a type is.
#[inline]
pub(crate) fn int64<'a>(value: i64, data_type: DataType) -> ValueRef<'a> {
    match data_type {
        DataType::Timestamp => ValueRef::Timestamp(value),
        DataType::TimestampTz => ValueRef::TimestampTz(value),
        DataType::Numeric { scale, .. } => ValueRef::Numeric(i128::from(value), scale),
        _ => ValueRef::BigInt(value),
    }
}

/// What an integer stored in any width is.
#[inline]
pub(crate) fn stored_integer<'a>(value: i64, data_type: DataType) -> ValueRef<'a> {
    match data_type {
        DataType::SmallInt => ValueRef::SmallInt(value as i16),
        DataType::Integer | DataType::Date => int32(value as i32, data_type),
        _ => int64(value, data_type),
    }
}

/// Digits after the point.
#[inline]
pub(crate) fn scale(data_type: DataType) -> u8 {
    match data_type {
        DataType::Numeric { scale, .. } => scale,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_sorts_last_and_nan_above_numbers() {
        assert_eq!(ValueRef::Null.compare(ValueRef::Integer(1)), Ordering::Greater);
        assert_eq!(ValueRef::Double(f64::NAN).compare(ValueRef::Integer(1)), Ordering::Greater);
        assert_eq!(ValueRef::Double(-0.0).compare(ValueRef::Double(0.0)), Ordering::Equal);
    }

    #[test]
    fn days_compare_with_moments_up_to_infinity() {
        use ValueRef::{Date, Timestamp};
        let far = 2_145_042_905; // 5874897-12-31
        let ascending = [
            Timestamp(i64::MIN),
            Date(-far),
            Timestamp(i64::MIN + 1),
            Date(0),
            Timestamp(1),
            Timestamp(i64::MAX - 1),
            Date(far),
            Timestamp(i64::MAX),
        ];
        for (i, a) in ascending.into_iter().enumerate() {
            for (j, b) in ascending.into_iter().enumerate() {
                assert_eq!(a.compare(b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
        for (day, moment) in [(i32::MAX, i64::MAX), (i32::MIN, i64::MIN), (-1, -MICROS_PER_DAY)] {
            assert_eq!(Date(day).compare(Timestamp(moment)), Ordering::Equal);
            assert_eq!(day_of(moment), day);
        }
    }

    #[test]
    fn numbers_of_different_types_compare_by_value() {
        assert_eq!(ValueRef::SmallInt(3).compare(ValueRef::BigInt(3)), Ordering::Equal);
        assert_eq!(ValueRef::Numeric(310, 2).compare(ValueRef::Integer(3)), Ordering::Greater);
        assert_eq!(
            ValueRef::Numeric(i128::MAX, 0).compare(ValueRef::Numeric(1, 30)),
            Ordering::Greater
        );
        assert_eq!(ValueRef::Numeric(15, 1).compare(ValueRef::Double(1.5)), Ordering::Equal);
    }
}
