//! Where activations wait for the next heartbeat.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::{Condvar, Mutex};

use super::prepared::PreparedLane;
use crate::heartbeat::Activation;
use crate::plan::Weight;
use crate::types::{Error, LaneId, SqlState, TemplateId};

/// A lane.
#[derive(Debug)]
pub struct Lane {
    /// Its number.
    pub id: LaneId,
    /// Light lanes are led by whoever submits, heavy ones by workers.
    pub weight: Weight,
    queue: Mutex<Queue>,
    /// Signalled when as many wait as the leader gathers.
    gathered: Condvar,
    /// The operators that its templates share.
    pub plan: ArcSwap<PreparedLane>,
    /// What it did so far.
    pub totals: Totals,
}

/// How long a leader waits for the next one to come back, at least and at most: a client answers within about the first,
/// and nobody waits longer than the second for clients that have gone.
const PATIENCE: (Duration, Duration) = (Duration::from_micros(300), Duration::from_millis(4));

#[derive(Default)]
struct Queue {
    waiting: Vec<Activation>,
    /// Somebody runs this lane's batches, or it stands in line for a worker.
    led: bool,
    /// The leader sleeps until so many wait; 0: it does not.
    gathering: usize,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} waiting, led: {}", self.waiting.len(), self.led)
    }
}

/// Counters of a lane.
#[derive(Debug, Default)]
pub struct Totals {
    /// Heartbeats.
    pub heartbeats: AtomicU64,
    /// Activations answered.
    pub activations: AtomicU64,
    /// Nanoseconds of heartbeats.
    pub time: AtomicU64,
    /// Activations refused because the lane was full.
    pub refused: AtomicU64,
    /// Measured over predicted time, in thousandths, a moving average.
    pub correction: AtomicU64,
}

impl Lane {
    /// An empty lane.
    pub fn new(id: LaneId, weight: Weight, plan: Arc<PreparedLane>) -> Lane {
        let totals = Totals { correction: AtomicU64::new(1000), ..Totals::default() };
        let (queue, gathered) = (Mutex::default(), Condvar::new());
        Lane { id, weight, queue, gathered, plan: ArcSwap::new(plan), totals }
    }

    /// Activations that wait now.
    pub fn waiting(&self) -> usize {
        self.queue.lock().waiting.len()
    }

    /// Lets an activation wait; 53400 to its receiver where `limit` wait already.
    pub fn submit(&self, activation: Activation, limit: usize) {
        let mut queue = self.queue.lock();
        if queue.waiting.len() < limit {
            queue.waiting.push(activation);
            if queue.gathering > 0 && queue.waiting.len() >= queue.gathering {
                self.gathered.notify_one();
            }
            return;
        }
        drop(queue);
        self.totals.refused.fetch_add(1, Ordering::Relaxed);
        let error = Error::new(SqlState::ConfigurationLimit, "too many statements are waiting")
            .detail(format!("{limit} activations wait in lane {}.", self.id))
            .hint("Retry later, or raise the queue limit.");
        activation.receiver.receive(Err(error));
    }

    /// For the one who leads, after a heartbeat that has answered `answered` and took `took`: waits for those to come
    /// back, as long as they do. Who is answered by one heartbeat and asks again would else always miss the next one, and
    /// two halves of the clients would take turns, each pass serving half of them.
    ///
    /// Ends when all are back, when nobody came for a 64th of the heartbeat's time, after a quarter of it, or when another
    /// lane wants the worker.
    pub fn gather(&self, answered: usize, took: Duration, others_wait: &dyn Fn() -> bool) {
        let patience = (took / 64).clamp(PATIENCE.0, PATIENCE.1);
        let began = Instant::now();
        let mut queue = self.queue.lock();
        queue.gathering = queue.waiting.len() + answered;
        let in_time = || began.elapsed() < took / 4 && !others_wait();
        while queue.waiting.len() < queue.gathering && in_time() {
            let before = queue.waiting.len();
            self.gathered.wait_for(&mut queue, patience);
            if queue.waiting.len() == before {
                break;
            }
        }
        queue.gathering = 0;
    }

    /// Takes the lead if something waits and nobody has it.
    pub fn take_lead(&self) -> bool {
        let mut queue = self.queue.lock();
        let is_free = !queue.led && !queue.waiting.is_empty();
        queue.led |= is_free;
        is_free
    }

    /// The templates of what waits.
    pub fn templates(&self) -> Vec<TemplateId> {
        self.queue.lock().waiting.iter().map(|activation| activation.template.id).collect()
    }

    /// All that waits, for the one who leads; gives the lead back where nothing waits.
    pub fn next(&self) -> Option<Vec<Activation>> {
        let mut queue = self.queue.lock();
        debug_assert!(queue.led, "only the leader takes");
        if queue.waiting.is_empty() {
            queue.led = false;
            return None;
        }
        let capacity = queue.waiting.len().min(64);
        Some(std::mem::replace(&mut queue.waiting, Vec::with_capacity(capacity)))
    }

    /// Notes a heartbeat.
    pub fn count(&self, activations: usize, took: Duration, predicted: Duration) {
        let totals = &self.totals;
        totals.heartbeats.fetch_add(1, Ordering::Relaxed);
        totals.activations.fetch_add(activations as u64, Ordering::Relaxed);
        totals.time.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        if predicted > Duration::ZERO {
            let measured = (took.as_nanos() * 1000 / predicted.as_nanos()).clamp(10, 1_000_000);
            let old = totals.correction.load(Ordering::Relaxed);
            totals.correction.store((old * 7 + measured as u64) / 8, Ordering::Relaxed);
        }
    }

    /// What a batch of these templates' activations will take: the model's figure, corrected by what batches of this
    /// lane took.
    pub fn predict(&self, activations: &[TemplateId]) -> Duration {
        let plan = self.plan.load().plan.predict(activations);
        plan * self.totals.correction.load(Ordering::Relaxed) as u32 / 1000
    }
}
