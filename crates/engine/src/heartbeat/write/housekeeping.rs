//! Slow work beside the write heartbeat: checkpoints, making the next log segment ahead, counting and measuring tables anew.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::Shared;
use super::turn::{answer, outcome};
use crate::heartbeat::WriteReceiver;
use crate::log::{CheckpointSource, TableSource, Written, write_checkpoint};
use crate::storage::{Recount, Sequence, Table};
use crate::types::{Result, SequenceSchema};

enum Task {
    Checkpoint(CheckpointSource, Vec<WriteReceiver>),
    Spare,
    /// A few chunks at a time, then it waits again.
    Recount(Recount, Option<WriteReceiver>),
    /// What the tables take.
    Measure,
}

/// Tasks of the housekeeping thread. At most one checkpoint waits: a newer one takes its place and answers for
/// both.
#[derive(Default)]
pub(super) struct Housekeeping {
    state: Mutex<State>,
    wake: Condvar,
}

/// Chunks that are counted before other tasks have their turn.
const CHUNKS_COUNTED: usize = 16;

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    stopping: bool,
}

impl std::fmt::Debug for Housekeeping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Housekeeping")
    }
}

impl Housekeeping {
    /// Starts a checkpoint of what is published now: called between two turns.
    pub fn checkpoint(
        &self,
        shared: &Shared,
        sequence: u64,
        segment: u64,
        sequences: Vec<(Arc<Sequence>, i64, bool)>,
        mut receivers: Vec<WriteReceiver>,
    ) {
        let snapshot = shared.store.snapshot();
        let table = |table: Arc<crate::storage::Table>| TableSource {
            next_row_id: table.next_row_id(),
            view: table.view(snapshot.version()),
        };
        let tables = shared.store.tables().into_iter().map(table).collect();
        let described = |(sequence, last, called): (Arc<Sequence>, i64, bool)| {
            (SequenceSchema::clone(&sequence.schema()), last, called)
        };
        let source = CheckpointSource {
            sequence,
            segment,
            tables,
            snapshot,
            sequences: sequences.into_iter().map(described).collect(),
            entries: shared.entries.with_prefix(""),
        };
        let mut state = self.state.lock();
        state.tasks.retain_mut(|task| match task {
            Task::Checkpoint(_, waiting) => {
                receivers.append(waiting);
                false
            }
            Task::Spare | Task::Recount(..) | Task::Measure => true,
        });
        state.tasks.push_back(Task::Checkpoint(source, receivers));
        drop(state);
        self.wake.notify_one();
    }

    /// Has a log segment made ahead.
    pub fn prepare_spare(&self) {
        self.state.lock().tasks.push_front(Task::Spare);
        self.wake.notify_one();
    }

    /// Has a table counted anew.
    pub fn recount(&self, table: Arc<Table>, receiver: Option<WriteReceiver>) {
        self.wait_again(Task::Recount(Recount::new(table), receiver));
    }

    /// Has the tables' memory measured, before other tasks: writes may wait for room.
    pub fn measure(&self) {
        self.state.lock().tasks.push_front(Task::Measure);
        self.wake.notify_one();
    }

    fn wait_again(&self, task: Task) {
        self.state.lock().tasks.push_back(task);
        self.wake.notify_one();
    }

    /// The thread ends after the task that it is at; what waits is dropped.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.wake.notify_all();
    }

    fn next(&self) -> Option<Task> {
        let mut state = self.state.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(task) = state.tasks.pop_front() {
                return Some(task);
            }
            self.wake.wait(&mut state);
        }
    }
}

impl Shared {
    /// The housekeeping thread.
    pub(super) fn keep_house(
        &self,
        spare: Option<Arc<crate::log::Spare>>,
        segment_size: u64,
        (mut last, mut written): (u64, Written),
    ) {
        while let Some(task) = self.housekeeping.next() {
            match task {
                Task::Spare => {
                    if let (Some(data), Some(spare)) = (&self.data, &spare)
                        && let Err(error) = spare.prepare(&*data.directory, segment_size)
                    {
                        tracing::warn!(%error, "could not make a log segment ahead");
                    }
                }
                Task::Recount(recount, receiver) => self.recount(recount, receiver),
                Task::Measure => self.measure(),
                Task::Checkpoint(source, receivers) => {
                    let (sequence, version) = (source.sequence, source.snapshot.version());
                    let result = if sequence > last {
                        self.checkpoint(source, &mut written)
                    } else {
                        Ok(())
                    };
                    match &result {
                        Ok(()) => last = sequence,
                        Err(error) => tracing::warn!(%error, "could not write a checkpoint"),
                    }
                    for receiver in receivers {
                        answer(receiver, result.clone().map(|()| outcome(version)));
                    }
                }
            }
        }
    }

    fn recount(&self, mut recount: Recount, receiver: Option<WriteReceiver>) {
        for _ in 0..CHUNKS_COUNTED {
            if recount.step() {
                continue;
            }
            recount.finish();
            if let Some(receiver) = receiver {
                answer(receiver, Ok(outcome(self.store.published())));
            }
            return;
        }
        self.housekeeping.wait_again(Task::Recount(recount, receiver));
    }

    fn checkpoint(&self, source: CheckpointSource, written: &mut Written) -> Result<()> {
        let Some(data) = &self.data else { return Ok(()) };
        let randomness = &*self.environment.randomness;
        let segments = self.store.segments();
        let (directory, database) = (&*data.directory, data.database);
        let bytes = write_checkpoint(directory, randomness, database, segments, &source, written)?;
        tracing::debug!(sequence = source.sequence, bytes, "wrote a checkpoint");
        Ok(())
    }
}
