//! Waiting activations in, answers out: lanes, batches, morsels on workers, and the write heartbeat.
//!
//! [`Engine`] is the door through which `sql` and `server` reach everything below.
//! Reads: [`Engine::submit`] puts an activation into its template's lane, [`Engine::lead`] sees to it that it
//! runs. Light lanes (index probes only) have no thread of their own: whoever leads and finds nobody leading takes
//! all that waits as one batch and runs it at once. Heavy lanes run on pinned workers in morsels.
//! Writes go to the write heartbeat: arrival order, one log record, one sync, publish, answer.

mod answer;
mod encodings;
mod engine;
mod heavy_work;
mod ledger;
pub mod promises;
mod read;
mod template;
mod witness;
mod write;

pub use crate::operators::{CacheClass, Packed, Packing};
pub use answer::{Answer, AnswerPart, Receiver};
pub use encodings::{Encodings, Pages};
pub use engine::{Activation, Drawn, Engine, EngineOptions, Sharing, WriteOutcome, WriteReceiver};
pub use ledger::{Account, Difference, Ledger, Tally};
pub use promises::Promises;
pub(crate) use read::Lane;
pub use read::{
    Ahead, Boarding, Course, Figures, HeldBack, LoneRun, OperatorFigures, PathCost, PathCosts,
    Running,
};
pub use template::Template;
pub use witness::{Member, Witness};
pub use write::{
    AdvisoryLock, BlockStatement, BulkLoad, DefinitionChanges, Exclusion, LoadPlan, RowLock, Seen,
    Step, TableLock, TableRewrite, Tuning,
};
