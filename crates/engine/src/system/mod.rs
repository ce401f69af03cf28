//! The engine about itself, as tables: templates, lanes, operators, heartbeats, memory, verification, promises, stalls.
//!
//! The engine comes in, rows of plain values go out; the `sql` crate shows them as `shareddb.templates` and so
//! on. Nothing here runs unless somebody asks.

mod heartbeats;
mod lanes;
mod memory;
mod operators;
mod promises;
mod stalls;
mod templates;
mod verification;

use crate::heartbeat::Engine;
use crate::types::{DataType, Value};

/// A table about the engine.
#[derive(Clone, Copy, Debug)]
pub struct SystemTable {
    /// Its name in the schema `shareddb`.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [(&'static str, DataType)],
    /// Its rows now; one value per column, of its type or NULL.
    pub rows: fn(&Engine) -> Vec<Vec<Value>>,
}

/// All tables about the engine.
pub const TABLES: [SystemTable; 10] = [
    templates::TABLE,
    lanes::TABLE,
    operators::TABLE,
    heartbeats::TABLE,
    memory::TABLE,
    verification::TABLE,
    verification::DIFFERENCES,
    promises::TABLE,
    promises::CAPACITY,
    stalls::TABLE,
];

fn number(value: impl TryInto<i64>) -> Value {
    // Counters beyond 2^63 do not happen in a server's life; they would show as the largest number.
    Value::BigInt(value.try_into().unwrap_or(i64::MAX))
}

fn text(value: impl Into<Box<str>>) -> Value {
    Value::Text(value.into())
}

fn micros(duration: std::time::Duration) -> Value {
    Value::Double(duration.as_nanos() as f64 / 1000.0)
}
