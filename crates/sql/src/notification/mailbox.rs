//! A session's mailbox: what it has been told and has not read yet.
//!
//! A mailbox has a limit, so that who does not read costs a bounded amount of memory and nobody else any time. Where more
//! waits than that when the next transaction's notifications come, nothing is left out silently: the mailbox is closed and
//! its owner told, whose connection ends. What one transaction says comes whole, however much it is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Notification;

/// What may wait: so many notifications, ...
const COUNT_LIMIT: usize = 65_536;

/// ... of so many bytes.
const BYTE_LIMIT: usize = 8 << 20;

/// Tells a session's owner that there is something to do.
pub trait Bell: std::fmt::Debug + Send + Sync {
    /// Something has come.
    fn ring(&self);
    /// More has come than is kept: nothing comes any more.
    fn overrun(&self);
}

/// What a session that listens has been told.
#[derive(Debug)]
pub struct Mailbox {
    /// Its session's number.
    pub(super) process: i32,
    /// The channels that it listens to, in the order in which it began to. The exchange alone changes them.
    pub(super) channels: Mutex<Vec<Arc<str>>>,
    waiting: Mutex<Waiting>,
    /// Whether something waits: asked between all statements.
    is_filled: AtomicBool,
    bell: Option<Arc<dyn Bell>>,
}

#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<Arc<Notification>>,
    bytes: usize,
    is_closed: bool,
}

impl Waiting {
    fn is_full(&self) -> bool {
        self.queue.len() >= COUNT_LIMIT || self.bytes >= BYTE_LIMIT
    }

    fn close(&mut self) {
        *self = Waiting { is_closed: true, ..Waiting::default() };
    }
}

impl Mailbox {
    /// An empty one.
    pub fn new(process: i32, bell: Option<Arc<dyn Bell>>) -> Arc<Mailbox> {
        Arc::new(Mailbox {
            process,
            channels: Mutex::default(),
            waiting: Mutex::default(),
            is_filled: AtomicBool::new(false),
            bell,
        })
    }

    /// The channels that it listens to, in the order in which it began to.
    pub fn channels(&self) -> Vec<Arc<str>> {
        self.channels.lock().clone()
    }

    /// How many those are.
    pub fn channel_count(&self) -> usize {
        self.channels.lock().len()
    }

    /// Whether something waits.
    pub fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    /// How many notifications wait.
    pub fn count(&self) -> usize {
        if self.is_filled() { self.waiting.lock().queue.len() } else { 0 }
    }

    /// Takes the next notification out.
    pub fn take(&self) -> Option<Arc<Notification>> {
        if !self.is_filled() {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let next = waiting.queue.pop_front();
        if let Some(next) = &next {
            waiting.bytes -= next.size();
        }
        if waiting.queue.is_empty() {
            waiting.queue = VecDeque::new();
            self.is_filled.store(false, Ordering::Release);
        }
        next
    }

    /// Puts in what one transaction says to this session.
    pub(super) fn put(&self, said: Vec<Arc<Notification>>) {
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return;
        }
        let is_full = waiting.is_full();
        if is_full {
            waiting.close();
        } else {
            waiting.bytes += said.iter().map(|one| one.size()).sum::<usize>();
            waiting.queue.extend(said);
        }
        self.is_filled.store(!is_full, Ordering::Release);
        drop(waiting);
        match (&self.bell, is_full) {
            (Some(bell), true) => bell.overrun(),
            (Some(bell), false) => bell.ring(),
            (None, _) => {}
        }
    }

    /// UNLISTEN: what waits of channels that it no longer listens to is not told any more.
    pub(super) fn forget(&self, is_left: impl Fn(&str) -> bool) {
        let mut waiting = self.waiting.lock();
        waiting.queue.retain(|notification| !is_left(&notification.channel));
        waiting.bytes = waiting.queue.iter().map(|one| one.size()).sum();
        self.is_filled.store(!waiting.queue.is_empty(), Ordering::Release);
    }
}

impl Notification {
    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        super::NOTIFICATION_BYTES + self.channel.len() + self.payload.len()
    }
}
