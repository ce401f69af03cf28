//! What a transaction wants to change, before it is anybody else's business.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::locks::{LockMark, Locks, Owner};
use crate::env::memory::{Reservation, Share};
use crate::types::{
    ChunkId, Location, Result, RowId, SessionId, TableId, TableSchema, Value, Version,
};

/// How a block reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// A fresh snapshot per statement; a row that has changed since is evaluated again when it is locked.
    ReadCommitted,
    /// One snapshot; a changed row is 40001.
    RepeatableRead,
}

/// One change of one row.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new row.
    Insert {
        /// The table.
        table: TableId,
        /// Provisional until commit, see [`WriteSet::is_provisional`].
        id: RowId,
        /// One value per column id.
        row: Arc<[Value]>,
    },
    /// A new version of a row.
    Update {
        /// The table.
        table: TableId,
        /// The row.
        id: RowId,
        /// The version of the snapshot that it was computed from.
        base: Version,
        /// One value per column id.
        row: Arc<[Value]>,
    },
    /// The end of a row.
    Delete {
        /// The table.
        table: TableId,
        /// The row.
        id: RowId,
        /// The version of the snapshot in which it was seen.
        base: Version,
    },
}

/// A place to roll back to with the locks that were taken since, for savepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    changes: Mark,
    locks: LockMark,
}

impl Change {
    /// Which row.
    pub fn row_key(&self) -> (TableId, RowId) {
        match self {
            Change::Insert { table, id, .. }
            | Change::Update { table, id, .. }
            | Change::Delete { table, id, .. } => (*table, *id),
        }
    }

    /// The row's new values, where it stays.
    pub fn row(&self) -> Option<&[Value]> {
        match self {
            Change::Insert { row, .. } | Change::Update { row, .. } => Some(row),
            Change::Delete { .. } => None,
        }
    }

    /// About what it takes in a set.
    fn bytes(&self) -> usize {
        let of_value = |value: &Value| size_of::<Value>() + value.heap();
        ENTRY_BYTES + self.row().map_or(0, |row| row.iter().map(of_value).sum())
    }

    /// The version of the snapshot that the change was computed from; `None` for a new row.
    pub fn base(&self) -> Option<Version> {
        match self {
            Change::Insert { .. } => None,
            Change::Update { base, .. } | Change::Delete { base, .. } => Some(*base),
        }
    }
}

/// What a transaction has made of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Overlay<'a> {
    /// Nothing: read it from the snapshot.
    Untouched,
    /// It is gone.
    Deleted,
    /// It has these values, one per column id.
    Row(&'a [Value]),
}

/// A place to roll back to, for savepoints and failed statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

impl Mark {
    /// Changes before the mark.
    pub(crate) fn position(self) -> usize {
        self.0
    }
}

#[derive(Clone, Debug)]
struct Entry {
    change: Change,
    /// The entry that this one replaced as its row's newest.
    previous: Option<u32>,
}

/// What a change takes beside its row's values: its entry (lists grow by doubling), its place among the newest and in an index
/// over own keys.
const ENTRY_BYTES: usize = 2 * size_of::<Entry>() + 96;

/// The changes of one transaction in statement order, and an index over them for its own reads.
#[derive(Debug)]
pub struct WriteSet {
    entries: Vec<Entry>,
    newest: HashMap<(TableId, RowId), u32, RandomState>,
    provisional_rows: u64,
    /// What tables were when their first row was made.
    definitions: Vec<Arc<TableSchema>>,
    pub(crate) keys: super::OwnKeys,
    /// About what the changes take.
    bytes: usize,
    held: Reservation,
    /// The locks of its transaction, which end with it.
    owner: Option<Arc<Owner>>,
    session: Option<SessionId>,
}

impl Default for WriteSet {
    fn default() -> WriteSet {
        WriteSet {
            entries: Vec::new(),
            newest: HashMap::default(),
            provisional_rows: 0,
            definitions: Vec::new(),
            keys: super::OwnKeys::default(),
            bytes: 0,
            held: Reservation::new(Share::Writes),
            owner: None,
            session: None,
        }
    }
}

/// Where a row of the private overlay lies is never a storage location.
pub const OVERLAY: Location = Location { chunk: ChunkId(u32::MAX - 1), offset: 0 };

const PROVISIONAL: u64 = 1 << 63;

impl WriteSet {
    /// An empty set.
    pub fn new() -> WriteSet {
        WriteSet::default()
    }

    /// An empty set of a session's transaction: its locks do not stand in the way of others that the session has.
    pub fn of(session: SessionId) -> WriteSet {
        WriteSet { session: Some(session), ..WriteSet::default() }
    }

    /// Asks for the memory of what was added; 53200 where there is none. Whoever adds row by row asks after each of them: then it
    /// goes beyond its share by one row at most.
    #[inline]
    pub fn make_room(&mut self) -> Result<()> {
        self.held.grow_to(self.bytes)
    }

    /// About what the changes take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Rows of this table are made for this definition, unless some were before.
    pub(crate) fn note_definition(&mut self, definition: &Arc<TableSchema>) {
        if self.definition(definition.id).is_none() {
            self.definitions.push(definition.clone());
        }
    }

    /// What a table was when its first row was made.
    pub(crate) fn definition(&self, table: TableId) -> Option<&Arc<TableSchema>> {
        self.definitions.iter().find(|definition| definition.id == table)
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The changes, in statement order.
    pub fn changes(&self) -> impl ExactSizeIterator<Item = &Change> {
        self.entries.iter().map(|entry| &entry.change)
    }

    pub(crate) fn change(&self, position: usize) -> &Change {
        &self.entries[position].change
    }

    /// Whether a row id is this kind of transaction's own, given before the row exists.
    pub fn is_provisional(id: RowId) -> bool {
        id.0 & PROVISIONAL != 0
    }

    /// Adds a new row; its id is provisional.
    pub fn insert(&mut self, table: TableId, row: Box<[Value]>) -> RowId {
        self.insert_row(table, row.into())
    }

    pub(crate) fn insert_row(&mut self, table: TableId, row: Arc<[Value]>) -> RowId {
        let id = RowId(PROVISIONAL | self.provisional_rows);
        self.provisional_rows += 1;
        self.push(Change::Insert { table, id, row });
        id
    }

    /// Takes over a change of another set, ids included.
    pub(crate) fn adopt(&mut self, change: Change) {
        if let Change::Insert { id, .. } = &change {
            self.provisional_rows = self.provisional_rows.max((id.0 & !PROVISIONAL) + 1);
        }
        self.push(change);
    }

    /// Gives a row new values. `base` is the version of the snapshot that they were computed from: the row has
    /// changed since if its newest version began later.
    pub fn update(&mut self, table: TableId, id: RowId, base: Version, row: Box<[Value]>) {
        self.update_row(table, id, base, row);
    }

    pub(crate) fn update_row(
        &mut self,
        table: TableId,
        id: RowId,
        base: Version,
        row: impl Into<Arc<[Value]>>,
    ) {
        let base = self.base_of(table, id).unwrap_or(base);
        self.push(Change::Update { table, id, base, row: row.into() });
    }

    /// Ends a row.
    pub fn delete(&mut self, table: TableId, id: RowId, base: Version) {
        let base = self.base_of(table, id).unwrap_or(base);
        self.push(Change::Delete { table, id, base });
    }

    fn base_of(&self, table: TableId, id: RowId) -> Option<Version> {
        self.newest_change(table, id).map(|change| change.base().unwrap_or(Version(0)))
    }

    fn push(&mut self, change: Change) {
        let position = u32::try_from(self.entries.len()).expect("memory ends before 4 G changes");
        let previous = self.newest.insert(change.row_key(), position);
        self.bytes += change.bytes();
        self.entries.push(Entry { change, previous });
    }

    pub(crate) fn newest_change(&self, table: TableId, id: RowId) -> Option<&Change> {
        self.newest.get(&(table, id)).map(|&i| &self.entries[i as usize].change)
    }

    /// What the transaction has made of a row.
    #[inline]
    pub fn lookup(&self, table: TableId, id: RowId) -> Overlay<'_> {
        if self.entries.is_empty() {
            return Overlay::Untouched;
        }
        match self.newest_change(table, id) {
            None => Overlay::Untouched,
            Some(Change::Delete { .. }) => Overlay::Deleted,
            Some(Change::Insert { row, .. } | Change::Update { row, .. }) => Overlay::Row(row),
        }
    }

    /// The transaction's own values of a row, if it is its own and not deleted.
    pub(crate) fn own_row(&self, table: TableId, id: RowId) -> Option<Arc<[Value]>> {
        match self.newest_change(table, id)? {
            Change::Insert { row, .. } | Change::Update { row, .. } => Some(row.clone()),
            Change::Delete { .. } => None,
        }
    }

    /// What the transaction had made of a row before the change at `position`.
    pub(crate) fn before(&self, position: usize) -> Overlay<'_> {
        match self.entries[position].previous.map(|previous| self.change(previous as usize)) {
            None => Overlay::Untouched,
            Some(Change::Delete { .. }) => Overlay::Deleted,
            Some(Change::Insert { row, .. } | Change::Update { row, .. }) => Overlay::Row(row),
        }
    }

    /// Whether the change at `position` is its row's first one, and which its newest is.
    pub(crate) fn first_and_newest(&self, position: usize) -> (bool, &Change) {
        let entry = &self.entries[position];
        let newest = self.newest[&entry.change.row_key()];
        (entry.previous.is_none(), self.change(newest as usize))
    }

    /// Whether reads of a table must look here.
    pub fn touches(&self, table: TableId) -> bool {
        self.entries.iter().any(|entry| entry.change.row_key().0 == table)
    }

    /// The rows of a table that are the transaction's own, with their newest values: new and changed ones. A
    /// reader takes these, and from its snapshot the rows that are [`Overlay::Untouched`].
    pub fn rows(&self, table: TableId) -> impl Iterator<Item = (RowId, &[Value])> {
        self.entries.iter().enumerate().filter_map(move |(position, entry)| {
            let key = entry.change.row_key();
            if key.0 != table || self.newest.get(&key) != Some(&(position as u32)) {
                return None;
            }
            match &entry.change {
                Change::Insert { row, .. } | Change::Update { row, .. } => Some((key.1, &**row)),
                Change::Delete { .. } => None,
            }
        })
    }

    /// The present place, to roll back to.
    pub fn mark(&self) -> Mark {
        Mark(self.entries.len())
    }

    /// Forgets everything since the mark.
    pub fn rollback_to(&mut self, mark: Mark) {
        while self.entries.len() > mark.0 {
            let entry = self.entries.pop().expect("longer than the mark");
            self.bytes = self.bytes.saturating_sub(entry.change.bytes());
            match entry.previous {
                Some(previous) => drop(self.newest.insert(entry.change.row_key(), previous)),
                None => drop(self.newest.remove(&entry.change.row_key())),
            }
        }
        self.keys.truncate(mark.0);
        self.held.shrink_to(self.bytes);
    }

    /// The present place, to roll back to with all locks that will have been taken.
    pub fn place(&self) -> Place {
        Place {
            changes: self.mark(),
            locks: self.owner.as_ref().map(|owner| owner.mark()).unwrap_or_default(),
        }
    }

    /// Forgets everything since, and ends the locks that were taken since.
    pub fn return_to(&mut self, place: Place) {
        self.rollback_to(place.changes);
        self.owner.iter().for_each(|owner| owner.release_to(place.locks));
    }

    /// Who has its transaction's locks.
    pub(crate) fn owner(&mut self, locks: &Arc<Locks>) -> &Arc<Owner> {
        let session = self.session;
        self.owner.get_or_insert_with(|| Arc::new(locks.owner(session)))
    }

    /// Forgets everything, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.newest.clear();
        self.provisional_rows = 0;
        self.definitions.clear();
        self.keys.truncate(0);
        self.bytes = 0;
        self.held.shrink_to(0);
    }
}
