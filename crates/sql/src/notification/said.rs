//! What a transaction has said and asked for, until it commits.

use std::collections::HashSet;
use std::sync::Arc;

use engine::types::{Error, Result, SqlState};

use super::{Notification, Place};

/// LISTEN and UNLISTEN in one transaction: its own bound, since they are counted for good only when they take effect.
const CHANGE_LIMIT: usize = 65_536;

/// A change of what a session listens to.
#[derive(Debug)]
pub enum Change {
    /// LISTEN.
    Listen(Arc<str>, Place),
    /// UNLISTEN.
    Unlisten(Box<str>),
    /// UNLISTEN *.
    UnlistenAll,
}

/// What a transaction says, in order, equal things once.
#[derive(Debug, Default)]
pub struct Said {
    changes: Vec<Change>,
    notifications: Vec<Arc<Notification>>,
    known: HashSet<Arc<Notification>>,
}

/// A place in what was said, to which ROLLBACK TO goes back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    changes: usize,
    pub(super) notifications: usize,
}

impl Said {
    /// LISTEN or UNLISTEN.
    pub fn change(&mut self, change: Change) -> Result<()> {
        if self.changes.len() == CHANGE_LIMIT {
            let message = "too many LISTEN and UNLISTEN in one transaction";
            return Err(Error::new(SqlState::InsufficientResources, message));
        }
        self.changes.push(change);
        Ok(())
    }

    /// NOTIFY.
    pub fn notify(&mut self, notification: Notification) {
        let notification = Arc::new(notification);
        if self.known.insert(notification.clone()) {
            self.notifications.push(notification);
        }
    }

    /// Channels that it may come to listen to.
    pub fn listens(&self) -> usize {
        self.changes.iter().filter(|change| matches!(change, Change::Listen(..))).count()
    }

    /// Where it is now.
    pub fn mark(&self) -> Mark {
        Mark { changes: self.changes.len(), notifications: self.notifications.len() }
    }

    /// Forgets what came behind a mark.
    pub fn return_to(&mut self, mark: Mark) {
        self.changes.truncate(mark.changes);
        for forgotten in self.notifications.drain(mark.notifications..) {
            self.known.remove(&forgotten);
        }
    }

    /// Its parts, when it commits.
    pub(super) fn into_parts(self) -> (Vec<Change>, Vec<Arc<Notification>>) {
        (self.changes, self.notifications)
    }
}
