//! Begin in, snapshot and write set; commit in, a validated and applied change out.
//!
//! A block reads a snapshot (REPEATABLE READ: one for all, READ COMMITTED: one per statement) plus its own [`WriteSet`]. What it
//! changes it locks first (`locks`), on the newest versions, so that nobody else changes it before COMMIT; the write heartbeat
//! still validates the whole set against the newest state. What is one statement by itself takes no locks and is ordered by the
//! write heartbeat. Called by the write heartbeat and by `sql`'s sessions.
//! Absent here: finding rows (`scan`), durability (`log`), the order of commits (`heartbeat`).

mod commit;
mod constraints;
mod display;
mod evaluate;
mod like;
mod locks;
mod lost_keys;
mod own_keys;
mod relations;
mod row_check;
mod workspace;
mod write_set;

pub use crate::types::Definition;
pub(crate) use commit::{changed_since, definition_changed, rebase};
pub(crate) use constraints::{
    Moment, check_changes, check_kept_children, check_loaded_parents, check_stored_parent,
    duplicate_key,
};
pub use evaluate::{Evaluation, Joined, Parameters, Row, ViewRow, compare};
pub use like::like;
pub(crate) use locks::{Acquired, LockKey, Locks, Mode, Owner};
pub use locks::{AdvisoryKey, LockMode, LockShown, LockedThing, TableMode, Waiting};
pub(crate) use own_keys::OwnKeys;
pub(crate) use relations::{Reference, Relation, Relations};
pub(crate) use row_check::{
    check_block, check_kept_rows, check_row, check_stored_form, check_type, outdated,
};
pub(crate) use workspace::{RowLocks, Sight, Workspace, every_row};
pub use write_set::{Change, Isolation, Mark, OVERLAY, Overlay, Place, WriteSet};
