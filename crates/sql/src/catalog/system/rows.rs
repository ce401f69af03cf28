//! Small tables, row by row.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, ListArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, ScalarValue};

use crate::catalog::types::{INT2_VECTOR, OID_VECTOR, is_vector};

/// A value of a system table.
#[derive(Clone, Debug)]
pub enum Cell {
    Null,
    Bool(bool),
    Small(i16),
    Int(i32),
    Big(i64),
    Real(f32),
    Text(String),
    Smalls(Vec<i16>),
    Texts(Vec<String>),
    Oids(Vec<i32>),
}

/// The type of a system table's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Small,
    Int,
    Big,
    Real,
    Text,
    Smalls,
    Texts,
    /// `int2vector`: of `Smalls`.
    SmallVector,
    /// `oidvector`: of `Oids`.
    OidVector,
}

impl Kind {
    fn arrow(self) -> DataType {
        match self {
            Kind::Bool => DataType::Boolean,
            Kind::Small => DataType::Int16,
            Kind::Int => DataType::Int32,
            Kind::Big => DataType::Int64,
            Kind::Real => DataType::Float32,
            Kind::Text => DataType::Utf8View,
            Kind::Smalls => DataType::new_list(DataType::Int16, true),
            Kind::Texts => DataType::new_list(DataType::Utf8View, true),
            Kind::SmallVector => vector(INT2_VECTOR, DataType::Int16),
            Kind::OidVector => vector(OID_VECTOR, DataType::Int32),
        }
    }
}

fn vector(name: &str, item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new(name, item, true)))
}

/// A small table.
#[derive(Clone, Debug)]
pub struct Rows {
    columns: &'static [(&'static str, Kind)],
    rows: Vec<Vec<Cell>>,
}

impl Rows {
    /// A table without rows yet.
    pub fn new(columns: &'static [(&'static str, Kind)]) -> Rows {
        Rows { columns, rows: Vec::new() }
    }

    /// Adds a row: one value per column.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "a value per column");
        self.rows.push(row);
    }

    /// Its columns.
    pub fn schema(&self) -> SchemaRef {
        let fields = self.columns.iter().map(|(name, kind)| Field::new(*name, kind.arrow(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// All rows.
    pub fn batch(&self) -> Result<RecordBatch> {
        let schema = self.schema();
        if self.rows.is_empty() {
            return Ok(RecordBatch::new_empty(schema));
        }
        let columns = (0..self.columns.len()).map(|i| {
            let kind = self.columns[i].1;
            let values = self.rows.iter().map(|row| scalar(&row[i], kind));
            of_kind(ScalarValue::iter_to_array(values.collect::<Result<Vec<_>>>()?)?, kind)
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// The column with the names that items of vectors have.
fn of_kind(array: ArrayRef, kind: Kind) -> Result<ArrayRef> {
    match kind.arrow() {
        DataType::List(item) if is_vector(&item) => {
            let (_, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            Ok(Arc::new(ListArray::try_new(item, offsets, values, nulls)?))
        }
        _ => Ok(array),
    }
}

fn scalar(cell: &Cell, kind: Kind) -> Result<ScalarValue> {
    Ok(match cell {
        Cell::Null => ScalarValue::try_from(&kind.arrow())?,
        Cell::Bool(v) => ScalarValue::Boolean(Some(*v)),
        Cell::Small(v) => ScalarValue::Int16(Some(*v)),
        Cell::Int(v) => ScalarValue::Int32(Some(*v)),
        Cell::Big(v) => ScalarValue::Int64(Some(*v)),
        Cell::Real(v) => ScalarValue::Float32(Some(*v)),
        Cell::Text(v) => ScalarValue::Utf8View(Some(v.clone())),
        Cell::Texts(values) => {
            let values = values.iter().map(|value| ScalarValue::Utf8View(Some(value.clone())));
            let values: Vec<_> = values.collect();
            ScalarValue::List(ScalarValue::new_list_nullable(&values, &DataType::Utf8View))
        }
        Cell::Oids(values) => {
            let values: Vec<_> = values.iter().map(|v| ScalarValue::Int32(Some(*v))).collect();
            ScalarValue::List(ScalarValue::new_list_nullable(&values, &DataType::Int32))
        }
        Cell::Smalls(values) => {
            let values: Vec<_> = values.iter().map(|v| ScalarValue::Int16(Some(*v))).collect();
            ScalarValue::List(ScalarValue::new_list_nullable(&values, &DataType::Int16))
        }
    })
}

/// A relation's id.
pub fn oid(id: u32) -> Cell {
    Cell::Int(id as i32)
}

/// A string.
pub fn text(value: impl Into<String>) -> Cell {
    Cell::Text(value.into())
}
