//! One query alone on a snapshot, through DataFusion: the fallback of the global plan, and the oracle of its tests.
//!
//! In come an optimized plan, parameter values and what to read (a snapshot, perhaps under a transaction's own
//! changes); out come answers batch by batch. Called by `session` and by tests. It shares no operator with the
//! engine, only storage.

mod append;
mod appended_unions;
mod checked;
mod checked_condition;
mod collected;
mod condition;
mod dynamic_filters;
mod exact;
mod found;
mod join_order;
mod limits;
mod optimizer;
mod overlay;
mod pace;
mod pipelining;
#[cfg(test)]
mod plan_tests;
mod row_counts;
mod run;
mod scan;
mod scan_plan;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod thread;

pub use checked::{check, checked};
pub use exact::to_exact;
pub use found::Found;
pub use limits::Limits;
pub use optimizer::physical_rules;
pub use overlay::Overlay;
pub use pace::{evaluate_in_pieces, is_uneven};
pub use pipelining::{Lists, Memory, Pipelining, Progress, Report, Took};
pub use run::{Answers, Reading, collect, run};
pub use thread::{apart, long, to_its_end};
