//! A predicate on one column as a set of keys, in the representation that the column is stored in.

use std::cmp::Ordering;

use super::key_set::{Key, KeySet};
use super::pattern::{Pattern, PatternShape};
use crate::storage::Zone;
use crate::transaction::{Evaluation, Parameters};
use crate::types::{Comparison, DataType, Predicate, PrefixIn, Result, Scalar, Value, ValueRef};

/// The keys of one column that a slot wants.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnFilter {
    /// Columns that fit 64 bits: booleans, integers, times, narrow numerics; floats by their ordered bits.
    Narrow(KeySet<i64>),
    /// Wide numerics.
    Wide(KeySet<i128>),
    /// Strings and `bytea`, by their bytes.
    Bytes(KeySet<Box<[u8]>>),
}

/// How a column's values map to ordered keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// To `i64`.
    Narrow,
    /// To `i128`.
    Wide,
    /// To bytes.
    Bytes,
}

impl KeyKind {
    /// The kind that columns of a type have. Follows the representations of [`crate::storage::ColumnSlice`].
    pub fn of(data_type: DataType) -> KeyKind {
        match data_type {
            DataType::Numeric { precision: 19.., .. } => KeyKind::Wide,
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) | DataType::Bytea => {
                KeyKind::Bytes
            }
            _ => KeyKind::Narrow,
        }
    }
}

/// What a predicate asks of one column.
#[derive(Clone, Debug)]
pub enum ColumnTest {
    /// Keys in a set.
    Keys(ColumnFilter),
    /// A LIKE that is no set of keys.
    Pattern(Pattern),
}

/// The column and what is asked of it; `None` if the predicate is not about one column and constants.
pub fn column_test(
    predicate: &Predicate,
    types: &[DataType],
    parameters: Parameters<'_>,
) -> Result<Option<(usize, ColumnTest)>> {
    let keys = |column, filter: Option<ColumnFilter>| {
        Ok(filter.map(|filter| (column, ColumnTest::Keys(filter))))
    };
    match predicate {
        Predicate::Compare { column, comparison, value } => {
            let Some(value) = constant(value, parameters)? else { return Ok(None) };
            keys(*column, comparison_filter(types[*column], *comparison, value.borrow()))
        }
        Predicate::In { column, values, negated } => {
            let data_type = types[*column];
            let Some(values) = constants(values, parameters)? else { return Ok(None) };
            keys(*column, is_in(data_type, &values, *negated))
        }
        Predicate::Like { column, pattern, negated, case_insensitive } => {
            let Some(value) = constant(pattern, parameters)? else { return Ok(None) };
            Ok(like(types[*column], &value, *negated, *case_insensitive).map(|t| (*column, t)))
        }
        Predicate::IsNull { column, negated } => {
            keys(*column, Some(is_null(types[*column], *negated)))
        }
        Predicate::Or(arms) => {
            Ok(or(arms, types, parameters)?.map(|(c, filter)| (c, ColumnTest::Keys(filter))))
        }
        Predicate::Expression(expression) => {
            let Some(prefix) = expression.prefix() else { return Ok(None) };
            let column = expression.columns()[prefix.position];
            keys(column, prefix_in(types[column], prefix, parameters))
        }
    }
}

/// The strings whose first characters are those of a value; `None` where the expression itself has to tell, and to fail.
fn prefix_in(
    data_type: DataType,
    prefix: &PrefixIn,
    parameters: Parameters<'_>,
) -> Option<ColumnFilter> {
    let given = |scalar| constant(scalar, parameters).ok().flatten();
    let is_text = matches!(data_type, DataType::Text | DataType::Varchar(_));
    let (Value::BigInt(1), Value::BigInt(length)) = (given(&prefix.start)?, given(&prefix.length)?)
    else {
        return None;
    };
    let length = usize::try_from(length).ok().filter(|_| is_text)?;
    let mut parts = Vec::with_capacity(prefix.values.len());
    for value in &prefix.values {
        match given(value)? {
            Value::Text(text) => parts.push(strings_beginning(&text, length)),
            Value::Null => {}
            _ => return None,
        }
    }
    Some(ColumnFilter::Bytes(KeySet::union_all(parts)))
}

/// The strings whose first `length` characters are `part`.
fn strings_beginning(part: &str, length: usize) -> KeySet<Box<[u8]>> {
    let bytes = part.as_bytes();
    match part.chars().count().cmp(&length) {
        Ordering::Equal => KeySet::span(Some(bytes.into()), after_prefix(bytes)),
        // Only a string as short has no more characters.
        Ordering::Less => KeySet::point(bytes.into()),
        Ordering::Greater => KeySet::none(),
    }
}

/// The value of a scalar that reads no column.
pub fn constant(scalar: &Scalar, parameters: Parameters<'_>) -> Result<Option<Value>> {
    let reads_columns = match scalar {
        Scalar::Column(_) => true,
        Scalar::Expression(expression) => !expression.columns().is_empty(),
        Scalar::Parameter(_) | Scalar::Literal(_) => false,
    };
    if reads_columns {
        return Ok(None);
    }
    let nothing: &[Value] = &[];
    Evaluation { row: nothing, types: &[], parameters }.scalar(scalar).map(Some)
}

fn constants(scalars: &[Scalar], parameters: Parameters<'_>) -> Result<Option<Vec<Value>>> {
    scalars.iter().map(|scalar| constant(scalar, parameters)).collect()
}

fn or(
    arms: &[Vec<Predicate>],
    types: &[DataType],
    parameters: Parameters<'_>,
) -> Result<Option<(usize, ColumnFilter)>> {
    let mut whole: Option<(usize, ColumnFilter)> = None;
    for arm in arms {
        let Some((column, filter)) = and(arm, types, parameters)? else { return Ok(None) };
        whole = match whole {
            None => Some((column, filter)),
            Some((same, others)) if same == column => Some((same, others.union(&filter))),
            Some(_) => return Ok(None),
        };
    }
    Ok(whole)
}

fn and(
    arm: &[Predicate],
    types: &[DataType],
    parameters: Parameters<'_>,
) -> Result<Option<(usize, ColumnFilter)>> {
    let mut whole: Option<(usize, ColumnFilter)> = None;
    for predicate in arm {
        let test = column_test(predicate, types, parameters)?;
        let Some((column, ColumnTest::Keys(filter))) = test else { return Ok(None) };
        whole = match whole {
            None => Some((column, filter)),
            Some((same, others)) if same == column => Some((same, others.intersect(&filter))),
            Some(_) => return Ok(None),
        };
    }
    Ok(whole)
}

impl ColumnFilter {
    /// Keys in both.
    pub fn intersect(&self, other: &ColumnFilter) -> ColumnFilter {
        self.combine(other, |a, b| a && b)
    }

    /// Keys in either.
    pub fn union(&self, other: &ColumnFilter) -> ColumnFilter {
        self.combine(other, |a, b| a || b)
    }

    fn combine(&self, other: &ColumnFilter, keep: fn(bool, bool) -> bool) -> ColumnFilter {
        match (self, other) {
            (ColumnFilter::Narrow(a), ColumnFilter::Narrow(b)) => {
                ColumnFilter::Narrow(a.combine(b, keep))
            }
            (ColumnFilter::Wide(a), ColumnFilter::Wide(b)) => {
                ColumnFilter::Wide(a.combine(b, keep))
            }
            (ColumnFilter::Bytes(a), ColumnFilter::Bytes(b)) => {
                ColumnFilter::Bytes(a.combine(b, keep))
            }
            _ => unreachable!("filters of one column have one kind"),
        }
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        match self {
            ColumnFilter::Narrow(keys) => keys.is_empty(),
            ColumnFilter::Wide(keys) => keys.is_empty(),
            ColumnFilter::Bytes(keys) => keys.is_empty(),
        }
    }

    /// Whether one value of the column is wanted.
    pub fn contains(&self, value: ValueRef<'_>) -> bool {
        match self {
            ColumnFilter::Narrow(keys) => match narrow_key(value) {
                Some(key) => keys.contains(&key),
                None => keys.nulls(),
            },
            ColumnFilter::Wide(keys) => match value {
                ValueRef::Numeric(key, _) => keys.contains(&key),
                _ => keys.nulls(),
            },
            ColumnFilter::Bytes(keys) => match value {
                ValueRef::Text(text) => contains_bytes(keys, text.as_bytes()),
                ValueRef::Bytea(bytes) => contains_bytes(keys, bytes),
                _ => keys.nulls(),
            },
        }
    }

    /// Whether a chunk with this zone may hold a value that qualifies.
    pub fn may_accept(&self, zone: &Zone) -> bool {
        let between = |(min, max): (&Value, &Value)| self.meets(min.borrow(), max.borrow());
        zone.min.as_ref().zip(zone.max.as_ref()).is_some_and(between)
            || zone.nulls > 0 && self.contains(ValueRef::Null)
    }
}

impl ColumnFilter {
    /// Whether a key between two (both in) is wanted.
    pub fn meets(&self, min: ValueRef<'_>, max: ValueRef<'_>) -> bool {
        match self {
            ColumnFilter::Narrow(keys) => narrow_key(min)
                .zip(narrow_key(max))
                .is_some_and(|(min, max)| keys.meets(&min, &max)),
            ColumnFilter::Wide(keys) => match (min, max) {
                (ValueRef::Numeric(min, _), ValueRef::Numeric(max, _)) => keys.meets(&min, &max),
                _ => false,
            },
            ColumnFilter::Bytes(keys) => match (min, max) {
                (ValueRef::Text(min), ValueRef::Text(max)) => {
                    keys.meets(&min.as_bytes().into(), &max.as_bytes().into())
                }
                (ValueRef::Bytea(min), ValueRef::Bytea(max)) => {
                    keys.meets(&min.into(), &max.into())
                }
                _ => false,
            },
        }
    }
}

/// Like [`KeySet::contains`], without making a key.
#[inline]
pub fn contains_bytes(keys: &KeySet<Box<[u8]>>, bytes: &[u8]) -> bool {
    keys.cuts().partition_point(|cut| &**cut <= bytes) % 2 == 1
}

/// The key of a value of a [`KeyKind::Narrow`] column; `None` for NULL.
#[inline]
pub fn narrow_key(value: ValueRef<'_>) -> Option<i64> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Boolean(v) => i64::from(v),
        ValueRef::SmallInt(v) => i64::from(v),
        ValueRef::Integer(v) | ValueRef::Date(v) => i64::from(v),
        ValueRef::BigInt(v) | ValueRef::Timestamp(v) | ValueRef::TimestampTz(v) => v,
        ValueRef::Real(v) => float_key(f64::from(v)),
        ValueRef::Double(v) => float_key(v),
        ValueRef::Numeric(v, _) => i64::try_from(v).expect("narrow numerics fit 64 bits"),
        ValueRef::Text(_) | ValueRef::Bytea(_) => unreachable!("{value:?} has bytes as its key"),
    })
}

/// Ordered bits of a float: -0.0 equals 0.0, every NaN is the largest.
#[inline]
pub fn float_key(value: f64) -> i64 {
    if value.is_nan() {
        return i64::MAX;
    }
    // -0.0 + 0.0 is 0.0.
    let bits = (value + 0.0).to_bits() as i64;
    bits ^ (bits >> 63 & i64::MAX)
}

fn is_null(data_type: DataType, negated: bool) -> ColumnFilter {
    fn keys<K: Key>(negated: bool) -> KeySet<K> {
        if negated { KeySet::all() } else { KeySet::null() }
    }
    match KeyKind::of(data_type) {
        KeyKind::Narrow => ColumnFilter::Narrow(keys(negated)),
        KeyKind::Wide => ColumnFilter::Wide(keys(negated)),
        KeyKind::Bytes => ColumnFilter::Bytes(keys(negated)),
    }
}

/// The keys of a column of this type that a comparison with a value wants; `None` where these do not compare by key.
pub fn comparison_filter(
    data_type: DataType,
    comparison: Comparison,
    value: ValueRef<'_>,
) -> Option<ColumnFilter> {
    if value.is_null() {
        return Some(nothing(data_type));
    }
    Some(match KeyKind::of(data_type) {
        KeyKind::Bytes => {
            let bytes: Box<[u8]> = match value {
                ValueRef::Text(text) => text.as_bytes().into(),
                ValueRef::Bytea(bytes) => bytes.into(),
                _ => return None,
            };
            let above = bytes.successor();
            ColumnFilter::Bytes(compared(comparison, Some(bytes), above))
        }
        KeyKind::Narrow => {
            let (from, above) = bounds(data_type, value)?;
            let key = |bound: i128| match i64::try_from(bound) {
                Ok(key) => Some(key),
                Err(_) => (bound < 0).then_some(i64::MIN),
            };
            ColumnFilter::Narrow(compared(comparison, from.and_then(key), above.and_then(key)))
        }
        KeyKind::Wide => {
            let (from, above) = bounds(data_type, value)?;
            ColumnFilter::Wide(compared(comparison, from, above))
        }
    })
}

fn nothing(data_type: DataType) -> ColumnFilter {
    match KeyKind::of(data_type) {
        KeyKind::Narrow => ColumnFilter::Narrow(KeySet::none()),
        KeyKind::Wide => ColumnFilter::Wide(KeySet::none()),
        KeyKind::Bytes => ColumnFilter::Bytes(KeySet::none()),
    }
}

/// The set for `column op constant`, where `from` is the first key not below the constant and `above` the first
/// one above it.
fn compared<K: Key>(comparison: Comparison, from: Option<K>, above: Option<K>) -> KeySet<K> {
    let minimum = Some(K::minimum());
    match comparison {
        Comparison::Equal => KeySet::span(from, above),
        Comparison::NotEqual => KeySet::span(from, above).complement(),
        Comparison::Less => KeySet::span(minimum, from),
        Comparison::LessOrEqual => KeySet::span(minimum, above),
        Comparison::Greater => KeySet::span(above, None),
        Comparison::GreaterOrEqual => KeySet::span(from, None),
    }
}

fn is_in(data_type: DataType, values: &[Value], negated: bool) -> Option<ColumnFilter> {
    if negated && values.iter().any(Value::is_null) {
        return Some(nothing(data_type));
    }
    let points: Option<Vec<ColumnFilter>> = values
        .iter()
        .filter(|value| !value.is_null())
        .map(|value| comparison_filter(data_type, Comparison::Equal, value.borrow()))
        .collect();
    let points = points?;
    fn finish<K: Key>(sets: impl Iterator<Item = KeySet<K>>, negated: bool) -> KeySet<K> {
        let union = KeySet::union_all(sets);
        if negated { union.complement() } else { union }
    }
    let filter = match KeyKind::of(data_type) {
        KeyKind::Narrow => ColumnFilter::Narrow(finish(
            points.into_iter().filter_map(|p| match p {
                ColumnFilter::Narrow(keys) => Some(keys),
                _ => None,
            }),
            negated,
        )),
        KeyKind::Wide => ColumnFilter::Wide(finish(
            points.into_iter().filter_map(|p| match p {
                ColumnFilter::Wide(keys) => Some(keys),
                _ => None,
            }),
            negated,
        )),
        KeyKind::Bytes => ColumnFilter::Bytes(finish(
            points.into_iter().filter_map(|p| match p {
                ColumnFilter::Bytes(keys) => Some(keys),
                _ => None,
            }),
            negated,
        )),
    };
    Some(filter)
}

fn like(
    data_type: DataType,
    value: &Value,
    negated: bool,
    case_insensitive: bool,
) -> Option<ColumnTest> {
    let text = match value {
        Value::Null => return Some(ColumnTest::Keys(nothing(data_type))),
        Value::Text(text) => text,
        _ => return None,
    };
    let pattern = Pattern::new(text, negated, case_insensitive)?;
    let keys = match pattern.shape() {
        PatternShape::Anything => KeySet::all(),
        PatternShape::Exact(literal) if !case_insensitive => KeySet::point(literal.clone()),
        PatternShape::Prefix(literal) if !case_insensitive => {
            KeySet::span(Some(literal.clone()), after_prefix(literal))
        }
        _ => return Some(ColumnTest::Pattern(pattern)),
    };
    let keys = if negated { keys.complement() } else { keys };
    Some(ColumnTest::Keys(ColumnFilter::Bytes(keys)))
}

/// The smallest string above all that start with `prefix`. Strings are ordered by bytes, which for UTF-8 is the
/// order of code points, so the bound is a string again and an index on the column can take it.
pub fn after_prefix(prefix: &[u8]) -> Option<Box<[u8]>> {
    let mut text: Vec<char> =
        std::str::from_utf8(prefix).expect("literals are text").chars().collect();
    while let Some(last) = text.pop() {
        // The step over the surrogates is part of a range of `char`s.
        if let Some(next) = (last..=char::MAX).nth(1) {
            text.push(next);
            return Some(text.into_iter().collect::<String>().into_bytes().into());
        }
    }
    None
}

const DAY: i128 = 86_400_000_000;

/// The first key of the column not below a constant and the first above it; a bound `None` lies beyond all
/// keys. The whole is `None` for a constant that does not compare with the column.
fn bounds(data_type: DataType, value: ValueRef<'_>) -> Option<(Option<i128>, Option<i128>)> {
    let exact = |key: i128| (Some(key), key.checked_add(1));
    Some(match (data_type, value) {
        (DataType::Boolean, ValueRef::Boolean(v)) => exact(i128::from(v)),
        (DataType::Date, ValueRef::Date(v)) => exact(i128::from(v)),
        (DataType::Date, ValueRef::Timestamp(v) | ValueRef::TimestampTz(v)) => {
            let (day, rest) = (i128::from(v).div_euclid(DAY), i128::from(v).rem_euclid(DAY));
            (Some(day + i128::from(rest > 0)), Some(day + 1))
        }
        (
            DataType::Timestamp | DataType::TimestampTz,
            ValueRef::Timestamp(v) | ValueRef::TimestampTz(v),
        ) => exact(i128::from(v)),
        (DataType::Timestamp | DataType::TimestampTz, ValueRef::Date(v)) => {
            exact(i128::from(v) * DAY)
        }
        (DataType::Real | DataType::Double, _) => exact(i128::from(float_key(float(value)?))),
        (DataType::SmallInt | DataType::Integer | DataType::BigInt, _) => number(0, value)?,
        (DataType::Numeric { scale, .. }, _) => number(scale, value)?,
        _ => return None,
    })
}

fn float(value: ValueRef<'_>) -> Option<f64> {
    Some(match value {
        ValueRef::Real(v) => f64::from(v),
        ValueRef::Double(v) => v,
        ValueRef::SmallInt(v) => f64::from(v),
        ValueRef::Integer(v) => f64::from(v),
        ValueRef::BigInt(v) => v as f64,
        ValueRef::Numeric(v, scale) => v as f64 / 10f64.powi(i32::from(scale)),
        _ => return None,
    })
}

/// Bounds among unscaled numbers of `scale` digits after the point.
fn number(scale: u8, value: ValueRef<'_>) -> Option<(Option<i128>, Option<i128>)> {
    Some(match value {
        ValueRef::SmallInt(v) => decimal(scale, i128::from(v), 0),
        ValueRef::Integer(v) => decimal(scale, i128::from(v), 0),
        ValueRef::BigInt(v) => decimal(scale, i128::from(v), 0),
        ValueRef::Numeric(v, own) => decimal(scale, v, own),
        ValueRef::Real(_) | ValueRef::Double(_) => by_search(scale, value),
        _ => return None,
    })
}

fn decimal(scale: u8, unscaled: i128, own: u8) -> (Option<i128>, Option<i128>) {
    if own <= scale {
        return match unscaled.checked_mul(10i128.pow(u32::from(scale - own))) {
            Some(key) => (Some(key), key.checked_add(1)),
            None if unscaled < 0 => (Some(i128::MIN), Some(i128::MIN)),
            None => (None, None),
        };
    }
    let unit = 10i128.pow(u32::from(own - scale));
    let (floor, rest) = (unscaled.div_euclid(unit), unscaled.rem_euclid(unit));
    (Some(floor + i128::from(rest != 0)), Some(floor + 1))
}

/// A float meets integers and numerics as floats, where several neighbours may look equal: the bounds are found
/// with the comparison itself.
fn by_search(scale: u8, value: ValueRef<'_>) -> (Option<i128>, Option<i128>) {
    let order = |key: i128| match (scale, i64::try_from(key)) {
        (0, Ok(key)) => ValueRef::BigInt(key).compare(value),
        _ => ValueRef::Numeric(key, scale).compare(value),
    };
    (first_key(|key| order(key).is_ge()), first_key(|key| order(key).is_gt()))
}

/// The smallest key for which a monotone condition holds.
fn first_key(holds: impl Fn(i128) -> bool) -> Option<i128> {
    let (mut low, mut high) = (i128::MIN, i128::MAX);
    if !holds(high) {
        return None;
    }
    while low < high {
        let middle = (low & high) + ((low ^ high) >> 1);
        match holds(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = Value> {
        let float = prop_oneof![
            (-50i32..50).prop_map(|v| f64::from(v) / 4.0),
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(-0.0),
            any::<f64>(),
        ];
        prop_oneof![
            any::<i16>().prop_map(Value::SmallInt),
            (-20i32..20).prop_map(Value::Integer),
            any::<i32>().prop_map(Value::Integer),
            any::<i64>().prop_map(Value::BigInt),
            Just(Value::BigInt(i64::MAX)),
            Just(Value::BigInt(i64::MIN)),
            (-5000i128..5000, 0u8..6).prop_map(|(v, s)| Value::Numeric(v, s)),
            (any::<i64>(), 0u8..30).prop_map(|(v, s)| Value::Numeric(i128::from(v), s)),
            float.clone().prop_map(Value::Double),
            float.prop_map(|v| Value::Real(v as f32)),
        ]
    }

    fn typed(value: &Value) -> DataType {
        match value {
            Value::Numeric(v, scale) => {
                let precision = if i64::try_from(*v).is_ok() { 18 } else { 38 };
                DataType::Numeric { precision, scale: *scale }
            }
            other => other.borrow().data_type().expect("not NULL"),
        }
    }

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn key_sets_agree_with_comparison(cell in number(), constant in number()) {
            for comparison in [
                Comparison::Equal, Comparison::NotEqual, Comparison::Less,
                Comparison::LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual,
            ] {
                let filter = comparison_filter(typed(&cell), comparison, constant.borrow()).expect("numbers");
                let expected =
                    crate::transaction::compare(cell.borrow(), comparison, constant.borrow());
                prop_assert_eq!(Some(filter.contains(cell.borrow())), expected, "{:?}", comparison);
            }
        }
    }

    #[test]
    fn prefixes_end_where_the_next_begins() {
        assert_eq!(after_prefix(b"ab").as_deref(), Some(&b"ac"[..]));
        assert_eq!(after_prefix("a\u{10ffff}".as_bytes()).as_deref(), Some(&b"b"[..]));
        assert_eq!(after_prefix("\u{d7ff}".as_bytes()).as_deref(), Some("\u{e000}".as_bytes()));
        assert_eq!(after_prefix("\u{10ffff}".as_bytes()), None);
        assert_eq!(after_prefix(b""), None);
    }
}
