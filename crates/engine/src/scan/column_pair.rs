//! One column compared with another of the same row, run over both columns' slices.

use super::rows::Rows;
use crate::storage::{Chunk, ColumnSlice, Nulls, each_width};
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
        use ColumnSlice::{Framed, Int16, Int32, Int64, Int128};
        let (left, right) = (chunk.column(self.left), chunk.column(self.right));
        let select = Select { comparison: self.comparison, nulls: [left.nulls(), right.nulls()] };
        match (left, right) {
            (Int16(a, _), Int16(b, _)) => select.by(|row| a[row], |row| b[row], rows, out),
            (Int32(a, _), Int32(b, _)) => select.by(|row| a[row], |row| b[row], rows, out),
            (Int64(a, _), Int64(b, _)) => select.by(|row| a[row], |row| b[row], rows, out),
            (Int128(a, _), Int128(b, _)) => select.by(|row| a[row], |row| b[row], rows, out),
            (Framed(base, a, _), Framed(other, b, _)) => each_width!(a, a => each_width!(b, b => {
                let left = |row: usize| base + i64::from(a[row]);
                select.by(left, |row| other + i64::from(b[row]), rows, out);
            })),
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

/// How values are compared, and which of either side are NULL.
struct Select<'a> {
    comparison: Comparison,
    nulls: [Nulls<'a>; 2],
}

impl Select<'_> {
    /// One loop per comparison, each without a branch per row.
    fn by<T: Ord>(
        &self,
        a: impl Fn(usize) -> T,
        b: impl Fn(usize) -> T,
        rows: Rows<'_>,
        out: &mut Vec<u32>,
    ) {
        // A NULL on either side is not true.
        let known = |row: usize| self.nulls.iter().all(|nulls| !nulls.is_null(row));
        macro_rules! loops {
            ($op:tt) => {
                match self.nulls {
                    [Nulls::None, Nulls::None] => rows.select(out, |row| a(row) $op b(row)),
                    _ => rows.select(out, |row| known(row) && a(row) $op b(row)),
                }
            };
        }
        match self.comparison {
            Comparison::Equal => loops!(==),
            Comparison::NotEqual => loops!(!=),
            Comparison::Less => loops!(<),
            Comparison::LessOrEqual => loops!(<=),
            Comparison::Greater => loops!(>),
            Comparison::GreaterOrEqual => loops!(>=),
        }
    }
}
