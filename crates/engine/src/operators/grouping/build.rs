//! Phase 1: rows to group ids and aggregate arguments, chunk by chunk.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_select::take::take;

use super::GroupNode;
use super::argument::Argument;
use super::ascending::Ascending;
use super::combinations::Combinations;
use super::fold::{FEW_GROUPS, Folded};
use crate::operators::kernel::{
    Codes, KeyTable, WholeColumns, evaluate, evaluate_expression, narrow_array, one_value_per_row,
    parameter_type, parameters_read, scale_of,
};
use crate::operators::{Batch, Faults};
use crate::plan::{Aggregate, AggregateFunction};
use crate::query_set::{ColumnOrigin, QuerySets, SetId, Source, Tuples};
use crate::storage::CHUNK_ROWS;
use crate::types::{DataType, Scalar};

/// Rows that are kept before they are folded: fewer are not worth it.
const FOLDED_AT: usize = 1 << 16;

/// Rows of few groups that are evaluated and folded at a time: a dozen columns of them fit the core's second cache.
const BLOCK_ROWS: usize = 4096;

/// Rows of each chunk that are looked at to tell whether folding pays.
const SAMPLE_ROWS: usize = 4096;

/// One worker's part of a grouping's input.
#[derive(Debug)]
pub struct GroupBuild {
    table: Option<Keys>,
    pub(super) chunks: Vec<Chunk>,
    /// Rows in `chunks`, and how many of them there may be.
    pub(super) held: usize,
    pub(super) hold: usize,
    /// Partial aggregates of the rows that were in `chunks` before.
    pub(super) folded: Option<Folded>,
    /// The first row of each group: its key columns.
    pub(super) representatives: Vec<Tuples>,
}

impl Default for GroupBuild {
    fn default() -> GroupBuild {
        GroupBuild::holding(FOLDED_AT)
    }
}

/// About how many different pairs of a group and a set there are, by a bit for each hash.
struct DistinctPairs {
    bits: Vec<u64>,
}

impl DistinctPairs {
    /// Eight bits for each pair, so that few different ones meet in one.
    fn among(pairs: usize) -> DistinctPairs {
        DistinctPairs { bits: vec![0; (pairs / 8).next_power_of_two().max(2)] }
    }

    #[inline(always)]
    fn add(&mut self, group: u32, set: SetId) {
        let pair = u64::from(group) << 32 | u64::from(set.0);
        let hash = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let hash = (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = hash >> (64 - (self.bits.len() * 64).ilog2());
        self.bits[(place / 64) as usize] |= 1 << (place % 64);
    }

    fn count(&self) -> usize {
        self.bits.iter().map(|bits| bits.count_ones() as usize).sum()
    }
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
    /// So many, each met once.
    Fresh(u32),
    /// By value: one whole number, in ascending order so far.
    Ascending(Ascending),
}

impl Chunk {
    /// Bytes counted for a row.
    fn row_width(node: &GroupNode) -> usize {
        8 + 8 * node.aggregates.len()
    }

    /// The first rows.
    pub fn slice(&self, rows: usize) -> Chunk {
        let slice = |array: &Option<ArrayRef>| array.as_ref().map(|array| array.slice(0, rows));
        Chunk {
            groups: self.groups[..rows].to_vec(),
            sets: self.sets.slice(0..rows),
            arguments: self.arguments.iter().map(|(a, b)| (slice(a), slice(b))).collect(),
        }
    }

    /// The arguments as accumulators take them.
    pub fn arguments(&self, node: &GroupNode) -> Vec<Argument> {
        let inputs = node.aggregates.iter().zip(&self.arguments);
        let arguments = inputs.map(|(aggregate, (values, filter))| {
            let distinct = aggregate.distinct;
            Argument::new(aggregate.function, distinct, values.as_ref(), filter.as_ref())
        });
        arguments.collect()
    }

    /// Whether equal sets have equal numbers at little cost.
    fn has_few_sets(&self) -> bool {
        match &self.sets {
            QuerySets::Uniform(_) | QuerySets::Interned(_) | QuerySets::Single(_) => true,
            QuerySets::Bitmaps { words_per_row, .. } => *words_per_row == 1,
            QuerySets::Pairs { .. } => false,
        }
    }
}

impl GroupBuild {
    /// An empty part that keeps so many rows before it folds them.
    pub(in crate::operators) fn holding(hold: usize) -> GroupBuild {
        GroupBuild {
            table: None,
            chunks: Vec::new(),
            held: 0,
            hold,
            folded: None,
            representatives: Vec::new(),
        }
    }

    /// The same for rows that may come in the order of their only key.
    pub(super) fn ascending(hold: usize) -> GroupBuild {
        let table = Some(Keys::Ascending(Ascending::default()));
        GroupBuild { table, ..GroupBuild::holding(hold) }
    }

    /// Takes in a chunk. Beyond the batch's memory its activations fail with 53200. What is taken from the
    /// budget for groups stays taken: a batch's budget ends with the batch.
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
        if self.hold == 0 && tuples.rows > BLOCK_ROWS {
            let blocks = (0..tuples.rows).step_by(BLOCK_ROWS);
            let block = |first: usize| first..tuples.rows.min(first + BLOCK_ROWS);
            return blocks
                .map(block)
                .for_each(|rows| self.add(node, batch, tuples.slice(rows), faults));
        }
        let read = parameters_of(node);
        let tuples = match read.is_empty() {
            true => tuples,
            false => one_value_per_row(tuples, &read, batch),
        };
        if let Err(error) = batch.budget.reserve(tuples.rows * Chunk::row_width(node)) {
            let wanted = tuples.sets.wanted(tuples.rows, batch.sets);
            return batch.sets.for_each(wanted, |slot| faults.add(slot, error.clone()));
        }
        let arguments = evaluate_arguments(node, batch, &tuples, faults);
        let groups = self.number(node, &tuples);
        self.held += groups.len();
        self.chunks.push(Chunk { groups, sets: tuples.sets, arguments });
        self.fold_when_full(node, batch, faults);
    }

    /// Folds what is held if it is much, and that makes it much smaller; where it does not, more rows are held before
    /// the next try. Rows of few groups are folded as they come, while their arguments lie in the core's cache.
    fn fold_when_full(&mut self, node: &GroupNode, batch: &Batch<'_>, faults: &mut Faults) {
        if self.held <= self.hold {
            return;
        }
        if !self.pays_to_fold(batch) {
            self.hold = self.held * 4;
            return;
        }
        self.fold(node, batch, faults);
        self.hold = match self.folded.as_ref().map_or(0, Folded::len) {
            ..=FEW_GROUPS => 0,
            groups => self.hold.max(groups),
        };
    }

    /// Whether partial aggregates would be much fewer than the rows held.
    pub(super) fn pays_to_fold(&self, batch: &Batch<'_>) -> bool {
        let few_sets = self.chunks.iter().all(Chunk::has_few_sets) && !batch.sets.crowded();
        few_sets && (self.folded.is_some() || self.would_shrink(batch))
    }

    /// Whether the rows held, which are all so far, are of few groups and sets: where sets differ the first rows of each
    /// chunk tell.
    fn would_shrink(&self, batch: &Batch<'_>) -> bool {
        // A partial aggregate takes about twice the bytes of a row.
        if self.groups() * 2 > self.held {
            return false;
        }
        if self.chunks.iter().all(|chunk| matches!(chunk.sets, QuerySets::Uniform(_))) {
            return true;
        }
        let sample = |chunk: &Chunk| chunk.groups.len().min(SAMPLE_ROWS);
        let rows: usize = self.chunks.iter().map(sample).sum();
        let mut pairs = DistinctPairs::among(rows);
        for chunk in &self.chunks {
            let sets = chunk.sets.slice(0..sample(chunk)).ids(sample(chunk), batch.sets);
            chunk.groups.iter().zip(sets).for_each(|(&group, set)| pairs.add(group, set));
        }
        pairs.count() * 2 <= rows
    }

    /// Turns the rows held into partial aggregates. Without memory for these those who want them fail.
    pub(super) fn fold(&mut self, node: &GroupNode, batch: &Batch<'_>, faults: &mut Faults) {
        let before = self.folded.as_ref().map_or(0, Folded::memory);
        let Some(first) = self.chunks.first() else { return };
        let folded = match self.folded.take() {
            Some(folded) => Some(folded),
            None => Folded::new(node, first),
        };
        let Some(mut folded) = folded else {
            self.hold = usize::MAX;
            return;
        };
        for chunk in self.chunks.drain(..) {
            folded.fold(node, batch, &chunk);
        }
        batch.budget.release(self.held * Chunk::row_width(node));
        self.held = 0;
        if let Err(error) = batch.budget.reserve(folded.memory().saturating_sub(before)) {
            folded.fail_all(batch, faults, &error);
        }
        self.folded = Some(folded);
    }

    /// An empty chunk tells the columns' types.
    fn see(&mut self, node: &GroupNode, tuples: Tuples) {
        if self.representatives.is_empty() {
            self.representatives.push(representatives(node, &tuples, &[]));
        }
    }

    /// Group ids of the rows; new groups keep their first row.
    fn number(&mut self, node: &GroupNode, tuples: &Tuples) -> Vec<u32> {
        let before = self.groups();
        let groups = match self.number_in_order(node, tuples) {
            Some(groups) => groups,
            None => self.number_by_key(node, tuples),
        };
        if matches!(self.table, Some(Keys::One)) {
            return groups;
        }
        let fresh = first_rows(&groups, before as u32, self.groups() - before);
        if !fresh.is_empty() || self.representatives.is_empty() {
            self.representatives.push(representatives(node, tuples, &fresh));
        }
        groups
    }

    /// `None` where nobody said that keys ascend, or these do not.
    fn number_in_order(&mut self, node: &GroupNode, tuples: &Tuples) -> Option<Vec<u32>> {
        let Some(Keys::Ascending(keys)) = &mut self.table else { return None };
        let ColumnOrigin::Source { source, column } = tuples.columns[node.identity()[0]] else {
            return None;
        };
        let source = &tuples.sources[source];
        keys.number(&source.view.whole_numbers(column, &source.locations)?)
    }

    fn number_by_key(&mut self, node: &GroupNode, tuples: &Tuples) -> Vec<u32> {
        if matches!(self.table, Some(Keys::Ascending(_))) {
            self.table = self.keys_of_representatives(node);
        }
        let identity = node.identity();
        let keys = self.table.get_or_insert_with(|| Keys::new(node, identity, tuples));
        keys.insert(identity, tuples)
    }

    /// The groups so far by what their keys are, in place of their order; `None` without any.
    fn keys_of_representatives(&self, node: &GroupNode) -> Option<Keys> {
        let identity = node.identity_of_output();
        let mut keys = None;
        for part in self.representatives.iter().filter(|part| part.rows > 0) {
            let keys = keys.get_or_insert_with(|| Keys::new(node, &identity, part));
            keys.insert(&identity, part);
        }
        keys
    }

    /// Takes in another worker's part: its groups get this one's ids.
    pub(super) fn absorb(&mut self, node: &GroupNode, other: GroupBuild) {
        let identity = node.identity_of_output();
        let mut ids = Vec::new();
        for part in other.representatives {
            if part.rows == 0 {
                continue;
            }
            let keys = self.table.get_or_insert_with(|| Keys::new(node, &identity, &part));
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
        self.held += other.held;
        let group = |own: u32| ids.get(own as usize).copied().unwrap_or(own);
        match (&mut self.folded, other.folded) {
            (Some(folded), Some(other)) => folded.absorb(other, group),
            (folded @ None, Some(mut other)) => {
                other.groups.iter_mut().for_each(|own| *own = group(*own));
                *folded = Some(other.renumbered());
            }
            (_, None) => {}
        }
    }

    /// The same while rows still come.
    pub(super) fn take_in(
        &mut self,
        node: &GroupNode,
        batch: &Batch<'_>,
        other: GroupBuild,
        faults: &mut Faults,
    ) {
        self.absorb(node, other);
        self.fold_when_full(node, batch, faults);
    }

    /// Takes in groups that have no row here: they get the next numbers, in their order.
    pub(super) fn take_in_whole(&mut self, other: GroupBuild) {
        let Keys::Fresh(groups) = self.table.get_or_insert(Keys::Fresh(0)) else {
            unreachable!("whole groups are told apart by nothing but their numbers")
        };
        let first = *groups;
        *groups += other.representatives.iter().map(|part| part.rows as u32).sum::<u32>();
        let parts = other.representatives.into_iter();
        self.representatives.extend(parts.filter(|part| part.rows > 0));
        for mut chunk in other.chunks {
            chunk.groups.iter_mut().for_each(|group| *group += first);
            self.chunks.push(chunk);
        }
        self.held += other.held;
        match (&mut self.folded, other.folded) {
            (Some(folded), Some(other)) => folded.append(other, first),
            (folded @ None, Some(mut other)) => {
                other.groups.iter_mut().for_each(|own| *own += first);
                *folded = Some(other.renumbered());
            }
            (_, None) => {}
        }
    }

    /// Whether rows have become partial aggregates.
    #[cfg(test)]
    pub(in crate::operators) fn is_folded(&self) -> bool {
        self.folded.is_some()
    }

    /// Bytes that the keys take.
    pub(super) fn memory(&self) -> usize {
        match &self.table {
            Some(Keys::Values(table) | Keys::Locations(table)) => table.memory(),
            Some(Keys::One | Keys::Fresh(_) | Keys::Ascending(_)) | None => 0,
        }
    }

    /// Bytes that partial aggregates take.
    pub(super) fn folded_memory(&self) -> usize {
        self.folded.as_ref().map_or(0, Folded::memory)
    }

    /// The set of all rows, where all have become partial aggregates and have only one.
    pub(super) fn only_set(&self) -> Option<SetId> {
        self.folded.as_ref().filter(|_| self.held == 0).and_then(Folded::only_set)
    }

    /// Whether it tells the groups of further rows.
    pub(super) fn knows_its_keys(&self) -> bool {
        self.table.is_some()
    }

    /// Groups so far.
    pub fn groups(&self) -> usize {
        self.table.as_ref().map_or(0, Keys::len)
    }
}

/// The first row of each of `count` groups, which are numbered from `before` on in the order of these rows. Whether a row
/// is one is anybody's guess: it is written down without a branch, and overwritten by the next where it is none.
fn first_rows(groups: &[u32], before: u32, count: usize) -> Vec<u32> {
    let mut fresh = vec![0; count + 1];
    let mut found = 0;
    for (row, &group) in groups.iter().enumerate() {
        fresh[found] = row as u32;
        found += usize::from(group == before + found as u32);
    }
    fresh.truncate(count);
    fresh
}

/// The key columns of some rows. Nobody wants representatives: their slots are decided in phase 2.
fn representatives(node: &GroupNode, tuples: &Tuples, rows: &[u32]) -> Tuples {
    columns_of(&node.keys, tuples, rows)
}

/// Columns of some rows, wanted by nobody. Copies no other rows' places.
fn columns_of(columns: &[usize], tuples: &Tuples, rows: &[u32]) -> Tuples {
    let mut picked = Tuples {
        rows: rows.len(),
        sources: Vec::new(),
        computed: Vec::new(),
        columns: Arc::new([]),
        sets: QuerySets::Uniform(SetId::EMPTY),
    };
    let mut sources: Vec<usize> = Vec::new();
    let origins = columns.iter().map(|&column| match tuples.columns[column] {
        ColumnOrigin::Source { source, column } => {
            let known = sources.iter().position(|&own| own == source);
            let place = known.unwrap_or_else(|| {
                let Source { view, locations } = &tuples.sources[source];
                let locations = rows.iter().map(|&row| locations[row as usize]).collect();
                picked.sources.push(Source { view: view.clone(), locations });
                sources.push(source);
                sources.len() - 1
            });
            ColumnOrigin::Source { source: place, column }
        }
        ColumnOrigin::Computed(i) => {
            let rows = UInt32Array::from(rows.to_vec());
            let values = take(&tuples.computed[i], &rows, None);
            picked.computed.push(values.expect("rows lie inside the array"));
            ColumnOrigin::Computed(picked.computed.len() - 1)
        }
    });
    picked.columns = origins.collect();
    picked
}

/// What the aggregates read of an activation.
fn parameters_of(node: &GroupNode) -> Vec<usize> {
    let arguments = node.aggregates.iter().filter_map(|own| own.argument.as_ref());
    let filters = node.aggregates.iter().filter_map(|own| own.filter.as_ref());
    let read = arguments.flat_map(parameters_read);
    read.chain(filters.flat_map(|filter| filter.parameters())).copied().collect()
}

fn evaluate_arguments(
    node: &GroupNode,
    batch: &Batch<'_>,
    tuples: &Tuples,
    faults: &mut Faults,
) -> Vec<(Option<ArrayRef>, Option<ArrayRef>)> {
    let mut columns = WholeColumns::new(tuples);
    let mut whole: Vec<Option<ArrayRef>> = Vec::with_capacity(node.aggregates.len());
    for (at, aggregate) in node.aggregates.iter().enumerate() {
        let same = node.same_state(at).and_then(|same| whole[same].clone());
        let present = || only_counted(aggregate).then(|| presence(aggregate, tuples)).flatten();
        let own = || whole_argument(aggregate, batch, tuples, &mut columns);
        whole.push(same.or_else(present).or_else(own));
    }
    let rest = node.aggregates.iter().zip(&whole).filter(|(_, whole)| whole.is_none());
    let gathered = read_once(rest.map(|(aggregate, _)| aggregate), tuples);
    let tuples = gathered.as_ref().unwrap_or(tuples);
    let aggregates = node.aggregates.iter().zip(whole);
    aggregates
        .map(|(aggregate, whole)| {
            let filter = aggregate.filter.as_ref();
            let filter = filter.map(|f| evaluate_expression(&**f, tuples, batch, faults));
            let argument = whole.or_else(|| {
                let argument = aggregate.argument.as_ref()?;
                Some(match (&filter, argument) {
                    (Some(filter), Scalar::Expression(_)) => {
                        evaluate_where(argument, filter, tuples, batch, faults)
                    }
                    _ => {
                        let data_type = argument_type(argument, tuples, batch);
                        evaluate(argument, data_type, tuples, batch, faults)
                    }
                })
            });
            let counts = only_counted(aggregate);
            let argument = argument.map(|array| if counts { validity(&array) } else { array });
            (argument, filter)
        })
        .collect()
}

/// Whether nothing of an argument matters but that it is not NULL.
fn only_counted(aggregate: &Aggregate) -> bool {
    aggregate.function == AggregateFunction::Count && !aggregate.distinct
}

/// Which rows have a value, as an array of one bit per row.
fn validity(array: &ArrayRef) -> ArrayRef {
    present(array.len(), array.logical_nulls())
}

fn present(rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(BooleanArray::new(BooleanBuffer::new_unset(rows), nulls))
}

/// The same of a table's column without NULLs, which need not be read: an outer join's rows without a partner have none.
fn presence(aggregate: &Aggregate, tuples: &Tuples) -> Option<ArrayRef> {
    let Some(Scalar::Column(column)) = aggregate.argument else { return None };
    let ColumnOrigin::Source { source, column } = tuples.columns[column] else { return None };
    let source = &tuples.sources[source];
    if !source.view.schema().columns[column.index()].not_null {
        return None;
    }
    let is_there = source.locations.iter().map(|location| !location.is_none());
    let nulls = source.locations.iter().any(|location| location.is_none());
    Some(present(tuples.rows, nulls.then(|| is_there.collect::<Vec<bool>>().into())))
}

/// An argument of the rows that pass the filter, NULL elsewhere: what a row that does not pass would fail with is
/// nobody's fault.
fn evaluate_where(
    argument: &Scalar,
    filter: &ArrayRef,
    tuples: &Tuples,
    batch: &Batch<'_>,
    faults: &mut Faults,
) -> ArrayRef {
    let filter = filter.as_boolean();
    let passes = |row: usize| filter.is_valid(row) && filter.value(row);
    let rows: Vec<u32> = (0..tuples.rows as u32).filter(|&row| passes(row as usize)).collect();
    let data_type = argument_type(argument, tuples, batch);
    if rows.len() == tuples.rows {
        return evaluate(argument, data_type, tuples, batch, faults);
    }
    let values = evaluate(argument, data_type, &tuples.take(&rows), batch, faults);
    let mut next = 0..rows.len() as u32;
    let places = (0..tuples.rows).map(|row| if passes(row) { next.next() } else { None });
    take(&values, &places.collect::<UInt32Array>(), None).expect("as many values as rows pass")
}

/// An argument in whole numbers, where it has such in all rows.
fn whole_argument(
    aggregate: &Aggregate,
    batch: &Batch<'_>,
    tuples: &Tuples,
    columns: &mut WholeColumns<'_>,
) -> Option<ArrayRef> {
    if aggregate.distinct {
        return None;
    }
    match aggregate.argument.as_ref()? {
        Scalar::Expression(expression) => {
            let numbers = columns.evaluate(&**expression, batch)?;
            Some(narrow_array(expression.data_type(), numbers))
        }
        Scalar::Column(column) => {
            let data_type = stored_numeric(tuples, *column)?;
            columns.column(*column).map(|digits| narrow_array(data_type, digits))
        }
        Scalar::Parameter(_) | Scalar::Literal(_) => None,
    }
}

/// The type of a table's column of numerics.
fn stored_numeric(tuples: &Tuples, column: usize) -> Option<DataType> {
    let ColumnOrigin::Source { source, column } = tuples.columns[column] else { return None };
    let schema = tuples.sources[source].view.schema();
    let data_type = schema.columns[column.index()].data_type;
    matches!(data_type, DataType::Numeric { .. }).then_some(data_type)
}

/// The same rows with the columns gathered that several arguments read, if there are any.
fn read_once<'a>(
    aggregates: impl Iterator<Item = &'a Aggregate>,
    tuples: &Tuples,
) -> Option<Tuples> {
    let mut reads: Vec<usize> = Vec::new();
    for aggregate in aggregates {
        match &aggregate.argument {
            Some(Scalar::Column(column)) => reads.push(*column),
            Some(Scalar::Expression(expression)) => reads.extend(expression.columns()),
            _ => {}
        }
        reads.extend(aggregate.filter.iter().flat_map(|filter| filter.columns()));
    }
    reads.sort_unstable();
    let several = reads.chunk_by(|a, b| a == b).filter(|run| run.len() > 1).map(|run| run[0]);
    let is_stored = |&c: &usize| matches!(tuples.columns[c], ColumnOrigin::Source { .. });
    let several: Vec<usize> = several.filter(is_stored).collect();
    if several.is_empty() {
        return None;
    }
    let mut gathered = tuples.clone();
    let mut columns = gathered.columns.to_vec();
    for column in several {
        columns[column] = ColumnOrigin::Computed(gathered.computed.len());
        gathered.computed.push(tuples.column(column));
    }
    gathered.columns = columns.into();
    Some(gathered)
}

/// The type of an argument that is a literal (`SUM(1)`) or a parameter; columns bring their own.
fn argument_type(argument: &Scalar, tuples: &Tuples, batch: &Batch<'_>) -> DataType {
    match argument {
        Scalar::Literal(value) => value.borrow().data_type().unwrap_or(DataType::BigInt),
        Scalar::Expression(expression) => expression.data_type(),
        Scalar::Parameter(parameter) => parameter_type(*parameter, tuples, batch),
        Scalar::Column(_) => DataType::BigInt,
    }
}

impl Keys {
    fn new(node: &GroupNode, identity: &[usize], tuples: &Tuples) -> Keys {
        if identity.is_empty() {
            return Keys::One;
        }
        // Without determinants the input may be a union, whose other runs have other sources.
        if !node.determinants.is_empty() && identifying_source(identity, tuples).is_some() {
            return Keys::Locations(KeyTable::new([0]));
        }
        Keys::Values(KeyTable::new(identity.iter().map(|&column| scale_of(tuples, column))))
    }

    fn len(&self) -> usize {
        match self {
            Keys::One => 1,
            Keys::Values(table) | Keys::Locations(table) => table.len(),
            Keys::Fresh(groups) => *groups as usize,
            Keys::Ascending(keys) => keys.len(),
        }
    }

    fn insert(&mut self, identity: &[usize], tuples: &Tuples) -> Vec<u32> {
        match self {
            Keys::One => vec![0; tuples.rows],
            Keys::Fresh(groups) => {
                let first = *groups;
                *groups += tuples.rows as u32;
                (first..*groups).collect()
            }
            Keys::Ascending(_) => unreachable!("these are numbered by their order"),
            Keys::Values(table) => {
                if let Some(combinations) = Combinations::of(identity, tuples) {
                    let firsts = columns_of(identity, tuples, &combinations.firsts);
                    let columns: Vec<ArrayRef> =
                        (0..identity.len()).map(|c| firsts.column(c)).collect();
                    return combinations.spread(&table.insert(&columns));
                }
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
