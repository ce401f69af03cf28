//! The engine's tables about itself.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::Result;
use engine::system::SystemTable;
use engine::types::{Value, ValueRef, array_from_values};

use super::super::Catalog;

/// Its columns.
pub fn schema(table: &SystemTable) -> SchemaRef {
    let fields = table.columns.iter().map(|(name, t)| Field::new(*name, t.arrow(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Its rows now.
pub fn batch(table: &SystemTable, catalog: &Catalog) -> Result<RecordBatch> {
    let rows = catalog.engine().map(|engine| (table.rows)(engine)).unwrap_or_default();
    let columns = table.columns.iter().enumerate().map(|(i, (_, data_type))| {
        let value = |row: &'_ Vec<Value>| row.get(i).cloned().unwrap_or(Value::Null);
        let values: Vec<Value> = rows.iter().map(value).collect();
        array_from_values(*data_type, values.iter().map(Value::borrow))
    });
    let columns: Vec<ArrayRef> = columns.collect();
    debug_assert!(rows.iter().flatten().all(|v| !matches!(v.borrow(), ValueRef::Bytea(_))));
    Ok(RecordBatch::try_new(schema(table), columns)?)
}
