//! Unsigned integers in as few bytes as a chunk's largest needs.

use super::append_buffer::{Appended, append_buffer};

/// A slice of unsigned integers of some width. Kernels run one loop per width: see `each_width`.
#[derive(Clone, Copy, Debug)]
pub enum Unsigned<'a> {
    /// Up to 255.
    Bits8(&'a [u8]),
    /// Up to 65,535.
    Bits16(&'a [u16]),
    /// Any.
    Bits32(&'a [u32]),
}

/// Evaluates an expression in which the values of an [`Unsigned`] are a slice of their own type.
macro_rules! each_width {
    ($unsigned:expr, $values:ident => $body:expr) => {
        match $unsigned {
            $crate::storage::Unsigned::Bits8($values) => $body,
            $crate::storage::Unsigned::Bits16($values) => $body,
            $crate::storage::Unsigned::Bits32($values) => $body,
        }
    };
}
pub(crate) use each_width;

impl Unsigned<'_> {
    /// Values.
    pub fn len(self) -> usize {
        each_width!(self, values => values.len())
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// One value.
    #[inline]
    pub fn get(self, row: usize) -> u32 {
        match self {
            Unsigned::Bits8(values) => u32::from(values[row]),
            Unsigned::Bits16(values) => u32::from(values[row]),
            Unsigned::Bits32(values) => values[row],
        }
    }
}

/// Where they lie.
#[derive(Debug)]
pub(super) enum UnsignedBuffer {
    Bits8(Appended<u8>),
    Bits16(Appended<u16>),
    Bits32(Appended<u32>),
}

impl UnsignedBuffer {
    /// All of these, of which none is above `most`.
    pub fn filled(values: impl ExactSizeIterator<Item = u32>, most: u32) -> UnsignedBuffer {
        match most {
            0..=0xFF => UnsignedBuffer::Bits8(filled(values.map(|value| value as u8))),
            0x100..=0xFFFF => UnsignedBuffer::Bits16(filled(values.map(|value| value as u16))),
            _ => UnsignedBuffer::Bits32(filled(values)),
        }
    }

    /// The first `rows`.
    #[inline]
    pub fn slice(&self, rows: usize) -> Unsigned<'_> {
        match self {
            UnsignedBuffer::Bits8(values) => Unsigned::Bits8(&values.values()[..rows]),
            UnsignedBuffer::Bits16(values) => Unsigned::Bits16(&values.values()[..rows]),
            UnsignedBuffer::Bits32(values) => Unsigned::Bits32(&values.values()[..rows]),
        }
    }

    /// One of them.
    #[inline]
    pub fn get(&self, row: usize) -> u32 {
        match self {
            UnsignedBuffer::Bits8(values) => u32::from(values.values()[row]),
            UnsignedBuffer::Bits16(values) => u32::from(values.values()[row]),
            UnsignedBuffer::Bits32(values) => values.values()[row],
        }
    }

    /// Bytes allocated.
    pub fn memory(&self) -> usize {
        match self {
            UnsignedBuffer::Bits8(values) => values.memory(),
            UnsignedBuffer::Bits16(values) => values.memory(),
            UnsignedBuffer::Bits32(values) => values.memory(),
        }
    }
}

fn filled<T: Copy>(values: impl ExactSizeIterator<Item = T>) -> Appended<T> {
    let (mut appender, appended) = append_buffer(values.len());
    appender.extend_from(values);
    appended
}
