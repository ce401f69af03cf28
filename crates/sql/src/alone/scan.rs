//! A table at a version as record batches, chunk by chunk.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, Statistics};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use engine::storage::{Index, Snapshot, TableView};
use engine::types::{ColumnId, Location, RowId, Value, array_from_values};

use super::condition::{Condition, Worth};
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
    /// What the statement asks of its rows.
    pub condition: Option<Condition>,
    /// What operators above have found out about the rows that they need, while the statement runs. They ask again: these
    /// only spare work.
    pub filters: Vec<Condition>,
    /// About the rows that it puts out; estimates.
    pub statistics: Arc<Statistics>,
}

/// Rows of one piece.
enum Rows<'a> {
    Stored(Vec<Location>),
    Own(Vec<&'a (RowId, Vec<Value>)>),
}

impl Rows<'_> {
    fn len(&self) -> usize {
        match self {
            Rows::Stored(locations) => locations.len(),
            Rows::Own(rows) => rows.len(),
        }
    }

    fn retain(&mut self, kept: &[bool]) {
        let mut kept = kept.iter();
        let mut next = || *kept.next().expect("one for each row");
        match self {
            Rows::Stored(locations) => locations.retain(|_| next()),
            Rows::Own(rows) => rows.retain(|_| next()),
        }
    }
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
        let mut worth = vec![Worth::default(); self.filters.len()];
        let batches = pieces.map(move |piece| scan.piece(piece, &mut worth));
        let batches = futures::stream::iter(batches);
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), batches))
    }

    /// The same of some of its columns only.
    pub fn project(&self, columns: &[usize]) -> Result<Scan> {
        Ok(Scan {
            fields: columns.iter().map(|column| self.fields[*column]).collect(),
            schema: Arc::new(self.schema.project(columns)?),
            statistics: Arc::new(Statistics::clone(&self.statistics).project(Some(&columns))),
            ..self.clone()
        })
    }

    /// Whether some of its rows are left out before they are put out.
    pub fn is_selective(&self) -> bool {
        self.condition.is_some() || !self.filters.is_empty()
    }

    /// Whether a filter leaves few enough rows of a sample, or may do so later.
    pub fn is_narrowed_by(&self, filter: &Condition) -> Result<bool> {
        Ok(!filter.is_complete() || self.sampled(filter)?.is_asked(1))
    }

    /// What a filter has left of the rows at three places.
    fn sampled(&self, filter: &Condition) -> Result<Worth> {
        let (mut asked, mut left) = (0, 0);
        for quarter in 1..4 {
            let mut rows = self.rows(self.pieces() * quarter / 4);
            asked += rows.len();
            self.narrow(filter, &mut rows)?;
            left += rows.len();
        }
        let mut worth = Worth::default();
        worth.learn(asked, left);
        Ok(worth)
    }

    /// What is read to tell whether rows meet a condition is read of all of them, the rest of those that are left.
    fn piece(&self, piece: usize, worth: &mut [Worth]) -> Result<RecordBatch> {
        let mut rows = self.rows(piece);
        if let Some(condition) = &self.condition {
            self.narrow(condition, &mut rows)?;
        }
        for (filter, worth) in self.filters.iter().zip(worth) {
            let before = rows.len();
            if worth.is_asked(piece) {
                self.narrow(filter, &mut rows)?;
                worth.learn(before, rows.len());
            }
        }
        self.batch(&self.schema, &self.fields, &rows)
    }

    fn narrow(&self, condition: &Condition, rows: &mut Rows<'_>) -> Result<()> {
        let asked = self.batch(&condition.schema, &condition.fields, rows)?;
        rows.retain(&condition.ask(&asked)?);
        Ok(())
    }

    fn rows(&self, piece: usize) -> Rows<'_> {
        if let Some(overlay) = &self.overlay
            && piece == self.pieces() - 1
        {
            return Rows::Own(overlay.rows.iter().collect());
        }
        let mut locations = match &self.probe {
            Some((index, key)) => self.probed(index, key),
            None => self.visible(piece),
        };
        if let Some(overlay) = &self.overlay {
            locations.retain(|at| !overlay.replaced.contains(&self.view.row_id(*at)));
        }
        Rows::Stored(locations)
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

    fn column(&self, field: Field, rows: &Rows<'_>) -> ArrayRef {
        match (field, rows) {
            (Field::Column(column), Rows::Stored(locations)) => self.view.gather(column, locations),
            (Field::Column(column), Rows::Own(rows)) => self.own_column(column, rows),
            (Field::RowId, Rows::Stored(locations)) => {
                let ids = locations.iter().map(|at| self.view.row_id(*at).0 as i64);
                Arc::new(Int64Array::from_iter_values(ids))
            }
            (Field::RowId, Rows::Own(rows)) => {
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0.0 as i64)))
            }
            // The snapshot's version stands for all its rows: a commit compares with it.
            (Field::RowVersion, rows) => {
                let version = self.view.version().0 as i64;
                Arc::new(Int64Array::from_value(version, rows.len()))
            }
        }
    }

    fn own_column(&self, column: ColumnId, rows: &[&(RowId, Vec<Value>)]) -> ArrayRef {
        let data_type = self.view.schema().columns[column.index()].data_type;
        let value = |row: &&(RowId, Vec<Value>)| row.1.get(column.index()).cloned();
        let values: Vec<Value> = rows.iter().map(|row| value(row).unwrap_or(Value::Null)).collect();
        array_from_values(data_type, values.iter().map(Value::borrow))
    }

    fn batch(&self, schema: &SchemaRef, fields: &[Field], rows: &Rows<'_>) -> Result<RecordBatch> {
        let columns = fields.iter().map(|field| self.column(*field, rows)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
    }
}
