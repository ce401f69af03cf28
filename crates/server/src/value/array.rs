//! Arrays in binary: what `array_recv` and `array_send` do in PostgreSQL, but that here they come from and become array literals.
//!
//! Number of dimensions, whether there are NULLs, the elements' type; length and lower bound of each dimension; then each
//! element's length, -1 for NULL, and its bytes.

use engine::types::{DataType, Error, Result, SqlState, ValueRef};

use super::binary::BinaryFormat;
use super::type_id as id;
use crate::message::frontend::{Fields, violation};

/// PostgreSQL's limit of dimensions.
const MOST_DIMENSIONS: i32 = 6;

/// The ids of arrays and of their elements.
const ARRAYS: [(u32, u32); 17] = [
    (1000, id::BOOL),
    (1001, id::BYTEA),
    (1002, id::CHAR),
    (1003, id::NAME),
    (1005, id::INT2),
    (1007, id::INT4),
    (1009, id::TEXT),
    (1014, id::BPCHAR),
    (1015, id::VARCHAR),
    (1016, id::INT8),
    (1021, id::FLOAT4),
    (1022, id::FLOAT8),
    (1028, id::OID),
    (1115, id::TIMESTAMP),
    (1182, id::DATE),
    (1185, id::TIMESTAMPTZ),
    (1231, id::NUMERIC),
];

fn element_of(type_id: u32) -> Option<u32> {
    ARRAYS.iter().find(|(array, _)| *array == type_id).map(|(_, element)| *element)
}

/// Whether a type is that of arrays that are read here.
pub fn is_array(type_id: u32) -> bool {
    element_of(type_id).is_some()
}

/// An array of type `type_id` as a literal.
pub fn read(bytes: &[u8], type_id: u32) -> Result<String> {
    let mut fields = Fields::new(bytes);
    let dimensions = fields.int32()?;
    if !(0..=MOST_DIMENSIONS).contains(&dimensions) {
        let message = format!("invalid number of dimensions: {dimensions}");
        return Err(Error::new(SqlState::InvalidBinaryRepresentation, message));
    }
    if !(0..=1).contains(&fields.int32()?) {
        return Err(Error::new(SqlState::InvalidBinaryRepresentation, "invalid array flags"));
    }
    let element = fields.uint32()?;
    if Some(element) != element_of(type_id) {
        let wanted = element_of(type_id).unwrap_or_default();
        let message =
            format!("binary data has array element type {element} instead of expected {wanted}");
        return Err(Error::new(SqlState::DatatypeMismatch, message));
    }
    let mut literal = String::new();
    match dimensions {
        0 => literal.push_str("{}"),
        1 => read_elements(&mut fields, element, &mut literal)?,
        _ => {
            let message = "a parameter that is an array of several dimensions is not supported";
            let error = Error::new(SqlState::FeatureNotSupported, message);
            return Err(error.hint("Use an array of one dimension."));
        }
    }
    match fields.rest() {
        [] => Ok(literal),
        _ => {
            let message = "incorrect binary data format in bind parameter";
            Err(Error::new(SqlState::InvalidBinaryRepresentation, message))
        }
    }
}

fn read_elements(fields: &mut Fields<'_>, element: u32, literal: &mut String) -> Result<()> {
    let length = usize::try_from(fields.int32()?).map_err(|_| violation("invalid array length"))?;
    let lower = fields.int32()?;
    if lower != 1 && length > 0 {
        let upper = i64::from(lower) + length as i64 - 1;
        literal.push_str(&format!("[{lower}:{upper}]="));
    }
    let format = BinaryFormat::of(element)
        .ok_or_else(|| violation("elements of a type that has no binary format"))?;
    literal.push('{');
    let mut text = Vec::new();
    for place in 0..length {
        if place > 0 {
            literal.push(',');
        }
        let Some(bytes) = fields.value()? else {
            literal.push_str("NULL");
            continue;
        };
        text.clear();
        sql::text::write_value(format.read(bytes, element)?.borrow(), &mut text);
        sql::text::write_element(&String::from_utf8_lossy(&text), literal);
    }
    literal.push('}');
    Ok(())
}

/// How arrays of a type are written; `None` for types that are none, or whose elements only travel as text.
#[derive(Clone, Copy, Debug)]
pub struct ArrayFormat {
    /// The elements' type, ...
    pub element: u32,
    /// ... and its format.
    pub format: BinaryFormat,
}

impl ArrayFormat {
    /// The format of an array's type.
    pub fn of(type_id: u32) -> Option<ArrayFormat> {
        let element = element_of(type_id)?;
        BinaryFormat::of(element).map(|format| ArrayFormat { element, format })
    }

    /// Appends an array that is there as a literal.
    pub fn write(self, out: &mut Vec<u8>, value: ValueRef<'_>) -> Result<()> {
        let mut literal = Vec::new();
        sql::text::write_value(value, &mut literal);
        let array = sql::text::parse_array(&String::from_utf8_lossy(&literal))?;
        let has_nulls = array.elements.iter().any(Option::is_none);
        put(out, array.dimensions.len() as i32);
        put(out, i32::from(has_nulls));
        out.extend_from_slice(&self.element.to_be_bytes());
        for (lower, length) in array.dimensions {
            put(out, length as i32);
            put(out, lower);
        }
        array.elements.iter().try_for_each(|element| self.write_element(out, element.as_deref()))
    }

    fn write_element(self, out: &mut Vec<u8>, element: Option<&str>) -> Result<()> {
        let Some(text) = element else {
            put(out, -1);
            return Ok(());
        };
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let value = sql::text::parse_value(text, self.data_type(text))?;
        self.format.write(out, value.borrow())?;
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// The type as which an element's text is read: a number keeps the digits that it has.
    fn data_type(self, text: &str) -> DataType {
        match self.element {
            id::NUMERIC => {
                let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
                DataType::Numeric { precision: 38, scale: digits.min(38) as u8 }
            }
            id::OID => DataType::BigInt,
            element => sql::type_of(element).unwrap_or(DataType::Text),
        }
    }
}

fn put(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of one dimension as it is sent.
    fn sent(element: u32, lower: i32, values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in [1, 1, element as i32, values.len() as i32, lower] {
            bytes.extend_from_slice(&field.to_be_bytes());
        }
        for value in values {
            let length = value.map_or(-1, |value| value.len() as i32);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(value.unwrap_or_default());
        }
        bytes
    }

    fn state(bytes: &[u8], type_id: u32) -> SqlState {
        read(bytes, type_id).expect_err("refused").state
    }

    #[test]
    fn elements_become_a_literal() {
        let (one, two) = (1i32.to_be_bytes(), (-2i32).to_be_bytes());
        let bytes = sent(id::INT4, 1, &[Some(&one), None, Some(&two)]);
        assert_eq!(read(&bytes, 1007), Ok("{1,NULL,-2}".to_owned()));
        let bytes = sent(id::TEXT, 1, &[Some(b"a,b"), Some(b""), Some(b"null"), Some(b"x")]);
        assert_eq!(read(&bytes, 1009), Ok("{\"a,b\",\"\",\"null\",x}".to_owned()));
        let bytes = sent(id::BYTEA, 1, &[Some(&[1, 2])]);
        assert_eq!(read(&bytes, 1001), Ok("{\"\\\\x0102\"}".to_owned()));
        let bytes = sent(id::INT4, 3, &[Some(&one)]);
        assert_eq!(read(&bytes, 1007), Ok("[3:3]={1}".to_owned()));
        let mut none = Vec::new();
        for field in [0, 0, id::INT4 as i32] {
            none.extend_from_slice(&field.to_be_bytes());
        }
        assert_eq!(read(&none, 1007), Ok("{}".to_owned()));
    }

    fn written(type_id: u32, literal: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let format = ArrayFormat::of(type_id).expect("an array");
        format.write(&mut out, ValueRef::Text(literal)).expect("it is written");
        out
    }

    #[test]
    fn literals_become_what_is_read_again() {
        for (type_id, literal) in [
            (1007, "{1,NULL,-2}"),
            (1007, "{}"),
            (1009, "{\"a,b\",\"\",\"null\",NULL}"),
            (1000, "{t,f}"),
            (1016, "{9000000000}"),
            (1231, "{1.50,-0.001,7}"),
            (1182, "{2024-02-29}"),
            (1115, "{\"2024-02-29 01:02:03.5\"}"),
            (1001, "{\"\\\\x0102\"}"),
            (1028, "{16384}"),
        ] {
            assert_eq!(read(&written(type_id, literal), type_id), Ok(literal.to_owned()));
        }
        let (one, two) = (1i32.to_be_bytes(), 2i32.to_be_bytes());
        let mut bytes = written(1007, "{1,2}");
        assert_eq!(bytes[4..8], [0; 4], "no NULLs");
        bytes[7] = 1;
        assert_eq!(bytes, sent(id::INT4, 1, &[Some(&one), Some(&two)]));
        let nested = written(1007, "{{1},{2}}");
        assert_eq!(nested[..4], 2i32.to_be_bytes());
        assert_eq!(nested.len(), 12 + 2 * 8 + 2 * 8);
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let one = 1i32.to_be_bytes();
        let bytes = sent(id::INT4, 1, &[Some(&one)]);
        assert_eq!(state(&bytes, 1009), SqlState::DatatypeMismatch);
        assert_eq!(state(&bytes[..bytes.len() - 1], 1007), SqlState::ProtocolViolation);
        assert_eq!(
            state(&[&bytes[..], &[0]].concat(), 1007),
            SqlState::InvalidBinaryRepresentation
        );
        let mut wide = bytes.clone();
        wide[3] = 2;
        assert_eq!(state(&wide, 1007), SqlState::FeatureNotSupported);
        wide[3] = 9;
        assert_eq!(state(&wide, 1007), SqlState::InvalidBinaryRepresentation);
    }
}
