//! One worker's part of a star: the rows that are left of some chunks go into the groups of each slot, one slot after
//! the other.

use super::bins::BinBuild;
use super::block::{Block, Columns, Computed};
use super::draw::Draw;
use super::fact_numbers::FactNumbers;
use super::group_numbers::{GroupNumbers, key_columns};
use super::key_places::{ChunkPart, PartPlaces};
use super::narrow::{Narrowing, Order, Survivors, narrow};
use super::pairs::{Buckets, MOST_ROWS, Pair};
use super::slot_groups::SlotGroups;
use super::window::{Held, Window};
use super::{Star, StarNode};
use crate::operators::grouping::{Accumulator, Argument};
use crate::operators::{Batch, Faults};
use crate::plan::Aggregate;
use crate::query_set::{QuerySets, SetId};
use crate::storage::CHUNK_ROWS;
use crate::types::{ChunkId, Slot};

/// Rows of one chunk of the fact table that the scan has left.
#[derive(Debug)]
pub struct FactRows {
    /// The chunk.
    pub chunk: ChunkId,
    /// Offsets, ascending.
    pub rows: Vec<u32>,
    /// Who wants them.
    pub sets: QuerySets,
}

/// Rows that are collected before slots are visited: so many that several rows of a slot share a cache miss in its groups,
/// so few that what is read of them stays in the second cache.
pub(super) const ROWS: usize = 2 * CHUNK_ROWS;
/// Pairs beyond which fewer rows do: 2 MiB of them. So few rows as the twins' have several blocks in tests.
pub(super) const PAIRS: usize = if cfg!(test) { 64 } else { 1 << 19 };
// A block takes one more chunk than it is asked for.
const _: () = assert!(ROWS + CHUNK_ROWS <= MOST_ROWS);

/// One worker's part.
#[derive(Debug, Default)]
pub struct StarBuild {
    order: Option<Order>,
    /// By slot.
    pub(super) slots: Vec<SlotGroups>,
    /// By active grouping, once rows have come: what the accumulators' numbers mean.
    pub(super) arguments: Vec<Option<Vec<Argument>>>,
    pub(super) bins: BinBuild,
    places: PartPlaces,
    block: Block,
    /// Of the block's rows.
    numbers: FactNumbers,
    /// Those of the block, rows ascending.
    pairs: Vec<Pair>,
    window: Window,
    /// Of the packs' turns.
    draw: Option<Draw>,
    /// Rows that somebody wanted; of rows that went into bins and into pairs, those of the larger number.
    survivors: usize,
}

impl StarBuild {
    /// Rows left so far.
    pub fn survivors(&self) -> usize {
        self.survivors
    }

    /// Takes in rows of a chunk. `narrowed` are those that are left for slots without bins, where they have met the
    /// dimensions together with other stars' rows ([`super::MergedStars`]).
    pub fn add(
        &mut self,
        node: &StarNode,
        star: &Star,
        batch: &Batch<'_>,
        rows: FactRows,
        narrowed: Option<Survivors>,
        faults: &mut Faults,
    ) {
        let part =
            ChunkPart { id: rows.chunk, chunk: star.fact.chunk(rows.chunk), rows: &rows.rows };
        self.places.start(star.roots.len());
        let binned = self.bin(node, star, batch, &part, &rows.sets);
        let (words, rest) = match &binned {
            Some((_, rest)) => (&star.unbinned, rest),
            None => (&star.words, &rows.sets),
        };
        // Where memory for bins was denied, all slots' rows have to be narrowed.
        let narrowed = narrowed.filter(|_| std::ptr::eq(words, star.narrowed_words()));
        let binned = binned.as_ref().map_or(0, |(wanted, _)| *wanted);
        if matches!(rest, QuerySets::Uniform(SetId::EMPTY)) {
            self.survivors += binned;
            return;
        }
        let survivors = narrowed.unwrap_or_else(|| {
            let (filters, table) = (star.filters(), batch.sets);
            let order = self.order.get_or_insert_with(|| Order::new(filters));
            let narrowing = Narrowing { filters, table, words, part, sets: rest };
            narrow(&narrowing, order, &mut self.places)
        });
        self.survivors += binned.max(survivors.rows.len());
        let left = ChunkPart { rows: &survivors.rows, ..part };
        // Groupings that have bins come here only where these do not take rows: their columns are read when asked for.
        self.numbers.add(&star.fact, &left, star.whole_columns_of(false));
        self.block.add(star, words, &part, &survivors, &self.places, &mut self.pairs);
        if self.block.locations.len() >= ROWS || self.pairs.len() >= PAIRS {
            self.close_block(node, star, batch, faults);
        }
    }

    /// Puts rows into the bins of the groupings that have some, where the scan has asked nothing of them in which the
    /// slots differ: how many somebody wanted, and who wants them besides.
    fn bin(
        &mut self,
        node: &StarNode,
        star: &Star,
        batch: &Batch<'_>,
        part: &ChunkPart<'_>,
        sets: &QuerySets,
    ) -> Option<(usize, QuerySets)> {
        let QuerySets::Uniform(set) = *sets else { return None };
        let all_ride = batch.sets.difference(star.binned, set) == SetId::EMPTY;
        if star.binned == SetId::EMPTY || !all_ride {
            return None;
        }
        self.arguments.resize_with(star.groupings.len(), || None);
        let places = &mut self.places;
        let wanted = self.bins.add(node, star, batch, part, places, &mut self.arguments)?;
        Some((wanted, QuerySets::Uniform(batch.sets.difference(set, star.binned))))
    }

    /// Puts the rows that are left into their groups. To be called once more at the end.
    pub fn group(&mut self, node: &StarNode, star: &Star, batch: &Batch<'_>, faults: &mut Faults) {
        self.close_block(node, star, batch, faults);
        self.close_window(node, star, batch, faults);
    }

    /// Buckets the pairs of a block and aggregates them, or keeps them for the turns of the packs.
    fn close_block(
        &mut self,
        node: &StarNode,
        star: &Star,
        batch: &Batch<'_>,
        faults: &mut Faults,
    ) {
        if self.pairs.is_empty() {
            return;
        }
        self.block.buckets.fill(batch.sets.slots(), &self.pairs);
        self.pairs.clear();
        self.slots.resize_with(batch.sets.slots(), SlotGroups::default);
        self.arguments.resize_with(star.groupings.len(), || None);
        match &star.packs {
            None => self.group_block(node, star, batch, faults),
            Some(_) => self.hold_block(node, star, batch, faults),
        }
    }

    /// Aggregates a block, grouping after grouping.
    fn group_block(
        &mut self,
        node: &StarNode,
        star: &Star,
        batch: &Batch<'_>,
        faults: &mut Faults,
    ) {
        let mut columns = Columns::new();
        for (position, grouping) in star.groupings.iter().enumerate() {
            let own = self.read(node, star, position, batch, &mut columns, faults);
            let Some(own) = own else { continue };
            let aggregation = Aggregation::new(
                node,
                star,
                (position, &grouping.slots),
                &self.block,
                &columns,
                &own,
            );
            aggregate(&aggregation, &self.block.buckets, &mut self.slots, batch, faults);
        }
        self.block.clear();
        self.numbers.clear();
    }

    /// Keeps a block with all that is read of it.
    fn hold_block(&mut self, node: &StarNode, star: &Star, batch: &Batch<'_>, faults: &mut Faults) {
        let mut columns = Columns::new();
        let positions = 0..star.groupings.len();
        let computed =
            positions.map(|position| self.read(node, star, position, batch, &mut columns, faults));
        let computed = computed.collect();
        self.numbers.clear();
        if self.window.hold(batch, &mut self.block, columns, computed) {
            self.close_window(node, star, batch, faults);
        }
    }

    /// Aggregates the blocks that are held, pack after pack.
    fn close_window(
        &mut self,
        node: &StarNode,
        star: &Star,
        batch: &Batch<'_>,
        faults: &mut Faults,
    ) {
        let Some(packs) = star.packs.as_ref().filter(|_| !self.window.held.is_empty()) else {
            return;
        };
        let draw = self.draw.get_or_insert_with(|| Draw::new(packs.seed));
        for pack in packs.turns(draw) {
            let pack = &packs.packs[pack];
            for held in &self.window.held {
                held.aggregate(node, star, pack, batch, &mut self.slots, faults);
            }
        }
        self.window.clear(batch);
    }

    /// What a grouping's aggregates read of the block; `None` where none of its slots wants a row.
    fn read(
        &mut self,
        node: &StarNode,
        star: &Star,
        position: usize,
        batch: &Batch<'_>,
        columns: &mut Columns,
        faults: &mut Faults,
    ) -> Option<Computed> {
        let grouping = &star.groupings[position];
        if grouping.slots.iter().all(|slot| self.block.buckets.of(slot.index()).is_empty()) {
            return None;
        }
        let aggregates = &node.groupings[grouping.number].aggregates;
        self.block.read(star, &self.numbers, aggregates, columns);
        let own = self.block.computed(star, batch, grouping, aggregates, columns, faults);
        self.arguments[position].get_or_insert_with(|| {
            own.arguments(aggregates, columns).iter().map(|a| a.emptied()).collect()
        });
        Some(own)
    }
}

/// What one grouping's slots do with a block's rows.
struct Aggregation<'a> {
    slots: &'a [Slot],
    numbers: GroupNumbers<'a>,
    aggregates: &'a [Aggregate],
    arguments: Vec<&'a Argument>,
    computed: &'a Computed,
}

impl<'a> Aggregation<'a> {
    fn new(
        node: &'a StarNode,
        star: &'a Star,
        (position, slots): (usize, &'a [Slot]),
        block: &'a Block,
        columns: &'a Columns,
        computed: &'a Computed,
    ) -> Aggregation<'a> {
        let grouping = &star.groupings[position];
        let aggregates = &node.groupings[grouping.number].aggregates;
        let arguments = computed.arguments(aggregates, columns);
        let keys = key_columns(star, grouping, &block.references);
        let pairs = slots.iter().map(|slot| block.buckets.of(slot.index()).len()).sum();
        let numbers = GroupNumbers::new(keys, block.locations.len(), pairs);
        Aggregation { slots, numbers, aggregates, arguments, computed }
    }
}

impl Held {
    /// Aggregates the slots of a pack.
    fn aggregate(
        &self,
        node: &StarNode,
        star: &Star,
        pack: &[(usize, Vec<Slot>)],
        batch: &Batch<'_>,
        slots: &mut [SlotGroups],
        faults: &mut Faults,
    ) {
        for (position, own) in pack {
            let Some(computed) = &self.computed[*position] else { continue };
            let grouping = (*position, &own[..]);
            let aggregation =
                Aggregation::new(node, star, grouping, &self.block, &self.columns, computed);
            aggregate(&aggregation, &self.block.buckets, slots, batch, faults);
        }
    }
}

/// Aggregates one grouping's slots, one after the other.
fn aggregate(
    aggregation: &Aggregation<'_>,
    buckets: &Buckets,
    slots: &mut [SlotGroups],
    batch: &Batch<'_>,
    faults: &mut Faults,
) {
    let Aggregation { numbers, aggregates, arguments, computed, .. } = aggregation;
    let (mut places, mut rows, mut moved) = (Vec::new(), Vec::new(), Vec::new());
    for slot in aggregation.slots {
        let own_rows = buckets.of(slot.index());
        if own_rows.is_empty() {
            continue;
        }
        let groups = &mut slots[slot.index()];
        if groups.accumulators.is_empty() {
            let pairs = aggregates.iter().zip(arguments);
            groups.accumulators =
                pairs.map(|(a, argument)| Accumulator::new(a.function, argument)).collect();
        }
        let before = groups.places.numbers.len();
        numbers.look_up(own_rows, &mut places);
        places.iter_mut().for_each(|number| *number = groups.places.place(*number));
        rows.clear();
        rows.extend(own_rows.iter().map(|&row| u32::from(row)));
        let count = groups.places.numbers.len();
        let width = SlotGroups::width(aggregates.len());
        if let Err(error) = batch.budget.reserve((count - before) * width) {
            // Groups without aggregates must not be finished: the slot starts over and fails again.
            *groups = SlotGroups::default();
            faults.add(*slot, error);
            continue;
        }
        computed.positions(&rows, &mut moved);
        for (number, accumulator) in groups.accumulators.iter_mut().enumerate() {
            accumulator.grow(count);
            let rows = if computed.is_computed(number) { &moved } else { &rows };
            accumulator.fold(arguments[number], &places, rows);
        }
    }
}
