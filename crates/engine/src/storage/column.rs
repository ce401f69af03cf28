//! A column's values inside one chunk, as slices that kernels run over.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Dictionary, Unsigned};
use crate::types::{DataType, Value, ValueRef, int32, int64, scale, stored_integer};

/// The values of one column in one chunk. NULL positions hold an arbitrary value (a code that
/// exists, a string that is empty). All slices have the chunk's published length.
#[derive(Clone, Copy, Debug)]
pub enum ColumnSlice<'a> {
    /// `boolean`: 0 or 1
    Boolean(&'a [u8], Nulls<'a>),
    /// `smallint`
    Int16(&'a [i16], Nulls<'a>),
    /// `integer`, `date`
    Int32(&'a [i32], Nulls<'a>),
    /// `bigint`, `timestamp`, `timestamptz`, `numeric` of precision up to 18 (unscaled)
    Int64(&'a [i64], Nulls<'a>),
    /// wider `numeric` (unscaled)
    Int128(&'a [i128], Nulls<'a>),
    /// `real`
    Float32(&'a [f32], Nulls<'a>),
    /// `double precision`
    Float64(&'a [f64], Nulls<'a>),
    /// integers of any type that fit fewer bytes than their type has: the smallest, and how far each
    /// value is from it
    Framed(i64, Unsigned<'a>, Nulls<'a>),
    /// strings as codes into the table's dictionary of that column
    Codes(Unsigned<'a>, &'a Dictionary, Nulls<'a>),
    /// strings, plain
    Strings(Strings<'a>, Nulls<'a>),
    /// `bytea`
    Bytes(Strings<'a>, Nulls<'a>),
    /// the column was added later: every row has this value
    Constant(&'a Value, usize),
}

/// Which rows are NULL.
#[derive(Clone, Copy, Debug)]
pub enum Nulls<'a> {
    /// None is.
    None,
    /// One bit per row, 1 means NULL; little-endian inside 64-bit words. Bits of published rows
    /// never change; the words are atomic because later rows of the last word may be written
    /// meanwhile (load them relaxed).
    Bits(&'a [AtomicU64]),
}

impl Nulls<'_> {
    /// Whether row `row` is NULL.
    #[inline]
    pub fn is_null(self, row: usize) -> bool {
        match self {
            Nulls::None => false,
            Nulls::Bits(_) => self.word(row / 64) >> (row % 64) & 1 == 1,
        }
    }

    /// The bits of rows `64 * word ..`, lowest first. Bits of rows not yet published may be set.
    #[inline]
    pub fn word(self, word: usize) -> u64 {
        match self {
            Nulls::None => 0,
            Nulls::Bits(words) => words[word].load(Ordering::Relaxed),
        }
    }
}

/// Variable-length values of one chunk: one run of bytes and where each value ends in it.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    heap: &'a [u8],
    /// One more than there are rows; row `i` lies at `offsets[i]..offsets[i + 1]`.
    offsets: &'a [u32],
    /// Whether the bytes came from `str`s.
    text: bool,
}

impl<'a> Strings<'a> {
    /// `text` promises that all values were appended from `str`s.
    pub(super) fn new(heap: &'a [u8], offsets: &'a [u32], text: bool) -> Strings<'a> {
        Strings { heap, offsets, text }
    }

    /// Values.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of row `row`; valid UTF-8 for string columns.
    #[inline]
    pub fn bytes(&self, row: usize) -> &'a [u8] {
        &self.heap[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// The string of row `row`. Only for string columns.
    #[inline]
    pub fn text(&self, row: usize) -> &'a str {
        assert!(self.text, "text of a bytea column");
        // SAFETY: a text column's values are appended from `str`s, whole; offsets are their bounds.
        unsafe { std::str::from_utf8_unchecked(self.bytes(row)) }
    }

    /// All values one after the other: row `i` at `offsets()[i]..offsets()[i + 1]`.
    pub fn heap(&self) -> &'a [u8] {
        &self.heap[..self.offsets[self.len()] as usize]
    }

    /// Bounds of the values inside [`Self::heap`], one more than there are rows.
    pub fn offsets(&self) -> &'a [u32] {
        self.offsets
    }
}

/// What a sealed chunk knows about a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Smallest non-NULL value; `None` if all are NULL.
    pub min: Option<Value>,
    /// Largest non-NULL value (NaN counts as largest).
    pub max: Option<Value>,
    /// NULL values.
    pub nulls: u32,
}

impl<'a> ColumnSlice<'a> {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            ColumnSlice::Boolean(values, _) => values.len(),
            ColumnSlice::Int16(values, _) => values.len(),
            ColumnSlice::Int32(values, _) => values.len(),
            ColumnSlice::Int64(values, _) => values.len(),
            ColumnSlice::Int128(values, _) => values.len(),
            ColumnSlice::Float32(values, _) => values.len(),
            ColumnSlice::Float64(values, _) => values.len(),
            ColumnSlice::Framed(_, values, _) | ColumnSlice::Codes(values, _, _) => values.len(),
            ColumnSlice::Strings(values, _) | ColumnSlice::Bytes(values, _) => values.len(),
            ColumnSlice::Constant(_, rows) => *rows,
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which rows are NULL. A constant has no bits: look at its value.
    pub fn nulls(&self) -> Nulls<'a> {
        match *self {
            ColumnSlice::Boolean(_, nulls)
            | ColumnSlice::Int16(_, nulls)
            | ColumnSlice::Int32(_, nulls)
            | ColumnSlice::Int64(_, nulls)
            | ColumnSlice::Int128(_, nulls)
            | ColumnSlice::Float32(_, nulls)
            | ColumnSlice::Float64(_, nulls)
            | ColumnSlice::Framed(_, _, nulls)
            | ColumnSlice::Codes(_, _, nulls)
            | ColumnSlice::Strings(_, nulls)
            | ColumnSlice::Bytes(_, nulls) => nulls,
            ColumnSlice::Constant(..) => Nulls::None,
        }
    }

    /// The value at `row`. For kernels match on the variant outside the loop instead. `data_type`
    /// tells apart types that share a representation.
    #[inline]
    pub fn value(&self, row: usize, data_type: DataType) -> ValueRef<'a> {
        if self.nulls().is_null(row) {
            return ValueRef::Null;
        }
        match *self {
            ColumnSlice::Boolean(values, _) => ValueRef::Boolean(values[row] != 0),
            ColumnSlice::Int16(values, _) => ValueRef::SmallInt(values[row]),
            ColumnSlice::Int32(values, _) => int32(values[row], data_type),
            ColumnSlice::Int64(values, _) => int64(values[row], data_type),
            ColumnSlice::Int128(values, _) => ValueRef::Numeric(values[row], scale(data_type)),
            ColumnSlice::Float32(values, _) => ValueRef::Real(values[row]),
            ColumnSlice::Float64(values, _) => ValueRef::Double(values[row]),
            ColumnSlice::Framed(base, distances, _) => {
                stored_integer(base + i64::from(distances.get(row)), data_type)
            }
            ColumnSlice::Codes(codes, dictionary, _) => {
                ValueRef::Text(dictionary.get(codes.get(row)))
            }
            ColumnSlice::Strings(strings, _) => ValueRef::Text(strings.text(row)),
            ColumnSlice::Bytes(strings, _) => ValueRef::Bytea(strings.bytes(row)),
            ColumnSlice::Constant(value, _) => value.borrow(),
        }
    }
}
