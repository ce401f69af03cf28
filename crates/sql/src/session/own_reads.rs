//! Reading what the transaction has just written, or is about to lock, row by row.
//!
//! A block that reads rows of a table that it has changed cannot ride the shared batch: nobody else
//! may see its changes. Most such reads are look-ups by key (the bookstore's cart and stock,
//! `pgbench`'s balance), so their plans are interpreted here over index probes and the write set,
//! in microseconds. What would scan a table, or has an operator that this small interpreter lacks,
//! goes the long way (`None`).

use std::cmp::Ordering;
use std::sync::Arc;

use engine::heartbeat::{Answer, AnswerPart};
use engine::plan::{Aggregate, AggregateFunction, JoinKind, PlanNode, SortKey, TemplatePlan};
use engine::storage::{Bound, Snapshot, Store, TableView};
use engine::transaction::{Evaluation, Overlay, Parameters, WriteSet};
use engine::types::{
    ColumnId, Comparison, DataType, IndexKind, IndexSchema, Location, Predicate, Result, RowId,
    Scalar, TableId, TableSchema, Value, ValueRef,
};

use super::locking::Newest;

/// Rows beyond which the batch operators of the long way are better.
const ROW_LIMIT: usize = 1000;

/// The answer of a template over a snapshot and the transaction's own changes; `None`: not here.
pub fn answer(
    plan: &TemplatePlan,
    values: &[Value],
    store: &Arc<Store>,
    snapshot: &Snapshot,
    set: &WriteSet,
) -> Result<Option<Answer>> {
    let newest = Newest::new();
    let Some(reader) = Reader::new(plan, values, store, snapshot, set, &newest) else {
        return Ok(None);
    };
    let Some(rows) = reader.rows(&plan.root)? else { return Ok(None) };
    let parts = vec![AnswerPart::Own(rows.values)];
    Ok(Some(Answer::new(plan.output.clone(), parts)))
}

/// The rows of a query over one table that an index finds, each with the id of the row that it is made of; `None`: not here.
pub fn rows_with_ids(
    plan: &TemplatePlan,
    values: &[Value],
    store: &Arc<Store>,
    snapshot: &Snapshot,
    set: &WriteSet,
    newest: &Newest,
) -> Result<Option<Vec<Found>>> {
    let Some(reader) = Reader::new(plan, values, store, snapshot, set, newest) else {
        return Ok(None);
    };
    Ok(reader.with_ids(&plan.root)?.map(|(_, found)| found))
}

/// A row that was found.
pub struct Found {
    /// The id of the table's row; `None` for one of the own transaction.
    pub id: Option<RowId>,
    /// Its values, or what is made of them.
    pub row: Vec<Value>,
}

struct Reader<'a> {
    store: &'a Arc<Store>,
    snapshot: &'a Snapshot,
    set: &'a WriteSet,
    /// Rows that are no longer what the snapshot has.
    newest: &'a Newest,
    parameters: Parameters<'a>,
}

struct RowSet {
    types: Vec<DataType>,
    values: Vec<Vec<Value>>,
}

impl<'a> Reader<'a> {
    fn new(
        plan: &'a TemplatePlan,
        values: &'a [Value],
        store: &'a Arc<Store>,
        snapshot: &'a Snapshot,
        set: &'a WriteSet,
        newest: &'a Newest,
    ) -> Option<Reader<'a>> {
        let is_known = plan.scalar_subqueries.is_empty() && values.len() >= plan.parameters.len();
        let parameters = Parameters { values, types: &plan.parameters };
        let is_small = set.len() <= ROW_LIMIT;
        (is_known && is_small).then_some(Reader { store, snapshot, set, newest, parameters })
    }

    fn rows(&self, node: &PlanNode) -> Result<Option<RowSet>> {
        match node {
            PlanNode::Scan { table, predicates } => self.scan(*table, predicates, &[]),
            PlanNode::Filter { input, predicates } => self.filter(input, predicates),
            PlanNode::Project { input, expressions, types } => {
                self.project(input, expressions, types)
            }
            PlanNode::Join { kind: JoinKind::Inner, left, right, keys, residual } => {
                self.join(left, right, keys, residual)
            }
            PlanNode::Aggregate { input, keys, aggregates } if keys.is_empty() => {
                self.aggregate(input, aggregates)
            }
            PlanNode::Sort { input, keys, skip, fetch } => {
                let Some(mut rows) = self.rows(input)? else { return Ok(None) };
                rows.values.sort_by(|a, b| order(keys, a, b));
                self.cut(rows, skip.as_ref(), fetch.as_ref())
            }
            PlanNode::Limit { input, skip, fetch } => match self.rows(input)? {
                Some(rows) => self.cut(rows, skip.as_ref(), fetch.as_ref()),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn evaluate<'r>(&'r self, row: &'r [Value], types: &'r [DataType]) -> Evaluation<'r, [Value]> {
        Evaluation { row, types, parameters: self.parameters }
    }

    /// The rows of a table that meet the predicates and have these values in these columns.
    fn scan(
        &self,
        table: TableId,
        predicates: &[Predicate],
        bound: &[(usize, Value)],
    ) -> Result<Option<RowSet>> {
        let Some((types, found)) = self.find(table, predicates, bound)? else { return Ok(None) };
        let values = found.into_iter().map(|found| found.row).collect();
        Ok(Some(RowSet { types, values }))
    }

    /// The same with the rows' ids, found through an index.
    fn find(
        &self,
        table: TableId,
        predicates: &[Predicate],
        bound: &[(usize, Value)],
    ) -> Result<Option<(Vec<DataType>, Vec<Found>)>> {
        let Some(stored) = self.store.table(table) else { return Ok(None) };
        let view = stored.view(self.snapshot.version());
        let schema = view.schema().clone();
        let types: Vec<DataType> = schema.columns.iter().map(|c| c.data_type).collect();
        let Some(equal) = self.equalities(predicates, bound, &types)? else { return Ok(None) };
        let Some((index, key)) = best_index(&schema, &equal) else { return Ok(None) };
        let Some(locations) = probe(&view, index, &key) else { return Ok(None) };
        let equals = |row: &[Value], (column, value): &(usize, Value)| {
            !row[*column].is_null()
                && row[*column].borrow().compare(value.borrow()) == Ordering::Equal
        };
        let keeps = |row: &[Value]| -> Result<bool> {
            let is_bound = bound.iter().all(|pair| equals(row, pair));
            Ok(is_bound && self.evaluate(row, &types).all(predicates)?)
        };
        let mut found = Vec::with_capacity(locations.len());
        for location in locations {
            let id = view.row_id(location);
            if !matches!(self.set.lookup(table, id), Overlay::Untouched) {
                continue;
            }
            let newest = self.newest.get(&(table, id)).cloned();
            let row = newest.unwrap_or_else(|| Some(view.row(location)));
            if let Some(row) = row
                && keeps(&row)?
            {
                found.push(Found { id: Some(id), row });
            }
        }
        // Own rows are copied only where they are wanted: a join looks at all of them once per outer row.
        for (_, row) in self.set.rows(table) {
            if keeps(row)? {
                found.push(Found { id: None, row: row.to_vec() });
            }
        }
        Ok(Some((types, found)))
    }

    /// The rows of a query over one table, each with the id of the row that it is made of.
    fn with_ids(&self, node: &PlanNode) -> Result<Option<(Vec<DataType>, Vec<Found>)>> {
        match node {
            PlanNode::Scan { table, predicates } => self.find(*table, predicates, &[]),
            PlanNode::Filter { input, predicates } => match input.as_ref() {
                PlanNode::Scan { table, predicates: own } => {
                    let all: Vec<Predicate> = own.iter().chain(predicates).cloned().collect();
                    self.find(*table, &all, &[])
                }
                _ => Ok(None),
            },
            PlanNode::Project { input, expressions, types } => {
                let Some((own, found)) = self.with_ids(input)? else { return Ok(None) };
                let project = |found: Found| {
                    let row = self.projected(&found.row, &own, expressions)?;
                    Ok(Found { id: found.id, row })
                };
                let found = found.into_iter().map(project).collect::<Result<_>>()?;
                Ok(Some((types.to_vec(), found)))
            }
            _ => Ok(None),
        }
    }

    fn projected(
        &self,
        row: &[Value],
        types: &[DataType],
        expressions: &[Scalar],
    ) -> Result<Vec<Value>> {
        let evaluation = self.evaluate(row, types);
        expressions.iter().map(|scalar| evaluation.scalar(scalar)).collect()
    }

    /// Columns with a known value; `None` where one can equal nothing that an index finds by its
    /// type.
    fn equalities(
        &self,
        predicates: &[Predicate],
        bound: &[(usize, Value)],
        types: &[DataType],
    ) -> Result<Option<Vec<(usize, Value)>>> {
        let mut equal = bound.to_vec();
        for predicate in predicates {
            if let Predicate::Compare { column, comparison: Comparison::Equal, value } = predicate {
                let value = match value {
                    Scalar::Parameter(number) => self.parameters.values[*number].clone(),
                    Scalar::Literal(value) => value.clone(),
                    _ => continue,
                };
                equal.push((*column, value));
            }
        }
        // An index is probed with values of its columns' types; other numbers compare by value.
        for (column, value) in &mut equal {
            match crate::statement::assignment::cast(value.clone(), types[*column]) {
                Ok(cast) if cast.borrow().compare(value.borrow()) == Ordering::Equal => {
                    *value = cast
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(equal))
    }

    fn filter(&self, input: &PlanNode, predicates: &[Predicate]) -> Result<Option<RowSet>> {
        if let PlanNode::Scan { table, predicates: own } = input {
            let all: Vec<Predicate> = own.iter().chain(predicates).cloned().collect();
            return self.scan(*table, &all, &[]);
        }
        let Some(rows) = self.rows(input)? else { return Ok(None) };
        self.keep(rows, predicates).map(Some)
    }

    fn keep(&self, rows: RowSet, predicates: &[Predicate]) -> Result<RowSet> {
        let mut kept = Vec::with_capacity(rows.values.len());
        for row in rows.values {
            if self.evaluate(&row, &rows.types).all(predicates)? {
                kept.push(row);
            }
        }
        Ok(RowSet { types: rows.types, values: kept })
    }

    fn project(
        &self,
        input: &PlanNode,
        expressions: &[Scalar],
        types: &[DataType],
    ) -> Result<Option<RowSet>> {
        let Some(rows) = self.rows(input)? else { return Ok(None) };
        if is_identity(expressions, rows.types.len()) {
            return Ok(Some(rows));
        }
        let mut values = Vec::with_capacity(rows.values.len());
        for row in &rows.values {
            values.push(self.projected(row, &rows.types, expressions)?);
        }
        Ok(Some(RowSet { types: types.to_vec(), values }))
    }

    /// Joins by probing the other side's index once per row. Either side may be the one with the
    /// index.
    fn join(
        &self,
        left: &PlanNode,
        right: &PlanNode,
        keys: &[(usize, usize)],
        residual: &[Predicate],
    ) -> Result<Option<RowSet>> {
        let joined = match self.rows(left)? {
            Some(rows) => self.probe_side(&rows, right, keys, false)?,
            None => {
                let turned: Vec<(usize, usize)> = keys.iter().map(|(l, r)| (*r, *l)).collect();
                match self.rows(right)? {
                    Some(rows) => self.probe_side(&rows, left, &turned, true)?,
                    None => None,
                }
            }
        };
        match joined {
            Some(rows) => self.keep(rows, residual).map(Some),
            None => Ok(None),
        }
    }

    fn probe_side(
        &self,
        outer: &RowSet,
        inner: &PlanNode,
        keys: &[(usize, usize)],
        inner_first: bool,
    ) -> Result<Option<RowSet>> {
        let (table, predicates) = match inner {
            PlanNode::Scan { table, predicates } => (*table, predicates.as_slice()),
            _ => return Ok(None),
        };
        // Own rows are looked at once per row of the other side.
        if outer.values.len() * (1 + self.set.len()) > ROW_LIMIT {
            return Ok(None);
        }
        let Some(stored) = self.store.table(table) else { return Ok(None) };
        let inner_types: Vec<DataType> =
            stored.schema().columns.iter().map(|column| column.data_type).collect();
        let mut values = Vec::new();
        for row in &outer.values {
            let bound: Vec<(usize, Value)> =
                keys.iter().map(|(own, other)| (*other, row[*own].clone())).collect();
            if bound.iter().any(|(_, value)| value.is_null()) {
                continue;
            }
            let Some(found) = self.scan(table, predicates, &bound)? else { return Ok(None) };
            for other in found.values {
                let mut pair = Vec::with_capacity(row.len() + other.len());
                if inner_first {
                    pair.extend(other);
                    pair.extend_from_slice(row);
                } else {
                    pair.extend_from_slice(row);
                    pair.extend(other);
                }
                values.push(pair);
            }
        }
        let types = match inner_first {
            true => [inner_types.as_slice(), &outer.types].concat(),
            false => [outer.types.as_slice(), &inner_types].concat(),
        };
        Ok(Some(RowSet { types, values }))
    }

    /// COUNT, MIN and MAX over all rows; sums and means have more rules than are worth repeating
    /// here.
    fn aggregate(&self, input: &PlanNode, aggregates: &[Aggregate]) -> Result<Option<RowSet>> {
        let simple = |aggregate: &Aggregate| {
            let known = matches!(
                aggregate.function,
                AggregateFunction::Count | AggregateFunction::Min | AggregateFunction::Max
            );
            known && !aggregate.distinct && aggregate.filter.is_none()
        };
        if !aggregates.iter().all(simple) {
            return Ok(None);
        }
        let Some(rows) = self.rows(input)? else { return Ok(None) };
        let mut row = Vec::with_capacity(aggregates.len());
        for aggregate in aggregates {
            row.push(self.fold(&rows, aggregate)?);
        }
        let types = aggregates.iter().map(|aggregate| aggregate.data_type).collect();
        Ok(Some(RowSet { types, values: vec![row] }))
    }

    fn fold(&self, rows: &RowSet, aggregate: &Aggregate) -> Result<Value> {
        let Some(argument) = &aggregate.argument else {
            return Ok(Value::BigInt(rows.values.len() as i64));
        };
        let mut count = 0;
        let mut best = Value::Null;
        for row in &rows.values {
            let value = self.evaluate(row, &rows.types).scalar(argument)?;
            if value.is_null() {
                continue;
            }
            count += 1;
            let order = value.borrow().compare(best.borrow());
            let wins = match aggregate.function {
                AggregateFunction::Max => order == Ordering::Greater || best.is_null(),
                _ => order == Ordering::Less,
            };
            if wins {
                best = value;
            }
        }
        Ok(if aggregate.function == AggregateFunction::Count { Value::BigInt(count) } else { best })
    }

    fn cut(
        &self,
        rows: RowSet,
        skip: Option<&Scalar>,
        fetch: Option<&Scalar>,
    ) -> Result<Option<RowSet>> {
        let (Some(skip), Some(fetch)) = (self.count(skip, 0), self.count(fetch, usize::MAX)) else {
            return Ok(None);
        };
        let values = rows.values.into_iter().skip(skip).take(fetch).collect();
        Ok(Some(RowSet { types: rows.types, values }))
    }

    /// A row count; negative ones are the long way's to refuse.
    fn count(&self, scalar: Option<&Scalar>, default: usize) -> Option<usize> {
        let value = match scalar {
            None => return Some(default),
            Some(Scalar::Parameter(number)) => &self.parameters.values[*number],
            Some(Scalar::Literal(value)) => value,
            Some(_) => return None,
        };
        match value {
            Value::Null => Some(default),
            Value::BigInt(count) => usize::try_from(*count).ok(),
            Value::Integer(count) => usize::try_from(*count).ok(),
            _ => None,
        }
    }
}

/// The index that leaves the fewest rows, with the values of its key: a unique one whose whole key is known, else
/// the ordered one, or whole key, that most columns are known of.
fn best_index<'s>(
    schema: &'s TableSchema,
    equal: &[(usize, Value)],
) -> Option<(&'s IndexSchema, Vec<Value>)> {
    let value_of = |column: &ColumnId| equal.iter().find(|(c, _)| *c == column.index());
    let known = |index: &IndexSchema| index.columns.iter().map_while(value_of).count();
    let usable = |index: &&IndexSchema| match index.kind {
        IndexKind::Ordered => known(index) > 0,
        IndexKind::Hash => known(index) == index.columns.len(),
    };
    let rank = |index: &&IndexSchema| {
        let whole = known(index) == index.columns.len();
        (whole && index.unique, known(index), whole)
    };
    let index = schema.indexes.iter().filter(usable).max_by_key(rank)?;
    let key = index.columns.iter().map_while(value_of).map(|(_, value)| value.clone());
    Some((index, key.collect()))
}

/// The stored rows with this key, or this prefix of a key; `None` where they are too many.
fn probe(view: &TableView, index: &IndexSchema, key: &[Value]) -> Option<Vec<Location>> {
    let built = view.table().index(index.id)?;
    let mut found = Vec::new();
    if key.iter().any(Value::is_null) {
        return Some(found);
    }
    if key.len() == index.columns.len() {
        let key: Vec<ValueRef<'_>> = key.iter().map(Value::borrow).collect();
        view.probe(&built, &key, &mut found);
    } else {
        let bound = Bound::Included(key);
        view.range(&built, bound, bound, false, ROW_LIMIT + 1, &mut found);
    }
    (found.len() <= ROW_LIMIT).then_some(found)
}

/// Whether a projection gives every column of its input in its place.
fn is_identity(expressions: &[Scalar], width: usize) -> bool {
    let in_place = |(i, scalar): (usize, &Scalar)| matches!(scalar, Scalar::Column(c) if *c == i);
    expressions.len() == width && expressions.iter().enumerate().all(in_place)
}

fn order(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for key in keys {
        let (left, right) = (&a[key.column], &b[key.column]);
        let order = match (left.is_null(), right.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if key.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if key.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ if key.descending => right.borrow().compare(left.borrow()),
            _ => left.borrow().compare(right.borrow()),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
