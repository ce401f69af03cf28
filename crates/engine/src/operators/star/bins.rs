//! One worker's bins: rows of a chunk are numbered by bin, and each aggregate takes them in once for all slots of its
//! grouping.

use arrow_array::ArrayRef;

use super::bin_space::{BinRoot, BinSpace, NOBODYS};
use super::block::find;
use super::fact_numbers::FactNumbers;
use super::key_places::{ChunkPart, PartPlaces};
use super::narrow::ROWS_AT_ONCE;
use super::{ActiveGrouping, Star, StarNode};
use crate::operators::Batch;
use crate::operators::grouping::{Accumulator, Argument};
use crate::operators::kernel::{constant_array, try_evaluate_expression};
use crate::plan::Aggregate;
use crate::query_set::{QuerySets, Tuples};
use crate::types::{ColumnId, DataType, Location, Result, Scalar};

/// The bins of one grouping, and one more for rows that nobody wants where leaving them out would cost more.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    /// Without that one.
    count: usize,
    /// By bin, whether a row fell into it; none as long as the first accumulator has counted every row.
    seen: Vec<bool>,
    pub accumulators: Vec<Accumulator>,
}

/// A worker's bins, and what it needs while it fills them.
#[derive(Debug, Default)]
pub(super) struct BinBuild {
    /// By active grouping, once rows have come; `None` for those without bins.
    pub bins: Vec<Option<Bins>>,
    /// Memory was denied: all rows go into pairs.
    denied: bool,
    columns: FactNumbers,
    rows: Vec<u32>,
    numbers: Vec<u32>,
}

/// Arguments of a chunk's rows, each read once for all groupings that take it.
type Arguments = Vec<(Aggregate, Argument)>;

impl Bins {
    fn new(space: &BinSpace, aggregates: &[Aggregate], arguments: &[&Argument]) -> Bins {
        let mut accumulators: Vec<Accumulator> = aggregates
            .iter()
            .zip(arguments)
            .map(|(aggregate, argument)| Accumulator::new(aggregate.function, argument))
            .collect();
        accumulators.iter_mut().for_each(|accumulator| accumulator.grow(space.bins + 1));
        let uncounted = if accumulators.is_empty() { space.bins + 1 } else { 0 };
        Bins { count: space.bins, seen: vec![false; uncounted], accumulators }
    }

    /// Takes in rows, each with its bin.
    fn add(&mut self, arguments: &[&Argument], numbers: &[u32], rows: &[u32]) {
        if arguments.first().is_none_or(|argument| !argument.takes_all()) {
            self.note_seen();
        }
        if !self.seen.is_empty() {
            numbers.iter().for_each(|&bin| self.seen[bin as usize] = true);
        }
        for (accumulator, argument) in self.accumulators.iter_mut().zip(arguments) {
            accumulator.fold(argument, numbers, rows);
        }
    }

    /// From now on the first accumulator's counts do not tell it.
    fn note_seen(&mut self) {
        if self.seen.is_empty() {
            let first = &self.accumulators[0];
            self.seen = (0..first.groups()).map(|bin| first.count(bin) > 0).collect();
        }
    }

    /// Bins into which a row fell, ascending.
    pub fn seen(&self) -> Vec<u32> {
        match &self.seen[..] {
            [] => {
                let first = &self.accumulators[0];
                let bins = 0..self.count as u32;
                bins.filter(|bin| first.count(*bin as usize) > 0).collect()
            }
            seen => (0..)
                .zip(&seen[..self.count])
                .filter(|(_, seen)| **seen)
                .map(|(bin, _)| bin)
                .collect(),
        }
    }

    /// Takes in another worker's bins.
    pub fn merge(&mut self, other: &Bins) {
        let bins = other.seen();
        if !(self.seen.is_empty() && other.seen.is_empty()) {
            self.note_seen();
            bins.iter().for_each(|&bin| self.seen[bin as usize] = true);
        }
        for (own, more) in self.accumulators.iter_mut().zip(&other.accumulators) {
            own.merge(more, &bins, bins.iter().map(|&bin| bin as usize));
        }
    }
}

impl BinBuild {
    /// Puts a chunk's rows into the bins of all groupings that have some: the number of rows that somebody there wanted.
    /// `None` where the rows have to go into pairs: for want of memory, or because an argument cannot be computed for
    /// some row, and whose error that is only its slots' own rows can tell.
    pub fn add(
        &mut self,
        node: &StarNode,
        star: &Star,
        batch: &Batch<'_>,
        part: &ChunkPart<'_>,
        places: &mut PartPlaces,
        arguments: &mut [Option<Vec<Argument>>],
    ) -> Option<usize> {
        if self.denied {
            return None;
        }
        let read = self.read(node, star, batch, part).ok()?;
        self.bins.resize_with(star.groupings.len(), || None);
        self.reserve(node, star, batch)?;
        let mut wanted = 0;
        for (position, (grouping, space)) in star.groupings.iter().zip(&star.bins).enumerate() {
            let Some(space) = space else { continue };
            let aggregates = &node.groupings[grouping.number].aggregates;
            let own =
                aggregates.iter().map(|one| find(&read, one).expect("all arguments were read"));
            let own: Vec<&Argument> = own.collect();
            arguments[position].get_or_insert_with(|| own.iter().map(|a| a.emptied()).collect());
            for root in space.roots.iter().map(|root| root.root) {
                let kinds = star.kinds[root].as_ref().expect("bins are made of kinds");
                places.look_up_kinds(star.filters(), part, root, kinds);
            }
            number(space, places, part.rows.len(), &mut self.numbers);
            wanted = wanted.max(leave_out(space.bins, &mut self.rows, &mut self.numbers));
            let bins = &mut self.bins[position];
            let bins = bins.get_or_insert_with(|| Bins::new(space, aggregates, &own));
            bins.add(&own, &self.numbers, &self.rows);
        }
        Some(wanted)
    }

    /// The arguments of all groupings that have bins.
    fn read(
        &mut self,
        node: &StarNode,
        star: &Star,
        batch: &Batch<'_>,
        part: &ChunkPart<'_>,
    ) -> Result<Arguments> {
        self.columns.clear();
        self.columns.add(&star.fact, part, star.whole_columns_of(true));
        let mut known = Arguments::new();
        for (_, grouping) in star.groupings_of(true) {
            for aggregate in &node.groupings[grouping.number].aggregates {
                if find(&known, aggregate).is_none() {
                    let argument = match self.columns.argument(&star.fact, aggregate) {
                        Some(argument) => argument,
                        None => argument(star, batch, part, aggregate)?,
                    };
                    known.push((aggregate.clone(), argument));
                }
            }
        }
        Ok(known)
    }

    /// Reserves what the bins take before the first rows come.
    fn reserve(&mut self, node: &StarNode, star: &Star, batch: &Batch<'_>) -> Option<()> {
        if self.bins.iter().any(Option::is_some) {
            return Some(());
        }
        let bytes = |(grouping, space): (&ActiveGrouping, &Option<BinSpace>)| {
            let aggregates = node.groupings[grouping.number].aggregates.len();
            space.as_ref().map_or(0, |space| space.bins * (1 + 24 * aggregates))
        };
        let bytes = star.groupings.iter().zip(&star.bins).map(bytes).sum();
        self.denied = batch.budget.reserve(bytes).is_err();
        (!self.denied).then_some(())
    }
}

/// An aggregate's argument for all rows of the part, where it is not made of whole numbers.
fn argument(
    star: &Star,
    batch: &Batch<'_>,
    part: &ChunkPart<'_>,
    aggregate: &Aggregate,
) -> Result<Argument> {
    let values = match &aggregate.argument {
        None | Some(Scalar::Parameter(_)) => None,
        Some(Scalar::Column(column)) => Some(column_of(star, part, ColumnId(*column as u32))),
        Some(Scalar::Literal(value)) => {
            let data_type = value.borrow().data_type().unwrap_or(DataType::BigInt);
            Some(constant_array(data_type, value, part.rows.len()))
        }
        Some(Scalar::Expression(expression)) => {
            let location = |&offset: &u32| Location { chunk: part.id, offset };
            let locations = part.rows.iter().map(location).collect();
            let sets = QuerySets::Uniform(batch.sets.all());
            let tuples = Tuples::of_table(star.fact.clone(), locations, sets);
            Some(try_evaluate_expression(&**expression, &tuples, batch)?)
        }
    };
    Ok(Argument::new(aggregate.function, false, values.as_ref(), None))
}

/// A column of the part's rows; the chunk's own memory where these lie side by side.
fn column_of(star: &Star, part: &ChunkPart<'_>, column: ColumnId) -> ArrayRef {
    match part.rows {
        [first, .., last] if (last - first) as usize + 1 == part.rows.len() => {
            star.fact.array(column, part.id, *first..last + 1)
        }
        rows => star.fact.select(column, part.id, rows),
    }
}

/// Overwrites `numbers` with the bins of the part's rows, [`NOBODYS`] and more of those that nobody wants.
fn number(space: &BinSpace, places: &PartPlaces, count: usize, numbers: &mut Vec<u32>) {
    numbers.clear();
    numbers.resize(count, 0);
    for start in (0..count).step_by(ROWS_AT_ONCE) {
        let end = count.min(start + ROWS_AT_ONCE);
        for root in &space.roots {
            let kinds = places.kinds_of(root.root).expect("the kinds were looked up");
            add_counts(root, &kinds[start..end], &mut numbers[start..end]);
        }
    }
}

/// What one root counts in the numbers of some rows' bins.
fn add_counts(root: &BinRoot, kinds: &[u16], numbers: &mut [u32]) {
    let counts = &root.counts[..];
    for (&kind, number) in kinds.iter().zip(numbers) {
        *number += counts[usize::from(kind)];
    }
}

/// Of so many rows one that nobody wants is sooner added to a bin that nobody reads than left out.
const FEW: usize = 8;

/// Leaves out the rows that nobody wants, or gives them the bin behind the last: `rows` are overwritten with the positions of
/// those whose `numbers` are left. How many somebody wants.
fn leave_out(bins: usize, rows: &mut Vec<u32>, numbers: &mut Vec<u32>) -> usize {
    let count = numbers.len();
    let wanted = numbers.iter().filter(|number| **number < NOBODYS).count();
    rows.clear();
    rows.extend(0..count as u32);
    if (count - wanted) * FEW <= count {
        numbers.iter_mut().for_each(|number| *number = (*number).min(bins as u32));
        return wanted;
    }
    let mut kept = 0;
    // A loop of its own: see `narrow::keep`. `kept` never passes `row`.
    for row in 0..count {
        let number = numbers[row];
        rows[kept] = row as u32;
        numbers[kept] = number;
        kept += usize::from(number < NOBODYS);
    }
    rows.truncate(kept);
    numbers.truncate(kept);
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_nobody_wants_are_left_out_or_beyond_all_bins() {
        for gone in [0usize, 1, 2, 5, 16] {
            let number = |row: usize| if row < gone { NOBODYS * 3 + 7 } else { row as u32 % 5 };
            let mut numbers: Vec<u32> = (0..16).map(number).collect();
            let mut rows = vec![9; 3];
            assert_eq!(leave_out(5, &mut rows, &mut numbers), 16 - gone);
            assert_eq!(rows.len(), if gone <= 2 { 16 } else { 16 - gone });
            for (&row, &bin) in rows.iter().zip(&numbers) {
                assert_eq!(bin, if (row as usize) < gone { 5 } else { row % 5 });
            }
        }
    }
}
