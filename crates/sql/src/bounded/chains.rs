//! Long rows of AND, OR and UNION made shallow: `((a AND b) AND c) AND d` is `(a AND b) AND (c AND d)`.
//!
//! The parser nests such a row to the left, as deep as it has members; whatever walks the tree afterwards recurses that
//! deep, and much of it takes the square of that in time. Both trees mean the same and read the same as text.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, SetOperator, SetQuantifier, Statement, Value, Values,
    VisitMut, VisitorMut,
};

/// Rows up to this long stay as they are.
const SHORT: usize = 32;

/// Makes a statement's long rows shallow.
pub fn flatten(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut Flatten);
}

struct Flatten;

impl VisitorMut for Flatten {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        flatten_conditions(expr);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        flatten_members(&mut query.body);
        ControlFlow::Continue(())
    }
}

fn flatten_conditions(expr: &mut Expr) {
    let op = match expr {
        Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => op.clone(),
        _ => return,
    };
    if row_length(expr, &op) <= SHORT {
        return;
    }
    let mut members = Vec::new();
    let mut rest = std::mem::replace(expr, Expr::value(Value::Null));
    loop {
        match rest {
            Expr::BinaryOp { left, op: other, right } if other == op => {
                members.push(*right);
                rest = *left;
            }
            first => {
                members.push(first);
                break;
            }
        }
    }
    members.reverse();
    *expr = shallow(members, &|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: op.clone(),
        right: Box::new(right),
    });
}

fn row_length(mut expr: &Expr, op: &BinaryOperator) -> usize {
    let mut length = 1;
    while let Expr::BinaryOp { left, op: other, .. } = expr
        && other == op
        && length <= SHORT
    {
        length += 1;
        expr = left;
    }
    length
}

/// UNION and INTERSECT of one kind: EXCEPT means something else from the right.
fn flatten_members(body: &mut SetExpr) {
    let SetExpr::SetOperation { op, set_quantifier, .. } = body else { return };
    let kind = (*op, *set_quantifier);
    if !may_be_grouped(kind) || members_of(body, kind) <= SHORT {
        return;
    }
    let mut members = Vec::new();
    let nothing =
        SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: Vec::new() });
    let mut rest = std::mem::replace(body, nothing);
    loop {
        match rest {
            SetExpr::SetOperation { op, set_quantifier, left, right }
                if (op, set_quantifier) == kind =>
            {
                members.push(*right);
                rest = *left;
            }
            first => {
                members.push(first);
                break;
            }
        }
    }
    members.reverse();
    *body = shallow(members, &|left, right| SetExpr::SetOperation {
        op: kind.0,
        set_quantifier: kind.1,
        left: Box::new(left),
        right: Box::new(right),
    });
}

fn may_be_grouped((op, quantifier): (SetOperator, SetQuantifier)) -> bool {
    let is_by_position =
        matches!(quantifier, SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None);
    is_by_position && matches!(op, SetOperator::Union | SetOperator::Intersect)
}

fn members_of(mut body: &SetExpr, kind: (SetOperator, SetQuantifier)) -> usize {
    let mut length = 1;
    while let SetExpr::SetOperation { op, set_quantifier, left, .. } = body
        && (*op, *set_quantifier) == kind
        && length <= SHORT
    {
        length += 1;
        body = left;
    }
    length
}

/// The members in their order, as deep as the logarithm of their number.
fn shallow<T>(mut members: Vec<T>, join: &impl Fn(T, T) -> T) -> T {
    while members.len() > 1 {
        let mut joined = Vec::with_capacity(members.len().div_ceil(2));
        let mut rest = members.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        members = joined;
    }
    members.pop().expect("a row has members")
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn parsed(text: &str) -> Statement {
        Parser::parse_sql(&PostgreSqlDialect {}, text).expect("it parses").remove(0)
    }

    fn flat(text: &str) -> Statement {
        let mut statement = parsed(text);
        flatten(&mut statement);
        statement
    }

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
            _ => 0,
        }
    }

    #[test]
    fn a_long_row_of_conditions_becomes_shallow_and_reads_the_same() {
        let members: Vec<String> = (0..1_000).map(|i| format!("a <> {i}")).collect();
        let text = format!("SELECT a FROM t WHERE {}", members.join(" AND "));
        let statement = flat(&text);
        assert_eq!(statement.to_string(), text);
        let Statement::Query(query) = statement else { panic!("it is one") };
        let select = query.body.as_select().expect("it is one");
        assert!(depth(select.selection.as_ref().expect("there is one")) < 16);
    }

    #[test]
    fn short_rows_and_rows_of_both_stay() {
        for text in ["SELECT a WHERE a AND b AND c", "SELECT 1 UNION SELECT 2 UNION ALL SELECT 3"] {
            assert_eq!(flat(text), parsed(text));
        }
        let mixed = format!("SELECT a WHERE {}", vec!["a AND b OR c"; 20].join(" OR "));
        assert_eq!(flat(&mixed).to_string(), mixed);
    }

    #[test]
    fn a_long_union_becomes_shallow_and_except_stays() {
        let union = vec!["SELECT 1"; 500].join(" UNION ALL ");
        assert_eq!(flat(&union).to_string(), union);
        assert_ne!(flat(&union), parsed(&union));
        let except = vec!["SELECT 1"; 100].join(" EXCEPT ");
        assert_eq!(flat(&except), parsed(&except));
    }
}
