//! (signatures)
use super::{Batch, Faults};
use crate::plan::Aggregate;
use crate::query_set::{SetId, Tuples};

/// One row per distinct key and slot; without keys exactly one row per slot.
#[derive(Clone, Debug, Default)]
pub struct GroupNode {
    /// Grouping columns of the input: the first output columns.
    pub keys: Vec<usize>,
    /// Key columns that determine all the others (a unique key and what hangs on it); empty: all are needed.
    pub determinants: Vec<usize>,
    /// The aggregates: the output columns after the keys.
    pub aggregates: Vec<Aggregate>,
}

impl GroupNode {
    /// SELECT DISTINCT over an input of `columns` output columns.
    pub fn distinct(columns: usize) -> GroupNode {
        GroupNode { keys: (0..columns).collect(), ..GroupNode::default() }
    }
}

/// One worker's part of a grouping's input.
#[derive(Debug, Default)]
pub struct GroupBuild {}

impl GroupBuild {
    /// Takes in a chunk.
    pub fn add(
        &mut self,
        node: &GroupNode,
        batch: &Batch<'_>,
        tuples: Tuples,
        faults: &mut Faults,
    ) {
        let _ = (node, batch, tuples, faults);
        todo!()
    }
}

/// A grouping's whole input, ready to be aggregated slot by slot.
#[derive(Debug)]
pub struct Groups {}

impl Groups {
    /// Puts the workers' parts together.
    pub fn merge(
        node: &GroupNode,
        batch: &Batch<'_>,
        builds: Vec<GroupBuild>,
        faults: &mut Faults,
    ) -> Groups {
        let _ = (node, batch, builds, faults);
        todo!()
    }

    /// Aggregates part `part` of `parts` of the slots in `set`; parts may run on different workers.
    pub fn finish(
        &self,
        node: &GroupNode,
        batch: &Batch<'_>,
        set: SetId,
        (part, parts): (usize, usize),
        faults: &mut Faults,
    ) -> Tuples {
        let _ = (node, batch, set, part, parts, faults);
        todo!()
    }
}
