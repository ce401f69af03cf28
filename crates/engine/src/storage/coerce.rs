//! A value of any comparable type as a value of a column's type, or where it lies between two of
//! those.

use crate::types::{DataType, NARROW_PRECISION, ValueRef, day_of, midnight};

/// Where a value lies among the values of a column's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Coerced<'a> {
    /// It is one.
    Exact(ValueRef<'a>),
    /// Above this one and below the next.
    Above(ValueRef<'a>),
    /// Below all.
    BelowAll,
    /// Above all.
    AboveAll,
    /// It is NULL.
    Null,
}

/// Finds where `value` lies. Panics on types that SQL cannot compare: the planner has coerced both
/// sides.
#[inline]
pub(super) fn coerce(value: ValueRef<'_>, data_type: DataType) -> Coerced<'_> {
    use DataType as T;
    use ValueRef as V;
    match (value, data_type) {
        (V::Null, _) => Coerced::Null,
        (V::Integer(_), T::Integer) | (V::BigInt(_), T::BigInt) | (V::SmallInt(_), T::SmallInt) => {
            Coerced::Exact(value)
        }
        (V::Text(text), T::Char(_)) => Coerced::Exact(V::Text(text.trim_end_matches(' '))),
        (V::Text(_), T::Text | T::Varchar(_))
        | (V::Boolean(_), T::Boolean)
        | (V::Bytea(_), T::Bytea)
        | (V::Date(_), T::Date)
        | (V::Real(_), T::Real)
        | (V::Double(_), T::Double) => Coerced::Exact(value),
        (V::Timestamp(v) | V::TimestampTz(v), T::Timestamp) => Coerced::Exact(V::Timestamp(v)),
        (V::Timestamp(v) | V::TimestampTz(v), T::TimestampTz) => Coerced::Exact(V::TimestampTz(v)),
        (V::Date(days), T::Timestamp | T::TimestampTz) => date_as_timestamp(days, data_type),
        (V::Timestamp(v) | V::TimestampTz(v), T::Date) => timestamp_as_date(v),
        _ => coerce_number(value, data_type),
    }
}

fn date_as_timestamp<'a>(days: i32, data_type: DataType) -> Coerced<'a> {
    let timestamp = match data_type {
        DataType::Timestamp => ValueRef::Timestamp,
        _ => ValueRef::TimestampTz,
    };
    match midnight(days) {
        Some(v) => Coerced::Exact(timestamp(v)),
        // The extremes are infinities.
        None if days < 0 => Coerced::Above(timestamp(i64::MIN)),
        None => Coerced::Above(timestamp(i64::MAX - 1)),
    }
}

fn timestamp_as_date<'a>(micros: i64) -> Coerced<'a> {
    let day = day_of(micros);
    match midnight(day) == Some(micros) {
        true => Coerced::Exact(ValueRef::Date(day)),
        false => Coerced::Above(ValueRef::Date(day)),
    }
}

/// The floor of a value as a column value, if the column's type has it.
fn place<'a>(floor: i128, exact: bool, make: impl Fn(i128) -> Option<ValueRef<'a>>) -> Coerced<'a> {
    match make(floor) {
        Some(value) if exact => Coerced::Exact(value),
        Some(value) => Coerced::Above(value),
        None if floor < 0 => Coerced::BelowAll,
        None => Coerced::AboveAll,
    }
}

fn coerce_number(value: ValueRef<'_>, data_type: DataType) -> Coerced<'_> {
    match data_type {
        DataType::Real => real(double(value)),
        DataType::Double => Coerced::Exact(ValueRef::Double(double(value))),
        DataType::SmallInt => fixed(value, 0, |v| v.try_into().ok().map(ValueRef::SmallInt)),
        DataType::Integer => fixed(value, 0, |v| v.try_into().ok().map(ValueRef::Integer)),
        DataType::BigInt => fixed(value, 0, |v| v.try_into().ok().map(ValueRef::BigInt)),
        DataType::Numeric { precision, scale } => fixed(value, scale, move |v| {
            let fits = precision > NARROW_PRECISION || i64::try_from(v).is_ok();
            fits.then_some(ValueRef::Numeric(v, scale))
        }),
        _ => unreachable!("the planner compares {data_type} with {value:?}"),
    }
}

/// The value as a number of units of `10^-scale`.
fn fixed<'a>(
    value: ValueRef<'_>,
    scale: u8,
    make: impl Fn(i128) -> Option<ValueRef<'a>>,
) -> Coerced<'a> {
    let (unscaled, own_scale) = match value {
        ValueRef::SmallInt(v) => (i128::from(v), 0),
        ValueRef::Integer(v) => (i128::from(v), 0),
        ValueRef::BigInt(v) => (i128::from(v), 0),
        ValueRef::Numeric(v, s) => (v, s),
        ValueRef::Real(v) => return fixed_double(f64::from(v), scale, make),
        ValueRef::Double(v) => return fixed_double(v, scale, make),
        other => unreachable!("the planner compares a number with {other:?}"),
    };
    if own_scale <= scale {
        let factor = 10i128.pow(u32::from(scale - own_scale));
        return match unscaled.checked_mul(factor) {
            Some(v) => place(v, true, make),
            None if unscaled < 0 => Coerced::BelowAll,
            None => Coerced::AboveAll,
        };
    }
    let factor = 10i128.pow(u32::from(own_scale - scale));
    place(unscaled.div_euclid(factor), unscaled.rem_euclid(factor) == 0, make)
}

fn fixed_double<'a>(
    value: f64,
    scale: u8,
    make: impl Fn(i128) -> Option<ValueRef<'a>>,
) -> Coerced<'a> {
    let scaled = value * 10f64.powi(i32::from(scale));
    if value.is_nan() || scaled >= i128::MAX as f64 {
        return Coerced::AboveAll;
    }
    if scaled <= i128::MIN as f64 {
        return Coerced::BelowAll;
    }
    // Values compare as floats: the nearest unit is equal if it reads back as the same float.
    let nearest = scaled.round();
    let equal = nearest / 10f64.powi(i32::from(scale)) == value;
    let floor = if equal { nearest } else { scaled.floor() };
    place(floor as i128, equal, make)
}

fn double(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::SmallInt(v) => f64::from(v),
        ValueRef::Integer(v) => f64::from(v),
        ValueRef::BigInt(v) => v as f64,
        ValueRef::Numeric(v, s) => v as f64 / 10f64.powi(i32::from(s)),
        ValueRef::Real(v) => f64::from(v),
        ValueRef::Double(v) => v,
        other => unreachable!("the planner compares a number with {other:?}"),
    }
}

fn real<'a>(value: f64) -> Coerced<'a> {
    let nearest = value as f32;
    if f64::from(nearest) == value || value.is_nan() {
        return Coerced::Exact(ValueRef::Real(nearest));
    }
    let floor = if f64::from(nearest) > value { nearest.next_down() } else { nearest };
    Coerced::Above(ValueRef::Real(floor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ValueRef as V;

    #[test]
    fn integers_of_any_width() {
        assert_eq!(coerce(V::SmallInt(7), DataType::BigInt), Coerced::Exact(V::BigInt(7)));
        assert_eq!(coerce(V::BigInt(1 << 40), DataType::Integer), Coerced::AboveAll);
        assert_eq!(coerce(V::BigInt(-1 << 40), DataType::Integer), Coerced::BelowAll);
    }

    #[test]
    fn fractions_lie_between_integers() {
        let cases = [
            (V::Numeric(35, 1), Coerced::Above(V::Integer(3))),
            (V::Numeric(-35, 1), Coerced::Above(V::Integer(-4))),
            (V::Numeric(30, 1), Coerced::Exact(V::Integer(3))),
            (V::Double(-0.5), Coerced::Above(V::Integer(-1))),
            (V::Double(f64::NAN), Coerced::AboveAll),
        ];
        for (value, expected) in cases {
            assert_eq!(coerce(value, DataType::Integer), expected);
        }
    }

    #[test]
    fn dates_and_times() {
        let date = DataType::Date;
        assert_eq!(coerce(V::Timestamp(172_800_000_000), date), Coerced::Exact(V::Date(2)));
        assert_eq!(coerce(V::Timestamp(-1), date), Coerced::Above(V::Date(-1)));
        let timestamp = DataType::Timestamp;
        let last = Coerced::Above(V::Timestamp(i64::MAX - 1));
        assert_eq!(coerce(V::Date(i32::MAX - 1), timestamp), last);
        assert_eq!(coerce(V::Date(i32::MAX), timestamp), Coerced::Exact(V::Timestamp(i64::MAX)));
        assert_eq!(coerce(V::Timestamp(i64::MIN), date), Coerced::Exact(V::Date(i32::MIN)));
    }

    #[test]
    fn doubles_against_reals() {
        assert_eq!(coerce(V::Double(0.5), DataType::Real), Coerced::Exact(V::Real(0.5)));
        match coerce(V::Double(0.1), DataType::Real) {
            Coerced::Above(V::Real(floor)) => {
                assert!(f64::from(floor) < 0.1 && f64::from(floor.next_up()) > 0.1);
            }
            other => panic!("{other:?}"),
        }
    }
}
