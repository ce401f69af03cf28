//! Statements of transaction blocks: they run on the session's thread, over a snapshot and the block's own set.
//!
//! **A statement locks what it changes, then computes.** It finds its rows on its first snapshot. Each is locked; where one is no
//! longer what the snapshot has, the statement goes on with a newer snapshot ([`Seen`]): the rows that were found are read again
//! there, those that no longer qualify are left out (PostgreSQL's EvalPlanQual). Under REPEATABLE READ that is 40001 instead.
//! Keys that rows get or lose and the parents that they refer to are locked where constraints are checked, on the same snapshot.
//! Who meets somebody else's lock gives back what it has changed, keeps its locks, and is told to wait ([`Step`]); then it runs
//! again over the rows that it has found before.
//!
//! **What is in flight.** A write by itself takes no locks, so a lock that was free says nothing of one that the write heartbeat has
//! computed and not published. Whoever has taken a lock waits until the write that may have looked before is applied
//! ([`Shared::write_is_over`]), and then, if it has changed the row or key, until it is published.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use super::access::has_index;
use super::statement::{Effect, Memory, run};
use super::{LOOK, Shared, WriteHeartbeat};
use crate::heartbeat::WriteOutcome;
use crate::log::stopped;
use crate::plan::{WriteAction, WritePlan};
use crate::storage::{Index, Snapshot};
use crate::transaction::{
    Acquired, Isolation, LockKey, LockMode, Mode, Moment, Owner, Relation, RowLocks, Sight,
    Waiting, Workspace, WriteSet, changed_since, check_changes,
};
use crate::types::{Error, Result, RowId, SqlState, TableId, Value, ValueRef, Version, limit};

/// Rows that take a statement well below a millisecond.
const SHORT: usize = 1_000;

/// How far a statement of a block has got.
#[derive(Debug)]
pub enum Step<T> {
    /// To its end.
    Done(T),
    /// Somebody else has locked what it needs: call again when this is over.
    Wait(Waiting),
    /// What it needs is being written: call again after this time.
    Pause(std::time::Duration),
}

/// What a statement of a block sees.
#[derive(Debug)]
pub struct Seen {
    isolation: Isolation,
    first: Snapshot,
    /// What it computes on: newer than the first where it has waited, or has met newer rows.
    sight: Snapshot,
    is_outdated: bool,
    /// What was applied when it had locked rows that others refer to, and these rows.
    must_see: Version,
    referred_to: HashSet<(TableId, RowId), RandomState>,
    is_first: bool,
}

impl Seen {
    /// A statement begins on a snapshot.
    pub fn new(snapshot: Snapshot, isolation: Isolation) -> Seen {
        let (first, sight) = (snapshot.clone(), snapshot);
        let (is_outdated, is_first, referred_to) = (false, true, HashSet::default());
        let must_see = Version(0);
        Seen { isolation, first, sight, is_outdated, must_see, referred_to, is_first }
    }

    /// Whether it has gone on with newer rows than those of its first snapshot.
    pub fn is_newer(&self) -> bool {
        self.sight.version() != self.first.version()
    }
}

/// A write of a block on its way.
#[derive(Debug)]
pub struct BlockStatement {
    plan: Arc<WritePlan>,
    parameters: Box<[Value]>,
    seen: Seen,
    memory: Memory,
}

impl BlockStatement {
    /// A write that begins on a snapshot.
    pub fn new(
        plan: Arc<WritePlan>,
        parameters: Box<[Value]>,
        snapshot: Snapshot,
        isolation: Isolation,
    ) -> BlockStatement {
        let seen = Seen::new(snapshot, isolation);
        BlockStatement { plan, parameters, seen, memory: Memory::of_block() }
    }

    /// Whether it has gone on with newer rows than those of its snapshot.
    pub fn is_newer(&self) -> bool {
        self.seen.is_newer()
    }
}

/// What came of a request for a row's lock that does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLock {
    /// It is locked, and as it was.
    Same,
    /// It is locked, and has changed or is gone.
    Changed,
    /// Somebody else has it.
    Busy,
    /// It is being written: ask again in a moment.
    Pause(std::time::Duration),
}

impl WriteHeartbeat {
    /// See [`crate::heartbeat::Engine::advance`].
    pub fn advance(
        &self,
        statement: &mut BlockStatement,
        set: &mut WriteSet,
    ) -> Result<Step<WriteOutcome>> {
        let shared = &*self.shared;
        let BlockStatement { plan, parameters, seen, memory } = statement;
        let mut once = |workspace: &mut Workspace<'_>| {
            let version = workspace.base();
            let effect = run(&shared.store, workspace, plan, parameters, memory)?;
            let Effect { rows, returning, drawn } = effect;
            Ok(WriteOutcome { version, rows, returning, drawn, is_first: false })
        };
        shared.attempts(seen, set, &mut once)
    }

    /// See [`crate::heartbeat::Engine::change_in_transaction`].
    pub fn change_in_transaction(
        &self,
        seen: &mut Seen,
        set: &mut WriteSet,
        change: &mut dyn FnMut(&mut WriteSet) -> Result<()>,
    ) -> Result<Step<()>> {
        self.shared.attempts(seen, set, &mut |workspace: &mut Workspace<'_>| {
            let mark = workspace.set.mark();
            change(workspace.set)?;
            check_changes(workspace, mark, Moment::Statement)
        })
    }

    /// See [`crate::heartbeat::Engine::lock_row`].
    pub fn lock_row(
        &self,
        set: &mut WriteSet,
        (table, id): (TableId, RowId),
        mode: LockMode,
        isolation: Isolation,
        snapshot: &Snapshot,
    ) -> Result<RowLock> {
        self.shared.check_going()?;
        let relations = self.shared.relations.load();
        let relation = relations.get(table)?;
        let mut seen = Seen::new(snapshot.clone(), isolation);
        // What it had before it may have had in vain: others' changes are looked for in any case.
        seen.is_first = false;
        let owner = set.owner(&self.shared.locks).clone();
        let mut locks = BlockLocks { shared: &self.shared, owner, seen: &mut seen, stop: None };
        match (locks.lock_row(relation, id, mode), locks.stop) {
            (_, Some(Stop::Busy(..))) => Ok(RowLock::Busy),
            (_, Some(Stop::Again)) => Ok(RowLock::Changed),
            (_, Some(Stop::Pause)) => Ok(RowLock::Pause(LOOK)),
            (Err(error), None) => Err(error),
            (Ok(_), None) => Ok(RowLock::Same),
        }
    }

    /// See [`crate::heartbeat::Engine::wait_for_row`].
    pub fn wait_for_row(
        &self,
        set: &mut WriteSet,
        (table, id): (TableId, RowId),
        mode: LockMode,
    ) -> Waiting {
        set.owner(&self.shared.locks).wait(LockKey::Row(table, id), mode, false)
    }

    /// See [`crate::heartbeat::Engine::lock_definitions`].
    pub fn lock_definitions(&self, set: &mut WriteSet) -> Result<Option<Waiting>> {
        let locks = &self.shared.locks;
        let owner = set.owner(locks);
        let (key, mode) = (LockKey::Definitions, LockMode::Update);
        let is_busy = locks.acquire(owner, &key, mode)? == Acquired::Busy;
        Ok(is_busy.then(|| owner.wait(key, mode, false)))
    }

    /// See [`crate::heartbeat::Engine::waiting_for_locks`].
    pub fn waiting_for_locks(&self) -> usize {
        self.shared.locks.waiting()
    }

    /// See [`crate::heartbeat::Engine::is_short`].
    pub fn is_short(&self, plan: &WritePlan) -> bool {
        self.shared.is_short(plan)
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

    /// Runs a statement until it is done or must wait. After an error, and while it waits, the set's changes are as before.
    pub(super) fn attempts<T>(
        &self,
        seen: &mut Seen,
        set: &mut WriteSet,
        once: &mut impl FnMut(&mut Workspace<'_>) -> Result<T>,
    ) -> Result<Step<T>> {
        loop {
            limit::check()?;
            self.check_going()?;
            if !self.renew(seen) {
                return Ok(Step::Pause(LOOK));
            }
            let mark = set.mark();
            let relations = self.relations.load();
            let owner = set.owner(&self.locks).clone();
            let sight = Sight::At(seen.sight.version());
            let mut locks =
                BlockLocks { shared: self, owner: owner.clone(), seen: &mut *seen, stop: None };
            let result =
                once(&mut Workspace::new(&relations, sight, set).with_locks(Some(&mut locks)));
            let stop = locks.stop.take();
            let error = match result {
                Ok(done) => return Ok(Step::Done(done)),
                Err(error) => error,
            };
            set.rollback_to(mark);
            let Some(stop) = stop else { return Err(error) };
            (seen.is_outdated, seen.is_first) = (true, false);
            match stop {
                Stop::Busy(key, mode, only_look) => {
                    return Ok(Step::Wait(owner.wait(key, mode, only_look)));
                }
                Stop::Pause => return Ok(Step::Pause(LOOK)),
                Stop::Again => {}
            }
        }
    }

    /// What was applied when the log failed is never published: nobody may wait for it.
    pub(super) fn check_going(&self) -> Result<()> {
        if self.stopped.load(Ordering::Acquire) { Err(stopped()) } else { Ok(()) }
    }

    /// A newer snapshot for a statement that needs one; `false` where what it must see is not published yet.
    fn renew(&self, seen: &mut Seen) -> bool {
        if seen.is_outdated {
            seen.sight = self.store.snapshot();
            seen.is_outdated = false;
        }
        seen.is_outdated = seen.sight.version() < seen.must_see;
        !seen.is_outdated
    }
}

/// Why a statement cannot go on as it is.
enum Stop {
    /// Somebody else has it.
    Busy(LockKey, Mode, bool),
    /// It has changed since the statement's snapshot.
    Again,
    /// It is being changed.
    Pause,
}

/// Locks for a statement of a block.
struct BlockLocks<'s> {
    shared: &'s Shared,
    owner: Arc<Owner>,
    seen: &'s mut Seen,
    stop: Option<Stop>,
}

/// What ends a statement that cannot go on as it is; its caller knows why.
pub(super) fn stopped_by_a_lock() -> Error {
    Error::new(SqlState::LockNotAvailable, "could not obtain lock")
}

impl BlockLocks<'_> {
    fn stop(&mut self, stop: Stop) -> Result<()> {
        self.stop = Some(stop);
        Err(stopped_by_a_lock())
    }

    /// Takes a lock; whether what it protects may have changed since the statement's snapshot.
    fn take(&mut self, key: LockKey, mode: LockMode) -> Result<bool> {
        let acquired = self.shared.locks.acquire(&self.owner, &key, mode)?;
        let is_old = acquired == Acquired::Before
            && self.seen.is_first
            && self.seen.isolation == Isolation::ReadCommitted;
        if acquired == Acquired::Busy {
            self.stop(Stop::Busy(key, mode.into(), false))?;
        }
        if !is_old && !self.shared.write_is_over() {
            self.stop(Stop::Pause)?;
        }
        Ok(!is_old)
    }

    /// Takes a row's lock; whether it may have changed since the statement's snapshot, which is found out.
    fn lock_row(&mut self, relation: &Relation, id: RowId, mode: LockMode) -> Result<bool> {
        let may_have_changed = self.take(LockKey::Row(relation.schema.id, id), mode)?;
        if may_have_changed {
            self.check_row(relation, id)?;
        }
        Ok(may_have_changed)
    }

    /// Others refer to the row, and what they do to it is not to be seen on it: all that is applied must be seen.
    fn see_all(&mut self, row: (TableId, RowId)) -> Result<()> {
        if self.seen.referred_to.insert(row) {
            self.seen.must_see = self.seen.must_see.max(self.shared.applied());
        }
        match self.seen.sight.version() < self.seen.must_see {
            true => self.stop(Stop::Again),
            false => Ok(()),
        }
    }

    fn check_row(&mut self, relation: &Relation, id: RowId) -> Result<()> {
        let is_repeatable = self.seen.isolation == Isolation::RepeatableRead;
        let Some((_, begin, end)) = relation.table.newest(id) else {
            return if is_repeatable { Err(changed_since(true)) } else { Ok(()) };
        };
        let published = self.shared.store.published();
        let is_gone = end != Version::INFINITY;
        let changed_after = |version| begin > version || is_gone && end > version;
        if changed_after(published) {
            return self.stop(Stop::Pause);
        }
        if is_repeatable && changed_after(self.seen.first.version()) {
            return Err(changed_since(is_gone));
        }
        match changed_after(self.seen.sight.version()) {
            true => self.stop(Stop::Again),
            false => Ok(()),
        }
    }

    /// 40001 where a REPEATABLE READ block's snapshot has another parent than there is now, as PostgreSQL's lock of that
    /// parent would fail: to the block the foreign key holds.
    fn check_parent(
        &self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
        newest: Option<RowId>,
    ) -> Result<()> {
        if self.seen.isolation != Isolation::RepeatableRead {
            return Ok(());
        }
        let (view, mut found) = (relation.table.view(self.seen.first.version()), Vec::new());
        view.probe(index, key, &mut found);
        let first = found.first().map(|location| view.row_id(*location));
        match first.is_some() && first != newest {
            true => Err(changed_since(false)),
            false => Ok(()),
        }
    }

    /// A key is held by somebody else than the statement sees.
    fn holder_changed(
        &mut self,
        relation: &Relation,
        seen: Option<RowId>,
        newest: Option<RowId>,
    ) -> Result<()> {
        let published = self.shared.store.published();
        let is_in_flight = |id: RowId| {
            let newest = relation.table.newest(id);
            newest.is_some_and(|(_, begin, end)| {
                begin > published || end > published && end != Version::INFINITY
            })
        };
        let is_in_flight = seen.into_iter().chain(newest).any(is_in_flight);
        self.stop(if is_in_flight { Stop::Pause } else { Stop::Again })
    }
}

fn lock_key(relation: &Relation, index: &Index, key: &[ValueRef<'_>]) -> Option<LockKey> {
    let key = index.kept_key(key)?;
    Some(LockKey::Key(relation.schema.id, index.schema().id, key))
}

impl RowLocks for BlockLocks<'_> {
    fn row(&mut self, relation: &Relation, id: RowId, mode: LockMode) -> Result<()> {
        let may_have_changed = self.lock_row(relation, id, mode)?;
        match may_have_changed && mode == LockMode::Update && !relation.children.is_empty() {
            true => self.see_all((relation.schema.id, id)),
            false => Ok(()),
        }
    }

    fn key(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
        seen: Option<Option<RowId>>,
    ) -> Result<()> {
        let Some(lock) = lock_key(relation, index, key) else { return Ok(()) };
        let may_have_changed = self.take(lock, LockMode::Update)?;
        let Some(seen) = seen.filter(|_| may_have_changed) else { return Ok(()) };
        let newest = relation.table.newest_holder(index, key);
        if newest == seen { Ok(()) } else { self.holder_changed(relation, seen, newest) }
    }

    fn look(&mut self, relation: &Relation, index: &Index, key: &[ValueRef<'_>]) -> Result<()> {
        let Some(lock) = lock_key(relation, index, key) else { return Ok(()) };
        match self.shared.locks.is_busy(Some(self.owner.group()), &lock, LockMode::Update) {
            true => self.stop(Stop::Busy(lock, LockMode::Update.into(), true)),
            false => Ok(()),
        }
    }

    fn parent(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
        seen: Option<RowId>,
    ) -> Result<()> {
        if let Some(id) = seen
            && !self.take(LockKey::Row(relation.schema.id, id), LockMode::KeyShare)?
        {
            return Ok(());
        }
        let newest = relation.table.newest_holder(index, key);
        match newest == seen {
            true => self.check_parent(relation, index, key, newest),
            false => self.holder_changed(relation, seen, newest),
        }
    }
}

/// Looks at locks for a write that has none.
pub(super) struct TurnLocks<'s> {
    pub shared: &'s Shared,
    /// It may have got one, for which it was put aside before.
    pub owner: Option<&'s Owner>,
    pub needs: Vec<(LockKey, Mode)>,
    /// What somebody else has.
    pub busy: Option<(LockKey, Mode)>,
}

impl<'s> TurnLocks<'s> {
    pub fn new(shared: &'s Shared, owner: Option<&'s Owner>) -> TurnLocks<'s> {
        TurnLocks { shared, owner, needs: Vec::new(), busy: None }
    }

    /// What somebody else has got of it meanwhile.
    pub fn busy_now(&self) -> Option<(LockKey, Mode)> {
        let needs = self.needs.iter().map(|(key, mode)| (key, *mode));
        self.shared.locks.first_busy(self.owner.map(Owner::group), needs)
    }

    fn need(&mut self, key: LockKey, mode: impl Into<Mode>) -> Result<()> {
        let mode = mode.into();
        if self.shared.locks.is_busy(self.owner.map(Owner::group), &key, mode) {
            self.busy = Some((key, mode));
            return Err(stopped_by_a_lock());
        }
        self.needs.push((key, mode));
        Ok(())
    }

    /// What a change of rows uses of its table and of those that it refers to or is referred to by. Where nobody excludes statements
    /// from tables there is nothing to meet yet, whatever rows are locked; before it is applied all is looked at once more.
    pub fn table(&mut self, relation: &Relation) -> Result<()> {
        let mut uses = relation.used_by_changes().map(|(id, mode)| (LockKey::Table(id), mode));
        if self.shared.locks.exclude_statements() {
            return uses.try_for_each(|(key, mode)| self.need(key, mode));
        }
        self.needs.extend(uses.map(|(key, mode)| (key, mode.into())));
        Ok(())
    }
}

impl RowLocks for TurnLocks<'_> {
    fn row(&mut self, relation: &Relation, id: RowId, mode: LockMode) -> Result<()> {
        self.need(LockKey::Row(relation.schema.id, id), mode)
    }

    fn key(
        &mut self,
        relation: &Relation,
        index: &Index,
        key: &[ValueRef<'_>],
        _seen: Option<Option<RowId>>,
    ) -> Result<()> {
        self.look(relation, index, key)
    }

    fn look(&mut self, relation: &Relation, index: &Index, key: &[ValueRef<'_>]) -> Result<()> {
        let lock = lock_key(relation, index, key);
        lock.map_or(Ok(()), |lock| self.need(lock, LockMode::Update))
    }

    fn parent(
        &mut self,
        relation: &Relation,
        _index: &Index,
        _key: &[ValueRef<'_>],
        seen: Option<RowId>,
    ) -> Result<()> {
        let lock = seen.map(|id| LockKey::Row(relation.schema.id, id));
        lock.map_or(Ok(()), |lock| self.need(lock, LockMode::KeyShare))
    }
}
