//! Type names of SQL to column types.

use datafusion::sql::sqlparser::ast::{self, CharacterLength, ExactNumberInfo, TimezoneInfo};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use engine::types::{DataType, Error, Result, SqlState};
use syntax::{Literal, Node, TypeName};

use super::naming::object_name;
use super::option;
use crate::catalog::types::{plain_type_name, undefined_type};

/// What a column definition's type name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A type.
    Plain(DataType),
    /// `serial` and its like: an integer whose default is a sequence of its own.
    Serial(DataType),
}

/// The type of a column definition, where `serial` is allowed.
pub fn column_type(name: &ast::DataType) -> Result<ColumnType> {
    // These are no types, so no schema has them.
    if let ast::DataType::Custom(name, arguments) = name
        && arguments.is_empty()
        && name.0.len() == 1
    {
        match plain_type_name(name).unwrap_or_default().as_str() {
            "serial" | "serial4" => return Ok(ColumnType::Serial(DataType::Integer)),
            "bigserial" | "serial8" => return Ok(ColumnType::Serial(DataType::BigInt)),
            "smallserial" | "serial2" => return Ok(ColumnType::Serial(DataType::SmallInt)),
            _ => {}
        }
    }
    data_type(name).map(ColumnType::Plain)
}

/// The type that a name stands for, with PostgreSQL's aliases.
pub fn data_type(name: &ast::DataType) -> Result<DataType> {
    use ast::DataType as Ast;
    Ok(match name {
        Ast::Bool | Ast::Boolean => DataType::Boolean,
        Ast::SmallInt(None) | Ast::Int2(None) => DataType::SmallInt,
        Ast::Int(None) | Ast::Integer(None) | Ast::Int4(None) => DataType::Integer,
        Ast::BigInt(None) | Ast::Int8(None) => DataType::BigInt,
        Ast::Real | Ast::Float4 => DataType::Real,
        Ast::Float8 | Ast::DoublePrecision | Ast::Double(ExactNumberInfo::None) => DataType::Double,
        Ast::Float(info) => float(info)?,
        Ast::Numeric(info) | Ast::Decimal(info) | Ast::Dec(info) => numeric(info)?,
        Ast::Text | Ast::String(None) => DataType::Text,
        Ast::Varchar(length)
        | Ast::CharacterVarying(length)
        | Ast::CharVarying(length)
        | Ast::Nvarchar(length) => match length {
            None => DataType::Text,
            Some(length) => DataType::Varchar(string_length(length, "varchar")?),
        },
        Ast::Char(length) | Ast::Character(length) => match length {
            None => DataType::Char(1),
            Some(length) => DataType::Char(string_length(length, "char")?),
        },
        Ast::Date => DataType::Date,
        Ast::Timestamp(precision, zone) => timestamp(*precision, *zone)?,
        Ast::Bytea => DataType::Bytea,
        Ast::Custom(custom, arguments) => custom_type(custom, arguments)?,
        other => return Err(unsupported(other)),
    })
}

/// The type that a node names.
pub fn of_node(name: TypeName<'_>) -> Result<DataType> {
    let dialect = PostgreSqlDialect {};
    let text = written(name);
    let undefined = || undefined_type(&object_name(option::names(name.names())));
    let mut parser = Parser::new(&dialect).try_with_sql(&text).map_err(|_| undefined())?;
    data_type(&parser.parse_data_type().map_err(|_| undefined())?)
}

/// A type's name, its modifiers and whether it is an array, as one writes it.
fn written(name: TypeName<'_>) -> String {
    let parts = option::names(name.names());
    let mut text = match parts.as_slice() {
        [system, own] if system == "pg_catalog" => own.clone(),
        _ => object_name(parts).to_string(),
    };
    let modifier = |node| match node {
        Node::AConst(constant) => match constant.value() {
            Literal::Integer(number) => Some(number.to_string()),
            _ => None,
        },
        _ => None,
    };
    let modifiers: Vec<String> = name.typmods().iter().filter_map(modifier).collect();
    if !modifiers.is_empty() {
        text.push_str(&format!("({})", modifiers.join(",")));
    }
    if !name.array_bounds().is_empty() {
        text.push_str("[]");
    }
    text
}

/// Names that the parser knows no key word for.
fn custom_type(name: &ast::ObjectName, arguments: &[String]) -> Result<DataType> {
    let length = arguments.first().and_then(|argument| argument.parse::<u32>().ok());
    Ok(match plain_type_name(name).unwrap_or_default().as_str() {
        "name" => DataType::Text,
        "bpchar" => length.map_or(DataType::Text, DataType::Char),
        "oid" => DataType::BigInt,
        _ => return Err(undefined_type(name)),
    })
}

fn unsupported(name: &ast::DataType) -> Error {
    let message = format!("type {} is not supported", name.to_string().to_lowercase());
    Error::new(SqlState::FeatureNotSupported, message)
}

fn float(info: &ExactNumberInfo) -> Result<DataType> {
    match info {
        ExactNumberInfo::None => Ok(DataType::Double),
        ExactNumberInfo::Precision(1..=24) => Ok(DataType::Real),
        ExactNumberInfo::Precision(25..=53) => Ok(DataType::Double),
        ExactNumberInfo::Precision(0) => {
            Err(invalid("precision for type float must be at least 1 bit"))
        }
        _ => Err(invalid("precision for type float must be less than 54 bits")),
    }
}

/// `numeric` without a precision becomes the widest type with half of its digits after the point.
fn numeric(info: &ExactNumberInfo) -> Result<DataType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => (38, 10),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    if !(1..=1000).contains(&precision) {
        let message = format!("NUMERIC precision {precision} must be between 1 and 1000");
        return Err(invalid(message));
    }
    if precision > 38 {
        let message = format!("NUMERIC precision {precision} is not supported: at most 38");
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    if scale < 0 || scale as u64 > precision {
        let message = format!("NUMERIC scale {scale} must be between 0 and precision {precision}");
        return Err(invalid(message));
    }
    Ok(DataType::Numeric { precision: precision as u8, scale: scale as u8 })
}

fn string_length(length: &CharacterLength, type_name: &str) -> Result<u32> {
    const MAX: u64 = 10_485_760; // PostgreSQL's MaxAttrSize
    match length {
        CharacterLength::IntegerLength { length: 0, .. } => {
            Err(invalid(format!("length for type {type_name} must be at least 1")))
        }
        CharacterLength::IntegerLength { length, .. } if *length <= MAX => Ok(*length as u32),
        _ => Err(invalid(format!("length for type {type_name} cannot exceed {MAX}"))),
    }
}

fn timestamp(precision: Option<u64>, zone: TimezoneInfo) -> Result<DataType> {
    if precision.is_some_and(|precision| precision != 6) {
        let message = "timestamps have microseconds: another precision is not supported";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    Ok(match zone {
        TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => DataType::Timestamp,
        TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => DataType::TimestampTz,
    })
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Result<ColumnType> {
        let dialect = PostgreSqlDialect {};
        let mut parser = Parser::new(&dialect).try_with_sql(name).expect("tokens");
        column_type(&parser.parse_data_type().expect("a type name"))
    }

    #[test]
    fn aliases_are_understood() {
        let cases = [
            ("int", DataType::Integer),
            ("int2", DataType::SmallInt),
            ("int8", DataType::BigInt),
            ("float8", DataType::Double),
            ("float4", DataType::Real),
            ("float(10)", DataType::Real),
            ("bool", DataType::Boolean),
            ("character varying(5)", DataType::Varchar(5)),
            ("varchar", DataType::Text),
            ("char", DataType::Char(1)),
            ("bpchar", DataType::Text),
            ("decimal(5,2)", DataType::Numeric { precision: 5, scale: 2 }),
            ("timestamp with time zone", DataType::TimestampTz),
            ("timestamptz", DataType::TimestampTz),
            ("timestamp", DataType::Timestamp),
            ("bytea", DataType::Bytea),
            ("name", DataType::Text),
        ];
        for (name, expected) in cases {
            assert_eq!(named(name), Ok(ColumnType::Plain(expected)), "{name}");
        }
        assert_eq!(named("bigserial"), Ok(ColumnType::Serial(DataType::BigInt)));
    }

    #[test]
    fn bad_types_are_refused() {
        let state = |name| named(name).expect_err("refused").state.code();
        assert_eq!(state("numeric(0)"), "22023");
        assert_eq!(state("numeric(2,3)"), "22023");
        assert_eq!(state("varchar(0)"), "22023");
        assert_eq!(state("nonsense"), "42704");
        assert_eq!(state("uuid"), "0A000");
    }
}
