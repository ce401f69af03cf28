//! What a table's bytes are taken by.

use super::statistics::ColumnCounter;
use super::{Chunk, Table, Zone};
use crate::types::TableSchema;

/// A part of a table that holds memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMemory {
    /// What kind of part.
    pub part: MemoryPart,
    /// The column or the index, where it is one's.
    pub name: Option<Box<str>>,
    /// Bytes allocated.
    pub bytes: usize,
}

/// Kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPart {
    /// Values of a column, without the strings of its dictionary.
    Column,
    /// The strings of a column that repeat.
    Dictionary,
    /// Since when and until when versions live, what they replaced, which row each is of.
    Versions,
    /// Smallest and largest values per chunk.
    Zones,
    /// From row ids to locations.
    RowDirectory,
    /// From keys to rows.
    Index,
    /// What the planner knows about values.
    Statistics,
}

impl MemoryPart {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            MemoryPart::Column => "column",
            MemoryPart::Dictionary => "dictionary",
            MemoryPart::Versions => "versions",
            MemoryPart::Zones => "zones",
            MemoryPart::RowDirectory => "row directory",
            MemoryPart::Index => "index",
            MemoryPart::Statistics => "statistics",
        }
    }
}

impl Table {
    /// Bytes held in all.
    pub fn memory(&self) -> usize {
        self.memory_by_part().iter().map(|part| part.bytes).sum()
    }

    /// Bytes held, by what holds them. Looks at every chunk and every node of the indexes.
    pub fn memory_by_part(&self) -> Vec<TableMemory> {
        let (schema, chunks) = (self.schema(), self.chunks.load_full());
        let of_chunks = |bytes: fn(&Chunk) -> usize| -> usize {
            chunks.chunks().iter().map(|(_, chunk)| bytes(chunk)).sum()
        };
        let own = |part, bytes| TableMemory { part, name: None, bytes };
        let mut parts = self.columns_memory(&schema);
        parts.extend(self.dictionaries_memory(&schema));
        parts.push(own(MemoryPart::Versions, of_chunks(Chunk::versions_memory)));
        parts.push(own(MemoryPart::Zones, of_chunks(Chunk::zones_memory)));
        parts.push(own(MemoryPart::RowDirectory, self.rows.load().memory()));
        parts.extend(self.indexes.load().iter().map(|index| TableMemory {
            part: MemoryPart::Index,
            name: Some((&*index.schema().name).into()),
            bytes: index.weigh().1,
        }));
        let counters = self.counters.lock();
        let statistics = counters.iter().map(ColumnCounter::memory).sum();
        parts.push(own(MemoryPart::Statistics, statistics));
        parts
    }

    fn columns_memory(&self, schema: &TableSchema) -> Vec<TableMemory> {
        let mut bytes = vec![0; schema.columns.len()];
        for (_, chunk) in self.chunks.load().chunks() {
            for (sum, column) in bytes.iter_mut().zip(&chunk.columns) {
                *sum += column.memory();
            }
        }
        let columns = schema.columns.iter().zip(bytes).filter(|(column, _)| !column.dropped);
        columns
            .map(|(column, bytes)| {
                let name = Some((&*column.name).into());
                TableMemory { part: MemoryPart::Column, name, bytes }
            })
            .collect()
    }

    fn dictionaries_memory(&self, schema: &TableSchema) -> Vec<TableMemory> {
        let writer = self.writer.lock();
        let held = writer.dictionaries().map(|(at, dictionary)| TableMemory {
            part: MemoryPart::Dictionary,
            name: Some((&*schema.columns[at].name).into()),
            bytes: dictionary.memory(),
        });
        held.collect()
    }
}

impl Chunk {
    /// Bytes that it takes, without strings of dictionaries.
    pub(super) fn memory(&self) -> usize {
        let columns = self.columns.iter().map(|column| column.memory()).sum::<usize>();
        columns + self.versions_memory() + self.zones_memory()
    }

    fn versions_memory(&self) -> usize {
        size_of::<Chunk>() + self.lives.memory() + self.row_ids_memory()
    }

    fn zones_memory(&self) -> usize {
        self.zones.get().map_or(0, |zones| zones.len() * size_of::<Zone>())
    }
}
