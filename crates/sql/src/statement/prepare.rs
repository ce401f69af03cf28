//! PREPARE, EXECUTE and DEALLOCATE.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Expr, ObjectName};
use engine::types::{DataType, Error, Result, SqlState, Value};
use syntax::PrepareStmt;

use super::data_type::of_node;
use super::naming::split;
use crate::catalog::types::id_of;
use crate::session::{ColumnDescription, ImplicitTransaction, Outcome, Session, Statement};
use crate::template::{behind, characters, place_part};
use crate::text::{at_wanted_scale, numeric_as_sent};

/// PREPARE, taken apart.
#[derive(Clone, Debug)]
pub struct Prepare {
    /// The statement's name.
    pub name: String,
    /// Type ids of its parameters, as far as they are told.
    pub types: Vec<u32>,
    /// Its text.
    pub query: Arc<str>,
    /// Characters of PREPARE's text before it.
    pub before: u32,
}

/// PREPARE of its node.
pub fn read(prepare: PrepareStmt<'_>, text: &str) -> Result<Prepare> {
    let types = prepare.argtypes().iter().map(|named| of_node(named).map(id_of));
    let query = behind(text, "as");
    Ok(Prepare {
        name: prepare.name().unwrap_or_default().to_owned(),
        types: types.collect::<Result<Vec<_>>>()?,
        query: text[query..].into(),
        before: characters(text, query) - 1,
    })
}

/// Runs PREPARE.
pub async fn prepare(session: &mut Session, statement: &Prepare) -> Result<String> {
    let Prepare { name, types, query, before } = statement;
    let prepared = session.prepare_part(query, types).await;
    let prepared = prepared.map_err(|fault| place_part(fault, query, *before))?;
    session.keep_statement(name, prepared)?;
    Ok("PREPARE".to_owned())
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

/// Runs DEALLOCATE; `None`: ALL.
pub fn deallocate(session: &mut Session, name: Option<&str>) -> Result<String> {
    let Some(name) = name else {
        session.forget_statements();
        return Ok("DEALLOCATE ALL".to_owned());
    };
    match session.forget_statement(name) {
        true => Ok("DEALLOCATE".to_owned()),
        false => Err(undefined(name)),
    }
}
