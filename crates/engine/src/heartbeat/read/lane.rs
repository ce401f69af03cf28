//! Where activations wait for the next heartbeat.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::{Condvar, Mutex};

use super::course::Course;
use super::hosts::Hosts;
use super::least_share::LeastShare;
use super::parts::{self, Costs, Outlook, Part, Since};
use super::pass_times::PassTimes;
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
    /// How long its passes around a ring took.
    pub passes: PassTimes,
    /// What runs and what waits.
    pub course: Course,
    /// Requests under way.
    pub hosts: Hosts,
}

/// How long a leader waits for the next one to come back, at least and at most: a client answers within about the first,
/// and nobody waits longer than the second for clients that have gone.
const PATIENCE: (Duration, Duration) = (Duration::from_micros(300), Duration::from_millis(16));

#[derive(Default)]
struct Queue {
    waiting: Vec<Activation>,
    /// Somebody runs this lane's batches, or it stands in line for a worker.
    led: bool,
    /// The leader sleeps until so many wait; 0: it does not.
    gathering: usize,
    /// Queries of this lane's templates that compute query at a time.
    alone: usize,
    /// Since when parts of a long batch wait.
    since: Since,
    /// A part of a long batch runs beside what the leader runs.
    beside: bool,
    /// Somebody waits for what nobody knows how long it takes.
    is_uneven: bool,
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
    /// Batches in which something panicked: they ran again, request by request.
    pub panics: AtomicU64,
    /// Measured over predicted time, in thousandths, a moving average.
    pub correction: AtomicU64,
}

/// How long those who were just answered are waited for.
#[derive(Debug)]
pub struct Comeback {
    /// So many wait when all are back.
    expected: usize,
    /// So many waited at the last look, and since when.
    waiting: (usize, Instant),
    patience: Duration,
    end: Instant,
}

impl Comeback {
    /// `answered` were answered by a heartbeat that took `took`; `waiting` wait already.
    pub fn new(waiting: usize, answered: usize, took: Duration) -> Comeback {
        let now = Instant::now();
        Comeback {
            expected: waiting + answered,
            waiting: (waiting, now),
            patience: (took / 32).clamp(PATIENCE.0, PATIENCE.1),
            end: now + took / 4,
        }
    }

    /// Whether all are back, or nobody came for a 32nd of the heartbeat's time, or a quarter of it has gone by.
    pub fn is_over(&mut self, waiting: usize) -> bool {
        let now = Instant::now();
        if waiting != self.waiting.0 {
            self.waiting = (waiting, now);
        }
        waiting >= self.expected || now >= self.end || now - self.waiting.1 >= self.patience
    }
}

impl Lane {
    /// An empty lane.
    pub fn new(id: LaneId, weight: Weight, plan: Arc<PreparedLane>) -> Lane {
        let totals = Totals { correction: AtomicU64::new(1000), ..Totals::default() };
        let (queue, gathered) = (Mutex::default(), Condvar::new());
        Lane {
            id,
            weight,
            queue,
            gathered,
            plan: ArcSwap::new(plan),
            totals,
            passes: PassTimes::default(),
            course: Course::default(),
            hosts: Hosts::default(),
        }
    }

    /// Whether what waits may take any time, whatever is expected.
    pub fn is_uneven(&self) -> bool {
        self.queue.lock().is_uneven
    }

    /// Activations that wait now.
    pub fn waiting(&self) -> usize {
        self.queue.lock().waiting.len()
    }

    /// Lets an activation wait; 53000 to its receiver where `limit` wait already.
    pub fn submit(&self, activation: Activation, limit: usize) {
        let is_uneven = self.weight == Weight::Heavy && activation.template.program().is_uneven;
        let mut queue = self.queue.lock();
        if queue.waiting.len() < limit {
            queue.is_uneven |= is_uneven;
            queue.waiting.push(activation);
            self.course.set_waiting(queue.waiting.len());
            if queue.gathering > 0 && queue.waiting.len() >= queue.gathering {
                self.gathered.notify_one();
            }
            return;
        }
        drop(queue);
        self.totals.refused.fetch_add(1, Ordering::Relaxed);
        let error = Error::new(SqlState::InsufficientResources, "too many statements are waiting")
            .detail(format!("{limit} activations wait in lane {}.", self.id))
            .hint("Retry later, or raise the queue limit.");
        activation.receiver.receive(Err(error));
    }

    /// For the one who leads, after a heartbeat that has answered `answered` and took `took`: waits for those to come
    /// back, as long as they do. Who is answered by one heartbeat and asks again would else always miss the next one, and
    /// two halves of the clients would take turns, each pass serving half of them.
    ///
    /// Ends with the [`Comeback`], or when another lane wants the worker.
    pub fn gather(&self, answered: usize, took: Duration, others_wait: &dyn Fn() -> bool) {
        let mut queue = self.queue.lock();
        let mut comeback = Comeback::new(queue.waiting.len(), answered, took);
        queue.gathering = comeback.expected;
        while !comeback.is_over(queue.waiting.len()) && !others_wait() {
            self.gathered.wait_for(&mut queue, comeback.patience);
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

    /// Takes the lead if nobody has it, also where nothing waits.
    pub fn hold_back(&self) -> bool {
        !std::mem::replace(&mut self.queue.lock().led, true)
    }

    /// Notes that a query of this lane computes query at a time, where nobody waits, leads or does the same.
    pub fn enter_alone_if_idle(&self) -> bool {
        let mut queue = self.queue.lock();
        let is_idle = !queue.led && queue.waiting.is_empty() && queue.alone == 0;
        queue.alone += usize::from(is_idle);
        is_idle
    }

    /// Notes that a query computes query at a time again.
    pub fn enter_alone(&self) {
        self.queue.lock().alone += 1;
    }

    /// Notes that a query does not compute query at a time any more.
    pub fn leave_alone(&self) {
        self.queue.lock().alone -= 1;
    }

    /// Gives the lead back where nothing waits.
    pub fn rest(&self) -> bool {
        let mut queue = self.queue.lock();
        queue.led = !queue.waiting.is_empty();
        !queue.led
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
        queue.is_uneven = false;
        self.course.set_waiting(0);
        let capacity = queue.waiting.len().min(64);
        Some(std::mem::replace(&mut queue.waiting, Vec::with_capacity(capacity)))
    }

    /// What is to be run next of what waits, for the one who leads, and whether other parts are left; gives the lead back
    /// where nothing waits. `elsewhere` is what will take what waits in other lanes.
    pub fn next_part(
        &self,
        elsewhere: Duration,
        least_share: &LeastShare,
    ) -> Option<(Vec<Activation>, bool)> {
        let mut queue = self.queue.lock();
        let outlook = self.outlook_of(&mut queue, elsewhere, least_share);
        outlook.iter().for_each(|outlook| outlook.note(least_share));
        let part = outlook.map_or(Part::All, |outlook| outlook.part);
        queue.since.retain(|(other, _)| *other != part);
        if part == Part::All {
            drop(queue);
            return self.next().map(|all| (all, false));
        }
        let taken = parts::take(&self.plan.load(), part, &mut queue.waiting);
        self.course.set_waiting(queue.waiting.len());
        Some((taken, !queue.waiting.is_empty()))
    }

    /// Whether somebody else may lead while the part that the leader has taken runs. Two parts at a time keep all workers
    /// busy where one of them is in a phase for one worker; more would leave too few activations for each to wait for.
    pub fn step_aside(&self) -> bool {
        !std::mem::replace(&mut self.queue.lock().beside, true)
    }

    /// Says that the part of the one who stepped aside has run.
    pub fn end_aside(&self) {
        self.queue.lock().beside = false;
    }

    /// What it would run next; `None` where nothing waits. `elsewhere` is what will take what waits in other lanes.
    pub fn outlook(&self, elsewhere: Duration, least_share: &LeastShare) -> Option<Outlook> {
        self.outlook_of(&mut self.queue.lock(), elsewhere, least_share)
    }

    fn outlook_of(
        &self,
        queue: &mut Queue,
        elsewhere: Duration,
        least_share: &LeastShare,
    ) -> Option<Outlook> {
        let Queue { waiting, since, .. } = queue;
        let plan = self.plan.load();
        let outlook = || Outlook::of(&plan, self, waiting, elsewhere, since, least_share);
        (!waiting.is_empty()).then(outlook)
    }

    /// All that waits, for the one who leads and has a batch under way, where everybody fits.
    pub fn next_if(&self, fits: impl Fn(&Activation) -> bool) -> Option<Vec<Activation>> {
        let mut queue = self.queue.lock();
        debug_assert!(queue.led, "only the leader takes");
        let all = queue.waiting.iter().all(fits).then(|| std::mem::take(&mut queue.waiting));
        self.course.set_waiting(queue.waiting.len());
        all
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

    /// What will take all that waits.
    pub fn expected(&self) -> Duration {
        self.predict(&self.templates())
    }

    /// What a batch of these templates' activations will take: the model's figure, corrected by what batches of this
    /// lane took.
    pub fn predict(&self, activations: &[TemplateId]) -> Duration {
        let plan = self.plan.load().plan.predict(activations);
        plan * self.totals.correction.load(Ordering::Relaxed) as u32 / 1000
    }
}

impl Costs for Lane {
    fn together(&self, templates: &[TemplateId]) -> Duration {
        self.predict(templates)
    }

    fn alone(&self, activation: &Activation) -> Duration {
        let template = &activation.template;
        let measured = template.path_costs().global.measured;
        measured.unwrap_or_else(|| self.predict(&[template.id]))
    }
}
