//! The rows that the predicates so far have left.

use crate::operators::Batch;
use crate::query_set::{QuerySets, SetId, Tuples};

/// Rows on their way through a conjunction.
#[derive(Debug)]
pub struct Live {
    tuples: Tuples,
    /// Positions in the input, ascending; `None` while that is all.
    rows: Option<Vec<u32>>,
}

impl Live {
    pub fn new(tuples: Tuples) -> Live {
        Live { tuples, rows: None }
    }

    pub fn rows(&self) -> usize {
        self.tuples.rows
    }

    pub fn tuples(&self) -> &Tuples {
        &self.tuples
    }

    /// Positions in the input.
    pub fn positions(&self) -> impl Iterator<Item = u32> + '_ {
        let all = 0..if self.rows.is_none() { self.tuples.rows as u32 } else { 0 };
        all.chain(self.rows.iter().flatten().copied())
    }

    /// Keeps the rows whose `mask` is true.
    pub fn keep(&mut self, mask: &[bool]) {
        if mask.iter().all(|&keep| keep) {
            return;
        }
        let kept = mask.iter().zip(0..).filter(|(keep, _)| **keep).map(|(_, row)| row).collect();
        self.take(kept);
    }

    fn take(&mut self, kept: Vec<u32>) {
        self.tuples = self.tuples.take(&kept);
        self.rows = Some(match &self.rows {
            None => kept,
            Some(rows) => kept.iter().map(|&row| rows[row as usize]).collect(),
        });
    }

    /// Keeps the slots of `set`.
    pub fn restrict(&mut self, set: SetId, batch: &Batch<'_>) {
        if set != batch.sets.all() {
            let sets = self.tuples.sets.restrict(set, self.tuples.rows, batch.sets);
            self.set(sets);
        }
    }

    /// Rows that only one activation can want are all wanted by it.
    pub fn simplify(&mut self, slots: SetId, batch: &Batch<'_>) {
        if batch.sets.single(slots).is_some() {
            self.tuples.sets = QuerySets::Uniform(slots);
        }
    }

    /// Keeps the slots that are in `sets` too, row by row.
    pub fn intersect(&mut self, sets: &[SetId], batch: &Batch<'_>) {
        let sets = self.tuples.sets.intersect_ids(sets, batch.sets);
        self.set(sets);
    }

    /// Replaces the rows' sets and drops rows that nobody wants any more.
    pub fn set(&mut self, sets: QuerySets) {
        self.tuples.sets = sets;
        if let Some(rows) = self.tuples.sets.wanted_rows(self.tuples.rows) {
            self.take(rows);
        }
    }

    /// The rows that are left.
    pub fn into_tuples(mut self, batch: &Batch<'_>) -> Tuples {
        self.tuples.sets = self.tuples.sets.compact(self.tuples.rows, batch.sets);
        self.tuples
    }

    /// The sets of all `total` rows of the input, empty for those that were dropped.
    pub fn into_sets(self, total: usize, batch: &Batch<'_>) -> QuerySets {
        let Some(rows) = &self.rows else { return self.tuples.sets };
        if let QuerySets::Pairs { .. } | QuerySets::Bitmaps { .. } = self.tuples.sets {
            return self.tuples.sets.union_by(rows, total, batch.sets);
        }
        let mut ids = vec![SetId::EMPTY; total];
        for (position, &row) in rows.iter().enumerate() {
            ids[row as usize] = self.tuples.sets.row(position).id(batch.sets);
        }
        QuerySets::Interned(ids)
    }
}
