//! Index probes, batched per heartbeat: equal keys are looked up once, keys in order.
//!
//! In come activations with an index path and their bound conjunctions; out come locations with the slots that want
//! them. Rows in ranges that overlap come once, with the union of the sets. Whoever reads them still has to expect a row
//! several times, each time for other slots: by single keys of two indexes, or once here and once by the scan of those who ride.

use std::cmp::Ordering;
use std::sync::Arc;

use super::access::{IndexPath, TableAccess};
use super::conjunction::{BoundParameters, Conjunction};
use super::expression::evaluate_for_one;
use super::filter::ColumnFilter;
use super::key_set::{Key, KeySet};
use crate::query_set::{QuerySets, SetId, SetTable, words};
use crate::storage::{Bound, Index, TableView};
use crate::transaction::{Evaluation, Parameters, ViewRow};
use crate::types::{
    DataType, Error, IndexId, Location, Predicate, Result, Scalar, Slot, Value, ValueRef,
};

/// Keys and ranges of one activation; more of them ride the scan.
const RANGES: usize = 1024;

/// One activation's probe.
#[derive(Debug)]
pub struct Probe {
    slot: Slot,
    index: Arc<Index>,
    ranges: Vec<KeyRange>,
    residual: Option<Box<Residual>>,
}

/// A run of keys: equal in the leading columns, and between two bounds in the next.
#[derive(Clone, Debug, PartialEq)]
struct KeyRange {
    equal: Vec<Value>,
    lower: Option<End>,
    upper: Option<End>,
    /// `equal` is the whole key.
    whole: bool,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
struct End {
    value: Value,
    /// The value itself is in the range.
    included: bool,
}

/// What the keys do not say already.
#[derive(Debug)]
struct Residual {
    filters: Vec<(usize, ColumnFilter)>,
    conjunction: Conjunction,
    parameters: BoundParameters,
}

impl Probe {
    /// The probe of an activation that asks for exactly one key, without taking its predicates apart. `None` if
    /// its template does not.
    pub fn plain(
        slot: Slot,
        access: &TableAccess,
        index: &Arc<Index>,
        parameters: &[Value],
    ) -> Option<Probe> {
        let path = access.path.as_ref()?;
        let key: Vec<Value> = path
            .plain
            .as_ref()?
            .iter()
            .map(|&position| plain_value(&access.predicates[position], parameters).clone())
            .collect();
        let ranges = match key.iter().any(Value::is_null) {
            true => Vec::new(),
            false => vec![KeyRange { equal: key, lower: None, upper: None, whole: true }],
        };
        Some(Probe { slot, index: index.clone(), ranges, residual: None })
    }

    /// The probe of a bound conjunction; gives the conjunction back where the index cannot serve it.
    pub(super) fn bound(
        slot: Slot,
        path: &IndexPath,
        index: &Arc<Index>,
        conjunction: Conjunction,
        types: &[DataType],
        parameters: BoundParameters,
    ) -> std::result::Result<Probe, Conjunction> {
        let Some((ranges, exact)) = ranges(path, &conjunction, types) else {
            return Err(conjunction);
        };
        let is_exact = |column: &usize| exact.contains(column);
        let filters: Vec<_> =
            conjunction.filters.iter().filter(|(column, _)| !is_exact(column)).cloned().collect();
        let asked =
            filters.is_empty() && conjunction.patterns.is_empty() && conjunction.rest.is_empty();
        let residual = (!asked).then(|| Box::new(Residual { filters, conjunction, parameters }));
        Ok(Probe { slot, index: index.clone(), ranges, residual })
    }
}

impl Probe {
    fn index_id(&self) -> IndexId {
        self.index.schema().id
    }
}

fn plain_value<'a>(predicate: &'a Predicate, parameters: &'a [Value]) -> &'a Value {
    match predicate {
        Predicate::Compare { value: Scalar::Parameter(parameter), .. } => &parameters[*parameter],
        Predicate::Compare { value: Scalar::Literal(value), .. } => value,
        other => unreachable!("{other:?} is no plain equality"),
    }
}

/// The key ranges of a conjunction over an index, and the columns that they say everything about. `None` where
/// the conjunction gives the index nothing to start from, or too many keys.
fn ranges(
    path: &IndexPath,
    conjunction: &Conjunction,
    types: &[DataType],
) -> Option<(Vec<KeyRange>, Vec<usize>)> {
    let mut keys = vec![Vec::new()];
    let mut exact = Vec::new();
    let mut spans = None;
    for column in &path.columns {
        let column = column.index();
        let filter = conjunction.filters.iter().find(|(other, _)| *other == column);
        let Some(found) = filter.and_then(|(_, filter)| spans_of(filter, types[column])) else {
            break;
        };
        if !found.iter().all(|span| span.point) {
            spans = Some(found);
            break;
        }
        if keys.len() * found.len() > RANGES {
            return None;
        }
        exact.push(column);
        let extended = |key: &Vec<Value>| {
            let with = |span: &Span| {
                key.iter().chain(span.lower.as_ref().map(|end| &end.value)).cloned().collect()
            };
            found.iter().map(with).collect::<Vec<Vec<Value>>>()
        };
        keys = keys.iter().flat_map(extended).collect();
    }
    let whole = path.whole_key && exact.len() == path.columns.len();
    if exact.is_empty() && spans.is_none() || path.hash && !whole {
        return None;
    }
    let open = [Span { lower: None, upper: None, point: false }];
    let spans = spans.as_deref().unwrap_or(&open);
    if keys.len() * spans.len() > RANGES {
        return None;
    }
    let range = |key: &Vec<Value>, span: &Span| KeyRange {
        equal: key.clone(),
        lower: span.lower.clone(),
        upper: span.upper.clone(),
        whole,
    };
    let ranges = keys.iter().flat_map(|key| spans.iter().map(move |span| range(key, span)));
    Some((ranges.collect(), exact))
}

/// Keys between two ends; of a point the lower end is the key.
#[derive(Clone, Debug)]
struct Span {
    lower: Option<End>,
    upper: Option<End>,
    point: bool,
}

/// The spans of a filter as values; `None` where it wants NULL, which no range of keys finds.
fn spans_of(filter: &ColumnFilter, data_type: DataType) -> Option<Vec<Span>> {
    match filter {
        ColumnFilter::Narrow(keys) => spans(keys, |key| narrow_value(*key, data_type)),
        ColumnFilter::Wide(keys) => spans(keys, |key| match data_type {
            DataType::Numeric { scale, .. } => Some(Value::Numeric(*key, scale)),
            _ => unreachable!("wide keys are numerics"),
        }),
        ColumnFilter::Bytes(keys) => spans(keys, |key| Some(bytes_value(key, data_type))),
    }
}

fn spans<K: Key>(keys: &KeySet<K>, value: impl Fn(&K) -> Option<Value>) -> Option<Vec<Span>> {
    if keys.nulls() {
        return None;
    }
    // A cut is the first key in, or the first key out.
    let end = |cut: &K, lower: bool| match cut.predecessor() {
        Some(before) => Some(End { value: value(&before)?, included: !lower }),
        None => Some(End { value: value(cut)?, included: lower }),
    };
    let span = |cuts: &[K]| {
        let point = cuts[0].successor().as_ref() == cuts.get(1);
        let lower = match point {
            true => Some(End { value: value(&cuts[0])?, included: true }),
            false if cuts[0] == K::minimum() => None,
            // A span whose lower end is no value of the type has no rows.
            false => Some(end(&cuts[0], true)?),
        };
        Some(Span { lower, upper: cuts.get(1).and_then(|cut| end(cut, false)), point })
    };
    Some(keys.cuts().chunks(2).filter_map(span).collect())
}

/// The value of a key; `None` beyond the type's values. Integers come as `bigint`, which compares with all.
fn narrow_value(key: i64, data_type: DataType) -> Option<Value> {
    Some(match data_type {
        DataType::Boolean => Value::Boolean(match key {
            0 => false,
            1 => true,
            _ => return None,
        }),
        DataType::Date => Value::Date(i32::try_from(key).ok()?),
        DataType::Timestamp => Value::Timestamp(key),
        DataType::TimestampTz => Value::TimestampTz(key),
        DataType::Numeric { scale, .. } => Value::Numeric(i128::from(key), scale),
        DataType::Real | DataType::Double => {
            Value::Double(f64::from_bits((key ^ (key >> 63 & i64::MAX)) as u64))
        }
        _ => Value::BigInt(key),
    })
}

fn bytes_value(key: &[u8], data_type: DataType) -> Value {
    match data_type {
        DataType::Bytea => Value::Bytea(key.into()),
        _ => Value::Text(std::str::from_utf8(key).expect("keys of strings are text").into()),
    }
}

/// Rows found by probes.
#[derive(Debug, Default)]
pub struct Found {
    /// Where they lie.
    pub locations: Vec<Location>,
    sets: Vec<SetId>,
    /// Slots whose residual failed.
    pub errors: Vec<(Slot, Error)>,
}

impl Found {
    /// Their query sets.
    pub fn sets(&mut self, table: &SetTable) -> QuerySets {
        QuerySets::Interned(std::mem::take(&mut self.sets)).compact(self.locations.len(), table)
    }

    /// Each row once, with the union of its sets, in the order of their places.
    pub(super) fn unite(&mut self, table: &SetTable) {
        if self.locations.is_sorted_by(|a, b| a < b) {
            return;
        }
        fn sets(run: &[(Location, SetId)]) -> impl Iterator<Item = SetId> {
            run.iter().map(|(_, set)| *set)
        }
        let rows = self.locations.drain(..).zip(self.sets.drain(..));
        let mut rows: Vec<(Location, SetId)> = rows.collect();
        // Rows of a range mostly ascend: runs are merged.
        rows.sort_by_key(|(location, _)| *location);
        let mut members = vec![0; table.word_count()];
        let mut last: (&[(Location, SetId)], SetId) = (&[], SetId::EMPTY);
        for run in rows.chunk_by(|a, b| a.0 == b.0) {
            if let [(_, only)] = run {
                last = (run, *only);
            } else if !sets(run).eq(sets(last.0)) {
                // No unions of some are interned: there are as many as ranges times rows.
                members.fill(0);
                run.iter().for_each(|(_, set)| words::union_into(&mut members, table.words(*set)));
                last = (run, table.intern(&members));
            }
            self.locations.push(run[0].0);
            self.sets.push(last.1);
        }
    }
}

/// Looks up all probes of a batch.
pub fn probe_all(view: &TableView, sets: &SetTable, types: &[DataType], probes: &[Probe]) -> Found {
    let mut prober = Prober { view, sets, types, fetched: Vec::new(), found: Found::default() };
    if let [probe] = probes {
        for range in &probe.ranges {
            prober.run(&probe.index, range, &[probe]);
        }
        return prober.found;
    }
    let mut ranges: Vec<(&KeyRange, &Probe)> = probes
        .iter()
        .flat_map(|probe| probe.ranges.iter().map(move |range| (range, probe)))
        .collect();
    ranges.sort_by(|a, b| {
        let by_index = a.1.index_id().cmp(&b.1.index_id());
        by_index.then_with(|| compare_ranges(a.0, b.0)).then(a.1.slot.cmp(&b.1.slot))
    });
    let same = |a: &(&KeyRange, &Probe), b: &(&KeyRange, &Probe)| {
        a.1.index_id() == b.1.index_id() && compare_ranges(a.0, b.0).is_eq()
    };
    let mut owners = Vec::new();
    for group in ranges.chunk_by(same) {
        owners.clear();
        owners.extend(group.iter().map(|(_, probe)| *probe));
        prober.run(&group[0].1.index, group[0].0, &owners);
    }
    // Whole keys are different ones, and so are their rows.
    if ranges.iter().any(|(range, _)| !range.whole) {
        prober.found.unite(sets);
    }
    prober.found
}

fn compare_ranges(a: &KeyRange, b: &KeyRange) -> Ordering {
    let value = |a: &Value, b: &Value| a.borrow().compare(b.borrow());
    let bound = |a: &Option<End>, b: &Option<End>| match (a, b) {
        (Some(a), Some(b)) => value(&a.value, &b.value).then(a.included.cmp(&b.included)),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    let equal = a.equal.iter().zip(&b.equal).map(|(a, b)| value(a, b)).find(|order| order.is_ne());
    equal
        .unwrap_or(a.equal.len().cmp(&b.equal.len()))
        .then_with(|| bound(&a.lower, &b.lower))
        .then_with(|| bound(&a.upper, &b.upper))
}

struct Prober<'a> {
    view: &'a TableView,
    sets: &'a SetTable,
    types: &'a [DataType],
    fetched: Vec<Location>,
    found: Found,
}

impl Prober<'_> {
    /// One look-up for all activations that ask for the same keys.
    fn run(&mut self, index: &Index, range: &KeyRange, owners: &[&Probe]) {
        self.fetched.clear();
        self.fetch(index, range);
        if self.fetched.is_empty() {
            return;
        }
        let open = owners.iter().any(|owner| owner.residual.is_some());
        if let ([owner], false) = (owners, open) {
            let set = self.sets.singleton(owner.slot);
            return self.keep_all(set);
        }
        if !open {
            let set = self.sets.intern_slots(owners.iter().map(|owner| owner.slot));
            return self.keep_all(set);
        }
        let mut kept = vec![SetId::EMPTY; self.fetched.len()];
        for owner in owners {
            let single = self.sets.singleton(owner.slot);
            match self.passes(owner) {
                Ok(passes) => {
                    for (set, _) in kept.iter_mut().zip(passes).filter(|(_, passes)| *passes) {
                        *set = self.sets.union(*set, single);
                    }
                }
                Err(error) => self.found.errors.push((owner.slot, error)),
            }
        }
        for (location, set) in self.fetched.iter().zip(kept) {
            if set != SetId::EMPTY {
                self.found.locations.push(*location);
                self.found.sets.push(set);
            }
        }
    }

    fn keep_all(&mut self, set: SetId) {
        self.found.locations.extend_from_slice(&self.fetched);
        self.found.sets.resize(self.found.locations.len(), set);
    }

    fn fetch(&mut self, index: &Index, range: &KeyRange) {
        if range.whole {
            let key: Vec<ValueRef<'_>> = range.equal.iter().map(Value::borrow).collect();
            return self.view.probe(index, &key, &mut self.fetched);
        }
        let with = |end: &Option<End>| -> Vec<Value> {
            range.equal.iter().chain(end.as_ref().map(|end| &end.value)).cloned().collect()
        };
        let (lower, upper) = (with(&range.lower), with(&range.upper));
        let (lower, upper) = (bound(&lower, &range.lower), bound(&upper, &range.upper));
        self.view.range(index, lower, upper, false, usize::MAX, &mut self.fetched);
    }

    fn passes(&self, owner: &Probe) -> Result<Vec<bool>> {
        let Some(residual) = &owner.residual else { return Ok(vec![true; self.fetched.len()]) };
        let mut passes = Vec::with_capacity(self.fetched.len());
        for location in &self.fetched {
            passes.push(residual.holds(self.view, self.types, *location)?);
        }
        let expressions =
            residual.conjunction.rest.iter().filter_map(|predicate| match predicate {
                Predicate::Expression(expression) => Some(expression),
                _ => None,
            });
        for expression in expressions {
            let numbered = self.fetched.iter().zip(&passes).filter(|(_, passes)| **passes);
            let asked: Vec<Location> = numbered.map(|(location, _)| *location).collect();
            let truths = evaluate_for_one(&**expression, self.view, &residual.parameters, &asked)?;
            let mut truths = truths.into_iter();
            for pass in passes.iter_mut().filter(|pass| **pass) {
                *pass = truths.next() == Some(true);
            }
        }
        Ok(passes)
    }
}

/// The bound that a key prefix with or without an end makes.
fn bound<'a>(key: &'a [Value], end: &Option<End>) -> Bound<'a> {
    match end {
        _ if key.is_empty() => Bound::Unbounded,
        Some(End { included: false, .. }) => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}

impl Residual {
    /// Everything but expressions.
    fn holds(&self, view: &TableView, types: &[DataType], location: Location) -> Result<bool> {
        let row = ViewRow { view, location };
        holds_on_row(&row, types, &self.filters, &self.conjunction, self.parameters.borrow())
    }
}

/// Whether a row meets key sets, and the patterns and the rest of a conjunction; expressions are left out.
pub fn holds_on_row<R: crate::transaction::Row + ?Sized>(
    row: &R,
    types: &[DataType],
    filters: &[(usize, ColumnFilter)],
    conjunction: &Conjunction,
    parameters: Parameters<'_>,
) -> Result<bool> {
    if !filters.iter().all(|(column, filter)| filter.contains(row.cell(*column))) {
        return Ok(false);
    }
    let matches = |(column, pattern): &(usize, super::pattern::Pattern)| matches!(row.cell(*column), ValueRef::Text(text) if pattern.accepts(text));
    if !conjunction.patterns.iter().all(matches) {
        return Ok(false);
    }
    let evaluation = Evaluation { row, types, parameters };
    for predicate in &conjunction.rest {
        if matches!(predicate, Predicate::Expression(_)) {
            continue;
        }
        if evaluation.predicate(predicate)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::reference::schema;
    use crate::storage::Store;
    use crate::types::Version;

    /// Keys `least..most` of an index over one column.
    fn probe(slot: u32, index: &Arc<Index>, [least, most]: [i32; 2]) -> Probe {
        let end = |key, included| Some(End { value: Value::Integer(key), included });
        let (lower, upper) = (end(least, true), end(most, false));
        let ranges = vec![KeyRange { equal: Vec::new(), lower, upper, whole: false }];
        Probe { slot: Slot(slot), index: index.clone(), ranges, residual: None }
    }

    #[test]
    fn a_row_in_several_ranges_comes_once_for_all_who_ask() {
        let store = Store::new(1);
        let table = store.create_table(schema());
        for key in 0..40 {
            let mut row = vec![Value::Null; schema().columns.len()];
            row[0] = Value::Integer(key);
            table.insert(&row, Version(1));
        }
        store.publish(Version(1));
        let index = table.index(schema().indexes[0].id).expect("the table has it");
        let ranges = [[3, 9], [0, 5], [4, 5], [7, 20], [7, 20], [30, 30]];
        let probes: Vec<Probe> =
            (0..).zip(ranges).map(|(slot, range)| probe(slot, &index, range)).collect();
        let sets = SetTable::new(ranges.len());
        let types: Vec<DataType> = schema().columns.iter().map(|own| own.data_type).collect();
        let view = table.view(Version(1));
        let found = probe_all(&view, &sets, &types, &probes);
        let wanted = found.locations.iter().zip(&found.sets);
        let wanted = wanted.map(|(location, set)| (location.offset, sets.members(*set).collect()));
        let asks = |key: i32, [least, most]: [i32; 2]| (least..most).contains(&key);
        let who =
            |key| (0..).zip(ranges).filter(move |own| asks(key, own.1)).map(|own| Slot(own.0));
        let expected = (0..20).map(|key| (key as u32, who(key).collect::<Vec<Slot>>()));
        assert_eq!(wanted.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}
