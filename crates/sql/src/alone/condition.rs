//! What a scan asks of rows before it copies the rest of them.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr};

use super::pace::{evaluate_in_pieces, is_uneven};
use super::scan::Field;

/// A predicate and the columns that it reads.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The columns.
    pub fields: Vec<Field>,
    /// The same for Arrow.
    pub schema: SchemaRef,
    /// Over these columns.
    pub predicate: Arc<dyn PhysicalExpr>,
}

impl Condition {
    /// Which rows meet it.
    pub fn ask(&self, rows: &RecordBatch) -> Result<Vec<bool>> {
        // A guard that is the same for all rows guards only where there is one.
        if rows.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let answer = match is_uneven(self.predicate.as_ref(), &self.schema)? {
            true => evaluate_in_pieces(self.predicate.as_ref(), rows)?,
            false => self.predicate.evaluate(rows)?.into_array(rows.num_rows())?,
        };
        let answer: &BooleanArray = answer.as_boolean();
        Ok(answer.iter().map(|met| met == Some(true)).collect())
    }

    /// Whether whoever makes it will not change it any more.
    pub fn is_complete(&self) -> bool {
        !matches!(
            DynamicFilterTracking::classify(&self.predicate),
            DynamicFilterTracking::Watching(_)
        )
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.predicate)
    }
}

/// Every so many pieces a filter that is not worth asking is asked again: those of a Top-N leave fewer and fewer rows.
const AGAIN: usize = 16;

/// Whether a filter has left few enough rows that asking it pays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worth {
    is_idle: bool,
}

impl Worth {
    /// Whether to ask it of a piece's rows.
    pub fn is_asked(self, piece: usize) -> bool {
        !self.is_idle || piece.is_multiple_of(AGAIN)
    }

    /// It was asked of so many rows and has left so many: what leaves four of five costs more than it spares.
    pub fn learn(&mut self, asked: usize, left: usize) {
        if asked > 0 {
            self.is_idle = left * 5 > asked * 4;
        }
    }
}
