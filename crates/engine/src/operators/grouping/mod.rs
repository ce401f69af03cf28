//! One row per distinct key and slot (GROUP BY, DISTINCT); without keys exactly one row per slot.
//!
//! Phase 1, once per row whatever the number of queries: keys to dense group ids. Phase 2 once per (row, slot):
//! pairs are bucketed by slot and aggregated one query's table at a time, so that one table stays in the cache
//! ("batch grouping" of the cache-aware sharing paper: aggregating row by row instead thrashes it). Where rows
//! have few distinct sets, phase 2 runs once per set instead of once per slot: the results of disjoint sets
//! are shared by their slots, those of overlapping ones are merged per slot.
//!
//! Rows do not stay: once a worker holds many, they are folded into one partial aggregate per group and distinct set,
//! if that makes them fewer, and phase 2 takes those in place of rows. Not so for DISTINCT aggregates, extremes of
//! strings, and inputs with nearly as many sets as rows: those keep their rows, within the batch's memory.
//!
//! Where a key's values lie in one chunk each, a chunk's groups are whole when it has been read and are kept apart from
//! all others ([`GroupPart`]), or are rows at once where a filter (HAVING) needs few of them. Where workers have met many groups that are not, their parts are cut by key and put
//! together partition by partition, on all of them ([`GroupBuild::partition`]).
//!
//! Cost: rows × keys, plus the smaller of (row, slot) pairs and rows + groups of each set × its slots.
//! Invariant: groups of one slot (and partition) lie together in the output, in order of the slot's first row of each.

mod accumulator;
mod argument;
mod ascending;
mod build;
mod combinations;
mod finish;
mod fold;
mod output;
mod part;
mod partition;
mod places;
mod result;

pub(super) use accumulator::Accumulator;
pub(super) use argument::Argument;
pub use build::GroupBuild;
pub use finish::Groups;
pub use part::{ChunkOf, GroupPart};
pub(super) use result::results;

use crate::plan::{Aggregate, AggregateFunction};
use crate::types::Scalar;

/// One row per distinct key and slot; without keys exactly one row per slot.
#[derive(Clone, Debug, Default)]
pub struct GroupNode {
    /// Grouping columns of the input: the first output columns.
    pub keys: Vec<usize>,
    /// Key columns that determine all the others (a unique key and what hangs on it); empty: all are needed.
    /// Only for inputs that are no union: if they are a table's unique key, its row stands for them.
    pub determinants: Vec<usize>,
    /// The aggregates: the output columns after the keys.
    pub aggregates: Vec<Aggregate>,
}

impl GroupNode {
    /// SELECT DISTINCT over an input of `columns` output columns.
    pub fn distinct(columns: usize) -> GroupNode {
        GroupNode { keys: (0..columns).collect(), ..GroupNode::default() }
    }

    /// An aggregate before this one that keeps the same of the same column: a sum and an average do.
    fn same_state(&self, at: usize) -> Option<usize> {
        let column = |aggregate: &Aggregate| match aggregate {
            Aggregate {
                argument: Some(Scalar::Column(column)),
                distinct: false,
                filter: None,
                ..
            } => Some(*column),
            _ => None,
        };
        let sums = |aggregate: &Aggregate| {
            matches!(aggregate.function, AggregateFunction::Sum | AggregateFunction::Average)
        };
        let own = column(&self.aggregates[at]).filter(|_| sums(&self.aggregates[at]))?;
        self.aggregates[..at].iter().position(|other| sums(other) && column(other) == Some(own))
    }

    /// Bytes counted for a row of the output.
    fn row_bytes(&self) -> usize {
        8 * (self.keys.len() + self.aggregates.len())
    }

    /// The columns that tell groups apart.
    fn identity(&self) -> &[usize] {
        if self.determinants.is_empty() { &self.keys } else { &self.determinants }
    }

    /// Which columns of the output those are.
    fn identity_of_output(&self) -> Vec<usize> {
        let place = |column: &usize| self.keys.iter().position(|key| key == column);
        self.identity().iter().filter_map(place).collect()
    }
}
