//! Where a column's values of one chunk lie: the side that readers hold and the side that the
//! writer fills.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::append_buffer::{Appended, Appender, append_buffer};
use super::unsigned::UnsignedBuffer;
use super::{ColumnSlice, Dictionary, Nulls, Strings};
use crate::types::{
    BlockColumn, BlockValues, DataType, NARROW_PRECISION, Value, ValueRef, int32, int64, scale,
    stored_integer,
};

/// One column of one chunk, as readers hold it.
#[derive(Debug)]
pub(super) struct Column {
    pub data_type: DataType,
    pub data: ColumnData,
    /// Allocated with the first NULL; one bit per row of the chunk's capacity.
    nulls: OnceLock<Box<[AtomicU64]>>,
}

/// The values, by representation.
#[derive(Debug)]
pub(super) enum ColumnData {
    /// The column was dropped before this chunk was begun.
    Absent,
    Boolean(Appended<u8>),
    Int16(Appended<i16>),
    Int32(Appended<i32>),
    Int64(Appended<i64>),
    Int128(Appended<i128>),
    Float32(Appended<f32>),
    Float64(Appended<f64>),
    /// Integers that fit fewer bytes than their type has, as distances from a base.
    Framed(i64, UnsignedBuffer),
    Codes(UnsignedBuffer, Arc<Dictionary>),
    Strings(Heap),
    Bytes(Heap),
}

/// Values of variable length, one after the other.
#[derive(Debug)]
pub(super) struct Heap {
    pub bytes: Appended<u8>,
    /// One more than there are values.
    pub offsets: Appended<u32>,
}

/// The writing end of [`ColumnData`].
#[derive(Debug)]
pub(super) enum ColumnAppender {
    Absent,
    Boolean(Appender<u8>),
    Int16(Appender<i16>),
    Int32(Appender<i32>),
    Int64(Appender<i64>),
    Int128(Appender<i128>),
    Float32(Appender<f32>),
    Float64(Appender<f64>),
    Codes(Appender<u32>, Arc<Dictionary>),
    Heap { bytes: Appender<u8>, offsets: Appender<u32> },
}

/// How strings of a new chunk are stored, and how many bytes a plain heap gets.
#[derive(Clone, Debug)]
pub(super) struct Encoding {
    /// The dictionary, where codes pay.
    pub dictionary: Option<Arc<Dictionary>>,
    /// Capacity of the heap, where they do not.
    pub heap: usize,
}

impl Column {
    /// An empty column for `rows` values.
    pub fn create(
        data_type: DataType,
        dropped: bool,
        rows: usize,
        encoding: Encoding,
    ) -> (Column, ColumnAppender) {
        use ColumnAppender as A;
        use ColumnData as D;
        macro_rules! fixed {
            ($variant:ident) => {{
                let (appender, appended) = append_buffer(rows);
                (D::$variant(appended), A::$variant(appender))
            }};
        }
        let (data, appender) = match data_type {
            _ if dropped => (D::Absent, A::Absent),
            DataType::Boolean => fixed!(Boolean),
            DataType::SmallInt => fixed!(Int16),
            DataType::Integer | DataType::Date => fixed!(Int32),
            DataType::BigInt | DataType::Timestamp | DataType::TimestampTz => fixed!(Int64),
            DataType::Numeric { precision, .. } if precision <= NARROW_PRECISION => fixed!(Int64),
            DataType::Numeric { .. } => fixed!(Int128),
            DataType::Real => fixed!(Float32),
            DataType::Double => fixed!(Float64),
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) => {
                match encoding.dictionary {
                    Some(dictionary) => {
                        let (appender, appended) = append_buffer(rows);
                        let data = D::Codes(UnsignedBuffer::Bits32(appended), dictionary.clone());
                        (data, A::Codes(appender, dictionary))
                    }
                    None => {
                        let (heap, appender) = create_heap(rows, encoding.heap);
                        (D::Strings(heap), appender)
                    }
                }
            }
            DataType::Bytea => {
                let (heap, appender) = create_heap(rows, encoding.heap);
                (D::Bytes(heap), appender)
            }
        };
        (Column { data_type, data, nulls: OnceLock::new() }, appender)
    }

    /// Writer: marks a row as NULL, before it is published.
    pub fn set_null(&self, row: usize, capacity: usize) {
        let words = self
            .nulls
            .get_or_init(|| (0..capacity.div_ceil(64)).map(|_| AtomicU64::new(0)).collect());
        words[row / 64].fetch_or(1 << (row % 64), Ordering::Relaxed);
    }

    /// Which rows are NULL.
    #[inline]
    pub fn nulls(&self) -> Nulls<'_> {
        self.nulls.get().map_or(Nulls::None, |words| Nulls::Bits(words))
    }

    /// The first `rows` values.
    #[inline]
    pub fn slice(&self, rows: usize) -> ColumnSlice<'_> {
        let nulls = self.nulls();
        match &self.data {
            ColumnData::Absent => ColumnSlice::Constant(&Value::Null, rows),
            ColumnData::Boolean(values) => ColumnSlice::Boolean(&values.values()[..rows], nulls),
            ColumnData::Int16(values) => ColumnSlice::Int16(&values.values()[..rows], nulls),
            ColumnData::Int32(values) => ColumnSlice::Int32(&values.values()[..rows], nulls),
            ColumnData::Int64(values) => ColumnSlice::Int64(&values.values()[..rows], nulls),
            ColumnData::Int128(values) => ColumnSlice::Int128(&values.values()[..rows], nulls),
            ColumnData::Float32(values) => ColumnSlice::Float32(&values.values()[..rows], nulls),
            ColumnData::Float64(values) => ColumnSlice::Float64(&values.values()[..rows], nulls),
            ColumnData::Framed(base, distances) => {
                ColumnSlice::Framed(*base, distances.slice(rows), nulls)
            }
            ColumnData::Codes(codes, dictionary) => {
                ColumnSlice::Codes(codes.slice(rows), dictionary, nulls)
            }
            ColumnData::Strings(heap) => ColumnSlice::Strings(heap.slice(rows, true), nulls),
            ColumnData::Bytes(heap) => ColumnSlice::Bytes(heap.slice(rows, false), nulls),
        }
    }

    /// The value at `row`.
    #[inline]
    pub fn value(&self, row: usize) -> ValueRef<'_> {
        if self.nulls().is_null(row) {
            return ValueRef::Null;
        }
        match &self.data {
            ColumnData::Absent => ValueRef::Null,
            ColumnData::Boolean(values) => ValueRef::Boolean(values.values()[row] != 0),
            ColumnData::Int16(values) => ValueRef::SmallInt(values.values()[row]),
            ColumnData::Int32(values) => int32(values.values()[row], self.data_type),
            ColumnData::Int64(values) => int64(values.values()[row], self.data_type),
            ColumnData::Int128(values) => {
                ValueRef::Numeric(values.values()[row], scale(self.data_type))
            }
            ColumnData::Float32(values) => ValueRef::Real(values.values()[row]),
            ColumnData::Float64(values) => ValueRef::Double(values.values()[row]),
            ColumnData::Framed(base, distances) => {
                stored_integer(base + i64::from(distances.get(row)), self.data_type)
            }
            ColumnData::Codes(codes, dictionary) => ValueRef::Text(dictionary.get(codes.get(row))),
            ColumnData::Strings(heap) => ValueRef::Text(heap.slice(row + 1, true).text(row)),
            ColumnData::Bytes(heap) => ValueRef::Bytea(heap.slice(row + 1, false).bytes(row)),
        }
    }

    /// Bytes allocated, without the dictionary.
    pub fn memory(&self) -> usize {
        let nulls = self.nulls.get().map_or(0, |words| size_of_val(&**words));
        nulls
            + match &self.data {
                ColumnData::Absent => 0,
                ColumnData::Boolean(values) => values.memory(),
                ColumnData::Int16(values) => values.memory(),
                ColumnData::Int32(values) => values.memory(),
                ColumnData::Int64(values) => values.memory(),
                ColumnData::Int128(values) => values.memory(),
                ColumnData::Float32(values) => values.memory(),
                ColumnData::Float64(values) => values.memory(),
                ColumnData::Framed(_, values) | ColumnData::Codes(values, _) => values.memory(),
                ColumnData::Strings(heap) | ColumnData::Bytes(heap) => {
                    heap.bytes.memory() + heap.offsets.memory()
                }
            }
    }
}

impl Heap {
    #[inline]
    pub fn slice(&self, rows: usize, text: bool) -> Strings<'_> {
        // Offsets before bytes: an offset is published after the bytes that it bounds.
        let offsets = &self.offsets.values()[..rows + 1];
        Strings::new(self.bytes.values(), offsets, text)
    }
}

fn create_heap(rows: usize, size: usize) -> (Heap, ColumnAppender) {
    let (bytes, bytes_appended) = append_buffer(size);
    let (mut offsets, offsets_appended) = append_buffer(rows + 1);
    offsets.push(0);
    let heap = Heap { bytes: bytes_appended, offsets: offsets_appended };
    (heap, ColumnAppender::Heap { bytes, offsets })
}

/// Bytes that a value takes in a plain heap.
pub(super) fn heap_size(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytea(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Appends values of one kind; calls `$null` for NULLs, which hold `$placeholder`.
macro_rules! extend {
    (
        $target:expr, $count:expr, $value:expr, $null:expr, $placeholder:expr,
        $($kind:pat => $as:expr),+
    ) => {
        for at in 0..$count {
            match $value(at) {
                $($kind => $target.push($as),)+
                ValueRef::Null => {
                    $target.push($placeholder);
                    $null(at);
                }
                other => panic!("{other:?} is no value of this column"),
            }
        }
    };
}

impl ColumnAppender {
    /// How many of the first `count` values fit, given that so many rows do.
    pub fn fitting<'v>(&self, count: usize, value: impl Fn(usize) -> ValueRef<'v>) -> usize {
        let ColumnAppender::Heap { bytes, .. } = self else { return count };
        let mut left = bytes.remaining();
        let too_large = (0..count).find(|at| match left.checked_sub(heap_size(value(*at))) {
            Some(rest) => {
                left = rest;
                false
            }
            None => true,
        });
        too_large.unwrap_or(count)
    }

    /// Appends `count` values that fit, of the column's type; calls `null` for those that are NULL.
    #[inline]
    pub fn extend<'v>(
        &mut self,
        count: usize,
        value: impl Fn(usize) -> ValueRef<'v>,
        mut null: impl FnMut(usize),
    ) {
        use ColumnAppender as A;
        use ValueRef as V;
        match self {
            A::Absent => {}
            A::Boolean(to) => extend!(to, count, value, null, 0, V::Boolean(v) => u8::from(v)),
            A::Int16(to) => extend!(to, count, value, null, 0, V::SmallInt(v) => v),
            A::Int32(to) => extend!(to, count, value, null, 0, V::Integer(v) | V::Date(v) => v),
            A::Int64(to) => extend!(to, count, value, null, 0,
                V::BigInt(v) | V::Timestamp(v) | V::TimestampTz(v) => v,
                V::Numeric(v, _) => i64::try_from(v).expect("a numeric of at most 18 digits")),
            A::Int128(to) => extend!(to, count, value, null, 0, V::Numeric(v, _) => v),
            A::Float32(to) => extend!(to, count, value, null, 0.0, V::Real(v) => v),
            A::Float64(to) => extend!(to, count, value, null, 0.0, V::Double(v) => v),
            A::Codes(to, dictionary) => {
                let mut interner = dictionary.interner();
                extend!(to, count, value, null, 0, V::Text(v) => interner.intern(v));
            }
            A::Heap { bytes, offsets } => extend!(offsets, count, value, null, end_of(bytes),
                V::Text(v) => push_bytes(bytes, v.as_bytes()),
                V::Bytea(v) => push_bytes(bytes, v)),
        }
    }
}

impl ColumnAppender {
    /// Appends a whole column of a block, which fits; calls `null` for rows that are NULL.
    pub fn extend_block(&mut self, block: &BlockColumn, rows: usize, mut null: impl FnMut(usize)) {
        use BlockValues as B;
        use ColumnAppender as A;
        match (&mut *self, block.values()) {
            (A::Boolean(to), B::Boolean(values)) => to.extend(values),
            (A::Int16(to), B::Int16(values)) => to.extend(values),
            (A::Int32(to), B::Int32(values)) => to.extend(values),
            (A::Int64(to), B::Int64(values)) => to.extend(values),
            (A::Int128(to), B::Int128(values)) => to.extend(values),
            (A::Float32(to), B::Float32(values)) => to.extend(values),
            (A::Float64(to), B::Float64(values)) => to.extend(values),
            (A::Heap { bytes, offsets }, B::Text(heap, ends)) if bytes.len() == 0 => {
                bytes.extend(heap.as_bytes());
                offsets.extend(ends);
            }
            (A::Heap { bytes, offsets }, B::Bytes(heap, ends)) if bytes.len() == 0 => {
                bytes.extend(heap);
                offsets.extend(ends);
            }
            _ => return self.extend(rows, |row| block.value(row), null),
        }
        for (at, word) in block.nulls().iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                null(at * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

/// Appends bytes; says where they end.
#[inline]
fn push_bytes(bytes: &mut Appender<u8>, value: &[u8]) -> u32 {
    bytes.extend(value);
    end_of(bytes)
}

fn end_of(bytes: &Appender<u8>) -> u32 {
    u32::try_from(bytes.len()).expect("a heap of at most 4 GiB")
}

/// Asserts that a value has a column's type, also where types share a representation.
pub(super) fn assert_type(value: ValueRef<'_>, data_type: DataType) {
    assert!(value.is_of(data_type), "{value:?} is no {data_type}");
}
