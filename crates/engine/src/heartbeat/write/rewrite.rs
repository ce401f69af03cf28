//! ALTER COLUMN TYPE: all rows of a table into a new one with columns of other types.
//!
//! The write heartbeat computes the new rows from the newest state, so nobody writes to the old table meanwhile;
//! readers go on, and keep the old table for as long as they need it. The new table is filled where nobody sees it
//! and takes the old one's place when everything that can fail has been done.

use std::sync::Arc;

use super::Shared;
use super::define::find;
use crate::env::in_parallel;
use crate::log::Encoder;
use crate::storage::{Chunk, Load, Store, TableView};
use crate::transaction::{
    Relation, Relations, Sight, Workspace, WriteSet, check_kept_children, check_kept_rows,
    check_loaded_parents, check_type,
};
use crate::types::{
    BlockColumn, Check, ChunkId, ColumnId, ColumnSchema, Definition, Location, Result, RowBlock,
    Scalar, TableId, TableSchema, ValueRef, Version, array_cell, limit,
};

/// Chunks that are converted before their rows go into the new table, per worker.
const CHUNKS_AT_ONCE: usize = 4;

/// Rows whose values are computed at once: whoever wants the rewrite may leave meanwhile.
const ROWS_AT_ONCE: usize = 256;

/// What a table's rows become.
#[derive(Debug)]
pub struct TableRewrite {
    /// The table.
    pub table: TableId,
    /// The one that takes its place; see [`Definition::ReplaceTable`].
    pub by: TableSchema,
    /// Columns with new values, of the new types, computed from the old row.
    pub conversions: Vec<(ColumnId, Scalar)>,
    /// CHECK constraints that the new rows are asked again.
    pub checks: Vec<Check>,
}

/// Definitions that change together.
#[derive(Debug, Default)]
pub struct DefinitionChanges {
    /// In the order in which they take effect.
    pub definitions: Vec<Definition>,
    /// Where the rows of each [`Definition::ReplaceTable`] among them come from.
    pub rewrites: Vec<TableRewrite>,
}

impl TableRewrite {
    /// How the definition of the table changes.
    pub fn definition(&self) -> Definition {
        Definition::ReplaceTable { table: self.table, by: self.by.clone() }
    }

    fn conversion(&self, column: ColumnId) -> Option<&Scalar> {
        self.conversions.iter().find(|(id, _)| *id == column).map(|(_, scalar)| scalar)
    }

    /// Converted columns that may have no NULL.
    fn filled(&self) -> Vec<ColumnId> {
        let ids = self.conversions.iter().map(|(id, _)| *id);
        ids.filter(|id| self.by.columns[id.index()].not_null).collect()
    }

    /// The new rows of some rows of a chunk.
    fn convert(&self, view: &TableView, locations: &[Location]) -> Result<RowBlock> {
        let columns = (0..).map(ColumnId).zip(&self.by.columns);
        let columns = columns.map(|(id, column)| self.convert_column(view, locations, id, column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RowBlock::from_columns(locations.len(), columns).expect("one value per row and column"))
    }

    fn convert_column(
        &self,
        view: &TableView,
        locations: &[Location],
        id: ColumnId,
        column: &ColumnSchema,
    ) -> Result<BlockColumn> {
        let mut values = BlockColumn::new(column.data_type, column.dropped);
        if column.dropped {
            return Ok(values);
        }
        let mut push = |value: ValueRef<'_>| check_type(value, column).map(|()| values.push(value));
        match self.conversion(id) {
            Some(Scalar::Expression(expression)) => {
                let read = expression.columns().iter().map(|column| ColumnId(*column as u32));
                let read: Vec<ColumnId> = read.collect();
                for rows in locations.chunks(ROWS_AT_ONCE) {
                    limit::check()?;
                    let read: Vec<_> = read.iter().map(|id| view.gather(*id, rows)).collect();
                    let computed = expression.evaluate(&read, &[], rows.len())?;
                    (0..rows.len()).try_for_each(|row| push(array_cell(&computed, row)))?;
                }
            }
            Some(Scalar::Literal(value)) => {
                locations.iter().try_for_each(|_| push(value.borrow()))?;
            }
            Some(Scalar::Column(from)) => {
                let from = ColumnId(*from as u32);
                locations.iter().try_for_each(|location| push(view.cell(from, *location)))?;
            }
            Some(Scalar::Parameter(_)) => unreachable!("a definition has no parameters"),
            None => locations.iter().try_for_each(|location| push(view.cell(id, *location)))?,
        }
        Ok(values)
    }
}

/// A table's new rows, where nobody sees them, and the log's part.
pub(super) struct Rewritten {
    replaces: TableId,
    load: Load,
    pub blocks: Encoder,
}

/// The new rows of all tables that a block rewrites.
pub(super) struct AllRewritten(pub Vec<Rewritten>);

impl AllRewritten {
    /// The rows of the table that a definition brings in, if it is one that does.
    pub fn of(&mut self, definition: &Definition) -> Option<&mut Rewritten> {
        let Definition::ReplaceTable { by, .. } = definition else { return None };
        let found = self.0.iter_mut().find(|rows| rows.load.schema().id == by.id);
        Some(found.expect("a replaced table's rows were computed"))
    }
}

/// Computes and checks the new rows; nothing has changed when this fails.
pub(super) fn rewrite(
    shared: &Shared,
    rewrite: &TableRewrite,
    sight: Sight,
    set: &mut WriteSet,
) -> Result<Rewritten> {
    let old = find(shared, rewrite.table)?;
    let new = shared.store.unattached_table(rewrite.by.clone());
    let relations = Relations::replacing(&shared.store, rewrite.table, &new);
    let relation = relations.get(rewrite.by.id)?.clone();
    let mut workspace = Workspace::new(&relations, sight, set);
    let view = old.view(workspace.base());
    let mut rewritten =
        Rewritten { replaces: rewrite.table, load: Load::new(&new), blocks: Encoder::default() };
    rewritten.fill(shared, rewrite, &view, &relation)?;
    if let Some((index, row)) = rewritten.load.sort(shared.store.segments()) {
        let row = rewritten.load.row(row);
        return Err(new.cannot_index(index.schema(), |column| row.cell(column)));
    }
    check_loaded_parents(&mut workspace, &relation, &rewritten.load).map_err(|(_, fault)| fault)?;
    let changed: Vec<ColumnId> = rewrite.conversions.iter().map(|(id, _)| *id).collect();
    check_kept_children(&mut workspace, &relation, &changed, &rewritten.load)?;
    Ok(rewritten)
}

impl Rewritten {
    /// Puts the new table in the place of the old one, with rows that are visible from `begin` on.
    pub fn take_place(&mut self, store: &Store, begin: Version) {
        self.load.attach(begin);
        store.replace_table(self.replaces, self.load.table(), begin);
    }

    fn fill(
        &mut self,
        shared: &Shared,
        rewrite: &TableRewrite,
        view: &TableView,
        relation: &Arc<Relation>,
    ) -> Result<()> {
        let (workers, filled) = (shared.store.segments(), rewrite.filled());
        let wanted = limit::current();
        for chunks in view.chunks().chunks(workers * CHUNKS_AT_ONCE) {
            let convert = |id: ChunkId, chunk: &Chunk| {
                let block = rewrite.convert(view, &visible(id, chunk, view.version()))?;
                check_kept_rows(relation, &block, &filled, &rewrite.checks).map(|()| block)
            };
            let blocks = in_parallel(workers, chunks, |(id, chunk)| {
                limit::within(wanted.clone(), || convert(*id, chunk))
            });
            for block in blocks {
                let block = block?;
                let first = self.load.append(&block);
                if shared.data.is_some() {
                    self.blocks.insert_block(rewrite.by.id, first, &block);
                }
            }
        }
        Ok(())
    }
}

fn visible(id: ChunkId, chunk: &Chunk, version: Version) -> Vec<Location> {
    let mut offsets = Vec::new();
    chunk.visible(version, 0..chunk.rows() as u32, &mut offsets);
    offsets.into_iter().map(|offset| Location { chunk: id, offset }).collect()
}
