//! The write heartbeat: waiting writes in; validated, logged, synced, visible changes out.
//!
//! One turn takes all that waits, in arrival order: autocommit writes run on the newest state, write sets of
//! blocks are validated against it, definitions change it. Each is first computed in a private set; only when it
//! is known to succeed, and to have its place in the log, is it applied, so a fault of one never touches another.
//! At the end of the turn: one log record, one sync, publish, answer everybody.
//!
//! With a data directory the turns run on a thread of their own, since syncing blocks; while one syncs, others
//! queue and share the next record (group commit), and while heavy batches keep the cores busy a turn waits a little
//! for those whom the last one answered ([`Company`](company::Company)). Without one, whoever submits a write and finds nobody at work
//! runs the turn itself. When nothing waits nobody runs: there is no timer.
//!
//! What a block's statement has locked nobody else writes: a write that meets such a lock is put aside, queues for the lock like
//! any other, and comes back when it has it. It has no other locks then, so nobody waits for it in a circle. What excludes statements
//! from whole tables is met in the same way (`exclusion`).
//!
//! Absent here: what the log looks like (`log`), what a conflict is (`transaction`), queries.

mod access;
mod apply;
mod block;
mod company;
mod define;
mod exclusion;
mod housekeeping;
mod insert;
mod join;
mod load;
mod open;
mod queue;
mod rewrite;
mod room;
mod sequences;
mod statement;
mod turn;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::env::{Environment, stalls};
use crate::heartbeat::WriteReceiver;
use crate::heartbeat::heavy_work::HeavyWork;
use crate::log::{DataDirectory, Entries};
use crate::storage::Store;
use crate::transaction::{LockKey, Locks, Mode, Relations};
use crate::types::limit::{current, within};
use crate::types::{Error, Result, SessionId, SqlState, Version};

pub use block::{BlockStatement, RowLock, Seen, Step};
pub use exclusion::{AdvisoryLock, Exclusion, TableLock};
use housekeeping::Housekeeping;
pub use load::{BulkLoad, LoadPlan};
pub use open::Tuning;
use queue::{Queue, Request, Work};
pub use rewrite::{DefinitionChanges, TableRewrite};
use turn::Writer;

/// How soon a statement looks again whether what it needs has been written.
const LOOK: Duration = Duration::from_millis(1);

/// How often a session looks whether a write is over before it sleeps: most take a few microseconds.
const GLANCES: usize = 16;

/// Takes writes and runs them in turns.
#[derive(Debug)]
pub(crate) struct WriteHeartbeat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    housekeeping: Option<JoinHandle<()>>,
}

/// What the submitting threads, the write heartbeat's thread and the housekeeping thread share.
#[derive(Debug)]
struct Shared {
    environment: Environment,
    store: Arc<Store>,
    entries: Entries,
    relations: ArcSwap<Relations>,
    locks: Arc<Locks>,
    queue: Queue,
    writer: Mutex<Writer>,
    /// Itself, for those who are called back.
    own: Weak<Shared>,
    /// Odd from where a write looks at locks until it is applied; see [`Shared::write_is_over`].
    writing: AtomicU64,
    /// The newest version of which something may be applied.
    applied: AtomicU64,
    /// A fault has left the log in doubt: nothing may be written any more.
    stopped: AtomicBool,
    data: Option<DataDirectory>,
    housekeeping: Housekeeping,
    heavy_work: Arc<HeavyWork>,
    room: room::TableRoom,
}

impl Shared {
    /// Whether the write that was between its look at locks and its application is over: whoever has taken a lock before
    /// has either stopped it or sees its changes as the newest.
    fn write_is_over(&self) -> bool {
        self.is_over(self.counted_writes())
    }

    /// Odd while a write is between its look at locks and its application.
    fn counted_writes(&self) -> u64 {
        self.writing.load(Ordering::SeqCst)
    }

    /// The same of the write that was under way, if one was, when the counter had this value.
    fn is_over(&self, seen: u64) -> bool {
        let mut over = seen.is_multiple_of(2);
        for _ in 0..GLANCES {
            over = over || self.writing.load(Ordering::SeqCst) != seen;
            if over {
                break;
            }
            std::thread::yield_now();
        }
        over
    }

    /// The newest version of which something may be applied.
    fn applied(&self) -> Version {
        Version(self.applied.load(Ordering::SeqCst))
    }

    fn note_applied(&self, version: Version) {
        self.applied.store(version.0, Ordering::SeqCst);
    }

    /// Lets a request queue for a lock. It comes back when it has it, before all that waits.
    fn put_aside(&self, mut request: Request, key: LockKey, mode: Mode) {
        let owner = self.locks.owner(request.session);
        let (shared, number, who) = (self.own.clone(), owner.number(), owner.enter());
        if let Some(limit) = &request.limit {
            let locks = self.locks.clone();
            limit.put_aside(Box::new(move || locks.leave(number)));
        }
        let then = Box::new(move |given: Result<()>| {
            request.owner = Some(owner);
            let refused = match (given, shared.upgrade()) {
                (Ok(()), Some(shared)) => shared.queue.return_first(request),
                _ => Some(request),
            };
            if let Some(request) = refused {
                turn::answer(request.receiver, Err(turn::shutting_down()));
            }
        });
        self.locks.enqueue(who, key, mode, false, then);
    }

    /// Runs turns on this thread until nothing waits, unless somebody else is at it: they will see what waits.
    fn run_turns(&self) {
        while self.run_turn() && !self.queue.is_empty() {}
    }

    /// Runs what waits now; `false` where somebody else is at it.
    fn run_turn(&self) -> bool {
        let Some(mut writer) = self.writer.try_lock() else { return false };
        while writer.turn(self) {}
        true
    }

    /// Lets work wait for the next turn. Without a session nobody is waited for.
    fn submit(&self, work: Work, session: Option<SessionId>, receiver: WriteReceiver) {
        if self.stopped.load(Ordering::Acquire) {
            return receiver(Err(crate::log::stopped()));
        }
        let is_short = !matches!(&work, Work::Write(plan, _) if !self.is_short(plan));
        let lead = self.data.is_none() && work.is_small() && is_short;
        let request = Request { work, session, receiver, owner: None, limit: current() };
        match self.queue.push(request, !lead) {
            Some(refused) => (refused.receiver)(Err(queue_full())),
            // Others' writes wait, too.
            None if lead => within(None, || self.run_turns()),
            None => {}
        }
    }

    fn thread(&self) {
        while self.queue.wait() {
            if self.heavy_work.leaders() > 0 {
                self.queue.gather(company::PATIENCE);
            }
            let at_work = stalls::work();
            self.run_turn();
            drop(at_work);
            self.queue.note_answered();
        }
        let mut writer = self.writer.lock();
        while writer.turn(self) {}
        writer.finish(self);
    }
}

fn queue_full() -> Error {
    Error::new(SqlState::InsufficientResources, "too many writes are waiting")
}

impl Drop for WriteHeartbeat {
    fn drop(&mut self) {
        self.shared.queue.stop();
        self.shared.housekeeping.stop();
        for thread in [self.thread.take(), self.housekeeping.take()].into_iter().flatten() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}
