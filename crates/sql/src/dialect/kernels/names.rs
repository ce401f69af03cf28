//! Types by PostgreSQL's names and by Arrow's.

use datafusion::arrow::datatypes::DataType;
use engine::types::DataType as OwnType;

use super::super::intervals::INTERVAL;
use crate::catalog::types::{from_arrow, is_string};

/// PostgreSQL's name of a type that has one here.
pub fn named(data_type: &DataType) -> Option<&'static str> {
    if matches!(data_type, DataType::Interval(_) | DataType::Duration(_)) {
        return Some("interval");
    }
    if data_type.is_nested() || matches!(data_type, DataType::Time32(_) | DataType::Time64(_)) {
        return None;
    }
    Some(match from_arrow(data_type) {
        OwnType::Boolean => "bool",
        OwnType::SmallInt => "int2",
        OwnType::Integer => "int4",
        OwnType::BigInt => "int8",
        OwnType::Real => "float4",
        OwnType::Double => "float8",
        OwnType::Numeric { .. } => "numeric",
        OwnType::Text | OwnType::Varchar(_) | OwnType::Char(_) => "text",
        OwnType::Date => "date",
        OwnType::Timestamp => "timestamp",
        OwnType::TimestampTz => "timestamptz",
        OwnType::Bytea => "bytea",
    })
}

/// The type of an argument by name, or `None` inside for a literal that has none yet: that is a `Utf8`, columns and what is
/// computed of them are views.
pub fn given(data_type: &DataType) -> Option<Option<&'static str>> {
    match data_type {
        DataType::Null | DataType::Utf8 => Some(None),
        own => named(own).map(Some),
    }
}

/// Arrow's type of a name; `own` has the digits of a numeric, and keeps the kind of a string.
pub fn arrow(name: &str, own: Option<&DataType>) -> DataType {
    match (name, own) {
        ("numeric", Some(own @ DataType::Decimal128(..))) => own.clone(),
        ("text", Some(own)) if is_string(own) => own.clone(),
        ("interval", _) => INTERVAL,
        _ => of_name(name).arrow(),
    }
}

fn of_name(name: &str) -> OwnType {
    match name {
        "bool" => OwnType::Boolean,
        "int2" => OwnType::SmallInt,
        "int4" => OwnType::Integer,
        "int8" => OwnType::BigInt,
        "float4" => OwnType::Real,
        "float8" => OwnType::Double,
        "numeric" => OwnType::PLAIN_NUMERIC,
        "date" => OwnType::Date,
        "timestamp" => OwnType::Timestamp,
        "timestamptz" => OwnType::TimestampTz,
        "bytea" => OwnType::Bytea,
        _ => OwnType::Text,
    }
}

/// Whether values of a type are kept here.
pub fn is_kept(name: &str) -> bool {
    of_name(name) != OwnType::Text || matches!(name, "text" | "varchar" | "bpchar" | "interval")
}
