//! SET, SHOW, RESET and DISCARD.

use std::sync::Arc;

use engine::plan::OutputColumn;
use engine::types::{DataType, Result, Value};
use syntax::{DiscardMode, Literal, Node, VariableSetKind, VariableSetStmt, VariableShowStmt};

use super::constraint::unsupported;
use super::describe::text_column;
use super::transaction::{self, Mode};
use super::write::output_column;
use crate::catalog::system::quoted;
use crate::session::{ColumnDescription, Outcome, Rows, Session};

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingStatement {
    /// SET
    Set {
        /// The setting.
        name: String,
        /// What becomes of it.
        change: Change,
        /// LOCAL: until the transaction ends.
        local: bool,
    },
    /// SET TRANSACTION
    Transaction {
        /// What is said of the transaction.
        modes: Vec<Mode>,
        /// SESSION CHARACTERISTICS: of all that the session begins.
        of_session: bool,
    },
    /// RESET; `None`: ALL.
    Reset(Option<String>),
    /// SHOW
    Show(String),
    /// DISCARD
    Discard(DiscardMode),
}

/// A change of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Another value.
    Value(String),
    /// DEFAULT
    Default,
    /// FROM CURRENT: for a session, what it has.
    Current,
}

/// SET and RESET of their node.
pub fn read(set: VariableSetStmt<'_>) -> Result<SettingStatement> {
    let name = set.name().unwrap_or_default().to_owned();
    let change = match set.kind() {
        VariableSetKind::SetValue => Change::Value(value(set)?),
        VariableSetKind::SetDefault => Change::Default,
        VariableSetKind::SetCurrent => Change::Current,
        VariableSetKind::Reset => return Ok(SettingStatement::Reset(Some(name))),
        VariableSetKind::ResetAll => return Ok(SettingStatement::Reset(None)),
        VariableSetKind::SetMulti if name == "TRANSACTION SNAPSHOT" => {
            return Err(unsupported("SET TRANSACTION SNAPSHOT"));
        }
        VariableSetKind::SetMulti => {
            let modes = transaction::modes(set.args());
            let of_session = name == "SESSION CHARACTERISTICS";
            return Ok(SettingStatement::Transaction { modes, of_session });
        }
    };
    Ok(SettingStatement::Set { name, change, local: set.is_local() })
}

/// SHOW of its node.
pub fn read_show(show: VariableShowStmt<'_>) -> SettingStatement {
    SettingStatement::Show(show.name().unwrap_or_default().to_owned())
}

/// The value that a SET gives: words, strings or numbers.
pub fn value(set: VariableSetStmt<'_>) -> Result<String> {
    let mut values = set.args().iter().map(one_value).collect::<Result<Vec<String>>>()?;
    if set.name() == Some("search_path") {
        // A list of names: each is one again when it is read.
        values = values.iter().map(|value| quoted(value)).collect();
    }
    Ok(values.join(", "))
}

fn one_value(node: Node<'_>) -> Result<String> {
    let Node::AConst(constant) = node else {
        return Err(unsupported("SET TIME ZONE with an interval"));
    };
    Ok(match constant.value() {
        Literal::String(text) | Literal::Number(text) | Literal::BitString(text) => text.to_owned(),
        Literal::Integer(number) => number.to_string(),
        Literal::Boolean(on) => on.to_string(),
        Literal::Null => String::new(),
    })
}

/// The columns of SHOW's answer.
pub fn show_columns(name: &str) -> Arc<[ColumnDescription]> {
    if name.eq_ignore_ascii_case("all") {
        return Arc::new([text_column("name"), text_column("setting"), text_column("description")]);
    }
    Arc::new([text_column(&name.to_ascii_lowercase())])
}

/// Runs one of them.
pub fn run(session: &mut Session, statement: &SettingStatement) -> Result<Outcome> {
    let tag = match statement {
        SettingStatement::Show(name) => return show(session, name),
        SettingStatement::Set { name, change, local } => {
            set(session, name, change, *local)?;
            "SET"
        }
        SettingStatement::Transaction { modes, of_session } => {
            transaction::set_modes(session, modes, *of_session)?;
            "SET"
        }
        SettingStatement::Reset(name) => {
            match name {
                Some(name) => session.change_setting(name, None, false)?,
                None => session.reset_settings(),
            }
            "RESET"
        }
        SettingStatement::Discard(what) => discard(session, *what)?,
    };
    Ok(Outcome::Command(tag.to_owned()))
}

fn show(session: &mut Session, name: &str) -> Result<Outcome> {
    let columns = show_columns(name);
    let output: Arc<[OutputColumn]> =
        columns.iter().map(|column| output_column(&column.name, DataType::Text)).collect();
    let text = |value: String| Value::Text(value.into());
    let values = if name.eq_ignore_ascii_case("all") {
        let all = session.all_settings();
        let names = all.iter().map(|setting| text(setting.name.to_owned())).collect();
        let blank = vec![text(String::new()); all.len()];
        vec![names, all.into_iter().map(|setting| text(setting.value)).collect(), blank]
    } else {
        vec![vec![text(session.show_setting(name)?)]]
    };
    let answer = crate::session::answer_of(output, &values);
    Ok(Outcome::Rows(Rows { counted: false, ..Rows::complete(columns, answer, "SHOW") }))
}

fn set(session: &mut Session, name: &str, change: &Change, local: bool) -> Result<()> {
    let value = match change {
        Change::Value(value) => value.clone(),
        Change::Default => return session.change_setting(name, None, local),
        Change::Current => session.show_setting(name)?,
    };
    if name.eq_ignore_ascii_case("transaction_isolation") {
        return transaction::set_isolation(session, &value);
    }
    session.change_setting(name, Some(&value), local)
}

fn discard(session: &mut Session, what: DiscardMode) -> Result<&'static str> {
    if what == DiscardMode::All {
        session.refuse_in_block("DISCARD ALL")?;
        session.reset_settings();
        session.reset_identity();
        session.forget_statements();
        session.forget_cursors();
        session.forget_sequences();
        session.give_back_advisory_locks();
        session.unlisten(None)?;
    }
    if what == DiscardMode::Sequences {
        session.forget_sequences();
    }
    Ok(match what {
        DiscardMode::All => "DISCARD ALL",
        DiscardMode::Plans => "DISCARD PLANS",
        DiscardMode::Sequences => "DISCARD SEQUENCES",
        DiscardMode::Temp => "DISCARD TEMP",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::command::{Command, command};

    fn of(text: &str) -> SettingStatement {
        match command(text) {
            Ok(Command::Setting(statement)) => statement,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn set(name: &str, change: Change) -> SettingStatement {
        SettingStatement::Set { name: name.to_owned(), change, local: false }
    }

    #[test]
    fn values_are_read() {
        let value = |text: &str| Change::Value(text.to_owned());
        for (text, name, change) in [
            ("SET work_mem TO '8MB'", "work_mem", value("8MB")),
            ("SET Work_Mem = 4096", "work_mem", value("4096")),
            ("SET extra_float_digits = -1", "extra_float_digits", value("-1")),
            ("SET my.words TO one, 'Two', Three", "my.words", value("one, Two, three")),
            ("SET SESSION search_path = '$user', A", "search_path", value("\"$user\", a")),
            ("SET TIME ZONE 'UTC'", "timezone", value("UTC")),
            ("SET TIME ZONE LOCAL", "timezone", Change::Default),
            ("SET jit TO DEFAULT", "jit", Change::Default),
            ("SET jit FROM CURRENT", "jit", Change::Current),
            ("SET jit = off", "jit", value("off")),
            ("SET NAMES 'utf8'", "client_encoding", value("utf8")),
            ("SET ROLE none", "role", value("none")),
            ("SET SESSION AUTHORIZATION DEFAULT", "session_authorization", Change::Default),
        ] {
            assert_eq!(of(text), set(name, change), "{text}");
        }
    }

    #[test]
    fn other_forms_are_read() {
        let modes = || vec![Mode::ReadOnly(false)];
        let own = SettingStatement::Transaction { modes: modes(), of_session: false };
        assert_eq!(of("SET TRANSACTION READ WRITE"), own);
        let all = SettingStatement::Transaction { modes: modes(), of_session: true };
        assert_eq!(of("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE"), all);
        assert_eq!(of("RESET ALL"), SettingStatement::Reset(None));
        assert_eq!(of("RESET TIME ZONE"), SettingStatement::Reset(Some("timezone".to_owned())));
        let level = SettingStatement::Show("transaction_isolation".to_owned());
        assert_eq!(of("SHOW TRANSACTION ISOLATION LEVEL"), level);
        assert_eq!(of("DISCARD TEMPORARY"), SettingStatement::Discard(DiscardMode::Temp));
        let fault = command("SET TRANSACTION SNAPSHOT 'a'").expect_err("no snapshots");
        assert_eq!(fault.state, engine::types::SqlState::FeatureNotSupported);
    }
}
