//! Definitions inside blocks, as other sessions and the next process see them.

use std::path::Path;

use engine::heartbeat::{EngineOptions, Sharing};
use sql::{Database, DatabaseOptions};

use crate::connection::{column, database, query};

async fn state(session: &mut sql::Session, text: &str) -> &'static str {
    query(session, text).await.map_or_else(|fault| fault.state.code(), |_| "00000")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_sees_a_blocks_tables_before_it_commits() {
    let database = database();
    let (mut one, mut two) = (database.session("one"), database.session("two"));
    for text in
        ["BEGIN", "CREATE TABLE t (a serial PRIMARY KEY, b int)", "INSERT INTO t (b) VALUES (7)"]
    {
        query(&mut one, text).await.expect(text);
    }
    assert_eq!(state(&mut two, "SELECT * FROM t").await, "42P01");
    query(&mut one, "COMMIT").await.expect("commits");
    let seen = query(&mut two, "SELECT b FROM t").await.expect("sees it");
    assert_eq!(column(&seen), ["7"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_cannot_be_built_takes_the_whole_block_back() {
    let database = database();
    let mut session = database.session("one");
    let script = "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (1)";
    for text in
        script.split("; ").chain(["BEGIN", "CREATE TABLE u (a int)", "INSERT INTO t VALUES (2)"])
    {
        query(&mut session, text).await.expect(text);
    }
    // Rows of the block and a new definition of the same table do not go together.
    assert_eq!(state(&mut session, "CREATE UNIQUE INDEX once ON t (a)").await, "0A000");
    query(&mut session, "ROLLBACK").await.expect("rolls back");
    for text in ["BEGIN", "CREATE TABLE u (a int)", "CREATE UNIQUE INDEX once ON t (a)"] {
        query(&mut session, text).await.expect(text);
    }
    assert_eq!(state(&mut session, "SELECT * FROM t").await, "0A000");
    query(&mut session, "ROLLBACK").await.expect("rolls back");
    for text in ["BEGIN", "CREATE TABLE u (a int)", "CREATE UNIQUE INDEX once ON t (a)"] {
        query(&mut session, text).await.expect(text);
    }
    assert_eq!(state(&mut session, "COMMIT").await, "23505");
    assert_eq!(state(&mut session, "SELECT * FROM u").await, "42P01");
    assert_eq!(state(&mut session, "INSERT INTO t VALUES (1)").await, "00000");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_leaves_nothing() {
    let database = database();
    let mut one = database.session("one");
    for text in ["BEGIN", "CREATE TABLE t (a int PRIMARY KEY)"] {
        query(&mut one, text).await.expect(text);
    }
    drop(one);
    let mut two = database.session("two");
    query(&mut two, "CREATE TABLE t (a int PRIMARY KEY, b int)").await.expect("the name is free");
    assert_eq!(database.engine().store().tables().len(), 1);
}

fn open(data: &Path) -> std::sync::Arc<Database> {
    let engine = EngineOptions {
        workers: 2,
        data: Some(data.to_owned()),
        sharing: Sharing::Automatic,
        boarding: true,
        queue_limit: 1_000,
        memory_limit: 64 << 20,
    };
    let options = DatabaseOptions { engine, template_limit: 100, password_verifier: None };
    Database::open(options).expect("opens")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("readable") {
        let path = entry.expect("readable").path();
        let target = to.join(path.file_name().expect("named"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(std::fs::copy(&path, &target).expect("copies")),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_ends_an_open_block_and_keeps_a_committed_one() {
    let folder = std::env::temp_dir().join(format!("shareddb-definitions-{}", std::process::id()));
    let (before, after) = (folder.join("before"), folder.join("after"));
    {
        let database = open(&before);
        let mut session = database.session("one");
        for text in [
            "BEGIN",
            "CREATE TABLE kept (a int PRIMARY KEY)",
            "INSERT INTO kept VALUES (1), (2)",
            "CREATE INDEX kept_a ON kept (a)",
            "COMMIT",
            "BEGIN",
            "CREATE TABLE open (a serial PRIMARY KEY)",
            "INSERT INTO open DEFAULT VALUES",
            "ALTER TABLE kept ADD COLUMN b int",
        ] {
            query(&mut session, text).await.expect(text);
        }
        copy(&before, &after);
    }
    let database = open(&after);
    let mut session = database.session("one");
    let kept = query(&mut session, "SELECT * FROM kept ORDER BY a").await.expect("kept");
    assert_eq!(column(&kept), ["1", "2"]);
    assert_eq!(state(&mut session, "SELECT * FROM open").await, "42P01");
    query(&mut session, "CREATE TABLE open (a serial PRIMARY KEY)").await.expect("is free");
    drop((session, database));
    std::fs::remove_dir_all(folder).expect("removes");
}
