//! A table at a version as record batches, chunk by chunk.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use engine::storage::{Index, Snapshot, TableView};
use engine::types::{ColumnId, Location, Value, array_from_values};

use super::overlay::TableOverlay;

/// A column that a scan puts out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A stored column.
    Column(ColumnId),
    /// The row's id.
    RowId,
    /// The version since when the row is as it is.
    RowVersion,
}

/// A table at a version under a transaction's own changes.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub view: Arc<TableView>,
    /// Keeps the versions that the view sees.
    #[expect(dead_code, reason = "held, not read")]
    pub snapshot: Snapshot,
    /// The transaction's own changes.
    pub overlay: Option<Arc<TableOverlay>>,
    /// What it puts out.
    pub fields: Vec<Field>,
    /// The same for Arrow.
    pub schema: SchemaRef,
    /// An index that has all rows of the view's version, and a key that all wanted rows have.
    pub probe: Option<(Arc<Index>, Vec<Value>)>,
}

impl Scan {
    /// How many pieces it is read in: the chunks, and the transaction's own rows; one for a probe.
    pub fn pieces(&self) -> usize {
        let stored = if self.probe.is_some() { 1 } else { self.view.chunks().len() };
        stored + usize::from(self.overlay.is_some())
    }

    /// Some of its pieces, a batch each.
    pub fn read(&self, pieces: Range<usize>) -> SendableRecordBatchStream {
        let scan = self.clone();
        let own = self.overlay.is_some().then(|| self.pieces() - 1);
        let batches = pieces
            .map(move |piece| if own == Some(piece) { scan.own_rows() } else { scan.piece(piece) });
        let batches = futures::stream::iter(batches);
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), batches))
    }

    /// The same of some of its columns only.
    pub fn project(&self, columns: &[usize]) -> Result<Scan> {
        Ok(Scan {
            fields: columns.iter().map(|column| self.fields[*column]).collect(),
            schema: Arc::new(self.schema.project(columns)?),
            ..self.clone()
        })
    }

    fn piece(&self, piece: usize) -> Result<RecordBatch> {
        let mut locations = match &self.probe {
            Some((index, key)) => self.probed(index, key),
            None => self.visible(piece),
        };
        if let Some(overlay) = &self.overlay {
            locations.retain(|at| !overlay.replaced.contains(&self.view.row_id(*at)));
        }
        let columns = self.fields.iter().map(|field| self.column(*field, &locations));
        self.batch(columns.collect(), locations.len())
    }

    fn probed(&self, index: &Index, key: &[Value]) -> Vec<Location> {
        let mut locations = Vec::new();
        let key: Vec<_> = key.iter().map(Value::borrow).collect();
        self.view.probe(index, &key, &mut locations);
        locations
    }

    fn visible(&self, piece: usize) -> Vec<Location> {
        let (id, chunk) = &self.view.chunks()[piece];
        let mut offsets = Vec::with_capacity(chunk.rows());
        chunk.visible(self.view.version(), 0..chunk.rows() as u32, &mut offsets);
        offsets.into_iter().map(|offset| Location { chunk: *id, offset }).collect()
    }

    fn column(&self, field: Field, locations: &[Location]) -> ArrayRef {
        match field {
            Field::Column(column) => self.view.gather(column, locations),
            Field::RowId => {
                let ids = locations.iter().map(|at| self.view.row_id(*at).0 as i64);
                Arc::new(Int64Array::from_iter_values(ids))
            }
            // The snapshot's version stands for all its rows: a commit compares with it.
            Field::RowVersion => {
                let version = self.view.version().0 as i64;
                Arc::new(Int64Array::from_iter_values(locations.iter().map(|_| version)))
            }
        }
    }

    fn own_rows(&self) -> Result<RecordBatch> {
        let rows = self.overlay.as_ref().map_or(&[][..], |overlay| &overlay.rows);
        let columns = self.fields.iter().map(|field| -> ArrayRef {
            match field {
                Field::Column(column) => {
                    let schema = self.view.schema();
                    let data_type = schema.columns[column.index()].data_type;
                    let value = |row: &'_ (_, Vec<Value>)| row.1.get(column.index()).cloned();
                    let values: Vec<Value> =
                        rows.iter().map(|row| value(row).unwrap_or(Value::Null)).collect();
                    array_from_values(data_type, values.iter().map(Value::borrow))
                }
                Field::RowId => {
                    Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0.0 as i64)))
                }
                Field::RowVersion => {
                    let version = self.view.version().0 as i64;
                    Arc::new(Int64Array::from_iter_values(rows.iter().map(|_| version)))
                }
            }
        });
        self.batch(columns.collect(), rows.len())
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }
}
