//! Which table's column an output column is.

use std::any::Any;

use datafusion::common::Column;
use datafusion::logical_expr::{Distinct, Expr, JoinType, LogicalPlan};
use engine::types::{ColumnId, DataType, TableId};

use crate::catalog::{FoundRelation, TableRelation};

/// A column of a stored table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The table.
    pub table: TableId,
    /// The column.
    pub column: ColumnId,
    /// Its type, with its modifier.
    pub data_type: DataType,
}

/// Where output column `index` of a plan comes from, if it is a plain column.
pub fn origin(plan: &LogicalPlan, index: usize) -> Option<Origin> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let source = scan.source.as_ref() as &dyn Any;
            let field = scan.projection.as_ref().map_or(index, |fields| fields[index]);
            if let Some(found) = source.downcast_ref::<FoundRelation>() {
                return *found.origins.get(field)?;
            }
            let relation = source.downcast_ref::<TableRelation>()?;
            let column = *relation.columns.get(field)?;
            let data_type = relation.table.columns[column.index()].data_type;
            Some(Origin { table: relation.table.id, column, data_type })
        }
        LogicalPlan::Projection(projection) => {
            through(&projection.input, projection.expr.get(index)?)
        }
        LogicalPlan::Aggregate(aggregate) => {
            through(&aggregate.input, aggregate.group_expr.get(index)?)
        }
        LogicalPlan::Filter(filter) => origin(&filter.input, index),
        LogicalPlan::Sort(sort) => origin(&sort.input, index),
        LogicalPlan::Limit(limit) => origin(&limit.input, index),
        LogicalPlan::SubqueryAlias(alias) => origin(&alias.input, index),
        LogicalPlan::Distinct(Distinct::All(input)) => origin(input, index),
        LogicalPlan::Join(join) => {
            let width = join.left.schema().fields().len();
            match join.join_type {
                JoinType::RightSemi | JoinType::RightAnti => origin(&join.right, index),
                _ if index < width => origin(&join.left, index),
                _ => origin(&join.right, index - width),
            }
        }
        _ => None,
    }
}

fn through(input: &LogicalPlan, expr: &Expr) -> Option<Origin> {
    match expr {
        Expr::Alias(alias) => through(input, &alias.expr),
        Expr::Column(column) => origin(input, position(input, column)?),
        _ => None,
    }
}

fn position(input: &LogicalPlan, column: &Column) -> Option<usize> {
    input.schema().maybe_index_of_column(column)
}
