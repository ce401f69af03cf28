//! Definitions that a block has changed and not committed, as its catalog shows them.

use std::sync::Arc;

use engine::types::{Definition, SequenceSchema, TableSchema};

/// Applies one to what is there.
pub fn apply(
    definition: &Definition,
    tables: &mut Vec<TableSchema>,
    sequences: &mut Vec<Arc<SequenceSchema>>,
) {
    match definition {
        Definition::AlterTable(schema) => {
            if let Some(table) = tables.iter_mut().find(|table| table.id == schema.id) {
                let indexes = std::mem::take(&mut table.indexes);
                *table = TableSchema { indexes, ..schema.clone() };
            }
        }
        Definition::CreateIndex { table, index } => {
            if let Some(table) = tables.iter_mut().find(|known| known.id == *table) {
                table.indexes.push(index.clone());
            }
        }
        Definition::DropIndex { table, index } => {
            if let Some(table) = tables.iter_mut().find(|known| known.id == *table) {
                table.indexes.retain(|known| known.id != *index);
            }
        }
        Definition::ReplaceTable { table: id, by } => {
            for table in tables.iter_mut() {
                if table.id == *id {
                    *table = by.clone();
                } else {
                    table.repoint_keys(*id, by.id);
                }
            }
            for sequence in sequences.iter_mut() {
                if let Some((_, column)) = sequence.owner.filter(|(owner, _)| owner == id) {
                    Arc::make_mut(sequence).owner = Some((by.id, column));
                }
            }
        }
        Definition::AlterSequence(schema) => {
            if let Some(sequence) = sequences.iter_mut().find(|known| known.id == schema.id) {
                *sequence = Arc::new(schema.clone());
            }
        }
        Definition::DropTable(id) => {
            tables.retain(|table| table.id != *id);
            sequences.retain(|s| s.owner.is_none_or(|(owner, _)| owner != *id));
        }
        Definition::DropSequence(id) => sequences.retain(|sequence| sequence.id != *id),
        Definition::CreateTable(_)
        | Definition::CreateSequence(_)
        | Definition::Truncate { .. }
        | Definition::PutEntry { .. } => {}
    }
}
