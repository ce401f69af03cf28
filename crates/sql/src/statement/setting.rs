//! SET, SHOW, RESET and DISCARD.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, ContextModifier, DiscardObject, Expr, Ident, ObjectName, Reset, Set,
};
use engine::plan::OutputColumn;
use engine::types::{DataType, Error, Result, SqlState, Value};

use super::constraint::unsupported;
use super::describe::text_column;
use super::transaction;
use super::write::output_column;
use crate::session::{ColumnDescription, Outcome, Rows, Session, is_utc};

/// SHOW's setting as one word: `TRANSACTION ISOLATION LEVEL` is `transaction_isolation`.
fn shown_name(variable: &[Ident]) -> String {
    let words: Vec<String> = variable.iter().map(|word| word.value.clone()).collect();
    let joined = words.join(" ").to_ascii_lowercase();
    match joined.as_str() {
        "transaction isolation level" => "transaction_isolation".to_owned(),
        "time zone" => "TimeZone".to_owned(),
        "session authorization" => "session_authorization".to_owned(),
        _ => words.join("."),
    }
}

/// The columns of SHOW's answer.
pub fn show_columns(variable: &[Ident]) -> Arc<[ColumnDescription]> {
    let name = shown_name(variable);
    if name.eq_ignore_ascii_case("all") {
        return Arc::new([text_column("name"), text_column("setting"), text_column("description")]);
    }
    Arc::new([text_column(&name.to_ascii_lowercase())])
}

/// Runs SHOW.
pub fn show(session: &mut Session, variable: &[Ident]) -> Result<Outcome> {
    let name = shown_name(variable);
    let columns = show_columns(variable);
    let output: Arc<[OutputColumn]> =
        columns.iter().map(|column| output_column(&column.name, DataType::Text)).collect();
    let text = |value: String| Value::Text(value.into());
    let values = if name.eq_ignore_ascii_case("all") {
        let all = session.all_settings();
        let names = all.iter().map(|setting| text(setting.name.to_owned())).collect();
        let blank = vec![text(String::new()); all.len()];
        vec![names, all.into_iter().map(|setting| text(setting.value)).collect(), blank]
    } else {
        vec![vec![text(session.show_setting(&name)?)]]
    };
    let answer = crate::session::answer_of(output, &values);
    Ok(Outcome::Rows(Rows { counted: false, ..Rows::complete(columns, answer, "SHOW") }))
}

/// Runs SET.
pub fn set(session: &mut Session, set: &Set) -> Result<String> {
    match set {
        Set::SingleAssignment { scope, variable, values, .. } => {
            let local = matches!(scope, Some(ContextModifier::Local));
            let name = setting_name(variable);
            assign(session, &name, values, local)?;
        }
        Set::SetTimeZone { local, value } => {
            assign(session, "TimeZone", std::slice::from_ref(value), *local)?;
        }
        Set::SetNames { charset_name, .. } => {
            session.change_setting("client_encoding", Some(&charset_name.value), false)?;
        }
        Set::SetNamesDefault {} => session.change_setting("client_encoding", None, false)?,
        Set::SetTransaction { modes, session: of_session, snapshot } => {
            if snapshot.is_some() {
                return Err(unsupported("SET TRANSACTION SNAPSHOT"));
            }
            transaction::set_modes(session, modes, *of_session)?;
        }
        other => return Err(unsupported(&format!("SET {other}"))),
    }
    Ok("SET".to_owned())
}

fn setting_name(name: &ObjectName) -> String {
    let parts = name.0.iter().map(|part| part.to_string().trim_matches('"').to_owned());
    parts.collect::<Vec<_>>().join(".")
}

fn assign(session: &mut Session, name: &str, values: &[Expr], local: bool) -> Result<()> {
    let texts: Vec<String> = values.iter().map(setting_text).collect();
    let is_default = matches!(values, [Expr::Identifier(word)]
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"));
    if is_default {
        return session.change_setting(name, None, local);
    }
    let value = texts.join(", ");
    if name.eq_ignore_ascii_case("transaction_isolation") {
        return transaction::set_isolation(session, &value);
    }
    if name.eq_ignore_ascii_case("TimeZone") && !is_utc(&value) {
        let message = format!("time zone \"{value}\" is noted, but times are shown in UTC");
        session.notice(Error::new(SqlState::Warning, message));
    }
    session.change_setting(name, Some(&value), local)
}

/// A setting's value: a word, a string or a number.
fn setting_text(expr: &Expr) -> String {
    match expr {
        Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) | ast::Value::DoubleQuotedString(text) => {
                text.clone()
            }
            other => other.to_string(),
        },
        Expr::Identifier(word) => word.value.clone(),
        Expr::Interval(interval) => interval.to_string(),
        other => other.to_string(),
    }
}

/// Runs RESET.
pub fn reset(session: &mut Session, reset: &Reset) -> Result<String> {
    match reset {
        Reset::ALL => session.reset_settings(),
        Reset::ConfigurationParameter(name) => {
            session.change_setting(&setting_name(name), None, false)?;
        }
    }
    Ok("RESET".to_owned())
}

/// Runs DISCARD.
pub fn discard(session: &mut Session, what: &DiscardObject) -> Result<String> {
    if matches!(what, DiscardObject::ALL) {
        session.refuse_in_block("DISCARD ALL")?;
        session.reset_settings();
        session.reset_identity();
        session.forget_statements();
        session.forget_cursors();
        session.forget_sequences();
        session.give_back_advisory_locks();
        session.unlisten(None)?;
    }
    if matches!(what, DiscardObject::SEQUENCES) {
        session.forget_sequences();
    }
    Ok(format!("DISCARD {what}"))
}
