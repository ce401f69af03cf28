//! The shared hash join: one table of the right input for the whole batch, probed with every left row once.
//!
//! Build: keys to dense ids, rows bucketed by id; where every right row has one slot, by (id, slot), so that the
//! slot is part of the look-up and many queries' rows of one key never meet. Probe: one look-up per left row.
//! Cost: rows of both sides, plus candidate pairs. Semi and anti joins without residual look at no pair: each
//! key's union of sets is made once. Without keys all rows are one bucket: a cross join. Where a chunk has many pairs
//! its caller is told to bring it in pieces, so that what is there at a time stays bounded.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;

use super::output::{Join, Matches, Pairs, fit_one_piece, pieces};
use super::rows_by_key::RowsByKey;
use crate::operators::filter::any_predicate;
use crate::operators::kernel::{
    KeyTable, NO_ID, NO_ROW, PartitionedKeys, RankedKeys, RankedPairs, concat, constant_array,
    of_arrays, take_or_null,
};
use crate::operators::{Batch, Faults, Users, restrict};
use crate::plan::JoinKind;
use crate::query_set::{QuerySets, SetId, SetTable, Tuples};
use crate::scan::KeyFilter;
use crate::types::{DataType, Predicate, Slot, Value};

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

impl HashJoinNode {
    /// Whether both columns of a key are integers or dates.
    pub(super) fn is_integer(&self, (left, right): (usize, usize)) -> bool {
        KeyFilter::is_for(self.left_types[left], self.right_types[right])
    }

    /// Chunks of the right input end to end.
    pub fn rows(&self, chunks: Vec<Tuples>, sets: &SetTable) -> Tuples {
        let rows = concat(chunks, sets).filter(|rows| rows.rows > 0);
        rows.unwrap_or_else(|| nulls(&self.right_types, 0))
    }

    /// Bytes counted for rows that wait for the other side.
    pub fn memory(&self, rows: &Tuples) -> usize {
        8 * rows.rows * (rows.sources.len() + rows.computed.len() + self.keys.len() + 2)
    }
}

/// One worker's part of the right input.
#[derive(Debug, Default)]
pub struct JoinBuild {
    chunks: Vec<Tuples>,
}

impl JoinBuild {
    /// The rows taken in; they are the caller's, and no longer of the batch's memory.
    pub fn into_chunks(self, node: &HashJoinNode, batch: &Batch<'_>) -> Vec<Tuples> {
        self.chunks.iter().for_each(|chunk| batch.budget.release(node.memory(chunk)));
        self.chunks
    }

    /// How many they are.
    pub fn rows(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.rows).sum()
    }

    /// The chunks taken in.
    pub(super) fn chunks(self) -> Vec<Tuples> {
        self.chunks
    }

    /// Takes in a chunk of the right input. Beyond the batch's memory its activations fail with 53200.
    pub fn add(
        &mut self,
        node: &HashJoinNode,
        batch: &Batch<'_>,
        tuples: Tuples,
        faults: &mut Faults,
    ) {
        match batch.budget.reserve(node.memory(&tuples)) {
            Ok(()) => self.chunks.push(tuples),
            Err(error) => {
                let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
                batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
            }
        }
    }
}

/// The right input by key. Workers share it.
#[derive(Debug)]
pub struct JoinTable {
    rows: Arc<Tuples>,
    keys: Keys,
    /// By key id.
    by_key: RowsByKey,
    /// Rows of a key ascend by slot, and have one each.
    by_slot: bool,
    /// The union of each bucket's sets, where somebody asks.
    unions: OnceLock<Vec<SetId>>,
}

/// From keys to ids.
#[derive(Debug)]
pub(super) enum Keys {
    /// There are none: all rows have id 0.
    None,
    /// One column of integers that lie close together.
    Integers(RankedKeys),
    /// Two such columns.
    Pairs(RankedPairs),
    /// Anything else.
    Values(KeyTable),
    /// The same of many rows.
    Partitions(PartitionedKeys),
}

impl Keys {
    /// The keys of the right rows, and the id of each row's.
    fn of(node: &HashJoinNode, rows: &Tuples) -> (Keys, Vec<u32>) {
        let columns = columns(rows, node.keys.iter().map(|key| key.1));
        if columns.is_empty() {
            return (Keys::None, vec![0; rows.rows]);
        }
        if let ([key], [column]) = (&node.keys[..], &columns[..])
            && node.is_integer(*key)
            && let Some(keys) = RankedKeys::of(column)
        {
            let ids = nulls_last(keys.find(column), keys.len());
            return (Keys::Integers(keys), ids);
        }
        if node.keys.iter().all(|key| node.is_integer(*key))
            && let Ok(pair) = <&[ArrayRef; 2]>::try_from(&columns[..])
            && let Some(keys) = RankedPairs::of(pair)
        {
            let ids = nulls_last(keys.find(pair), keys.len());
            return (Keys::Pairs(keys), ids);
        }
        let mut keys = KeyTable::new(node.scales());
        let ids = keys.insert(&columns);
        (Keys::Values(keys), ids)
    }

    /// Ids of the right rows.
    fn len(&self) -> usize {
        match self {
            Keys::None => 1,
            Keys::Integers(keys) => keys.len() + 1,
            Keys::Pairs(keys) => keys.len() + 1,
            Keys::Values(keys) => keys.len(),
            Keys::Partitions(keys) => keys.len(),
        }
    }

    /// Ids of the left rows; [`NO_ID`] where no right row has the key.
    fn find(&self, node: &HashJoinNode, left: &Tuples) -> Vec<u32> {
        let columns = columns(left, node.keys.iter().map(|key| key.0));
        match self {
            Keys::None => vec![0; left.rows],
            Keys::Integers(keys) => keys.find(&columns[0]),
            Keys::Pairs(keys) => keys.find(columns[..].try_into().expect("two keys")),
            Keys::Values(keys) => keys.find(&columns),
            Keys::Partitions(keys) => keys.find(&columns),
        }
    }

    fn memory(&self) -> usize {
        match self {
            Keys::None => 0,
            Keys::Integers(keys) => keys.memory(),
            Keys::Pairs(keys) => keys.memory(),
            Keys::Values(keys) => keys.memory(),
            Keys::Partitions(keys) => keys.memory(),
        }
    }

    /// Counts them against the batch's memory; beyond it whoever wants one of the rows fails with 53200.
    pub(super) fn reserve(&self, batch: &Batch<'_>, rows: &Tuples, faults: &mut Faults) -> bool {
        let granted = batch.budget.reserve(self.memory());
        if let Err(error) = &granted {
            let wanted = rows.sets.wanted(rows.rows, batch.sets);
            batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
        }
        granted.is_ok()
    }
}

/// Rows whose key is NULL lie together behind all others.
fn nulls_last(ids: Vec<u32>, keys: usize) -> Vec<u32> {
    ids.into_iter().map(|id| id.min(keys as u32)).collect()
}

/// One worker's memory of which right rows found partners.
#[derive(Debug, Default)]
pub struct JoinProbe {
    /// A bitmap per right row.
    found: Vec<u64>,
    /// The left input's columns, without rows.
    left: Option<Tuples>,
}

impl JoinTable {
    /// The right input.
    pub fn rows(&self) -> &Tuples {
        &self.rows
    }

    /// Puts the workers' parts together.
    pub fn merge(
        node: &HashJoinNode,
        batch: &Batch<'_>,
        builds: Vec<JoinBuild>,
        faults: &mut Faults,
    ) -> JoinTable {
        let chunks: Vec<Tuples> = builds.into_iter().flat_map(|build| build.chunks).collect();
        let mut rows = node.rows(chunks, batch.sets);
        let (keys, mut ids) = Keys::of(node, &rows);
        if !keys.reserve(batch, &rows, faults) {
            rows = rows.emptied();
            ids.clear();
        }
        let by_slot = JoinTable::is_by_slot(batch, &rows);
        let order = by_slot.then(|| rows.sets.expand(rows.rows, batch.sets).rows);
        let by_key = RowsByKey::of(&ids, keys.len(), order.as_deref());
        JoinTable::new(batch, Arc::new(rows), keys, by_key)
    }

    /// A table of rows whose keys have ids, and whose rows of each key come by slot where each has one.
    pub(super) fn new(
        batch: &Batch<'_>,
        rows: Arc<Tuples>,
        keys: Keys,
        by_key: RowsByKey,
    ) -> JoinTable {
        let by_slot = JoinTable::is_by_slot(batch, &rows);
        JoinTable { rows, keys, by_key, by_slot, unions: OnceLock::new() }
    }

    fn is_by_slot(batch: &Batch<'_>, rows: &Tuples) -> bool {
        matches!(rows.sets, QuerySets::Single(_)) && batch.sets.slots() > 1
    }

    /// The pieces of a left chunk that should be probed one by one, so that each finds at most `most` pairs or consists
    /// of one row; `None` for all of it at once.
    pub fn pieces(
        &self,
        node: &HashJoinNode,
        batch: &Batch<'_>,
        users: &[Users],
        left: &Tuples,
        most: usize,
    ) -> Option<Vec<Range<u32>>> {
        let exists = matches!(node.kind, JoinKind::Semi | JoinKind::Anti);
        let without_pairs = exists && !any_predicate(&node.residuals, users);
        let unknown = left.columns.len() != node.left_types.len();
        if without_pairs || unknown || fit_one_piece(left.rows, self.by_key.longest(), most) {
            return None;
        }
        let ids = self.keys.find(node, left);
        let pairs = |(row, id): (usize, u32)| match id {
            NO_ID => 0,
            id => self.expected_pairs(batch, left, row, self.by_key.count(id)),
        };
        pieces(ids.into_iter().enumerate().map(pairs), most)
    }

    /// Of a bucket of so many rows, those that a left row is going to be paired with, about.
    fn expected_pairs(&self, batch: &Batch<'_>, left: &Tuples, row: usize, bucket: usize) -> usize {
        match self.by_slot {
            false => bucket,
            true => {
                let slots = left.sets.row(row).cardinality(batch.sets);
                bucket.min(slots * bucket.div_ceil(batch.sets.slots()))
            }
        }
    }

    /// Joins a chunk of the left input. `users` say which slots have which residual.
    pub fn probe(
        &self,
        node: &HashJoinNode,
        batch: &Batch<'_>,
        users: &[Users],
        probe: &mut JoinProbe,
        left: Tuples,
        faults: &mut Faults,
    ) -> Tuples {
        if left.rows == 0 && left.columns.len() != node.left_types.len() {
            let left = nulls(&node.left_types, 0);
            return self.probe(node, batch, users, probe, left, faults);
        }
        let slots = users.iter().fold(SetId::EMPTY, |all, user| batch.sets.union(all, user.set));
        let left = restrict(batch, slots, left);
        let ids = self.keys.find(node, &left);
        let join = Join { kind: node.kind, right_only: &[], residuals: &node.residuals, users };
        if !any_predicate(&node.residuals, users)
            && let Some(found) = self.existence(node.kind, batch, &ids)
        {
            return existing(node.kind, batch, left, &found);
        }
        let Some(pairs) = self.candidates(batch, &left, ids, faults) else {
            return nulls(&self.output_types(node), 0);
        };
        let matches = join.matches(batch, &left, &self.rows, pairs, faults);
        if matches!(node.kind, JoinKind::Right | JoinKind::Full) {
            self.remember(batch, probe, &left, &matches);
        }
        join.output(batch, left, &self.rows, matches)
    }

    /// RIGHT and FULL: the right rows that found no partner, with NULLs on the left. Call it once, after the
    /// last chunk; other kinds give `None`.
    pub fn unmatched(
        &self,
        node: &HashJoinNode,
        batch: &Batch<'_>,
        probes: Vec<JoinProbe>,
    ) -> Option<Tuples> {
        if !matches!(node.kind, JoinKind::Right | JoinKind::Full) {
            return None;
        }
        let mut sets = self.rows.sets.clone();
        let mut left = None;
        for probe in probes {
            if !probe.found.is_empty() {
                let words_per_row = batch.sets.word_count();
                let found = QuerySets::Bitmaps { words_per_row, words: probe.found };
                sets = sets.difference(&found, self.rows.rows, batch.sets);
            }
            left = left.or(probe.left);
        }
        let left = left.unwrap_or_else(|| nulls(&node.left_types, 0));
        let nobody = QuerySets::Uniform(SetId::EMPTY);
        let left = take_or_null(&left, &vec![NO_ROW; self.rows.rows], nobody);
        Some(left.zip(Tuples::clone(&self.rows), sets).wanted(batch.sets))
    }

    /// Of each key's rows the union of sets: all that semi and anti joins ask.
    fn existence(&self, kind: JoinKind, batch: &Batch<'_>, ids: &[u32]) -> Option<Vec<SetId>> {
        if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            return None;
        }
        let unions = self.unions.get_or_init(|| {
            let (keys, key_of) = (self.keys.len(), self.by_key.key_of(self.rows.rows));
            self.rows.sets.union_by(&key_of, keys, batch.sets).ids(keys, batch.sets)
        });
        let union = |&id: &u32| if id == NO_ID { SetId::EMPTY } else { unions[id as usize] };
        Some(ids.iter().map(union).collect())
    }

    /// All pairs with equal keys; `None` if there is no memory for them.
    fn candidates(
        &self,
        batch: &Batch<'_>,
        left: &Tuples,
        ids: Vec<u32>,
        faults: &mut Faults,
    ) -> Option<Pairs> {
        let RowsByKey::Many { buckets, .. } = &self.by_key else {
            return Some(self.by_key.only_partners(ids));
        };
        let mut pairs = Pairs::default();
        let mut reserved = 0;
        for (row, id) in ids.into_iter().enumerate() {
            if id == NO_ID {
                continue;
            }
            let rows = buckets.rows(Slot(id));
            match self.by_slot && left.sets.row(row).cardinality(batch.sets) * 8 < rows.len() {
                true => self.rows_by_slot(batch, left, row, rows, &mut pairs.right),
                false => pairs.right.extend_from_slice(rows),
            }
            pairs.left.resize(pairs.right.len(), row as u32);
            if pairs.left.len() >= reserved + RESERVED_PAIRS {
                if let Err(error) = batch.budget.reserve(8 * RESERVED_PAIRS) {
                    batch.budget.release(8 * reserved);
                    let wanted = left.sets.wanted(left.rows, batch.sets);
                    batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
                    return None;
                }
                reserved += RESERVED_PAIRS;
            }
        }
        batch.budget.release(8 * reserved);
        Some(pairs)
    }

    /// Of a bucket whose rows ascend by slot, those whose slot wants the left row.
    fn rows_by_slot(
        &self,
        batch: &Batch<'_>,
        left: &Tuples,
        row: usize,
        rows: &[u32],
        out: &mut Vec<u32>,
    ) {
        let QuerySets::Single(slots) = &self.rows.sets else { unreachable!("one slot per row") };
        left.sets.row(row).for_each(batch.sets, |slot| {
            let first = rows.partition_point(|&row| slots[row as usize] < slot);
            let own = rows[first..].iter().take_while(|&&row| slots[row as usize] == slot);
            out.extend(own);
        });
    }

    fn remember(&self, batch: &Batch<'_>, probe: &mut JoinProbe, left: &Tuples, matches: &Matches) {
        let width = batch.sets.word_count();
        probe.found.resize(self.rows.rows * width, 0);
        probe.left.get_or_insert_with(|| left.emptied());
        for (pair, &row) in matches.pairs.right.iter().enumerate() {
            let found = &mut probe.found[row as usize * width..][..width];
            matches.sets.row(pair).union_into(found, batch.sets);
        }
    }

    fn output_types(&self, node: &HashJoinNode) -> Vec<DataType> {
        let right = match node.kind {
            JoinKind::Semi | JoinKind::Anti => &[],
            _ => node.right_types.as_slice(),
        };
        node.left_types.iter().chain(right).copied().collect()
    }
}

/// Candidate pairs of one chunk are counted against the batch's memory in steps of so many.
const RESERVED_PAIRS: usize = 1 << 16;

impl HashJoinNode {
    /// The digits after the point to which both sides' decimals are brought.
    pub(super) fn scales(&self) -> impl Iterator<Item = u8> + '_ {
        let scale = |data_type| match data_type {
            DataType::Numeric { scale, .. } => scale,
            _ => 0,
        };
        self.keys.iter().map(move |&(left, right)| {
            scale(self.left_types[left]).max(scale(self.right_types[right]))
        })
    }
}

/// Semi and anti joins whose partners' sets are known per left row.
fn existing(kind: JoinKind, batch: &Batch<'_>, left: Tuples, found: &[SetId]) -> Tuples {
    let sets = match kind {
        JoinKind::Semi => left.sets.intersect_ids(found, batch.sets),
        _ => {
            let found = QuerySets::Interned(found.to_vec());
            left.sets.difference(&found, left.rows, batch.sets)
        }
    };
    left.with_sets(sets, batch.sets)
}

fn columns(tuples: &Tuples, columns: impl Iterator<Item = usize>) -> Vec<ArrayRef> {
    columns.map(|column| tuples.column(column)).collect()
}

/// Rows of NULLs.
fn nulls(types: &[DataType], rows: usize) -> Tuples {
    let columns = types.iter().map(|&data_type| constant_array(data_type, &Value::Null, rows));
    of_arrays(columns.collect(), rows, QuerySets::Uniform(SetId::EMPTY))
}
