//! `shareddb.memory`: what the tables' bytes are taken by.

use super::{SystemTable, number, text};
use crate::heartbeat::Engine;
use crate::storage::{Table, TableMemory};
use crate::types::{DataType, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "memory",
    columns: &[
        ("table_name", DataType::Text),
        ("part", DataType::Text),
        ("name", DataType::Text),
        ("bytes", DataType::BigInt),
    ],
    rows,
};

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    engine.store().tables().iter().flat_map(|table| rows_of(table)).collect()
}

fn rows_of(table: &Table) -> Vec<Vec<Value>> {
    let schema = table.schema();
    let row = |TableMemory { part, name, bytes }| {
        let name = name.map_or(Value::Null, text);
        vec![text(&*schema.name), text(part.name()), name, number(bytes)]
    };
    table.memory_by_part().into_iter().map(row).collect()
}
