//! Opening: recovery, then the threads.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::housekeeping::Housekeeping;
use super::queue::{Queue, Work};
use super::sequences::Reservations;
use super::turn::Writer;
use super::{DefinitionChanges, Shared, WriteHeartbeat};
use crate::env::Environment;
use crate::heartbeat::WriteReceiver;
use crate::heartbeat::heavy_work::HeavyWork;
use crate::log::{DataDirectory, Entries, LogWriter, Recovered, Written, recover};
use crate::plan::WritePlan;
use crate::storage::{Store, Table};
use crate::transaction::{Definition, Relations, WriteSet};
use crate::types::{Error, Result, SequenceId, SessionId, SqlState, Value};

/// Sizes that tests make small.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Bytes of a log segment.
    pub segment_size: u64,
    /// Bytes of log after which a checkpoint is written at the earliest.
    pub checkpoint_bytes: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning { segment_size: 16 << 20, checkpoint_bytes: 256 << 20 }
    }
}

impl WriteHeartbeat {
    /// Recovers what the data directory has (or starts empty) and starts the threads.
    pub fn open(
        environment: Environment,
        data: Option<&Path>,
        workers: usize,
        queue_limit: usize,
        tuning: Tuning,
    ) -> Result<WriteHeartbeat> {
        let workers = workers.max(1);
        let data = data.map(|path| DataDirectory::open(&environment, path)).transpose()?;
        let recovered = match &data {
            Some(data) => Some(recovered(&environment, data, workers, tuning.segment_size)?),
            None => None,
        };
        let (store, entries, version, log, checkpoint) = match recovered {
            Some(r) => {
                let checkpoint = (r.checkpoint, r.written);
                (r.store, r.entries, r.version, Some(r.writer), checkpoint)
            }
            None => {
                let store = Store::new(workers);
                let version = store.published();
                (store, Entries::default(), version, None, (0, Written::default()))
            }
        };
        let spare = log.as_ref().map(|log: &LogWriter| log.spare().clone());
        let mut reservations = Reservations::default();
        reservations.refresh(&store);
        let shared = Arc::new_cyclic(|own| Shared {
            own: own.clone(),
            environment,
            relations: ArcSwap::from_pointee(Relations::of(&store)),
            store,
            entries,
            locks: Arc::default(),
            queue: Queue::new(queue_limit),
            writer: Mutex::new(Writer::new(version, log, reservations, tuning.checkpoint_bytes)),
            writing: AtomicU64::new(0),
            applied: AtomicU64::new(version.0),
            stopped: AtomicBool::new(false),
            data,
            housekeeping: Housekeeping::default(),
            heavy_work: Arc::default(),
            room: Default::default(),
        });
        shared.measure();
        let thread = spawn(&shared, "write", |shared| shared.thread())?;
        let keep_house = move |shared: &Shared| {
            shared.keep_house(spare, tuning.segment_size, checkpoint);
        };
        let housekeeping = spawn(&shared, "housekeeping", keep_house)?;
        shared.housekeeping.prepare_spare();
        Ok(WriteHeartbeat { shared, thread: Some(thread), housekeeping: Some(housekeeping) })
    }

    /// What is stored.
    pub fn store(&self) -> &Arc<Store> {
        &self.shared.store
    }

    /// Where the workers say whether they have heavy work.
    pub fn heavy_work(&self) -> &Arc<HeavyWork> {
        &self.shared.heavy_work
    }

    /// See [`crate::heartbeat::Engine::write`].
    pub fn write(
        &self,
        plan: Arc<WritePlan>,
        parameters: Box<[Value]>,
        session: SessionId,
        receiver: WriteReceiver,
    ) {
        self.shared.submit(Work::Write(plan, parameters), Some(session), receiver);
    }

    /// See [`crate::heartbeat::Engine::commit`].
    pub fn commit(&self, set: WriteSet, session: SessionId, receiver: WriteReceiver) {
        if set.is_empty() {
            let version = self.shared.store.published();
            return receiver(Ok(super::turn::outcome(version)));
        }
        self.shared.submit(Work::Commit(set), Some(session), receiver);
    }

    /// See [`crate::heartbeat::Engine::define`].
    pub fn define(&self, definition: Definition, receiver: WriteReceiver) {
        self.shared.submit(Work::Define(definition), None, receiver);
    }

    /// See [`crate::heartbeat::Engine::commit_definitions`].
    pub fn commit_definitions(
        &self,
        set: WriteSet,
        changes: DefinitionChanges,
        receiver: WriteReceiver,
    ) {
        let work = Work::CommitDefinitions(set, Box::new(changes));
        self.shared.submit(work, None, receiver);
    }

    /// See [`crate::heartbeat::Engine::set_sequence`].
    pub fn set_sequence(
        &self,
        sequence: SequenceId,
        last: i64,
        called: bool,
        receiver: WriteReceiver,
    ) {
        self.shared.submit(Work::SetSequence(sequence, last, called), None, receiver);
    }

    /// See [`crate::heartbeat::Engine::reserve_sequences`].
    pub fn reserve_sequences(&self, receiver: WriteReceiver) {
        self.shared.submit(Work::Reserve, None, receiver);
    }

    /// See [`crate::heartbeat::Engine::entry`].
    pub fn entry(&self, key: &str) -> Option<Arc<[u8]>> {
        self.shared.entries.get(key)
    }

    /// See [`crate::heartbeat::Engine::entries`].
    pub fn entries(&self, prefix: &str) -> Vec<(String, Arc<[u8]>)> {
        self.shared.entries.with_prefix(prefix)
    }

    /// See [`crate::heartbeat::Engine::recount`].
    pub fn recount(&self, table: Arc<Table>, receiver: WriteReceiver) {
        self.shared.housekeeping.recount(table, Some(receiver));
    }

    /// See [`crate::heartbeat::Engine::checkpoint`].
    pub fn checkpoint(&self, receiver: WriteReceiver) {
        self.shared.submit(Work::Checkpoint, None, receiver);
    }
}

/// Recovers, and says how long it took.
fn recovered(
    environment: &Environment,
    data: &DataDirectory,
    workers: usize,
    segment_size: u64,
) -> Result<Recovered> {
    let began = environment.clock.now();
    let recovered = recover(environment, data, workers, segment_size)?;
    let seconds = (environment.clock.now() - began).as_secs_f64();
    let tables = recovered.store.tables();
    for table in &tables {
        let name = table.schema().name.clone();
        tracing::debug!(%name, rows = table.live_rows(), bytes = table.memory(), "recovered table");
    }
    let rows: u64 = tables.iter().map(|table| table.live_rows()).sum();
    tracing::info!(rows, seconds, "recovered");
    Ok(recovered)
}

fn spawn(
    shared: &Arc<Shared>,
    name: &str,
    body: impl FnOnce(&Shared) + Send + 'static,
) -> Result<std::thread::JoinHandle<()>> {
    let own = shared.clone();
    shared.environment.threads.spawn(name, Box::new(move || body(&own))).map_err(|error| {
        Error::new(SqlState::IoError, format!("could not start thread \"{name}\": {error}"))
    })
}
