//! Computed columns that differ in casts only.
//!
//! DataFusion names the columns of groupings and windows after their expressions and leaves casts out of the name: `sum(a)` and
//! `sum(a::bigint)` would be two columns of one name, which it refuses. In come queries, out go the same ones in which each such
//! call or key but the first goes through a function that gives back what it gets, under another name. It ends in the
//! optimizer.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr as Planned, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, OrderBy,
    OrderByKind, Query, Select, SelectItem, SetExpr, Value, VisitMut, VisitorMut, WindowType,
};

use super::introspection::{call, plain_name};

const NAME: &str = "__apart";

/// Tells calls and keys of groupings apart that differ in casts only; `is_aggregate` knows aggregates by their names.
pub fn set_apart(query: &mut Query, is_aggregate: &dyn Fn(&str) -> bool) {
    let _ = VisitMut::visit(query, &mut Queries { is_aggregate });
}

struct Queries<'a> {
    is_aggregate: &'a dyn Fn(&str) -> bool,
}

impl VisitorMut for Queries<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            self.select(select, query.order_by.as_mut());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.select(select, None);
        ControlFlow::Continue(())
    }
}

impl Queries<'_> {
    /// One SELECT, with the ORDER BY behind it.
    fn select(&self, select: &mut Select, mut order_by: Option<&mut OrderBy>) {
        let mut noted = Noted::default();
        for key in keys(select, None) {
            noted.note(key);
        }
        let mut calls = Calls { is_aggregate: self.is_aggregate, noted: &mut noted, sets: false };
        calls.visit(select, order_by.as_deref_mut());
        if !noted.has_casts_only() {
            return;
        }
        for key in keys(select, order_by.as_deref_mut()) {
            if let Some(number) = noted.number(key) {
                *key = apart(number, key.clone());
            }
        }
        let mut calls = Calls { is_aggregate: self.is_aggregate, noted: &mut noted, sets: true };
        calls.visit(select, order_by);
    }
}

/// The keys of a grouping, and what may stand for one of them.
fn keys<'a>(select: &'a mut Select, order_by: Option<&'a mut OrderBy>) -> Vec<&'a mut Expr> {
    let mut keys: Vec<&mut Expr> = match &mut select.group_by {
        GroupByExpr::Expressions(keys, _) if !keys.is_empty() => keys.iter_mut().collect(),
        _ => return Vec::new(),
    };
    keys.extend(select.projection.iter_mut().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }));
    if let Some(OrderBy { kind: OrderByKind::Expressions(sorted), .. }) = order_by {
        keys.extend(sorted.iter_mut().map(|key| &mut key.expr));
    }
    keys.retain(|key| !matches!(key, Expr::Function(_)));
    keys
}

/// Texts of expressions, by what they are without casts.
#[derive(Default)]
struct Noted(HashMap<String, Vec<String>>);

impl Noted {
    fn note(&mut self, expr: &Expr) {
        let (text, bare) = texts(expr);
        let known = self.0.entry(bare).or_default();
        if !known.contains(&text) {
            known.push(text);
        }
    }

    /// Whether two differ in casts only.
    fn has_casts_only(&self) -> bool {
        self.0.values().any(|known| known.len() > 1)
    }

    /// The number of one that is not the first of its kind; the one without casts is.
    fn number(&self, expr: &Expr) -> Option<usize> {
        let (text, bare) = texts(expr);
        let known = self.0.get(&bare)?;
        let first = known.iter().position(|text| *text == bare).unwrap_or(0);
        let place = known.iter().position(|known| *known == text)?;
        (place != first).then_some(place + 1)
    }
}

/// The text of an expression, and that without casts.
fn texts(expr: &Expr) -> (String, String) {
    struct Casts;
    impl VisitorMut for Casts {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            while let Expr::Cast { expr: inner, .. } | Expr::Nested(inner) = expr {
                *expr = std::mem::replace(inner, Expr::value(Value::Null));
            }
            ControlFlow::Continue(())
        }
    }
    let mut bare = expr.clone();
    let _ = VisitMut::visit(&mut bare, &mut Casts);
    (expr.to_string(), bare.to_string())
}

/// Notes calls of aggregates and windows, or sets them apart.
struct Calls<'a> {
    is_aggregate: &'a dyn Fn(&str) -> bool,
    noted: &'a mut Noted,
    sets: bool,
}

impl Calls<'_> {
    fn visit(&mut self, select: &mut Select, order_by: Option<&mut OrderBy>) {
        let _ = VisitMut::visit(&mut select.projection, self);
        let _ = VisitMut::visit(&mut select.having, self);
        let _ = VisitMut::visit(&mut select.qualify, self);
        if let Some(order_by) = order_by {
            let _ = VisitMut::visit(order_by, self);
        }
    }
}

impl VisitorMut for Calls<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = &*expr else { return ControlFlow::Continue(()) };
        if function.over.is_none() && !(self.is_aggregate)(&plain_name(function)) {
            return ControlFlow::Continue(());
        }
        if !self.sets {
            self.noted.note(expr);
        } else if let Some(number) = self.noted.number(expr)
            && let Expr::Function(function) = expr
            && let Some(part) = part(function)
        {
            *part = apart(number, part.clone());
        }
        ControlFlow::Continue(())
    }
}

/// A part of a call that its name has in it.
fn part(function: &mut Function) -> Option<&mut Expr> {
    if function.filter.is_some() {
        return function.filter.as_deref_mut();
    }
    if let FunctionArguments::List(list) = &mut function.args
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first_mut()
    {
        return Some(argument);
    }
    match &mut function.over {
        Some(WindowType::WindowSpec(window)) => {
            let sorted = window.order_by.iter_mut().map(|key| &mut key.expr);
            window.partition_by.iter_mut().chain(sorted).next()
        }
        _ => None,
    }
}

fn apart(number: usize, expr: Expr) -> Expr {
    call(NAME, vec![Expr::value(Value::Number(number.to_string(), false)), expr])
}

/// The function that ends in the optimizer.
pub fn function() -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Apart { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Apart {
    signature: Signature,
}

impl ScalarUDFImpl for Apart {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [_, given] => Ok(given.clone()),
            _ => internal_err!("one expression is set apart"),
        }
    }

    fn simplify(&self, mut args: Vec<Planned>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match args.pop() {
            Some(given) => Ok(ExprSimplifyResult::Simplified(given)),
            None => internal_err!("one expression is set apart"),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.pop() {
            Some(given) => Ok(given),
            None => internal_err!("one expression is set apart"),
        }
    }
}
