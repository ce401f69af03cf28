//! An answer's rows side by side, whatever parts they came in.

use std::cmp::Ordering;

use engine::heartbeat::Answer;
use engine::types::{DataType, ValueRef};

/// Rows of an answer by their number.
pub struct Rows<'a> {
    answer: &'a Answer,
    /// Part and row in it.
    places: Vec<(usize, usize)>,
}

impl<'a> Rows<'a> {
    /// All rows of an answer.
    pub fn of(answer: &'a Answer) -> Rows<'a> {
        let parts = answer.parts.iter().enumerate();
        let places = parts.flat_map(|(p, part)| (0..part.rows()).map(move |row| (p, row)));
        Rows { answer, places: places.collect() }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// How many columns each has.
    pub fn width(&self) -> usize {
        self.answer.output.len()
    }

    /// A value as the client would see it: of `char(n)` the blanks at the end say nothing.
    pub fn cell(&self, row: usize, column: usize) -> ValueRef<'a> {
        let (part, row) = self.places[row];
        match self.answer.parts[part].cell(row, column) {
            ValueRef::Text(text)
                if matches!(self.answer.output[column].data_type, DataType::Char(_)) =>
            {
                ValueRef::Text(text.trim_end_matches(' '))
            }
            other => other,
        }
    }
}

/// Cells of an answer: what comparing it costs.
pub fn cells(answer: &Answer) -> usize {
    answer.rows().saturating_mul(answer.output.len().max(1))
}

/// A total order in which only values are equal that look the same: types, signs of zero and digits behind the point count.
pub fn order(a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    use ValueRef::*;
    match (a, b) {
        (Null, Null) => Ordering::Equal,
        (Boolean(a), Boolean(b)) => a.cmp(&b),
        (SmallInt(a), SmallInt(b)) => a.cmp(&b),
        (Integer(a), Integer(b)) | (Date(a), Date(b)) => a.cmp(&b),
        (BigInt(a), BigInt(b))
        | (Timestamp(a), Timestamp(b))
        | (TimestampTz(a), TimestampTz(b)) => a.cmp(&b),
        (Real(a), Real(b)) => canonical(f64::from(a)).total_cmp(&canonical(f64::from(b))),
        (Double(a), Double(b)) => canonical(a).total_cmp(&canonical(b)),
        (Numeric(a, s), Numeric(b, t)) => (a, s).cmp(&(b, t)),
        (Text(a), Text(b)) => a.cmp(b),
        (Bytea(a), Bytea(b)) => a.cmp(b),
        (a, b) => kind(a).cmp(&kind(b)),
    }
}

/// There is one NaN.
fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

fn kind(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Boolean(_) => 1,
        ValueRef::SmallInt(_) => 2,
        ValueRef::Integer(_) => 3,
        ValueRef::BigInt(_) => 4,
        ValueRef::Real(_) => 5,
        ValueRef::Double(_) => 6,
        ValueRef::Numeric(..) => 7,
        ValueRef::Text(_) => 8,
        ValueRef::Date(_) => 9,
        ValueRef::Timestamp(_) => 10,
        ValueRef::TimestampTz(_) => 11,
        ValueRef::Bytea(_) => 12,
    }
}

/// A floating-point value.
pub fn float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Real(value) => Some(f64::from(value)),
        ValueRef::Double(value) => Some(value),
        _ => None,
    }
}
