//! Writes that wait for the next turn, in arrival order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::DefinitionChanges;
use super::company::Company;
use crate::heartbeat::WriteReceiver;
use crate::plan::WritePlan;
use crate::transaction::{Definition, Owner, WriteSet};
use crate::types::limit::Limit;
use crate::types::{SequenceId, SessionId, Value};

/// Sets with more changes than this are not run on the submitting thread, which may serve others.
const SMALL_SET: usize = 1_000;

/// What is to be done.
pub(super) enum Work {
    /// An autocommit statement.
    Write(Arc<WritePlan>, Box<[Value]>),
    /// Rows in bulk.
    Load(Box<super::BulkLoad>),
    /// A block's changes.
    Commit(WriteSet),
    /// DDL.
    Define(Definition),
    /// A block's changes and the definitions that it changed, all or none.
    CommitDefinitions(WriteSet, Box<DefinitionChanges>),
    /// `setval`, ALTER SEQUENCE RESTART.
    SetSequence(SequenceId, i64, bool),
    /// Make the values that a sequence has handed out durable.
    Reserve,
    /// Write a checkpoint; answered when it is durable.
    Checkpoint,
}

/// Work and who wants to know.
pub(super) struct Request {
    pub work: Work,
    /// Who may come back when it is answered, and is waited for. `None`: nobody, and it does not wait itself.
    pub session: Option<SessionId>,
    pub receiver: WriteReceiver,
    /// Has the lock that it was put aside for.
    pub owner: Option<Owner>,
    /// What may end it before it is applied.
    pub limit: Option<Arc<dyn Limit>>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Work {
    pub fn is_small(&self) -> bool {
        match self {
            Work::Commit(set) => set.len() <= SMALL_SET,
            Work::CommitDefinitions(set, changes) => {
                let is_long = changes.definitions.iter().any(passes_over_rows);
                set.len() <= SMALL_SET && changes.rewrites.is_empty() && !is_long
            }
            Work::Define(definition) => !passes_over_rows(definition),
            Work::Load(load) => load.rows() <= SMALL_SET,
            _ => true,
        }
    }
}

/// Whether a definition looks at all rows of its table: to index them, or whether they keep a new rule.
fn passes_over_rows(definition: &Definition) -> bool {
    matches!(definition, Definition::CreateIndex { .. } | Definition::AlterTable(_))
}

/// A bounded queue with one sleeper.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Request>,
    sleeping: bool,
    /// The sleeper sleeps until everybody is back.
    gathering: bool,
    stopping: bool,
    company: Company,
}

impl State {
    /// Whether a turn need not wait for anybody.
    fn is_complete(&self, limit: usize) -> bool {
        self.company.is_complete() || self.waiting.len() >= limit || self.stopping
    }
}

impl Queue {
    pub fn new(limit: usize) -> Queue {
        Queue { state: Mutex::default(), wake: Condvar::new(), limit }
    }

    /// Adds a request; gives it back when the queue is full.
    pub fn push(&self, request: Request, wake: bool) -> Option<Request> {
        let mut state = self.state.lock();
        if state.waiting.len() >= self.limit || state.stopping {
            return Some(request);
        }
        state.company.arrive(request.session);
        state.waiting.push_back(request);
        let sleeping = wake && std::mem::take(&mut state.sleeping);
        let complete = state.gathering && state.is_complete(self.limit);
        drop(state);
        if sleeping || complete {
            self.wake.notify_one();
        }
        None
    }

    /// Takes all that waits.
    pub fn take(&self, into: &mut VecDeque<Request>) {
        let mut state = self.state.lock();
        let State { waiting, company, .. } = &mut *state;
        company.depart(waiting.iter().filter_map(|request| request.session));
        into.append(waiting);
    }

    pub fn is_empty(&self) -> bool {
        self.state.lock().waiting.is_empty()
    }

    /// Puts back what was taken before, and has its lock now; gives it back where nobody takes it any more.
    pub fn return_first(&self, request: Request) -> Option<Request> {
        let mut state = self.state.lock();
        if state.stopping {
            return Some(request);
        }
        state.waiting.push_front(request);
        state.sleeping = false;
        drop(state);
        self.wake.notify_one();
        None
    }

    /// Notes that what was taken is answered.
    pub fn note_answered(&self) {
        self.state.lock().company.answered(Instant::now());
    }

    /// Sleeps until those who were answered last are back, if that was a moment ago, or patience ends.
    pub fn gather(&self, patience: Duration) {
        let now = Instant::now();
        let mut state = self.state.lock();
        if !state.company.is_awaited(now, patience) {
            return;
        }
        state.gathering = true;
        let is_away = |state: &mut State| !state.is_complete(self.limit);
        self.wake.wait_while_until(&mut state, is_away, now + patience);
        state.gathering = false;
    }

    /// Sleeps until something waits; `false` when it is time to stop.
    pub fn wait(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            if !state.waiting.is_empty() {
                return true;
            }
            if state.stopping {
                return false;
            }
            state.sleeping = true;
            self.wake.wait(&mut state);
            state.sleeping = false;
        }
    }

    /// No more requests are taken; the sleeper wakes up and goes.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.wake.notify_all();
    }
}
