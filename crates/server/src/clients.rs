//! Who is connected: seats, cancel keys, and the word that the server stops.
//!
//! A connection takes a [`Seat`] once it has said who it is, and registers as a [`Client`] when it is let in. A cancel
//! request comes on a connection of its own and finds its client here. Called by `connection` and `listener`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::task::Context;

use engine::types::{Error, Result, SqlState};
use futures::task::AtomicWaker;
use parking_lot::RwLock;

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
    /// Running statements finish, then their clients are sent away.
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
    stop: AtomicU8,
    waker: AtomicWaker,
    _seat: Seat,
}

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

    fn stop(&self, level: StopLevel) {
        self.stop.store(level as u8, Ordering::Relaxed);
        if level == StopLevel::Now {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        self.waker.wake();
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
    /// session's flag.
    pub fn enter(&self, seat: Seat, process: i32, cancelled: Arc<AtomicBool>) -> Arc<Client> {
        let mut entries = self.entries.write();
        let client = Arc::new(Client {
            process,
            secret: rand::random(),
            cancelled,
            stop: AtomicU8::new(self.stop.load(Ordering::Relaxed)),
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

    /// How many are connected.
    pub fn count(&self) -> usize {
        self.entries.read().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let client = clients.enter(clients.seat().expect("free"), 7, flag.clone());
        clients.cancel(client.process, client.secret ^ 1);
        clients.cancel(client.process + 1, client.secret);
        assert!(!flag.load(Ordering::Relaxed));
        clients.cancel(client.process, client.secret);
        assert!(client.is_cancelled());
        clients.leave(&client);
        assert_eq!(clients.count(), 0);
    }

    #[test]
    fn who_comes_in_while_the_server_stops_is_told() {
        let clients = Clients::new(2);
        clients.stop(StopLevel::Gentle);
        let client = clients.enter(clients.seat().expect("free"), 7, Arc::default());
        assert_eq!(client.stop_level(), StopLevel::Gentle);
    }
}
