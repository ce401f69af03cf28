//! Threads of statements: what computes for long runs on one of its own, so that nobody's connection waits for it.
//!
//! In comes work with the limit that may end it; out goes what it gives. The connection's task only waits: it is answered
//! at once when its statement ends early, and the work ends at its next [`check`](engine::types::limit::check). A thread is taken
//! for one step of a query at a time, its next rows, so that a cursor that nobody reads holds none. They are the
//! runtime's threads for blocking work, whose number is bounded; who finds none free waits. Called by
//! [`super::run`] and by `session` for its own long loops.

use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use engine::env::STACK_BYTES;
use engine::types::limit::{Limit, current, within};
use engine::types::{Error, Result, SqlState};
use futures::StreamExt;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinError;

use super::{Answers, Limits};
use crate::text::{SessionZone, in_zone, session_zone};

/// Threads at once; connections are fewer.
const LIMIT: usize = 1 << 16;

/// They give way to the threads that serve connections.
const NICE: i32 = 5;

/// All statements' threads. A runtime of their own, since what DataFusion spawns (the runs of a sort, hundreds at once) must
/// not stand in line with connections; the process's, since it holds nothing of a database.
static THREADS: LazyLock<Runtime> = LazyLock::new(|| {
    let threads = Builder::new_multi_thread()
        .thread_name("statements")
        .thread_stack_size(STACK_BYTES)
        .max_blocking_threads(LIMIT)
        // On Linux this concerns the thread alone. Refused, it costs latency, not answers.
        .on_thread_start(|| {
            let _ = rustix::process::setpriority_process(None, NICE);
        })
        .enable_time()
        .build();
    threads.expect("the system has threads for statements")
});

/// How often a thread that waits for others' pages looks whether its statement still runs.
const LOOK: Duration = Duration::from_millis(10);

/// A query's work: as long as this lives, somebody waits for it.
pub struct Wanted(Arc<Work>);

/// What ends a query's work: its statement's limits, or that nobody waits.
#[derive(Debug)]
struct Work {
    limits: Limits,
    /// Its session's zone, whoever asks for the next rows.
    zone: SessionZone,
    has_left: AtomicBool,
}

impl Limit for Work {
    fn fault(&self) -> Option<Error> {
        match self.has_left.load(Ordering::Relaxed) {
            true => Some(Error::new(SqlState::QueryCanceled, "nobody waits for the answer")),
            false => self.limits.fault(),
        }
    }
}

impl Wanted {
    /// Work of the statement with these limits, in the zone of who calls.
    pub fn new(limits: Limits) -> Wanted {
        Wanted(Arc::new(Work { limits, zone: session_zone(), has_left: AtomicBool::new(false) }))
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.has_left.store(true, Ordering::Relaxed);
    }
}

/// Runs a future to its end on a statement's thread; fails early where the work is to end.
pub async fn aside<T: Send + 'static>(
    wanted: &Wanted,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let work = wanted.0.clone();
    let usage = work.limits.usage.clone();
    let run = move || {
        let _entered = usage.enter();
        in_zone(&work.clone().zone, || to_its_end(work, future))
    };
    let outcome = THREADS.spawn_blocking(run).await;
    outcome.unwrap_or_else(|error| Err(ended(error)))
}

/// Runs a long loop on a statement's thread. Waits for it whatever happens: it asks for its limit by itself, and what it
/// was given comes back with what it gives.
pub async fn long<T: Send + 'static>(
    limits: Limits,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (usage, zone) = (limits.usage.clone(), session_zone());
    let run = move || {
        let _entered = usage.enter();
        in_zone(&zone, || within(Some(Arc::new(limits)), run))
    };
    let outcome = THREADS.spawn_blocking(run).await;
    outcome.map_err(ended)
}

/// Runs a long step of a statement on a thread of its own; it tells what came of it by itself.
pub fn apart(run: impl FnOnce() + Send + 'static) {
    let (limit, zone) = (current(), session_zone());
    drop(THREADS.spawn_blocking(move || in_zone(&zone, || within(limit, run))));
}

/// A panic goes on in the statement that caused it; a runtime that stops takes no more work.
fn ended(error: JoinError) -> Error {
    match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_) => {
            let message = "terminating connection due to administrator command";
            Error::new(SqlState::AdminShutdown, message)
        }
    }
}

/// Runs a future to its end on this thread.
pub fn to_its_end<F: Future>(limit: Arc<dyn Limit>, future: F) -> Result<F::Output> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match within(Some(limit.clone()), || future.as_mut().poll(&mut context)) {
            Poll::Ready(output) => return Ok(output),
            Poll::Pending => match limit.fault() {
                Some(fault) => return Err(fault),
                None => thread::park_timeout(LOOK),
            },
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A query between two steps. What it holds may be much: it is not given back on the thread of a connection.
struct Held(Option<Answers>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(answers) = self.0.take() {
            drop(THREADS.spawn_blocking(move || drop(answers)));
        }
    }
}

/// The same answers, each made on a statement's thread when somebody asks for it.
pub fn step_by_step(wanted: Wanted, answers: Answers) -> Answers {
    let held = Some(Held(Some(answers)));
    Box::pin(futures::stream::unfold((wanted, held), |(wanted, held)| async move {
        let mut held = held?;
        let mut answers = held.0.take()?;
        let step = async move { (answers.next().await, Held(Some(answers))) };
        match aside(&wanted, step).await {
            Ok((answer, rest)) => {
                let answer = answer?;
                let rest = answer.is_ok().then_some(rest);
                Some((answer, (wanted, rest)))
            }
            Err(fault) => Some((Err(fault), (wanted, None))),
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use engine::types::limit::check;

    use super::*;
    use crate::waiting::HANG;

    async fn endless() -> Result<()> {
        loop {
            check()?;
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn work_ends_with_its_statement() {
        let limits = Limits::default();
        limits.cancelled.store(true, Ordering::Relaxed);
        let outcome = aside(&Wanted::new(limits), endless()).await.expect("it has run");
        assert_eq!(outcome.expect_err("cancelled").state.code(), "57014");
    }

    #[tokio::test]
    async fn work_ends_with_who_waits_for_it() {
        let (tell, told) = std::sync::mpsc::channel();
        let watched = async move { drop(tell.send(endless().await)) };
        let waits = async { aside(&Wanted::new(Limits::default()), watched).await };
        assert!(tokio::time::timeout(Duration::from_millis(5), waits).await.is_err());
        assert!(told.recv_timeout(HANG).expect("it has ended").is_err());
    }

    #[tokio::test]
    async fn what_waits_for_others_ends_too() {
        let limits = Limits::default();
        limits.begin(Some(Instant::now()));
        let waits = aside(&Wanted::new(limits), std::future::pending::<()>()).await;
        assert_eq!(waits.expect_err("its time is up").state.code(), "57014");
    }

    #[tokio::test]
    async fn work_is_in_the_zone_of_its_session() {
        for name in ["Asia/Tokyo", "UTC"] {
            let zone = SessionZone::named(name).expect("a zone");
            let (tell, told) = std::sync::mpsc::channel();
            let (wanted, loops) = in_zone(&zone, || {
                apart(move || tell.send(session_zone()).expect("somebody waits"));
                (Wanted::new(Limits::default()), long(Limits::default(), session_zone))
            });
            assert_eq!(told.recv_timeout(HANG), Ok(zone.clone()));
            let polled = crate::text::polled_in_zone(zone.clone(), loops).await;
            assert_eq!(polled, Ok(zone.clone()));
            let own = aside(&wanted, async { session_zone() }).await;
            assert_eq!(own, Ok(zone), "whoever asks for it");
        }
    }

    #[tokio::test]
    async fn a_panic_is_the_statements() {
        let panics =
            async { aside(&Wanted::new(Limits::default()), async { panic!("a test") }).await };
        assert!(tokio::spawn(panics).await.expect_err("it panics").is_panic());
    }
}
