//! Who is connected: seats, cancel keys, and the word that the server stops.
//!
//! A connection takes a [`Seat`] once it has said who it is, and registers as a [`Client`] when it is let in. A cancel
//! request comes on a connection of its own and finds its client here. Called by `connection` and `listener`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::Context;
use std::time::{Duration, Instant};

use engine::env::memory::{self, Usage};
use engine::types::{Error, Result, SqlState};
use futures::task::AtomicWaker;
use parking_lot::{Mutex, RwLock};
use sql::notification::Bell;

/// Everybody who is connected.
#[derive(Debug)]
pub struct Clients {
    entries: RwLock<HashMap<i32, Arc<Client>>>,
    seats: Arc<AtomicUsize>,
    limit: usize,
    stop: AtomicU8,
}

/// How far the server is on its way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// It runs.
    None = 0,
    /// Running statements are cancelled, and their clients sent away once they have ended.
    Gentle = 1,
    /// Nothing is waited for.
    Now = 2,
}

/// One of the connections that the limit allows.
#[derive(Debug)]
pub struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One connected client, as others reach it.
#[derive(Debug)]
pub struct Client {
    /// What BackendKeyData calls the process id.
    pub process: i32,
    /// What a cancel request must know.
    pub secret: u32,
    cancelled: Arc<AtomicBool>,
    /// What its session has.
    usage: Arc<Usage>,
    /// Statements begun so far.
    statements: AtomicU64,
    /// The last one that was ended for the sake of memory.
    ended: Mutex<Ended>,
    /// How many were ended for the sake of memory, one soon after the other, since it last rested.
    ended_times: AtomicU32,
    /// It waits for the next message, and its session keeps nothing that grew with statements.
    rests: AtomicBool,
    stop: AtomicU8,
    /// Why it goes, where it is not the server that stops: a [`Reason`].
    reason: AtomicU8,
    waker: AtomicWaker,
    _seat: Seat,
}

/// A statement that was ended for the sake of memory.
#[derive(Debug, Default)]
struct Ended {
    /// When.
    at: Option<Instant>,
    /// Its number.
    statement: u64,
}

/// Why a connection ends that asked for nothing of the kind.
#[derive(Clone, Copy)]
enum Reason {
    /// The server stops.
    Shutdown = 0,
    /// It does not read what it listens to.
    Overrun = 1,
    /// It does not give back the memory that is needed.
    Memory = 2,
}

/// How long a statement may take to give its memory back when it was ended; then its connection goes.
const PATIENCE: Duration = Duration::from_secs(4);

/// So many statements are ended one [soon](SOON) after the other, without a rest in between; then the connection goes. It may hold
/// what a failed block has, and ask on and on.
const TIMES: u32 = 16;
const SOON: Duration = Duration::from_secs(60);

impl Client {
    /// Lets `cancel` and `stop` wake the task that waits.
    pub fn wake_on_request(&self, context: &Context<'_>) {
        self.waker.register(context.waker());
    }

    /// Whether the running statement shall end.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// A statement starts: a cancel request from before was not meant for it.
    pub fn clear_cancel(&self) {
        self.cancelled.store(false, Ordering::Relaxed);
        self.statements.fetch_add(1, Ordering::Relaxed);
        self.usage.begin();
    }

    /// Whether it waits for the next message with nothing kept: what it is still said to have, others are giving back.
    pub fn rests(&self) -> bool {
        self.rests.load(Ordering::Relaxed)
    }

    /// It begins or ends to wait for the next message with nothing kept. Who has rested may ask again for what was refused: rows
    /// that were deleted, or others' statements, may give memory back soon.
    pub fn set_rests(&self, rests: bool) {
        self.rests.store(rests, Ordering::Relaxed);
        if rests {
            self.ended_times.store(0, Ordering::Relaxed);
        }
    }

    /// What its session has.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Ends its statement, since it has most and the process is nearly full.
    fn end(&self, now: Instant) {
        let mut ended = self.ended.lock();
        let is_soon = ended.at.is_some_and(|at| now.saturating_duration_since(at) < SOON);
        let times = if is_soon { self.ended_times.load(Ordering::Relaxed) + 1 } else { 1 };
        self.ended_times.store(times, Ordering::Relaxed);
        *ended = Ended { at: Some(now), statement: self.statements.load(Ordering::Relaxed) };
        drop(ended);
        self.usage.end();
        self.cancel();
    }

    /// How long ago the statement that it runs, or has run last, was ended for the sake of memory.
    fn ended_before(&self, now: Instant) -> Option<Duration> {
        let ended = self.ended.lock();
        let is_same = ended.statement == self.statements.load(Ordering::Relaxed);
        match ended.at {
            Some(_) if self.ended_times.load(Ordering::Relaxed) >= TIMES => Some(PATIENCE),
            Some(at) if is_same => Some(now.saturating_duration_since(at)),
            _ => None,
        }
    }

    /// Whether a statement of it, the last one or one before, was ended just now.
    fn was_just_ended(&self, now: Instant) -> bool {
        let at = self.ended.lock().at;
        at.is_some_and(|at| now.saturating_duration_since(at) < PATIENCE)
    }

    /// Ends the running statement.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// How far the server is on its way down.
    pub fn stop_level(&self) -> StopLevel {
        match self.stop.load(Ordering::Relaxed) {
            0 => StopLevel::None,
            1 => StopLevel::Gentle,
            _ => StopLevel::Now,
        }
    }

    /// What a client is told that has to go.
    pub fn why_stopped(&self) -> Error {
        match self.reason.load(Ordering::Relaxed) {
            reason if reason == Reason::Overrun as u8 => overrun(),
            reason if reason == Reason::Memory as u8 => memory::ended(),
            _ => shut_down(),
        }
    }

    fn send_away(&self, reason: Reason) {
        self.reason.store(reason as u8, Ordering::Relaxed);
        self.stop(StopLevel::Now);
    }

    fn stop(&self, level: StopLevel) {
        self.stop.store(level as u8, Ordering::Relaxed);
        self.cancel();
    }

    /// Cancels a statement that has begun since the server stops, or its client `is_gone`: a flag that was set once may have been
    /// cleared for a step of the same statement.
    pub fn heed_stop(&self, is_gone: bool) {
        if is_gone || self.stop_level() > StopLevel::None {
            self.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

/// Notifications for a client's session wake its connection's task.
impl Bell for Client {
    fn ring(&self) {
        self.waker.wake();
    }

    fn overrun(&self) {
        self.send_away(Reason::Overrun);
    }
}

impl Clients {
    /// Nobody yet; at most `limit` at once.
    pub fn new(limit: usize) -> Clients {
        Clients {
            entries: RwLock::default(),
            seats: Arc::default(),
            limit,
            stop: AtomicU8::new(StopLevel::None as u8),
        }
    }

    /// Takes a seat; 53300 when all are taken.
    pub fn seat(&self) -> Result<Seat> {
        let seat = Seat(self.seats.clone());
        if self.seats.fetch_add(1, Ordering::Relaxed) < self.limit {
            return Ok(seat);
        }
        Err(Error::new(SqlState::TooManyConnections, "sorry, too many clients already"))
    }

    /// Enters a client that was let in, under its session's number, which nobody else has. `cancelled` is the
    /// session's flag, `usage` what it has.
    pub fn enter(
        &self,
        seat: Seat,
        process: i32,
        cancelled: Arc<AtomicBool>,
        usage: Arc<Usage>,
    ) -> Arc<Client> {
        let mut entries = self.entries.write();
        let client = Arc::new(Client {
            process,
            secret: rand::random(),
            cancelled,
            usage,
            statements: AtomicU64::new(0),
            ended: Mutex::default(),
            ended_times: AtomicU32::new(0),
            rests: AtomicBool::new(false),
            stop: AtomicU8::new(self.stop.load(Ordering::Relaxed)),
            reason: AtomicU8::new(Reason::Shutdown as u8),
            waker: AtomicWaker::new(),
            _seat: seat,
        });
        entries.insert(process, client.clone());
        client
    }

    /// The client has gone.
    pub fn leave(&self, client: &Client) {
        self.entries.write().remove(&client.process);
    }

    /// Ends the running statement of the client with that key; a wrong key is ignored. Comparing two 32-bit numbers
    /// takes the same time whichever bits differ.
    pub fn cancel(&self, process: i32, secret: u32) {
        if let Some(client) = self.entries.read().get(&process)
            && client.secret == secret
        {
            client.cancel();
        }
    }

    /// Tells everybody, also those who come in later, that the server stops.
    pub fn stop(&self, level: StopLevel) {
        let entries = self.entries.write();
        self.stop.store(level as u8, Ordering::Relaxed);
        entries.values().for_each(|client| client.stop(level));
    }

    /// Ends the statements of those who have most, until what they have together is `wanted`; who has less than `least` is left
    /// alone, and who rests, which has nothing that could be ended. Whose statement was ended a while ago without effect loses the
    /// connection: it holds while it is idle, or does not read. Gives how many were ended.
    pub fn relieve(&self, wanted: usize, least: usize, now: Instant) -> usize {
        let entries = self.entries.read();
        let usages = entries.values().map(|client| (client.usage.bytes(), client));
        let mut large: Vec<_> = usages.filter(|(bytes, _)| *bytes >= least).collect();
        large.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let (mut coming, mut running) = (0, Vec::new());
        for (bytes, client) in large {
            match client.ended_before(now) {
                _ if client.rests() => coming += if client.was_just_ended(now) { bytes } else { 0 },
                Some(before) if before < PATIENCE => coming += bytes,
                Some(before) if before < 2 * PATIENCE => {
                    client.send_away(Reason::Memory);
                    coming += bytes;
                }
                _ => running.push((bytes, client)),
            }
        }
        let mut ended = 0;
        for (bytes, client) in running {
            if coming >= wanted {
                break;
            }
            client.end(now);
            coming += bytes;
            ended += 1;
        }
        ended
    }

    /// How many are connected.
    pub fn count(&self) -> usize {
        self.entries.read().len()
    }
}

/// A session that listens has left too much unread.
fn overrun() -> Error {
    let message = "terminating connection because too many notifications wait to be read";
    let hint = "A session that listens must read, and end its transactions soon.";
    Error::new(SqlState::InsufficientResources, message).hint(hint)
}

/// The server stops.
fn shut_down() -> Error {
    Error::new(SqlState::AdminShutdown, "terminating connection due to administrator command")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client whose session is said to have so many bytes.
    fn enter(clients: &Clients, process: i32, bytes: usize) -> Arc<Client> {
        let usage = Arc::<Usage>::default();
        let entered = usage.enter();
        engine::env::memory::allocated(bytes);
        drop(entered);
        engine::env::memory::freed(bytes);
        clients.enter(clients.seat().expect("free"), process, Arc::default(), usage)
    }

    #[test]
    fn seats_are_limited_and_come_back() {
        let clients = Clients::new(1);
        let seat = clients.seat().expect("free");
        assert_eq!(clients.seat().expect_err("full").state, SqlState::TooManyConnections);
        drop(seat);
        assert!(clients.seat().is_ok());
    }

    #[test]
    fn only_the_right_key_cancels() {
        let clients = Clients::new(2);
        let flag = Arc::new(AtomicBool::new(false));
        let client = clients.enter(clients.seat().expect("free"), 7, flag.clone(), Arc::default());
        clients.cancel(client.process, client.secret ^ 1);
        clients.cancel(client.process + 1, client.secret);
        assert!(!flag.load(Ordering::Relaxed));
        clients.cancel(client.process, client.secret);
        assert!(client.is_cancelled());
        clients.leave(&client);
        assert_eq!(clients.count(), 0);
    }

    #[test]
    fn who_has_most_is_ended_and_goes_where_that_is_not_enough() {
        let clients = Clients::new(2);
        let (small, large) = (enter(&clients, 1, 1_000), enter(&clients, 2, 2_000));
        let now = Instant::now();
        assert_eq!(clients.relieve(500, 3_000, now), 0, "that would help nobody");
        assert_eq!(clients.relieve(500, 1_000, now), 1);
        assert!(large.is_cancelled() && large.usage().is_ended());
        assert_eq!(clients.relieve(500, 1_000, now + PATIENCE / 2), 0, "it is about to end");
        assert!(!small.is_cancelled());
        assert_eq!(large.stop_level(), StopLevel::None);
        assert_eq!(clients.relieve(500, 1_000, now + PATIENCE), 0);
        assert_eq!(large.stop_level(), StopLevel::Now);
        assert_eq!(clients.relieve(2_500, 1_000, now + PATIENCE), 1);
        assert!(small.is_cancelled(), "the larger one is not enough");
    }

    #[test]
    fn a_statement_does_not_answer_for_the_one_before_it() {
        let clients = Clients::new(1);
        let usage = Arc::<Usage>::default();
        let client = clients.enter(clients.seat().expect("free"), 1, Arc::default(), usage);
        let now = Instant::now();
        for times in 1..TIMES {
            client.clear_cancel();
            assert_eq!(clients.relieve(1, 0, now + PATIENCE / 8 * times), 1);
            assert_eq!(client.stop_level(), StopLevel::None, "ended {times} times");
        }
        client.clear_cancel();
        assert_eq!(clients.relieve(1, 0, now + 2 * SOON), 1, "long after");
        for times in 1..TIMES {
            client.clear_cancel();
            assert_eq!(clients.relieve(1, 0, now + 2 * SOON), 1, "{times}");
        }
        client.clear_cancel();
        assert_eq!(clients.relieve(1, 0, now + 2 * SOON), 0);
        assert_eq!(client.stop_level(), StopLevel::Now, "it asks on and on");
        assert_eq!(client.why_stopped().state, SqlState::OutOfMemory);
    }

    #[test]
    fn who_has_rested_may_ask_again() {
        let clients = Clients::new(1);
        let client =
            clients.enter(clients.seat().expect("free"), 1, Arc::default(), Arc::default());
        let now = Instant::now();
        for times in 1..=3 * TIMES {
            client.clear_cancel();
            assert_eq!(clients.relieve(1, 0, now), 1, "{times}");
            client.set_rests(true);
            client.set_rests(false);
        }
        assert_eq!(client.stop_level(), StopLevel::None);
    }

    #[test]
    fn who_rests_is_left_alone_and_what_it_had_is_waited_for() {
        let clients = Clients::new(2);
        let (other, large) = (enter(&clients, 1, 1_000), enter(&clients, 2, 2_000));
        let now = Instant::now();
        assert_eq!(clients.relieve(500, 1_000, now), 1);
        // It has its answer, and one more, while threads of the first statement still give back what it had.
        large.clear_cancel();
        large.set_rests(true);
        assert_eq!(clients.relieve(500, 1_000, now + PATIENCE / 2), 0);
        assert!(!large.usage().is_ended() && !other.is_cancelled());
        // What was booked to it by mistake helps nobody later.
        assert_eq!(clients.relieve(500, 1_000, now + PATIENCE), 1);
        assert!(other.is_cancelled() && !large.usage().is_ended());
        assert_eq!(large.stop_level(), StopLevel::None);
        large.set_rests(false);
        assert_eq!(clients.relieve(2_000, 1_000, now + PATIENCE), 1, "a statement of its own");
    }

    #[test]
    fn who_comes_in_while_the_server_stops_is_told() {
        let clients = Clients::new(2);
        clients.stop(StopLevel::Gentle);
        let client =
            clients.enter(clients.seat().expect("free"), 7, Arc::default(), Arc::default());
        assert_eq!(client.stop_level(), StopLevel::Gentle);
    }
}
