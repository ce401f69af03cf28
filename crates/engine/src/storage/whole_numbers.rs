//! Integers of rows as 64 bits each, whatever they take where they lie, and digits of numerics likewise. Called by
//! [`super::TableView`] for arithmetic, which has no use for Arrow's types. Compared with cells beside `scattered`.

use std::iter::repeat_n;

use super::gather::{Position, PositionRun};
use super::scattered::integer;
use super::{ColumnSlice, Nulls, each_width};
use crate::types::{ColumnId, DataType};

/// Whether a column of this type holds integers, days, or numerics that may fit 64 bits.
pub(super) fn may_be_whole(data_type: DataType) -> bool {
    use DataType::*;
    matches!(data_type, SmallInt | Integer | BigInt | Date | Numeric { .. })
}

/// A column of rows; `None` where one of them is NULL or takes more bits.
pub(super) fn whole_numbers<'a, P: Position + 'a>(
    runs: impl Iterator<Item = PositionRun<'a, P>>,
    rows: usize,
    column: ColumnId,
) -> Option<Vec<i64>> {
    let mut numbers = Vec::with_capacity(rows);
    for PositionRun { chunk, positions } in runs {
        let slice = chunk?.column(column);
        append(slice, positions, &mut numbers)?;
    }
    Some(numbers)
}

/// Appends those of one run of rows.
pub(super) fn append<P: Position>(
    slice: ColumnSlice<'_>,
    run: &[P],
    out: &mut Vec<i64>,
) -> Option<()> {
    if let ColumnSlice::Constant(value, _) = slice {
        let number = (!value.is_null()).then(|| integer(&slice, 0)).flatten()?;
        out.extend(repeat_n(number, run.len()));
        return Some(());
    }
    let nulls = slice.nulls();
    if matches!(nulls, Nulls::Bits(_))
        && run.iter().any(|position| nulls.is_null(position.offset()))
    {
        return None;
    }
    match slice {
        ColumnSlice::Int16(values, _) => take(values, 0, run, out),
        ColumnSlice::Int32(values, _) => take(values, 0, run, out),
        ColumnSlice::Int64(values, _) => take(values, 0, run, out),
        ColumnSlice::Framed(base, distances, _) => {
            each_width!(distances, distances => take(distances, base, run, out));
        }
        _ => return None,
    }
    Some(())
}

fn take<T: Copy + Into<i64>, P: Position>(values: &[T], base: i64, run: &[P], out: &mut Vec<i64>) {
    out.extend(run.iter().map(|position| base + values[position.offset()].into()));
}
