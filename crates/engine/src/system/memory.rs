//! `shareddb.memory`: what the tables' bytes are taken by, and what each share of the process' memory has and may take.

use super::{SystemTable, number, text};
use crate::env::memory::{Share, live, process};
use crate::heartbeat::Engine;
use crate::storage::{Table, TableMemory};
use crate::types::{DataType, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "memory",
    columns: &[
        // NULL for what is the process'.
        ("table_name", DataType::Text),
        // `share`: of the process' memory, by its name; its limit is a cap, and together they are more than the whole.
        // `process`: all that it has allocated, and what it may take.
        ("part", DataType::Text),
        ("name", DataType::Text),
        ("bytes", DataType::BigInt),
        // NULL where there is none.
        ("limit_bytes", DataType::BigInt),
    ],
    rows,
};

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    let tables = engine.store().tables();
    let of_tables = tables.iter().flat_map(|table| rows_of(table));
    std::iter::once(whole()).chain(Share::all().map(row_of_share)).chain(of_tables).collect()
}

fn limit(bytes: usize) -> Value {
    if process().is_limited() { number(bytes) } else { Value::Null }
}

fn whole() -> Vec<Value> {
    vec![Value::Null, text("process"), Value::Null, number(live()), limit(process().limit())]
}

fn row_of_share(share: Share) -> Vec<Value> {
    let (used, may) = (process().used(share), process().limit_of(share));
    vec![Value::Null, text("share"), text(share.name()), number(used), limit(may)]
}

fn rows_of(table: &Table) -> Vec<Vec<Value>> {
    let schema = table.schema();
    let row = |TableMemory { part, name, bytes }| {
        let name = name.map_or(Value::Null, text);
        vec![text(&*schema.name), text(part.name()), name, number(bytes), Value::Null]
    };
    table.memory_by_part().into_iter().map(row).collect()
}
