//! One worker's part of a star: the rows that are left of some chunks go into the groups of each slot, one slot after
//! the other.

use arrow_array::ArrayRef;

use super::bins::BinBuild;
use super::group_numbers::{KeyColumn, group_numbers, key_columns};
use super::key_places::{ChunkPart, PartPlaces, append_places};
use super::narrow::{Narrowing, Order, Survivors, narrow};
use super::pairs::{Buckets, MOST_ROWS, Pair, flatten, pair};
use super::set_words::SetWords;
use super::slot_groups::SlotGroups;
use super::{ActiveGrouping, Star, StarNode, same_argument};
use crate::operators::grouping::{Accumulator, Argument};
use crate::operators::kernel::{constant_array, evaluate_expression, try_evaluate_expression};
use crate::operators::{Batch, Faults};
use crate::plan::Aggregate;
use crate::query_set::{QuerySets, SetId, Tuples};
use crate::storage::CHUNK_ROWS;
use crate::types::{ChunkId, ColumnId, DataType, Location, Scalar, Slot};

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
const ROWS: usize = 2 * CHUNK_ROWS;
/// Pairs beyond which fewer rows do: 2 MiB of them.
const PAIRS: usize = 1 << 19;
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
    /// Rows that somebody wanted; of rows that went into bins and into pairs, those of the larger number.
    survivors: usize,
}

/// Rows that are left of some chunks, not yet in groups.
#[derive(Debug, Default)]
struct Block {
    locations: Vec<Location>,
    /// Rows ascending.
    pairs: Vec<Pair>,
    buckets: Buckets,
    /// By root, the places of the rows; none of roots by which nobody groups.
    places: Vec<Vec<u32>>,
}

/// A block's arguments that are plain columns.
type Columns = Vec<(Aggregate, Argument)>;

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
        self.block.add(star, words, &part, &survivors, &self.places);
        if self.block.locations.len() >= ROWS || self.block.pairs.len() >= PAIRS {
            self.group(node, star, batch, faults);
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
        if self.block.pairs.is_empty() {
            return;
        }
        self.block.buckets.fill(batch.sets.slots(), &self.block.pairs);
        self.slots.resize_with(batch.sets.slots(), SlotGroups::default);
        self.arguments.resize_with(star.groupings.len(), || None);
        let mut columns = Columns::new();
        for (position, grouping) in star.groupings.iter().enumerate() {
            if grouping.slots.iter().all(|slot| self.block.buckets.of(slot.index()).is_empty()) {
                continue;
            }
            let aggregates = &node.groupings[grouping.number].aggregates;
            self.block.read(star, aggregates, &mut columns);
            let own = self.block.computed(star, batch, grouping, aggregates, faults);
            let arguments = own.arguments(aggregates, &columns);
            self.arguments[position]
                .get_or_insert_with(|| arguments.iter().map(|a| a.emptied()).collect());
            let keys = key_columns(star, grouping, &self.block.places);
            let aggregation =
                Aggregation { slots: &grouping.slots, keys, aggregates, arguments, computed: &own };
            aggregate(&aggregation, &self.block.buckets, &mut self.slots, batch, faults);
        }
        self.block.clear();
    }
}

/// What one grouping's slots do with a block's rows.
struct Aggregation<'a> {
    slots: &'a [Slot],
    keys: Vec<KeyColumn<'a>>,
    aggregates: &'a [Aggregate],
    arguments: Vec<&'a Argument>,
    computed: &'a Computed,
}

/// Aggregates one grouping's slots, one after the other.
fn aggregate(
    aggregation: &Aggregation<'_>,
    buckets: &Buckets,
    slots: &mut [SlotGroups],
    batch: &Batch<'_>,
    faults: &mut Faults,
) {
    let Aggregation { keys, aggregates, arguments, computed, .. } = aggregation;
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
        group_numbers(keys, own_rows, &mut places);
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

/// In place of a position: no slot of the grouping wants the row.
const NOT_WANTED: u32 = u32::MAX;

/// A grouping's arguments that are no plain columns: computed for the rows that its slots want, so that an error is
/// that of who asks for it.
struct Computed {
    /// By aggregate; `None` for plain columns.
    arguments: Vec<Option<Argument>>,
    /// By survivor, its position among the rows computed; none where that is all of them.
    positions: Vec<u32>,
}

impl Block {
    /// Appends rows of a chunk, each with who wants it and its places in the dimensions by which somebody groups.
    fn add(
        &mut self,
        star: &Star,
        words: &SetWords,
        part: &ChunkPart<'_>,
        survivors: &Survivors,
        places: &PartPlaces,
    ) {
        let first = self.locations.len();
        let location = |&offset: &u32| Location { chunk: part.id, offset };
        self.locations.extend(survivors.rows.iter().map(location));
        self.places.resize_with(star.roots.len(), Vec::new);
        let grouped = |root: usize| star.columns.iter().any(|column| column.root == root);
        for (root, (outer, dimension)) in star.roots.iter().enumerate() {
            if !grouped(*dimension) {
                continue;
            }
            let own = &mut self.places[root];
            match places.of(root).filter(|_| !survivors.positions.is_empty()) {
                Some(known) => own.extend(survivors.positions.iter().map(|&p| known[p as usize])),
                None => {
                    let range = star.dimensions[*dimension].range;
                    append_places(&part.chunk.column(*outer), &survivors.rows, range, own);
                }
            }
        }
        match star.only {
            None => flatten(&survivors.words, &words.numbers, first, &mut self.pairs),
            Some(only) => {
                let rows = first..self.locations.len();
                self.pairs.extend(rows.map(|row| pair(row, only.index())));
            }
        }
    }

    fn clear(&mut self) {
        self.locations.clear();
        self.places.iter_mut().for_each(Vec::clear);
        self.pairs.clear();
    }

    /// Reads the plain columns that aggregates take, each once for all groupings.
    fn read(&self, star: &Star, aggregates: &[Aggregate], columns: &mut Columns) {
        for aggregate in aggregates.iter().filter(|aggregate| is_plain(aggregate)) {
            if !columns.iter().any(|(known, _)| same_argument(known, aggregate)) {
                columns.push((aggregate.clone(), self.plain(star, aggregate)));
            }
        }
    }

    /// An argument that is a column, a literal, or none.
    fn plain(&self, star: &Star, aggregate: &Aggregate) -> Argument {
        let values: Option<ArrayRef> = match &aggregate.argument {
            Some(Scalar::Column(column)) => {
                Some(star.fact.gather(ColumnId(*column as u32), &self.locations))
            }
            Some(Scalar::Literal(value)) => {
                let data_type = value.borrow().data_type().unwrap_or(DataType::BigInt);
                Some(constant_array(data_type, value, self.locations.len()))
            }
            _ => None,
        };
        Argument::new(aggregate.function, false, values.as_ref(), None)
    }

    fn computed(
        &self,
        star: &Star,
        batch: &Batch<'_>,
        grouping: &ActiveGrouping,
        aggregates: &[Aggregate],
        faults: &mut Faults,
    ) -> Computed {
        let arguments = aggregates.iter().map(|_| None).collect();
        let mut computed = Computed { arguments, positions: Vec::new() };
        if aggregates.iter().all(is_plain) {
            return computed;
        }
        let rows = self.wanted(grouping, star.groupings.len() > 1, &mut computed.positions);
        let sets = QuerySets::Uniform(grouping.set);
        let tuples = Tuples::of_table(star.fact.clone(), rows, sets);
        for (argument, aggregate) in computed.arguments.iter_mut().zip(aggregates) {
            let Some(Scalar::Expression(expression)) = &aggregate.argument else { continue };
            let values =
                try_evaluate_expression(&**expression, &tuples, batch).unwrap_or_else(|_| {
                    let sets = owners(grouping, &self.buckets, &computed.positions, tuples.rows);
                    let tuples = Tuples { sets, ..tuples.clone() };
                    evaluate_expression(&**expression, &tuples, batch, faults)
                });
            *argument = Some(Argument::new(aggregate.function, false, Some(&values), None));
        }
        computed
    }

    /// The rows that a grouping's slots want; `positions` says which these are where others' rows are among the block's.
    fn wanted(
        &self,
        grouping: &ActiveGrouping,
        others: bool,
        positions: &mut Vec<u32>,
    ) -> Vec<Location> {
        if !others {
            return self.locations.clone();
        }
        positions.resize(self.locations.len(), NOT_WANTED);
        for slot in &grouping.slots {
            let rows = self.buckets.of(slot.index()).iter();
            rows.for_each(|&row| positions[usize::from(row)] = 0);
        }
        let mut locations = Vec::new();
        for (position, &location) in positions.iter_mut().zip(&self.locations) {
            if *position != NOT_WANTED {
                *position = locations.len() as u32;
                locations.push(location);
            }
        }
        locations
    }
}

fn is_plain(aggregate: &Aggregate) -> bool {
    !matches!(aggregate.argument, Some(Scalar::Expression(_)))
}

/// Who wants which of the rows computed.
fn owners(
    grouping: &ActiveGrouping,
    buckets: &Buckets,
    positions: &[u32],
    rows: usize,
) -> QuerySets {
    let mut by_row = vec![Vec::new(); rows];
    for &slot in &grouping.slots {
        for &row in buckets.of(slot.index()) {
            let place = positions.get(usize::from(row)).copied().unwrap_or(u32::from(row));
            by_row[place as usize].push(slot);
        }
    }
    let ends = by_row.iter().scan(0, |end, slots| {
        *end += slots.len() as u32;
        Some(*end)
    });
    QuerySets::Pairs { offsets: std::iter::once(0).chain(ends).collect(), slots: by_row.concat() }
}

impl Computed {
    fn arguments<'a>(
        &'a self,
        aggregates: &[Aggregate],
        columns: &'a [(Aggregate, Argument)],
    ) -> Vec<&'a Argument> {
        let argument = |(own, aggregate): (&'a Option<Argument>, &Aggregate)| {
            own.as_ref().unwrap_or_else(|| {
                let known = columns.iter().find(|(known, _)| same_argument(known, aggregate));
                &known.expect("plain columns were read before").1
            })
        };
        self.arguments.iter().zip(aggregates).map(argument).collect()
    }

    fn is_computed(&self, aggregate: usize) -> bool {
        self.arguments[aggregate].is_some()
    }

    /// Positions among the rows computed.
    fn positions(&self, rows: &[u32], out: &mut Vec<u32>) {
        out.clear();
        match self.positions.is_empty() {
            true => out.extend_from_slice(rows),
            false => out.extend(rows.iter().map(|&row| self.positions[row as usize])),
        }
    }
}
