//! What DataFusion is told about the rows of a scan.
//!
//! Everything is an estimate of the newest version, whatever the snapshot and the transaction's own changes: marked exact it
//! would be an answer for `count(*)`, `min` and `max`.

use std::sync::LazyLock;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::stats::Precision;
use datafusion::common::{Column, ColumnStatistics, DFSchema, ExprSchema, Result, Statistics};
use datafusion::logical_expr::{Expr, Subquery};
use engine::plan::PlannedTable;
use engine::types::{DataType, TableSchema, Value};

use super::run::scalar_value;
use super::scan::Field;
use crate::compile::{Refusal, Resolve, predicates};

/// The share of rows that a condition leaves of which the engine knows nothing.
const UNKNOWN: f64 = 1.0 / 3.0;

/// The rows of a table that meet filters, as the engine estimates them.
pub fn rows(table: &PlannedTable, filters: &[Expr]) -> f64 {
    let (mut known, mut share) = (Vec::new(), 1.0);
    for filter in filters {
        match predicates(filter, &mut TableColumns(&table.schema)) {
            Ok(more) => known.extend(more),
            Err(_) => share *= UNKNOWN,
        }
    }
    table.rows() * table.share(&known) * share
}

/// Statistics of so many of a table's rows. Sizes in bytes stay unknown: joins would be built from what is smaller in
/// bytes, while their work is that of the rows.
pub fn scan_statistics(table: &PlannedTable, rows: f64, fields: &[Field]) -> Result<Statistics> {
    let columns = fields.iter().map(|field| match field {
        Field::Column(column) => column_statistics(table, column.index(), rows),
        Field::RowId => Ok(ColumnStatistics {
            distinct_count: Precision::Inexact(table.rows() as usize),
            ..ColumnStatistics::new_unknown()
        }),
        Field::RowVersion => Ok(ColumnStatistics::new_unknown()),
    });
    Ok(Statistics {
        num_rows: Precision::Inexact(rows.ceil() as usize),
        total_byte_size: Precision::Absent,
        column_statistics: columns.collect::<Result<_>>()?,
    })
}

/// Of how many values the table has, not of how many are left: so a join of keys is estimated from both tables.
fn column_statistics(table: &PlannedTable, column: usize, rows: f64) -> Result<ColumnStatistics> {
    let data_type = table.schema.columns[column].data_type;
    let bound = |value: &Option<Value>| inexact(data_type, value.as_ref());
    let distinct_count = Precision::Inexact(table.distinct(column).ceil() as usize);
    let Some(known) = table.statistics.columns.get(column) else {
        return Ok(ColumnStatistics { distinct_count, ..ColumnStatistics::new_unknown() });
    };
    Ok(ColumnStatistics {
        null_count: Precision::Inexact((known.null_share * rows) as usize),
        min_value: bound(&known.min)?,
        max_value: bound(&known.max)?,
        distinct_count,
        ..ColumnStatistics::new_unknown()
    })
}

fn inexact(
    data_type: DataType,
    value: Option<&Value>,
) -> Result<Precision<datafusion::common::ScalarValue>> {
    let value = value.map(|value| scalar_value(data_type, value)).transpose()?;
    Ok(value.map_or(Precision::Absent, Precision::Inexact))
}

/// Columns of filters, by their place in the table.
struct TableColumns<'a>(&'a TableSchema);

impl Resolve for TableColumns<'_> {
    fn column(&mut self, column: &Column) -> std::result::Result<(usize, ArrowType), Refusal> {
        let found = self.0.live_columns().find(|(_, known)| *known.name == *column.name);
        let (id, known) = found.ok_or_else(|| format!("the hidden column {column}"))?;
        Ok((id.index(), known.data_type.arrow()))
    }

    fn subquery(&mut self, _: &Subquery) -> std::result::Result<(usize, ArrowType), Refusal> {
        Err("a subquery".to_owned())
    }

    /// No rows are asked here: what may fail is as good as anything else.
    fn schema(&self) -> &dyn ExprSchema {
        static NOTHING: LazyLock<DFSchema> = LazyLock::new(DFSchema::empty);
        &*NOTHING
    }
}
