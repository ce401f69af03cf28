//! Definitions as bytes.

use std::sync::Arc;

use super::column_type::{get_type, put_type};
use super::{Decoder, Encoder, Malformed};
use crate::types::{
    CheckConstraint, ColumnDefault, ColumnId, ColumnSchema, Definition, ForeignKey,
    ForeignKeyAction, IndexId, IndexKind, IndexSchema, SequenceId, SequenceSchema, TableId,
    TableSchema,
};

type Decoded<T> = Result<T, Malformed>;

pub(super) fn put_table(to: &mut Encoder, table: &TableSchema) {
    to.unsigned(u64::from(table.id.0));
    to.text(&table.schema);
    to.text(&table.name);
    to.list(&table.columns, put_column);
    to.list(&table.indexes, put_index);
    to.list(&table.checks, |to, check| {
        to.text(&check.name);
        to.text(&check.expression);
    });
    to.list(&table.foreign_keys, put_foreign_key);
}

pub(super) fn get_table(from: &mut Decoder<'_>) -> Decoded<TableSchema> {
    Ok(TableSchema {
        id: TableId(from.number()?),
        schema: from.text()?.into(),
        name: from.text()?.into(),
        columns: from.list(get_column)?,
        indexes: from.list(get_index)?,
        checks: from.list(|from| {
            Ok(CheckConstraint { name: from.text()?.into(), expression: from.text()?.into() })
        })?,
        foreign_keys: from.list(get_foreign_key)?,
    })
}

fn put_column(to: &mut Encoder, column: &ColumnSchema) {
    to.text(&column.name);
    put_type(to, column.data_type);
    to.flag(column.not_null);
    put_default(to, &column.default);
    to.flag(column.dropped);
    to.value(column.missing.borrow());
}

fn get_column(from: &mut Decoder<'_>) -> Decoded<ColumnSchema> {
    Ok(ColumnSchema {
        name: from.text()?.into(),
        data_type: get_type(from)?,
        not_null: from.flag()?,
        default: get_default(from)?,
        dropped: from.flag()?,
        missing: from.value()?,
    })
}

fn put_default(to: &mut Encoder, default: &ColumnDefault) {
    match default {
        ColumnDefault::None => to.byte(0),
        ColumnDefault::Constant(value) => {
            to.byte(1);
            to.value(value.borrow());
        }
        ColumnDefault::Expression(text) => {
            to.byte(2);
            to.text(text);
        }
        ColumnDefault::Generated(text) => {
            to.byte(4);
            to.text(text);
        }
        ColumnDefault::Sequence { id, always, identity } => {
            to.byte(3);
            to.unsigned(u64::from(id.0));
            to.flag(*always);
            to.flag(*identity);
        }
    }
}

fn get_default(from: &mut Decoder<'_>) -> Decoded<ColumnDefault> {
    Ok(match from.byte()? {
        0 => ColumnDefault::None,
        1 => ColumnDefault::Constant(from.value()?),
        2 => ColumnDefault::Expression(from.text()?.into()),
        3 => ColumnDefault::Sequence {
            id: SequenceId(from.number()?),
            always: from.flag()?,
            identity: from.flag()?,
        },
        4 => ColumnDefault::Generated(from.text()?.into()),
        _ => return Err(Malformed),
    })
}

fn put_columns(to: &mut Encoder, columns: &[ColumnId]) {
    to.list(columns, |to, column| to.unsigned(u64::from(column.0)));
}

fn get_columns(from: &mut Decoder<'_>) -> Decoded<Vec<ColumnId>> {
    from.list(|from| Ok(ColumnId(from.number()?)))
}

fn put_index(to: &mut Encoder, index: &IndexSchema) {
    to.unsigned(u64::from(index.id.0));
    to.text(&index.name);
    put_columns(to, &index.columns);
    to.flag(index.kind == IndexKind::Ordered);
    to.flag(index.unique);
    to.flag(index.primary);
    to.flag(index.constraint);
}

fn get_index(from: &mut Decoder<'_>) -> Decoded<IndexSchema> {
    Ok(IndexSchema {
        id: IndexId(from.number()?),
        name: from.text()?.into(),
        columns: get_columns(from)?,
        kind: if from.flag()? { IndexKind::Ordered } else { IndexKind::Hash },
        unique: from.flag()?,
        primary: from.flag()?,
        constraint: from.flag()?,
    })
}

fn put_foreign_key(to: &mut Encoder, key: &ForeignKey) {
    to.text(&key.name);
    put_columns(to, &key.columns);
    to.unsigned(u64::from(key.parent.0));
    put_columns(to, &key.parent_columns);
    to.byte(action_byte(key.on_delete) | if key.is_full { FULL } else { 0 });
    to.byte(action_byte(key.on_update));
}

fn get_foreign_key(from: &mut Decoder<'_>) -> Decoded<ForeignKey> {
    let (name, columns) = (from.text()?.into(), get_columns(from)?);
    let (parent, parent_columns) = (TableId(from.number()?), get_columns(from)?);
    let (on_delete, on_update) = (from.byte()?, from.byte()?);
    Ok(ForeignKey {
        name,
        columns,
        parent,
        parent_columns,
        is_full: on_delete & FULL != 0,
        on_delete: action_of(on_delete & !FULL)?,
        on_update: action_of(on_update)?,
    })
}

/// Beside the action on DELETE: MATCH FULL. Without it a key is written as it was before there was MATCH FULL.
const FULL: u8 = 0x80;

fn action_byte(action: ForeignKeyAction) -> u8 {
    match action {
        ForeignKeyAction::NoAction => 0,
        ForeignKeyAction::Cascade => 1,
        ForeignKeyAction::SetNull => 2,
        ForeignKeyAction::Restrict => 3,
        ForeignKeyAction::SetDefault => 4,
    }
}

fn action_of(byte: u8) -> Decoded<ForeignKeyAction> {
    Ok(match byte {
        0 => ForeignKeyAction::NoAction,
        1 => ForeignKeyAction::Cascade,
        2 => ForeignKeyAction::SetNull,
        3 => ForeignKeyAction::Restrict,
        4 => ForeignKeyAction::SetDefault,
        _ => return Err(Malformed),
    })
}

pub(super) fn put_sequence(to: &mut Encoder, sequence: &SequenceSchema) {
    to.unsigned(u64::from(sequence.id.0));
    to.text(&sequence.name);
    for value in [sequence.start, sequence.increment, sequence.min, sequence.max] {
        to.signed(value);
    }
    to.flag(sequence.cycle);
    to.flag(sequence.owner.is_some());
    if let Some((table, column)) = sequence.owner {
        to.unsigned(u64::from(table.0));
        to.unsigned(u64::from(column.0));
    }
}

pub(super) fn get_sequence(from: &mut Decoder<'_>) -> Decoded<SequenceSchema> {
    Ok(SequenceSchema {
        id: SequenceId(from.number()?),
        name: from.text()?.into(),
        start: from.signed()?,
        increment: from.signed()?,
        min: from.signed()?,
        max: from.signed()?,
        cycle: from.flag()?,
        owner: match from.flag()? {
            false => None,
            true => Some((TableId(from.number()?), ColumnId(from.number()?))),
        },
    })
}

pub(super) fn put_definition(to: &mut Encoder, definition: &Definition) {
    match definition {
        Definition::CreateTable(table) => {
            to.byte(0);
            put_table(to, table);
        }
        Definition::DropTable(table) => {
            to.byte(1);
            to.unsigned(u64::from(table.0));
        }
        Definition::AlterTable(table) => {
            to.byte(2);
            put_table(to, table);
        }
        Definition::CreateIndex { table, index } => {
            to.byte(3);
            to.unsigned(u64::from(table.0));
            put_index(to, index);
        }
        Definition::DropIndex { table, index } => {
            to.byte(4);
            to.unsigned(u64::from(table.0));
            to.unsigned(u64::from(index.0));
        }
        Definition::Truncate { tables, restart_identity } => {
            to.byte(5);
            to.list(tables, |to, table| to.unsigned(u64::from(table.0)));
            to.flag(*restart_identity);
        }
        Definition::CreateSequence(sequence) => {
            to.byte(6);
            put_sequence(to, sequence);
        }
        Definition::DropSequence(sequence) => {
            to.byte(7);
            to.unsigned(u64::from(sequence.0));
        }
        Definition::PutEntry { key, value } => {
            to.byte(8);
            to.text(key);
            to.flag(value.is_some());
            to.slice(value.as_deref().unwrap_or_default());
        }
        Definition::ReplaceTable { table, by } => {
            to.byte(9);
            to.unsigned(u64::from(table.0));
            put_table(to, by);
        }
        Definition::AlterSequence(sequence) => {
            to.byte(10);
            put_sequence(to, sequence);
        }
    }
}

pub(super) fn get_definition(from: &mut Decoder<'_>) -> Decoded<Definition> {
    Ok(match from.byte()? {
        0 => Definition::CreateTable(get_table(from)?),
        1 => Definition::DropTable(TableId(from.number()?)),
        2 => Definition::AlterTable(get_table(from)?),
        3 => Definition::CreateIndex { table: TableId(from.number()?), index: get_index(from)? },
        4 => {
            Definition::DropIndex { table: TableId(from.number()?), index: IndexId(from.number()?) }
        }
        5 => Definition::Truncate {
            tables: from.list(|from| Ok(TableId(from.number()?)))?,
            restart_identity: from.flag()?,
        },
        6 => Definition::CreateSequence(get_sequence(from)?),
        7 => Definition::DropSequence(SequenceId(from.number()?)),
        8 => {
            let key: Arc<str> = from.text()?.into();
            let (present, value) = (from.flag()?, from.slice()?);
            Definition::PutEntry { key: key.to_string(), value: present.then(|| value.to_vec()) }
        }
        9 => Definition::ReplaceTable { table: TableId(from.number()?), by: get_table(from)? },
        10 => Definition::AlterSequence(get_sequence(from)?),
        _ => return Err(Malformed),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::types::{DataType, Value};

    fn foreign_key(
        is_full: bool,
        on_delete: ForeignKeyAction,
        on_update: ForeignKeyAction,
    ) -> ForeignKey {
        ForeignKey {
            name: "f".into(),
            columns: vec![ColumnId(1), ColumnId(2)],
            parent: TableId(3),
            parent_columns: vec![ColumnId(4), ColumnId(0)],
            is_full,
            on_delete,
            on_update,
        }
    }

    pub(crate) fn every_definition() -> Vec<Definition> {
        let index = IndexSchema {
            id: IndexId(9),
            name: "t_pkey".into(),
            columns: vec![ColumnId(0), ColumnId(1)],
            kind: IndexKind::Ordered,
            unique: true,
            primary: true,
            constraint: true,
        };
        let column = |data_type, default| ColumnSchema {
            name: "c".into(),
            data_type,
            not_null: true,
            default,
            dropped: false,
            missing: Value::Null,
        };
        let sequence = SequenceSchema {
            id: SequenceId(4),
            name: "s".into(),
            start: 1,
            increment: -1,
            min: i64::MIN,
            max: i64::MAX,
            cycle: true,
            owner: Some((TableId(7), ColumnId(1))),
        };
        let table = TableSchema {
            id: TableId(7),
            schema: "public".into(),
            name: "t".into(),
            columns: vec![
                column(DataType::Numeric { precision: 12, scale: 2 }, ColumnDefault::None),
                column(DataType::Char(3), ColumnDefault::Constant(Value::Text("x".into()))),
                column(DataType::TimestampTz, ColumnDefault::Expression("now()".into())),
                column(DataType::Integer, ColumnDefault::Generated("c + 1".into())),
                column(
                    DataType::BigInt,
                    ColumnDefault::Sequence { id: SequenceId(4), always: true, identity: false },
                ),
            ],
            indexes: vec![index.clone()],
            checks: vec![CheckConstraint { name: "k".into(), expression: "c > 0".into() }],
            foreign_keys: vec![
                foreign_key(false, ForeignKeyAction::Cascade, ForeignKeyAction::SetNull),
                foreign_key(true, ForeignKeyAction::Restrict, ForeignKeyAction::SetDefault),
            ],
        };
        vec![
            Definition::CreateTable(table.clone()),
            Definition::DropTable(TableId(1)),
            Definition::AlterTable(table.clone()),
            Definition::ReplaceTable { table: TableId(6), by: table },
            Definition::CreateIndex { table: TableId(7), index },
            Definition::DropIndex { table: TableId(7), index: IndexId(9) },
            Definition::Truncate { tables: vec![TableId(7)], restart_identity: true },
            Definition::CreateSequence(sequence.clone()),
            Definition::AlterSequence(sequence),
            Definition::DropSequence(SequenceId(4)),
            Definition::PutEntry { key: "view/v".into(), value: Some(vec![1, 2]) },
            Definition::PutEntry { key: "view/v".into(), value: None },
        ]
    }

    #[test]
    fn definitions_come_back_as_they_went() {
        for definition in every_definition() {
            let mut encoder = Encoder::default();
            put_definition(&mut encoder, &definition);
            let mut decoder = Decoder::new(&encoder.bytes);
            assert_eq!(get_definition(&mut decoder), Ok(definition));
            assert!(decoder.is_empty());
        }
    }
}
