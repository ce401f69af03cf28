//! The locks of tables and advisory ones as somebody may look at them.

use super::modes::Mode;
use super::owner::Who;
use super::{AdvisoryKey, LockKey, Locks, OF_SESSION, TableMode};
use crate::types::{SessionId, TableId};

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockedThing {
    /// A table.
    Table(TableId),
    /// What clients have agreed on.
    Advisory(AdvisoryKey),
}

/// A lock that somebody has, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockShown {
    /// What.
    pub thing: LockedThing,
    /// How strongly.
    pub mode: TableMode,
    /// Whose; `None` where no session has said so.
    pub session: Option<SessionId>,
    /// Whether he has it.
    pub is_granted: bool,
    /// Whether it is only noted by a block's statement, as long as nobody asks.
    pub is_noted: bool,
}

fn session_of(who: Who) -> Option<SessionId> {
    let number = u32::try_from(who.group & !OF_SESSION).ok()?;
    (who.group & OF_SESSION != 0).then_some(SessionId(number))
}

fn thing_of(key: &LockKey) -> Option<LockedThing> {
    match key {
        LockKey::Table(table) => Some(LockedThing::Table(*table)),
        LockKey::Advisory(key) => Some(LockedThing::Advisory(*key)),
        _ => None,
    }
}

/// One mode of one thing.
fn shown(thing: LockedThing, who: Who, mode: Mode, is_granted: bool) -> Option<LockShown> {
    let Mode::Table(mode) = mode else { return None };
    Some(LockShown { thing, mode, session: session_of(who), is_granted, is_noted: false })
}

impl Locks {
    /// All locks of tables and advisory ones, granted or waited for. What changes meanwhile may be shown twice or not at all.
    pub fn shown(&self) -> Vec<LockShown> {
        let mut all = Vec::new();
        let state = self.state.lock();
        for (key, entry) in state.entries() {
            let Some(thing) = thing_of(key) else { continue };
            let held = entry
                .holders
                .iter()
                .flat_map(|holder| holder.modes().iter().map(|mode| (holder.who, mode, true)));
            let awaited = entry.waiters.iter().map(|waiter| (waiter.who, waiter.mode, false));
            all.extend(
                held.chain(awaited).filter_map(|(who, mode, has)| shown(thing, who, mode, has)),
            );
        }
        drop(state);
        for notes in self.registry.all() {
            notes.show(|who, table, mode| {
                let (thing, session) = (LockedThing::Table(table), session_of(who));
                all.push(LockShown { thing, mode, session, is_granted: true, is_noted: true });
            });
        }
        all
    }
}
