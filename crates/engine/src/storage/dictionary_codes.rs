//! Strings of rows as codes of their column's dictionary. Called by [`super::TableView`] for groupings, which need not read
//! a string to know which rows have the same.

use super::gather::{Position, PositionRun};
use super::{ColumnSlice, Nulls, each_width};
use crate::types::ColumnId;

/// The code of each row, all below the number that comes second; `None` where a row is NULL or has no code, or the
/// dictionary has more strings than `most`.
pub(super) fn dictionary_codes<'a, P: Position + 'a>(
    runs: impl Iterator<Item = PositionRun<'a, P>>,
    rows: usize,
    column: ColumnId,
    most: usize,
) -> Option<(Vec<u32>, usize)> {
    let (mut out, mut length) = (Vec::with_capacity(rows), 0);
    for PositionRun { chunk, positions } in runs {
        let ColumnSlice::Codes(codes, dictionary, Nulls::None) = chunk?.column(column) else {
            return None;
        };
        // Read after the chunk: its codes lie below, whatever is added meanwhile.
        length = dictionary.len();
        if length > most {
            return None;
        }
        each_width!(codes, codes => append(codes, positions, &mut out));
    }
    Some((out, length))
}

fn append<C: Copy + Into<u32>, P: Position>(codes: &[C], positions: &[P], out: &mut Vec<u32>) {
    out.extend(positions.iter().map(|position| codes[position.offset()].into()));
}
