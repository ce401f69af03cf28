//! A column's values as 64-bit codes that are equal exactly where the values are.

use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, TimeUnit};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

use super::NO_ID;

/// Codes of one column's rows. Numbers are their own codes; values wider than 64 bits get theirs from an
/// interner that the caller keeps, which makes codes comparable between chunks.
#[derive(Debug)]
pub struct Codes {
    /// One per row; arbitrary where the value is NULL.
    pub codes: Vec<u64>,
    /// The rows that are NULL.
    pub nulls: Option<NullBuffer>,
}

impl Codes {
    /// Whether the value of `row` is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

/// The code of a value that only the other side of a join has: it equals nothing.
pub const UNKNOWN: u64 = u64::MAX;

/// Wide values met in one column, numbered from 0.
#[derive(Debug, Default)]
pub struct Interner {
    strings: Strings,
    decimals: HashMap<i128, u32, FixedState>,
    /// Digits after the point that decimals are brought to.
    scale: u8,
}

impl Interner {
    /// For a column whose decimals have `scale` digits after the point, or fewer.
    pub fn new(scale: u8) -> Interner {
        Interner { scale, ..Interner::default() }
    }

    /// The codes of a column; new values are numbered.
    pub fn insert(&mut self, array: &ArrayRef) -> Codes {
        let nulls = array.logical_nulls();
        if let Some(views) = array.as_string_view_opt() {
            let strings = &mut self.strings;
            let codes = by_view(views, |value| u64::from(strings.insert(value)));
            return Codes { codes, nulls };
        }
        let codes = match (narrow(array), bytes_of(array)) {
            (Some(codes), _) => codes,
            (None, Some(bytes)) => {
                bytes.map(|value| u64::from(self.strings.insert(value))).collect()
            }
            (None, None) => {
                let (values, scale) = decimals(array);
                let code = |&value: &i128| self.insert_decimal(value, scale);
                values.iter().map(code).collect()
            }
        };
        Codes { codes, nulls }
    }

    /// The codes of a column; values never numbered are [`UNKNOWN`].
    pub fn find(&self, array: &ArrayRef) -> Codes {
        let nulls = array.logical_nulls();
        let known = |id: u32| if id == NO_ID { UNKNOWN } else { u64::from(id) };
        if let Some(views) = array.as_string_view_opt() {
            return Codes { codes: by_view(views, |value| known(self.strings.find(value))), nulls };
        }
        let codes = match (narrow(array), bytes_of(array)) {
            (Some(codes), _) => codes,
            (None, Some(bytes)) => bytes.map(|value| known(self.strings.find(value))).collect(),
            (None, None) => {
                let (values, scale) = decimals(array);
                values.iter().map(|&value| known(self.find_decimal(value, scale))).collect()
            }
        };
        Codes { codes, nulls }
    }

    /// Whether codes of this column are numbers of the interner rather than the values themselves.
    pub fn wide(array: &ArrayRef) -> bool {
        matches!(array.data_type(), ArrowType::Decimal128(..)) || bytes_of(array).is_some()
    }

    fn insert_decimal(&mut self, value: i128, scale: u8) -> u64 {
        let next = self.decimals.len() as u32;
        let value = rescale(value, scale, self.scale).unwrap_or(i128::MIN);
        u64::from(*self.decimals.entry(value).or_insert(next))
    }

    fn find_decimal(&self, value: i128, scale: u8) -> u32 {
        let value = rescale(value, scale, self.scale);
        value.and_then(|value| self.decimals.get(&value).copied()).unwrap_or(NO_ID)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.strings.memory() + self.decimals.capacity() * 24
    }
}

/// Places of a memo of views: 8 KiB, which stay in the first cache.
const VIEWS: usize = 256;

/// The codes of an array's strings. Equal views of one array are equal strings: a column of few distinct strings is
/// looked up by view.
fn by_view(array: &StringViewArray, mut code: impl FnMut(&[u8]) -> u64) -> Vec<u64> {
    let mut memo: Vec<Option<(u128, u64)>> = vec![None; VIEWS];
    let views = array.views().iter().enumerate();
    let codes = views.map(|(row, &view)| {
        let mixed = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = &mut memo[(mixed >> 56) as usize % VIEWS];
        match place {
            Some((known, code)) if *known == view => *code,
            _ => {
                // A NULL's view may be anything but is a valid one.
                let code = code(array.value(row).as_bytes());
                *place = Some((view, code));
                code
            }
        }
    });
    codes.collect()
}

/// `value` with more digits after the point; `None` where 128 bits do not hold it, or it has more of them already.
pub fn rescale(value: i128, from: u8, to: u8) -> Option<i128> {
    value.checked_mul(10i128.checked_pow(u32::from(to.checked_sub(from)?))?)
}

fn decimals(array: &ArrayRef) -> (&[i128], u8) {
    let ArrowType::Decimal128(_, scale) = array.data_type() else {
        unreachable!("no SQL type maps to Arrow's {}", array.data_type())
    };
    (array.as_primitive::<Decimal128Type>().values(), *scale as u8)
}

/// Values of at most 64 bits as they are: integers of all widths by value, floats with one NaN and one zero.
fn narrow(array: &ArrayRef) -> Option<Vec<u64>> {
    fn by_value<T: ArrowPrimitiveType>(
        array: &ArrayRef,
        code: impl Fn(T::Native) -> u64,
    ) -> Vec<u64> {
        let array: &PrimitiveArray<T> = array.as_primitive();
        array.values().iter().map(|&value| code(value)).collect()
    }
    Some(match array.data_type() {
        ArrowType::Null => vec![0; array.len()],
        ArrowType::Boolean => array.as_boolean().values().iter().map(u64::from).collect(),
        ArrowType::Int16 => by_value::<Int16Type>(array, |value| i64::from(value) as u64),
        ArrowType::Int32 => by_value::<Int32Type>(array, |value| i64::from(value) as u64),
        ArrowType::Int64 => by_value::<Int64Type>(array, |value| value as u64),
        ArrowType::Date32 => by_value::<Date32Type>(array, |value| i64::from(value) as u64),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            by_value::<TimestampMicrosecondType>(array, |value| value as u64)
        }
        ArrowType::Float32 => by_value::<Float32Type>(array, |value| float(f64::from(value))),
        ArrowType::Float64 => by_value::<Float64Type>(array, float),
        _ => return None,
    })
}

/// A hash per row of the values of some columns, equal for equal rows of any run: NULL is a value, integers of all widths
/// and decimals of all scales are equal by value.
pub fn value_hashes(columns: &[ArrayRef], rows: usize) -> Vec<u64> {
    let mut hashes = vec![0u64; rows];
    for column in columns {
        let nulls = column.logical_nulls();
        let mut add = |row: usize, value: u64| {
            let value = if nulls.as_ref().is_some_and(|n| n.is_null(row)) { 0 } else { value };
            hashes[row] = FixedState::default().hash_one((hashes[row], value));
        };
        match (narrow(column), bytes_of(column)) {
            (Some(codes), _) => {
                codes.into_iter().enumerate().for_each(|(row, code)| add(row, code))
            }
            (None, Some(bytes)) => bytes.enumerate().for_each(|(row, value)| {
                add(row, FixedState::default().hash_one(value));
            }),
            (None, None) => {
                let (values, _) = decimals(column);
                values.iter().enumerate().for_each(|(row, &value)| {
                    add(row, FixedState::default().hash_one(without_zeros(value)));
                });
            }
        }
    }
    hashes
}

/// The same digits without zeros at the end: equal for equal decimals of any scale, but also for those ten times as
/// large.
fn without_zeros(mut value: i128) -> i128 {
    while value != 0 && value % 10 == 0 {
        value /= 10;
    }
    value
}

fn float(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

/// Numbers in the order of floats: NaN above all, the two zeros equal.
pub fn float_number(value: f64) -> i64 {
    let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    flip(value.to_bits() as i64)
}

/// The float of a number.
pub fn number_float(number: i64) -> f64 {
    f64::from_bits(flip(number) as u64)
}

/// Negative floats have larger bits the smaller they are.
fn flip(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

type BytesIterator<'a> = Box<dyn Iterator<Item = &'a [u8]> + 'a>;

/// Variable-length values as bytes.
pub fn bytes_of(array: &ArrayRef) -> Option<BytesIterator<'_>> {
    fn all<'a>(rows: usize, value: impl Fn(usize) -> &'a [u8] + 'a) -> BytesIterator<'a> {
        Box::new((0..rows).map(value))
    }
    Some(match array.data_type() {
        ArrowType::Utf8View => {
            let array = array.as_string_view();
            all(array.len(), move |row| array.value(row).as_bytes())
        }
        ArrowType::Utf8 => {
            let array = array.as_string::<i32>();
            all(array.len(), move |row| array.value(row).as_bytes())
        }
        ArrowType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            all(array.len(), move |row| array.value(row).as_bytes())
        }
        ArrowType::Binary => {
            let array = array.as_binary::<i32>();
            all(array.len(), move |row| array.value(row))
        }
        ArrowType::BinaryView => {
            let array = array.as_binary_view();
            all(array.len(), move |row| array.value(row))
        }
        _ => return None,
    })
}

/// Distinct byte strings, numbered from 0.
#[derive(Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable<u32>,
}

impl Strings {
    /// Distinct strings so far.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string of a number.
    #[inline]
    pub fn get(&self, id: u32) -> &[u8] {
        let start = if id == 0 { 0 } else { self.ends[id as usize - 1] };
        &self.bytes[start..self.ends[id as usize]]
    }

    /// The number of a string, a new one where it has none.
    pub fn insert(&mut self, value: &[u8]) -> u32 {
        let hash = FixedState::default().hash_one(value);
        if let Some(&id) = self.table.find(hash, |&id| self.get(id) == value) {
            return id;
        }
        let id = self.ends.len() as u32;
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        let rehash = |&id: &u32| {
            let start = if id == 0 { 0 } else { ends[id as usize - 1] };
            FixedState::default().hash_one(&bytes[start..ends[id as usize]])
        };
        self.table.insert_unique(hash, id, rehash);
        id
    }

    /// The number of a string, [`NO_ID`] where it has none.
    pub fn find(&self, value: &[u8]) -> u32 {
        let hash = FixedState::default().hash_one(value);
        self.table.find(hash, |&id| self.get(id) == value).copied().unwrap_or(NO_ID)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * 8 + self.table.capacity() * 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_order_and_come_back() {
        let ascending = [f64::NEG_INFINITY, -1.5, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        let numbers: Vec<i64> = ascending.iter().map(|&value| float_number(value)).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        for (value, number) in ascending.iter().zip(numbers) {
            assert_eq!(number_float(number).to_bits(), value.to_bits());
        }
        assert_eq!(float_number(-0.0), float_number(0.0));
    }
}
