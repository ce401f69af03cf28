//! Slow work beside the write heartbeat: checkpoints, making the next log segment ahead, counting tables anew.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};

use super::Shared;
use super::turn::{answer, outcome};
use crate::heartbeat::WriteReceiver;
use crate::log::{CheckpointSource, TableSource, write_checkpoint};
use crate::storage::{Recount, Sequence, Table};
use crate::types::{Result, SequenceSchema};

enum Task {
    Checkpoint(CheckpointSource, Vec<WriteReceiver>),
    Spare,
    /// A few chunks at a time, then it waits again.
    Recount(Recount, Option<WriteReceiver>),
}

/// Tasks of the housekeeping thread. At most one checkpoint waits: a newer one takes its place and answers for
/// both.
#[derive(Default)]
pub(super) struct Housekeeping {
    state: Mutex<State>,
    wake: Condvar,
    /// Bytes of the last checkpoint's rows; 0 before the first since the start.
    written: AtomicU64,
}

/// A checkpoint writes all rows again: one is due after a log of so many times fewer bytes than the last one had, so that a
/// load writes its rows a few times and not once for each [`Tuning::checkpoint_bytes`](super::Tuning), and a recovery reads
/// little more than half as much log as rows.
const LOG_SHARE: u64 = 2;

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
            Task::Spare | Task::Recount(..) => true,
        });
        state.tasks.push_back(Task::Checkpoint(source, receivers));
        drop(state);
        self.wake.notify_one();
    }

    /// Bytes of log after which a checkpoint is due, of these at least.
    pub fn due_after(&self, least: u64) -> u64 {
        least.max(self.written.load(Ordering::Relaxed) / LOG_SHARE)
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
    pub(super) fn keep_house(&self, spare: Option<Arc<crate::log::Spare>>, segment_size: u64) {
        let mut last = 0;
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
                Task::Checkpoint(source, receivers) => {
                    let (sequence, version) = (source.sequence, source.snapshot.version());
                    let result = if sequence > last { self.checkpoint(source) } else { Ok(()) };
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

    fn checkpoint(&self, source: CheckpointSource) -> Result<()> {
        let Some(data) = &self.data else { return Ok(()) };
        let randomness = &*self.environment.randomness;
        let segments = self.store.segments();
        let bytes =
            write_checkpoint(&*data.directory, randomness, data.database, segments, &source)?;
        self.housekeeping.written.store(bytes, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_checkpoints_are_written_less_often() {
        let housekeeping = Housekeeping::default();
        assert_eq!(housekeeping.due_after(100), 100);
        housekeeping.written.store(150, Ordering::Relaxed);
        assert_eq!(housekeeping.due_after(100), 100);
        housekeeping.written.store(1000, Ordering::Relaxed);
        assert_eq!(housekeeping.due_after(100), 500);
    }
}
