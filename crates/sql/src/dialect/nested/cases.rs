//! CASEs and calls of a parsed statement that are nested deeply, made shallow.
//!
//! `CASE WHEN a THEN x ELSE CASE WHEN b THEN y ELSE z END END` has its arms in one CASE; where they are nested in other ways, all
//! become calls of a function. A function that has several names is called by its first.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;
use datafusion::sql::sqlparser::ast::{
    CaseWhen, Expr, Ident, ObjectNamePart, Value, VisitMut, VisitorMut,
};

use super::super::introspection::call;
use super::call::{COMPARED, SEARCHED};
use crate::template::fold;

/// Levels of CASE that are planned as they are.
const LEVELS: usize = 3;

/// A statement, or a part of one, that may be nested deeply, as it is planned.
pub fn shallow<T: VisitMut>(node: &mut T, known: &HashMap<String, Arc<ScalarUDF>>) {
    shallow_cases(node);
    if levels(node, |expr| matches!(expr, Expr::Function(_))) > LEVELS {
        let _ = VisitMut::visit(node, &mut Names { known });
    }
}

/// Puts the arms of CASEs that stand in each other's ELSE together where a statement, or a part of one, has more than a few levels
/// of them, and makes calls of all where that does not help.
fn shallow_cases<T: VisitMut>(node: &mut T) {
    if levels(node, is_case) <= LEVELS {
        return;
    }
    let _ = VisitMut::visit(node, &mut Arms);
    if levels(node, is_case) > LEVELS {
        let _ = VisitMut::visit(node, &mut Calls);
    }
}

fn is_case(expr: &Expr) -> bool {
    matches!(expr, Expr::Case { .. })
}

/// How many of a kind stand within one another.
fn levels<T: VisitMut>(node: &mut T, counts: fn(&Expr) -> bool) -> usize {
    let mut levels = Levels { counts, open: 0, most: 0 };
    let _ = VisitMut::visit(node, &mut levels);
    levels.most
}

struct Levels {
    counts: fn(&Expr) -> bool,
    open: usize,
    most: usize,
}

impl VisitorMut for Levels {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if (self.counts)(expr) {
            self.open += 1;
            self.most = self.most.max(self.open);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.open -= usize::from((self.counts)(expr));
        ControlFlow::Continue(())
    }
}

/// Calls by the names that functions have themselves. DataFusion's planner gives one that is called by another name that name as an
/// alias, of which the type is asked for twice.
struct Names<'a> {
    known: &'a HashMap<String, Arc<ScalarUDF>>,
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let [.., ObjectNamePart::Identifier(name)] = &mut function.name.0[..]
            && let Some(called) = self.known.get(&fold(name))
            && self.known.get(called.name()).is_some_and(|own| own == called)
        {
            *name = Ident::new(called.name());
        }
        ControlFlow::Continue(())
    }
}

struct Arms;

impl VisitorMut for Arms {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Case { operand: None, conditions, else_result, .. } = expr {
            while let Some((arms, rest)) = arms_of(else_result) {
                conditions.extend(arms);
                *else_result = rest;
            }
        }
        ControlFlow::Continue(())
    }
}

/// The arms and the ELSE of a CASE without an operand that is the whole of an ELSE.
fn arms_of(otherwise: &mut Option<Box<Expr>>) -> Option<(Vec<CaseWhen>, Option<Box<Expr>>)> {
    let mut inner = otherwise.as_deref_mut()?;
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    match inner {
        Expr::Case { operand: None, conditions, else_result, .. } => {
            Some((std::mem::take(conditions), else_result.take()))
        }
        _ => None,
    }
}

struct Calls;

impl VisitorMut for Calls {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Case { operand, conditions, else_result, .. } = expr else {
            return ControlFlow::Continue(());
        };
        let name = if operand.is_some() { COMPARED } else { SEARCHED };
        let mut arguments: Vec<Expr> = operand.take().map(|operand| *operand).into_iter().collect();
        for CaseWhen { condition, result } in std::mem::take(conditions) {
            arguments.extend([condition, result]);
        }
        let otherwise = else_result.take().map(|otherwise| *otherwise);
        arguments.push(otherwise.unwrap_or_else(|| Expr::value(Value::Null)));
        *expr = call(name, arguments);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::Statement;
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn with_shallow_cases(text: &str) -> String {
        let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, text).expect("it parses");
        shallow_cases(&mut statements[0]);
        statements[0].to_string()
    }

    #[test]
    fn functions_are_called_by_their_own_names() {
        let known = datafusion::functions::all_default_functions().into_iter();
        let known = known.flat_map(|function| {
            let names: Vec<String> = function.aliases().to_vec();
            let own = function.name().to_owned();
            names.into_iter().chain([own]).map(move |name| (name, function.clone()))
        });
        let nested = |levels: usize| {
            let text = (0..levels).fold("a".to_owned(), |inner, _| format!("LENGTH({inner})"));
            Parser::parse_sql(&PostgreSqlDialect {}, &format!("SELECT {text}")).expect("parses")
        };
        let known = known.collect();
        let named = |mut statements: Vec<Statement>| {
            shallow(&mut statements[0], &known);
            statements[0].to_string().matches("character_length").count()
        };
        assert_eq!((named(nested(3)), named(nested(4))), (0, 4));
    }

    #[test]
    fn few_levels_stay() {
        let text =
            "SELECT CASE WHEN a THEN 1 ELSE CASE WHEN b THEN CASE c WHEN 1 THEN 2 END END END";
        assert_eq!(with_shallow_cases(text), text);
    }

    #[test]
    fn what_stands_in_else_becomes_arms_of_one() {
        let mut text = "4".to_owned();
        for name in ["d", "c", "b", "a"] {
            text = format!("(CASE WHEN {name} THEN 1 ELSE {text} END)");
        }
        assert_eq!(
            with_shallow_cases(&format!("SELECT {text}")),
            "SELECT (CASE WHEN a THEN 1 WHEN b THEN 1 WHEN c THEN 1 WHEN d THEN 1 ELSE 4 END)"
        );
    }

    #[test]
    fn what_is_nested_otherwise_becomes_calls() {
        let nested = (0..4).fold("a".to_owned(), |inner, i| match i % 2 {
            0 => format!("CASE WHEN b = {inner} THEN {i} ELSE 2 END"),
            _ => format!("CASE {inner} WHEN {i} THEN 3 END"),
        });
        assert_eq!(
            with_shallow_cases(&format!("SELECT {nested}")),
            "SELECT __case_of(__case(b = __case_of(__case(b = a, 0, 2), 1, 3, NULL), 2, 2), 3, 3, NULL)"
        );
    }
}
