//! Answers that wait for being verified, and the thread that does it: one answer after the other, beside everything else.
//!
//! Invariant: answers in the queue hold [`CELLS`] cells and [`PLACES`] places together at most; each keeps its snapshot
//! pinned until its verdict.

use std::sync::Arc;
use std::thread::JoinHandle;

use engine::heartbeat::Engine;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::executor::LARGEST;
use super::{Executor, Given, Judge, Verdict};
use crate::text::polled_in_zone;

/// Cells of all answers in the queue.
const CELLS: usize = 2 * LARGEST;

/// Answers in the queue, however small.
const PLACES: usize = 64;

/// An answer to be verified.
pub struct Job {
    /// The answer.
    pub given: Given,
    /// What runs its statement again.
    pub executor: Arc<dyn Executor>,
    /// Who waits for the verdict.
    pub reply: Option<oneshot::Sender<Verdict>>,
}

/// A job and its place.
struct Waiting {
    job: Job,
    _place: OwnedSemaphorePermit,
}

/// The queue; its thread starts with the first job and ends with the queue.
#[derive(Debug)]
pub struct Queue {
    judge: Arc<Judge>,
    places: Arc<Semaphore>,
    thread: Mutex<Option<Thread>>,
}

#[derive(Debug)]
struct Thread {
    send: mpsc::UnboundedSender<Waiting>,
    handle: JoinHandle<()>,
}

/// What a job takes of the queue.
fn size(cells: usize) -> u32 {
    // Constants of this file: they fit.
    cells.clamp(CELLS / PLACES, CELLS) as u32
}

impl Queue {
    /// An empty one.
    pub fn new(judge: Judge) -> Queue {
        let places = Arc::new(Semaphore::new(CELLS));
        Queue { judge: Arc::new(judge), places, thread: Mutex::default() }
    }

    /// Waits for a place.
    pub async fn push(&self, job: Job, cells: usize) {
        let place = self.places.clone().acquire_many_owned(size(cells)).await;
        if let Ok(place) = place {
            self.send(Waiting { job, _place: place });
        }
    }

    /// Whether there is a place.
    pub fn try_push(&self, job: Job, cells: usize) -> bool {
        let place = self.places.clone().try_acquire_many_owned(size(cells));
        let Ok(place) = place else { return false };
        self.send(Waiting { job, _place: place });
        true
    }

    fn send(&self, waiting: Waiting) {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            *thread = self.start();
        }
        let ledger = self.judge.engine().ledger();
        ledger.wait();
        let sent = thread.as_ref().is_some_and(|thread| thread.send.send(waiting).is_ok());
        if !sent {
            ledger.end_wait();
            ledger.skip("thread");
        }
    }

    fn start(&self) -> Option<Thread> {
        let (send, receive) = mpsc::unbounded_channel();
        let judge = self.judge.clone();
        let threads = self.judge.engine().environment().threads.clone();
        let body = Box::new(move || run(&judge, receive));
        let handle = threads.spawn("verification", body);
        handle
            .inspect_err(|error| tracing::error!(%error, "no thread for verification"))
            .ok()
            .map(|handle| Thread { send, handle })
    }
}

/// Verifies what comes until nobody can send any more.
fn run(judge: &Judge, mut receive: mpsc::UnboundedReceiver<Waiting>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "no runtime for verification"),
    };
    runtime.block_on(async {
        while let Some(Waiting { job, _place }) = receive.recv().await {
            let Job { given, executor, reply } = job;
            let zone = given.question.zone.clone();
            let verdict = polled_in_zone(zone, judge.verify(&given, &*executor)).await;
            // What waits pins its snapshot: that ends before anybody hears of the verdict.
            drop((given, _place));
            tell(judge.engine(), reply, verdict);
        }
    });
}

fn tell(engine: &Engine, reply: Option<oneshot::Sender<Verdict>>, verdict: Verdict) {
    engine.ledger().end_wait();
    if let Some(reply) = reply {
        // Whoever waited may have been cancelled.
        let _ = reply.send(verdict);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.judge.close();
        if let Some(Thread { send, handle }) = self.thread.lock().take() {
            drop(send);
            // A panic of the thread was reported when it happened.
            let _ = handle.join();
        }
    }
}
