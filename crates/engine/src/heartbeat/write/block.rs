//! Statements of transaction blocks: they run on the session's thread, over a snapshot and the block's own set.

use super::access::has_index;
use super::statement::run;
use super::{LOOK, Shared, WriteHeartbeat};
use crate::heartbeat::WriteOutcome;
use crate::plan::{WriteAction, WritePlan};
use crate::storage::Snapshot;
use crate::transaction::{Change, Isolation, Relations, Sight, Workspace, WriteSet, refresh};
use crate::types::{Result, RowId, TableId, Value, Version};

/// How often a statement with RETURNING runs again because its rows have changed meanwhile.
const RETURNING_ATTEMPTS: u32 = 3;

/// Rows that take a statement well below a millisecond.
const SHORT: usize = 1_000;

/// Whether a block may read its own pending changes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// It may; take the snapshot of the statement now.
    Ready,
    /// Somebody else is ahead with one of the rows: ask again after this time.
    Wait(std::time::Duration),
}

impl WriteHeartbeat {
    /// Runs a write of a block. After an error the set is as before.
    ///
    /// RETURNING shows what commit will write, so under READ COMMITTED its rows are held first, and if they have
    /// changed under the statement it runs again on a fresh snapshot.
    pub fn write_in_transaction(
        &self,
        plan: &WritePlan,
        parameters: &[Value],
        snapshot: &Snapshot,
        isolation: Isolation,
        set: &mut WriteSet,
    ) -> Result<WriteOutcome> {
        let shared = &*self.shared;
        let mut snapshot = snapshot.clone();
        for attempt in 0.. {
            let mark = set.mark();
            let (outcome, shown) = shared.attempt(plan, parameters, &snapshot, isolation, set)?;
            let rows: Vec<_> =
                shown.into_iter().filter(|(_, id)| !WriteSet::is_provisional(*id)).collect();
            let settled = rows.is_empty()
                || isolation == Isolation::RepeatableRead
                || attempt == RETURNING_ATTEMPTS
                || shared.settle(set, &rows);
            if settled {
                rows.into_iter().for_each(|row| set.exposed.mark(row));
                return Ok(outcome);
            }
            set.rollback_to(mark);
            snapshot = shared.store.snapshot();
        }
        unreachable!("the last attempt returns")
    }

    /// See [`crate::heartbeat::Engine::is_short`].
    pub fn is_short(&self, plan: &WritePlan) -> bool {
        self.shared.is_short(plan)
    }

    /// Prepares a READ COMMITTED block for reading its own changes of a table: from then on others let it go
    /// first for a moment, and what it reads is what its commit will write. See
    /// [`Courtesy`](crate::transaction::Courtesy).
    pub fn expose(&self, set: &mut WriteSet, table: TableId) -> Exposure {
        let shared = &*self.shared;
        let rows = unexposed(set, table);
        if rows.is_empty() {
            set.looked_at(table);
            return Exposure::Ready;
        }
        if let Exposure::Wait(pause) = shared.hold(set, &rows) {
            return Exposure::Wait(pause);
        }
        let relations = shared.relations.load();
        let snapshot = shared.store.snapshot();
        let sight = Sight::At(snapshot.version());
        for (table, id) in rows {
            let mut workspace = Workspace::new(&relations, sight, set);
            if changed_since_base(workspace.set, &relations, (table, id)) {
                // An error shows again at commit, where it belongs to a statement that can report it.
                let _ = refresh(&mut workspace, table, id);
            }
            set.exposed.mark((table, id));
        }
        set.looked_at(table);
        Exposure::Ready
    }
}

impl Shared {
    /// Whether a statement's rows are few, or found by an index. What is longer runs apart from the threads that serve
    /// connections.
    pub(super) fn is_short(&self, plan: &WritePlan) -> bool {
        let (table, predicates) = match &plan.action {
            WriteAction::Insert(insert) => return insert.rows.len() <= SHORT,
            WriteAction::Update(update) => (update.table, &update.predicates),
            WriteAction::Delete(delete) => (delete.table, &delete.predicates),
        };
        let relations = self.relations.load();
        relations.get(table).map_or(true, |relation| {
            relation.table.live_rows() <= SHORT as u64 || has_index(relation, predicates)
        })
    }

    /// Holds rows; ready when a snapshot taken now sees all their changes by others so far.
    pub(super) fn hold(&self, set: &mut WriteSet, rows: &[(TableId, RowId)]) -> Exposure {
        let now = self.environment.clock.now();
        if !self.courtesy.hold(&mut set.exposed, rows, now) {
            return Exposure::Wait(LOOK);
        }
        if !self.write_is_over(&mut set.exposed.write_ahead) {
            return Exposure::Wait(LOOK);
        }
        let (relations, published) = (self.relations.load(), self.store.published());
        match rows.iter().any(|row| in_flight(&relations, *row, published)) {
            true => Exposure::Wait(LOOK),
            false => Exposure::Ready,
        }
    }

    fn attempt(
        &self,
        plan: &WritePlan,
        parameters: &[Value],
        snapshot: &Snapshot,
        isolation: Isolation,
        set: &mut WriteSet,
    ) -> Result<(WriteOutcome, Vec<(TableId, RowId)>)> {
        let mark = set.mark();
        let relations = self.relations.load();
        let sight = Sight::At(snapshot.version());
        let mut workspace = Workspace::new(&relations, sight, set);
        let again = isolation == Isolation::ReadCommitted;
        match run(&self.store, &mut workspace, plan, parameters, again) {
            Ok(effect) => {
                let (rows, returning) = (effect.rows, effect.returning);
                let version = snapshot.version();
                Ok((WriteOutcome { version, rows, returning, is_first: false }, effect.shown))
            }
            Err(error) => {
                set.rollback_to(mark);
                Err(error)
            }
        }
    }

    /// Holds rows that RETURNING is about to show; whether they are still as the statement saw them. Where somebody
    /// else holds one this set goes on without, and may meet a conflict.
    fn settle(&self, set: &mut WriteSet, rows: &[(TableId, RowId)]) -> bool {
        let held = self.hold(set, rows) == Exposure::Ready;
        let relations = self.relations.load();
        !held || rows.iter().all(|row| !changed_since_base(set, &relations, *row))
    }
}

/// The stored rows of a table that a set changes and that its client has not seen so.
fn unexposed(set: &WriteSet, table: TableId) -> Vec<(TableId, RowId)> {
    let mut rows: Vec<_> = set
        .changes_to_look_at(table)
        .filter(|change| matches!(change, Change::Update { .. } | Change::Delete { .. }))
        .map(Change::row_key)
        .filter(|key| {
            key.0 == table && !WriteSet::is_provisional(key.1) && !set.exposed.contains(*key)
        })
        .collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Whether a row was changed by a write that is not published yet.
fn in_flight(relations: &Relations, (table, id): (TableId, RowId), published: Version) -> bool {
    let newest = relations.get(table).ok().and_then(|relation| relation.table.newest(id));
    newest.is_some_and(|(_, begin, end)| {
        begin > published || end > published && end != Version::INFINITY
    })
}

fn changed_since_base(
    set: &WriteSet,
    relations: &Relations,
    (table, id): (TableId, RowId),
) -> bool {
    let base = set.newest_change(table, id).and_then(Change::base);
    let newest = relations.get(table).ok().and_then(|relation| relation.table.newest(id));
    match (base, newest) {
        (Some(base), Some((_, begin, _))) => begin > base,
        _ => false,
    }
}
