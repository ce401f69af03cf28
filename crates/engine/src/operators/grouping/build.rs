//! Phase 1: rows to group ids and aggregate arguments, chunk by chunk.

use arrow_array::ArrayRef;

use super::GroupNode;
use crate::operators::kernel::{
    Codes, KeyTable, evaluate, evaluate_expression, one_slot_per_row, prune, reads_parameters,
    scale_of,
};
use crate::operators::{Batch, Faults};
use crate::query_set::{ColumnOrigin, QuerySets, SetId, Tuples};
use crate::storage::CHUNK_ROWS;
use crate::types::{DataType, Scalar};

/// One worker's part of a grouping's input.
#[derive(Debug, Default)]
pub struct GroupBuild {
    table: Option<Keys>,
    pub(super) chunks: Vec<Chunk>,
    /// The first row of each group: its key columns.
    pub(super) representatives: Vec<Tuples>,
}

/// What phase 2 needs of a chunk.
#[derive(Debug)]
pub(super) struct Chunk {
    pub groups: Vec<u32>,
    pub sets: QuerySets,
    /// By aggregate: the argument and FILTER's result.
    pub arguments: Vec<(Option<ArrayRef>, Option<ArrayRef>)>,
}

/// How keys get their ids.
#[derive(Debug)]
enum Keys {
    /// No keys: one group.
    One,
    /// By value.
    Values(KeyTable),
    /// The keys are determined by the row of one table.
    Locations(KeyTable),
}

impl GroupBuild {
    /// Takes in a chunk. Beyond the batch's memory its activations fail with 53200. What is taken from the
    /// budget stays taken: a batch's budget ends with the batch.
    pub fn add(
        &mut self,
        node: &GroupNode,
        batch: &Batch<'_>,
        tuples: Tuples,
        faults: &mut Faults,
    ) {
        if tuples.rows == 0 {
            return self.see(node, tuples);
        }
        let tuples = match reads_any_parameter(node) {
            true => one_slot_per_row(tuples, batch),
            false => tuples,
        };
        let width = 8 + 8 * node.aggregates.len();
        if let Err(error) = batch.budget.reserve(tuples.rows * width) {
            let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
            return batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
        }
        let arguments = evaluate_arguments(node, batch, &tuples, faults);
        let groups = self.number(node, &tuples);
        self.chunks.push(Chunk { groups, sets: tuples.sets, arguments });
    }

    /// An empty chunk tells the columns' types.
    fn see(&mut self, node: &GroupNode, tuples: Tuples) {
        if self.representatives.is_empty() {
            self.representatives.push(representatives(node, &tuples, &[]));
        }
    }

    /// Group ids of the rows; new groups keep their first row.
    fn number(&mut self, node: &GroupNode, tuples: &Tuples) -> Vec<u32> {
        let identity = node.identity();
        let keys = self.table.get_or_insert_with(|| Keys::new(identity, tuples));
        let (before, groups) = (keys.len(), keys.insert(identity, tuples));
        if matches!(keys, Keys::One) {
            return groups;
        }
        let mut fresh = Vec::with_capacity(keys.len() - before);
        for (row, &group) in groups.iter().enumerate() {
            if group as usize == before + fresh.len() {
                fresh.push(row as u32);
            }
        }
        if !fresh.is_empty() || self.representatives.is_empty() {
            self.representatives.push(representatives(node, tuples, &fresh));
        }
        groups
    }

    /// Takes in another worker's part: its groups get this one's ids.
    pub(super) fn absorb(&mut self, node: &GroupNode, other: GroupBuild) {
        let place = |column: &usize| node.keys.iter().position(|key| key == column);
        let identity: Vec<usize> = node.identity().iter().filter_map(place).collect();
        let mut ids = Vec::new();
        for part in other.representatives {
            if part.rows == 0 {
                continue;
            }
            let keys = self.table.get_or_insert_with(|| Keys::new(&identity, &part));
            let before = keys.len();
            let numbers = keys.insert(&identity, &part);
            let fresh = numbers.iter().enumerate().filter(|(_, id)| **id as usize >= before);
            let fresh: Vec<u32> = fresh.map(|(row, _)| row as u32).collect();
            self.representatives.push(part.take(&fresh));
            ids.extend(numbers);
        }
        for mut chunk in other.chunks {
            if !ids.is_empty() {
                chunk.groups.iter_mut().for_each(|group| *group = ids[*group as usize]);
            }
            self.chunks.push(chunk);
        }
    }

    /// Bytes that the keys take.
    pub(super) fn memory(&self) -> usize {
        match &self.table {
            Some(Keys::Values(table) | Keys::Locations(table)) => table.memory(),
            Some(Keys::One) | None => 0,
        }
    }

    /// Groups so far.
    pub(super) fn groups(&self) -> usize {
        self.table.as_ref().map_or(0, Keys::len)
    }
}

/// The key columns of some rows. Nobody wants representatives: their slots are decided in phase 2.
fn representatives(node: &GroupNode, tuples: &Tuples, rows: &[u32]) -> Tuples {
    let keys = Tuples {
        rows: tuples.rows,
        sources: tuples.sources.clone(),
        computed: tuples.computed.clone(),
        columns: node.keys.iter().map(|&key| tuples.columns[key]).collect(),
        sets: QuerySets::Uniform(SetId::EMPTY),
    };
    prune(keys).take(rows)
}

fn reads_any_parameter(node: &GroupNode) -> bool {
    node.aggregates.iter().any(|aggregate| {
        let filter = aggregate.filter.as_ref();
        aggregate.argument.as_ref().is_some_and(reads_parameters)
            || filter.is_some_and(|filter| !filter.parameters().is_empty())
    })
}

fn evaluate_arguments(
    node: &GroupNode,
    batch: &Batch<'_>,
    tuples: &Tuples,
    faults: &mut Faults,
) -> Vec<(Option<ArrayRef>, Option<ArrayRef>)> {
    let aggregates = node.aggregates.iter();
    aggregates
        .map(|aggregate| {
            let filter = aggregate.filter.as_ref();
            let filter = filter.map(|f| evaluate_expression(&**f, tuples, batch, faults));
            let argument = aggregate.argument.as_ref();
            let argument = argument
                .map(|argument| evaluate(argument, argument_type(argument), tuples, batch, faults));
            (argument, filter)
        })
        .collect()
}

/// The type of an argument that is a literal (`SUM(1)`); columns, parameters and expressions bring their own.
fn argument_type(argument: &Scalar) -> DataType {
    match argument {
        Scalar::Literal(value) => value.borrow().data_type().unwrap_or(DataType::BigInt),
        Scalar::Expression(expression) => expression.data_type(),
        Scalar::Column(_) | Scalar::Parameter(_) => DataType::BigInt,
    }
}

impl Keys {
    fn new(identity: &[usize], tuples: &Tuples) -> Keys {
        if identity.is_empty() {
            return Keys::One;
        }
        if identifying_source(identity, tuples).is_some() {
            return Keys::Locations(KeyTable::new([0]));
        }
        Keys::Values(KeyTable::new(identity.iter().map(|&column| scale_of(tuples, column))))
    }

    fn len(&self) -> usize {
        match self {
            Keys::One => 1,
            Keys::Values(table) | Keys::Locations(table) => table.len(),
        }
    }

    fn insert(&mut self, identity: &[usize], tuples: &Tuples) -> Vec<u32> {
        match self {
            Keys::One => vec![0; tuples.rows],
            Keys::Values(table) => {
                let columns: Vec<ArrayRef> = identity.iter().map(|&c| tuples.column(c)).collect();
                table.insert(&columns)
            }
            Keys::Locations(table) => {
                let source = identifying_source(identity, tuples);
                let source = source.expect("inputs with determinants are runs of one operator");
                table.insert_codes(&location_codes(&tuples.sources[source].locations))
            }
        }
    }
}

/// The table whose row the identifying columns are a unique key of.
fn identifying_source(identity: &[usize], tuples: &Tuples) -> Option<usize> {
    let ColumnOrigin::Source { source, .. } = tuples.columns[*identity.first()?] else {
        return None;
    };
    let mut columns = Vec::with_capacity(identity.len());
    for &column in identity {
        match tuples.columns[column] {
            ColumnOrigin::Source { source: own, column } if own == source => columns.push(column),
            _ => return None,
        }
    }
    let schema = tuples.sources[source].view.schema();
    let not_null = |column: usize| schema.columns[column].not_null;
    let is_key = schema.indexes.iter().any(|index| {
        let mut key = index.columns.iter();
        index.unique && key.all(|c| columns.contains(c) && not_null(c.index()))
    });
    is_key.then_some(source)
}

/// A row's place in its table as one number.
fn location_codes(locations: &[crate::types::Location]) -> Codes {
    let rows = locations.iter();
    let place = |chunk: u32, offset: u32| u64::from(chunk) * CHUNK_ROWS as u64 + u64::from(offset);
    let codes = rows.clone().map(|l| place(l.chunk.0, l.offset)).collect();
    let nulls = rows.clone().any(|location| location.is_none());
    let nulls = nulls.then(|| rows.map(|location| !location.is_none()).collect::<Vec<bool>>());
    Codes { codes, nulls: nulls.map(arrow_buffer::NullBuffer::from) }
}
