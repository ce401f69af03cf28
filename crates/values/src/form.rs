//! How the values of each type are read, written and compared.

use std::cmp::Ordering;

use crate::argument::Argument;
use crate::datum::Datum;
use crate::error::{Result, ValueError};
use crate::numeric::{self, Numeric};
use crate::oid::{self, Oid};
use crate::uuid::{self, Uuid};
use crate::{boolean, bytea, float, int, text};

/// A type's forms: text, binary, canonical key, order. None of them is asked about NULL.
pub struct Form {
    /// As `pg_type.typname`.
    pub type_name: &'static str,
    /// Reads the text form.
    pub parse: fn(&str) -> Result<Datum>,
    /// Appends the text form.
    ///
    /// # Panics
    /// When the datum is of another type, here and below.
    pub write: fn(&Datum, &mut String),
    /// Reads the binary form.
    pub receive: fn(&[u8]) -> Result<Datum>,
    /// Appends the binary form.
    pub send: fn(&Datum, &mut Vec<u8>),
    /// Appends the canonical key: equal values have equal keys, and keys compare as values do, byte by byte.
    pub key: fn(&Datum, &mut Vec<u8>),
    /// Order of two values.
    pub compare: fn(&Datum, &Datum) -> Ordering,
}

/// The forms of a type by its name in `pg_type`.
pub fn form(type_name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.type_name == type_name)
}

macro_rules! integer_form {
    ($type:ty, $variant:ident, $name:literal) => {
        Form {
            type_name: $name,
            parse: |text| int::parse(text).map(Datum::$variant),
            write: |datum, out| out.push_str(&<$type>::of(datum).to_string()),
            receive: |bytes| {
                fixed(bytes).map(|bytes| Datum::$variant(<$type>::from_be_bytes(bytes)))
            },
            send: |datum, out| out.extend_from_slice(&<$type>::of(datum).to_be_bytes()),
            // With the sign turned, negative ones come first.
            key: |datum, out| {
                out.extend_from_slice(&(<$type>::of(datum) ^ <$type>::MIN).to_be_bytes())
            },
            compare: |a, b| <$type>::of(a).cmp(&<$type>::of(b)),
        }
    };
}

macro_rules! float_form {
    ($type:ty, $variant:ident, $name:literal, $parse:path) => {
        Form {
            type_name: $name,
            parse: |text| $parse(text).map(Datum::$variant),
            write: |datum, out| float::write(<$type>::of(datum), out),
            receive: |bytes| {
                fixed(bytes).map(|bytes| Datum::$variant(<$type>::from_be_bytes(bytes)))
            },
            send: |datum, out| out.extend_from_slice(&<$type>::of(datum).to_be_bytes()),
            key: |datum, out| float::key(f64::from(<$type>::of(datum)), out),
            compare: |a, b| float::compare(<$type>::of(a), <$type>::of(b)),
        }
    };
}

/// A type of texts, and what of a value is compared.
macro_rules! text_form {
    ($name:literal, $compared:expr) => {
        Form {
            type_name: $name,
            parse: |text| Ok(Datum::text(text)),
            write: |datum, out| out.push_str(<&str>::of(datum)),
            receive: received,
            send: |datum, out| out.extend_from_slice(<&str>::of(datum).as_bytes()),
            key: |datum, out| {
                let compared: fn(&str) -> &str = $compared;
                out.extend_from_slice(compared(<&str>::of(datum)).as_bytes());
            },
            compare: |a, b| {
                let compared: fn(&str) -> &str = $compared;
                text::compare(compared(<&str>::of(a)), compared(<&str>::of(b)))
            },
        }
    };
}

/// All types that have forms.
pub const FORMS: &[Form] = &[
    Form {
        type_name: "bool",
        parse: |text| boolean::parse(text).map(Datum::Bool),
        write: |datum, out| out.push_str(boolean::letter(bool::of(datum))),
        receive: |bytes| fixed(bytes).map(|[byte]| Datum::Bool(byte != 0)),
        send: |datum, out| out.push(bool::of(datum).into()),
        key: |datum, out| out.push(bool::of(datum).into()),
        compare: |a, b| bool::of(a).cmp(&bool::of(b)),
    },
    integer_form!(i16, Int2, "int2"),
    integer_form!(i32, Int4, "int4"),
    integer_form!(i64, Int8, "int8"),
    float_form!(f32, Float4, "float4", float::parse_f32),
    float_form!(f64, Float8, "float8", float::parse_f64),
    Form {
        type_name: "numeric",
        parse: |text| numeric::parse(text).map(Datum::Numeric),
        write: |datum, out| out.push_str(&<&Numeric>::of(datum).to_string()),
        receive: |bytes| numeric::receive(bytes).map(Datum::Numeric),
        send: |datum, out| numeric::send(<&Numeric>::of(datum), out),
        key: |datum, out| numeric::key(<&Numeric>::of(datum), out),
        compare: |a, b| numeric::compare(<&Numeric>::of(a), <&Numeric>::of(b)),
    },
    text_form!("text", |text| text),
    text_form!("varchar", |text| text),
    text_form!("bpchar", text::unpadded),
    Form {
        type_name: "bytea",
        parse: |text| bytea::parse(text).map(|bytes| Datum::Bytea(bytes.into())),
        write: |datum, out| bytea::write(<&[u8]>::of(datum), out),
        receive: |bytes| Ok(Datum::Bytea(bytes.into())),
        send: |datum, out| out.extend_from_slice(<&[u8]>::of(datum)),
        key: |datum, out| out.extend_from_slice(<&[u8]>::of(datum)),
        compare: |a, b| <&[u8]>::of(a).cmp(<&[u8]>::of(b)),
    },
    Form {
        type_name: "oid",
        parse: |text| oid::parse(text).map(Datum::Oid),
        write: |datum, out| out.push_str(&Oid::of(datum).0.to_string()),
        receive: |bytes| fixed(bytes).map(|bytes| Datum::Oid(Oid(u32::from_be_bytes(bytes)))),
        send: |datum, out| out.extend_from_slice(&Oid::of(datum).0.to_be_bytes()),
        key: |datum, out| out.extend_from_slice(&Oid::of(datum).0.to_be_bytes()),
        compare: |a, b| Oid::of(a).cmp(&Oid::of(b)),
    },
    Form {
        type_name: "uuid",
        parse: |text| uuid::parse(text).map(Datum::Uuid),
        write: |datum, out| uuid::write(&Uuid::of(datum), out),
        receive: |bytes| fixed(bytes).map(Datum::Uuid),
        send: |datum, out| out.extend_from_slice(&Uuid::of(datum)),
        key: |datum, out| out.extend_from_slice(&Uuid::of(datum)),
        compare: |a, b| Uuid::of(a).cmp(&Uuid::of(b)),
    },
];

/// The bytes of a form of fixed length.
fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| {
        if bytes.len() < N {
            ValueError::new("08P01", "insufficient data left in message")
        } else {
            ValueError::new("22P03", "incorrect binary data format")
        }
    })
}

/// Text of a client.
fn received(bytes: &[u8]) -> Result<Datum> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(Datum::text(text)),
        _ => Err(ValueError::new("22021", "invalid byte sequence for encoding \"UTF8\"")),
    }
}
