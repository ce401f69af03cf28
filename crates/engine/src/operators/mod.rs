//! Shared relational operators: rows with query sets in, rows with query sets out.
//!
//! In come [`Tuples`](crate::query_set::Tuples) of a batch and a node's description, which is immutable and names columns by
//! position; out go Tuples, and per activation what went wrong ([`Faults`]). Semantics are those of
//! [`crate::plan::PlanNode`], for every slot as if it ran alone. Called by `heartbeat` only.
//!
//! Streaming operators ([`filter`], [`project`], [`restrict`], [`IndexJoinState`], [`JoinTable::probe`]) are
//! functions of one chunk: any worker may run any chunk. Breakers ([`JoinBuild`], [`GroupBuild`], [`SortBuild`])
//! are filled one per worker, merged once, and finished in parts. States borrow nothing: the node and the
//! [`Batch`] are handed to every call.
//!
//! Absent here: which operator runs where and when (`heartbeat`), reading tables by predicate (`scan`).

mod batch;
mod cut;
mod filter;
mod grouping;
mod join;
mod kernel;
mod limit;
mod project;
#[cfg(test)]
mod reference;
mod restrict;
mod route;
mod sort;
mod star;
mod values;

pub use batch::{Batch, Budget, Faults, Users};
pub use cut::Cut;
pub use filter::{FilterNode, filter};
pub use grouping::{ChunkOf, GroupBuild, GroupNode, GroupPart, Groups};
pub use join::{
    CutRows, CutRun, Division, HashJoinNode, IndexJoinNode, IndexJoinScratch, IndexJoinState,
    JoinBuild, JoinProbe, JoinRun, JoinTable, Partition, join_runs,
};
pub use limit::LimitState;
pub use project::{ProjectNode, project};
pub use restrict::restrict;
pub use route::route;
pub use sort::{
    DividedSort, SortBuild, SortNode, SortRun, Sorted, divided_runs, sort, sort_run, sort_runs,
};
pub use star::{
    CacheClass, Child, Dimension, DimensionRows, FREE_SPAN, FactRows, GroupingKey, LastSample,
    MergedScratch, MergedStars, PackOptions, Packed, Packing, Star, StarBuild, StarDimension,
    StarGrouping, StarGroups, StarKey, StarNode, Survivors,
};
pub use values::{ValuesNode, values};
