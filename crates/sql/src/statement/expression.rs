//! Expressions in definitions: defaults and CHECK conditions.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Expr, Function, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::parser::Parser;
use engine::types::{
    Check, ColumnDefault, DataType, Error, Result, RowRules, Scalar, SequenceSchema, SqlState,
    TableSchema,
};

use super::create_table::nextval_argument;
use super::generated;
use crate::analysis::check_of_row;
use crate::analysis::types::name;
use crate::bounded::Counted;
use crate::catalog::Catalog;
use crate::compile::Relation;
use crate::session::has_function;
use crate::template::{Parameters, Planner};
use crate::text::is_clock_word;

/// The text of an expression that a definition keeps.
pub fn parse(text: &str) -> Result<Expr> {
    let failed = |error| {
        let message = format!("stored expression \"{text}\" does not parse: {error}");
        Error::new(SqlState::InternalError, message)
    };
    let dialect = Counted::new(text.len());
    let mut parser = Parser::new(&dialect).try_with_sql(text).map_err(failed)?;
    let mut expr = parser.parse_expr().map_err(failed)?;
    crate::dialect::name_types(&mut expr);
    Ok(expr)
}

/// What a DEFAULT clause means for a column of a type.
pub fn default(
    planner: &Planner,
    catalog: &Arc<Catalog>,
    expr: &Expr,
    data_type: DataType,
) -> Result<ColumnDefault> {
    if let Some(name) = nextval_argument(expr) {
        let id = sequence(catalog, &name)?.id;
        return Ok(ColumnDefault::Sequence { id, always: false, identity: false });
    }
    refuse_columns(expr)?;
    let known = |name: &str| has_function(planner, name);
    check_of_row(expr, None, catalog, "DEFAULT expressions", &known)?;
    if is_constant(expr) {
        let value = planner.scope(catalog, &[])?.constant(expr, Some(data_type))?;
        return Ok(match value {
            engine::types::Value::Null => ColumnDefault::None,
            value => ColumnDefault::Constant(value),
        });
    }
    // Planned for its faults only; INSERT plans it again with the statement's clock.
    let mut parameters = Parameters::none();
    planner.scope(catalog, &[])?.scalar(expr, Some(data_type), &mut parameters)?;
    Ok(ColumnDefault::Expression(expr.to_string().into()))
}

/// Literals, also cast or negated: the same for all time.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::TypedString(typed) => !is_clock_word(unquoted(&typed.value.to_string())),
        Expr::Cast { expr, .. } | Expr::Nested(expr) | Expr::UnaryOp { expr, .. } => {
            is_constant(expr) && !is_clock_word(unquoted(&expr.to_string()))
        }
        _ => false,
    }
}

/// A literal without its quotes.
fn unquoted(literal: &str) -> &str {
    literal.trim_matches('\'')
}

fn refuse_columns(expr: &Expr) -> Result<()> {
    struct Columns;
    impl ast::Visitor for Columns {
        type Break = &'static str;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<&'static str> {
            match expr {
                Expr::Identifier(name) if name.quote_style.is_none() && is_session_word(name) => {
                    ControlFlow::Continue(())
                }
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                    ControlFlow::Break("cannot use column reference in DEFAULT expression")
                }
                Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                    ControlFlow::Break("cannot use subquery in DEFAULT expression")
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match ast::Visit::visit(expr, &mut Columns) {
        ControlFlow::Break(message) => Err(Error::new(SqlState::FeatureNotSupported, message)),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn is_session_word(name: &ast::Ident) -> bool {
    let word = name.value.to_ascii_lowercase();
    matches!(word.as_str(), "current_user" | "session_user" | "user" | "current_role")
}

/// A sequence by the text that `nextval` and its like take.
pub fn sequence<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Arc<SequenceSchema>> {
    let bare = name.strip_prefix("public.").unwrap_or(name);
    let folded = match bare.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => bare.to_lowercase(),
    };
    catalog.sequence(&folded).ok_or_else(|| {
        if catalog.has_relation(&folded) {
            let message = format!("\"{folded}\" is not a sequence");
            return Error::new(SqlState::WrongObjectType, message);
        }
        super::naming::undefined_table(name)
    })
}

/// Plans what a table says of its rows for its faults.
pub fn validate_rules(
    planner: &Planner,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
) -> Result<()> {
    generated::validate(planner, catalog, table)?;
    rules(planner, catalog, table).map(|_| ())
}

/// What a table says of its rows, compiled.
pub fn rules(planner: &Planner, catalog: &Arc<Catalog>, table: &TableSchema) -> Result<RowRules> {
    let generated = generated::values(planner, catalog, table)?;
    Ok(RowRules { generated, checks: checks(planner, catalog, table)? })
}

/// A table's CHECK conditions, compiled.
pub fn checks(
    planner: &Planner,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
) -> Result<Vec<Check>> {
    let relation = Relation { alias: &table.name, table };
    let scope = planner.scope(catalog, &[relation])?;
    let known = |name: &str| has_function(planner, name);
    let compile = |check: &engine::types::CheckConstraint| {
        let expr = parse(&check.expression)?;
        let found = check_of_row(&expr, Some(table), catalog, "check constraints", &known)?;
        if let Some(found) = found.filter(|found| *found != DataType::Boolean) {
            let found = name(found);
            let message = format!("argument of CHECK must be type boolean, not type {found}");
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        let expression = scope.boolean(&expr, &mut Parameters::none())?;
        Ok(Check { name: check.name.clone(), expression })
    };
    table.checks.iter().map(compile).collect()
}

/// The default of a column as a scalar; `clock` is the number of the parameter that carries
/// `now()`.
pub fn default_scalar(
    planner: &Planner,
    catalog: &Arc<Catalog>,
    text: &str,
    data_type: DataType,
    parameters: &mut Parameters,
    clock: Option<usize>,
) -> Result<Scalar> {
    let mut expr = parse(text)?;
    if let Some(clock) = clock {
        let _ = expr.visit(&mut Clock(clock));
    }
    planner.scope(catalog, &[])?.scalar(&expr, Some(data_type), parameters)
}

/// Whether an expression asks for the time.
pub fn reads_clock(text: &str) -> Result<bool> {
    let mut expr = parse(text)?;
    let before = expr.clone();
    let _ = expr.visit(&mut Clock(1));
    Ok(expr != before)
}

/// Puts the transaction's clock, a parameter, in the place of `now()` and its like.
struct Clock(usize);

impl Clock {
    fn replacement(&self, function: &Function) -> Option<Expr> {
        let name = function.name.0.last()?.as_ident()?.value.to_ascii_lowercase();
        let now = Expr::value(ast::Value::Placeholder(format!("${}", self.0)));
        let cast = |data_type| Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(now.clone()),
            data_type,
            array: false,
            format: None,
        };
        match name.as_str() {
            "now"
            | "current_timestamp"
            | "transaction_timestamp"
            | "statement_timestamp"
            | "clock_timestamp" => Some(now),
            "current_date" => Some(cast(ast::DataType::Date)),
            "localtimestamp" => Some(cast(ast::DataType::Timestamp(None, ast::TimezoneInfo::None))),
            _ => None,
        }
    }
}

impl VisitorMut for Clock {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && let Some(replacement) = self.replacement(function)
        {
            *expr = replacement;
        }
        ControlFlow::Continue(())
    }
}

/// A stored expression as of a moment, in microseconds since 1970: without calls of the clock.
pub fn at_time(text: &str, micros: i64) -> Result<Expr> {
    let mut expr = parse(text)?;
    let mut bytes = Vec::new();
    crate::text::write_value(engine::types::ValueRef::TimestampTz(micros), &mut bytes);
    let moment = String::from_utf8_lossy(&bytes);
    let _ = expr.visit(&mut Clock(1));
    parse(&expr.to_string().replace("$1", &format!("(TIMESTAMPTZ '{moment}')")))
}

/// A stored expression with a column renamed.
pub fn rename(text: &str, old: &str, new: &str) -> Result<String> {
    struct Renamer<'a>(&'a str, &'a str);
    impl VisitorMut for Renamer<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last_mut(),
                _ => None,
            };
            if let Some(name) = name
                && super::naming::fold(name) == self.0
            {
                *name = super::returning::quoted(self.1);
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = parse(text)?;
    let _ = expr.visit(&mut Renamer(old, new));
    Ok(expr.to_string())
}
