//! Writes that wait for the next turn, in arrival order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::DefinitionChanges;
use super::company::Company;
use crate::heartbeat::WriteReceiver;
use crate::plan::WritePlan;
use crate::transaction::{Definition, Isolation, WriteSet};
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
    Commit(WriteSet, Isolation),
    /// DDL.
    Define(Definition),
    /// A block's changes and the definitions that it changed, all or none.
    CommitDefinitions(WriteSet, Isolation, Box<DefinitionChanges>),
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
    /// Until when it waits for somebody's hold at most, once it has met one.
    pub patience: Option<Duration>,
    /// What may end it before it is applied.
    pub limit: Option<Arc<dyn Limit>>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Work {
    pub fn is_small(&self) -> bool {
        match self {
            Work::Commit(set, _) => set.len() <= SMALL_SET,
            Work::CommitDefinitions(set, _, changes) => {
                set.len() <= SMALL_SET && changes.rewrites.is_empty()
            }
            Work::Load(load) => load.rows() <= SMALL_SET,
            _ => true,
        }
    }
}

/// A bounded queue with one sleeper.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    limit: usize,
    /// Somebody waits for a hold: the sleeper must look again soon.
    look_again: AtomicBool,
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
        Queue {
            state: Mutex::default(),
            wake: Condvar::new(),
            limit,
            look_again: AtomicBool::new(false),
        }
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

    /// Says whether somebody waits for a hold.
    pub fn set_look_again(&self, look_again: bool) {
        if self.look_again.swap(look_again, Ordering::AcqRel) != look_again && look_again {
            self.state.lock().sleeping = false;
            self.wake.notify_one();
        }
    }

    /// Notes that what was taken is answered.
    pub fn note_answered(&self) {
        self.state.lock().company.answered(Instant::now());
    }

    /// Sleeps until those who were answered last are back, if that was a moment ago, or patience ends.
    pub fn gather(&self, patience: Duration) {
        let now = Instant::now();
        let mut state = self.state.lock();
        if !state.company.is_awaited(now, patience) || self.look_again.load(Ordering::Acquire) {
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
            if self.look_again.load(Ordering::Acquire) {
                self.wake.wait_for(&mut state, super::LOOK);
                state.sleeping = false;
                return !state.stopping || !state.waiting.is_empty();
            }
            self.wake.wait(&mut state);
            state.sleeping = false;
            if self.look_again.load(Ordering::Acquire) {
                return true;
            }
        }
    }

    /// No more requests are taken; the sleeper wakes up and goes.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.wake.notify_all();
    }
}
