//! A join whose inner (right) side is a base table reached by one of its indexes: CJOIN's filter with a hash
//! table that is always there.
//!
//! Each distinct outer key is looked up once per worker, and each inner row that it finds meets the inner
//! predicates of all activations once, which gives the row's interned set for this batch. From then on an
//! outer row costs one look-up of a small number and one intersection of sets.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::output::{Join, Pairs, fit_one_piece, pieces};
use crate::operators::filter::{any_predicate, qualify};
use crate::operators::kernel::{KeyTable, scale_of};
use crate::operators::{Batch, Faults, Users, restrict};
use crate::plan::JoinKind;
use crate::query_set::{QuerySets, SetId, Tuples};
use crate::storage::{Bound, Index, TableView};
use crate::types::{IndexId, Location, Predicate, Value, ValueRef, array_cell};

/// A join whose inner (right) side is a base table reached by one of its indexes.
#[derive(Clone, Debug)]
pub struct IndexJoinNode {
    /// Inner, left, semi or anti.
    pub kind: JoinKind,
    /// The inner table's index.
    pub index: IndexId,
    /// Outer columns, one per key column of the index, or fewer: the first ones of an ordered index. Several alternatives find the union of their matches
    /// (`inner.key IN (outer.a, outer.b)`).
    pub keys: Vec<Vec<usize>>,
    /// The inner rows' predicates, over the inner table's columns, one conjunction per variant.
    pub inner: Vec<Vec<Predicate>>,
    /// Further join conditions over outer ++ inner columns, one conjunction per variant.
    pub residuals: Vec<Vec<Predicate>>,
}

/// What a batch's workers share.
#[derive(Debug)]
pub struct IndexJoinState {
    inner: Arc<TableView>,
    index: Arc<Index>,
    users: Vec<Users>,
    /// The slots of all users.
    slots: SetId,
    /// Inner predicates that cannot fail, by variant: they are asked of every inner row that anybody reaches.
    sure: Vec<Vec<Predicate>>,
    /// Those that may: they are asked of each activation's own pairs only, so that it fails only where it would
    /// fail alone.
    fallible: Vec<Vec<Predicate>>,
}

/// What a worker remembers from chunk to chunk.
#[derive(Debug, Default)]
pub struct IndexJoinScratch {
    memo: Option<Memo>,
}

/// Outer keys met so far and the inner rows that they found.
#[derive(Debug)]
struct Memo {
    keys: KeyTable,
    /// Key `k` found `rows[offsets[k]..offsets[k + 1]]`.
    offsets: Vec<u32>,
    /// Inner rows that somebody wants, with their sets: uniform until one differs from all slots.
    rows: Tuples,
}

impl IndexJoinState {
    /// Once per batch. Slots that are in no user's set take no part.
    pub fn new(
        node: &IndexJoinNode,
        batch: &Batch<'_>,
        users: &[Users],
        inner: Arc<TableView>,
    ) -> IndexJoinState {
        let index = inner.table().index(node.index);
        let slots = users.iter().fold(SetId::EMPTY, |all, user| batch.sets.union(all, user.set));
        let split = |keep: bool| {
            let pick = |predicates: &Vec<Predicate>| {
                predicates.iter().filter(|p| p.may_fail() == keep).cloned().collect()
            };
            node.inner.iter().map(pick).collect()
        };
        IndexJoinState {
            sure: split(false),
            fallible: split(true),
            index: index.expect("a plan names indexes that exist"),
            users: users.to_vec(),
            slots,
            inner,
        }
    }

    /// The pieces of an outer chunk that should be joined one by one, so that each finds about `most` pairs if its keys
    /// find as many rows as those before have; `None` for all of it at once.
    pub fn pieces(
        &self,
        scratch: Option<&IndexJoinScratch>,
        outer: &Tuples,
        most: usize,
    ) -> Option<Vec<Range<u32>>> {
        let memo = scratch?.memo.as_ref()?;
        let fan_out = memo.rows.rows.div_ceil(memo.keys.len().max(1));
        match fit_one_piece(outer.rows, fan_out, most) {
            true => None,
            false => pieces(std::iter::repeat_n(fan_out, outer.rows), most),
        }
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
        let outer = restrict(batch, self.slots, outer);
        let memo = scratch.memo.get_or_insert_with(|| Memo::new(node, &outer, self));
        let ids: Vec<Vec<u32>> = match outer.rows {
            0 => Vec::new(),
            _ => {
                let find = |key: &Vec<usize>| self.find(batch, memo, key, &outer, faults);
                node.keys.iter().map(find).collect()
            }
        };
        let pairs = memo.pairs(&ids, outer.rows);
        let join = Join {
            kind: node.kind,
            right_only: &self.fallible,
            residuals: &node.residuals,
            users: &self.users,
        };
        let matches = join.matches(batch, &outer, &memo.rows, pairs, faults);
        join.output(batch, outer, &memo.rows, matches)
    }

    /// Key numbers of the outer rows; new keys are looked up.
    fn find(
        &self,
        batch: &Batch<'_>,
        memo: &mut Memo,
        key: &[usize],
        outer: &Tuples,
        faults: &mut Faults,
    ) -> Vec<u32> {
        let columns: Vec<ArrayRef> = key.iter().map(|&column| outer.column(column)).collect();
        let known = memo.keys.len();
        let ids = memo.keys.insert(&columns);
        if memo.keys.len() > known {
            let (ends, found) = self.probe(&columns, &ids, known);
            let sets = self.inner_sets(batch, &found, faults);
            memo.extend(&ends, &found, sets.as_deref(), self.slots);
        }
        ids
    }

    /// Looks the keys numbered from `known` on up: where each one's rows end, and all rows.
    fn probe(&self, columns: &[ArrayRef], ids: &[u32], known: usize) -> (Vec<u32>, Vec<Location>) {
        let (mut ends, mut found) = (Vec::new(), Vec::new());
        let mut key: Vec<ValueRef<'_>> = Vec::with_capacity(columns.len());
        for (row, &id) in ids.iter().enumerate() {
            if id as usize == known + ends.len() {
                key.clear();
                key.extend(columns.iter().map(|column| array_cell(column, row)));
                self.look_up(&key, &mut found);
                ends.push(found.len() as u32);
            }
        }
        (ends, found)
    }

    fn look_up(&self, key: &[ValueRef<'_>], found: &mut Vec<Location>) {
        if key.len() == self.index.schema().columns.len() {
            return self.inner.probe(&self.index, key, found);
        }
        if key.iter().any(|value| value.is_null()) {
            return;
        }
        let prefix: Vec<Value> = key.iter().map(|&value| ValueRef::to_owned(value)).collect();
        let bound = Bound::Included(&prefix);
        self.inner.range(&self.index, bound, bound, false, usize::MAX, found);
    }

    /// The slots whose inner predicates each row meets; `None`: all slots, all rows.
    fn inner_sets(
        &self,
        batch: &Batch<'_>,
        found: &[Location],
        faults: &mut Faults,
    ) -> Option<Vec<SetId>> {
        if !any_predicate(&self.sure, &self.users) || found.is_empty() {
            return None;
        }
        let all = QuerySets::Uniform(self.slots);
        let rows = Tuples::of_table(self.inner.clone(), found.to_vec(), all);
        let sets = qualify(&self.sure, batch, &self.users, &rows, faults);
        Some(sets.ids(found.len(), batch.sets))
    }
}

impl Memo {
    fn new(node: &IndexJoinNode, outer: &Tuples, state: &IndexJoinState) -> Memo {
        let columns = node.keys.first().map_or(&[][..], Vec::as_slice);
        // Without an outer column there is no outer row either.
        let known = columns.iter().filter(|&&column| column < outer.columns.len());
        let scales = known.map(|&column| scale_of(outer, column));
        let all = QuerySets::Uniform(state.slots);
        Memo {
            keys: KeyTable::new(scales),
            offsets: vec![0],
            rows: Tuples::of_table(state.inner.clone(), Vec::new(), all),
        }
    }

    /// Takes in what new keys found; rows that nobody wants are forgotten.
    fn extend(&mut self, ends: &[u32], found: &[Location], sets: Option<&[SetId]>, all: SetId) {
        let locations = &mut self.rows.sources[0].locations;
        let differs = |&set: &SetId| set != all && set != SetId::EMPTY;
        if sets.is_some_and(|sets| sets.iter().any(differs))
            && matches!(self.rows.sets, QuerySets::Uniform(_))
        {
            self.rows.sets = QuerySets::Interned(vec![all; locations.len()]);
        }
        let mut next = 0;
        for &end in ends {
            for row in next..end as usize {
                let set = sets.map_or(all, |sets| sets[row]);
                if set != SetId::EMPTY {
                    locations.push(found[row]);
                    if let QuerySets::Interned(sets) = &mut self.rows.sets {
                        sets.push(set);
                    }
                }
            }
            next = end as usize;
            self.offsets.push(locations.len() as u32);
        }
        self.rows.rows = locations.len();
    }

    /// The inner rows of each outer row; alternatives with the same key count once.
    fn pairs(&self, alternatives: &[Vec<u32>], rows: usize) -> Pairs {
        let mut pairs = Pairs::default();
        for row in 0..if alternatives.is_empty() { 0 } else { rows } {
            for (number, ids) in alternatives.iter().enumerate() {
                let id = ids[row];
                if alternatives[..number].iter().any(|earlier| earlier[row] == id) {
                    continue;
                }
                let found = self.offsets[id as usize]..self.offsets[id as usize + 1];
                pairs.right.extend(found);
            }
            pairs.left.resize(pairs.right.len(), row as u32);
        }
        pairs
    }
}
