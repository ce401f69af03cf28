//! Simultaneous pipelining of queries that run alone: equal sub-plans on equal snapshots run once.
//!
//! In comes a physical plan; out goes the same plan in which every sub-plan worth sharing ([`wrap`]) is looked for among
//! those that run when its first row is wanted. Two are equal if their [`signature`]s are: operators, expressions with
//! bound parameters, tables that no commit between the snapshots touched. Whoever finds none runs it, for all who come
//! within its window of opportunity ([`host`]); results are pulled from a bounded list of pages ([`pages`]). What one
//! statement has several times it runs once too ([`repeated`]). Called by `run`. After "Simultaneous Pipelining" and
//! "Shared Pages Lists" of the paper on sharing data and work across concurrent analytical queries; the batches of the
//! global plan have no need of it, since equal activations and equal nodes are one there.

mod consumer;
mod expression;
mod host;
mod lists;
mod load;
mod memory;
mod node;
mod order;
mod pages;
mod repeated;
mod replay;
mod report;
mod signature;
#[cfg(test)]
mod tests;
mod waiting;
mod window_function;
mod wrap;

use std::sync::Arc;

pub use consumer::Took;
pub use lists::Lists;
pub use memory::Memory;
pub use pages::Progress;
pub use repeated::Repeats;
pub use report::Report;
pub use wrap::wrap;

/// With whom a query shares.
#[derive(Clone, Debug)]
pub struct Pipelining {
    /// The lists that run.
    pub lists: Arc<Lists>,
    /// Where it is told what was shared, for EXPLAIN ANALYZE.
    pub report: Option<Arc<Report>>,
}
