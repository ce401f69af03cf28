//! Groups of equal intervals: grouped by numbers, shown as the first interval of each.

use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::functions_aggregate::first_last::first_value;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, ExprSchemable, LogicalPlan, Projection};

use super::{has_intervals, holds_intervals, is_of_intervals, refused};
use crate::dialect::spans::spanned;

/// A grouping, with a projection above that has its columns, where a key is an interval.
pub fn grouped(grouping: Aggregate) -> Result<LogicalPlan> {
    let own = grouping.input.schema();
    let of_intervals: Vec<bool> =
        grouping.group_expr.iter().map(|key| is_of_intervals(key, own)).collect();
    refuse_sets(&grouping)?;
    if !of_intervals.contains(&true) {
        return Ok(LogicalPlan::Aggregate(grouping));
    }
    let schema = grouping.schema.clone();
    let mut values = grouping.aggr_expr;
    let mut keys = Vec::with_capacity(of_intervals.len());
    for (place, key) in grouping.group_expr.into_iter().enumerate() {
        if of_intervals[place] {
            values.push(first_value(key.clone().unalias(), Vec::new()).alias(shown(place)));
            keys.push(spanned(key.unalias()).alias(format!("__span_{place}")));
        } else {
            keys.push(key);
        }
    }
    let plan = LogicalPlan::Aggregate(Aggregate::try_new(grouping.input, keys, values)?);
    let columns = schema.iter().enumerate().map(|(place, (qualifier, field))| {
        match of_intervals.get(place) {
            Some(true) => Expr::Column(Column::from_name(shown(place)))
                .alias_qualified(qualifier.cloned(), field.name()),
            _ => Expr::Column(Column::from((qualifier, field))),
        }
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(plan))?))
}

fn shown(place: usize) -> String {
    format!("__shown_{place}")
}

/// Of several groupings at once each would show an interval of its own.
fn refuse_sets(grouping: &Aggregate) -> Result<()> {
    let schema = grouping.input.schema();
    let is_refused = |key: &Expr| match key {
        Expr::GroupingSet(sets) => sets
            .distinct_expr()
            .iter()
            .any(|key| key.get_type(schema).is_ok_and(|data_type| has_intervals(&data_type))),
        key => {
            let given = key.get_type(schema);
            given.is_ok_and(|data_type| data_type.is_nested() && has_intervals(&data_type))
        }
    };
    match grouping.group_expr.iter().any(is_refused) {
        true => Err(refused(
            "grouping by arrays of intervals, or by sets with intervals (ROLLUP, CUBE, GROUPING SETS),",
            "Group by extract(epoch FROM ..).",
        )),
        false => Ok(()),
    }
}

/// Distinct rows, some of whose columns may be intervals.
pub fn distinct(input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
    if !holds_intervals(input.schema()) {
        return Ok(LogicalPlan::Distinct(Distinct::All(input)));
    }
    let columns = input.schema().columns().into_iter().map(Expr::Column).collect();
    grouped(Aggregate::try_new(input, columns, Vec::new())?)
}
