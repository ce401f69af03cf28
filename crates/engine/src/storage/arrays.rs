//! Whole columns of a chunk as Arrow arrays, without copying where the representations agree. Narrow integers are
//! widened in one loop.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};

use super::append_buffer::Appended;
use super::column_store::ColumnData;
use super::gather::{PositionRun, gather};
use super::{Chunk, Nulls, Unsigned, each_width};
use crate::types::{ColumnId, DataType};

/// Rows `range` of a column. Numbers, dates and times share the chunk's memory; strings share their
/// bytes.
pub(super) fn array(
    chunk: &Chunk,
    column: ColumnId,
    data_type: DataType,
    range: Range<u32>,
) -> ArrayRef {
    let Some(stored) = chunk.columns.get(column.index()) else {
        return copied(chunk, column, data_type, range);
    };
    let rows = range.start as usize..range.end as usize;
    let nulls = null_buffer(stored.nulls(), rows.clone());
    match (&stored.data, data_type) {
        (ColumnData::Int16(v), _) => shared::<Int16Type>(v, rows, nulls, data_type),
        (ColumnData::Int32(v), DataType::Date) => shared::<Date32Type>(v, rows, nulls, data_type),
        (ColumnData::Int32(v), _) => shared::<Int32Type>(v, rows, nulls, data_type),
        (ColumnData::Int64(v), DataType::BigInt) => shared::<Int64Type>(v, rows, nulls, data_type),
        (ColumnData::Int64(v), DataType::Timestamp | DataType::TimestampTz) => {
            shared::<TimestampMicrosecondType>(v, rows, nulls, data_type)
        }
        (ColumnData::Framed(base, v), DataType::SmallInt) => {
            widened::<Int16Type>(*base, v.slice(rows.end), rows, nulls, data_type)
        }
        (ColumnData::Framed(base, v), DataType::Integer) => {
            widened::<Int32Type>(*base, v.slice(rows.end), rows, nulls, data_type)
        }
        (ColumnData::Framed(base, v), DataType::Date) => {
            widened::<Date32Type>(*base, v.slice(rows.end), rows, nulls, data_type)
        }
        (ColumnData::Framed(base, v), DataType::BigInt) => {
            widened::<Int64Type>(*base, v.slice(rows.end), rows, nulls, data_type)
        }
        (ColumnData::Framed(base, v), DataType::Timestamp | DataType::TimestampTz) => {
            widened::<TimestampMicrosecondType>(*base, v.slice(rows.end), rows, nulls, data_type)
        }
        (ColumnData::Int128(v), _) => shared::<Decimal128Type>(v, rows, nulls, data_type),
        (ColumnData::Float32(v), _) => shared::<Float32Type>(v, rows, nulls, data_type),
        (ColumnData::Float64(v), _) => shared::<Float64Type>(v, rows, nulls, data_type),
        _ => copied(chunk, column, data_type, range),
    }
}

fn shared<A: ArrowPrimitiveType>(
    values: &Appended<A::Native>,
    rows: Range<usize>,
    nulls: Option<NullBuffer>,
    data_type: DataType,
) -> ArrayRef
where
    A::Native: ArrowNativeType + std::panic::RefUnwindSafe,
{
    let buffer: Buffer = values.arrow(rows.end);
    let values = ScalarBuffer::new(buffer, rows.start, rows.len());
    Arc::new(PrimitiveArray::<A>::new(values, nulls).with_data_type(data_type.arrow()))
}

/// Narrow integers in the width of their type.
fn widened<A: ArrowPrimitiveType>(
    base: i64,
    distances: Unsigned<'_>,
    rows: Range<usize>,
    nulls: Option<NullBuffer>,
    data_type: DataType,
) -> ArrayRef
where
    A::Native: Narrowed,
{
    let values: Vec<A::Native> = each_width!(distances, distances => {
        let distances = distances[rows].iter();
        distances.map(|distance| A::Native::of(base + i64::from(*distance))).collect()
    });
    let values = PrimitiveArray::<A>::new(values.into(), nulls);
    Arc::new(values.with_data_type(data_type.arrow()))
}

/// Integers that a chunk may hold narrower.
trait Narrowed: Sized {
    /// A value of a column of this type.
    fn of(value: i64) -> Self;
}

impl Narrowed for i16 {
    #[inline]
    fn of(value: i64) -> i16 {
        value as i16
    }
}

impl Narrowed for i32 {
    #[inline]
    fn of(value: i64) -> i32 {
        value as i32
    }
}

impl Narrowed for i64 {
    #[inline]
    fn of(value: i64) -> i64 {
        value
    }
}

fn copied(chunk: &Chunk, column: ColumnId, data_type: DataType, range: Range<u32>) -> ArrayRef {
    let positions: Vec<u32> = range.collect();
    let run = PositionRun { chunk: Some(chunk), positions: &positions[..] };
    gather(std::iter::once(run), positions.len(), column, data_type)
}

fn null_buffer(nulls: Nulls<'_>, rows: Range<usize>) -> Option<NullBuffer> {
    match nulls {
        Nulls::None => None,
        nulls => {
            let valid = |row: usize| !nulls.is_null(rows.start + row);
            Some(NullBuffer::new(BooleanBuffer::collect_bool(rows.len(), valid)))
        }
    }
}
