//! How much of a table a predicate leaves, alone and for the union of a batch.

use super::catalog::PlannedTable;
use crate::storage::position_of;
use crate::types::{Comparison, Predicate, Scalar, Value, ValueRef};

/// Activations assumed to share a heavy operator when a join order is chosen. With distinct parameters an
/// equality on a column of few values saturates (a batch asks for all subjects), while ranges keep their
/// selectivity: so the order that is best for a batch differs from the best for one. Few are assumed: in a large
/// batch the work for each activation outweighs what a better order would save.
pub const ASSUMED_BATCH: f64 = 8.0;

/// PostgreSQL's defaults for comparisons with unknown values.
const RANGE: f64 = 1.0 / 3.0;
/// A range whose end a scalar subquery gives mostly asks for the newest rows.
const COMPUTED_RANGE: f64 = 0.02;
const PATTERN: f64 = 0.01;
const OPAQUE: f64 = 1.0 / 3.0;

/// The share of rows that a conjunction leaves to one activation.
pub fn alone(table: &PlannedTable, predicates: &[Predicate]) -> f64 {
    predicates.iter().map(|p| one(table, p)).product()
}

/// The share of rows that somebody among `activations` wants.
pub fn union(table: &PlannedTable, predicates: &[Predicate], activations: f64) -> f64 {
    predicates.iter().map(|p| one_union(table, p, activations)).product()
}

fn one_union(table: &PlannedTable, predicate: &Predicate, activations: f64) -> f64 {
    let share = one(table, predicate);
    match saturates(predicate) {
        true => (share * activations).min(1.0),
        false => share,
    }
}

/// Whether activations with distinct parameters want distinct rows.
fn saturates(predicate: &Predicate) -> bool {
    let varies = |scalar: &Scalar| !matches!(scalar, Scalar::Literal(_));
    match predicate {
        Predicate::Compare { comparison: Comparison::Equal, value, .. } => varies(value),
        Predicate::In { values, negated: false, .. } => values.iter().any(varies),
        Predicate::Like { pattern, negated: false, .. } => varies(pattern),
        Predicate::Or(arms) => arms.iter().any(|arm| arm.iter().any(saturates)),
        _ => false,
    }
}

fn one(table: &PlannedTable, predicate: &Predicate) -> f64 {
    match predicate {
        Predicate::Compare { column, comparison, value } => {
            comparison_share(table, *column, *comparison, value)
        }
        Predicate::In { column, values, negated } => {
            let share = (values.len() as f64 / table.distinct(*column)).min(1.0);
            if *negated { 1.0 - share } else { share }
        }
        Predicate::Like { negated, .. } => {
            if *negated {
                1.0
            } else {
                PATTERN
            }
        }
        Predicate::IsNull { column, negated } => {
            let statistics = table.statistics.columns.get(*column);
            let share = statistics.map_or(0.0, |s| s.null_share);
            if *negated { 1.0 - share } else { share.max(1.0 / table.rows()) }
        }
        Predicate::Or(arms) => arms.iter().map(|arm| alone(table, arm)).sum::<f64>().min(1.0),
        Predicate::Expression(_) => OPAQUE,
    }
}

fn comparison_share(
    table: &PlannedTable,
    column: usize,
    comparison: Comparison,
    value: &Scalar,
) -> f64 {
    match comparison {
        Comparison::Equal => 1.0 / table.distinct(column),
        Comparison::NotEqual => 1.0,
        _ if table.is_computed(value) => COMPUTED_RANGE,
        Comparison::Less | Comparison::LessOrEqual => below(table, column, value).unwrap_or(RANGE),
        Comparison::Greater | Comparison::GreaterOrEqual => {
            below(table, column, value).map_or(RANGE, |share| 1.0 - share)
        }
    }
}

/// The share of rows below a literal, by the column's histogram or else by linear interpolation between smallest and
/// largest value.
fn below(table: &PlannedTable, column: usize, value: &Scalar) -> Option<f64> {
    let Scalar::Literal(literal) = value else { return None };
    let statistics = table.statistics.columns.get(column)?;
    if let Some(histogram) = &statistics.histogram
        && let Some(position) = position_in(literal, statistics.min.as_ref()?)
    {
        return Some(histogram.below(position));
    }
    let (min, max) = (number(statistics.min.as_ref()?)?, number(statistics.max.as_ref()?)?);
    let share = (number(literal)? - min) / (max - min);
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

/// Where a literal lies on the scale of a column that has a value like `known`.
fn position_in(literal: &Value, known: &Value) -> Option<f64> {
    match known {
        Value::Text(_) | Value::Bytea(_) => position_of(literal),
        Value::Numeric(_, scale) => Some(number(literal)? * 10f64.powi(i32::from(*scale))),
        _ => number(literal),
    }
}

fn number(value: &Value) -> Option<f64> {
    Some(match value.borrow() {
        ValueRef::SmallInt(v) => f64::from(v),
        ValueRef::Integer(v) | ValueRef::Date(v) => f64::from(v),
        ValueRef::BigInt(v) | ValueRef::Timestamp(v) | ValueRef::TimestampTz(v) => v as f64,
        ValueRef::Real(v) => f64::from(v),
        ValueRef::Double(v) => v,
        ValueRef::Numeric(v, scale) => v as f64 / 10f64.powi(i32::from(scale)),
        _ => return None,
    })
}
