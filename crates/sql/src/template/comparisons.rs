//! Comparisons of rows, which DataFusion takes for values of a type of their own that are never NULL, and with the elements of
//! an array that is written out, which it wants to be of one type.
//!
//! Behind the parser they become what PostgreSQL makes of them, one comparison for each pair: `(a, b) = (c, d)` is
//! `a = c AND b = d`, `(a, b) < (c, d)` is `a < c OR a = c AND b < d`; `a = ANY (ARRAY[b, c])` is `a IN (b, c)`,
//! `a = ANY (ARRAY(query))` is `a IN (query)`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArguments, Query, Statement, UnaryOperator, VisitMut,
    VisitorMut,
};

/// The statement without such comparisons; rows must have equally many values.
pub fn spell_out(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Comparisons);
}

struct Comparisons;

impl VisitorMut for Comparisons {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(spelled) = spelled_out(expr) {
            *expr = Expr::Nested(Box::new(spelled));
        }
        ControlFlow::Continue(())
    }
}

fn spelled_out(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = pairable(left, right)?;
            compared(op, left, right)
        }
        Expr::IsDistinctFrom(left, right) => {
            let (left, right) = pairable(left, right)?;
            any(left, right, |a, b| Expr::IsDistinctFrom(Box::new(a), Box::new(b)))
        }
        Expr::IsNotDistinctFrom(left, right) => {
            let (left, right) = pairable(left, right)?;
            all(left, right, |a, b| Expr::IsNotDistinctFrom(Box::new(a), Box::new(b)))
        }
        Expr::InList { expr, list, negated } => {
            let equal = list.iter().map(|item| {
                let (left, right) = pairable(expr, item)?;
                compared(&BinaryOperator::Eq, left, right)
            });
            let member = join(equal.collect::<Option<Vec<_>>>()?, BinaryOperator::Or)?;
            let not = |member| Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: Box::new(Expr::Nested(Box::new(member))),
            };
            Some(if *negated { not(member) } else { member })
        }
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => {
            member(left, right, false)
        }
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => member(left, right, true),
        _ => None,
    }
}

/// The elements of an array that is written out; of one without elements the type is all that is known.
fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Array(array) => (!array.elem.is_empty()).then_some(&array.elem),
        Expr::Nested(inner) => elements(inner),
        _ => None,
    }
}

/// The query whose rows an array is made of.
fn collected(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::Nested(inner) => collected(inner),
        Expr::Function(Function { name, args: FunctionArguments::Subquery(query), .. }) => {
            let word = name.0.last().and_then(|part| part.as_ident())?;
            word.value.eq_ignore_ascii_case("array").then_some(query)
        }
        _ => None,
    }
}

/// Whether a value is among those of an array that is written out, or made of a query's rows.
fn member(expr: &Expr, array: &Expr, negated: bool) -> Option<Expr> {
    let expr = Box::new(expr.clone());
    if let Some(query) = collected(array) {
        return Some(Expr::InSubquery { expr, subquery: Box::new(query.clone()), negated });
    }
    elements(array).map(|list| Expr::InList { expr, list: list.to_vec(), negated })
}

/// The values of two rows, where both have as many: where they do not, that is a fault.
fn pairable<'a>(left: &'a Expr, right: &'a Expr) -> Option<(&'a [Expr], &'a [Expr])> {
    let (left, right) = (row(left)?, row(right)?);
    (left.len() == right.len() && !left.is_empty()).then_some((left, right))
}

fn row(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(values) => Some(values),
        Expr::Nested(inner) => row(inner),
        _ => None,
    }
}

fn compared(op: &BinaryOperator, left: &[Expr], right: &[Expr]) -> Option<Expr> {
    match op {
        BinaryOperator::Eq => all(left, right, |a, b| binary(a, BinaryOperator::Eq, b)),
        BinaryOperator::NotEq => any(left, right, |a, b| binary(a, BinaryOperator::NotEq, b)),
        BinaryOperator::Lt | BinaryOperator::LtEq => ordered(BinaryOperator::Lt, op, left, right),
        BinaryOperator::Gt | BinaryOperator::GtEq => ordered(BinaryOperator::Gt, op, left, right),
        _ => None,
    }
}

/// The first pair that is not equal decides; `last` compares the last one.
fn ordered(
    strict: BinaryOperator,
    last: &BinaryOperator,
    left: &[Expr],
    right: &[Expr],
) -> Option<Expr> {
    let ((a, others), (b, other_others)) = (left.split_first()?, right.split_first()?);
    if others.is_empty() {
        return Some(binary(a.clone(), last.clone(), b.clone()));
    }
    let tie = binary(a.clone(), BinaryOperator::Eq, b.clone());
    let rest = Expr::Nested(Box::new(ordered(strict.clone(), last, others, other_others)?));
    let decided = binary(a.clone(), strict, b.clone());
    Some(binary(decided, BinaryOperator::Or, binary(tie, BinaryOperator::And, rest)))
}

fn all(left: &[Expr], right: &[Expr], pair: impl Fn(Expr, Expr) -> Expr) -> Option<Expr> {
    join(pairs(left, right, pair), BinaryOperator::And)
}

fn any(left: &[Expr], right: &[Expr], pair: impl Fn(Expr, Expr) -> Expr) -> Option<Expr> {
    join(pairs(left, right, pair), BinaryOperator::Or)
}

fn pairs(left: &[Expr], right: &[Expr], pair: impl Fn(Expr, Expr) -> Expr) -> Vec<Expr> {
    left.iter().zip(right).map(|(a, b)| pair(a.clone(), b.clone())).collect()
}

fn join(parts: Vec<Expr>, op: BinaryOperator) -> Option<Expr> {
    parts.into_iter().reduce(|left, right| binary(left, op.clone(), right))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn pairs_are_compared_one_by_one() {
        let spelled = |text: &str| parse(text).expect("parses")[0].to_string();
        assert_eq!(
            spelled("SELECT (a, b) <= (c, 2), (a, b) <> (1, 2)"),
            "SELECT (a < c OR a = c AND (b <= 2)), (a <> 1 OR b <> 2)"
        );
        assert_eq!(
            spelled("SELECT 1 WHERE (a, b) NOT IN ((1, 2), (3, c))"),
            "SELECT 1 WHERE (NOT (a = 1 AND b = 2 OR a = 3 AND b = c))"
        );
        assert_eq!(
            spelled("SELECT 1 AS n WHERE a = ANY (ARRAY[1, b]) OR a <> ALL (ARRAY[$1])"),
            "SELECT 1 AS n WHERE (a IN (1, b)) OR (a NOT IN ($1))"
        );
        let unequal = "SELECT (a, b) = (1, 2, 3)";
        assert_eq!(spelled(unequal), unequal);
    }
}
