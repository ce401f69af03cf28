//! (signatures)
use super::{Batch, Cut};
use crate::query_set::Tuples;

/// How far each slot has come.
#[derive(Debug)]
pub struct LimitState {}

impl LimitState {
    /// Nothing seen yet; `cuts` by slot.
    pub fn new(cuts: Vec<Cut>) -> LimitState {
        let _ = cuts;
        todo!()
    }

    /// Takes each slot's wanted rows out of the next chunk.
    pub fn limit(&mut self, batch: &Batch<'_>, tuples: Tuples) -> Tuples {
        let _ = (batch, tuples);
        todo!()
    }

    /// Whether no slot wants more: the input may stop.
    pub fn done(&self) -> bool {
        todo!()
    }
}
