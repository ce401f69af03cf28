//! One column compared with another of the same row, run over both columns' slices.

use super::blocks::BLOCK;
use super::rows::Rows;
use crate::storage::{Chunk, ColumnSlice, Nulls, Unsigned, each_width};
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
        let nulls = [left.nulls(), right.nulls()];
        let select = Select { comparison: self.comparison, nulls, rows };
        match (left, right) {
            (Int16(a, _), Int16(b, _)) => select.by(a, b, |a| a, |b| b, out),
            (Int32(a, _), Int32(b, _)) => select.by(a, b, |a| a, |b| b, out),
            (Int64(a, _), Int64(b, _)) => select.by(a, b, |a| a, |b| b, out),
            (Int128(a, _), Int128(b, _)) => select.by(a, b, |a| a, |b| b, out),
            (Framed(base, a, _), Framed(other, b, _)) => select.framed(base, a, other, b, out),
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

/// How values are compared, which of either side are NULL, and of which rows.
struct Select<'a> {
    comparison: Comparison,
    nulls: [Nulls<'a>; 2],
    rows: Rows<'a>,
}

impl Select<'_> {
    fn framed(&self, base: i64, a: Unsigned<'_>, other: i64, b: Unsigned<'_>, out: &mut Vec<u32>) {
        // Dates, mostly. Half the width is twice the values in a vector, and any machine's vectors compare so many.
        let small = other.checked_sub(base).filter(|ahead| ahead.unsigned_abs() < 1 << 30);
        if let (Unsigned::Bits16(a), Unsigned::Bits16(b), Some(ahead)) = (a, b, small) {
            let right = |b| ahead as i32 + i32::from(b);
            return self.by(a, b, i32::from, right, out);
        }
        each_width!(a, a => each_width!(b, b => {
            self.by(a, b, |a| base + i64::from(a), |b| other + i64::from(b), out);
        }))
    }

    fn by<A: Copy + Default, B: Copy + Default, T: Ord>(
        &self,
        a: &[A],
        b: &[B],
        left: impl Fn(A) -> T,
        right: impl Fn(B) -> T,
        out: &mut Vec<u32>,
    ) {
        let (mut room_a, mut room_b) = ([A::default(); BLOCK], [B::default(); BLOCK]);
        let mut truths = [0; BLOCK];
        out.reserve(self.rows.len());
        for block in self.rows.blocks() {
            let truths = &mut truths[..block.len()];
            let (a, b) = (block.values(a, &mut room_a), block.values(b, &mut room_b));
            self.compare(a, b, &left, &right, truths);
            for nulls in self.nulls.iter().filter(|nulls| !matches!(nulls, Nulls::None)) {
                // A NULL on either side is not true.
                let rows = truths.iter_mut().enumerate();
                rows.for_each(|(i, truth)| *truth &= u8::from(!nulls.is_null(block.offset(i))));
            }
            block.append_where(truths, out);
        }
    }

    /// One loop per comparison, each without a branch per row.
    #[inline(always)]
    fn compare<A: Copy, B: Copy, T: Ord>(
        &self,
        a: &[A],
        b: &[B],
        left: impl Fn(A) -> T,
        right: impl Fn(B) -> T,
        truths: &mut [u8],
    ) {
        let pairs = truths.iter_mut().zip(a.iter().zip(b));
        macro_rules! each {
            ($op:tt) => {
                pairs.for_each(|(truth, (&a, &b))| *truth = u8::from(left(a) $op right(b)))
            };
        }
        match self.comparison {
            Comparison::Equal => each!(==),
            Comparison::NotEqual => each!(!=),
            Comparison::Less => each!(<),
            Comparison::LessOrEqual => each!(<=),
            Comparison::Greater => each!(>),
            Comparison::GreaterOrEqual => each!(>=),
        }
    }
}
