//! The slow obvious interpreter of template plans: what every batch is compared with.

use std::collections::BTreeMap;

use engine::plan::{Aggregate, AggregateFunction, JoinKind, PlanNode, TemplatePlan};
use engine::storage::{Store, TableView};
use engine::transaction::{Evaluation, Parameters};
use engine::types::{
    DataType, Error, Expression, Predicate, Result, Scalar, SqlState, Value, Version,
};
use std::cmp::Ordering;
use std::sync::Arc;

pub type Row = Vec<Value>;

/// Runs a template for one activation on a version.
pub fn answer(
    plan: &TemplatePlan,
    store: &Arc<Store>,
    version: Version,
    given: &[Value],
) -> Result<Vec<Row>> {
    let mut values = given.to_vec();
    values.resize(plan.parameters.len(), Value::Null);
    let types = plan.parameters.clone();
    let mut interpreter = Interpreter { store, version, values, types };
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
    version: Version,
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
                let view = self.store.table(*table).expect("exists").view(self.version);
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
                let mut kept: BTreeMap<Ordered, ()> = BTreeMap::new();
                for row in self.node(input)? {
                    kept.entry(Ordered(row)).or_default();
                }
                Ok(kept.into_keys().map(|Ordered(row)| row).collect())
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
        // Right rows by their keys: NULL equals nothing.
        let mut by_key: BTreeMap<Ordered, Vec<usize>> = BTreeMap::new();
        for (position, r) in rights.iter().enumerate() {
            let key: Row = keys.iter().map(|(_, b)| r[*b].clone()).collect();
            by_key.entry(Ordered(key)).or_default().push(position);
        }
        for l in &lefts {
            let mut found = false;
            let key: Row = keys.iter().map(|(a, _)| l[*a].clone()).collect();
            let partners = match key.iter().any(Value::is_null) {
                true => &[][..],
                false => by_key.get(&Ordered(key)).map_or(&[][..], Vec::as_slice),
            };
            for &position in partners {
                let pair = [l.clone(), rights[position].clone()].concat();
                if self.meets(&pair, &types, residual)? {
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
        let mut groups: BTreeMap<Ordered, Vec<Row>> = BTreeMap::new();
        if keys.is_empty() {
            groups.insert(Ordered(vec![]), vec![]);
        }
        for row in self.node(input)? {
            let key: Row = keys.iter().map(|k| row[*k].clone()).collect();
            groups.entry(Ordered(key)).or_default().push(row);
        }
        let finish = |(Ordered(key), rows): (Ordered, Vec<Row>)| {
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
        let mut seen: BTreeMap<Ordered, ()> = BTreeMap::new();
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
            let mut again = || seen.insert(Ordered(vec![value.clone()]), ()).is_some();
            if !(value.is_null() || aggregate.distinct && again()) {
                values.push(value);
            }
        }
        let least = |a: &&Value, b: &&Value| a.borrow().compare(b.borrow());
        Ok(match aggregate.function {
            AggregateFunction::Count => Value::BigInt(values.len() as i64),
            _ if values.is_empty() => Value::Null,
            AggregateFunction::Sum => total(&values, aggregate.data_type, 1),
            AggregateFunction::Average => total(&values, aggregate.data_type, values.len() as i128),
            AggregateFunction::Min => values.iter().min_by(least).cloned().expect("not empty"),
            AggregateFunction::Max => values.iter().max_by(least).cloned().expect("not empty"),
        })
    }
}

/// The sum by a divisor, rounded half away from zero.
fn total(values: &[Value], data_type: DataType, divisor: i128) -> Value {
    let float = |value: &Value| match value {
        Value::Real(v) => f64::from(*v),
        Value::Double(v) => *v,
        other => panic!("not a float: {other:?}"),
    };
    let digits = |value: &Value| match value {
        Value::SmallInt(v) => (i128::from(*v), 0),
        Value::Integer(v) => (i128::from(*v), 0),
        Value::BigInt(v) => (i128::from(*v), 0),
        Value::Numeric(v, scale) => (*v, *scale),
        other => panic!("not exact: {other:?}"),
    };
    let floats = || values.iter().map(float).sum::<f64>() / divisor as f64;
    match data_type {
        DataType::Double => Value::Double(floats()),
        DataType::Real => Value::Real(floats() as f32),
        DataType::BigInt => Value::BigInt(values.iter().map(|v| digits(v).0).sum::<i128>() as i64),
        DataType::Numeric { scale, .. } => {
            let scaled = |(v, own): (i128, u8)| v * 10i128.pow(u32::from(scale - own));
            let sum: i128 = values.iter().map(digits).map(scaled).sum();
            let (quotient, rest) = (sum / divisor, (sum % divisor).abs());
            let away = if 2 * rest >= divisor { sum.signum() } else { 0 };
            Value::Numeric(quotient + away, scale)
        }
        other => panic!("no sum is {other}"),
    }
}

/// A row in [`order`].
#[derive(Clone, Debug)]
struct Ordered(Row);

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> Ordering {
        order(&self.0, &other.0)
    }
}

pub fn by_key(key: &engine::plan::SortKey, a: &Row, b: &Row) -> Ordering {
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
