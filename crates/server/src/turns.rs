//! How long connections wait for their turn on a thread: a task that asks for one again and again, as they do.
//!
//! Called by `listener`; promised response times ([`Turns`]) want to know.

use std::sync::Arc;
use std::time::Duration;

use engine::heartbeat::promises::Turns;
use sql::Database;
use tokio::task::AbortHandle;

/// How often, while somebody wants to know.
const OFTEN: Duration = Duration::from_millis(1);
/// The same while nobody does.
const SELDOM: Duration = Duration::from_millis(20);
/// The runtime's timers count in milliseconds: so late they may be by themselves.
const GRAIN: Duration = Duration::from_millis(1);

/// Asks until it is dropped.
pub struct Asking(AbortHandle);

impl Asking {
    /// Begins to ask.
    pub fn start(database: Arc<Database>) -> Asking {
        Asking(tokio::spawn(ask(database)).abort_handle())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn ask(database: Arc<Database>) {
    let engine = database.engine();
    let (clock, turns): (_, &Turns) = (&engine.environment().clock, &engine.promises().turns);
    loop {
        let pause = if turns.take_wanted() { OFTEN } else { SELDOM };
        turns.ask(clock.now() + pause + GRAIN);
        tokio::time::sleep(pause).await;
        turns.have(clock.now());
    }
}
