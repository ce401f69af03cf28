//! Columns of a chunk that nobody has seen yet, in as few bytes as its values need.
//!
//! A chunk that a load fills is complete before anybody reads it: its integers become distances
//! from the smallest (frame of reference) and its codes as wide as the largest one. Kernels read
//! the narrow values as they are, of which more fit a cache line. Chunks that grow row by row keep
//! the width of their types.

use std::sync::Arc;

use super::append_buffer::Appended;
use super::column_store::{Column, ColumnData};
use super::unsigned::UnsignedBuffer;
use super::{Chunk, Nulls};

/// Narrows all columns of a chunk whose only owner is the caller.
pub(super) fn narrow(chunk: &mut Arc<Chunk>) {
    let chunk = Arc::get_mut(chunk).expect("nobody has seen the chunk");
    let rows = *chunk.rows.get_mut();
    chunk.columns.iter_mut().for_each(|column| narrow_column(column, rows));
}

fn narrow_column(column: &mut Column, rows: usize) {
    let narrowed = match &column.data {
        ColumnData::Int16(values) => framed(values, column.nulls(), rows, u32::from(u8::MAX)),
        ColumnData::Int32(values) => framed(values, column.nulls(), rows, u32::from(u16::MAX)),
        ColumnData::Int64(values) => framed(values, column.nulls(), rows, u32::MAX),
        ColumnData::Codes(codes, dictionary) => {
            let codes = codes.slice(rows);
            let codes = (0..rows).map(|row| codes.get(row));
            let most = codes.clone().max().unwrap_or(0);
            Some(ColumnData::Codes(UnsignedBuffer::filled(codes, most), dictionary.clone()))
        }
        _ => None,
    };
    if let Some(narrowed) = narrowed {
        column.data = narrowed;
    }
}

/// Integers as distances from the smallest, if none is above `limit`. NULLs lie at the smallest.
fn framed<T: Copy + Into<i64>>(
    values: &Appended<T>,
    nulls: Nulls<'_>,
    rows: usize,
    limit: u32,
) -> Option<ColumnData> {
    let values = &values.values()[..rows];
    let value = |row: usize| -> Option<i64> { (!nulls.is_null(row)).then(|| values[row].into()) };
    let (base, last) = match nulls {
        Nulls::None => bounds(values.iter().map(|value| (*value).into())),
        _ => bounds((0..rows).filter_map(value)),
    };
    let most = u32::try_from(last.abs_diff(base)).ok().filter(|most| *most <= limit)?;
    let distance = |row| value(row).map_or(0, |value| value.wrapping_sub(base) as u32);
    Some(ColumnData::Framed(base, UnsignedBuffer::filled((0..rows).map(distance), most)))
}

/// The smallest and the largest; 0 where there are none.
fn bounds(values: impl Iterator<Item = i64>) -> (i64, i64) {
    let widest = (i64::MAX, i64::MIN);
    let (least, most) = values.fold(widest, |(least, most), v| (least.min(v), most.max(v)));
    if least <= most { (least, most) } else { (0, 0) }
}
