//! One column compared with another of the same row, run over both columns' slices.

use super::rows::Rows;
use crate::storage::{Chunk, ColumnSlice, Nulls};
use crate::types::{ColumnId, Comparison, DataType, Predicate, Scalar};

/// `left op right`: columns of one type that is stored as numbers in the order of its values.
#[derive(Clone, Copy, Debug)]
pub struct ColumnPair {
    left: ColumnId,
    right: ColumnId,
    comparison: Comparison,
}

impl ColumnPair {
    /// `None` for predicates of another kind and columns of other types.
    pub fn new(predicate: &Predicate, types: &[DataType]) -> Option<ColumnPair> {
        let Predicate::Compare { column, comparison, value: Scalar::Column(other) } = predicate
        else {
            return None;
        };
        let (left, right) = (types[*column], types[*other]);
        let column_id = |column: usize| ColumnId(column as u32);
        (left == right && is_number_in_order(left)).then(|| ColumnPair {
            left: column_id(*column),
            right: column_id(*other),
            comparison: *comparison,
        })
    }

    /// Appends the rows that qualify; `false` where the chunk does not hold both columns as slices of one kind.
    pub fn select(&self, chunk: &Chunk, rows: Rows<'_>, out: &mut Vec<u32>) -> bool {
        use ColumnSlice::{Int16, Int32, Int64, Int128};
        match (chunk.column(self.left), chunk.column(self.right)) {
            (Int16(a, n), Int16(b, m)) => select(self.comparison, (a, n), (b, m), rows, out),
            (Int32(a, n), Int32(b, m)) => select(self.comparison, (a, n), (b, m), rows, out),
            (Int64(a, n), Int64(b, m)) => select(self.comparison, (a, n), (b, m), rows, out),
            (Int128(a, n), Int128(b, m)) => select(self.comparison, (a, n), (b, m), rows, out),
            _ => return false,
        }
        true
    }
}

fn is_number_in_order(data_type: DataType) -> bool {
    use DataType::{BigInt, Date, Integer, Numeric, SmallInt, Timestamp, TimestampTz};
    matches!(
        data_type,
        SmallInt | Integer | BigInt | Date | Timestamp | TimestampTz | Numeric { .. }
    )
}

/// One loop per comparison, each without a branch per row.
fn select<T: Copy + Ord>(
    comparison: Comparison,
    (a, a_nulls): (&[T], Nulls<'_>),
    (b, b_nulls): (&[T], Nulls<'_>),
    rows: Rows<'_>,
    out: &mut Vec<u32>,
) {
    // A NULL on either side is not true.
    let known = |row: usize| !a_nulls.is_null(row) && !b_nulls.is_null(row);
    macro_rules! loops {
        ($op:tt) => {
            match (a_nulls, b_nulls) {
                (Nulls::None, Nulls::None) => rows.select(out, |row| a[row] $op b[row]),
                _ => rows.select(out, |row| known(row) && a[row] $op b[row]),
            }
        };
    }
    match comparison {
        Comparison::Equal => loops!(==),
        Comparison::NotEqual => loops!(!=),
        Comparison::Less => loops!(<),
        Comparison::LessOrEqual => loops!(<=),
        Comparison::Greater => loops!(>),
        Comparison::GreaterOrEqual => loops!(>=),
    }
}
