//! Values on the wire, text and binary.
//!
//! Cells of an answer are written straight into the output buffer by a [`ColumnEncoder`]; the values of a Bind message
//! become engine values in [`parameter`]. Text is what `sql::text` reads and writes; the binary formats live here.
//! Called by `connection`.

mod array;
mod binary;
mod column;
mod numeric;
pub mod parameter;
pub mod type_id;

use engine::types::ValueRef;

pub use column::ColumnEncoder;

/// How a value travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As text.
    Text = 0,
    /// In the type's binary format.
    Binary = 1,
}

/// Days from 1970-01-01, where the engine counts from, to 2000-01-01, where PostgreSQL does.
const EPOCH_DAYS: i32 = 10_957;

/// The same in microseconds.
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// Appends a number's decimal digits.
pub fn write_unsigned(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a line of COPY TO, which an answer carries as its only cell.
pub fn write_line(out: &mut Vec<u8>, line: ValueRef<'_>) {
    match line {
        ValueRef::Bytea(bytes) => out.extend_from_slice(bytes),
        line => sql::text::write_value(line, out),
    }
}
