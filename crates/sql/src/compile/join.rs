//! Joins: keys are columns of both sides, everything else of the condition is residual.

use std::sync::Arc;

use datafusion::common::NullEquality;
use datafusion::logical_expr::{Expr, ExprSchemable, Join, JoinType};
use engine::plan::{JoinKind, PlanNode};
use engine::types::{DataType, Predicate};

use super::node::{Columns, Input};
use super::predicate::{predicates, scalar};
use super::query::Compiler;
use super::{Result, refuse, unalias};
use crate::catalog::types::from_arrow;

/// Compiles a join.
pub fn join(compiler: &mut Compiler, join: &Join) -> Result<Input> {
    if join.null_aware {
        return refuse("NOT IN over a column that may be NULL");
    }
    if join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty() {
        return refuse("a join where NULL equals NULL (INTERSECT, EXCEPT)");
    }
    let (kind, swapped) = match join.join_type {
        JoinType::Inner => (JoinKind::Inner, false),
        JoinType::Left => (JoinKind::Left, false),
        JoinType::Right => (JoinKind::Right, false),
        JoinType::Full => (JoinKind::Full, false),
        JoinType::LeftSemi => (JoinKind::Semi, false),
        JoinType::LeftAnti => (JoinKind::Anti, false),
        JoinType::RightSemi => (JoinKind::Semi, true),
        JoinType::RightAnti => (JoinKind::Anti, true),
        other => return refuse(format!("a {other} join (EXISTS or IN inside an expression)")),
    };
    let mut left = compiler.node(&join.left)?;
    let mut right = compiler.node(&join.right)?;
    let mut keys = Vec::with_capacity(join.on.len());
    for (l, r) in &join.on {
        keys.push(key(compiler, &mut left, l, &mut right, r)?);
    }
    if swapped {
        std::mem::swap(&mut left, &mut right);
        keys.iter_mut().for_each(|(l, r)| std::mem::swap(l, r));
    }
    let residual = residual(compiler, join, &left, &right)?;
    Ok(build(join, kind, left, right, keys, residual))
}

fn build(
    join: &Join,
    kind: JoinKind,
    left: Input,
    right: Input,
    keys: Vec<(usize, usize)>,
    residual: Vec<Predicate>,
) -> Input {
    let width = left.types.len();
    let mut columns = left.columns;
    let mut types = left.types;
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        columns.extend(right.columns.iter().map(|column| column + width));
        types.extend(right.types);
    }
    let (left, right) = (Box::new(left.node), Box::new(right.node));
    let node = PlanNode::Join { kind, left, right, keys, residual };
    Input { node, schema: join.schema.clone(), columns, types }
}

/// One pair of key columns, computed first where they are not plain columns of one type.
fn key(
    compiler: &mut Compiler,
    left: &mut Input,
    l: &Expr,
    right: &mut Input,
    r: &Expr,
) -> Result<(usize, usize)> {
    let left_key = key_column(compiler, left, l)?;
    let right_key = key_column(compiler, right, r)?;
    Ok((left_key, right_key))
}

/// The position of an expression among an input's columns; a computed column where it is not plain.
pub fn key_column(compiler: &mut Compiler, input: &mut Input, expr: &Expr) -> Result<usize> {
    let expr = unalias(expr);
    if let Expr::Column(column) = expr {
        return input.position(column);
    }
    let data_type = expr.get_type(&*input.schema).map_err(|error| error.to_string())?;
    let value = scalar(expr, &mut Columns::of(compiler, input))?;
    Ok(input.append(value, exact_type(&data_type)?))
}

/// The engine's type of a computed column.
pub fn exact_type(arrow: &datafusion::arrow::datatypes::DataType) -> Result<DataType> {
    if crate::catalog::types::is_exact(arrow) {
        return Ok(from_arrow(arrow));
    }
    refuse(format!("a column of type {arrow}"))
}

fn residual(
    compiler: &mut Compiler,
    join: &Join,
    left: &Input,
    right: &Input,
) -> Result<Vec<Predicate>> {
    let Some(filter) = &join.filter else { return Ok(Vec::new()) };
    let whole = left.schema.join(&right.schema).map_err(|error| error.to_string())?;
    let width = left.types.len();
    let columns = left.columns.iter().copied();
    let columns = columns.chain(right.columns.iter().map(|column| column + width)).collect();
    predicates(filter, &mut Columns::new(compiler, Arc::new(whole), columns))
}
