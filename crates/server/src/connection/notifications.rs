//! Notifications on their way to a client that listens: at once while it is idle, else before ReadyForQuery, and never
//! within a transaction of its own.

use super::socket::OUTPUT_BYTES;
use super::{Connection, Stop};
use crate::message::backend;

impl Connection {
    /// Waits for input, or for a notification that can be sent.
    pub(super) async fn wait(&mut self) -> Result<(), Stop> {
        match self.session.mailbox().filter(|_| self.is_idle()).cloned() {
            Some(mailbox) => self.socket.fill_until(|| mailbox.is_filled()).await,
            None => self.socket.fill().await,
        }
    }

    /// Whether no transaction is open, nor about to be.
    fn is_idle(&self) -> bool {
        !self.session.in_block() && !self.is_in_pipeline && !self.skipping
    }

    /// Appends what has come for an idle client, as far as it goes into the buffer.
    pub(super) fn write_notifications_if_idle(&mut self) {
        while self.is_idle()
            && self.socket.pending_bytes() < OUTPUT_BYTES
            && self.write_notification()
        {
            self.socket.flush_due = true;
        }
    }

    /// Appends what has come by now: more may come as fast as a client reads.
    pub(super) async fn write_notifications(&mut self) -> Result<(), Stop> {
        let waiting = self.session.mailbox().map_or(0, |mailbox| mailbox.count());
        for _ in 0..waiting {
            if self.socket.pending_bytes() >= OUTPUT_BYTES {
                self.socket.flush().await?;
            }
            self.write_notification();
        }
        Ok(())
    }

    fn write_notification(&mut self) -> bool {
        let Some(notification) = self.session.take_notification() else { return false };
        let (process, out) = (notification.process, &mut self.socket.output);
        backend::notification(out, process, &notification.channel, &notification.payload);
        true
    }
}
