//! PREPARE, EXECUTE and DEALLOCATE.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Expr, Ident, ObjectName};
use engine::types::{DataType, Error, Result, SqlState, Value};

use super::data_type::data_type;
use super::naming::{fold, split};
use crate::catalog::types::id_of;
use crate::session::{ColumnDescription, ImplicitTransaction, Outcome, Session, Statement};
use crate::text::{at_wanted_scale, numeric_as_sent};

/// Runs PREPARE.
pub async fn prepare(
    session: &mut Session,
    name: &Ident,
    types: &[ast::DataType],
    statement: &ast::Statement,
) -> Result<String> {
    let name = fold(name);
    refuse_utility(statement)?;
    let types =
        types.iter().map(|named| data_type(named).map(id_of)).collect::<Result<Vec<_>>>()?;
    let prepared = session.prepare_part(&statement.to_string(), &types).await;
    session.keep_statement(&name, prepared.map_err(Error::unplaced)?)?;
    Ok("PREPARE".to_owned())
}

/// PostgreSQL's grammar knows no other statements here.
fn refuse_utility(statement: &ast::Statement) -> Result<()> {
    use ast::Statement::{Delete, Insert, Merge, Query, Update};
    if matches!(statement, Query(_) | Insert(_) | Update(_) | Delete(_) | Merge(_)) {
        return Ok(());
    }
    let text = statement.to_string();
    let word = text.split_whitespace().next().unwrap_or_default();
    Err(Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{word}\"")))
}

fn find(session: &Session, name: Option<&ObjectName>) -> Result<Arc<Statement>> {
    let name = match name {
        Some(name) => split(name)?.1,
        None => String::new(),
    };
    session.statement(&name).cloned().ok_or_else(|| undefined(&name))
}

fn undefined(name: &str) -> Error {
    let message = format!("prepared statement \"{name}\" does not exist");
    Error::new(SqlState::InvalidStatementName, message)
}

/// The columns that EXECUTE answers with.
pub fn columns(
    session: &Session,
    name: Option<&ObjectName>,
) -> Result<Option<Arc<[ColumnDescription]>>> {
    Ok(find(session, name)?.columns.clone())
}

/// Runs EXECUTE.
pub async fn execute(
    session: &mut Session,
    name: Option<&ObjectName>,
    arguments: &[Expr],
    implicit: ImplicitTransaction,
) -> Result<Outcome> {
    let (statement, values) = bound(session, name, arguments)?;
    session.execute_nested(&statement, values, implicit).await
}

/// What EXECUTE runs: the prepared statement, and the arguments as values of its parameters' types.
pub fn bound(
    session: &Session,
    name: Option<&ObjectName>,
    arguments: &[Expr],
) -> Result<(Arc<Statement>, Vec<Value>)> {
    let statement = find(session, name)?;
    if arguments.len() != statement.parameters.len() {
        let name = name.map(ToString::to_string).unwrap_or_default();
        let message = format!("wrong number of parameters for prepared statement \"{name}\"");
        let detail = format!(
            "Expected {} parameters but got {}.",
            statement.parameters.len(),
            arguments.len()
        );
        return Err(Error::new(SqlState::SyntaxError, message).detail(detail));
    }
    let planner = session.database().planner.clone();
    let catalog = session.catalog();
    let pairs = arguments.iter().zip(&statement.parameter_types);
    let values = pairs.map(|(expr, data_type)| match digits(expr) {
        Some(digits) if matches!(data_type, DataType::Numeric { .. }) => {
            numeric_as_sent(&digits, *data_type)
        }
        _ if matches!(data_type, DataType::Numeric { .. }) => {
            let wide = Some(DataType::PLAIN_NUMERIC);
            match planner.scope(&catalog, &[])?.constant(expr, wide)? {
                Value::Numeric(digits, scale) => at_wanted_scale(digits, scale, *data_type),
                other => Ok(other),
            }
        }
        _ => planner.scope(&catalog, &[])?.constant(expr, Some(*data_type)),
    });
    let values = values.collect::<Result<Vec<Value>>>()?;
    Ok((statement, values))
}

/// A number as it is written, with all its digits.
fn digits(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            ast::Value::Number(text, _) | ast::Value::SingleQuotedString(text) => {
                Some(text.clone())
            }
            _ => None,
        },
        Expr::Nested(inner) => digits(inner),
        Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => match **expr {
            Expr::Value(ref value) if matches!(value.value, ast::Value::Number(..)) => {
                digits(expr).map(|digits| format!("-{digits}"))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Runs DEALLOCATE.
pub fn deallocate(session: &mut Session, name: &Ident) -> Result<String> {
    if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all") {
        session.forget_statements();
        return Ok("DEALLOCATE ALL".to_owned());
    }
    let name = fold(name);
    if session.forget_statement(&name) {
        return Ok("DEALLOCATE".to_owned());
    }
    Err(undefined(&name))
}
