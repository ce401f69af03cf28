//! The slow obvious interpreter of template plans: what every batch is compared with.

use engine::plan::{Aggregate, AggregateFunction, JoinKind, PlanNode, TemplatePlan};
use engine::storage::{Store, TableView};
use engine::transaction::{Evaluation, Parameters};
use engine::types::{
    DataType, Error, Expression, Predicate, Result, Scalar, SqlState, Value, ValueRef,
};
use std::cmp::Ordering;
use std::sync::Arc;

pub type Row = Vec<Value>;

/// Runs a template for one activation on the newest version.
pub fn answer(plan: &TemplatePlan, store: &Arc<Store>, given: &[Value]) -> Result<Vec<Row>> {
    let mut values = given.to_vec();
    values.resize(plan.parameters.len(), Value::Null);
    let mut interpreter = Interpreter { store, values, types: plan.parameters.clone() };
    for subquery in &plan.scalar_subqueries {
        let rows = interpreter.node(&subquery.root)?;
        interpreter.values[subquery.parameter] = match rows.len() {
            0 => Value::Null,
            1 => rows[0][0].clone(),
            _ => {
                let message = "more than one row returned by a subquery used as an expression";
                return Err(Error::new(SqlState::CardinalityViolation, message));
            }
        };
    }
    interpreter.node(&plan.root)
}

struct Interpreter<'a> {
    store: &'a Arc<Store>,
    values: Vec<Value>,
    types: Vec<DataType>,
}

fn rows_of(view: &TableView) -> Vec<Row> {
    let mut rows = Vec::new();
    for (id, chunk) in view.chunks() {
        let mut visible = Vec::new();
        chunk.visible(view.version(), 0..chunk.rows() as u32, &mut visible);
        for offset in visible {
            rows.push(view.row(engine::types::Location { chunk: *id, offset }));
        }
    }
    rows
}

impl Interpreter<'_> {
    fn types(&self, node: &PlanNode) -> Vec<DataType> {
        match node {
            PlanNode::Scan { table, .. } => {
                let schema = self.store.table(*table).expect("it exists").schema();
                schema.columns.iter().map(|c| c.data_type).collect()
            }
            PlanNode::Values { types, .. } | PlanNode::Project { types, .. } => types.clone(),
            PlanNode::Filter { input, .. }
            | PlanNode::Sort { input, .. }
            | PlanNode::Limit { input, .. }
            | PlanNode::Distinct { input } => self.types(input),
            PlanNode::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => self.types(left),
            PlanNode::Join { left, right, .. } => [self.types(left), self.types(right)].concat(),
            PlanNode::Aggregate { input, keys, aggregates } => {
                let input = self.types(input);
                let keys = keys.iter().map(|k| input[*k]);
                keys.chain(aggregates.iter().map(|a| a.data_type)).collect()
            }
            PlanNode::Union { inputs } => self.types(&inputs[0]),
        }
    }

    fn meets(&self, row: &[Value], types: &[DataType], predicates: &[Predicate]) -> Result<bool> {
        let parameters = Parameters { values: &self.values, types: &self.types };
        Evaluation { row, types, parameters }.all(predicates)
    }

    fn scalar(&self, row: &[Value], types: &[DataType], scalar: &Scalar) -> Result<Value> {
        let parameters = Parameters { values: &self.values, types: &self.types };
        Evaluation { row, types, parameters }.scalar(scalar)
    }

    fn holds(&self, row: &[Value], types: &[DataType], e: &dyn Expression) -> Result<bool> {
        let parameters = Parameters { values: &self.values, types: &self.types };
        Ok(Evaluation { row, types, parameters }.condition(e)? == Some(true))
    }

    fn kept(
        &self,
        rows: Vec<Row>,
        types: &[DataType],
        predicates: &[Predicate],
    ) -> Result<Vec<Row>> {
        let mut kept = Vec::new();
        for row in rows {
            if self.meets(&row, types, predicates)? {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    fn count(&self, scalar: &Option<Scalar>) -> Result<Option<usize>> {
        let Some(scalar) = scalar else { return Ok(None) };
        Ok(match self.scalar(&[], &[], scalar)? {
            Value::Null => None,
            Value::Integer(n) => Some(n as usize),
            Value::BigInt(n) => Some(n as usize),
            other => panic!("LIMIT {other:?}"),
        })
    }

    fn cut(
        &self,
        rows: Vec<Row>,
        skip: &Option<Scalar>,
        fetch: &Option<Scalar>,
    ) -> Result<Vec<Row>> {
        let skip = self.count(skip)?.unwrap_or(0);
        let fetch = self.count(fetch)?.unwrap_or(usize::MAX);
        Ok(rows.into_iter().skip(skip).take(fetch).collect())
    }

    fn node(&self, node: &PlanNode) -> Result<Vec<Row>> {
        match node {
            PlanNode::Scan { table, predicates } => {
                let view = self.store.table(*table).expect("exists").view(self.store.published());
                self.kept(rows_of(&view), &self.types(node), predicates)
            }
            PlanNode::Values { rows, .. } => {
                let row =
                    |row: &Vec<Scalar>| row.iter().map(|s| self.scalar(&[], &[], s)).collect();
                rows.iter().map(row).collect()
            }
            PlanNode::Filter { input, predicates } => {
                self.kept(self.node(input)?, &self.types(input), predicates)
            }
            PlanNode::Project { input, expressions, .. } => {
                let types = self.types(input);
                let project =
                    |row: Row| expressions.iter().map(|e| self.scalar(&row, &types, e)).collect();
                self.node(input)?.into_iter().map(project).collect()
            }
            PlanNode::Join { kind, left, right, keys, residual } => {
                self.join(*kind, left, right, keys, residual)
            }
            PlanNode::Aggregate { input, keys, aggregates } => {
                self.aggregate(input, keys, aggregates)
            }
            PlanNode::Sort { input, keys, skip, fetch } => {
                let mut rows = self.node(input)?;
                rows.sort_by(|a, b| {
                    keys.iter().map(|key| by_key(key, a, b)).fold(Ordering::Equal, Ordering::then)
                });
                self.cut(rows, skip, fetch)
            }
            PlanNode::Limit { input, skip, fetch } => self.cut(self.node(input)?, skip, fetch),
            PlanNode::Distinct { input } => {
                let mut kept: Vec<Row> = Vec::new();
                for row in self.node(input)? {
                    if !kept.iter().any(|other| same(other, &row)) {
                        kept.push(row);
                    }
                }
                Ok(kept)
            }
            PlanNode::Union { inputs } => {
                let all: Result<Vec<Vec<Row>>> = inputs.iter().map(|i| self.node(i)).collect();
                Ok(all?.concat())
            }
        }
    }

    fn join(
        &self,
        kind: JoinKind,
        left: &PlanNode,
        right: &PlanNode,
        keys: &[(usize, usize)],
        residual: &[Predicate],
    ) -> Result<Vec<Row>> {
        let types = [self.types(left), self.types(right)].concat();
        let (left_width, right_width) = (self.types(left).len(), self.types(right).len());
        let (lefts, rights) = (self.node(left)?, self.node(right)?);
        let mut used = vec![false; rights.len()];
        let mut out = Vec::new();
        for l in &lefts {
            let mut found = false;
            for (position, r) in rights.iter().enumerate() {
                let equal = |(a, b): &(usize, usize)| {
                    let (a, b) = (l[*a].borrow(), r[*b].borrow());
                    !a.is_null() && !b.is_null() && a.compare(b).is_eq()
                };
                let pair = [l.clone(), r.clone()].concat();
                if keys.iter().all(equal) && self.meets(&pair, &types, residual)? {
                    found = true;
                    used[position] = true;
                    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                        out.push(pair);
                    }
                }
            }
            match kind {
                JoinKind::Semi if found => out.push(l.clone()),
                JoinKind::Anti if !found => out.push(l.clone()),
                JoinKind::Left | JoinKind::Full if !found => {
                    out.push([l.clone(), vec![Value::Null; right_width]].concat());
                }
                _ => {}
            }
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            for (r, used) in rights.into_iter().zip(used) {
                if !used {
                    out.push([vec![Value::Null; left_width], r].concat());
                }
            }
        }
        Ok(out)
    }

    fn aggregate(
        &self,
        input: &PlanNode,
        keys: &[usize],
        aggregates: &[Aggregate],
    ) -> Result<Vec<Row>> {
        let types = self.types(input);
        let mut groups: Vec<(Row, Vec<Row>)> = Vec::new();
        if keys.is_empty() {
            groups.push((vec![], vec![]));
        }
        for row in self.node(input)? {
            let key: Row = keys.iter().map(|k| row[*k].clone()).collect();
            match groups.iter_mut().find(|(other, _)| same(other, &key)) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((key, vec![row])),
            }
        }
        let finish = |(key, rows): (Row, Vec<Row>)| {
            let mut out = key;
            for aggregate in aggregates {
                out.push(self.one(aggregate, &rows, &types)?);
            }
            Ok(out)
        };
        groups.into_iter().map(finish).collect()
    }

    fn one(&self, aggregate: &Aggregate, rows: &[Row], types: &[DataType]) -> Result<Value> {
        let mut values: Vec<Value> = Vec::new();
        for row in rows {
            if let Some(filter) = &aggregate.filter
                && !self.holds(row, types, &**filter)?
            {
                continue;
            }
            let value = match &aggregate.argument {
                None => Value::Boolean(true),
                Some(argument) => self.scalar(row, types, argument)?,
            };
            let seen = |v: &Value| v.borrow().compare(value.borrow()).is_eq();
            if !(value.is_null() || aggregate.distinct && values.iter().any(seen)) {
                values.push(value);
            }
        }
        let least = |a: &&Value, b: &&Value| a.borrow().compare(b.borrow());
        Ok(match aggregate.function {
            AggregateFunction::Count => Value::BigInt(values.len() as i64),
            _ if values.is_empty() => Value::Null,
            AggregateFunction::Sum => {
                let sum = values.iter().map(|v| integer(v.borrow())).sum();
                Value::BigInt(sum)
            }
            AggregateFunction::Min => values.iter().min_by(least).cloned().expect("not empty"),
            AggregateFunction::Max => values.iter().max_by(least).cloned().expect("not empty"),
            AggregateFunction::Average => panic!("the operators' own twins cover AVG"),
        })
    }
}

fn integer(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::SmallInt(v) => v.into(),
        ValueRef::Integer(v) => v.into(),
        ValueRef::BigInt(v) => v,
        other => panic!("not an integer: {other:?}"),
    }
}

fn by_key(key: &engine::plan::SortKey, a: &Row, b: &Row) -> Ordering {
    let (a, b) = (a[key.column].borrow(), b[key.column].borrow());
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if key.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if key.nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if key.descending => b.compare(a),
        (false, false) => a.compare(b),
    }
}

/// NULLs are equal here.
pub fn same(a: &[Value], b: &[Value]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.borrow().compare(b.borrow()).is_eq())
}

/// Any total order of rows, to compare multisets.
pub fn order(a: &Row, b: &Row) -> Ordering {
    let cells = a.iter().zip(b);
    cells.map(|(a, b)| a.borrow().compare(b.borrow())).fold(Ordering::Equal, Ordering::then)
}
