//! A template, ready to run: by itself, and with what it computes before it runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::prepared::PreparedLane;
use super::probe_chain::ProbeChain;
use crate::plan::{
    Catalog, CompiledTemplate, LanePlan, Operation, Weight, is_uneven, parameters_read, visit_uses,
};
use crate::query_set::ColumnOrigin;
use crate::storage::{Store, Table};
use crate::types::{
    DataType, Error, NodeId, Result, Scalar, SqlState, TableId, TemplateId, Value, array_cell,
    array_from_values, check_digits,
};

/// A template, ready to run.
#[derive(Debug)]
pub struct Program {
    /// Its plan.
    pub compiled: Arc<CompiledTemplate>,
    /// The template as the only one of a lane: for light lanes and for running alone.
    pub alone: Arc<PreparedLane>,
    /// Where the whole statement is index probes: the chain, and which of its columns are put out.
    pub point: Option<Point>,
    /// Its scalar subqueries, in order.
    pub subqueries: Vec<Subquery>,
    /// Whether nobody knows before how long it takes: rows may cost very much.
    pub is_uneven: bool,
    /// Parameters that something is computed with: their values must have no more digits than their types keep.
    computed: Vec<usize>,
    /// Its tables as they were when it was planned: it is planned again when they have changed much.
    pub planned_for: Vec<PlannedFor>,
}

/// A table as it was when a template was planned.
#[derive(Clone, Copy, Debug)]
pub struct PlannedFor {
    /// The table.
    pub table: TableId,
    /// Its rows.
    pub rows: u64,
    /// See [`Table::surprises`](crate::storage::Table::surprises).
    pub surprises: u64,
}

impl PlannedFor {
    fn of(table: &Table) -> PlannedFor {
        let (rows, surprises) = (table.live_rows(), table.surprises());
        PlannedFor { table: table.schema().id, rows, surprises }
    }

    /// Whether another plan may be better now.
    fn is_stale(&self, now: &PlannedFor) -> bool {
        // Small tables are all alike; beyond that a factor of four changes what is cheap.
        let (least, most) = (self.rows.min(now.rows).max(100), self.rows.max(now.rows).max(100));
        most > 4 * least || self.surprises != now.surprises
    }
}

/// A statement that is index probes and nothing else.
#[derive(Debug)]
pub struct Point {
    /// The probes.
    pub chain: ProbeChain,
    /// Output columns.
    pub columns: Arc<[ColumnOrigin]>,
}

/// A scalar subquery, ready to run.
#[derive(Debug)]
pub struct Subquery {
    /// The parameter that receives its value.
    pub parameter: usize,
    /// The subquery as the only template of a lane.
    pub lane: Arc<PreparedLane>,
    /// Parameters that it reads: activations that agree on them share one run.
    pub reads: Vec<usize>,
}

impl Program {
    /// Makes a plan ready.
    pub fn new(
        template: TemplateId,
        compiled: Arc<CompiledTemplate>,
        catalog: &Catalog,
        store: &Store,
    ) -> Result<Program> {
        let alone = only_template(template, compiled.clone(), catalog, store)?;
        let subqueries = compiled.subqueries.iter().map(|subquery| {
            let own = CompiledTemplate {
                root: subquery.root.clone(),
                weight: subquery.weight,
                subqueries: Vec::new(),
                ..(*compiled).clone()
            };
            Ok(Subquery {
                parameter: subquery.parameter,
                reads: parameters_read(&subquery.root),
                lane: only_template(template, Arc::new(own), catalog, store)?,
            })
        });
        let subqueries = subqueries.collect::<Result<Vec<_>>>()?;
        let point = point(&compiled, store);
        let planned_for = tables(&compiled, store);
        let mut roots = compiled.subqueries.iter().map(|subquery| &subquery.root);
        let is_uneven = is_uneven(&compiled.root) || roots.any(is_uneven);
        let computed = computed(&compiled);
        Ok(Program { point, subqueries, is_uneven, computed, alone, planned_for, compiled })
    }

    /// Whether a table has grown or shrunk so much, or was so different when it was counted anew, that another plan may
    /// be better.
    pub fn is_stale(&self, store: &Store) -> bool {
        self.planned_for.iter().any(|planned| {
            let table = store.table(planned.table);
            table.is_some_and(|table| planned.is_stale(&PlannedFor::of(&table)))
        })
    }

    /// The activation's parameters followed by places for the derived ones.
    pub fn parameters(&self, given: &[Value]) -> Result<Vec<Value>> {
        if given.len() != self.compiled.parameters && !self.accepts(given.len()) {
            let message = format!(
                "bind message supplies {} parameters, but the statement requires {}",
                given.len(),
                self.compiled.parameters - self.compiled.of_subqueries
            );
            return Err(Error::new(SqlState::ProtocolViolation, message));
        }
        let types = &self.compiled.parameter_types;
        let is_given = |parameter: &&usize| **parameter < given.len();
        for &parameter in self.computed.iter().filter(is_given) {
            check_digits(types[parameter], given[parameter].borrow())?;
        }
        let mut values = Vec::with_capacity(types.len());
        values.extend_from_slice(given);
        values.resize(self.compiled.parameter_types.len(), Value::Null);
        self.derive(&mut values, 0)?;
        Ok(values)
    }

    /// The parameters of subqueries come last and may be left out.
    fn accepts(&self, given: usize) -> bool {
        given + self.compiled.of_subqueries == self.compiled.parameters
    }

    /// Computes the derived parameters that `stage` subqueries make computable.
    pub fn derive(&self, values: &mut [Value], stage: usize) -> Result<()> {
        let derived = self.compiled.derived.iter().enumerate();
        for (i, parameter) in derived.filter(|(_, d)| d.stage == stage) {
            let expression = &parameter.expression;
            let types = &self.compiled.parameter_types;
            let array =
                |p: &usize| array_from_values(types[*p], std::iter::once(values[*p].borrow()));
            let arrays: Vec<_> = expression.parameters().iter().map(array).collect();
            let result = expression.evaluate(&[], &arrays, 1)?;
            values[self.compiled.parameters + i] = array_cell(&result, 0).to_owned();
        }
        Ok(())
    }
}

fn only_template(
    template: TemplateId,
    compiled: Arc<CompiledTemplate>,
    catalog: &Catalog,
    store: &Store,
) -> Result<Arc<PreparedLane>> {
    let probes = compiled.weight == Weight::Light || compiled.root.only_probes();
    let mut plan = LanePlan::default();
    let mut next = 0;
    let mut number = |_: &str| {
        next += 1;
        NodeId(next - 1)
    };
    plan.add(template, compiled, catalog, &mut number);
    Ok(Arc::new(PreparedLane::new(Arc::new(plan), store, probes)?))
}

/// The chain of a statement that is index probes under nothing but a choice of columns.
fn point(compiled: &CompiledTemplate, store: &Store) -> Option<Point> {
    if compiled.weight != Weight::Light || !compiled.subqueries.is_empty() {
        return None;
    }
    let (input, columns) = match &compiled.root.operation {
        Operation::Project { expressions, .. } => {
            let column = |scalar: &Scalar| match scalar {
                Scalar::Column(column) => Some(*column),
                _ => None,
            };
            let columns: Option<Vec<usize>> = expressions.iter().map(column).collect();
            (&compiled.root.inputs[0], columns?)
        }
        _ => (&compiled.root, (0..compiled.root.types.len()).collect()),
    };
    let chain = ProbeChain::of(input, store, &compiled.parameter_types)?;
    let columns = columns.into_iter().map(|c| chain.origins()[c]).collect();
    Some(Point { chain, columns })
}

/// The numerics among the parameters that something is computed with.
fn computed(compiled: &CompiledTemplate) -> Vec<usize> {
    let mut found = BTreeSet::new();
    for root in compiled.subqueries.iter().map(|s| &s.root).chain([&compiled.root]) {
        visit_uses(root, &mut |parameter, is_computed| {
            found.extend(is_computed.then_some(parameter));
        });
    }
    let derived = compiled.derived.iter().flat_map(|d| d.expression.parameters());
    found.extend(derived);
    let is_numeric = |parameter: &usize| {
        matches!(compiled.parameter_types.get(*parameter), Some(DataType::Numeric { .. }))
    };
    found.into_iter().filter(is_numeric).collect()
}

fn tables(compiled: &CompiledTemplate, store: &Store) -> Vec<PlannedFor> {
    let mut found: Vec<PlannedFor> = Vec::new();
    let roots = compiled.subqueries.iter().map(|s| &s.root).chain([&compiled.root]);
    for root in roots {
        root.visit(&mut |operator| {
            let (Operation::Scan { table, .. } | Operation::IndexJoin { table, .. }) =
                &operator.operation
            else {
                return;
            };
            if let Some(stored) = store.table(*table)
                && !found.iter().any(|known| known.table == *table)
            {
                found.push(PlannedFor::of(&stored));
            }
        });
    }
    found
}
