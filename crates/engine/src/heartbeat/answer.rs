//! What an activation gets back.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};

use super::{Encodings, Witness};
use crate::plan::OutputColumn;
use crate::query_set::Tuples;
use crate::types::{Result, Value, ValueRef, array_cell};

/// The rows of one activation. They stay where the batch left them: a part names rows of shared tuples, and
/// the server reads cells while it encodes.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Names and types.
    pub output: Arc<[OutputColumn]>,
    /// Concatenated in order.
    pub parts: Vec<AnswerPart>,
    /// Where its receivers share what they write; `None` where there is only one.
    pub encodings: Option<Arc<Encodings>>,
}

/// A run of an answer's rows.
#[derive(Clone, Debug)]
pub enum AnswerPart {
    /// Rows of a batch's tuples, shared with the other activations of the batch.
    Shared {
        /// The batch's rows; output column `i` of the answer is output column `i` of these.
        tuples: Arc<Tuples>,
        /// Which rows, in answer order.
        rows: Vec<u32>,
    },
    /// Rows of one's own: what the query-at-a-time path gives. Columns have `output[i].data_type.arrow()`.
    Alone(RecordBatch),
    /// A few rows by value: what RETURNING gives, and reading one's own changes. Arrays would cost more than these rows.
    Own(Vec<Vec<Value>>),
}

impl AnswerPart {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            AnswerPart::Shared { rows, .. } => rows.len(),
            AnswerPart::Alone(batch) => batch.num_rows(),
            AnswerPart::Own(rows) => rows.len(),
        }
    }

    /// About the bytes that it alone keeps: rows of tables stay where they are.
    pub fn memory(&self) -> usize {
        match self {
            AnswerPart::Shared { tuples, rows } => {
                let part = tuples.memory() as f64 * rows.len() as f64 / tuples.rows.max(1) as f64;
                part as usize + rows.len() * size_of::<u32>()
            }
            AnswerPart::Alone(batch) => {
                let arrays = batch.columns().iter().map(|array| array.to_data());
                arrays.map(|data| data.get_slice_memory_size().unwrap_or(0)).sum()
            }
            AnswerPart::Own(rows) => {
                let of_row = |row: &Vec<Value>| row.len() * size_of::<Value>();
                let heap = rows.iter().flatten().map(Value::heap).sum::<usize>();
                heap + rows.iter().map(of_row).sum::<usize>()
            }
        }
    }

    /// One value.
    pub fn cell(&self, row: usize, column: usize) -> ValueRef<'_> {
        match self {
            AnswerPart::Shared { tuples, rows } => tuples.cell(rows[row] as usize, column),
            AnswerPart::Alone(batch) => array_cell(batch.column(column), row),
            AnswerPart::Own(rows) => rows[row][column].borrow(),
        }
    }
}

impl Answer {
    /// An answer with one receiver.
    pub fn new(output: Arc<[OutputColumn]>, parts: Vec<AnswerPart>) -> Answer {
        Answer { output, parts, encodings: None }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.parts.iter().map(AnswerPart::rows).sum()
    }
}

/// Where an answer goes. Called once, from whichever thread ran the batch; must not block.
pub trait Receiver: Send {
    /// Takes the answer.
    fn receive(self: Box<Self>, answer: Result<Answer>);

    /// Whether it wants to know what its answer was computed from.
    fn is_witnessed(&self) -> bool {
        false
    }

    /// Tells it, before the answer; only where [`Self::is_witnessed`].
    fn witness(&mut self, _witness: &Witness) {}
}

impl<F: FnOnce(Result<Answer>) + Send> Receiver for F {
    fn receive(self: Box<Self>, answer: Result<Answer>) {
        self(answer)
    }
}
