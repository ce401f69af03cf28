//! CASE, AND, OR and FILTER guard on every path alike: the queries of `slt/guards.slt`, whose answers are PostgreSQL's, run on each,
//! prepared too, and beside others of the same batch that fail.

use std::path::Path;
use std::sync::Arc;

use sql::{Database, Session};
use sqllogictest::{DefaultColumnType, QueryExpect, Record, parse_file};

use crate::connection::{Given, database, query};

/// A query and the lines of its answer.
struct Shape {
    text: String,
    lines: Vec<String>,
}

/// What fails wherever it runs, for a row that the shapes' guards leave out.
const FAILING: [&str; 4] = [
    "SELECT id FROM guarded WHERE a / b > 1",
    "SELECT id, a / b > 2 FROM guarded WHERE k = 1",
    "SELECT sum(a / b) FROM guarded",
    "SELECT id FROM guarded WHERE b = 2 OR (k = 1 AND a / b > 2)",
];

/// The statements that the file begins with, and the queries that follow.
fn file() -> (Vec<String>, Vec<Shape>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt/guards.slt");
    let records = parse_file::<DefaultColumnType>(path).expect("the file is part of the crate");
    let (mut tables, mut shapes) = (Vec::new(), Vec::new());
    for record in records {
        match record {
            Record::Statement { .. } if !shapes.is_empty() => break,
            Record::Statement { sql, .. } => tables.push(sql),
            Record::Query { sql, expected: QueryExpect::Results { results, .. }, .. } => {
                shapes.push(Shape { text: sql, lines: results });
            }
            _ => {}
        }
    }
    (tables, shapes)
}

async fn filled() -> (Arc<Database>, Arc<[Shape]>) {
    let database = database();
    let mut session = database.session("shareddb");
    let (tables, shapes) = file();
    assert!(shapes.len() > 50, "only {} queries", shapes.len());
    for text in tables {
        run(&mut session, &text).await;
    }
    (database, shapes.into())
}

async fn run(session: &mut Session, text: &str) -> Given {
    query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn lines(given: &Given) -> Vec<String> {
    let shown = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
    let line = |row: &Vec<Option<String>>| row.iter().map(shown).collect::<Vec<_>>().join(" ");
    given.rows.iter().map(line).collect()
}

async fn ask(session: &mut Session, text: &str, shape: &Shape, how: &str) {
    let given = query(session, text).await;
    let given = given.unwrap_or_else(|error| panic!("{}, {how}: {error}", shape.text));
    assert_eq!(lines(&given), shape.lines, "{}, {how}", shape.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guards_guard_on_each_path() {
    let (database, shapes) = filled().await;
    let mut session = database.session("shareddb");
    for path in ["global", "alone", "automatic"] {
        run(&mut session, &format!("SET shareddb.path = {path}")).await;
        for shape in shapes.iter() {
            ask(&mut session, &shape.text, shape, path).await;
            run(&mut session, &format!("PREPARE shape AS {}", shape.text)).await;
            ask(&mut session, "EXECUTE shape", shape, path).await;
            run(&mut session, "DEALLOCATE shape").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guards_guard_rows_that_others_want() {
    let (database, shapes) = filled().await;
    let mut tasks = Vec::new();
    for start in 0..6 {
        let (mut session, shapes) = (database.session("shareddb"), shapes.clone());
        tasks.push(tokio::spawn(async move {
            for turn in 0..shapes.len() {
                let shape = &shapes[(start * 10 + turn) % shapes.len()];
                ask(&mut session, &shape.text, shape, "beside others").await;
            }
        }));
    }
    for start in 0..2 {
        let mut session = database.session("shareddb");
        tasks.push(tokio::spawn(async move {
            for turn in 0..100 {
                let text = FAILING[(start + turn) % FAILING.len()];
                let failed = query(&mut session, text).await.err();
                assert_eq!(failed.map(|error| error.state.code()), Some("22012"), "{text}");
            }
        }));
    }
    for task in tasks {
        task.await.expect("no task fails");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_guarded_still_uses_the_index() {
    let (database, _) = filled().await;
    let mut session = database.session("shareddb");
    run(&mut session, "SET shareddb.path = global").await;
    let text = "EXPLAIN SELECT id FROM guarded WHERE id = 2 AND b <> 0 AND a / b > 1";
    let plan = lines(&run(&mut session, text).await).join("\n");
    assert!(plan.contains("guarded_pkey"), "{plan}");
}
