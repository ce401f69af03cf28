//! One turn of the write heartbeat.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Shared;
use super::apply::{RowChange, apply, net_changes};
use super::block::TurnLocks;
use super::define::{self, Gone};
use super::join::{pass_length, table_of};
use super::queue::{Request, Work};
use super::rewrite::{AllRewritten, DefinitionChanges, TableRewrite, rewrite};
use super::sequences::Reservations;
use super::statement::{Effect, Memory, run};
use crate::heartbeat::{Drawn, WriteOutcome, WriteReceiver};
use crate::log::{Encoder, LogWriter, WriteFault, apply_definition, stopped};
use crate::plan::WritePlan;
use crate::transaction::{
    Definition, LockKey, Mode, Owner, Relations, RowLocks, Sight, Workspace, WriteSet, rebase,
};
use crate::types::limit::within;
use crate::types::{Error, Result, SequenceId, SqlState, Value, Version};

/// A record is closed at this size: what one turn holds in memory.
const LARGEST_RECORD: usize = 256 << 20;
/// A larger record's memory is given back when it is written: loads are rare.
const KEPT_RECORD: usize = 4 << 20;
/// Rows of work on reclaiming after a turn, per change of the turn, and at least.
const RECLAIM_PER_CHANGE: usize = 4;
const RECLAIM_AT_LEAST: usize = 64;

/// The state that turns hand on to each other.
pub(super) struct Writer {
    /// The newest published version.
    pub published: Version,
    /// `None` keeps nothing.
    pub log: Option<LogWriter>,
    pub reservations: Reservations,
    /// Bytes of log after which a checkpoint is due at the earliest.
    pub checkpoint_bytes: u64,
    /// The operations of the turn's record, behind space for its header.
    pub record: Encoder,
    scratch: WriteSet,
    incoming: VecDeque<Request>,
    /// Committed sets: their locks end when the commit is visible.
    finished: Vec<WriteSet>,
    /// Those that were put aside have the locks that they waited for until what they have done is visible.
    owners: Vec<Owner>,
    answers: Vec<(WriteReceiver, Result<WriteOutcome>)>,
    checkpoints: Vec<WriteReceiver>,
    changes: usize,
    /// Nothing had been changed in the turn when the write began that runs now.
    is_first: bool,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("published", &self.published).finish_non_exhaustive()
    }
}

/// What came of a request.
pub(super) enum Fate {
    /// Applied, or failed without a trace.
    Done(Result<WriteOutcome>),
    /// Somebody has locked this, which it changes.
    Held((LockKey, Mode)),
    /// It has its place in the next record.
    Full,
}

/// What a write has to do with locks when it is applied.
pub(super) enum Looked {
    /// A block's: it has what it needs.
    Own,
    /// There were none when it was computed.
    None,
    /// It needs these to be free, but for what it has got while it was put aside.
    At(Vec<(LockKey, Mode)>),
}

/// From where a write looks at locks until it is applied.
pub(super) struct Window<'a>(&'a AtomicU64);

impl Window<'_> {
    pub fn begin(writing: &AtomicU64) -> Window<'_> {
        writing.fetch_add(1, Ordering::SeqCst);
        Window(writing)
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Writer {
    pub fn new(
        published: Version,
        log: Option<LogWriter>,
        reservations: Reservations,
        checkpoint_bytes: u64,
    ) -> Writer {
        Writer {
            published,
            log,
            reservations,
            checkpoint_bytes,
            record: Encoder { bytes: LogWriter::start_record(Vec::new()) },
            scratch: WriteSet::new(),
            incoming: VecDeque::new(),
            finished: Vec::new(),
            owners: Vec::new(),
            answers: Vec::new(),
            checkpoints: Vec::new(),
            changes: 0,
            is_first: false,
        }
    }

    pub(super) fn scratch_mut(&mut self) -> &mut WriteSet {
        &mut self.scratch
    }

    pub(super) fn clear_scratch(&mut self) {
        self.scratch.clear();
    }

    pub(super) fn answer_later(
        &mut self,
        answers: impl Iterator<Item = (WriteReceiver, Result<WriteOutcome>)>,
    ) {
        self.answers.extend(answers);
    }

    /// Whether nothing has been changed in the turn so far.
    pub(super) fn has_changed_nothing(&self) -> bool {
        self.changes == 0
    }

    pub(super) fn present(&self) -> Version {
        self.published.next()
    }

    /// Takes what waits and runs it; whether something of it is left that can be run now.
    pub fn turn(&mut self, shared: &Shared) -> bool {
        let mut requests = std::mem::take(&mut self.incoming);
        shared.queue.take(&mut requests);
        self.changes = 0;
        let mut alone = 0;
        while !requests.is_empty() && self.incoming.is_empty() {
            if alone == 0
                && let Some(length) = pass_length(shared, &requests)
            {
                let joined = requests.drain(..length);
                let joined: Vec<Request> = joined.filter_map(|one| self.begun(one)).collect();
                if joined.is_empty() {
                    continue;
                }
                let refused = self.pass(shared, joined).unwrap_or_default();
                alone = refused.len();
                refused.into_iter().rev().for_each(|request| requests.push_front(request));
                continue;
            }
            alone = alone.saturating_sub(1);
            if let Some(request) = requests.pop_front() {
                self.request(shared, request);
            }
        }
        self.incoming.append(&mut requests);
        self.end(shared);
        !self.incoming.is_empty()
    }

    /// A request that is still wanted. Who has withdrawn it has been answered.
    fn begun(&mut self, request: Request) -> Option<Request> {
        let Some(limit) = &request.limit else { return Some(request) };
        if !limit.take() {
            return None;
        }
        match limit.fault() {
            Some(fault) => {
                self.answers.push((request.receiver, Err(fault)));
                None
            }
            None => Some(request),
        }
    }

    fn request(&mut self, shared: &Shared, request: Request) {
        let Some(request) = self.begun(request) else { return };
        let Request { mut work, session, receiver, owner, limit } = request;
        if shared.stopped.load(Ordering::Acquire) {
            return self.answers.push((receiver, Err(stopped())));
        }
        if matches!(work, Work::Checkpoint) {
            return self.checkpoints.push(receiver);
        }
        let fate = within(limit.clone(), || self.guarded(shared, &mut work, owner.as_ref()));
        match fate {
            Fate::Done(result) => {
                self.answers.push((receiver, result));
                self.owners.extend(owner);
                if let Work::Commit(set) | Work::CommitDefinitions(set, ..) = work {
                    self.finished.push(set);
                }
            }
            Fate::Held((key, mode)) => {
                // It has nothing while it waits.
                drop(owner);
                shared.put_aside(
                    Request { work, session, receiver, owner: None, limit },
                    key,
                    mode,
                );
            }
            Fate::Full => {
                self.incoming.push_front(Request { work, session, receiver, owner, limit });
            }
        }
    }

    /// A panic while a write is computed is that write's fault alone; one while it is applied leaves storage
    /// in doubt and stops everything.
    fn guarded(&mut self, shared: &Shared, work: &mut Work, owner: Option<&Owner>) -> Fate {
        let length = self.record.bytes.len();
        let mut applying = false;
        let run = || self.run(shared, work, owner, &mut applying);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        self.scratch.clear();
        match outcome {
            Ok(Ok(fate)) => fate,
            Ok(Err(error)) => {
                self.record.bytes.truncate(length);
                Fate::Done(Err(error))
            }
            Err(_) => {
                self.record.bytes.truncate(length);
                let error = Error::new(SqlState::InternalError, "the write ended in a panic");
                if applying {
                    self.stop(shared, "a panic while a write was applied");
                }
                Fate::Done(Err(error))
            }
        }
    }

    fn run(
        &mut self,
        shared: &Shared,
        work: &mut Work,
        owner: Option<&Owner>,
        applying: &mut bool,
    ) -> Result<Fate> {
        match work {
            Work::Write(plan, parameters) => {
                self.is_first = self.has_changed_nothing();
                self.write(shared, (plan, parameters), owner, applying)
            }
            Work::Commit(source) => {
                self.validate(shared, source)?;
                self.commit(shared, Effect::default(), (Looked::Own, None), applying)
            }
            Work::Load(load) => self.load(shared, load, owner, applying),
            Work::Define(definition) => self.define(shared, definition, applying),
            Work::CommitDefinitions(source, changes) => {
                self.validate(shared, source)?;
                self.define_all(shared, changes, applying)
            }
            Work::SetSequence(id, last, called) => self.set_sequence(shared, *id, *last, *called),
            Work::Reserve => Ok(self.done(Effect::default())),
            Work::Checkpoint => unreachable!("taken out before"),
        }
    }

    /// A statement by itself, unless somebody has locked what it changes.
    fn write(
        &mut self,
        shared: &Shared,
        (plan, parameters): (&WritePlan, &[Value]),
        owner: Option<&Owner>,
        applying: &mut bool,
    ) -> Result<Fate> {
        if !shared.locks.any() {
            let effect = self.compute(shared, plan, parameters, None)?;
            return self.commit(shared, effect, (Looked::None, None), applying);
        }
        let mut locks = TurnLocks::new(shared, owner);
        if let Ok(relation) = shared.relations.load().get(table_of(plan))
            && locks.table(relation).is_err()
            && let Some(busy) = locks.busy.take()
        {
            return Ok(Fate::Held(busy));
        }
        let computed = self.compute(shared, plan, parameters, Some(&mut locks));
        if let Some(busy) = locks.busy {
            return Ok(Fate::Held(busy));
        }
        let looked = Looked::At(locks.needs);
        self.commit(shared, computed?, (looked, owner), applying)
    }

    /// What the writer sees, with an empty set.
    pub(super) fn newest<'a>(&'a mut self, relations: &'a Relations) -> Workspace<'a> {
        let published = self.published;
        let sight = Sight::Newest { published, present: published.next() };
        Workspace::new(relations, sight, &mut self.scratch)
    }

    /// A write has changed so many rows.
    pub(super) fn count_changes(&mut self, rows: usize) {
        self.changes += rows;
    }

    fn compute(
        &mut self,
        shared: &Shared,
        plan: &WritePlan,
        parameters: &[Value],
        locks: Option<&mut dyn RowLocks>,
    ) -> Result<Effect> {
        let relations = shared.relations.load();
        // As long as the workspace lives, and no longer.
        let locks = locks.map(|locks| locks as &mut dyn RowLocks);
        let mut workspace = self.newest(&relations).with_locks(locks);
        run(&shared.store, &mut workspace, plan, parameters, &mut Memory::default())
    }

    fn validate(&mut self, shared: &Shared, source: &WriteSet) -> Result<()> {
        let relations = shared.relations.load();
        rebase(&mut self.newest(&relations), source)
    }

    fn done(&self, effect: Effect) -> Fate {
        let Effect { rows, returning, drawn } = effect;
        let (version, is_first) = (self.present(), self.is_first);
        Fate::Done(Ok(WriteOutcome { version, rows, returning, drawn, is_first }))
    }

    /// Gives the scratch set its place in the log and applies it.
    pub(super) fn commit(
        &mut self,
        shared: &Shared,
        effect: Effect,
        (looked, owner): (Looked, Option<&Owner>),
        applying: &mut bool,
    ) -> Result<Fate> {
        let _window = Window::begin(&shared.writing);
        match looked {
            Looked::Own => {}
            // It will look when it is computed again.
            Looked::None if shared.locks.any() => return Ok(Fate::Full),
            Looked::None => {}
            Looked::At(needs) => {
                let needs = needs.iter().map(|(key, mode)| (key, *mode));
                if let Some(busy) = shared.locks.first_busy(owner.map(Owner::group), needs) {
                    return Ok(Fate::Held(busy));
                }
            }
        }
        let set = std::mem::take(&mut self.scratch);
        let relations = shared.relations.load();
        let changes = net_changes(&relations, &set)?;
        shared.make_room(&changes)?;
        let fate = if self.log_changes(shared, &changes)? {
            *applying = true;
            let present = self.present();
            shared.note_applied(present);
            apply(&changes, present);
            *applying = false;
            self.changes += changes.len();
            self.done(effect)
        } else {
            Fate::Full
        };
        drop(changes);
        self.scratch = set;
        Ok(fate)
    }

    fn log_changes(&mut self, shared: &Shared, changes: &[RowChange<'_>]) -> Result<bool> {
        if self.log.is_none() {
            return Ok(true);
        }
        let length = self.record.bytes.len();
        for change in changes {
            change.encode(self.published, &mut self.record);
        }
        self.has_place(shared, length)
    }

    /// Whether the record, grown from `length` bytes, has its place in the log. A record of this request alone
    /// gets a new segment; 53100 where the disk has no room for one.
    pub(super) fn has_place(&mut self, shared: &Shared, length: usize) -> Result<bool> {
        let Some(log) = &mut self.log else { return Ok(true) };
        let needed = self.record.bytes.len() + self.reservations.space();
        let alone = length == LogWriter::EMPTY_RECORD;
        if log.fits(needed) && (alone || needed <= LARGEST_RECORD) {
            return Ok(true);
        }
        if !alone {
            self.record.bytes.truncate(length);
            return Ok(false);
        }
        if needed > u32::MAX as usize / 2 {
            return Err(Error::new(
                SqlState::InsufficientResources,
                "the transaction is too large",
            ));
        }
        match log.make_room(needed) {
            Ok(()) => {
                shared.housekeeping.prepare_spare();
                Ok(true)
            }
            Err(WriteFault::Refused(error)) => Err(error),
            Err(WriteFault::Fatal(error)) => {
                self.stop(shared, &error.message);
                Err(error)
            }
        }
    }

    fn define(
        &mut self,
        shared: &Shared,
        definition: &Definition,
        applying: &mut bool,
    ) -> Result<Fate> {
        define::check(shared, definition, self.present(), &Gone::default())?;
        let length = self.record.bytes.len();
        self.record.define(definition);
        if !self.has_place(shared, length)? {
            return Ok(Fate::Full);
        }
        *applying = true;
        apply_definition(&shared.store, &shared.entries, definition, self.present())?;
        if !matches!(definition, Definition::PutEntry { .. }) {
            shared.relations.store(Arc::new(Relations::of(&shared.store)));
            self.reservations.refresh(&shared.store);
        }
        *applying = false;
        self.changes += 1;
        Ok(self.done(Effect::default()))
    }

    /// The scratch set and the definitions of one block. Everything that can fail is done before anything is
    /// applied: tables are rewritten and indexes built first, and dropped again where one of them fails.
    fn define_all(
        &mut self,
        shared: &Shared,
        changes: &DefinitionChanges,
        applying: &mut bool,
    ) -> Result<Fate> {
        let DefinitionChanges { definitions, rewrites } = changes;
        define::check_all(shared, definitions, self.present())?;
        let length = self.record.bytes.len();
        if !rewrites.is_empty() && length != LogWriter::EMPTY_RECORD {
            // A record of its own is sure to have its place: nothing is computed twice.
            return Ok(Fate::Full);
        }
        let mut rewritten = self.rewrite_all(shared, rewrites)?;
        let set = std::mem::take(&mut self.scratch);
        let relations = shared.relations.load();
        let changes = net_changes(&relations, &set)?;
        shared.make_room(&changes)?;
        for change in changes.iter().filter(|_| self.log.is_some()) {
            change.encode(self.published, &mut self.record);
        }
        for definition in definitions {
            self.record.define(definition);
            if let Some(rows) = rewritten.of(definition) {
                self.record.bytes.append(&mut rows.blocks.bytes);
            }
        }
        if !self.has_place(shared, length)? {
            return Ok(Fate::Full);
        }
        let built = define::build_indexes(shared, definitions)?;
        *applying = true;
        let present = self.present();
        shared.note_applied(present);
        apply(&changes, present);
        for definition in definitions.iter().filter(|definition| !built.contains(definition)) {
            match rewritten.of(definition) {
                Some(rows) => rows.take_place(&shared.store, present),
                None => {
                    let (store, entries) = (&shared.store, &shared.entries);
                    let applied = apply_definition(store, entries, definition, present);
                    applied.unwrap_or_else(|fault| panic!("checked before, yet {fault}"));
                }
            }
        }
        shared.relations.store(Arc::new(Relations::of(&shared.store)));
        self.reservations.refresh(&shared.store);
        *applying = false;
        self.changes += changes.len() + 1;
        Ok(self.done(Effect::default()))
    }

    fn rewrite_all(&mut self, shared: &Shared, rewrites: &[TableRewrite]) -> Result<AllRewritten> {
        let published = self.published;
        let sight = Sight::Newest { published, present: published.next() };
        let set = &mut self.scratch;
        let rewritten = rewrites.iter().map(|one| rewrite(shared, one, sight, set));
        Ok(AllRewritten(rewritten.collect::<Result<_>>()?))
    }

    fn set_sequence(
        &mut self,
        shared: &Shared,
        id: SequenceId,
        last: i64,
        called: bool,
    ) -> Result<Fate> {
        let sequence = shared.store.sequence(id).ok_or_else(|| {
            Error::new(SqlState::UndefinedTable, format!("sequence with id {id} does not exist"))
        })?;
        let length = self.record.bytes.len();
        self.record.reserve(id, last, called);
        if !self.has_place(shared, length)? {
            return Ok(Fate::Full);
        }
        sequence.set(last, called)?;
        self.reservations.set(id, last, called);
        Ok(self.done(Effect::default()))
    }

    /// Makes the turn durable and visible, and answers.
    fn end(&mut self, shared: &Shared) {
        let durable = self.sync(shared);
        if durable && self.changes > 0 {
            self.published = self.present();
            shared.store.publish(self.published);
        }
        self.finished.clear();
        self.owners.clear();
        let stopped_now = shared.stopped.load(Ordering::Acquire);
        for (receiver, result) in self.answers.drain(..) {
            let result = if stopped_now && result.is_ok() { Err(stopped()) } else { result };
            answer(receiver, result);
        }
        self.start_checkpoint(shared);
        if self.changes > 0 {
            let budget = RECLAIM_AT_LEAST.max(self.changes * RECLAIM_PER_CHANGE);
            shared.store.reclaim(self.present(), budget);
            let miscounted = shared.store.miscounted().into_iter();
            miscounted.for_each(|table| shared.housekeeping.recount(table, None));
        }
    }

    fn sync(&mut self, shared: &Shared) -> bool {
        if shared.stopped.load(Ordering::Acquire) {
            return false;
        }
        let Some(log) = &mut self.log else {
            self.start_record();
            return true;
        };
        self.reservations.encode(&mut self.record, false);
        if self.record.bytes.len() == LogWriter::EMPTY_RECORD {
            return true;
        }
        let appended = if log.fits(self.record.bytes.len()) {
            log.append(&mut self.record.bytes, self.published.next())
        } else {
            // Only reservations of a turn without changes can get here.
            log.make_room(self.record.bytes.len())
                .and_then(|()| log.append(&mut self.record.bytes, self.published.next()))
        };
        self.start_record();
        match appended {
            Ok(()) => true,
            Err(fault) => {
                let message = fault.error().message.clone();
                self.stop(shared, &message);
                false
            }
        }
    }

    fn start_record(&mut self) {
        let mut bytes = std::mem::take(&mut self.record.bytes);
        bytes.clear();
        bytes.shrink_to(KEPT_RECORD);
        self.record.bytes = LogWriter::start_record(bytes);
    }

    /// Nothing may be acknowledged from now on.
    pub(super) fn stop(&mut self, shared: &Shared, reason: &str) {
        shared.stopped.store(true, Ordering::Release);
        shared.environment.process.stop(reason);
    }

    fn start_checkpoint(&mut self, shared: &Shared) {
        let Some(log) = &mut self.log else {
            for receiver in self.checkpoints.drain(..) {
                answer(receiver, Ok(outcome(self.published)));
            }
            return;
        };
        let due = log.written() >= self.checkpoint_bytes;
        if (due || !self.checkpoints.is_empty()) && !shared.stopped.load(Ordering::Acquire) {
            log.forget_written();
            let (sequence, segment) = (log.last_sequence(), log.segment());
            let sequences = self.reservations.positions();
            let receivers = std::mem::take(&mut self.checkpoints);
            shared.housekeeping.checkpoint(shared, sequence, segment, sequences, receivers);
        }
        let refused = shared.stopped.load(Ordering::Acquire);
        for receiver in self.checkpoints.drain(..).filter(|_| refused) {
            answer(receiver, Err(stopped()));
        }
    }

    /// The last turn before a clean stop: sequences go on where they are, without a gap.
    pub fn finish(&mut self, shared: &Shared) {
        shared.locks.refuse_all(&shutting_down());
        for request in self.incoming.drain(..) {
            answer(request.receiver, Err(shutting_down()));
        }
        if self.log.is_some() && !shared.stopped.load(Ordering::Acquire) {
            self.reservations.encode(&mut self.record, true);
            self.sync(shared);
        }
        if let Some(log) = &mut self.log
            && !shared.stopped.load(Ordering::Acquire)
            && let Err(fault) = log.acknowledge_durably()
        {
            tracing::warn!(error = %fault.error(), "could not note the end of the log");
        }
    }
}

pub(super) fn shutting_down() -> Error {
    Error::new(SqlState::AdminShutdown, "the server is shutting down")
}

pub(super) fn outcome(version: Version) -> WriteOutcome {
    WriteOutcome { version, rows: 0, returning: None, drawn: Drawn::default(), is_first: false }
}

/// A receiver that panics harms nobody else.
pub(super) fn answer(receiver: WriteReceiver, result: Result<WriteOutcome>) {
    if catch_unwind(AssertUnwindSafe(|| receiver(result))).is_err() {
        tracing::error!("the receiver of a write's outcome panicked");
    }
}
