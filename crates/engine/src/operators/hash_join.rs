//! (signatures)
use super::{Batch, Faults, Users};
use crate::plan::JoinKind;
use crate::query_set::Tuples;
use crate::types::{DataType, Predicate};

/// Pairs of rows with equal keys; without keys a cross join.
#[derive(Clone, Debug)]
pub struct HashJoinNode {
    /// Inner, outer, semi or anti.
    pub kind: JoinKind,
    /// Pairs of (left column, right column).
    pub keys: Vec<(usize, usize)>,
    /// Further join conditions over left ++ right columns, one conjunction per variant.
    pub residuals: Vec<Vec<Predicate>>,
    /// The left input's column types.
    pub left_types: Vec<DataType>,
    /// The right input's column types.
    pub right_types: Vec<DataType>,
}

/// One worker's part of the right input.
#[derive(Debug, Default)]
pub struct JoinBuild {}

impl JoinBuild {
    /// Takes in a chunk of the right input.
    pub fn add(&mut self, node: &HashJoinNode, tuples: Tuples) {
        let _ = (node, tuples);
        todo!()
    }
}

/// The right input by key. Workers share it.
#[derive(Debug)]
pub struct JoinTable {}

/// One worker's memory of which right rows found partners.
#[derive(Debug, Default)]
pub struct JoinProbe {}

impl JoinTable {
    /// Puts the workers' parts together.
    pub fn merge(
        node: &HashJoinNode,
        batch: &Batch<'_>,
        builds: Vec<JoinBuild>,
        faults: &mut Faults,
    ) -> JoinTable {
        let _ = (node, batch, builds, faults);
        todo!()
    }

    /// Joins a chunk of the left input.
    pub fn probe(
        &self,
        node: &HashJoinNode,
        batch: &Batch<'_>,
        users: &[Users],
        probe: &mut JoinProbe,
        left: Tuples,
        faults: &mut Faults,
    ) -> Tuples {
        let _ = (node, batch, users, probe, left, faults);
        todo!()
    }

    /// RIGHT and FULL: the right rows that found no partner, with NULLs on the left. Call it once, after the
    /// last chunk; other kinds give `None`.
    pub fn unmatched(
        &self,
        node: &HashJoinNode,
        batch: &Batch<'_>,
        probes: Vec<JoinProbe>,
    ) -> Option<Tuples> {
        let _ = (node, batch, probes);
        todo!()
    }
}
