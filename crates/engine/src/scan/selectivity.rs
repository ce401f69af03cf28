//! Which share of a table's rows a predicate lets through, as far as statistics tell.

use super::filter::{ColumnFilter, KeyKind};
use super::key_set::{Key, KeySet};
use super::pattern::{Pattern, PatternShape};
use crate::storage::{ColumnStatistics, position_of, position_of_bytes};
use crate::types::Value;

/// A LIKE without any literal.
const WILD: f64 = 0.9;
/// Share of texts in which one more given letter follows, a coarse figure for natural language.
const LETTER: f64 = 0.25;
/// No pattern is taken to be rarer.
const RAREST_PATTERN: f64 = 0.0005;
/// A range of which nothing is known: PostgreSQL's default for inequalities.
const UNKNOWN_RANGE: f64 = 1.0 / 3.0;

/// The share of rows with a wanted key.
pub fn filter_selectivity(filter: &ColumnFilter, column: &ColumnStatistics) -> f64 {
    let (keys, nulls) = match filter {
        ColumnFilter::Narrow(keys) => (keys_share(keys, column, narrow_scale), keys.nulls()),
        ColumnFilter::Wide(keys) => {
            (keys_share(keys, column, |key, _| Some(*key as f64)), keys.nulls())
        }
        ColumnFilter::Bytes(keys) => {
            (keys_share(keys, column, |key, _| Some(position_of_bytes(key))), keys.nulls())
        }
    };
    let null_share = column.null_share.clamp(0.0, 1.0);
    let share = keys * (1.0 - null_share) + if nulls { null_share } else { 0.0 };
    share.clamp(0.0, 1.0)
}

/// Whether a filter wants single keys only, no range of them.
pub fn wants_points(filter: &ColumnFilter) -> bool {
    fn points<K: Key>(keys: &KeySet<K>) -> bool {
        let is_point = |span: &[K]| match span {
            [first, end] => first.successor().as_ref() == Some(end),
            _ => false,
        };
        keys.cuts().chunks(2).all(is_point)
    }
    match filter {
        ColumnFilter::Narrow(keys) => points(keys),
        ColumnFilter::Wide(keys) => points(keys),
        ColumnFilter::Bytes(keys) => points(keys),
    }
}

/// The share of rows that match a pattern.
pub fn pattern_selectivity(pattern: &Pattern, column: &ColumnStatistics) -> f64 {
    let matching = match pattern.shape() {
        PatternShape::Anything => 1.0,
        PatternShape::Exact(_) => 1.0 / column.distinct.max(1.0),
        _ if pattern.literal().is_empty() => WILD,
        _ => LETTER.powi(pattern.literal().len() as i32 - 1).max(RAREST_PATTERN),
    };
    let share = if pattern.negated() { 1.0 - matching } else { matching };
    share * (1.0 - column.null_share.clamp(0.0, 1.0))
}

fn keys_share<K: Key>(
    keys: &KeySet<K>,
    column: &ColumnStatistics,
    scale: impl Fn(&K, &ColumnStatistics) -> Option<f64>,
) -> f64 {
    let point = 1.0 / column.distinct.max(1.0);
    let bounds = column_bounds(column);
    let mut share = 0.0;
    for span in keys.cuts().chunks(2) {
        let end = span.get(1);
        if end.is_some_and(|end| span[0].successor().as_ref() == Some(end)) {
            share += point;
            continue;
        }
        let low = scale(&span[0], column);
        let high = end.map_or(Some(f64::INFINITY), |end| scale(end, column));
        if let (Some(low), Some(high), Some(histogram)) = (low, high, &column.histogram) {
            share += (histogram.below(high) - histogram.below(low)).max(point);
            continue;
        }
        share += match (low, high, bounds) {
            (Some(low), Some(high), Some((min, max))) if max > min => {
                let covered = (high.min(max) - low.max(min)).max(0.0);
                (covered / (max - min)).max(point)
            }
            (Some(low), Some(high), Some((only, _))) if low <= only && only < high => 1.0,
            (Some(_), Some(_), Some(_)) => point,
            _ => UNKNOWN_RANGE,
        };
    }
    share.min(1.0)
}

/// The column's smallest and largest value on the scale that its keys have.
fn column_bounds(column: &ColumnStatistics) -> Option<(f64, f64)> {
    Some((position_of(column.min.as_ref()?)?, position_of(column.max.as_ref()?)?))
}

/// Floats are interpolated by value, not by their bits.
fn narrow_scale(key: &i64, column: &ColumnStatistics) -> Option<f64> {
    match column.min {
        Some(Value::Real(_) | Value::Double(_)) => {
            Some(f64::from_bits((key ^ (key >> 63 & i64::MAX)) as u64)).filter(|v| !v.is_nan())
        }
        _ => Some(*key as f64),
    }
}

/// About the share of rows that `column = value` lets through for some value.
pub fn point_selectivity(column: &ColumnStatistics) -> f64 {
    1.0 / column.distinct.max(1.0)
}

/// The kind of keys that a filter has.
pub fn kind(filter: &ColumnFilter) -> KeyKind {
    match filter {
        ColumnFilter::Narrow(_) => KeyKind::Narrow,
        ColumnFilter::Wide(_) => KeyKind::Wide,
        ColumnFilter::Bytes(_) => KeyKind::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 0.01
    }

    #[test]
    fn ranges_interpolate_and_points_divide() {
        let column = ColumnStatistics {
            distinct: 100.0,
            null_share: 0.5,
            min: Some(Value::Integer(0)),
            max: Some(Value::Integer(1000)),
            width: 4.0,
            histogram: None,
        };
        let share = |keys| filter_selectivity(&ColumnFilter::Narrow(keys), &column);
        assert!(near(share(KeySet::span(Some(0), Some(500))), 0.25));
        assert!(near(share(KeySet::point(7)), 0.005));
        assert!(near(share(KeySet::null()), 0.5));
        assert!(near(share(KeySet::span(Some(5000), None)), 0.005));
    }
}
