//! (signatures)
use std::sync::Arc;

use super::{Batch, Faults, Users};
use crate::plan::JoinKind;
use crate::query_set::Tuples;
use crate::storage::TableView;
use crate::types::{IndexId, Predicate};

/// A join whose inner (right) side is a base table reached by one of its indexes.
#[derive(Clone, Debug)]
pub struct IndexJoinNode {
    /// Inner, left, semi or anti.
    pub kind: JoinKind,
    /// The inner table's index.
    pub index: IndexId,
    /// Outer columns, one per key column of the index. Several alternatives find the union of their matches
    /// (`inner.key IN (outer.a, outer.b)`).
    pub keys: Vec<Vec<usize>>,
    /// The inner rows' predicates, over the inner table's columns, one conjunction per variant.
    pub inner: Vec<Vec<Predicate>>,
    /// Further join conditions over outer ++ inner columns, one conjunction per variant.
    pub residuals: Vec<Vec<Predicate>>,
}

/// What a batch's workers share.
#[derive(Debug)]
pub struct IndexJoinState {}

/// What a worker remembers from chunk to chunk.
#[derive(Debug, Default)]
pub struct IndexJoinScratch {}

impl IndexJoinState {
    /// Once per batch.
    pub fn new(
        node: &IndexJoinNode,
        batch: &Batch<'_>,
        users: &[Users],
        inner: Arc<TableView>,
    ) -> IndexJoinState {
        let _ = (node, batch, users, inner);
        todo!()
    }

    /// Joins a chunk of the outer input.
    pub fn join(
        &self,
        node: &IndexJoinNode,
        batch: &Batch<'_>,
        scratch: &mut IndexJoinScratch,
        outer: Tuples,
        faults: &mut Faults,
    ) -> Tuples {
        let _ = (node, batch, scratch, outer, faults);
        todo!()
    }
}
