//! Whole columns of a chunk as Arrow arrays, without copying where the representations agree.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};

use super::append_buffer::Appended;
use super::column_store::ColumnData;
use super::gather::{PositionRun, gather};
use super::{Chunk, Nulls};
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
