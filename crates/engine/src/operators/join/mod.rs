//! Joins: pairs of rows whose keys are equal and that some activation wants on both sides.
//!
//! The query set is part of the join condition (SharedDB, section 3.3): a pair's set is the intersection of its
//! rows' sets. What outer, semi and anti joins keep besides is set algebra on the left row's set and the union
//! of its pairs' sets.

mod hash;
mod index;
mod output;
mod partition;
mod rows_by_key;

pub use hash::{HashJoinNode, JoinBuild, JoinProbe, JoinTable};
pub use index::{IndexJoinNode, IndexJoinScratch, IndexJoinState};
pub use partition::{CutRows, CutRun, Division, JoinRun, Partition, join_runs};
