//! SELECT ... FOR UPDATE, NO KEY UPDATE, SHARE, KEY SHARE: rows are locked, then shown as they are now.
//!
//! The query runs with the ids of the rows that it locks. What has changed since its snapshot is laid over that, and the query runs
//! again: rows that no longer qualify are left out, others show their newest values. Under a LIMIT other rows take the places of
//! those that were left out or skipped. Rows of one table that an index finds are read without a plan (`own_reads`). Outside a
//! block the locks end with the statement. Called by [`super::read`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::heartbeat::{Answer, AnswerPart, RowLock};
use engine::storage::{Snapshot, Store};
use engine::transaction::{Isolation, LockMode, WriteSet};
use engine::types::{Error, Result, RowId, SqlState, TableId, Value, ValueRef};

use super::own_reads::rows_with_ids;
use super::settings::PathSetting;
use super::table_locks::of_tables;
use super::{Outcome, Rows, Session};
use crate::alone::Overlay;
use crate::statement::locked_subqueries::LockedSubquery;
use crate::statement::locking::{Locked, Locking, Waits};
use crate::template::{Path, QueryTemplate};
use crate::text::session_zone;
use crate::verification::{Question, Taken};

/// Rows that are no longer what a statement's snapshot has, as they are now; `None` where they are gone.
pub(super) type Newest = HashMap<(TableId, RowId), Option<Vec<Value>>>;

/// What a lock has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taking {
    /// The row is as it was.
    Same,
    /// It is another one.
    Changed,
    /// It is left out.
    Skipped,
}

/// The row as it is now.
fn newest(store: &Arc<Store>, (table, id): (TableId, RowId)) -> Option<Vec<Value>> {
    let snapshot = store.snapshot();
    let view = store.table(table)?.view(snapshot.version());
    view.resolve(id).map(|location| view.row(location))
}

/// A pass of a locking query.
struct Pass {
    kept: Vec<Vec<Value>>,
    has_changed: bool,
    has_skipped: bool,
}

impl Session {
    /// Runs a locking query.
    pub(super) async fn run_locking(
        &mut self,
        template: &Arc<QueryTemplate>,
        locking: &Locking,
        values: Vec<Value>,
    ) -> Result<Outcome> {
        let isolation = self.block.open().map_or(Isolation::ReadCommitted, |t| t.isolation);
        let mut own = self.new_set();
        if !self.in_block() {
            self.use_tables_for(&mut own, &of_tables(&template.tables, Some(locking))).await?;
        }
        let snapshot = self.statement_snapshot();
        let mut set = self.block.open().map_or(own, |t| std::mem::take(&mut t.set));
        let by_key = self.lock_by_key(template, locking, &values, &snapshot, isolation, &mut set);
        let (found, taken) = match by_key.await {
            Ok(None) => {
                let read = self.lock_and_read(locking, &values, &snapshot, isolation, &mut set);
                (read.await, Taken::Alone)
            }
            Ok(Some(found)) => (Ok(found), Taken::RowByRow),
            Err(error) => (Err(error), Taken::RowByRow),
        };
        let overlay = Overlay::new(&set, &template.tables);
        if let Some(transaction) = self.block.open() {
            transaction.set = set;
        }
        let (rows, is_newer) = found?;
        let answer = Answer::new(template.output.clone(), vec![AnswerPart::Own(rows)]);
        if is_newer || !self.found.is_empty() {
            self.skip_verification("locked rows");
        } else if let Some(drawn) = self.draw() {
            let overlay = Some(Arc::new(overlay)).filter(|overlay| !overlay.is_empty());
            let (template, values) = (template.clone(), values.into());
            let question = Question {
                template,
                values,
                snapshot,
                overlay,
                is_uncut: false,
                zone: session_zone(),
            };
            self.verify_found(drawn, question, taken, answer.clone()).await?;
        }
        Ok(Outcome::Rows(Rows::complete(template.columns.clone(), answer, "SELECT")))
    }

    /// Runs what locks rows below a statement's top, and keeps what it gives for the statement. That runs afterwards, over what
    /// is committed by then: to the locked rows nothing can happen in between.
    pub(super) async fn lock_subquery(
        &mut self,
        LockedSubquery { locking, relation }: &LockedSubquery,
        values: &[Value],
    ) -> Result<()> {
        self.refuse_read_only(&locking.command())?;
        let snapshot = self.statement_snapshot();
        let Some(transaction) = self.block.open() else { unreachable!("opened for it") };
        let (isolation, mut set) = (transaction.isolation, std::mem::take(&mut transaction.set));
        let found = self.lock_and_read(locking, values, &snapshot, isolation, &mut set).await;
        if let Some(transaction) = self.block.open() {
            transaction.set = set;
        }
        self.found.push(relation, &found?.0)
    }

    /// The same where the rows of one table are found by an index, as an UPDATE finds them: nothing is planned or submitted.
    /// `None` where the query is another one.
    async fn lock_by_key(
        &self,
        template: &Arc<QueryTemplate>,
        locking: &Locking,
        values: &[Value],
        snapshot: &Snapshot,
        isolation: Isolation,
        set: &mut WriteSet,
    ) -> Result<Option<(Vec<Vec<Value>>, bool)>> {
        let ([(_, locked)], [table], None) = (&*locking.tables, &*template.tables, &locking.uncut)
        else {
            return Ok(None);
        };
        let Path::Shared(shared) = &template.path else { return Ok(None) };
        let is_here = self.found.is_empty() && self.settings.path() != PathSetting::Alone;
        if locked.table != *table || !is_here {
            return Ok(None);
        }
        let store = self.database.engine.store();
        let (mut newest, mut skipped) = (Newest::new(), HashSet::new());
        let find = |set: &WriteSet, newest: &Newest| {
            rows_with_ids(&shared.plan, values, store, snapshot, set, newest)
        };
        let Some(mut rows) = find(set, &newest)? else { return Ok(None) };
        let mut taking = LockRows { session: self, isolation, snapshot, set, newest: &mut newest };
        for (number, id) in rows.iter().filter_map(|found| found.id).enumerate() {
            self.look_around_at(number + 1).await?;
            if taking.take((*table, id), locked.mode, Some(locked)).await? == Taking::Skipped {
                skipped.insert(id);
            }
        }
        if !newest.is_empty() {
            rows = find(set, &newest)?.unwrap_or_default();
        }
        rows.retain(|found| found.id.is_none_or(|id| !skipped.contains(&id)));
        let is_newer = !newest.is_empty() || !skipped.is_empty();
        Ok(Some((rows.into_iter().map(|found| found.row).collect(), is_newer)))
    }

    /// The rows, and whether they are others than those of the snapshot.
    async fn lock_and_read(
        &self,
        locking: &Locking,
        values: &[Value],
        snapshot: &Snapshot,
        isolation: Isolation,
        set: &mut WriteSet,
    ) -> Result<(Vec<Vec<Value>>, bool)> {
        let (mut newest, mut skipped) = (Newest::new(), HashSet::new());
        let (mut query, mut most) = (&locking.query, None);
        loop {
            let overlay = Overlay::new(set, &query.tables).with(&newest);
            let reading = self.reading(snapshot.clone(), Some(Arc::new(overlay)));
            let answer = self.collect_alone(query, values, &reading).await?;
            let most = *most.get_or_insert(answer.rows());
            let mut taking =
                LockRows { session: self, isolation, snapshot, set, newest: &mut newest };
            let pass = taking.pass(locking, &answer, most, &mut skipped).await?;
            if pass.has_changed {
                continue;
            }
            let lacks = pass.kept.len() < most && (pass.has_skipped || !newest.is_empty());
            match &locking.uncut {
                Some(uncut) if lacks && !Arc::ptr_eq(query, uncut) => query = uncut,
                _ => return Ok((pass.kept, pass.has_skipped || !newest.is_empty())),
            }
        }
    }
}

/// Locks rows for one statement.
pub(super) struct LockRows<'a> {
    pub session: &'a Session,
    pub isolation: Isolation,
    pub snapshot: &'a Snapshot,
    pub set: &'a mut WriteSet,
    /// Rows that have changed since the snapshot.
    pub newest: &'a mut Newest,
}

impl LockRows<'_> {
    /// Locks the rows behind an answer until enough are kept.
    async fn pass(
        &mut self,
        locking: &Locking,
        answer: &Answer,
        most: usize,
        skipped: &mut HashSet<(TableId, RowId)>,
    ) -> Result<Pass> {
        let mut pass = Pass { kept: Vec::new(), has_changed: false, has_skipped: false };
        for part in &answer.parts {
            for row in 0..part.rows() {
                if pass.kept.len() == most {
                    return Ok(pass);
                }
                self.session.look_around_at(row).await?;
                let mut is_kept = true;
                for (column, locked) in &locking.tables {
                    // Rows of the own transaction have ids below zero: nobody else can change them.
                    let ValueRef::BigInt(id @ 0..) = part.cell(row, *column) else { continue };
                    let key = (locked.table, RowId(id.cast_unsigned()));
                    let taking = match skipped.contains(&key) {
                        true => Taking::Skipped,
                        false => self.take(key, locked.mode, Some(locked)).await?,
                    };
                    pass.has_changed |= taking == Taking::Changed;
                    if taking == Taking::Skipped {
                        skipped.insert(key);
                        (is_kept, pass.has_skipped) = (false, true);
                        break;
                    }
                }
                if is_kept {
                    let cells =
                        locking.shown.iter().map(|column| part.cell(row, *column).to_owned());
                    pass.kept.push(cells.collect());
                }
            }
        }
        Ok(pass)
    }

    /// Locks a row, waiting where the clause says nothing else.
    pub async fn take(
        &mut self,
        row: (TableId, RowId),
        mode: LockMode,
        clause: Option<&Locked>,
    ) -> Result<Taking> {
        let engine = &self.session.database.engine;
        if self.newest.contains_key(&row) {
            return Ok(Taking::Same);
        }
        loop {
            let taken = engine.lock_row(self.set, row, mode, self.isolation, self.snapshot)?;
            match (taken, clause.map_or(Waits::Waits, |clause| clause.waits)) {
                (RowLock::Same, _) => return Ok(Taking::Same),
                (RowLock::Changed, _) => {
                    self.newest.insert(row, newest(engine.store(), row));
                    return Ok(Taking::Changed);
                }
                (RowLock::Pause(pause), _) => self.session.pause(pause).await?,
                (RowLock::Busy, Waits::Skips) => return Ok(Taking::Skipped),
                (RowLock::Busy, Waits::Refuses) => return Err(refused(clause)),
                (RowLock::Busy, Waits::Waits) => {
                    let waiting = engine.wait_for_row(self.set, row, mode);
                    self.session.wait_for(waiting).await?;
                }
            }
        }
    }
}

/// NOWAIT.
fn refused(clause: Option<&Locked>) -> Error {
    let name = clause.map_or("", |clause| &clause.name);
    let message = format!("could not obtain lock on row in relation \"{name}\"");
    Error::new(SqlState::LockNotAvailable, message)
}
