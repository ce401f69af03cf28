//! Conditions in the form that the engine finds rows by.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, InList, Like};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use engine::types::{Comparison, Predicate, Scalar, Value};

use super::expression::{Evaluated, Resolve};
use super::{Result, guards, refuse, unalias};
use crate::template::placeholder_index;

/// The conjuncts of a condition.
pub fn predicates(expr: &Expr, resolve: &mut dyn Resolve) -> Result<Vec<Predicate>> {
    guards::conjunction(&conjuncts(expr), &[], resolve)
}

/// The conjuncts of several conditions that all have to be true.
pub fn predicates_of(all: &[Expr], resolve: &mut dyn Resolve) -> Result<Vec<Predicate>> {
    let all: Vec<&Expr> = all.iter().flat_map(conjuncts).collect();
    guards::conjunction(&all, &[], resolve)
}

fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    let mut conjuncts = Vec::new();
    split(unalias(expr), Operator::And, &mut conjuncts);
    conjuncts
}

fn split<'a>(expr: &'a Expr, by: Operator, out: &mut Vec<&'a Expr>) {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == by => {
            split(left, by, out);
            split(right, by, out);
        }
        other => out.push(other),
    }
}

/// Adds the predicates that a conjunct is.
pub fn predicate(expr: &Expr, resolve: &mut dyn Resolve, out: &mut Vec<Predicate>) -> Result<()> {
    if matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(true)), _)) {
        return Ok(());
    }
    if let Expr::Between(Between { expr, negated: false, low: low_bound, high: high_bound }) = expr
    {
        let low = compare(expr, Comparison::GreaterOrEqual, low_bound, resolve)?;
        let high = compare(expr, Comparison::LessOrEqual, high_bound, resolve)?;
        if let (Some(low), Some(high)) = (low, high) {
            out.extend([low, high]);
            return Ok(());
        }
        // Two comparisons have an index each where the engine can compute their left side for all queries at once.
        let compared = |op, bound: &Expr| {
            let (left, right) = (expr.clone(), Box::new(bound.clone()));
            Expr::BinaryExpr(BinaryExpr { left, op, right })
        };
        predicate(&compared(Operator::GtEq, low_bound), resolve, out)?;
        return predicate(&compared(Operator::LtEq, high_bound), resolve, out);
    }
    let found = match native(expr, resolve)? {
        Some(found) => found,
        None => Predicate::Expression(Arc::new(Evaluated::compile(expr, resolve)?)),
    };
    out.push(found);
    Ok(())
}

/// The native form, where there is one.
fn native(expr: &Expr, resolve: &mut dyn Resolve) -> Result<Option<Predicate>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => alternatives(expr, resolve),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match comparison(*op) {
            Some(comparison) => compare(left, comparison, right, resolve),
            None => Ok(None),
        },
        Expr::InList(list) => in_list(list, resolve),
        Expr::Like(like) => self::like(like, resolve),
        Expr::IsNull(inner) => is_null(inner, false, resolve),
        Expr::IsNotNull(inner) => is_null(inner, true, resolve),
        Expr::Column(_) => boolean(expr, true, resolve),
        Expr::Not(inner) if matches!(**inner, Expr::Column(_)) => boolean(inner, false, resolve),
        _ => Ok(None),
    }
}

fn boolean(expr: &Expr, wanted: bool, resolve: &mut dyn Resolve) -> Result<Option<Predicate>> {
    let column = column_of(expr, resolve)?;
    let value = Scalar::Literal(Value::Boolean(wanted));
    Ok(column.map(|(column, _)| Predicate::Compare {
        column,
        comparison: Comparison::Equal,
        value,
    }))
}

fn is_null(expr: &Expr, negated: bool, resolve: &mut dyn Resolve) -> Result<Option<Predicate>> {
    let column = column_of(expr, resolve)?;
    Ok(column.map(|(column, _)| Predicate::IsNull { column, negated }))
}

/// The engine's comparison behind an operator.
pub fn comparison(op: Operator) -> Option<Comparison> {
    Some(match op {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// The comparison with its sides changed.
pub fn swap(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        other => other,
    }
}

fn compare(
    left: &Expr,
    comparison: Comparison,
    right: &Expr,
    resolve: &mut dyn Resolve,
) -> Result<Option<Predicate>> {
    if let Some((column, data_type)) = column_of(left, resolve)?
        && let Some(value) = operand(right, &data_type, resolve)?
    {
        return Ok(Some(Predicate::Compare { column, comparison, value }));
    }
    if let Some((column, data_type)) = column_of(right, resolve)?
        && let Some(value) = constant(left, &data_type, resolve)?
    {
        return Ok(Some(Predicate::Compare { column, comparison: swap(comparison), value }));
    }
    Ok(None)
}

/// The column behind an expression, also below casts between numbers, which compare by value anyway.
pub fn column_of(expr: &Expr, resolve: &mut dyn Resolve) -> Result<Option<(usize, ArrowType)>> {
    match unalias(expr) {
        Expr::Column(column) => resolve.column(column).map(Some),
        Expr::Cast(cast) => {
            let inner = column_of(&cast.expr, resolve)?;
            let kept = |(_, from): &(usize, ArrowType)| keeps_value(from, cast.field.data_type());
            Ok(inner.filter(kept))
        }
        _ => Ok(None),
    }
}

/// Whether a cast changes no comparison.
fn keeps_value(from: &ArrowType, to: &ArrowType) -> bool {
    use ArrowType::*;
    let string = crate::catalog::types::is_string;
    match (from, to) {
        (from, to) if string(from) && string(to) => true,
        (Int16, Int32 | Int64) | (Int32, Int64) => true,
        (Int16 | Int32 | Int64, Decimal128(..) | Float64) => true,
        (Decimal128(_, from), Decimal128(_, to)) => to >= from,
        (Decimal128(..), Float64) | (Float32, Float64) => true,
        _ => false,
    }
}

/// A constant, or another column.
fn operand(expr: &Expr, other: &ArrowType, resolve: &mut dyn Resolve) -> Result<Option<Scalar>> {
    if let Some((column, data_type)) = column_of(expr, resolve)? {
        let comparable = data_type == *other || (data_type.is_numeric() && other.is_numeric());
        return Ok(comparable.then_some(Scalar::Column(column)));
    }
    constant(expr, other, resolve)
}

/// A parameter, a literal or an expression over parameters only.
pub fn constant(
    expr: &Expr,
    other: &ArrowType,
    resolve: &mut dyn Resolve,
) -> Result<Option<Scalar>> {
    let expr = unalias(expr);
    if !expr.column_refs().is_empty() {
        return Ok(None);
    }
    let scalar = scalar(expr, resolve)?;
    // A number of another kind compares by value; anything else must have the column's type.
    let fits = match &scalar {
        Scalar::Expression(expression) => {
            let own = expression.data_type().arrow();
            own == *other || (own.is_numeric() && other.is_numeric())
        }
        _ => true,
    };
    Ok(fits.then_some(scalar))
}

/// The engine's form of an expression.
pub fn scalar(expr: &Expr, resolve: &mut dyn Resolve) -> Result<Scalar> {
    match unalias(expr) {
        Expr::Column(column) => Ok(Scalar::Column(resolve.column(column)?.0)),
        Expr::Placeholder(placeholder) => {
            let index = placeholder_index(&placeholder.id).map_err(|e| e.message.clone())?;
            Ok(Scalar::Parameter(index))
        }
        Expr::ScalarSubquery(subquery) => Ok(Scalar::Parameter(resolve.subquery(subquery)?.0)),
        Expr::Literal(value, _) => literal(value),
        other => Ok(Scalar::Expression(Arc::new(Evaluated::compile(other, resolve)?))),
    }
}

/// A literal as the engine's value.
pub fn literal(value: &ScalarValue) -> Result<Scalar> {
    let array = value.to_array().map_err(|error| error.to_string())?;
    let exact = crate::catalog::types::from_arrow(array.data_type()).arrow();
    let Ok(array) = crate::alone::to_exact(&array, &exact) else {
        return refuse(format!("a literal of type {}", value.data_type()));
    };
    Ok(Scalar::Literal(engine::types::array_cell(&array, 0).to_owned()))
}

fn in_list(list: &InList, resolve: &mut dyn Resolve) -> Result<Option<Predicate>> {
    let Some((column, data_type)) = column_of(&list.expr, resolve)? else { return Ok(None) };
    let mut values = Vec::with_capacity(list.list.len());
    for item in &list.list {
        match operand(item, &data_type, resolve)? {
            Some(value) => values.push(value),
            None => return Ok(None),
        }
    }
    Ok(Some(Predicate::In { column, values, negated: list.negated }))
}

fn like(like: &Like, resolve: &mut dyn Resolve) -> Result<Option<Predicate>> {
    if !matches!(like.escape_char, None | Some('\\')) {
        return Ok(None);
    }
    let Some((column, data_type)) = column_of(&like.expr, resolve)? else { return Ok(None) };
    if !crate::catalog::types::is_string(&data_type) {
        return Ok(None);
    }
    let pattern = constant(&like.pattern, &ArrowType::Utf8View, resolve)?;
    Ok(pattern.map(|pattern| Predicate::Like {
        column,
        pattern,
        negated: like.negated,
        case_insensitive: like.case_insensitive,
    }))
}

/// `a = 1 OR a = 2` is `a IN (1, 2)`; other alternatives stay apart.
fn alternatives(expr: &Expr, resolve: &mut dyn Resolve) -> Result<Option<Predicate>> {
    let mut arms = Vec::new();
    split(expr, Operator::Or, &mut arms);
    let asked =
        (0..arms.len()).map(|at| guards::conjunction(&conjuncts(arms[at]), &arms[..at], resolve));
    let arms = asked.collect::<Result<Vec<Vec<Predicate>>>>()?;
    // An arm that is always true makes the whole condition so.
    if arms.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    Ok(Some(equalities(&arms).unwrap_or(Predicate::Or(arms))))
}

fn equalities(arms: &[Vec<Predicate>]) -> Option<Predicate> {
    let mut shared = None;
    let mut all = Vec::new();
    for arm in arms {
        let (column, values) = match arm.as_slice() {
            [Predicate::Compare { column, comparison: Comparison::Equal, value }] => {
                (*column, vec![value.clone()])
            }
            [Predicate::In { column, values, negated: false }] => (*column, values.clone()),
            _ => return None,
        };
        if *shared.get_or_insert(column) != column {
            return None;
        }
        all.extend(values);
    }
    Some(Predicate::In { column: shared?, values: all, negated: false })
}
