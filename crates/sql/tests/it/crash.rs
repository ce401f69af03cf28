//! Statements that a crash interrupts, on a simulated directory.

use std::sync::Arc;

use engine::env::{Environment, Image, SeededRandomness, SimulatedDirectory};
use engine::heartbeat::{Engine, Tuning};
use sql::{Database, Session};

use crate::connection::{Given, column, options, query, until};

const TUNING: Tuning = Tuning { segment_size: 64 << 10, checkpoint_bytes: u64::MAX };

/// Rows of the made table; more than one record of the log would be fine, too.
const ROWS: &str = "1000";

fn opened(directory: &Arc<SimulatedDirectory>) -> Arc<Database> {
    let mut options = options(1 << 30);
    options.engine.data = Some("data".into());
    let environment = Environment::simulated(directory.clone(), 7);
    let engine = Engine::open_in(environment, TUNING, options.engine.clone()).expect("it recovers");
    Database::over(engine, options)
}

async fn run(session: &mut Session, text: &str) -> Given {
    query(session, text).await.unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

/// Whether the table is there, which is all of it then.
async fn is_whole(image: Image, what: &str) -> bool {
    let database = opened(&SimulatedDirectory::from_image(image));
    let mut session = database.session("shareddb");
    let names =
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1";
    let tables = run(&mut session, names).await;
    let tables = column(&tables).into_iter().filter(|name| *name != "t_pkey").collect::<Vec<_>>();
    let is_there = match *tables {
        ["t"] => false,
        ["made", "t"] => {
            let sums = run(&mut session, "SELECT count(*) || ' ' || sum(a) FROM made").await;
            assert_eq!(column(&sums), [format!("{ROWS} 500500")], "{what}");
            true
        }
        _ => panic!("{what}: {tables:?}"),
    };
    // Nothing that nobody sees is left behind, and the name can be given.
    let kept = 1 + usize::from(is_there);
    let count = || database.engine().store().tables().len();
    until(what, || (count() == kept).then_some(())).await;
    if !is_there {
        run(&mut session, "CREATE TABLE made AS SELECT 1").await;
    }
    is_there
}

#[tokio::test]
async fn a_table_made_of_a_query_is_there_whole_or_not_at_all() {
    let directory = SimulatedDirectory::new();
    let database = opened(&directory);
    let mut session = database.session("shareddb");
    run(&mut session, "CREATE TABLE t (a int PRIMARY KEY)").await;
    run(&mut session, &format!("INSERT INTO t SELECT g FROM generate_series(1, {ROWS}) g")).await;
    directory.record();
    run(&mut session, "CREATE TABLE made AS SELECT a, 'text ' || a AS s FROM t").await;
    let acknowledged = directory.recorded();
    drop((session, database));
    let history = directory.take_history();
    assert!(acknowledged > 3, "the table, its rows and its showing are three records at least");
    let (mut whole, mut absent) = (0, 0);
    for (operation, image) in history.iter().enumerate() {
        for seed in 0..3 {
            let randomness = SeededRandomness::new(operation as u64 * 100 + seed);
            let what = format!("crash after operation {operation}, seed {seed}");
            let is_there = is_whole(image.crash(&randomness), &what).await;
            assert!(is_there || operation + 1 < acknowledged, "{what}: it was acknowledged");
            *(if is_there { &mut whole } else { &mut absent }) += 1;
        }
    }
    assert!(whole > 0 && absent > 0, "{whole} and {absent}");
}

#[tokio::test]
async fn foreign_keys_do_after_a_restart_what_they_did_before() {
    let directory = SimulatedDirectory::new();
    let database = opened(&directory);
    let mut session = database.session("shareddb");
    for text in [
        "CREATE TABLE parent (a int, b text, PRIMARY KEY (a, b))",
        "CREATE TABLE child (b text, a int DEFAULT 0 CHECK (a < 10), n int, FOREIGN KEY (a, b) REFERENCES parent MATCH FULL \
         ON DELETE SET DEFAULT ON UPDATE CASCADE)",
        "INSERT INTO parent VALUES (1, 'x'), (2, 'y')",
        "INSERT INTO child VALUES ('x', 1, 1), (NULL, NULL, 2)",
    ] {
        run(&mut session, text).await;
    }
    drop((session, database));
    let database = opened(&directory);
    let mut session = database.session("shareddb");
    run(&mut session, "UPDATE parent SET a = 3 WHERE a = 1").await;
    let rows = run(&mut session, "SELECT a || b FROM child WHERE n = 1").await;
    assert_eq!(column(&rows), ["3x"]);
    for (text, state) in [
        ("UPDATE parent SET a = 10 WHERE a = 3", "23514"),
        ("INSERT INTO child VALUES (NULL, 2, 3)", "23503"),
        // The default is a key with a NULL in it.
        ("DELETE FROM parent WHERE a = 3", "23503"),
    ] {
        let fault = query(&mut session, text).await.err().map(|fault| fault.state.code());
        assert_eq!(fault, Some(state), "{text}");
    }
}
