//! Index probes followed by index joins: what point statements are made of.
//!
//! Everything that a template can know is known when it is registered; a batch binds keys, probes and checks
//! what the index did not answer. Rows of all activations go through a step together, each with its slot.
//! Called by `light` for whole statements and by `run` as the source of longer ones.

use std::sync::Arc;

use crate::operators::Faults;
use crate::plan::{Access, IndexAccess, JoinKind, Operation, Operator};
use crate::query_set::{ColumnOrigin, QuerySets, SetTable, Source, Tuples};
use crate::storage::{Bound, Index, Store, TableView};
use crate::transaction::{Evaluation, Parameters, Row};
use crate::types::{
    ColumnId, DataType, Location, Predicate, Result, Scalar, Slot, TableId, Value, ValueRef,
};

/// An index access and the index joins on top of it.
#[derive(Debug)]
pub struct ProbeChain {
    first: First,
    joins: Vec<Join>,
    /// Output columns of the last join.
    origins: Arc<[ColumnOrigin]>,
    /// Their types.
    types: Vec<DataType>,
    parameter_types: Vec<DataType>,
    /// Operators of the tree that the chain stands for.
    pub length: usize,
}

#[derive(Debug)]
struct First {
    table: TableId,
    index: Arc<Index>,
    access: IndexAccess,
    /// Predicates that the index does not answer.
    rest: Vec<Predicate>,
}

#[derive(Debug)]
struct Join {
    kind: JoinKind,
    table: TableId,
    index: Arc<Index>,
    keys: Vec<Vec<ColumnOrigin>>,
    /// Key columns are fewer than the index has.
    prefix: bool,
    predicates: Vec<Predicate>,
    residual: Vec<Predicate>,
    /// Columns and types of outer ++ inner.
    origins: Vec<ColumnOrigin>,
    types: Vec<DataType>,
    inner_types: Vec<DataType>,
}

/// The views of one batch, one per table.
pub trait Views {
    /// The table at the batch's snapshot.
    fn view(&mut self, table: TableId) -> Result<Arc<TableView>>;
}

/// Rows of a chain so far, source by source.
#[derive(Debug, Default)]
struct Rows {
    slots: Vec<Slot>,
    views: Vec<Arc<TableView>>,
    locations: Vec<Vec<Location>>,
}

impl ProbeChain {
    /// The chain at the bottom of `root`, as long as it goes; `None` where `root` is no chain.
    pub fn of(root: &Operator, store: &Store, parameter_types: &[DataType]) -> Option<ProbeChain> {
        match &root.operation {
            Operation::Scan { table, predicates, access: Access::Index(access) } => {
                let index = store.table(*table)?.index(access.index)?;
                let covered = |i: &usize| !access.covered.contains(i);
                let rest = (0..predicates.len()).filter(covered);
                let rest = rest.map(|i| predicates[i].clone()).collect();
                let first = First { table: *table, index, access: access.clone(), rest };
                Some(ProbeChain {
                    first,
                    joins: Vec::new(),
                    origins: source_columns(0, root.types.len()).collect(),
                    types: root.types.clone(),
                    parameter_types: parameter_types.to_vec(),
                    length: 1,
                })
            }
            Operation::IndexJoin { table, index, .. } => {
                let mut chain = ProbeChain::of(&root.inputs[0], store, parameter_types)?;
                let stored = store.table(*table)?;
                let index = stored.index(*index)?;
                let schema = stored.schema();
                let inner = schema.columns.iter().map(|c| c.data_type).collect();
                chain.push(&root.operation, index, inner);
                chain.length += 1;
                Some(chain)
            }
            _ => None,
        }
    }

    fn push(&mut self, operation: &Operation, index: Arc<Index>, inner_types: Vec<DataType>) {
        let Operation::IndexJoin { kind, table, keys, predicates, residual, .. } = operation else {
            unreachable!("only index joins go on a chain")
        };
        let origin = |c: &usize| self.origins[*c];
        let keys: Vec<Vec<ColumnOrigin>> =
            keys.iter().map(|key| key.iter().map(origin).collect()).collect();
        let prefix = keys.iter().any(|key| key.len() < index.schema().columns.len());
        let source = 1 + self.joins.iter().filter(|join| join.keeps_inner()).count();
        let mut origins = self.origins.to_vec();
        origins.extend(source_columns(source, inner_types.len()));
        let mut types = self.types.clone();
        types.extend(inner_types.iter().copied());
        let join = Join {
            kind: *kind,
            table: *table,
            index,
            keys,
            prefix,
            predicates: predicates.clone(),
            residual: residual.clone(),
            origins,
            types,
            inner_types,
        };
        if join.keeps_inner() {
            self.origins = join.origins.clone().into();
            self.types = join.types.clone();
        }
        self.joins.push(join);
    }

    /// Where output column `i` comes from.
    pub fn origins(&self) -> &Arc<[ColumnOrigin]> {
        &self.origins
    }

    /// The rows of all `slots`, each wanted by its slot; a slot whose evaluation fails goes to `faults`.
    pub fn run(
        &self,
        slots: impl Iterator<Item = Slot>,
        parameters: &[&[Value]],
        sets: &SetTable,
        views: &mut dyn Views,
        faults: &mut Faults,
    ) -> Result<Tuples> {
        let view = views.view(self.first.table)?;
        let mut rows = Rows { slots: Vec::new(), views: vec![view], locations: vec![Vec::new()] };
        for slot in slots {
            if let Err(error) = self.first(slot, parameters[slot.index()], &mut rows) {
                faults.add(slot, error);
            }
        }
        for join in &self.joins {
            let view = views.view(join.table)?;
            rows = self.join(join, view, rows, parameters, faults);
        }
        Ok(self.tuples(rows, sets))
    }

    fn tuples(&self, rows: Rows, sets: &SetTable) -> Tuples {
        let sets = match sets.slots() {
            1 => QuerySets::Uniform(sets.all()),
            _ => QuerySets::Single(rows.slots.clone()),
        };
        let sources = rows.views.into_iter().zip(rows.locations);
        let sources = sources.map(|(view, locations)| Source { view, locations }).collect();
        Tuples {
            rows: rows.slots.len(),
            sources,
            computed: Vec::new(),
            columns: self.origins.clone(),
            sets,
        }
    }

    fn first(&self, slot: Slot, values: &[Value], rows: &mut Rows) -> Result<()> {
        let found = &mut rows.locations[0];
        let before = found.len();
        self.first.locate(&rows.views[0], values, found);
        if !self.first.rest.is_empty() {
            let types = &self.types_of_first();
            let parameters = Parameters { values, types: &self.parameter_types };
            let view = &rows.views[0];
            let kept = retain(found, before, |location| {
                let row = TableRow { view, location };
                Evaluation { row: &row, types, parameters }.all(&self.first.rest)
            });
            if kept.is_err() {
                found.truncate(before);
            }
            kept?;
        }
        rows.slots.resize(found.len(), slot);
        Ok(())
    }

    fn types_of_first(&self) -> Vec<DataType> {
        let width = self
            .joins
            .first()
            .map_or(self.types.len(), |join| join.types.len() - join.inner_types.len());
        self.types[..width].to_vec()
    }

    fn join(
        &self,
        join: &Join,
        view: Arc<TableView>,
        rows: Rows,
        parameters: &[&[Value]],
        faults: &mut Faults,
    ) -> Rows {
        let mut kept: Vec<u32> = Vec::with_capacity(rows.slots.len());
        let mut inner: Vec<Location> = Vec::with_capacity(rows.slots.len());
        let mut found = Vec::new();
        for row in 0..rows.slots.len() {
            let slot = rows.slots[row];
            if faults.contains(slot) {
                continue;
            }
            found.clear();
            join.locate(&view, &rows, row, &mut found);
            if !(join.predicates.is_empty() && join.residual.is_empty()) {
                let values = parameters[slot.index()];
                let parameters = Parameters { values, types: &self.parameter_types };
                if let Err(error) = join.check(&view, &rows, row, parameters, &mut found) {
                    faults.add(slot, error);
                    continue;
                }
            }
            join.emit(row as u32, &found, &mut kept, &mut inner);
        }
        rows.after(&kept, join.keeps_inner().then_some((view, inner)))
    }
}

impl Rows {
    /// The rows named, with one source more.
    fn after(self, kept: &[u32], inner: Option<(Arc<TableView>, Vec<Location>)>) -> Rows {
        let unchanged = kept.len() == self.slots.len()
            && kept.iter().enumerate().all(|(i, row)| i == *row as usize);
        let mut rows = match unchanged {
            true => self,
            false => Rows {
                slots: kept.iter().map(|row| self.slots[*row as usize]).collect(),
                views: self.views,
                locations: self
                    .locations
                    .iter()
                    .map(|source| kept.iter().map(|row| source[*row as usize]).collect())
                    .collect(),
            },
        };
        if let Some((view, locations)) = inner {
            rows.views.push(view);
            rows.locations.push(locations);
        }
        rows
    }
}

/// Keeps the locations from `before` on for which `keep` says so.
fn retain(
    found: &mut Vec<Location>,
    before: usize,
    mut keep: impl FnMut(Location) -> Result<bool>,
) -> Result<()> {
    let mut end = before;
    for i in before..found.len() {
        if keep(found[i])? {
            found[end] = found[i];
            end += 1;
        }
    }
    found.truncate(end);
    Ok(())
}

fn source_columns(source: usize, width: usize) -> impl Iterator<Item = ColumnOrigin> {
    (0..width as u32).map(move |c| ColumnOrigin::Source { source, column: ColumnId(c) })
}

fn constant<'a>(scalar: &'a Scalar, values: &'a [Value]) -> &'a Value {
    match scalar {
        Scalar::Parameter(parameter) => &values[*parameter],
        Scalar::Literal(value) => value,
        other => unreachable!("index bounds are parameters or literals, not {other:?}"),
    }
}

/// At most this many key columns are looked up without an allocation.
const SHORT_KEY: usize = 4;

fn probe<'a>(
    view: &TableView,
    index: &Index,
    key: impl ExactSizeIterator<Item = ValueRef<'a>>,
    out: &mut Vec<Location>,
) {
    let length = key.len();
    if length > SHORT_KEY {
        return view.probe(index, &key.collect::<Vec<_>>(), out);
    }
    let mut short = [ValueRef::Null; SHORT_KEY];
    key.zip(&mut short).for_each(|(value, place)| *place = value);
    view.probe(index, &short[..length], out);
}

/// Locations from `before` on, each once, in the order in which they were found.
fn deduplicate(found: &mut Vec<Location>, before: usize) {
    let mut end = before;
    for i in before..found.len() {
        if !found[before..end].contains(&found[i]) {
            found[end] = found[i];
            end += 1;
        }
    }
    found.truncate(end);
}

impl First {
    /// Appends the locations of one activation's rows.
    fn locate(&self, view: &TableView, values: &[Value], found: &mut Vec<Location>) {
        let access = &self.access;
        if let Some((descending, rows)) = access.first {
            let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
            return view.range(&self.index, lower, upper, descending, rows, found);
        }
        let before = found.len();
        let alternatives = access.equal.iter().map(Vec::len).max().unwrap_or(1);
        for alternative in 0..alternatives {
            let part = |scalars: &Vec<Scalar>| {
                let scalar = &scalars[if scalars.len() > 1 { alternative } else { 0 }];
                constant(scalar, values).clone()
            };
            match access.whole {
                true => {
                    let key = access.equal.iter();
                    let key = key.map(|s| {
                        let scalar = &s[if s.len() > 1 { alternative } else { 0 }];
                        constant(scalar, values).borrow()
                    });
                    probe(view, &self.index, key, found);
                }
                false => self.range(view, values, access.equal.iter().map(part).collect(), found),
            }
        }
        if alternatives > 1 {
            deduplicate(found, before);
        }
    }

    fn range(
        &self,
        view: &TableView,
        values: &[Value],
        equal: Vec<Value>,
        found: &mut Vec<Location>,
    ) {
        let bound = |limit: &Option<(Scalar, bool)>| {
            limit.as_ref().map(|(scalar, included)| {
                let mut key = equal.clone();
                key.push(constant(scalar, values).clone());
                (key, *included)
            })
        };
        let (lower, upper) = (bound(&self.access.lower), bound(&self.access.upper));
        let null = |key: &[Value]| key.iter().any(Value::is_null);
        let nulls = |b: &Option<(Vec<Value>, bool)>| b.as_ref().is_some_and(|(k, _)| null(k));
        if null(&equal) || nulls(&lower) || nulls(&upper) {
            return;
        }
        let (lower, upper) = (limit(&lower, &equal), limit(&upper, &equal));
        view.range(&self.index, lower, upper, false, usize::MAX, found);
    }
}

fn limit<'a>(bound: &'a Option<(Vec<Value>, bool)>, equal: &'a [Value]) -> Bound<'a> {
    match bound {
        Some((key, true)) => Bound::Included(key),
        Some((key, false)) => Bound::Excluded(key),
        None if equal.is_empty() => Bound::Unbounded,
        None => Bound::Included(equal),
    }
}

impl Join {
    fn keeps_inner(&self) -> bool {
        !matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// Appends the partners of one outer row, by key.
    fn locate(&self, view: &TableView, rows: &Rows, row: usize, found: &mut Vec<Location>) {
        for key in &self.keys {
            let cell = |origin: &ColumnOrigin| rows.cell(*origin, row);
            match self.prefix {
                false => probe(view, &self.index, key.iter().map(cell), found),
                true => {
                    let key: Vec<Value> = key.iter().map(|o| cell(o).to_owned()).collect();
                    if !key.iter().any(Value::is_null) {
                        let (lower, upper) = (Bound::Included(&key[..]), Bound::Included(&key[..]));
                        view.range(&self.index, lower, upper, false, usize::MAX, found);
                    }
                }
            }
        }
        if self.keys.len() > 1 {
            deduplicate(found, 0);
        }
    }

    /// Keeps the partners that meet the inner predicates and the residual conditions.
    fn check(
        &self,
        view: &TableView,
        rows: &Rows,
        row: usize,
        parameters: Parameters<'_>,
        found: &mut Vec<Location>,
    ) -> Result<()> {
        retain(found, 0, |location| {
            let inner = TableRow { view, location };
            let own = Evaluation { row: &inner, types: &self.inner_types, parameters };
            if !own.all(&self.predicates)? {
                return Ok(false);
            }
            let pair = PairRow { join: self, rows, row, inner };
            Evaluation { row: &pair, types: &self.types, parameters }.all(&self.residual)
        })
    }

    /// Notes what becomes of one outer row.
    fn emit(&self, row: u32, found: &[Location], kept: &mut Vec<u32>, inner: &mut Vec<Location>) {
        match self.kind {
            JoinKind::Semi if found.is_empty() => {}
            JoinKind::Anti if !found.is_empty() => {}
            JoinKind::Semi | JoinKind::Anti => kept.push(row),
            JoinKind::Left if found.is_empty() => {
                kept.push(row);
                inner.push(Location::NONE);
            }
            JoinKind::Inner | JoinKind::Left => {
                kept.extend(std::iter::repeat_n(row, found.len()));
                inner.extend_from_slice(found);
            }
            JoinKind::Right | JoinKind::Full => {
                unreachable!("right and full joins are never index joins")
            }
        }
    }
}

impl Rows {
    fn cell(&self, origin: ColumnOrigin, row: usize) -> ValueRef<'_> {
        match origin {
            ColumnOrigin::Source { source, column } => {
                self.views[source].cell(column, self.locations[source][row])
            }
            ColumnOrigin::Computed(_) => unreachable!("a chain computes nothing"),
        }
    }
}

#[derive(Clone, Copy)]
struct TableRow<'a> {
    view: &'a TableView,
    location: Location,
}

impl Row for TableRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        self.view.cell(ColumnId(column as u32), self.location)
    }
}

struct PairRow<'a> {
    join: &'a Join,
    rows: &'a Rows,
    row: usize,
    inner: TableRow<'a>,
}

impl Row for PairRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        let outer = self.join.types.len() - self.join.inner_types.len();
        match column.checked_sub(outer) {
            None => self.rows.cell(self.join.origins[column], self.row),
            Some(column) => self.inner.cell(column),
        }
    }
}
