//! Begin in, snapshot and write set; commit in, a validated and applied change out.
//!
//! Transactions take no locks. A block reads a snapshot (REPEATABLE READ: one for all, READ COMMITTED: one per
//! statement) plus its own [`WriteSet`]; the write heartbeat validates the set against the newest versions,
//! first committer wins. Called by the write heartbeat and by `sql`'s sessions.
//! Absent here: finding rows (`scan`), durability (`log`), the order of commits (`heartbeat`).

mod definition;
mod write_set;

pub use definition::Definition;
pub use write_set::{Change, Isolation, OVERLAY, Reevaluation, WriteSet};
