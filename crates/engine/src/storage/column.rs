//! A column's values inside one chunk, as slices that kernels run over.

use super::Dictionary;
use crate::types::{Value, ValueRef};

/// The values of one column in one chunk. NULL positions hold an arbitrary value. All slices have the chunk's
/// published length.
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
    /// strings as codes into the table's dictionary of that column
    Codes(&'a [u32], &'a Dictionary, Nulls<'a>),
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
    /// One bit per row, 1 means NULL; little-endian inside 64-bit words.
    Bits(&'a [u64]),
}

impl Nulls<'_> {
    /// Whether row `row` is NULL.
    #[inline]
    pub fn is_null(self, row: usize) -> bool {
        match self {
            Nulls::None => false,
            Nulls::Bits(words) => words[row / 64] >> (row % 64) & 1 == 1,
        }
    }
}

/// Variable-length values of one chunk.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    _todo: std::marker::PhantomData<&'a u8>,
}

impl<'a> Strings<'a> {
    /// The bytes of row `row`; valid UTF-8 for string columns.
    pub fn bytes(&self, row: usize) -> &'a [u8] {
        let _ = row;
        todo!()
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
    /// The value at `row`. For kernels match on the variant outside the loop instead. `data_type` tells apart
    /// types that share a representation.
    pub fn value(&self, row: usize, data_type: crate::types::DataType) -> ValueRef<'a> {
        let _ = (row, data_type);
        todo!()
    }
}
