//! Whether the tables may grow: what a write will store is asked for before it is logged.
//!
//! What tables take is measured now and then, by the housekeeping thread, since it looks at every chunk and every node; in between,
//! what writes bring is added to it by estimate. A write that finds no room fails with 53200 before anything of it is logged or
//! applied, and has the tables measured again: rows may have gone. Reads and deletes ask for nothing; what recovery brings back has
//! been promised and is not asked about.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Shared;
use super::apply::RowChange;
use crate::env::memory::{Share, process};
use crate::types::{Result, Value};

/// What a row takes beside its values: its version, its id, its place in the row directory.
const ROW_BYTES: usize = 32;

/// What an entry of an index takes.
pub(super) const ENTRY_BYTES: usize = 24;

/// What a value takes beside its string.
const VALUE_BYTES: usize = 8;

/// The tables are measured again when they have grown by this part of what they may take.
const MEASURED_PARTS: usize = 32;

/// What is known about the tables' memory.
#[derive(Debug, Default)]
pub(super) struct TableRoom {
    /// Bytes by estimate since the last measurement.
    grown: AtomicUsize,
    /// The housekeeping thread was asked to measure.
    is_asked: AtomicBool,
}

/// About what a row will take in its table.
pub(super) fn stored_bytes(row: &[Value], indexes: usize) -> usize {
    let of_value = |value: &Value| VALUE_BYTES + value.heap();
    ROW_BYTES + ENTRY_BYTES * indexes + row.iter().map(of_value).sum::<usize>()
}

impl Shared {
    /// Takes the room for these changes; 53200 where the tables have none.
    pub(super) fn make_room(&self, changes: &[RowChange<'_>]) -> Result<()> {
        match process().is_limited() {
            true => self.make_room_for(changes.iter().map(RowChange::stored_bytes).sum()),
            false => Ok(()),
        }
    }

    /// Takes room for so many bytes; 53200 where the tables have none.
    pub(super) fn make_room_for(&self, bytes: usize) -> Result<()> {
        let account = process();
        if bytes == 0 || !account.is_limited() {
            return Ok(());
        }
        let granted = account.take(Share::Tables, bytes);
        let grown = self.room.grown.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let is_much = grown >= account.limit_of(Share::Tables) / MEASURED_PARTS;
        if (granted.is_err() || is_much) && !self.room.is_asked.swap(true, Ordering::Relaxed) {
            self.housekeeping.measure();
        }
        granted
    }

    /// Measures the tables.
    pub(super) fn measure(&self) {
        self.room.is_asked.store(false, Ordering::Relaxed);
        self.room.grown.store(0, Ordering::Relaxed);
        let bytes = self.store.tables().iter().map(|table| table.memory()).sum();
        process().set_used(Share::Tables, bytes);
    }
}
