//! Changes of definitions. They take their place in the order of commits like any other write.

use super::{IndexId, IndexSchema, SequenceId, SequenceSchema, TableId, TableSchema};

/// One change of a definition. Names are checked by the `sql` crate before, and again by the write heartbeat
/// (42P07, 42P01), since another session may have been faster.
#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// CREATE TABLE, with its indexes; sequences of serial and identity columns come before it.
    CreateTable(TableSchema),
    /// DROP TABLE, with the sequences that it owns.
    DropTable(TableId),
    /// ALTER TABLE: the whole new definition except its indexes.
    AlterTable(TableSchema),
    /// ALTER TABLE that stores the rows anew, with columns of other types: a new table takes the place of the old one,
    /// whose readers keep it. Foreign keys on the old one and sequences that it owns go to the new one. In the log
    /// the new table's rows follow.
    ReplaceTable {
        /// The old table.
        table: TableId,
        /// The new one: the same name, the same columns at the same places, an id of its own.
        by: TableSchema,
    },
    /// CREATE INDEX, ADD PRIMARY KEY, ADD UNIQUE.
    CreateIndex {
        /// The table.
        table: TableId,
        /// The new index.
        index: IndexSchema,
    },
    /// DROP INDEX, DROP CONSTRAINT.
    DropIndex {
        /// The table.
        table: TableId,
        /// The index.
        index: IndexId,
    },
    /// TRUNCATE, several tables at once.
    Truncate {
        /// The tables.
        tables: Vec<TableId>,
        /// RESTART IDENTITY
        restart_identity: bool,
    },
    /// CREATE SEQUENCE.
    CreateSequence(SequenceSchema),
    /// ALTER SEQUENCE: the whole new definition; what was handed out stays so.
    AlterSequence(SequenceSchema),
    /// DROP SEQUENCE.
    DropSequence(SequenceId),
    /// A piece of catalog that only the crates above understand (views, roles), kept durable for them.
    PutEntry {
        /// Which.
        key: String,
        /// `None` removes it.
        value: Option<Vec<u8>>,
    },
}
