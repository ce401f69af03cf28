//! Statements of several sessions as one heartbeat.

use std::sync::Arc;

use engine::types::{Result, Value};
use futures::StreamExt;
use sql::{Database, ImplicitTransaction, Outcome, Session, Statement};
use tokio::task::JoinHandle;

use crate::connection::{database, query, shown, until};
use crate::within::within;

/// Columns' types as PostgreSQL numbers them, and rows; or a SQLSTATE and a message.
pub type Given = std::result::Result<(Vec<u32>, Vec<Vec<Value>>), String>;

/// Runs a statement that cannot fail.
pub async fn set(session: &mut Session, text: &str) {
    query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// What a prepared query gives; one that never answers panics.
pub async fn answer(session: &mut Session, statement: &Arc<Statement>) -> Given {
    let given = within(&statement.text, rows(session, statement)).await;
    given.map_err(|error| shown(&error))
}

async fn rows(
    session: &mut Session,
    statement: &Arc<Statement>,
) -> Result<(Vec<u32>, Vec<Vec<Value>>)> {
    let outcome = session.execute(statement, Vec::new(), ImplicitTransaction::Alone).await?;
    let Outcome::Rows(mut rows) = outcome else { panic!("no query: {}", statement.text) };
    let types = rows.columns.iter().map(|column| column.type_id).collect();
    let mut all = Vec::new();
    while let Some(answer) = rows.pieces.next().await {
        let answer = answer?;
        for part in &answer.parts {
            let cell = |row, column| part.cell(row, column).to_owned();
            let row = |row| (0..answer.output.len()).map(|column| cell(row, column)).collect();
            all.extend((0..part.rows()).map(row));
        }
    }
    Ok((types, all))
}

/// Each session's answer to its text, all in one heartbeat, and how many waited for it: the others run query at a time.
pub async fn together(
    database: &Arc<Database>,
    sessions: &mut Vec<Session>,
    texts: &[&str],
) -> (Vec<Given>, usize) {
    // Before lanes are held back: preparing may make new ones.
    let mut prepared = Vec::with_capacity(texts.len());
    for (session, text) in sessions.iter_mut().zip(texts) {
        prepared.push(session.prepare(text, &[]).await);
    }
    let engine = database.engine().clone();
    let held = tokio::task::spawn_blocking(move || engine.hold_back()).await.expect("it ends");
    let mut running: Vec<JoinHandle<(Session, Given)>> = Vec::new();
    for (mut session, statement) in sessions.drain(..).zip(prepared) {
        running.push(tokio::spawn(async move {
            let given = match statement {
                Ok(statement) => answer(&mut session, &statement).await,
                Err(error) => Err(shown(&error)),
            };
            (session, given)
        }));
        let ended = |tasks: &[JoinHandle<_>]| tasks.iter().filter(|own| own.is_finished()).count();
        let is_settled = || held.waiting() + ended(&running) >= running.len();
        until("each statement waits or has ended", || is_settled().then_some(())).await;
    }
    let waited = held.waiting();
    tokio::task::spawn_blocking(move || drop(held)).await.expect("it ends");
    let mut given = Vec::new();
    for task in running {
        let (session, own) = task.await.unwrap_or_else(|error| panic!("{error}"));
        sessions.push(session);
        given.push(own);
    }
    (given, waited)
}

/// What asks for part of a small table beside others who ask for other parts of it.
const PARTS: &[&str] = &[
    "SELECT count(*) FROM f JOIN d ON f.k = d.k WHERE d.k < $1",
    "SELECT count(*) FROM f JOIN d ON f.k = d.k WHERE d.k BETWEEN 0 AND $1",
    "SELECT count(*) FROM f LEFT JOIN d ON f.k = d.k WHERE d.k >= $1",
    "SELECT count(*) FROM f JOIN d ON f.k = d.k WHERE f.k < $1",
    "SELECT count(*) FROM f WHERE k IN (SELECT k FROM d WHERE v < $1)",
    "SELECT count(*) FROM f WHERE k NOT IN (SELECT k FROM d WHERE v < $1)",
    "SELECT count(*) FROM f WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND d.v < $1)",
    "SELECT d.v, count(*), sum(f.id) FROM f JOIN d ON f.k = d.k WHERE d.v < $1 GROUP BY d.v ORDER BY 1",
    "SELECT count(*) FROM f LEFT JOIN d ON f.k = d.k AND d.k < $1 WHERE d.v IS NULL",
    "SELECT count(DISTINCT d.v) FROM d WHERE d.v < $1",
    "SELECT k FROM d WHERE k < $1 ORDER BY v LIMIT 7",
    // Keys of an outer join's inner side narrow nothing on its other side.
    "SELECT a.k, count(*) FROM (SELECT DISTINCT k, v FROM d) a LEFT JOIN d b ON a.v = b.k
     WHERE EXISTS (SELECT 1 FROM d c WHERE c.k = b.k AND c.k < $1) AND a.k < 20 GROUP BY a.k ORDER BY 1",
    "SELECT a.k, count(*) FROM d a JOIN d b ON a.v = b.k WHERE a.k < $1 AND b.v < $1 GROUP BY a.k ORDER BY 1",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_of_a_small_table_that_overlap_take_nothing_from_each_other() {
    let database = database();
    let mut writer = database.session("shareddb");
    set(&mut writer, "CREATE TABLE d (k int PRIMARY KEY, v int)").await;
    set(&mut writer, "CREATE INDEX ON d (v)").await;
    set(&mut writer, "CREATE TABLE f (id int PRIMARY KEY, k int)").await;
    set(&mut writer, "INSERT INTO d SELECT k, 39 - k FROM generate_series(0, 39) g(k)").await;
    let text = "INSERT INTO f SELECT id, id % 40 FROM generate_series(0, 19999) g(id)";
    set(&mut writer, text).await;
    for bounds in [&["20", "30"][..], &["10", "30", "35", "39"], &["1", "45"]] {
        for part in PARTS {
            let texts: Vec<String> = bounds.iter().map(|own| part.replace("$1", own)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let mut sessions: Vec<Session> =
                texts.iter().map(|_| database.session("shareddb")).collect();
            for session in &mut sessions {
                set(session, "SET shareddb.path = global").await;
                set(session, "SET shareddb.sharing = always").await;
            }
            let (shared, waited) = together(&database, &mut sessions, &texts).await;
            // NOT IN is asked query at a time.
            let together = if part.contains("NOT IN") { 0 } else { texts.len() };
            assert_eq!(waited, together, "{part}");
            set(&mut writer, "SET shareddb.path = alone").await;
            for (text, shared) in texts.iter().zip(shared) {
                let statement = writer.prepare(text, &[]).await.expect("it is valid");
                assert_eq!(shared, answer(&mut writer, &statement).await, "{text}");
            }
        }
    }
}
