//! LIMIT and OFFSET without an order: any rows do, so the first that come are taken.
//!
//! One step per (row, slot) pair until a slot has enough; rows that no slot takes are dropped. Chunks come one
//! at a time: the state is the operator's only one.

use super::{Batch, Cut};
use crate::query_set::{QuerySets, Tuples, words};

/// How far each slot has come.
#[derive(Debug)]
pub struct LimitState {
    cuts: Vec<Cut>,
    seen: Vec<u64>,
}

impl LimitState {
    /// Nothing seen yet; `cuts` by slot.
    pub fn new(cuts: Vec<Cut>) -> LimitState {
        LimitState { seen: vec![0; cuts.len()], cuts }
    }

    /// Takes each slot's wanted rows out of the next chunk.
    pub fn limit(&mut self, batch: &Batch<'_>, tuples: Tuples) -> Tuples {
        if let QuerySets::Uniform(set) = tuples.sets
            && let Some(slot) = batch.sets.single(set)
        {
            return self.slice(slot.index(), tuples);
        }
        let width = batch.sets.word_count();
        let mut bitmaps = vec![0; tuples.rows * width];
        for row in 0..tuples.rows {
            let kept = &mut bitmaps[row * width..][..width];
            tuples.sets.row(row).for_each(batch.sets, |slot| {
                let (cut, seen) = (self.cuts[slot.index()], &mut self.seen[slot.index()]);
                if (cut.skip..cut.end()).contains(seen) {
                    words::insert(kept, slot);
                }
                *seen += 1;
            });
        }
        let sets = QuerySets::from_bitmaps(bitmaps, tuples.rows, batch.sets);
        tuples.with_sets(sets, batch.sets)
    }

    /// One slot's cut of a chunk that it wants wholly.
    fn slice(&mut self, slot: usize, tuples: Tuples) -> Tuples {
        let (cut, seen) = (self.cuts[slot], self.seen[slot]);
        self.seen[slot] += tuples.rows as u64;
        let row = |position: u64| position.saturating_sub(seen).min(tuples.rows as u64) as u32;
        let (first, last) = (row(cut.skip), row(cut.end()));
        if last - first == tuples.rows as u32 {
            return tuples;
        }
        tuples.take(&(first..last.max(first)).collect::<Vec<_>>())
    }

    /// Whether no slot wants more: the input may stop.
    pub fn done(&self) -> bool {
        self.cuts.iter().zip(&self.seen).all(|(cut, &seen)| seen >= cut.end())
    }
}
