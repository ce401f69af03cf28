//! LISTEN, NOTIFY and UNLISTEN.

use engine::types::Result;
use syntax::{ListenStmt, NotifyStmt, UnlistenStmt};

use crate::session::Session;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notify {
    /// LISTEN
    Listen(String),
    /// UNLISTEN; `None`: all channels.
    Unlisten(Option<String>),
    /// NOTIFY
    Notify {
        /// To whom.
        channel: String,
        /// What.
        payload: String,
    },
}

/// LISTEN of its node.
pub fn listen(listen: ListenStmt<'_>) -> Notify {
    Notify::Listen(listen.conditionname().unwrap_or_default().to_owned())
}

/// UNLISTEN of its node.
pub fn unlisten(unlisten: UnlistenStmt<'_>) -> Notify {
    Notify::Unlisten(unlisten.conditionname().map(str::to_owned))
}

/// NOTIFY of its node.
pub fn notify(notify: NotifyStmt<'_>) -> Notify {
    let [channel, payload] =
        [notify.conditionname(), notify.payload()].map(|text| text.unwrap_or_default().to_owned());
    Notify::Notify { channel, payload }
}

/// Runs one of them.
pub fn run(session: &mut Session, statement: &Notify) -> Result<String> {
    let tag = match statement {
        Notify::Listen(channel) => session.listen(channel).map(|()| "LISTEN"),
        Notify::Unlisten(channel) => session.unlisten(channel.as_deref()).map(|()| "UNLISTEN"),
        Notify::Notify { channel, payload } => session.notify(channel, payload).map(|()| "NOTIFY"),
    };
    tag.map(str::to_owned)
}
