//! What a writing statement sees: stored rows, overlaid with the transaction's own changes.
//!
//! The same code runs in two places: in the write heartbeat over the newest state, published or not, with a set
//! that starts empty; and on a session's thread over a snapshot, with the block's set.

use std::sync::Arc;

use super::{LockMode, Overlay, Relation, Relations, WriteSet};
use crate::storage::{Index, TableView};
use crate::types::{ColumnId, Location, Result, RowId, TableId, Value, ValueRef, Version};

/// Which stored rows are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All that was applied before; `published` is what every reader sees, `present` is the version that is
    /// being made. For the writer only.
    Newest {
        /// The newest published version.
        published: Version,
        /// The version in the making.
        present: Version,
    },
    /// What a snapshot sees.
    At(Version),
}

/// What a statement does about locks: a block takes them, the write heartbeat looks at them. An error says that the statement
/// cannot go on as it is; why, its maker is told by the one who locks.
pub(crate) trait RowLocks {
    /// A row is changed, or its keys are to stay.
    fn row(&mut self, relation: &Relation, id: RowId, mode: LockMode) -> Result<()>;
    /// A row gets or loses a key of a unique index. `seen` is what holds it, where the row gets it.
    fn key(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
        seen: Option<Option<RowId>>,
    ) -> Result<()>;
    /// It is looked whether a key of a unique index is there, to do nothing if it is.
    fn look(&mut self, relation: &Relation, index: &Index, key: &[ValueRef<'_>]) -> Result<()>;
    /// What has this key is referred to; `seen` is what the statement sees there.
    fn parent(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
        seen: Option<RowId>,
    ) -> Result<()>;
}

/// Stored rows and a write set.
pub(crate) struct Workspace<'a> {
    pub relations: &'a Relations,
    pub sight: Sight,
    pub set: &'a mut WriteSet,
    locks: Option<&'a mut dyn RowLocks>,
    views: Views,
    /// Views of the published version: they cost less than views of what is in the making, and read any location.
    published: Views,
}

type Views = Vec<(TableId, Arc<TableView>)>;

/// Nothing is applied while a workspace lives, so a view stays true.
fn view_at(views: &mut Views, relation: &Relation, version: Version) -> Arc<TableView> {
    let id = relation.schema.id;
    if let Some((_, view)) = views.iter().find(|(table, _)| *table == id) {
        return view.clone();
    }
    let view = relation.table.view(version);
    views.push((id, view.clone()));
    view
}

impl<'a> Workspace<'a> {
    pub fn new(relations: &'a Relations, sight: Sight, set: &'a mut WriteSet) -> Workspace<'a> {
        let (views, published) = (Vec::new(), Vec::new());
        Workspace { relations, sight, set, locks: None, views, published }
    }

    /// The same, with locks.
    pub fn with_locks(mut self, locks: Option<&'a mut dyn RowLocks>) -> Workspace<'a> {
        self.locks = locks;
        self
    }

    /// Whether somebody asks about locks.
    pub fn has_locks(&self) -> bool {
        self.locks.is_some()
    }

    /// A stored row is to be changed.
    pub fn lock_row(&mut self, relation: &Relation, id: RowId, mode: LockMode) -> Result<()> {
        match &mut self.locks {
            Some(locks) if !WriteSet::is_provisional(id) => locks.row(relation, id, mode),
            _ => Ok(()),
        }
    }

    /// A row gets a key of a unique index, or loses it.
    pub fn lock_key(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
        gets: bool,
    ) -> Result<()> {
        if self.locks.is_none() {
            return Ok(());
        }
        let seen = gets.then(|| self.stored_holder(relation, index, key));
        self.locks.as_mut().map_or(Ok(()), |locks| locks.key(relation, index, key, seen))
    }

    /// Somebody wants to know whether a key is there.
    pub fn look_at_key(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
    ) -> Result<()> {
        self.locks.as_mut().map_or(Ok(()), |locks| locks.look(relation, index, key))
    }

    /// What has this key is referred to.
    pub fn lock_parent(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
    ) -> Result<()> {
        let seen = self.stored_holder(relation, index, key);
        self.locks.as_mut().map_or(Ok(()), |locks| locks.parent(relation, index, key, seen))
    }

    /// A table.
    pub fn relation(&self, table: TableId) -> Result<Arc<Relation>> {
        self.relations.get(table).cloned()
    }

    /// A table that gets new rows. A block's set remembers what it was when they were checked: it commits later.
    pub fn target(&mut self, table: TableId) -> Result<Arc<Relation>> {
        let relation = self.relation(table)?;
        if let Sight::At(_) = self.sight {
            self.set.note_definition(&relation.schema);
        }
        Ok(relation)
    }

    /// The version that changes computed here are based on.
    pub fn base(&self) -> Version {
        match self.sight {
            Sight::Newest { present, .. } => present,
            Sight::At(version) => version,
        }
    }

    /// The table's stored rows.
    pub fn view(&mut self, relation: &Relation) -> Arc<TableView> {
        let version = self.base();
        view_at(&mut self.views, relation, version)
    }

    /// Where the seen version of a stored row lies, and a view to read it with.
    pub fn stored(&mut self, relation: &Relation, id: RowId) -> Option<(Arc<TableView>, Location)> {
        match self.sight {
            Sight::At(_) => {
                let view = self.view(relation);
                view.resolve(id).map(|location| (view, location))
            }
            Sight::Newest { published, .. } => {
                let (location, _, end) = relation.table.newest(id)?;
                let alive = end == Version::INFINITY;
                alive.then(|| (view_at(&mut self.published, relation, published), location))
            }
        }
    }

    /// The values of a row, own or stored.
    pub fn row(&mut self, relation: &Relation, id: RowId) -> Option<Vec<Value>> {
        match self.set.lookup(relation.schema.id, id) {
            Overlay::Row(row) => Some(row.to_vec()),
            Overlay::Deleted => None,
            Overlay::Untouched => {
                self.stored(relation, id).map(|(view, location)| view.row(location))
            }
        }
    }

    /// The row that holds a key of a unique index, other than `except`; own changes count.
    pub fn holder(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
        except: Option<RowId>,
    ) -> Option<RowId> {
        let table = relation.schema.id;
        let mut rows = Vec::new();
        self.set.rows_by_key(table, &index.schema().columns, key, &mut rows);
        if let Some(own) = rows.into_iter().find(|id| Some(*id) != except) {
            return Some(own);
        }
        let stored = self.stored_holder(relation, index, key)?;
        let untouched = self.set.lookup(table, stored) == Overlay::Untouched;
        (untouched && Some(stored) != except).then_some(stored)
    }

    fn stored_holder(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
    ) -> Option<RowId> {
        match self.sight {
            Sight::Newest { .. } => relation.table.newest_holder(index, key),
            Sight::At(_) => {
                let (view, mut found) = (self.view(relation), Vec::new());
                view.probe(index, key, &mut found);
                found.first().map(|location| view.row_id(*location))
            }
        }
    }

    /// All rows, own and stored, whose `columns` equal `key`: through an index that begins with these columns, or
    /// by a pass over the table.
    pub fn rows_with(
        &mut self,
        relation: &Relation,
        columns: &[ColumnId],
        key: &[ValueRef<'_>],
    ) -> Vec<RowId> {
        let mut rows = Vec::new();
        self.set.rows_by_key(relation.schema.id, columns, key, &mut rows);
        let view = self.view(relation);
        let mut locations = Vec::new();
        match whole_key_index(relation, columns) {
            Some((index, order)) => {
                let key: Vec<_> = order.iter().map(|position| key[*position]).collect();
                view.probe(&index, &key, &mut locations);
            }
            None => every_row(&view, |location| {
                let equal = columns.iter().zip(key).all(|(column, value)| {
                    let cell = view.cell(*column, location);
                    !cell.is_null() && !value.is_null() && cell.compare(*value).is_eq()
                });
                if equal {
                    locations.push(location);
                }
            }),
        }
        let stored = locations.into_iter().map(|location| view.row_id(location));
        rows.extend(
            stored.filter(|id| self.set.lookup(relation.schema.id, *id) == Overlay::Untouched),
        );
        rows
    }
}

/// An index on exactly these columns, and for each of its columns the position in `columns`.
fn whole_key_index(relation: &Relation, columns: &[ColumnId]) -> Option<(Arc<Index>, Vec<usize>)> {
    relation.indexes.iter().find_map(|index| {
        let key = &index.schema().columns;
        if key.len() != columns.len() {
            return None;
        }
        let order = key.iter().map(|column| columns.iter().position(|c| c == column));
        order.collect::<Option<Vec<usize>>>().map(|order| (index.clone(), order))
    })
}

/// Hands the location of every row that the view sees to `take`.
pub(crate) fn every_row(view: &TableView, mut take: impl FnMut(Location)) {
    let mut visible = Vec::new();
    for (id, chunk) in view.chunks() {
        visible.clear();
        chunk.visible(view.version(), 0..chunk.rows() as u32, &mut visible);
        visible.iter().for_each(|&offset| take(Location { chunk: *id, offset }));
    }
}
