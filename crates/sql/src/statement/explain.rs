//! EXPLAIN: hands the statement to `explain`, which knows plans.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Statement, UtilityOption};
use engine::types::{DataType, Error, Result, SqlState, Value};

use super::describe::text_column;
use super::write::output_column;
use crate::session::{Outcome, Rows, Session, answer_of};
use crate::template::{byte_of, characters};

/// Runs EXPLAIN.
pub async fn run(session: &mut Session, statement: &Statement, text: &str) -> Result<Outcome> {
    let Statement::Explain { statement: inner, analyze, options, .. } = statement else {
        unreachable!("the caller matched");
    };
    let asked = Asked::read(options.as_deref().unwrap_or_default(), *analyze, text)?;
    let told = session.explain(inner, asked.analyze).await?;
    let lines = if asked.json { vec![told.json()] } else { told.lines() };
    let values = vec![lines.into_iter().map(|line| Value::Text(line.into())).collect()];
    let output = Arc::new([output_column("QUERY PLAN", DataType::Text)]);
    let answer = answer_of(output, &values);
    let columns = Arc::new([text_column("QUERY PLAN")]);
    Ok(Outcome::Rows(Rows { counted: false, ..Rows::complete(columns, answer, "EXPLAIN") }))
}

/// What is asked for beside the plan.
struct Asked {
    /// The statement is to be run.
    analyze: bool,
    /// One row of JSON instead of a row per line.
    json: bool,
}

impl Asked {
    /// By the options in parentheses: of several equal ones the last counts. What else PostgreSQL's options would add to
    /// its text is not part of ours.
    fn read(options: &[UtilityOption], analyze: bool, text: &str) -> Result<Asked> {
        let mut asked = Asked { analyze, json: false };
        options.iter().try_for_each(|option| asked.take(option, text))?;
        Ok(asked)
    }

    fn take(&mut self, option: &UtilityOption, text: &str) -> Result<()> {
        let start = option.name.span.start;
        let position = characters(text, byte_of(text, start.line, start.column));
        let argument = option.arg.as_ref().map(|argument| argument.to_string().to_lowercase());
        let argument = argument.as_deref().map(|argument| argument.trim_matches('\''));
        let name = option.name.value.to_lowercase();
        match name.as_str() {
            "analyze" => self.analyze = boolean(&name, argument)?,
            "verbose" | "costs" | "settings" | "generic_plan" | "buffers" | "wal" | "timing"
            | "summary" => {
                boolean(&name, argument)?;
            }
            "format" if matches!(argument, Some("text" | "json")) => {
                self.json = argument == Some("json");
            }
            "format" if matches!(argument, Some("xml" | "yaml")) => {
                let message = "EXPLAIN's formats are TEXT and JSON";
                return Err(Error::new(SqlState::FeatureNotSupported, message));
            }
            "format" => {
                let value = argument.unwrap_or_default();
                let message =
                    format!("unrecognized value for EXPLAIN option \"format\": \"{value}\"");
                return Err(Error::new(SqlState::InvalidParameterValue, message).position(position));
            }
            _ => {
                let message = format!("unrecognized EXPLAIN option \"{name}\"");
                return Err(Error::new(SqlState::SyntaxError, message).position(position));
            }
        }
        Ok(())
    }
}

/// An option's value: without one it is on.
fn boolean(name: &str, argument: Option<&str>) -> Result<bool> {
    match argument {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => {
            let message = format!("{name} requires a Boolean value");
            Err(Error::new(SqlState::SyntaxError, message))
        }
    }
}
