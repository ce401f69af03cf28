//! Who listens to which channel, and the handing over of what committed transactions have said.
//!
//! A commit only puts its [`Departure`] behind those of earlier commits: that may happen where everybody waits (the write
//! heartbeat). The committing session then hands over all that has arrived, its own and what others have not come to yet:
//! so everybody is told in the order of commits, and a session has its own notifications before its commit is answered.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use engine::types::{Error, Result, SqlState};
use parking_lot::Mutex;

use super::{Change, Mailbox, Notification, Place, Room, Said, check_channel, check_payload};

/// Bytes of notifications that were said and that somebody has not read yet, in the whole process.
const QUEUE_BYTES: usize = 64 << 20;

/// Channels that all sessions together listen to, a channel of several sessions counted for each.
const LISTENED_LIMIT: usize = 131_072;

/// Channels that one session listens to.
const SESSION_LIMIT: usize = 16_384;

const HINT: &str =
    "UNLISTEN channels that are not needed any more, or tell them apart by the payload.";

/// Where notifications change hands.
#[derive(Debug)]
pub struct Exchange {
    notifications: Arc<Room>,
    listened: Arc<Room>,
    arrived: Mutex<Vec<Departure>>,
    channels: Mutex<Channels>,
}

/// Those who listen to a channel, by their numbers.
type Listeners = BTreeMap<i32, Listener>;

/// All channels that somebody listens to.
type Channels = HashMap<Arc<str>, Listeners>;

#[derive(Debug)]
struct Listener {
    mailbox: Arc<Mailbox>,
    _place: Place,
}

/// What a transaction leaves behind when it commits.
#[derive(Debug)]
pub struct Departure {
    /// Its session's, if that listens or begins to.
    mailbox: Option<Arc<Mailbox>>,
    changes: Vec<Change>,
    notifications: Vec<Arc<Notification>>,
}

impl Departure {
    /// Of what a transaction of the mailbox's session has said.
    pub fn new(mailbox: Option<Arc<Mailbox>>, said: Said) -> Departure {
        let (changes, notifications) = said.into_parts();
        Departure { mailbox, changes, notifications }
    }
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange {
            notifications: Room::new(QUEUE_BYTES),
            listened: Room::new(LISTENED_LIMIT),
            arrived: Mutex::default(),
            channels: Mutex::default(),
        }
    }
}

impl Exchange {
    /// A notification; 54000 where too many wait for their readers already, as in PostgreSQL.
    pub fn notification(&self, process: i32, channel: &str, payload: &str) -> Result<Notification> {
        check_channel(channel)?;
        check_payload(payload)?;
        let size = super::NOTIFICATION_BYTES + channel.len() + payload.len();
        let place = self.notifications.take(size).ok_or_else(|| {
            let message = "too many notifications in the NOTIFY queue";
            let hint =
                "Sessions that listen must read what they are told, and end their transactions.";
            Error::new(SqlState::ProgramLimit, message).hint(hint)
        })?;
        Ok(Notification {
            process,
            channel: channel.into(),
            payload: payload.into(),
            _place: place,
        })
    }

    /// LISTEN of a session that listens to so many channels, or is about to; 53000 where it may listen to no more.
    pub fn listen(&self, channel: &str, listened: usize) -> Result<Change> {
        check_channel(channel)?;
        let place = self.listened.take(1).filter(|_| listened < SESSION_LIMIT);
        let place = place.ok_or_else(|| {
            let message = "too many channels are listened to";
            Error::new(SqlState::InsufficientResources, message).hint(HINT)
        })?;
        Ok(Change::Listen(channel.into(), place))
    }

    /// Takes a departure in, behind those before it.
    pub fn take_in(&self, departure: Departure) {
        self.arrived.lock().push(departure);
    }

    /// Hands over all that has arrived.
    pub fn hand_over(&self) {
        let mut channels = self.channels.lock();
        loop {
            let arrived = std::mem::take(&mut *self.arrived.lock());
            if arrived.is_empty() {
                return;
            }
            arrived.into_iter().for_each(|departure| deliver(&mut channels, departure));
        }
    }

    /// Bytes of notifications that somebody has not read yet.
    #[cfg(test)]
    pub(super) fn notifications_taken(&self) -> usize {
        self.notifications.taken()
    }

    /// Channels that are listened to.
    #[cfg(test)]
    pub(super) fn listened_taken(&self) -> usize {
        self.listened.taken()
    }

    /// A session ends.
    pub fn leave(&self, mailbox: &Mailbox) {
        leave_all(&mut self.channels.lock(), mailbox);
    }
}

/// Changes what the session listens to, then tells everybody what it has said.
fn deliver(channels: &mut Channels, departure: Departure) {
    if let Some(mailbox) = &departure.mailbox {
        departure.changes.into_iter().for_each(|change| apply(channels, mailbox, change));
    }
    let mut told: BTreeMap<i32, (Arc<Mailbox>, Vec<Arc<Notification>>)> = BTreeMap::new();
    for notification in departure.notifications {
        let Some(listeners) = channels.get(&*notification.channel) else { continue };
        for (process, listener) in listeners {
            let told = told.entry(*process);
            let (_, said) = told.or_insert_with(|| (listener.mailbox.clone(), Vec::new()));
            said.push(notification.clone());
        }
    }
    told.into_values().for_each(|(mailbox, said)| mailbox.put(said));
}

fn apply(channels: &mut Channels, mailbox: &Arc<Mailbox>, change: Change) {
    match change {
        Change::Listen(channel, place) => {
            let listeners = channels.entry(channel.clone()).or_default();
            if let Entry::Vacant(free) = listeners.entry(mailbox.process) {
                free.insert(Listener { mailbox: mailbox.clone(), _place: place });
                mailbox.channels.lock().push(channel);
            }
        }
        Change::Unlisten(channel) => {
            if leave(channels, mailbox, &channel) {
                mailbox.channels.lock().retain(|listened| **listened != *channel);
                mailbox.forget(|left| *left == *channel);
            }
        }
        Change::UnlistenAll => leave_all(channels, mailbox),
    }
}

/// Whether the session has listened to it.
fn leave(channels: &mut Channels, mailbox: &Mailbox, channel: &str) -> bool {
    let Some(listeners) = channels.get_mut(channel) else { return false };
    let has_listened = listeners.remove(&mailbox.process).is_some();
    if listeners.is_empty() {
        channels.remove(channel);
    }
    has_listened
}

fn leave_all(channels: &mut Channels, mailbox: &Mailbox) {
    for channel in std::mem::take(&mut *mailbox.channels.lock()) {
        leave(channels, mailbox, &channel);
    }
    mailbox.forget(|_| true);
}
