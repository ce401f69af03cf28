//! The threads that parse and plan, and those who wait for them.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use engine::env::{SystemThreads, Threads};
use engine::types::{Error, Result, SqlState};
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};

use super::wanted::{Wanted, cancelled};
use crate::text::{in_zone, session_zone};

/// Stack of a planning thread. Only pages that somebody has reached are memory, and they go back with the thread.
pub const STACK_BYTES: usize = 256 << 20;

/// Bytes of text above which a statement is large: these never have all threads.
const LARGE_TEXT: usize = 8 << 10;

/// So many times as many threads more there may be where some have been on one plan for long, or on plans that nobody waits for any more.
const SPARE: usize = 4;

/// Statements that may wait for a thread.
const QUEUE_LIMIT: usize = 1_000;

/// After this long on one statement, or a large one, a thread ends, and another one takes its place: its stack may have grown.
const LONG: Duration = Duration::from_millis(100);

/// How often those who wait for a thread look whether all of them are on something long.
const LOOK: Duration = Duration::from_millis(50);

/// Few threads of their own for parsing and planning; started when there is something to do, ended with this value.
pub struct PlanningThreads {
    shared: Arc<Shared>,
}

struct Shared {
    limit: usize,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Order>,
    running: Vec<Running>,
    started: usize,
    idle: usize,
    stopped: bool,
}

/// A statement that waits for a thread.
struct Order {
    wanted: Arc<Wanted>,
    is_large: bool,
    work: Box<dyn FnOnce() + Send>,
}

/// A statement that has one.
struct Running {
    wanted: Arc<Wanted>,
    is_large: bool,
}

impl fmt::Debug for PlanningThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanningThreads").field("limit", &self.shared.limit).finish()
    }
}

impl PlanningThreads {
    /// At most as many as there are cores, but four: while some plan for long there is one left for others.
    pub fn new() -> PlanningThreads {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        PlanningThreads::at_most(cores.max(4))
    }

    fn at_most(limit: usize) -> PlanningThreads {
        let shared = Shared { limit, state: Mutex::default(), wake: Condvar::new() };
        PlanningThreads { shared: Arc::new(shared) }
    }

    /// Has `work` done for a text of so many bytes, in the zone of who calls. Whoever waits gives up once `cancelled` is set
    /// (57014), `deadline` is over, or the future is dropped; the work hears of it at its next checkpoint.
    pub fn run<T: Send + 'static>(
        &self,
        text_bytes: usize,
        cancelled: Arc<AtomicBool>,
        deadline: Option<Instant>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Planned<T> {
        let (send, receive) = oneshot::channel();
        let wanted = Arc::<Wanted>::default();
        let (own, zone) = (wanted.clone(), session_zone());
        // What is computed while planning may want to wait for something, as it would elsewhere.
        let runtime = tokio::runtime::Handle::try_current().ok();
        let work = move || {
            let _entered = runtime.as_ref().map(|runtime| runtime.enter());
            let outcome = catch_unwind(AssertUnwindSafe(|| in_zone(&zone, || own.run(work))));
            // Nobody waits any more where the client has gone.
            let _ = send.send(outcome.unwrap_or_else(|_| Err(panicked())));
        };
        let is_large = text_bytes > LARGE_TEXT;
        let order = Order { wanted: wanted.clone(), is_large, work: Box::new(work) };
        let refused = Shared::submit(&self.shared, order).err();
        Planned {
            shared: self.shared.clone(),
            wanted,
            receive,
            refused,
            cancelled,
            deadline,
            sleep: None,
            is_answered: false,
        }
    }
}

impl Default for PlanningThreads {
    fn default() -> PlanningThreads {
        PlanningThreads::new()
    }
}

impl Drop for PlanningThreads {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.stopped = true;
        let left = std::mem::take(&mut state.waiting);
        drop(state);
        self.shared.wake.notify_all();
        // Those who wait hear that it was not done.
        drop(left);
    }
}

impl Shared {
    fn submit(shared: &Arc<Shared>, order: Order) -> Result<()> {
        let mut state = shared.state.lock();
        if state.waiting.len() >= QUEUE_LIMIT {
            let message = "too many statements wait to be planned";
            return Err(Error::new(SqlState::InsufficientResources, message));
        }
        state.waiting.push_back(order);
        if state.idle >= state.waiting.len() {
            shared.wake.notify_one();
            return Ok(());
        }
        if !state.may_start(shared.limit) {
            return Ok(());
        }
        let started = Shared::start(shared, &mut state);
        // Others will come to it, unless there are none.
        match started.is_err() && state.started == 0 {
            true => {
                state.waiting.pop_back();
                started
            }
            false => Ok(()),
        }
    }

    fn start(shared: &Arc<Shared>, state: &mut MutexGuard<'_, State>) -> Result<()> {
        let own = shared.clone();
        let body = Box::new(move || Shared::work(&own));
        SystemThreads.spawn_with_stack("planning", STACK_BYTES, body).map_err(|error| {
            let message = format!("could not start a thread to plan on: {error}");
            Error::new(SqlState::OutOfMemory, message)
        })?;
        state.started += 1;
        Ok(())
    }

    fn work(shared: &Arc<Shared>) {
        let mut state = shared.state.lock();
        while !state.stopped {
            let Some(order) = state.next(shared.limit) else {
                if state.started > shared.limit {
                    break;
                }
                state.idle += 1;
                shared.wake.wait(&mut state);
                state.idle -= 1;
                continue;
            };
            let Order { wanted, is_large, work } = order;
            state.running.push(Running { wanted: wanted.clone(), is_large });
            drop(state);
            work();
            let took = wanted.age();
            state = shared.state.lock();
            state.running.retain(|other| !Arc::ptr_eq(&other.wanted, &wanted));
            if (is_large || took > LONG) && Shared::start(shared, &mut state).is_ok() {
                break;
            }
        }
        state.started -= 1;
    }

    /// Where somebody waits: starts a thread in the place of one that has been on its plan for long. The system shares the cores among
    /// them, so what is short is soon done, and what is long goes on.
    fn relieve(shared: &Arc<Shared>) {
        let mut state = shared.state.lock();
        if !state.has_next(shared.limit) {
            return;
        }
        if state.idle == 0 && state.may_start(shared.limit) {
            // Refused, those who wait look again soon.
            let _ = Shared::start(shared, &mut state);
        }
        shared.wake.notify_one();
    }
}

impl State {
    /// What somebody waits for.
    fn wanted(&self) -> impl Iterator<Item = &Running> {
        self.running.iter().filter(|running| running.wanted.is_wanted())
    }

    /// Whether there may be one thread more: those that are on something long, or on what nobody waits for, do not count.
    fn may_start(&self, limit: usize) -> bool {
        let is_long =
            |running: &&Running| !running.wanted.is_wanted() || running.wanted.age() > LONG;
        let long = self.running.iter().filter(is_long).count();
        self.started < limit + long.min(SPARE * limit)
    }

    /// Who has waited longest and may have a thread: of the large ones there is always one fewer than threads.
    fn next(&mut self, limit: usize) -> Option<Order> {
        let position = self.next_position(limit)?;
        self.waiting.remove(position)
    }

    fn has_next(&self, limit: usize) -> bool {
        self.next_position(limit).is_some()
    }

    fn next_position(&self, limit: usize) -> Option<usize> {
        let large = self.wanted().filter(|running| running.is_large).count();
        let may_run = |order: &Order| !order.is_large || large + 1 < limit.max(2);
        self.waiting.iter().position(may_run)
    }
}

/// What a planning thread will give. Dropped, it is no longer wanted.
#[must_use]
pub struct Planned<T> {
    shared: Arc<Shared>,
    wanted: Arc<Wanted>,
    receive: oneshot::Receiver<Result<T>>,
    refused: Option<Error>,
    cancelled: Arc<AtomicBool>,
    deadline: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
    is_answered: bool,
}

impl<T> Planned<T> {
    fn given_up(&self) -> Option<Error> {
        let now = Instant::now();
        if self.cancelled.load(Ordering::Relaxed) {
            Some(cancelled())
        } else if self.deadline.is_some_and(|deadline| now >= deadline) {
            let message = "canceling statement due to statement timeout";
            Some(Error::new(SqlState::QueryCanceled, message))
        } else {
            None
        }
    }

    fn answer(&mut self, answer: Result<T>) -> Poll<Result<T>> {
        self.is_answered = true;
        Poll::Ready(answer)
    }
}

impl<T> Future for Planned<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let this = &mut *self;
        if let Some(refused) = this.refused.take() {
            return this.answer(Err(refused));
        }
        if let Poll::Ready(answer) = Pin::new(&mut this.receive).poll(context) {
            return this.answer(answer.unwrap_or_else(|_| Err(shut_down())));
        }
        // Whoever sets the flag wakes the session's task.
        if let Some(fault) = this.given_up() {
            return Poll::Ready(Err(fault));
        }
        let mut sleep = this.sleep.take().unwrap_or_else(|| Box::pin(tokio::time::sleep(LOOK)));
        while sleep.as_mut().poll(context).is_ready() {
            Shared::relieve(&this.shared);
            if let Some(fault) = this.given_up() {
                return Poll::Ready(Err(fault));
            }
            sleep.as_mut().reset(Instant::now() + LOOK);
        }
        this.sleep = Some(sleep);
        Poll::Pending
    }
}

impl<T> Drop for Planned<T> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.wanted.leave();
        }
    }
}

/// The database was closed before its turn came.
fn shut_down() -> Error {
    Error::new(SqlState::AdminShutdown, "terminating connection due to administrator command")
}

/// A broken invariant: this statement fails, its session and all others go on.
fn panicked() -> Error {
    tracing::error!("planning a statement broke an invariant");
    Error::new(SqlState::InternalError, "internal error: a broken invariant ended this statement")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::super::checkpoint;
    use super::*;
    use crate::text::SessionZone;
    use crate::waiting::{HANG, eventually};

    const SMALL: usize = 100;
    const LARGE: usize = 100_000;

    fn run<T: Send + 'static>(
        threads: &PlanningThreads,
        bytes: usize,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Planned<T> {
        threads.run(bytes, Arc::default(), None, work)
    }

    /// Work that goes on until it is let go, and what lets it.
    fn stuck() -> (mpsc::Sender<()>, impl FnOnce() -> Result<()> + Send) {
        let (go, wait) = mpsc::channel();
        (go, move || {
            let _ = wait.recv();
            checkpoint()
        })
    }

    /// Waits until so many threads have begun something.
    fn until_running(threads: &PlanningThreads, count: usize) {
        let running = || threads.shared.state.lock().running.len();
        eventually("threads take work", || (running() >= count).then_some(()));
    }

    #[tokio::test]
    async fn who_cancels_does_not_wait_and_the_work_hears_of_it() {
        let threads = PlanningThreads::at_most(2);
        let (told, hears) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let cancelled = Arc::<AtomicBool>::default();
        let planned = threads.run(SMALL, cancelled.clone(), None, move || {
            let _ = wait.recv();
            let _ = told.send(checkpoint());
            Ok(())
        });
        cancelled.store(true, Ordering::Relaxed);
        assert_eq!(planned.await.expect_err("cancelled").state, SqlState::QueryCanceled);
        drop(go);
        assert!(hears.recv_timeout(HANG).expect("it ran").is_err());
        let soon = Some(Instant::now() + Duration::from_millis(10));
        let (go, work) = stuck();
        let late = threads.run(SMALL, Arc::default(), soon, work).await.expect_err("too late");
        assert_eq!(late.message, "canceling statement due to statement timeout");
        drop(go);
    }

    #[tokio::test]
    async fn a_panic_is_one_statements_fault() {
        let threads = PlanningThreads::at_most(1);
        for _ in 0..3 {
            let fault = run::<()>(&threads, SMALL, || panic!("a test")).await;
            assert_eq!(fault.expect_err("it panicked").state, SqlState::InternalError);
            assert_eq!(run(&threads, SMALL, || Ok(7)).await, Ok(7));
        }
    }

    #[tokio::test]
    async fn a_panic_leaves_its_thread_as_it_was() {
        let threads = PlanningThreads::at_most(1);
        let panics = || crate::dialect::planned(|| panic!("a test"));
        let fault = run::<()>(&threads, SMALL, panics).await.expect_err("it panicked");
        assert_eq!(fault.state, SqlState::InternalError);
        assert_eq!(run(&threads, SMALL, || Ok(crate::dialect::is_planned())).await, Ok(false));
    }

    #[tokio::test]
    async fn what_is_planned_is_planned_in_its_sessions_zone() {
        let threads = PlanningThreads::at_most(1);
        for name in ["Asia/Tokyo", "UTC"] {
            let zone = SessionZone::named(name).expect("a zone");
            let planned = in_zone(&zone, || run(&threads, SMALL, || Ok(session_zone())));
            assert_eq!(planned.await, Ok(zone));
        }
    }

    #[tokio::test]
    async fn large_ones_leave_a_thread_to_others() {
        let threads = PlanningThreads::at_most(3);
        let (gos, waiting): (Vec<_>, Vec<_>) =
            (0..5).map(|_| stuck()).map(|(go, work)| (go, run(&threads, LARGE, work))).unzip();
        assert_eq!(run(&threads, SMALL, || Ok(1)).await, Ok(1));
        assert_eq!(threads.shared.state.lock().waiting.len(), 3);
        drop(gos);
        for planned in waiting {
            assert_eq!(planned.await, Ok(()));
        }
    }

    #[tokio::test]
    async fn threads_that_are_busy_for_nobody_are_replaced() {
        let threads = PlanningThreads::at_most(2);
        let (gos, left): (Vec<_>, Vec<_>) =
            (0..2).map(|_| stuck()).map(|(go, work)| (go, run(&threads, SMALL, work))).unzip();
        until_running(&threads, 2);
        drop(left);
        assert_eq!(run(&threads, SMALL, || Ok(1)).await, Ok(1));
        drop(gos);
    }

    #[tokio::test]
    async fn who_takes_long_neither_ends_nor_keeps_others_waiting() {
        let threads = PlanningThreads::at_most(1);
        let (gos, long): (Vec<_>, Vec<_>) =
            (0..3).map(|_| stuck()).map(|(go, work)| (go, run(&threads, SMALL, work))).unzip();
        assert_eq!(run(&threads, SMALL, || Ok(1)).await, Ok(1));
        drop(gos);
        for planned in long {
            assert_eq!(planned.await, Ok(()));
        }
    }

    #[tokio::test]
    async fn a_full_queue_is_said() {
        let threads = PlanningThreads::at_most(1);
        let (go, work) = stuck();
        let first = run(&threads, SMALL, work);
        until_running(&threads, 1);
        let waiting: Vec<_> = (0..QUEUE_LIMIT).map(|_| run(&threads, SMALL, || Ok(()))).collect();
        let refused = run(&threads, SMALL, || Ok(())).await.expect_err("one too many");
        assert_eq!(refused.state, SqlState::InsufficientResources);
        drop((first, waiting));
        drop(go);
    }
}
