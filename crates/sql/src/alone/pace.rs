//! How many rows to hand on at once where a row may cost much: so many as take some milliseconds.
//!
//! Who reads large strings, or runs a subquery per row, asks for its statement's limit between two pieces of a batch only.

use std::time::{Duration, Instant};

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, LikeExpr};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::checked::check;

/// Rows of the first piece.
const FIRST: usize = 64;
/// By how much one piece may differ from the one before.
const STEP: usize = 16;
/// What a piece shall take.
const WANTED: Duration = Duration::from_millis(4);

/// What pieces have taken so far.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rows: usize,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { rows: FIRST }
    }
}

impl Pace {
    /// Rows of the next piece.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// A piece of so many rows was begun then and has been dealt with.
    pub fn learn(&mut self, rows: usize, began: Instant) {
        let took = began.elapsed().as_nanos().max(1);
        let fitting = rows as u128 * WANTED.as_nanos() / took;
        let (least, most) = (self.rows / STEP, self.rows.saturating_mul(STEP));
        self.rows = usize::try_from(fitting).unwrap_or(usize::MAX).clamp(least.max(1), most);
    }
}

/// The values of an expression that may take long for some rows, made piece by piece as long as the statement runs.
pub fn evaluate_in_pieces(expression: &dyn PhysicalExpr, rows: &RecordBatch) -> Result<ArrayRef> {
    let (mut values, mut done, mut pace) = (Vec::new(), 0, Pace::default());
    while done < rows.num_rows() {
        check()?;
        let began = Instant::now();
        let piece = rows.slice(done, pace.rows().min(rows.num_rows() - done));
        values.push(expression.evaluate(&piece)?.into_array(piece.num_rows())?);
        done += piece.num_rows();
        pace.learn(piece.num_rows(), began);
    }
    let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    match &values[..] {
        [] => expression.evaluate(rows)?.into_array(0),
        values => Ok(concat(values)?),
    }
}

/// Whether one row may take longer than a thousand others: functions and operators over strings and lists, and subqueries that
/// are run row by row.
pub fn is_uneven(expression: &dyn PhysicalExpr, schema: &Schema) -> Result<bool> {
    if let Some(call) = expression.downcast_ref::<ScalarFunctionExpr>() {
        let is_hidden = call.name() == "__subquery" || crate::dialect::is_lazy(call.name());
        let mut is_uneven = is_long(call.return_type()) || is_hidden;
        for argument in call.args() {
            is_uneven |= is_long(&argument.data_type(schema)?);
        }
        if is_uneven {
            return Ok(true);
        }
    }
    if expression.is::<LikeExpr>() {
        return Ok(true);
    }
    if let Some(binary) = expression.downcast_ref::<BinaryExpr>()
        && is_over_strings(*binary.op())
    {
        return Ok(true);
    }
    for child in expression.children() {
        if is_uneven(child.as_ref(), schema)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_long(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary() || data_type.is_list()
}

fn is_over_strings(operator: Operator) -> bool {
    use Operator::*;
    matches!(operator, LikeMatch | ILikeMatch | NotLikeMatch | NotILikeMatch | StringConcat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slow_comes_in_small_pieces() {
        let mut pace = Pace::default();
        let now = Instant::now();
        let long_ago = now.checked_sub(Duration::from_secs(1)).expect("the machine runs");
        pace.learn(64, long_ago);
        assert_eq!(pace.rows(), 4, "not all at once");
        (0..3).for_each(|_| pace.learn(1, long_ago));
        assert_eq!(pace.rows(), 1, "one row at least");
        (0..40).for_each(|_| pace.learn(1 << 20, Instant::now()));
        assert!(pace.rows() > 1 << 20, "what is fast comes whole");
    }
}
