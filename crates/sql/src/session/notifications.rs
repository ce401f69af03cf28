//! LISTEN, NOTIFY and UNLISTEN of a session: kept in its transaction, handed to the exchange by COMMIT.
//!
//! Outside a block they take effect at once. A session has a mailbox from its first LISTEN on; what is in it is taken out
//! between transactions only. Called by `statement::notify`, `functions` and the server's connection.

use std::sync::Arc;

use engine::heartbeat::WriteReceiver;
use engine::types::Result;

use super::block::Transaction;
use super::{Block, Session};
use crate::notification::{Bell, Change, Departure, Exchange, Mailbox, Notification, Said};

/// A session that has listened; its end takes it off all lists.
#[derive(Debug)]
pub(super) struct Listening {
    exchange: Arc<Exchange>,
    mailbox: Arc<Mailbox>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.exchange.leave(&self.mailbox);
    }
}

impl Session {
    /// Who is to know when something is in the mailbox.
    pub fn set_bell(&mut self, bell: Arc<dyn Bell>) {
        self.bell = Some(bell);
    }

    /// The session's mailbox, if it has ever listened.
    pub fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        self.listening.as_ref().map(|listening| &listening.mailbox)
    }

    /// The next notification; none while a transaction is open.
    pub fn take_notification(&self) -> Option<Arc<Notification>> {
        match self.block {
            Block::Idle => self.mailbox()?.take(),
            _ => None,
        }
    }

    /// LISTEN.
    pub(crate) fn listen(&mut self, channel: &str) -> Result<()> {
        let mailbox = self.open_mailbox();
        let pending = self.block.any().and_then(|transaction| transaction.said.as_ref());
        let listened = mailbox.channel_count() + pending.map_or(0, |said| said.listens());
        let change = self.database.exchange.listen(channel, listened)?;
        self.say(|said| said.change(change))
    }

    /// UNLISTEN; `None`: all channels.
    pub(crate) fn unlisten(&mut self, channel: Option<&str>) -> Result<()> {
        if self.listening.is_none() {
            return Ok(());
        }
        let change = match channel {
            Some(channel) => Change::Unlisten(channel.into()),
            None => Change::UnlistenAll,
        };
        self.say(|said| said.change(change))
    }

    /// NOTIFY.
    pub(crate) fn notify(&mut self, channel: &str, payload: &str) -> Result<()> {
        let exchange = &self.database.exchange;
        let notification = exchange.notification(self.process, channel, payload)?;
        self.say(|said| {
            said.notify(notification);
            Ok(())
        })
    }

    fn open_mailbox(&mut self) -> Arc<Mailbox> {
        let (exchange, process, bell) = (&self.database.exchange, self.process, &self.bell);
        let open = || {
            let mailbox = Mailbox::new(process, bell.clone());
            Box::new(Listening { exchange: exchange.clone(), mailbox })
        };
        self.listening.get_or_insert_with(open).mailbox.clone()
    }

    fn say(&mut self, say: impl FnOnce(&mut Said) -> Result<()>) -> Result<()> {
        if let Some(transaction) = self.block.any() {
            return say(transaction.said.get_or_insert_default());
        }
        let mut said = Said::default();
        say(&mut said)?;
        self.depart(self.departing(said));
        Ok(())
    }

    fn departing(&self, said: Said) -> Departure {
        Departure::new(self.mailbox().cloned(), said)
    }

    /// What the exchange gets when a transaction commits.
    pub(super) fn departure(&self, transaction: &mut Transaction) -> Option<Departure> {
        transaction.said.take().map(|said| self.departing(*said))
    }

    /// The same of what is a transaction by itself.
    fn depart(&self, departure: Departure) {
        self.database.exchange.take_in(departure);
        self.database.exchange.hand_over();
    }

    /// A commit's receiver that first tells the exchange: the write heartbeat calls receivers in the order of commits.
    pub(super) fn telling(
        &self,
        departure: Option<Departure>,
    ) -> impl FnOnce(WriteReceiver) -> WriteReceiver + use<> {
        let exchange = departure.is_some().then(|| self.database.exchange.clone());
        move |receiver| match exchange.zip(departure) {
            None => receiver,
            Some((exchange, departure)) => Box::new(move |outcome| {
                if outcome.is_ok() {
                    exchange.take_in(departure);
                }
                receiver(outcome);
            }),
        }
    }
}
