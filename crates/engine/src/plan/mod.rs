//! Template plans in, the global plan out.
//!
//! A template comes in as a [`TemplatePlan`] (a tree over parameters, made once by the `sql` crate), gets its
//! access paths and a canonical join order, and is merged into the one [`GlobalPlan`]: nodes are found by
//! signature, so templates that join the same tables on the same keys share the operator whatever their
//! predicates. Out go nodes that `heartbeat` runs, costs for *shared or alone*, and EXPLAIN's text.

mod access;
mod catalog;
mod column_comparison;
mod columns;
mod compile;
mod compile_join;
mod compiled;
pub mod cost;
mod dependencies;
mod explain;
mod global;
mod hash_join_order;
mod join_graph;
mod join_order;
mod joined_subqueries;
mod known_parameters;
mod lane_plan;
mod lift;
mod parameters_read;
mod push_filters;
mod query_at_a_time;
mod reuse;
mod selectivity;
mod semi_joins;
mod signature;
mod template;
mod uneven;
mod write;

pub use crate::types::Check;
pub use access::{Access, IndexAccess};
pub use catalog::{Catalog, PlannedTable};
pub use column_comparison::opaque;
pub use compile::compile;
pub use compiled::{
    CompiledSubquery, CompiledTemplate, DerivedParameter, Estimate, Operation, Operator, Weight,
};
pub use explain::{Explained, Explanation, Step, weight_name};
pub use global::{GlobalPlan, Merged, Registered};
pub use hash_join_order::HashJoins;
pub use known_parameters::KnownParameters;
pub use lane_plan::{LaneNode, LanePlan, Member, NodeUse, SharedOperation};
pub use parameters_read::{parameters_read, visit_uses};
pub use template::{
    Aggregate, AggregateFunction, JoinKind, OutputColumn, PlanNode, ScalarSubquery, SortKey,
    TemplatePlan,
};
pub use uneven::is_uneven;
pub use write::{
    ConflictAction, DeletePlan, InsertPlan, InsertSource, OnConflict, UpdatePlan, WriteAction,
    WritePlan,
};
