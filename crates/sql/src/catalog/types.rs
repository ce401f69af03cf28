//! SQL types as Arrow, PostgreSQL and the engine name them.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, TimeUnit};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType as SqlType, ObjectName, TimezoneInfo,
};
use engine::types::{DataType, Error, SqlState};

use super::system::SCHEMAS;
use crate::statement::naming::split;

/// The schema of PostgreSQL's own types.
const PG_CATALOG: &str = "pg_catalog";

/// PostgreSQL's type ids that more than one place needs.
pub mod type_id {
    /// `text`
    pub const TEXT: u32 = 25;
    /// `interval`
    pub const INTERVAL: u32 = 1186;
    /// `unknown`
    pub const UNKNOWN: u32 = 705;
    /// `text[]`
    pub const TEXT_ARRAY: u32 = 1009;
    /// `json`
    pub const JSON: u32 = 114;
    /// `int2vector`
    pub const INT2_VECTOR: u32 = 22;
    /// `oid[]`
    pub const OID_ARRAY: u32 = 1028;
    /// `oidvector`
    pub const OID_VECTOR: u32 = 30;
}

/// What the items of `int2vector` and `oidvector` are called: by that such lists are told from arrays.
pub const INT2_VECTOR: &str = "int2vector";
/// The same of `oidvector`.
pub const OID_VECTOR: &str = "oidvector";

/// What the items of `oid[]` are called.
pub const OIDS: &str = "oid";

/// Whether a list with such items is a vector: it counts from 0 and is written without braces.
pub fn is_vector(item: &Field) -> bool {
    matches!(item.name().as_str(), INT2_VECTOR | OID_VECTOR)
}

/// The type that an Arrow array of an answer is cast to; types without a counterpart travel as text.
pub fn from_arrow(arrow: &ArrowType) -> DataType {
    match arrow {
        ArrowType::Boolean => DataType::Boolean,
        ArrowType::Int8 | ArrowType::UInt8 | ArrowType::Int16 => DataType::SmallInt,
        ArrowType::UInt16 | ArrowType::Int32 => DataType::Integer,
        ArrowType::UInt32 | ArrowType::Int64 | ArrowType::UInt64 => DataType::BigInt,
        ArrowType::Float16 | ArrowType::Float32 => DataType::Real,
        ArrowType::Float64 => DataType::Double,
        ArrowType::Decimal32(p, s) | ArrowType::Decimal64(p, s) | ArrowType::Decimal128(p, s) => {
            DataType::Numeric { precision: *p, scale: (*s).max(0) as u8 }
        }
        ArrowType::Decimal256(_, s) => {
            DataType::Numeric { precision: 38, scale: (*s).clamp(0, 38) as u8 }
        }
        ArrowType::Date32 => DataType::Date,
        ArrowType::Date64 | ArrowType::Timestamp(_, None) => DataType::Timestamp,
        ArrowType::Timestamp(_, Some(_)) => DataType::TimestampTz,
        ArrowType::Binary
        | ArrowType::LargeBinary
        | ArrowType::BinaryView
        | ArrowType::FixedSizeBinary(_) => DataType::Bytea,
        _ => DataType::Text,
    }
}

/// Whether values of the Arrow type are what `from_arrow` says, without a cast to text.
pub fn is_exact(arrow: &ArrowType) -> bool {
    from_arrow(arrow).arrow() == *arrow || is_string(arrow)
}

/// Whether the Arrow type holds character strings.
pub fn is_string(arrow: &ArrowType) -> bool {
    matches!(arrow, ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View)
}

/// PostgreSQL's id of a type.
pub fn id_of(data_type: DataType) -> u32 {
    match data_type {
        DataType::Boolean => 16,
        DataType::SmallInt => 21,
        DataType::Integer => 23,
        DataType::BigInt => 20,
        DataType::Real => 700,
        DataType::Double => 701,
        DataType::Numeric { .. } => 1700,
        DataType::Text => type_id::TEXT,
        DataType::Varchar(_) => 1043,
        DataType::Char(_) => 1042,
        DataType::Date => 1082,
        DataType::Timestamp => 1114,
        DataType::TimestampTz => 1184,
        DataType::Bytea => 17,
    }
}

/// Element types and the ids of their arrays.
const ARRAYS: [(DataType, u32); 13] = [
    (DataType::Boolean, 1000),
    (DataType::Bytea, 1001),
    (DataType::SmallInt, 1005),
    (DataType::Integer, 1007),
    (DataType::Text, type_id::TEXT_ARRAY),
    (DataType::BigInt, 1016),
    (DataType::Real, 1021),
    (DataType::Double, 1022),
    (DataType::Timestamp, 1115),
    (DataType::Date, 1182),
    (DataType::TimestampTz, 1185),
    (DataType::PLAIN_NUMERIC, 1231),
    (DataType::Varchar(0), 1015),
];

/// PostgreSQL's id of the type of arrays with such elements.
pub fn id_of_array(item: DataType) -> u32 {
    let element = id_of(item);
    let known = ARRAYS.iter().find(|(own, _)| id_of(*own) == element);
    known.map_or(type_id::TEXT_ARRAY, |(_, id)| *id)
}

/// The elements' type of arrays of that id.
pub fn item_of_array(id: u32) -> Option<DataType> {
    match id {
        // varchar[], bpchar[], name[], "char"[].
        1015 | 1014 | 1003 | 1002 => Some(DataType::Text),
        1028 => Some(DataType::BigInt),
        _ => ARRAYS.iter().find(|(_, own)| *own == id).map(|(item, _)| *item),
    }
}

/// PostgreSQL's id of an Arrow type in an answer: also of those that travel as text.
pub fn id_of_arrow(arrow: &ArrowType) -> u32 {
    match arrow {
        ArrowType::Interval(_) | ArrowType::Duration(_) => type_id::INTERVAL,
        ArrowType::List(item) => id_of_list(item),
        other => id_of(from_arrow(other)),
    }
}

fn id_of_list(item: &Field) -> u32 {
    match (item.name().as_str(), item.data_type()) {
        (INT2_VECTOR, _) => type_id::INT2_VECTOR,
        (OID_VECTOR, _) => type_id::OID_VECTOR,
        (OIDS, ArrowType::Int32) => type_id::OID_ARRAY,
        // Arrays of arrays have their elements' array type.
        (_, ArrowType::List(inner)) => id_of_list(inner),
        (_, ArrowType::Interval(_) | ArrowType::Struct(_)) => type_id::TEXT,
        (_, item) => id_of_array(from_arrow(item)),
    }
}

/// The type that a client declared for a parameter; `None` for unknown.
pub fn from_id(id: u32) -> Option<DataType> {
    Some(match id {
        16 => DataType::Boolean,
        21 => DataType::SmallInt,
        23 | 26 => DataType::Integer,
        20 => DataType::BigInt,
        700 => DataType::Real,
        701 => DataType::Double,
        // Without a type modifier; fits what most applications send. Values with more digits are refused.
        1700 => DataType::Numeric { precision: 38, scale: 10 },
        25 | 1043 | 1042 | 18 | 19 => DataType::Text,
        1082 => DataType::Date,
        1114 => DataType::Timestamp,
        1184 => DataType::TimestampTz,
        17 => DataType::Bytea,
        _ => return None,
    })
}

/// Bytes of a value, -1 for variable length.
pub fn size_of(data_type: DataType) -> i16 {
    match data_type {
        DataType::Boolean => 1,
        DataType::SmallInt => 2,
        DataType::Integer | DataType::Real | DataType::Date => 4,
        DataType::BigInt | DataType::Double | DataType::Timestamp | DataType::TimestampTz => 8,
        _ => -1,
    }
}

/// PostgreSQL's type modifier.
pub fn modifier_of(data_type: DataType) -> i32 {
    match data_type {
        DataType::Varchar(n) | DataType::Char(n) => n as i32 + 4,
        DataType::Numeric { precision, scale } => {
            ((i32::from(precision) << 16) | i32::from(scale)) + 4
        }
        _ => -1,
    }
}

/// Whether the Arrow type is a number.
pub fn is_number(arrow: &ArrowType) -> bool {
    arrow.is_numeric()
}

/// SQL type names that DataFusion reads otherwise: times have microseconds, names of PostgreSQL's own.
#[derive(Debug)]
pub struct PostgresTypes;

impl TypePlanner for PostgresTypes {
    fn plan_type(&self, sql_type: &SqlType) -> Result<Option<ArrowType>> {
        let zoned = |zone: &TimezoneInfo| {
            !matches!(zone, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
        };
        Ok(match sql_type {
            SqlType::Timestamp(Some(digits), _) if *digits < 6 => {
                let message = format!("casts to timestamp({digits}) are not supported");
                return Err(external(Error::new(SqlState::FeatureNotSupported, message)));
            }
            SqlType::Timestamp(_, zone) => Some(timestamp(zoned(zone))),
            SqlType::TimestampNtz(_) | SqlType::Datetime(_) => Some(timestamp(false)),
            SqlType::Bytea => Some(ArrowType::Binary),
            SqlType::Numeric(info) | SqlType::Decimal(info) | SqlType::Dec(info)
                if matches!(info, datafusion::sql::sqlparser::ast::ExactNumberInfo::None) =>
            {
                // Without a type modifier PostgreSQL keeps every digit; 38 digits are what we have.
                Some(ArrowType::Decimal128(38, 10))
            }
            SqlType::Array(ArrayElemTypeDef::SquareBracket(item, _)) if is_oid(item) => {
                Some(ArrowType::List(Arc::new(Field::new(OIDS, ArrowType::Int32, true))))
            }
            SqlType::Custom(name, _) => Some(custom(name).map_err(external)?),
            _ => None,
        })
    }
}

fn is_oid(item: &SqlType) -> bool {
    matches!(item, SqlType::Custom(name, _) if plain_type_name(name).as_deref() == Some("oid"))
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn timestamp(zoned: bool) -> ArrowType {
    ArrowType::Timestamp(TimeUnit::Microsecond, zoned.then(|| "+00:00".into()))
}

/// The types that the parser has no key word for.
fn custom(name: &ObjectName) -> Result<ArrowType, Error> {
    Ok(match plain_type_name(name).unwrap_or_default().as_str() {
        "name" | "bpchar" | "char" | "regtype" | "regproc" | "regnamespace" | "json" => {
            ArrowType::Utf8View
        }
        "oid" | "xid" => ArrowType::Int32,
        _ => return Err(undefined_type(name)),
    })
}

/// A type's name as `pg_catalog` files it: folded, without the schema. `None` for one of another schema.
pub fn plain_type_name(name: &ObjectName) -> Option<String> {
    match split(name) {
        Ok((None, plain)) => Some(plain),
        Ok((Some(schema), plain)) => (schema == PG_CATALOG).then_some(plain),
        Err(_) => None,
    }
}

/// 42704; 3F000 or 0A000 where there is no such schema or database.
pub fn undefined_type(name: &ObjectName) -> Error {
    let named = match split(name) {
        Ok((Some(schema), _)) if !SCHEMAS.iter().any(|known| known.1 == schema) => {
            let message = format!("schema \"{schema}\" does not exist");
            return Error::new(SqlState::InvalidSchema, message);
        }
        Ok((Some(schema), plain)) => format!("{schema}.{plain}"),
        Ok((None, plain)) => plain,
        Err(fault) => return fault,
    };
    let message = format!("type \"{named}\" does not exist");
    Error::new(SqlState::UndefinedObject, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrow_and_back() {
        let numeric = DataType::Numeric { precision: 12, scale: 3 };
        for data_type in [
            DataType::Boolean,
            DataType::SmallInt,
            DataType::Integer,
            DataType::BigInt,
            DataType::Real,
            DataType::Double,
            numeric,
            DataType::Text,
            DataType::Date,
            DataType::Timestamp,
            DataType::TimestampTz,
            DataType::Bytea,
        ] {
            assert_eq!(from_arrow(&data_type.arrow()), data_type);
            assert!(is_exact(&data_type.arrow()));
        }
        assert_eq!(modifier_of(numeric), (12 << 16 | 3) + 4);
    }
}
