//! Rows that are left of some chunks, and what aggregates read of them.

use arrow_array::ArrayRef;

use super::fact_numbers::FactNumbers;
use super::key_places::{ChunkPart, PartPlaces};
use super::narrow::Survivors;
use super::pairs::{Buckets, Pair, flatten, pair};
use super::references::append_references;
use super::set_words::SetWords;
use super::{ActiveGrouping, Star, same_argument};
use crate::operators::grouping::Argument;
use crate::operators::kernel::{constant_array, evaluate_expression, try_evaluate_expression};
use crate::operators::{Batch, Faults};
use crate::plan::Aggregate;
use crate::query_set::{QuerySets, Tuples};
use crate::types::{ColumnId, DataType, Location, Scalar};

/// Rows that are left of some chunks, not yet in groups.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub locations: Vec<Location>,
    pub buckets: Buckets,
    /// By root, what the rows refer to; none of roots by which nobody groups.
    pub references: Vec<Vec<u32>>,
}

/// A block's arguments that are the same for all groupings.
pub(super) type Columns = Vec<(Aggregate, Argument)>;

/// In place of a position: no slot of the grouping wants the row.
const NOT_WANTED: u32 = u32::MAX;

/// A grouping's arguments that may fail: computed for the rows that its slots want, so that an error is that of who asks for
/// it.
#[derive(Debug)]
pub(super) struct Computed {
    /// By aggregate; `None` for those that are the same for all groupings.
    arguments: Vec<Option<Argument>>,
    /// By survivor, its position among the rows computed; none where that is all of them.
    positions: Vec<u32>,
}

impl Block {
    /// Appends rows of a chunk, each with who wants it and what it refers to in the dimensions by which somebody groups.
    pub fn add(
        &mut self,
        star: &Star,
        words: &SetWords,
        part: &ChunkPart<'_>,
        survivors: &Survivors,
        places: &PartPlaces,
        pairs: &mut Vec<Pair>,
    ) {
        let first = self.locations.len();
        let location = |&offset: &u32| Location { chunk: part.id, offset };
        self.locations.extend(survivors.rows.iter().map(location));
        self.references.resize_with(star.roots.len(), Vec::new);
        for (root, own) in self.references.iter_mut().enumerate() {
            if star.is_grouped_by(star.roots[root].1) {
                append_references(star, root, part, survivors, places, own);
            }
        }
        match star.only {
            None => flatten(&survivors.words, &words.numbers, first, pairs),
            Some(only) => {
                let rows = first..self.locations.len();
                pairs.extend(rows.map(|row| pair(row, only.index())));
            }
        }
    }

    /// What its rows take, pairs and arguments aside.
    pub fn bytes(&self) -> usize {
        let references: usize = self.references.iter().map(Vec::len).sum();
        size_of::<Location>() * self.locations.len() + 4 * references
    }

    pub fn clear(&mut self) {
        self.locations.clear();
        self.references.iter_mut().for_each(Vec::clear);
    }

    /// Reads what aggregates take that is the same for all groupings, each once: columns, literals, and what is computed of
    /// whole `numbers`, since that cannot fail.
    pub fn read(
        &self,
        star: &Star,
        numbers: &FactNumbers,
        aggregates: &[Aggregate],
        columns: &mut Columns,
    ) {
        for aggregate in aggregates {
            if find(columns, aggregate).is_none()
                && let Some(argument) = self.plain(star, numbers, aggregate)
            {
                columns.push((aggregate.clone(), argument));
            }
        }
    }

    /// An argument of all rows; `None` where it depends on who asks whether it is an error.
    fn plain(&self, star: &Star, numbers: &FactNumbers, aggregate: &Aggregate) -> Option<Argument> {
        let (function, fact) = (aggregate.function, &star.fact);
        let whole = numbers.argument(fact, aggregate);
        if whole.is_some() {
            return whole;
        }
        let values: Option<ArrayRef> = match &aggregate.argument {
            Some(Scalar::Column(column)) => {
                Some(fact.gather(ColumnId(*column as u32), &self.locations))
            }
            Some(Scalar::Literal(value)) => {
                let data_type = value.borrow().data_type().unwrap_or(DataType::BigInt);
                Some(constant_array(data_type, value, self.locations.len()))
            }
            Some(Scalar::Expression(_)) => return None,
            Some(Scalar::Parameter(_)) | None => None,
        };
        Some(Argument::new(function, false, values.as_ref(), None))
    }

    pub fn computed(
        &self,
        star: &Star,
        batch: &Batch<'_>,
        grouping: &ActiveGrouping,
        aggregates: &[Aggregate],
        columns: &Columns,
        faults: &mut Faults,
    ) -> Computed {
        let arguments = aggregates.iter().map(|_| None).collect();
        let mut computed = Computed { arguments, positions: Vec::new() };
        let is_known = |aggregate: &Aggregate| find(columns, aggregate).is_some();
        if aggregates.iter().all(is_known) {
            return computed;
        }
        let rows = self.wanted(grouping, star.groupings.len() > 1, &mut computed.positions);
        let sets = QuerySets::Uniform(grouping.set);
        let tuples = Tuples::of_table(star.fact.clone(), rows, sets);
        let rest = computed.arguments.iter_mut().zip(aggregates);
        for (argument, aggregate) in rest.filter(|(_, aggregate)| !is_known(aggregate)) {
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

/// What is known of an aggregate's argument.
pub(super) fn find<'a>(
    known: &'a [(Aggregate, Argument)],
    aggregate: &Aggregate,
) -> Option<&'a Argument> {
    known.iter().find(|(known, _)| same_argument(known, aggregate)).map(|(_, argument)| argument)
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
    pub fn arguments<'a>(
        &'a self,
        aggregates: &[Aggregate],
        columns: &'a [(Aggregate, Argument)],
    ) -> Vec<&'a Argument> {
        let argument = |(own, aggregate): (&'a Option<Argument>, &Aggregate)| {
            let known = || find(columns, aggregate).expect("it was read before");
            own.as_ref().unwrap_or_else(known)
        };
        self.arguments.iter().zip(aggregates).map(argument).collect()
    }

    /// How many of them there are.
    pub fn count(&self) -> usize {
        self.arguments.iter().flatten().count()
    }

    pub fn is_computed(&self, aggregate: usize) -> bool {
        self.arguments[aggregate].is_some()
    }

    /// Positions among the rows computed.
    pub fn positions(&self, rows: &[u32], out: &mut Vec<u32>) {
        out.clear();
        match self.positions.is_empty() {
            true => out.extend_from_slice(rows),
            false => out.extend(rows.iter().map(|&row| self.positions[row as usize])),
        }
    }
}
