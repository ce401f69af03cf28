//! How one column's cells are written into DataRow messages.

use engine::types::{Error, Result, SqlState, ValueRef};
use sql::ColumnDescription;
use sql::text::{BinaryOfText, SessionZone};

use super::array::ArrayFormat;
use super::binary::BinaryFormat;
use super::{Format, type_id};

/// Bytes that type modifiers of character types count on top of the length.
const MODIFIER_EXTRA: i32 = 4;

/// Types that the engine has no values of.
const CARRIED: [u32; 4] = [type_id::TIME, type_id::INTERVAL, type_id::TIMETZ, type_id::UUID];

/// How values are written.
#[derive(Clone, Debug)]
enum Written {
    Text,
    /// As local times.
    Instant(SessionZone),
    Binary(BinaryFormat),
    Array(ArrayFormat),
    /// In binary, of a type whose values are always carried as their texts.
    Carried(u32, BinaryOfText),
}

impl Written {
    fn in_binary(type_id: u32) -> Option<Written> {
        let array = || ArrayFormat::of(type_id).map(Written::Array);
        let carried = || {
            let binary = BinaryOfText::of(type_id).filter(|_| CARRIED.contains(&type_id));
            binary.map(|binary| Written::Carried(type_id, binary))
        };
        BinaryFormat::of(type_id).map(Written::Binary).or_else(array).or_else(carried)
    }
}

/// Writes the cells of one column.
#[derive(Clone, Debug)]
pub struct ColumnEncoder {
    written: Written,
    /// Characters to which a `char(n)` is filled up with blanks; 0 for all other types.
    padded: usize,
}

impl ColumnEncoder {
    /// The encoder of a column in a format, for a session in a zone; 0A000 where the type has no binary format.
    pub fn new(
        column: &ColumnDescription,
        format: Format,
        zone: &SessionZone,
    ) -> Result<ColumnEncoder> {
        let written = match format {
            Format::Text if column.type_id == type_id::TIMESTAMPTZ => {
                Written::Instant(zone.clone())
            }
            Format::Text => Written::Text,
            Format::Binary => Written::in_binary(column.type_id).ok_or_else(|| {
                let message =
                    format!("no binary output function available for type {}", column.type_id);
                Error::new(SqlState::FeatureNotSupported, message)
            })?,
        };
        let padded = match column.type_id {
            type_id::BPCHAR => (column.type_modifier - MODIFIER_EXTRA).max(0) as usize,
            _ => 0,
        };
        Ok(ColumnEncoder { written, padded })
    }

    /// Appends its form: encoders that write every value alike have equal ones.
    pub fn write_form(&self, form: &mut Vec<u8>) {
        let (kind, detail) = match &self.written {
            Written::Text => (0, self.padded as u32),
            Written::Binary(format) => (*format as u8 + 1, self.padded as u32),
            // No array is padded.
            Written::Array(array) => (u8::MAX, array.element),
            Written::Carried(type_id, _) => (u8::MAX - 1, *type_id),
            Written::Instant(zone) => {
                let name = zone.name();
                form.push(u8::MAX - 2);
                form.extend_from_slice(&(name.len() as u32).to_be_bytes());
                return form.extend_from_slice(name.as_bytes());
            }
        };
        form.push(kind);
        form.extend_from_slice(&detail.to_be_bytes());
    }

    /// Appends a cell: its length (-1 for NULL) and its bytes.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, value: ValueRef<'_>) -> Result<()> {
        if value.is_null() {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            return Ok(());
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        match &self.written {
            Written::Text => sql::text::write_value(value, out),
            Written::Instant(zone) => sql::text::write_value_in(zone, value, out),
            Written::Binary(format) => format.write(out, value)?,
            Written::Array(array) => array.write(out, value)?,
            Written::Carried(_, binary) => match value {
                ValueRef::Text(text) => binary.write(text, out)?,
                other => unreachable!("{other:?} is no text"),
            },
        }
        if self.padded > 0 {
            pad(out, start + 4, self.padded);
        }
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

/// Fills the string at `start` up with blanks. A character starts at every byte that is no continuation byte.
fn pad(out: &mut Vec<u8>, start: usize, characters: usize) {
    let present = out[start..].iter().filter(|byte| **byte & 0xC0 != 0x80).count();
    out.resize(out.len() + characters.saturating_sub(present), b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(type_id: u32, type_modifier: i32) -> ColumnDescription {
        let name = "c".into();
        ColumnDescription { name, type_id, type_size: -1, type_modifier, table: 0, column: 0 }
    }

    fn written(column: &ColumnDescription, format: Format, value: ValueRef<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let encoder =
            ColumnEncoder::new(column, format, &SessionZone::default()).expect("has the format");
        encoder.write(&mut out, value).expect("fits");
        out
    }

    #[test]
    fn char_n_is_padded_in_characters_in_both_formats() {
        let column = column(type_id::BPCHAR, 4 + 4);
        for format in [Format::Text, Format::Binary] {
            let out = written(&column, format, ValueRef::Text("äb"));
            assert_eq!(out, b"\0\0\0\x05\xc3\xa4b  ");
        }
        assert_eq!(written(&column, Format::Text, ValueRef::Null), [255; 4]);
    }

    #[test]
    fn instants_are_written_by_the_sessions_zone() {
        let (column, instant) = (column(type_id::TIMESTAMPTZ, -1), ValueRef::TimestampTz(0));
        let encoders = ["UTC", "Asia/Kolkata", "America/New_York"].map(|name| {
            let zone = SessionZone::named(name).expect("a zone");
            ColumnEncoder::new(&column, Format::Text, &zone).expect("has the format")
        });
        let [utc, kolkata, new_york] = encoders.each_ref().map(|encoder| {
            let (mut out, mut form) = (Vec::new(), Vec::new());
            encoder.write(&mut out, instant).expect("fits");
            encoder.write_form(&mut form);
            (String::from_utf8_lossy(&out[4..]).into_owned(), form)
        });
        assert_eq!(utc.0, "1970-01-01 00:00:00+00");
        assert_eq!(kolkata.0, "1970-01-01 05:30:00+05:30");
        assert_eq!(new_york.0, "1969-12-31 19:00:00-05");
        assert!(utc.1 != kolkata.1 && kolkata.1 != new_york.1);
    }

    #[test]
    fn types_without_a_binary_format_say_so() {
        let out = written(&column(type_id::TIME, -1), Format::Binary, ValueRef::Text("00:00:01"));
        assert_eq!(out, b"\0\0\0\x08\0\0\0\0\0\x0f\x42\x40");
        let utc = SessionZone::default();
        let fault =
            ColumnEncoder::new(&column(1187, -1), Format::Binary, &utc).expect_err("refused");
        assert_eq!(fault.state, SqlState::FeatureNotSupported);
        assert!(ColumnEncoder::new(&column(1187, -1), Format::Text, &utc).is_ok());
    }
}
