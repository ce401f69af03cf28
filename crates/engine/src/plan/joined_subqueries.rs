//! Scalar subqueries that read what the statement around them reads are joined with it: `WHERE total = (SELECT
//! max(total) FROM r)` over a grouping `r` becomes a semi join of `r` with the row of its maximum.
//!
//! A subquery runs before its statement, with sets of its own, so that nothing of it is there when the statement runs.
//! As a part of the tree it sees the same slots in the same batch, and equal sub-plans of a tree are run once
//! ([`super::reuse`]). What is not equal below gains nothing by it and stays a parameter.
//!
//! Only equality is joined: by another comparison each row would meet the value of every slot of the batch.

use super::push_filters::filtered;
use super::semi_joins::types;
use super::{
    Catalog, CompiledTemplate, JoinKind, Operation, PlanNode, TemplatePlan, Weight, parameters_read,
};
use crate::types::{Comparison, DataType, Predicate, Result, Scalar};

/// The plan with one subquery joined wherever its value is compared; `None` where that is not the same.
pub fn join(
    plan: &TemplatePlan,
    parameter: usize,
    catalog: &Catalog,
) -> Result<Option<TemplatePlan>> {
    let mut plan = plan.clone();
    let Some(at) = plan.scalar_subqueries.iter().position(|s| s.parameter == parameter) else {
        return Ok(None);
    };
    let subquery = plan.scalar_subqueries.remove(at).root;
    let key = types(&subquery, catalog)?.first().copied().filter(|key| !is_floating(*key));
    let Some(key) = key.filter(|_| gives_one_row(&subquery)) else { return Ok(None) };
    let mut joining = Joining { parameter, subquery, key, catalog, joined: 0 };
    plan.root = joining.of(plan.root)?;
    Ok((joining.joined > 0).then_some(plan))
}

/// Whether joining the subquery of this parameter has spared work.
pub fn is_better(joined: &CompiledTemplate, before: &CompiledTemplate, parameter: usize) -> bool {
    joined.weight == Weight::Heavy
        && reused(joined) > reused(before)
        && !reads(joined, parameter)
        && joined.one() < before.one()
}

/// How many sub-plans of the tree are there already.
fn reused(compiled: &CompiledTemplate) -> usize {
    let mut found = 0;
    compiled.root.visit(&mut |operator| {
        found += usize::from(matches!(operator.operation, Operation::Reused { .. }));
    });
    found
}

fn reads(compiled: &CompiledTemplate, parameter: usize) -> bool {
    let roots = compiled.subqueries.iter().map(|subquery| &subquery.root).chain([&compiled.root]);
    let derived = compiled.derived.iter().flat_map(|derived| derived.expression.parameters());
    let read = roots.flat_map(parameters_read).chain(derived.copied());
    read.into_iter().any(|read| read == parameter)
}

/// Zero of floats has two forms and NaN several, which a key and a comparison may tell apart.
fn is_floating(key: DataType) -> bool {
    matches!(key, DataType::Real | DataType::Double)
}

/// A grouping without keys has one row whatever it reads, and what computes nothing from it cannot fail.
fn gives_one_row(node: &PlanNode) -> bool {
    match node {
        PlanNode::Aggregate { keys, .. } => keys.is_empty(),
        PlanNode::Project { input, expressions, .. } => {
            let is_column = |expression: &Scalar| matches!(expression, Scalar::Column(_));
            expressions.iter().all(is_column) && gives_one_row(input)
        }
        _ => false,
    }
}

struct Joining<'a> {
    parameter: usize,
    subquery: PlanNode,
    /// The type of its value.
    key: DataType,
    catalog: &'a Catalog,
    joined: usize,
}

impl Joining<'_> {
    fn of(&mut self, node: PlanNode) -> Result<PlanNode> {
        let node = node.map_inputs(&mut |input| self.of(input))?;
        let PlanNode::Filter { input, predicates } = node else { return Ok(node) };
        let types = types(&input, self.catalog)?;
        let (mut keys, mut others) = (Vec::new(), Vec::new());
        for predicate in predicates {
            match self.compared(&predicate).filter(|column| types[*column] == self.key) {
                Some(column) => keys.push(column),
                None => others.push(predicate),
            }
        }
        self.joined += keys.len();
        let input = filtered(*input, others);
        Ok(keys.into_iter().fold(input, |left, column| PlanNode::Join {
            kind: JoinKind::Semi,
            left: Box::new(left),
            right: Box::new(self.subquery.clone()),
            keys: vec![(column, 0)],
            residual: Vec::new(),
        }))
    }

    /// The column that a predicate wants equal to the subquery's value.
    fn compared(&self, predicate: &Predicate) -> Option<usize> {
        match predicate {
            Predicate::Compare {
                column,
                comparison: Comparison::Equal,
                value: Scalar::Parameter(parameter),
            } if *parameter == self.parameter => Some(*column),
            _ => None,
        }
    }
}
