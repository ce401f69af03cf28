//! Tables and views as DataFusion's planner sees them.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef};
use datafusion::common::{Constraint, Constraints, Result};
use datafusion::logical_expr::{
    Expr, LogicalPlan, TableProviderFilterPushDown, TableSource, TableType,
};
use engine::types::{ColumnId, TableSchema};

/// `__hidden.t` is table `t` with two more columns.
pub const HIDDEN_SCHEMA: &str = "__hidden";
/// The row's id, `bigint`; below zero for rows that the own transaction inserted.
pub const ROW_ID: &str = "__row_id";
/// The version since when the row is as it is, `bigint`.
pub const ROW_VERSION: &str = "__row_version";

/// A table of the engine.
#[derive(Debug)]
pub struct TableRelation {
    /// Its definition.
    pub table: Arc<TableSchema>,
    /// Arrow's view of its live columns, then of the hidden ones.
    pub arrow: SchemaRef,
    /// The table's column behind each field; the hidden ones come after.
    pub columns: Vec<ColumnId>,
    constraints: Constraints,
}

impl TableRelation {
    /// A table, with its hidden columns or without.
    pub fn new(table: &Arc<TableSchema>, hidden: bool) -> TableRelation {
        let live = table.live_columns();
        let mut fields: Vec<Field> =
            live.map(|(_, c)| Field::new(&*c.name, c.data_type.arrow(), !c.not_null)).collect();
        if hidden {
            fields.push(Field::new(ROW_ID, ArrowType::Int64, false));
            fields.push(Field::new(ROW_VERSION, ArrowType::Int64, false));
        }
        let columns: Vec<ColumnId> = table.live_columns().map(|(id, _)| id).collect();
        let constraints = constraints(table, &columns);
        let arrow = Arc::new(Schema::new(fields));
        TableRelation { table: table.clone(), arrow, columns, constraints }
    }

    /// Whether it shows its hidden columns.
    pub fn is_hidden(&self) -> bool {
        self.arrow.fields().len() > self.columns.len()
    }
}

/// The primary key, so that `GROUP BY key` lets the other columns through.
fn constraints(table: &TableSchema, columns: &[ColumnId]) -> Constraints {
    let Some(key) = table.primary_key() else { return Constraints::default() };
    let positions = key.columns.iter().map(|id| columns.iter().position(|c| c == id));
    match positions.collect::<Option<Vec<_>>>() {
        Some(positions) => Constraints::new_unverified(vec![Constraint::PrimaryKey(positions)]),
        None => Constraints::default(),
    }
}

impl TableSource for TableRelation {
    fn schema(&self) -> SchemaRef {
        self.arrow.clone()
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| pushdown(filter)).collect())
    }
}

/// A scan takes every filter but those that wait for a subquery.
pub fn pushdown(filter: &Expr) -> TableProviderFilterPushDown {
    use datafusion::common::tree_node::TreeNode;
    let waits = filter.exists(|expr| Ok(matches!(expr, Expr::ScalarSubquery(_))));
    if waits.unwrap_or(true) {
        TableProviderFilterPushDown::Unsupported
    } else {
        TableProviderFilterPushDown::Exact
    }
}

/// A view: planned in its place.
pub struct ViewRelation {
    /// The view's query.
    pub plan: LogicalPlan,
}

impl TableSource for ViewRelation {
    fn schema(&self) -> SchemaRef {
        Arc::new(self.plan.schema().as_arrow().clone())
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        Some(Cow::Borrowed(&self.plan))
    }
}
