//! One worker's part of a star: chunk by chunk, the rows that are left go into the groups of each slot.

use arrow_array::ArrayRef;

use super::key_offsets::for_each_place;
use super::narrow::{Order, Survivors, narrow};
use super::slot_groups::SlotGroups;
use super::{ActiveGrouping, Star, StarNode};
use crate::operators::grouping::{Accumulator, Argument};
use crate::operators::kernel::{constant_array, evaluate_expression, try_evaluate_expression};
use crate::operators::{Batch, Faults};
use crate::plan::Aggregate;
use crate::query_set::{QuerySets, Tuples, words};
use crate::scan::Rows;
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

/// One worker's part.
#[derive(Debug, Default)]
pub struct StarBuild {
    order: Option<Order>,
    /// By slot.
    pub(super) slots: Vec<SlotGroups>,
    /// By active grouping, once a chunk has come: what the accumulators' numbers mean.
    pub(super) arguments: Vec<Option<Vec<Argument>>>,
    /// Positions among the survivors, by slot.
    buckets: Vec<Vec<u32>>,
    /// Rows that somebody wanted.
    survivors: usize,
}

/// The rows of a chunk that are left, with what all groupings read of them.
struct Left {
    chunk: ChunkId,
    survivors: Survivors,
    /// By coded column.
    codes: Vec<Vec<u32>>,
    /// Arguments that are plain columns.
    columns: Vec<(Aggregate, Argument)>,
}

impl StarBuild {
    /// Rows left so far.
    pub fn survivors(&self) -> usize {
        self.survivors
    }

    /// Takes in a chunk.
    pub fn add(
        &mut self,
        node: &StarNode,
        star: &Star,
        batch: &Batch<'_>,
        rows: FactRows,
        faults: &mut Faults,
    ) {
        let order = self.order.get_or_insert_with(|| Order::new(star));
        let chunk = star.fact.chunk(rows.chunk);
        let survivors = narrow(star, batch, order, chunk, rows.rows, &rows.sets);
        if survivors.rows.is_empty() {
            return;
        }
        self.survivors += survivors.rows.len();
        self.slots.resize_with(batch.sets.slots(), SlotGroups::default);
        self.arguments.resize_with(star.groupings.len(), || None);
        self.bucket(star, &survivors, batch.sets.slots());
        let codes = star.columns.iter().map(|column| {
            let mut codes = vec![0; survivors.rows.len()];
            let range = star.dimensions[column.root].range;
            let rows = Rows::Some(&survivors.rows);
            for_each_place(&chunk.column(column.outer), rows, range, |row, place| {
                codes[row] = column.codes[place];
            });
            codes
        });
        let codes = codes.collect();
        let mut left = Left { chunk: rows.chunk, survivors, codes, columns: Vec::new() };
        for (position, grouping) in star.groupings.iter().enumerate() {
            let aggregates = &node.groupings[grouping.number].aggregates;
            self.group(star, batch, position, grouping, aggregates, &mut left, faults);
        }
    }

    /// The positions of the survivors by slot.
    fn bucket(&mut self, star: &Star, survivors: &Survivors, slots: usize) {
        self.buckets.resize_with(slots, Vec::new);
        self.buckets.iter_mut().for_each(Vec::clear);
        let rows = survivors.rows.len() as u32;
        if let Some(only) = star.only {
            return self.buckets[only.index()].extend(0..rows);
        }
        for (row, set) in (0..rows).zip(survivors.words.chunks_exact(star.width)) {
            words::for_each(set, |slot| self.buckets[slot.index()].push(row));
        }
    }

    /// Aggregates one grouping's slots, one after the other.
    #[expect(clippy::too_many_arguments, reason = "a chunk's parts, taken apart once")]
    fn group(
        &mut self,
        star: &Star,
        batch: &Batch<'_>,
        position: usize,
        grouping: &ActiveGrouping,
        aggregates: &[Aggregate],
        left: &mut Left,
        faults: &mut Faults,
    ) {
        let wants = |slot: &&Slot| !self.buckets[slot.index()].is_empty();
        if !grouping.slots.iter().any(|slot| wants(&slot)) {
            return;
        }
        let own = left.computed(star, batch, grouping, aggregates, &self.buckets, faults);
        let arguments: Vec<&Argument> = own.arguments(aggregates, &left.columns);
        if self.arguments[position].is_none() {
            self.arguments[position] = Some(arguments.iter().map(|a| a.emptied()).collect());
        }
        let (mut places, mut moved) = (Vec::new(), Vec::new());
        for slot in &grouping.slots {
            let rows = &self.buckets[slot.index()][..];
            if rows.is_empty() {
                continue;
            }
            let groups = &mut self.slots[slot.index()];
            if groups.accumulators.is_empty() {
                let pairs = aggregates.iter().zip(&arguments);
                groups.accumulators =
                    pairs.map(|(a, argument)| Accumulator::new(a.function, argument)).collect();
            }
            let before = groups.places.numbers.len();
            number(grouping, &left.codes, rows, groups, &mut places);
            let count = groups.places.numbers.len();
            let width = SlotGroups::width(aggregates.len());
            if let Err(error) = batch.budget.reserve((count - before) * width) {
                faults.add(*slot, error);
                continue;
            }
            own.positions(rows, &mut moved);
            for (number, accumulator) in groups.accumulators.iter_mut().enumerate() {
                accumulator.grow(count);
                let rows = if own.is_computed(number) { &moved[..] } else { rows };
                accumulator.fold(arguments[number], &places, rows);
            }
        }
    }
}

/// The places of the groups of one slot's rows.
fn number(
    grouping: &ActiveGrouping,
    codes: &[Vec<u32>],
    rows: &[u32],
    groups: &mut SlotGroups,
    places: &mut Vec<u32>,
) {
    places.clear();
    let code = |key: usize| (&codes[grouping.keys[key].0][..], grouping.keys[key].1);
    let found = &mut groups.places;
    match grouping.keys.len() {
        0 => {
            found.place(0);
            places.resize(rows.len(), 0);
        }
        1 => {
            let (a, _) = code(0);
            places.extend(rows.iter().map(|&row| found.place(u64::from(a[row as usize]))));
        }
        2 => {
            let ((a, _), (b, second)) = (code(0), code(1));
            places.extend(rows.iter().map(|&row| {
                let row = row as usize;
                found.place(u64::from(a[row]) + u64::from(b[row]) * second)
            }));
        }
        _ => places.extend(rows.iter().map(|&row| {
            let part = |&(column, stride): &(usize, u64)| u64::from(codes[column][row as usize]) * stride;
            found.place(grouping.keys.iter().map(part).sum())
        })),
    }
}

/// Whether two aggregates over plain columns take the same numbers.
fn same_argument(a: &Aggregate, b: &Aggregate) -> bool {
    let same = match (&a.argument, &b.argument) {
        (None, None) => true,
        (Some(Scalar::Column(a)), Some(Scalar::Column(b))) => a == b,
        (Some(Scalar::Literal(a)), Some(Scalar::Literal(b))) => a == b,
        _ => false,
    };
    same && a.function == b.function
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

impl Left {
    fn computed(
        &mut self,
        star: &Star,
        batch: &Batch<'_>,
        grouping: &ActiveGrouping,
        aggregates: &[Aggregate],
        buckets: &[Vec<u32>],
        faults: &mut Faults,
    ) -> Computed {
        let is_plain = |aggregate: &&Aggregate| !matches!(aggregate.argument, Some(Scalar::Expression(_)));
        for aggregate in aggregates.iter().filter(is_plain) {
            if !self.columns.iter().any(|(known, _)| same_argument(known, aggregate)) {
                let argument = self.plain(star, aggregate);
                self.columns.push((aggregate.clone(), argument));
            }
        }
        let mut computed =
            Computed { arguments: aggregates.iter().map(|_| None).collect(), positions: Vec::new() };
        if aggregates.iter().all(|aggregate| is_plain(&aggregate)) {
            return computed;
        }
        let rows = self.wanted(grouping, buckets, star.groupings.len() > 1, &mut computed.positions);
        let sets = QuerySets::Uniform(grouping.set);
        let tuples = Tuples::of_table(star.fact.clone(), rows, sets);
        for (argument, aggregate) in computed.arguments.iter_mut().zip(aggregates) {
            let Some(Scalar::Expression(expression)) = &aggregate.argument else { continue };
            let values = try_evaluate_expression(&**expression, &tuples, batch).unwrap_or_else(|_| {
                let sets = owners(grouping, buckets, &computed.positions, tuples.rows);
                let tuples = Tuples { sets, ..tuples.clone() };
                evaluate_expression(&**expression, &tuples, batch, faults)
            });
            *argument = Some(Argument::new(aggregate.function, false, Some(&values), None));
        }
        computed
    }

    /// An argument that is a column, or none.
    fn plain(&self, star: &Star, aggregate: &Aggregate) -> Argument {
        let rows = &self.survivors.rows;
        let values: Option<ArrayRef> = match &aggregate.argument {
            Some(Scalar::Column(column)) => {
                let column = ColumnId(*column as u32);
                Some(star.fact.select(column, self.chunk, rows))
            }
            Some(Scalar::Literal(value)) => {
                let data_type = value.borrow().data_type().unwrap_or(DataType::BigInt);
                Some(constant_array(data_type, value, rows.len()))
            }
            _ => None,
        };
        Argument::new(aggregate.function, false, values.as_ref(), None)
    }

    /// The rows that a grouping's slots want; `positions` says which these are where others' rows are among the
    /// survivors.
    fn wanted(
        &self,
        grouping: &ActiveGrouping,
        buckets: &[Vec<u32>],
        others: bool,
        positions: &mut Vec<u32>,
    ) -> Vec<Location> {
        let rows = &self.survivors.rows;
        let location = |&offset: &u32| Location { chunk: self.chunk, offset };
        if !others {
            return rows.iter().map(location).collect();
        }
        positions.resize(rows.len(), NOT_WANTED);
        for slot in &grouping.slots {
            buckets[slot.index()].iter().for_each(|&row| positions[row as usize] = 0);
        }
        let mut locations = Vec::new();
        for (position, offset) in positions.iter_mut().zip(rows) {
            if *position != NOT_WANTED {
                *position = locations.len() as u32;
                locations.push(location(offset));
            }
        }
        locations
    }
}

/// Who wants which of the rows computed.
fn owners(
    grouping: &ActiveGrouping,
    buckets: &[Vec<u32>],
    positions: &[u32],
    rows: usize,
) -> QuerySets {
    let mut by_row = vec![Vec::new(); rows];
    for &slot in &grouping.slots {
        for &row in &buckets[slot.index()] {
            let place = positions.get(row as usize).copied().unwrap_or(row);
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
