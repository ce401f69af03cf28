//! LISTEN and NOTIFY: who listens to which channel, and the way of a notification from its transaction to the listeners.
//!
//! In comes what a transaction has said ([`Said`]), kept until it commits. The commit makes it [`Departure`]s in the
//! [`Exchange`], in the order of commits; whoever comes next hands all that has arrived there to the [`Mailbox`]es of those
//! who listen. A session's connection empties its mailbox between transactions. Called by `session`; absent here: statements
//! (`statement::notify`) and bytes of the wire. Bounds, and what happens at them: docs/decisions/notifications.md.

mod exchange;
mod mailbox;
mod said;
#[cfg(test)]
mod tests;

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::types::{Error, Result, SqlState};

pub use exchange::{Departure, Exchange};
pub use mailbox::{Bell, Mailbox};
pub use said::{Change, Mark, Said};

/// Bytes that a payload must stay below.
const PAYLOAD_LIMIT: usize = 8000;

/// Bytes that a channel's name may have.
const NAME_LIMIT: usize = 63;

/// What one notification takes besides its texts: itself and its places in queues.
const NOTIFICATION_BYTES: usize = 128;

/// What somebody said on a channel.
#[derive(Debug)]
pub struct Notification {
    /// Who: the number that clients know the session by.
    pub process: i32,
    /// Where.
    pub channel: Box<str>,
    /// What.
    pub payload: Box<str>,
    _place: Place,
}

/// One transaction says the same thing once, whoever counts it.
impl PartialEq for Notification {
    fn eq(&self, other: &Notification) -> bool {
        self.channel == other.channel && self.payload == other.payload
    }
}

impl Eq for Notification {}

impl Hash for Notification {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.channel.hash(state);
        self.payload.hash(state);
    }
}

/// So much of something is there for all sessions together.
#[derive(Debug)]
struct Room {
    taken: AtomicUsize,
    limit: usize,
}

/// What is taken of a room; given back when dropped.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
    size: usize,
}

impl Room {
    fn new(limit: usize) -> Arc<Room> {
        Arc::new(Room { taken: AtomicUsize::new(0), limit })
    }

    fn take(self: &Arc<Room>, size: usize) -> Option<Place> {
        let place = Place { room: self.clone(), size };
        let before = self.taken.fetch_add(size, Ordering::Relaxed);
        (before + size <= self.limit).then_some(place)
    }

    #[cfg(test)]
    fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.size, Ordering::Relaxed);
    }
}

fn invalid(message: &str) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// Whether a channel can have that name: statements cut theirs, `pg_notify` does not.
fn check_channel(channel: &str) -> Result<()> {
    match channel.len() {
        0 => Err(invalid("channel name cannot be empty")),
        1..=NAME_LIMIT => Ok(()),
        _ => Err(invalid("channel name too long")),
    }
}

fn check_payload(payload: &str) -> Result<()> {
    match payload.len() < PAYLOAD_LIMIT {
        true => Ok(()),
        false => Err(invalid("payload string too long")),
    }
}
