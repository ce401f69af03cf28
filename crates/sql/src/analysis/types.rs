//! What is known of an expression's type.

use engine::types::DataType;

/// A type, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Type {
    /// This one.
    Known(DataType),
    /// A string literal or NULL, which takes the type that its context wants: PostgreSQL's `unknown`.
    Literal,
    /// Not known here.
    Opaque,
}

/// `numeric` without precision, which this room only ever names.
pub const NUMERIC: DataType = DataType::Numeric { precision: 38, scale: 10 };

/// Types that PostgreSQL compares with one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Integers, floats, numeric
    Number,
    /// Strings
    Text,
    /// boolean
    Boolean,
    /// date and timestamps
    Time,
    /// bytea
    Bytes,
}

/// The class of a type.
pub fn class(data_type: DataType) -> Class {
    match data_type {
        DataType::SmallInt
        | DataType::Integer
        | DataType::BigInt
        | DataType::Real
        | DataType::Double
        | DataType::Numeric { .. } => Class::Number,
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => Class::Text,
        DataType::Boolean => Class::Boolean,
        DataType::Date | DataType::Timestamp | DataType::TimestampTz => Class::Time,
        DataType::Bytea => Class::Bytes,
    }
}

/// A type's name without its modifiers, as faults say it.
pub fn name(data_type: DataType) -> String {
    match data_type {
        DataType::Numeric { .. } => "numeric".to_owned(),
        DataType::Varchar(_) => "character varying".to_owned(),
        DataType::Char(_) => "character".to_owned(),
        other => other.to_string(),
    }
}

/// Larger numbers take in smaller ones.
fn rank(data_type: DataType) -> u8 {
    match data_type {
        DataType::SmallInt => 0,
        DataType::Integer => 1,
        DataType::BigInt => 2,
        DataType::Numeric { .. } => 3,
        DataType::Real => 4,
        _ => 5,
    }
}

/// The number type that holds both.
pub fn wider(left: DataType, right: DataType) -> DataType {
    match (left, right) {
        (DataType::Real, DataType::Real) => DataType::Real,
        (DataType::Real | DataType::Double, _) | (_, DataType::Real | DataType::Double) => {
            DataType::Double
        }
        _ if rank(left) >= rank(right) => left,
        _ => right,
    }
}

impl Type {
    /// The class, if the type is known.
    pub fn class(self) -> Option<Class> {
        match self {
            Type::Known(data_type) => Some(class(data_type)),
            _ => None,
        }
    }

    /// The name in a list of argument types; `None` where it is not known.
    pub fn named(self) -> Option<String> {
        match self {
            Type::Known(data_type) => Some(name(data_type)),
            Type::Literal => Some("unknown".to_owned()),
            Type::Opaque => None,
        }
    }

    /// What both are read as; `None` where there is no such type.
    pub fn common(self, other: Type) -> Option<Type> {
        match (self, other) {
            (Type::Known(left), Type::Known(right)) if class(left) != class(right) => None,
            (Type::Known(left), Type::Known(right)) => Some(Type::Known(match class(left) {
                Class::Number => wider(left, right),
                Class::Text if left != right => DataType::Text,
                Class::Time if left != right => DataType::TimestampTz,
                _ => left,
            })),
            (Type::Opaque, _) | (_, Type::Opaque) => Some(Type::Opaque),
            (Type::Literal, known) | (known, Type::Literal) => Some(known),
        }
    }
}

/// Whether a value of one type may be stored in a column of another without a cast.
pub fn assignable(from: DataType, to: DataType) -> bool {
    class(from) == class(to) || class(to) == Class::Text
}

/// Whether `CAST` goes from one type to another.
pub fn castable(from: DataType, to: DataType) -> bool {
    use Class::{Boolean, Bytes, Number, Text, Time};
    match (class(from), class(to)) {
        (Text, _) | (_, Text) => true,
        (Number, Boolean) => from == DataType::Integer,
        (Boolean, Number) => to == DataType::Integer,
        (Bytes, Bytes) | (Time, Time) => true,
        (left, right) => left == right,
    }
}
