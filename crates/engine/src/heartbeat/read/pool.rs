//! Worker threads for heavy lanes.
//!
//! Two kinds of work: a lane that waits to be led, and a parallel loop of a batch that runs. A free worker takes
//! the lane that has had the least service, else it helps with a loop, morsel by morsel, and leaves it when a
//! lane becomes ready. Workers park when there is nothing to do; there is no timer.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::lane::Lane;
use super::least_share::LeastShare;
use super::parts::Outlook;
use crate::env::Threads;
use crate::heartbeat::heavy_work::HeavyWork;
use crate::plan::Weight;
use crate::types::LaneId;

/// Workers give way to the threads that serve light lanes and connections.
const NICE: i32 = 10;

/// A loop calls for help only after it has run this long by itself: waking a worker takes about 50 µs, and most loops
/// of a batch are shorter than that.
const ALONE: Duration = Duration::from_micros(100);

/// Whose lanes the workers of a pool serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crew {
    /// Heavy lanes: pinned, at low priority.
    Heavy,
    /// Light lanes: wherever there is time, at the priority of connections.
    Light,
}

/// What a worker does with a lane.
pub type Lead = dyn Fn(&Arc<Lane>) + Send + Sync;

/// A parallel loop: `help` works on it until nothing is left or `leave` says so.
pub trait Loop: Send + Sync {
    /// Whether morsels are left to be taken.
    fn has_work(&self) -> bool;
    /// Takes morsels.
    fn help(&self, leave: &dyn Fn() -> bool);
}

struct Entry {
    work: Arc<dyn Loop>,
    /// Workers inside `help`.
    helpers: AtomicUsize,
    panicked: AtomicBool,
    /// Signalled when the last helper leaves.
    left: (Mutex<()>, Condvar),
}

#[derive(Default)]
struct State {
    ready: Vec<Arc<Lane>>,
    loops: Vec<Arc<Entry>>,
    /// Time that each lane was served.
    served: BTreeMap<LaneId, Duration>,
    stopped: bool,
}

/// The workers' common ground.
#[derive(Default)]
pub struct Pool {
    state: Mutex<State>,
    wake: Condvar,
    /// Lanes in line, readable without the lock.
    in_line: AtomicUsize,
    workers: AtomicUsize,
    /// Workers that lead a lane. Of light lanes nobody else asks.
    leading: Arc<HeavyWork>,
    /// What is owed to those without a promise.
    pub least_share: LeastShare,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} workers", self.workers.load(Ordering::Relaxed))
    }
}

/// Pins the calling thread to a core and lowers its priority.
fn settle(core: Option<core_affinity::CoreId>) {
    if let Some(core) = core {
        core_affinity::set_for_current(core);
    }
    // On Linux this concerns the calling thread only. Refused, it costs latency, not answers.
    let _ = rustix::process::setpriority_process(None, NICE);
}

impl Pool {
    /// Starts `count` workers that call `lead` for lanes.
    pub fn start(
        crew: Crew,
        count: usize,
        threads: &dyn Threads,
        lead: Arc<Lead>,
        leading: Arc<HeavyWork>,
    ) -> std::io::Result<Arc<Pool>> {
        let pool = Arc::new(Pool { leading, ..Pool::default() });
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        for worker in 0..count {
            let (own, lead) = (pool.clone(), lead.clone());
            let core = cores.get(worker % cores.len().max(1)).copied();
            let body = move || {
                if crew == Crew::Heavy {
                    settle(core);
                }
                own.work(&*lead);
            };
            threads.spawn(&format!("{crew:?}-{worker}").to_lowercase(), Box::new(body))?;
            pool.workers.fetch_add(1, Ordering::Relaxed);
        }
        Ok(pool)
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed)
    }

    /// Whether at most one batch has the workers: what it takes is then what it costs. True of now only: who asks at the
    /// begin and the end of a batch misses another that came and went between.
    pub fn is_undivided(&self) -> bool {
        self.leading.leaders() <= 1
    }

    /// Whether no lane stands in line.
    pub fn is_free(&self) -> bool {
        self.in_line.load(Ordering::Relaxed) == 0
    }

    /// What will take what waits in the lanes that stand in line.
    pub fn expected(&self) -> Duration {
        // Nobody waits for the pool meanwhile: a lane may hold many.
        let ready = self.state.lock().ready.clone();
        ready.iter().map(|lane| lane.expected()).sum()
    }

    /// Puts a lane in line for a worker. The caller has its lead and hands it over.
    pub fn enqueue(&self, lane: Arc<Lane>) {
        let mut state = self.state.lock();
        state.ready.push(lane);
        self.in_line.store(state.ready.len(), Ordering::Relaxed);
        drop(state);
        self.wake.notify_one();
    }

    /// Runs a loop, a long one with the help of free workers; returns when all of it is done. Panics if a helper did.
    pub fn run(&self, work: Arc<dyn Loop>) {
        let own = work.clone();
        self.lead(work, || own.help(&|| false));
    }

    /// Does what the owner of a loop does, a loop that is long with the help of free workers; returns when all of it is
    /// done.
    pub fn lead(&self, work: Arc<dyn Loop>, own: impl FnOnce()) {
        let began = Instant::now();
        work.help(&|| began.elapsed() > ALONE);
        if work.has_work() && self.workers() > 0 {
            self.run_together(work, own);
        } else {
            own();
        }
    }

    fn run_together(&self, work: Arc<dyn Loop>, own: impl FnOnce()) {
        let entry = Arc::new(Entry {
            work,
            helpers: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            left: Default::default(),
        });
        self.state.lock().loops.push(entry.clone());
        self.wake.notify_all();
        let own = catch_unwind(AssertUnwindSafe(own));
        self.state.lock().loops.retain(|other| !Arc::ptr_eq(other, &entry));
        let mut guard = entry.left.0.lock();
        while entry.helpers.load(Ordering::Acquire) > 0 {
            entry.left.1.wait(&mut guard);
        }
        drop(guard);
        if let Err(panic) = own {
            std::panic::resume_unwind(panic);
        }
        assert!(!entry.panicked.load(Ordering::Relaxed), "a worker panicked in a shared operator");
    }

    /// Ends the workers when they are done with what they do.
    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.wake.notify_all();
    }

    fn work(&self, lead: &Lead) {
        let mut state = self.state.lock();
        while !state.stopped {
            if let Some(lane) = self.take_lane(&mut state) {
                drop(state);
                let began = Instant::now();
                self.leading.enter();
                lead(&lane);
                self.leading.leave();
                let took = began.elapsed();
                state = self.state.lock();
                *state.served.entry(lane.id).or_default() += took;
            } else if let Some(entry) = state.loops.iter().find(|e| e.work.has_work()).cloned() {
                entry.helpers.fetch_add(1, Ordering::AcqRel);
                drop(state);
                self.help(&entry);
                state = self.state.lock();
            } else {
                self.wake.wait(&mut state);
            }
        }
    }

    fn help(&self, entry: &Entry) {
        let leave = || self.in_line.load(Ordering::Relaxed) > 0;
        if catch_unwind(AssertUnwindSafe(|| entry.work.help(&leave))).is_err() {
            entry.panicked.store(true, Ordering::Relaxed);
        }
        let guard = entry.left.0.lock();
        entry.helpers.fetch_sub(1, Ordering::AcqRel);
        entry.left.1.notify_all();
        drop(guard);
    }

    /// The ready lane with the least service; where that has a long batch before it, the one whose long batch should
    /// [come first](super::parts). A lane that comes back after a pause starts level with the least served one in line:
    /// rest earns no credit.
    fn take_lane(&self, state: &mut State) -> Option<Arc<Lane>> {
        let State { ready, served, .. } = state;
        let service = |lane: &Arc<Lane>| served.get(&lane.id).copied().unwrap_or_default();
        let position = (0..ready.len()).min_by_key(|i| service(&ready[*i]))?;
        let least = service(&ready[position]);
        let position = first_of_long(ready, position, &self.least_share);
        let lane = ready.swap_remove(position);
        self.in_line.store(ready.len(), Ordering::Relaxed);
        for other in served.values_mut() {
            *other = (*other).max(least);
        }
        Some(lane)
    }
}

/// The position of the lane whose next batch comes first, where that of the lane at `least` is long.
fn first_of_long(ready: &[Arc<Lane>], least: usize, least_share: &LeastShare) -> usize {
    if ready.len() == 1 || ready[least].weight == Weight::Light {
        return least;
    }
    let expected = |lane: &Arc<Lane>| match lane.weight {
        Weight::Heavy => lane.expected(),
        Weight::Light => Duration::ZERO,
    };
    let expected: Vec<Duration> = ready.iter().map(expected).collect();
    let all: Duration = expected.iter().sum();
    let long = |position: usize| {
        let lane = Some(&ready[position]).filter(|lane| lane.weight == Weight::Heavy)?;
        lane.outlook(all - expected[position], least_share).filter(Outlook::is_long)
    };
    let Some(outlook) = long(least) else { return least };
    let mut first = (least, outlook);
    for position in (0..ready.len()).filter(|position| *position != least) {
        if let Some(other) = long(position).filter(|other| other.precedes(&first.1)) {
            first = (position, other);
        }
    }
    first.0
}
