//! One worker's part of a grouping's input. Where rows come chunk by chunk and a key's values lie in one chunk each
//! ([`Clustering`](crate::storage::Clustering)), a chunk's groups have all their rows once it is read: they get their numbers from a table as small
//! as the chunk, and never meet those of other chunks and workers.

use std::sync::Arc;

use super::GroupNode;
use super::build::GroupBuild;
use super::finish::Groups;
use crate::operators::{Batch, Faults};
use crate::query_set::{ColumnOrigin, SetId, Tuples};
use crate::scan::TableBatch;
use crate::types::{ChunkId, ColumnId};

/// A chunk of fewer groups need not be kept apart: they are soon put together with others'.
const FEW_GROUPS: usize = 256;

/// One worker's part of a grouping's input.
#[derive(Debug)]
pub struct GroupPart {
    /// Groups that may have rows in several chunks.
    pub spread: GroupBuild,
    /// Groups all of whose rows are here.
    pub whole: GroupBuild,
    /// What was kept of groups that became rows as soon as their chunk was read.
    pub finished: Vec<Tuples>,
    /// What groups fail with.
    pub faults: Faults,
    /// Groups of the chunk that is being read.
    chunk: Option<ChunkGroups>,
    /// Whether chunks are kept apart: until one has fewer than `few` groups, or no key turns out to be clustered.
    by_chunk: bool,
    few: usize,
}

impl Default for GroupPart {
    fn default() -> GroupPart {
        GroupPart::keeping(FEW_GROUPS)
    }
}

#[derive(Debug)]
struct ChunkGroups {
    chunk: ChunkId,
    /// Which of the keys is clustered, and the column that it is.
    key: usize,
    column: ColumnId,
    build: GroupBuild,
}

/// The chunk that rows come from: all rows that anybody wants of it come one after the other, no others between them.
#[derive(Clone, Copy, Debug)]
pub struct ChunkOf<'a> {
    /// Its table, which no other source of the rows is.
    pub table: &'a TableBatch,
    /// Its number.
    pub chunk: ChunkId,
}

impl GroupPart {
    /// An empty part that keeps chunks of `few` groups apart.
    pub(in crate::operators) fn keeping(few: usize) -> GroupPart {
        let (spread, whole) = (GroupBuild::default(), GroupBuild::default());
        let (finished, faults) = (Vec::new(), Faults::default());
        GroupPart { spread, whole, finished, faults, chunk: None, by_chunk: true, few }
    }

    /// Takes in rows, see [`GroupBuild::add`]; where they come chunk by chunk, [`Self::end_chunk`] follows the last of
    /// each.
    pub fn add(
        &mut self,
        node: &GroupNode,
        batch: &Batch<'_>,
        of: Option<ChunkOf<'_>>,
        tuples: Tuples,
        faults: &mut Faults,
    ) {
        if let Some(of) = of.filter(|_| self.chunk.is_none() && self.by_chunk && tuples.rows > 0) {
            let key = clustered_key(node, of.table, &tuples);
            self.by_chunk = key.is_some();
            self.chunk = key.and_then(|(key, column)| ChunkGroups::new(node, of, key, column));
        }
        let build = match &mut self.chunk {
            Some(chunk) => &mut chunk.build,
            None => &mut self.spread,
        };
        build.add(node, batch, tuples, faults);
    }

    /// Whether it matters which rows are of the same chunk.
    pub fn takes_chunks(&self) -> bool {
        self.by_chunk
    }

    /// No further row comes from the chunk. Its whole groups are rows `at_once` for who needs few of these, see
    /// [`Self::keep`], where that takes no more than reading their partial aggregates.
    pub fn end_chunk(
        &mut self,
        node: &GroupNode,
        batch: &Batch<'_>,
        table: &TableBatch,
        at_once: bool,
        faults: &mut Faults,
    ) -> Option<Tuples> {
        let ChunkGroups { chunk, key, column, mut build } = self.chunk.take()?;
        self.by_chunk = build.groups() >= self.few;
        if !self.by_chunk {
            self.spread.take_in(node, batch, build, faults);
            return None;
        }
        if build.pays_to_fold(batch) {
            build.fold(node, batch, faults);
        }
        let clustering = table.clustering(column).expect("the chunk is clustered by it");
        let owners = build.owners(key, clustering.spread(chunk));
        if owners.contains(&1) {
            let mut parts = build.divide(&owners, 2).into_iter();
            build = parts.next().expect("two parts");
            self.spread.take_in(node, batch, parts.next().expect("two parts"), faults);
        }
        let is_counted = faults.is_empty();
        match build.only_set().filter(|_| at_once && is_counted) {
            Some(set) => Some(finish(node, batch, build, set, faults)),
            None => {
                self.whole.take_in_whole(build);
                None
            }
        }
    }

    /// Keeps rows of groups that are finished.
    pub fn keep(&mut self, node: &GroupNode, batch: &Batch<'_>, rows: Tuples) {
        match batch.budget.reserve(rows.rows * node.row_bytes()) {
            Err(error) => {
                let wanted = rows.sets.wanted(rows.rows, batch.sets);
                batch.sets.for_each(wanted, |slot| self.faults.add(slot, error.clone()));
            }
            Ok(()) if rows.rows > 0 => self.finished.push(rows),
            Ok(()) => {}
        }
    }
}

/// Groups that are all of `set` and get no further row. What they took of the budget is given back: whoever keeps some of
/// the rows takes it anew.
fn finish(
    node: &GroupNode,
    batch: &Batch<'_>,
    build: GroupBuild,
    set: SetId,
    faults: &mut Faults,
) -> Tuples {
    let held = build.folded_memory();
    let mut whole = GroupBuild::default();
    whole.take_in_whole(build);
    let groups = Groups::merge(node, batch, vec![whole], faults);
    let rows = groups.finish(node, batch, set, (0, 1), faults);
    batch.budget.release(held + rows.rows * node.row_bytes());
    rows
}

/// A key whose values lie in one chunk of the table each, and the table's column that it is.
fn clustered_key(
    node: &GroupNode,
    table: &TableBatch,
    tuples: &Tuples,
) -> Option<(usize, ColumnId)> {
    let clustered = |&key: &usize| {
        let ColumnOrigin::Source { source, column } = tuples.columns[key] else { return None };
        // A joined table's column means nothing to this one.
        if !Arc::ptr_eq(&tuples.sources[source].view, table.view()) {
            return None;
        }
        table.clustering(column)?;
        Some((node.keys.iter().position(|own| *own == key)?, column))
    };
    node.identity().iter().find_map(clustered)
}

impl ChunkGroups {
    /// `None` where the chunk is one of those that have values of others.
    fn new(node: &GroupNode, of: ChunkOf<'_>, key: usize, column: ColumnId) -> Option<ChunkGroups> {
        let ChunkOf { table, chunk } = of;
        let is_clustered = table.clustering(column)?.is_clustered(chunk);
        let build = match node.identity().len() {
            // Values that only one chunk has often came in their order.
            1 => GroupBuild::ascending(usize::MAX),
            _ => GroupBuild::holding(usize::MAX),
        };
        is_clustered.then_some(ChunkGroups { chunk, key, column, build })
    }
}

impl GroupBuild {
    /// By group: 1 where its key is among `spread`, 0 elsewhere.
    fn owners(&self, key: usize, spread: &[i64]) -> Vec<u32> {
        if spread.is_empty() {
            return vec![0; self.groups()];
        }
        let mut owners = Vec::with_capacity(self.groups());
        for run in self.representatives.iter().filter(|run| run.rows > 0) {
            let ColumnOrigin::Source { source, column } = run.columns[key] else {
                unreachable!("a clustered key is a table's column")
            };
            let source = &run.sources[source];
            let values = source.view.whole_numbers(column, &source.locations);
            let values = values.expect("a clustered column is an integer and never NULL");
            owners
                .extend(values.iter().map(|value| u32::from(spread.binary_search(value).is_ok())));
        }
        owners
    }
}
