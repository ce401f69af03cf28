//! All workers' parts of a star to one output row per slot and group.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;

use super::bin_shares::{BinShare, BinShares};
use super::bins::Bins;
use super::slot_groups::GroupPlaces;
use super::{ActiveGrouping, OutputKey, Star, StarBuild, StarNode};
use crate::operators::grouping::{Accumulator, Argument, results};
use crate::operators::{Batch, Faults};
use crate::plan::Aggregate;
use crate::query_set::{ColumnOrigin, QuerySets, Source, Tuples};
use crate::types::{DataType, Scalar, Slot};

/// A star's groups, ready to be put out slot by slot.
#[derive(Debug)]
pub struct StarGroups {
    star: Arc<Star>,
    builds: Vec<StarBuild>,
    /// By active grouping, all workers' bins, put together by who comes first.
    bins: Vec<OnceLock<Option<AllBins>>>,
}

/// All workers' bins of a grouping.
#[derive(Debug)]
struct AllBins {
    bins: Bins,
    /// Those that rows fell into.
    seen: Vec<u32>,
}

/// Output rows under construction.
struct Output {
    accumulators: Vec<Accumulator>,
    arguments: Vec<Argument>,
    /// The group number of each output row.
    numbers: Vec<u32>,
    owners: Vec<Slot>,
    places: GroupPlaces,
}

impl Output {
    /// No row yet.
    fn new(aggregates: &[Aggregate], arguments: Vec<Argument>) -> Output {
        let pairs = aggregates.iter().zip(&arguments);
        let accumulators = pairs.map(|(a, argument)| Accumulator::new(a.function, argument));
        Output {
            accumulators: accumulators.collect(),
            arguments,
            numbers: Vec::new(),
            owners: Vec::new(),
            places: GroupPlaces::default(),
        }
    }
}

impl StarGroups {
    /// Takes the workers' parts.
    pub fn new(star: Arc<Star>, builds: Vec<StarBuild>) -> StarGroups {
        let bins = star.groupings.iter().map(|_| OnceLock::new()).collect();
        StarGroups { star, builds, bins }
    }

    /// The groups of part `part` of `parts` of a grouping's slots; parts may run on different workers.
    pub fn finish(
        &self,
        node: &StarNode,
        grouping: usize,
        batch: &Batch<'_>,
        (part, parts): (usize, usize),
        faults: &mut Faults,
    ) -> Tuples {
        let aggregates = &node.groupings[grouping].aggregates;
        let active = self.star.groupings.iter().position(|active| active.number == grouping);
        let position = active.expect("only groupings that somebody uses are finished");
        let active = &self.star.groupings[position];
        let arguments = self.arguments(position, aggregates);
        let mut output = Output::new(aggregates, arguments);
        let bins = self.bins(position);
        for slots in within_words(share(active.slots.len(), part, parts)) {
            let shares = bins.zip(self.star.bins[position].as_ref()).map(|(bins, space)| {
                BinShares::new(space, &bins.seen, active.slots.len(), slots.clone())
            });
            for own in slots {
                let bins = bins.zip(shares.as_ref());
                let bins = bins.map(|(bins, shares)| (&bins.bins, shares.of(own)));
                self.slot(active.slots[own], active.keys.is_empty(), bins, &mut output);
            }
        }
        self.tuples(active, aggregates, output, batch, faults)
    }

    /// All workers' bins of a grouping.
    fn bins(&self, position: usize) -> Option<&AllBins> {
        let put_together = || {
            let mut parts = self.builds.iter().filter_map(|b| b.bins.bins.get(position)?.as_ref());
            let mut bins = parts.next()?.clone();
            parts.for_each(|part| bins.merge(part));
            let seen = bins.seen();
            Some(AllBins { bins, seen })
        };
        self.bins[position].get_or_init(put_together).as_ref()
    }

    /// One slot's groups of all workers, those of its `bins` among them; without keys it has its one group also where it
    /// has no row.
    fn slot(
        &self,
        slot: Slot,
        one_group: bool,
        bins: Option<(&Bins, &[BinShare])>,
        output: &mut Output,
    ) {
        let first = output.numbers.len();
        output.places.clear();
        if one_group {
            output.places.place(0);
        }
        let mut places = Vec::new();
        for build in &self.builds {
            let Some(groups) = build.slots.get(slot.index()) else { continue };
            let numbers = &groups.places.numbers;
            places.clear();
            places.extend(numbers.iter().map(|&n| first as u32 + output.places.place(n)));
            for (accumulator, own) in output.accumulators.iter_mut().zip(&groups.accumulators) {
                accumulator.grow(first + output.places.numbers.len());
                accumulator.merge(own, &places, 0..numbers.len());
            }
        }
        if let Some((bins, shares)) = bins {
            let place = |share: &BinShare| first as u32 + output.places.place(share.group);
            let places: Vec<u32> = shares.iter().map(place).collect();
            let own = shares.iter().map(|share| share.bin as usize);
            for (accumulator, from) in output.accumulators.iter_mut().zip(&bins.accumulators) {
                accumulator.grow(first + output.places.numbers.len());
                accumulator.merge(from, &places, own.clone());
            }
        }
        output.numbers.extend_from_slice(&output.places.numbers);
        output.owners.resize(output.numbers.len(), slot);
    }

    /// What the accumulators' numbers mean.
    fn arguments(&self, position: usize, aggregates: &[Aggregate]) -> Vec<Argument> {
        let known = self.builds.iter().find_map(|build| build.arguments.get(position)?.as_ref());
        match known {
            Some(arguments) => arguments.iter().map(Argument::emptied).collect(),
            // Without any row the argument's type does not matter, and the result's will do.
            None => aggregates.iter().map(nothing).collect(),
        }
    }

    fn tuples(
        &self,
        active: &ActiveGrouping,
        aggregates: &[Aggregate],
        mut output: Output,
        batch: &Batch<'_>,
        faults: &mut Faults,
    ) -> Tuples {
        let rows = output.numbers.len();
        let width = 8 * (aggregates.len() + active.output.len());
        if let Err(error) = batch.budget.reserve(rows * width) {
            output.owners.iter().for_each(|slot| faults.add(*slot, error.clone()));
            let nothing = Output::new(aggregates, output.arguments);
            return self.tuples(active, aggregates, nothing, batch, faults);
        }
        output.accumulators.iter_mut().for_each(|accumulator| accumulator.grow(rows));
        let parts = aggregates.iter().zip(&output.arguments).zip(&output.accumulators);
        let computed = parts.map(|((aggregate, argument), accumulator)| {
            results(aggregate, argument, accumulator, &mut |row, error| {
                faults.add(output.owners[row], error);
            })
        });
        let computed: Vec<ArrayRef> = computed.collect();
        let sources = active.output.iter().map(|key| key.rows(&output.numbers)).collect::<Vec<_>>();
        let key = |(source, key): (usize, &OutputKey)| ColumnOrigin::Source {
            source,
            column: key.column,
        };
        let results = (0..computed.len()).map(ColumnOrigin::Computed);
        let columns = active.output.iter().enumerate().map(key).chain(results).collect();
        Tuples { rows, sources, computed, columns, sets: QuerySets::Single(output.owners) }
    }
}

impl OutputKey {
    /// The rows that have the values of groups.
    fn rows(&self, numbers: &[u32]) -> Source {
        let (stride, count) = self.place;
        let location = |number: &u32| self.locations[(number / stride % count) as usize];
        Source { view: self.view.clone(), locations: numbers.iter().map(location).collect() }
    }
}

fn nothing(aggregate: &Aggregate) -> Argument {
    let data_type = match &aggregate.argument {
        Some(Scalar::Expression(expression)) => expression.data_type(),
        _ => aggregate.data_type,
    };
    let values = arrow_array::new_empty_array(&DataType::arrow(data_type));
    let values = aggregate.argument.is_some().then_some(&values);
    Argument::new(aggregate.function, false, values, None)
}

/// Part `part` of `parts` about equal parts of `0..count`.
fn share(count: usize, part: usize, parts: usize) -> Range<usize> {
    count * part / parts..count * (part + 1) / parts
}

/// A range in pieces that each lie in one word of a set.
fn within_words(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let words = range.start / 64..range.end.div_ceil(64);
    words
        .map(move |word| range.start.max(word * 64)..range.end.min((word + 1) * 64))
        .filter(|piece| !piece.is_empty())
}
