//! How much of a table a predicate leaves, alone and for the union of a batch.

use super::catalog::PlannedTable;
use crate::scan::{ColumnFilter, Conjunction, filter_selectivity};
use crate::storage::ColumnStatistics;
use crate::types::{Comparison, DataType, Predicate, Scalar, Value};

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
    let (known, unknown): (Vec<_>, Vec<_>) =
        predicates.iter().cloned().partition(|p| table.parameters.settles(p));
    by_value(table, known) * unknown.iter().map(|p| one(table, p)).product::<f64>()
}

/// The share of rows that somebody among `activations` wants.
pub fn union(table: &PlannedTable, predicates: &[Predicate], activations: f64) -> f64 {
    let (apart, together): (Vec<_>, Vec<_>) = predicates.iter().cloned().partition(saturates);
    let wanted = |p| (alone(table, std::slice::from_ref(p)) * activations).min(1.0);
    apart.iter().map(wanted).product::<f64>() * alone(table, &together)
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

/// A predicate of whose values nothing is known.
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
        _ if table.parameters.is_computed(value) => COMPUTED_RANGE,
        _ => RANGE,
    }
}

/// The share of rows that meet predicates whose values are known, taken together by column: both ends of a range count.
fn by_value(table: &PlannedTable, mut predicates: Vec<Predicate>) -> f64 {
    let types: Vec<DataType> = table.schema.columns.iter().map(|c| c.data_type).collect();
    predicates.extend(bounds(table, &predicates));
    let bound = Conjunction::bind(&predicates, &types, table.parameters.borrow());
    let Ok(conjunction) = bound else {
        return predicates.iter().map(|p| one(table, p)).product();
    };
    let columns = conjunction.filters.iter().map(|(column, filter)| keys(table, *column, filter));
    columns.chain(conjunction.rest.iter().map(|p| one(table, p))).product()
}

/// That a column is read implies its values lie between the smallest and the largest one.
fn bounds(table: &PlannedTable, predicates: &[Predicate]) -> Vec<Predicate> {
    let mut columns: Vec<usize> = predicates.iter().filter_map(compared_column).collect();
    columns.sort_unstable();
    columns.dedup();
    let within = columns.into_iter().filter_map(|column| {
        let statistics = table.statistics.columns.get(column)?;
        let bound = |comparison, value: &Option<Value>| {
            let value = Scalar::Literal(value.clone()?);
            Some(Predicate::Compare { column, comparison, value })
        };
        let lower = bound(Comparison::GreaterOrEqual, &statistics.min);
        let upper = bound(Comparison::LessOrEqual, &statistics.max);
        Some(lower.into_iter().chain(upper))
    });
    within.flatten().collect()
}

fn compared_column(predicate: &Predicate) -> Option<usize> {
    match predicate {
        Predicate::Compare { column, .. } | Predicate::In { column, .. } => Some(*column),
        _ => None,
    }
}

/// The share of rows with a wanted key; never less than one row, since who asks next may find more.
fn keys(table: &PlannedTable, column: usize, filter: &ColumnFilter) -> f64 {
    let least = 1.0 / table.rows();
    if filter.is_empty() {
        return least;
    }
    let stored = table.statistics.columns.get(column).cloned().unwrap_or_default();
    let statistics = ColumnStatistics { distinct: table.distinct(column), ..stored };
    filter_selectivity(filter, &statistics).max(least)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::KnownParameters;
    use super::*;
    use crate::storage::Store;
    use crate::types::{ColumnDefault, ColumnSchema, TableId, TableSchema, Version};

    const ROWS: i32 = 10_000;

    /// Columns: 0 to 9,999 each once; 1 to 50; NULL but for every fourth row; 0.00 to 0.10.
    fn planned(values: Vec<Option<Value>>) -> PlannedTable {
        let numeric = DataType::Numeric { precision: 15, scale: 2 };
        let types = [DataType::Integer, DataType::SmallInt, DataType::Integer, numeric];
        let table = Store::new(1).create_table(schema(&types));
        let row = |i: i32| {
            let some = if i % 4 == 0 { Value::Integer(i % 8) } else { Value::Null };
            let cents = Value::Numeric(i128::from(i % 11), 2);
            vec![Value::Integer(i), Value::SmallInt((i % 50 + 1) as i16), some, cents]
        };
        table.insert_rows(&(0..ROWS).map(row).collect::<Vec<_>>(), Version(1));
        let statistics = Arc::new(table.statistics());
        let types: Vec<DataType> = values.iter().map(|_| DataType::Integer).collect();
        let parameters = Arc::new(KnownParameters::new(&types, &values));
        PlannedTable { schema: table.schema(), statistics, parameters }
    }

    fn schema(types: &[DataType]) -> TableSchema {
        let column = |data_type: &DataType| ColumnSchema {
            name: "c".into(),
            data_type: *data_type,
            not_null: false,
            default: ColumnDefault::None,
            dropped: false,
            missing: Value::Null,
        };
        TableSchema {
            id: TableId(1),
            schema: "public".into(),
            name: "t".into(),
            columns: types.iter().map(column).collect(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        }
    }

    fn integers(values: &[i32]) -> PlannedTable {
        planned(values.iter().map(|v| Some(Value::Integer(*v))).collect())
    }

    fn compare(column: usize, comparison: Comparison, parameter: usize) -> Predicate {
        Predicate::Compare { column, comparison, value: Scalar::Parameter(parameter) }
    }

    fn near(share: f64, expected: f64) {
        assert!((share - expected).abs() < 0.03, "{share} for {expected}");
    }

    #[test]
    fn ranges_go_by_the_values_of_the_statement() {
        use Comparison::{GreaterOrEqual, Less, LessOrEqual};
        let less = |v| alone(&integers(&[v]), &[compare(1, Less, 0)]);
        near(less(2), 0.02);
        near(less(26), 0.5);
        near(less(49), 0.96);
        near(less(1000), 1.0);
        let between = |low, high| {
            let ends = [compare(1, GreaterOrEqual, 0), compare(1, LessOrEqual, 1)];
            alone(&integers(&[low, high]), &ends)
        };
        near(between(10, 14), 0.1);
        near(between(50, 50), 0.02);
        assert_eq!(between(14, 10), 1.0 / f64::from(ROWS));
        near(alone(&integers(&[0]), &[compare(3, LessOrEqual, 0)]), 1.0 / 11.0);
    }

    #[test]
    fn what_no_row_can_be_is_expected_once() {
        let row = 1.0 / f64::from(ROWS);
        let equal = |values| alone(&planned(values), &[compare(1, Comparison::Equal, 0)]);
        near(equal(vec![Some(Value::Integer(7))]), 0.02);
        assert_eq!(equal(vec![Some(Value::Integer(51))]), row);
        assert_eq!(equal(vec![Some(Value::Null)]), row);
        let list = |values: &[i32]| {
            let scalars = (0..values.len()).map(Scalar::Parameter).collect();
            alone(
                &integers(values),
                &[Predicate::In { column: 1, values: scalars, negated: false }],
            )
        };
        near(list(&[1, 2, 3, 4, 5]), 0.1);
        near(list(&[1, 1, 1, 77, 78]), 0.02);
    }

    #[test]
    fn nulls_meet_no_comparison() {
        let at_least = [compare(2, Comparison::GreaterOrEqual, 0)];
        near(alone(&integers(&[0]), &at_least), 0.25);
    }

    #[test]
    fn unknown_values_are_taken_for_the_usual_ones() {
        let table = planned(vec![None, None]);
        let ends = [compare(1, Comparison::Greater, 0), compare(1, Comparison::Less, 1)];
        assert_eq!(alone(&table, &ends), 1.0 / 9.0);
        near(alone(&table, &[compare(2, Comparison::Equal, 0)]), 0.5);
    }

    #[test]
    fn a_known_value_still_varies_between_activations() {
        let equal = [compare(1, Comparison::Equal, 0)];
        near(union(&integers(&[7]), &equal, ASSUMED_BATCH), 8.0 / 50.0);
        let less = [compare(1, Comparison::Less, 0)];
        near(union(&integers(&[11]), &less, ASSUMED_BATCH), 0.2);
    }
}
