//! Letting a transaction finish that has already shown its client a value computed from a pending change.
//!
//! Under READ COMMITTED a pending change is computed again at commit from the newest version of its row, so hot
//! rows cost nobody a failure: unless the client has *seen* the pending value (it read the row after its own
//! update). Such a row is *exposed*, and a newer version under it is 40001. To make that rare without locks:
//!
//! - The first transaction to expose a row *holds* it, for at most [`HOLD`]. Before it shows the value it
//!   computes the change again from the newest published version, so the value is right as of the hold.
//! - Another transaction that wants to expose the row waits until the hold ends, then does the same. A commit
//!   (or an autocommit write) of somebody else that changes the row is put aside by the write heartbeat until the
//!   hold ends; everything else overtakes it.
//! - Every hold ends: by commit, by rollback, or after [`HOLD`]. Whoever waited then goes on optimistically, as if
//!   there had been no hold. So two transactions that wait for each other only lose time, never deadlock, and a
//!   client that sleeps in its transaction delays others once, not for ever.
//!
//! While nobody holds anything the write heartbeat pays one relaxed load per commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;

use super::WriteSet;
use crate::types::{RowId, TableId};

/// How long a hold lasts at most. Five round trips of a busy server fit in; a person waiting does not notice.
pub const HOLD: Duration = Duration::from_millis(250);

type RowKey = (TableId, RowId);

#[derive(Clone, Copy, Debug)]
struct Hold {
    holder: u64,
    end: Duration,
}

/// Which rows are held, by whom, until when.
#[derive(Debug, Default)]
pub struct Courtesy {
    holds: Mutex<HashMap<RowKey, Hold, RandomState>>,
    held: AtomicUsize,
    next_holder: AtomicU64,
}

/// The rows that a transaction has exposed, and the holds that it has on them. Dropping it ends the holds.
#[derive(Debug, Default)]
pub(crate) struct Exposed {
    rows: HashSet<RowKey, RandomState>,
    holder: Option<Holder>,
    /// Since when it waits for somebody else's hold.
    waiting_since: Option<Duration>,
    /// The write that was on its way when the last hold was taken, until it is over.
    pub(crate) write_ahead: Option<u64>,
    /// Of each table so many changes of the set were looked at: what they changed of stored rows is exposed.
    pub(crate) looked_at: Vec<(TableId, usize)>,
}

#[derive(Debug)]
struct Holder {
    courtesy: Arc<Courtesy>,
    number: u64,
    rows: Vec<RowKey>,
}

impl Drop for Holder {
    fn drop(&mut self) {
        let mut holds = self.courtesy.holds.lock();
        for row in &self.rows {
            if holds.get(row).is_some_and(|hold| hold.holder == self.number) {
                holds.remove(row);
            }
        }
        self.courtesy.held.store(holds.len(), Ordering::Release);
    }
}

impl Exposed {
    pub(crate) fn contains(&self, row: RowKey) -> bool {
        self.rows.contains(&row)
    }

    /// From now on a newer version under this row is a conflict.
    pub(crate) fn mark(&mut self, row: RowKey) {
        self.rows.insert(row);
    }

    pub(crate) fn has_holds(&self) -> bool {
        self.holder.is_some()
    }

    fn number(&self) -> Option<u64> {
        self.holder.as_ref().map(|holder| holder.number)
    }
}

impl Courtesy {
    /// Holds rows, those that nobody else holds. `false`: somebody holds one, ask again in a moment; after
    /// [`HOLD`] of asking the answer is `true` in any case.
    pub(crate) fn hold(
        self: &Arc<Self>,
        exposed: &mut Exposed,
        rows: &[RowKey],
        now: Duration,
    ) -> bool {
        let patience_ends = exposed.waiting_since.map(|since| since + HOLD);
        let mut holds = self.holds.lock();
        let number = exposed.number();
        let free = |holds: &HashMap<RowKey, Hold, RandomState>, row| match holds.get(row) {
            Some(hold) => Some(hold.holder) == number || hold.end <= now,
            None => true,
        };
        let all_free = rows.iter().all(|row| free(&holds, row));
        if !all_free && patience_ends.is_none_or(|end| now < end) {
            exposed.waiting_since.get_or_insert(now);
            return false;
        }
        exposed.waiting_since = None;
        let holder = exposed.holder.get_or_insert_with(|| Holder {
            courtesy: self.clone(),
            number: self.next_holder.fetch_add(1, Ordering::Relaxed),
            rows: Vec::new(),
        });
        for row in rows {
            if free(&holds, row) && !holder.rows.contains(row) {
                holds.insert(*row, Hold { holder: holder.number, end: now + HOLD });
                holder.rows.push(*row);
            }
        }
        self.held.store(holds.len(), Ordering::Release);
        true
    }

    /// Until when a set must wait because somebody else holds a row that it changes.
    pub(crate) fn blocked_until(&self, set: &WriteSet, now: Duration) -> Option<Duration> {
        if self.held.load(Ordering::Acquire) == 0 {
            return None;
        }
        let holds = self.holds.lock();
        let number = set.exposed.number();
        let others = set.changes().filter_map(|change| holds.get(&change.row_key()));
        others
            .filter(|hold| Some(hold.holder) != number && hold.end > now)
            .map(|hold| hold.end)
            .max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Version;

    const ROW: RowKey = (TableId(1), RowId(7));

    fn touching() -> WriteSet {
        let mut set = WriteSet::new();
        set.update(ROW.0, ROW.1, Version(1), Box::new([]), None);
        set
    }

    #[test]
    fn a_hold_blocks_others_until_it_is_dropped() {
        let courtesy = Arc::new(Courtesy::default());
        let (mut first, second) = (touching(), touching());
        let now = Duration::from_secs(1);
        assert!(courtesy.hold(&mut first.exposed, &[ROW], now));
        assert_eq!(courtesy.blocked_until(&first, now), None);
        assert_eq!(courtesy.blocked_until(&second, now), Some(now + HOLD));
        drop(first);
        assert_eq!(courtesy.blocked_until(&second, now), None);
    }

    #[test]
    fn a_hold_ends_by_itself_and_nobody_waits_longer() {
        let courtesy = Arc::new(Courtesy::default());
        let (mut first, mut second) = (touching(), touching());
        let now = Duration::from_secs(1);
        assert!(courtesy.hold(&mut first.exposed, &[ROW], now));
        assert!(!courtesy.hold(&mut second.exposed, &[ROW], now + HOLD / 2));
        assert!(courtesy.hold(&mut second.exposed, &[ROW], now + HOLD));
        drop(first);
        assert_eq!(courtesy.blocked_until(&second, now + HOLD), None);
        assert!(courtesy.blocked_until(&touching(), now + HOLD).is_some());
    }
}
