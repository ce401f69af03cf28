//! Begin in, snapshot and write set; commit in, a validated and applied change out.
//!
//! Transactions take no locks. A block reads a snapshot (REPEATABLE READ: one for all, READ COMMITTED: one per
//! statement) plus its own [`WriteSet`]; the write heartbeat validates the set against the newest versions,
//! first committer wins. Called by the write heartbeat and by `sql`'s sessions.
//! Absent here: finding rows (`scan`), durability (`log`), the order of commits (`heartbeat`).

mod commit;
mod constraints;
mod courtesy;
mod display;
mod evaluate;
mod like;
mod own_keys;
mod reevaluation;
mod relations;
mod row_check;
mod workspace;
mod write_set;

pub use crate::types::Definition;
pub(crate) use commit::{definition_changed, rebase, refresh};
pub(crate) use constraints::{
    check_changes, check_kept_children, check_loaded_parents, duplicate_key,
};
pub(crate) use courtesy::Exposed;
pub use courtesy::{Courtesy, HOLD};
pub use evaluate::{Evaluation, Joined, Parameters, Row, ViewRow, compare};
pub use like::like;
pub(crate) use own_keys::OwnKeys;
pub use reevaluation::Reevaluation;
pub(crate) use relations::{Reference, Relation, Relations};
pub(crate) use row_check::{
    check_block, check_kept_rows, check_row, check_stored_form, check_type, outdated,
};
pub(crate) use workspace::{Sight, Workspace, every_row};
pub use write_set::{Change, Isolation, Mark, OVERLAY, Overlay, WriteSet};
