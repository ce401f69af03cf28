//! Types as bytes: PostgreSQL's OID and type modifier say what a value means, the physical form how it is stored.
//!
//! The three are kept apart so that a type can be added, or be stored in another form, without a new format: a file says of
//! each column what its bytes are.

use super::{Decoder, Encoder, Malformed};
use crate::types::{BlockColumn, BlockValues, DataType};

/// The OID of a type and its modifier, -1 where it has none.
fn meaning(data_type: DataType) -> (u32, i32) {
    match data_type {
        DataType::Boolean => (16, -1),
        DataType::Bytea => (17, -1),
        DataType::BigInt => (20, -1),
        DataType::SmallInt => (21, -1),
        DataType::Integer => (23, -1),
        DataType::Text => (25, -1),
        DataType::Real => (700, -1),
        DataType::Double => (701, -1),
        DataType::Char(length) => (1042, length as i32 + LENGTH_BEFORE),
        DataType::Varchar(length) => (1043, length as i32 + LENGTH_BEFORE),
        DataType::Date => (1082, -1),
        DataType::Timestamp => (1114, -1),
        DataType::TimestampTz => (1184, -1),
        DataType::Numeric { precision, scale } => {
            let digits = i32::from(precision) << 16 | i32::from(scale);
            (1700, digits + LENGTH_BEFORE)
        }
    }
}

/// PostgreSQL's modifiers count four bytes of a header that values have there.
const LENGTH_BEFORE: i32 = 4;

fn of_meaning(oid: u32, modifier: i32) -> Option<DataType> {
    let length = || u32::try_from(modifier.checked_sub(LENGTH_BEFORE)?).ok();
    let plain = |data_type| (modifier == -1).then_some(data_type);
    match oid {
        16 => plain(DataType::Boolean),
        17 => plain(DataType::Bytea),
        20 => plain(DataType::BigInt),
        21 => plain(DataType::SmallInt),
        23 => plain(DataType::Integer),
        25 => plain(DataType::Text),
        700 => plain(DataType::Real),
        701 => plain(DataType::Double),
        1042 => length().map(DataType::Char),
        1043 => length().map(DataType::Varchar),
        1082 => plain(DataType::Date),
        1114 => plain(DataType::Timestamp),
        1184 => plain(DataType::TimestampTz),
        1700 => {
            let digits = length()?;
            let (precision, scale) = (u8::try_from(digits >> 16).ok()?, digits & 0xFFFF);
            Some(DataType::Numeric { precision, scale: u8::try_from(scale).ok()? })
        }
        _ => None,
    }
}

/// How values of a type are stored.
fn physical_form(data_type: DataType) -> u8 {
    use BlockValues as B;
    match BlockColumn::new(data_type, false).values() {
        B::Absent => unreachable!("only dropped columns have no values"),
        B::Boolean(_) => 1,
        B::Int16(_) => 2,
        B::Int32(_) => 3,
        B::Int64(_) => 4,
        B::Int128(_) => 5,
        B::Float32(_) => 6,
        B::Float64(_) => 7,
        B::Text(..) => 8,
        B::Bytes(..) => 9,
    }
}

pub(super) fn put_type(to: &mut Encoder, data_type: DataType) {
    let (oid, modifier) = meaning(data_type);
    to.unsigned(u64::from(oid));
    to.signed(i64::from(modifier));
    to.byte(physical_form(data_type));
}

pub(super) fn get_type(from: &mut Decoder<'_>) -> Result<DataType, Malformed> {
    let (oid, modifier) = (from.number()?, from.signed()?);
    let modifier = i32::try_from(modifier).map_err(|_| Malformed)?;
    let data_type = of_meaning(oid, modifier).ok_or(Malformed)?;
    // A form that this version does not read for the type is no form that it may guess at.
    if from.byte()? == physical_form(data_type) { Ok(data_type) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back_as_they_went_and_other_forms_are_refused() {
        let numeric = |precision, scale| DataType::Numeric { precision, scale };
        let types = [
            DataType::Boolean,
            DataType::SmallInt,
            DataType::Integer,
            DataType::BigInt,
            DataType::Real,
            DataType::Double,
            numeric(18, 0),
            numeric(38, 38),
            DataType::Text,
            DataType::Varchar(1),
            DataType::Varchar(10_485_760),
            DataType::Char(7),
            DataType::Date,
            DataType::Timestamp,
            DataType::TimestampTz,
            DataType::Bytea,
        ];
        for data_type in types {
            let mut to = Encoder::default();
            put_type(&mut to, data_type);
            assert_eq!(get_type(&mut Decoder::new(&to.bytes)), Ok(data_type));
            *to.bytes.last_mut().unwrap() += 1;
            assert_eq!(get_type(&mut Decoder::new(&to.bytes)), Err(Malformed));
        }
        let mut unknown = Encoder::default();
        unknown.unsigned(600);
        unknown.signed(-1);
        unknown.byte(1);
        assert_eq!(get_type(&mut Decoder::new(&unknown.bytes)), Err(Malformed));
    }
}
