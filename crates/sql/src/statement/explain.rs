//! EXPLAIN: hands the statement to `explain`, which knows plans.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Statement;
use engine::types::{DataType, Result, Value};

use super::describe::text_column;
use super::write::output_column;
use crate::session::{Outcome, Rows, Session, answer_of};

/// Runs EXPLAIN.
pub async fn run(session: &mut Session, statement: &Statement, _text: &str) -> Result<Outcome> {
    let Statement::Explain { statement: inner, analyze, .. } = statement else {
        unreachable!("the caller matched");
    };
    let lines = session.explain(inner, *analyze).await?;
    let values = vec![lines.into_iter().map(|line| Value::Text(line.into())).collect()];
    let output = Arc::new([output_column("QUERY PLAN", DataType::Text)]);
    let answer = answer_of(output, &values);
    let columns = Arc::new([text_column("QUERY PLAN")]);
    Ok(Outcome::Rows(Rows { counted: false, ..Rows::complete(columns, answer, "EXPLAIN") }))
}
