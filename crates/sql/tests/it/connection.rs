//! A session as a test uses it: statements in, rows of text out.

use std::sync::Arc;
use std::time::Duration;

use engine::heartbeat::{EngineOptions, Packing, Sharing};
use engine::types::{DataType, Error, Result, Value, ValueRef};
use futures::StreamExt;
use sql::text::{SessionZone, pad, write_value_in};
use sql::verification::VerificationOptions;
use sql::{Database, DatabaseOptions, ImplicitTransaction, Outcome, Rows, Session};

use crate::within::within;

/// A database that keeps nothing.
pub fn database() -> Arc<Database> {
    database_within(1 << 30)
}

/// A database that keeps nothing and verifies what it answers.
pub fn verified_database(verification: VerificationOptions) -> Arc<Database> {
    opened(1 << 30, verification)
}

/// A database that keeps nothing, with so many bytes for intermediate results.
pub fn database_within(memory_limit: usize) -> Arc<Database> {
    opened(memory_limit, VerificationOptions::default())
}

fn opened(memory_limit: usize, verification: VerificationOptions) -> Arc<Database> {
    let options = DatabaseOptions { verification, ..options(memory_limit) };
    Database::open(options).expect("an empty database opens")
}

/// What a database is usually opened with.
pub fn options(memory_limit: usize) -> DatabaseOptions {
    let engine = EngineOptions {
        workers: 2,
        data: None,
        sharing: Sharing::Automatic,
        packing: Packing::Automatic,
        boarding: true,
        queue_limit: 10_000,
        memory_limit,
    };
    let verification = VerificationOptions::default();
    DatabaseOptions {
        engine,
        template_limit: 1000,
        password_verifier: None,
        verification,
        response_time: Duration::ZERO,
    }
}

/// What a statement gave.
#[derive(Debug, PartialEq)]
pub struct Given {
    /// Rows of text; `None` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// The tag.
    pub tag: String,
}

/// Looks again and again until there is something.
pub async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    within(what, async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
}

/// Runs a text as a simple Query does; gives what its last statement gave.
pub async fn query(session: &mut Session, text: &str) -> Result<Given> {
    within(text, script(session, text)).await
}

async fn script(session: &mut Session, text: &str) -> Result<Given> {
    let outcome = statements(session, text).await;
    let ended = session.end_implicit(outcome.is_err()).await;
    let given = outcome?;
    ended.map(|()| given)
}

async fn statements(session: &mut Session, text: &str) -> Result<Given> {
    let parts = session.parse_script(text).await?;
    let alone = parts.len() == 1;
    let mut last = Given { rows: Vec::new(), tag: String::new() };
    for part in parts {
        let implicit = if alone { ImplicitTransaction::Alone } else { ImplicitTransaction::Script };
        let statement = session.prepare(&part, &[]).await?;
        let outcome = session.execute(&statement, Vec::new(), implicit).await?;
        last = given(outcome).await?;
    }
    Ok(last)
}

/// Runs a prepared text with parameters.
pub async fn execute(session: &mut Session, text: &str, values: Vec<Value>) -> Result<Given> {
    let statement = session.prepare(text, &[]).await?;
    within(text, async {
        let outcome = session.execute(&statement, values, ImplicitTransaction::Alone).await?;
        given(outcome).await
    })
    .await
}

/// All of an outcome.
pub async fn given(outcome: Outcome) -> Result<Given> {
    match outcome {
        Outcome::Rows(rows) => collect(rows).await,
        Outcome::Command(tag) => Ok(Given { rows: Vec::new(), tag }),
        Outcome::Empty => Ok(Given { rows: Vec::new(), tag: String::new() }),
        Outcome::CopyOut(copy) => collect(copy.rows).await,
        Outcome::CopyIn(_) => panic!("COPY FROM STDIN in a script"),
    }
}

async fn collect(mut rows: Rows) -> Result<Given> {
    let mut all = Vec::new();
    while let Some(answer) = rows.pieces.next().await {
        let answer = answer?;
        for part in &answer.parts {
            for row in 0..part.rows() {
                let columns = answer.output.iter().enumerate();
                all.push(
                    columns
                        .map(|(i, c)| text(&rows.zone, part.cell(row, i), c.data_type))
                        .collect(),
                );
            }
        }
    }
    let tag =
        if rows.counted { format!("{} {}", rows.tag, all.len()) } else { rows.tag.to_owned() };
    Ok(Given { rows: all, tag })
}

fn text(zone: &SessionZone, value: ValueRef<'_>, data_type: DataType) -> Option<String> {
    if value.is_null() {
        return None;
    }
    let mut out = Vec::new();
    write_value_in(zone, value, &mut out);
    if let ValueRef::Text(text) = value {
        pad(text, data_type, &mut out);
    }
    Some(String::from_utf8(out).expect("values are written as text"))
}

/// The SQLSTATE of a fault.
pub fn state(outcome: Result<Given>) -> &'static str {
    outcome.expect_err("the statement should fail").state.code()
}

/// The rows of one column.
pub fn column(given: &Given) -> Vec<&str> {
    given.rows.iter().map(|row| row[0].as_deref().unwrap_or("NULL")).collect()
}

/// A fault as scripts match it: state and message.
pub fn shown(error: &Error) -> String {
    format!("{}: {}", error.state.code(), error.message)
}
