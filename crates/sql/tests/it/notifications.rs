//! LISTEN and NOTIFY between sessions: what is told, when, and in which order.

use std::sync::Arc;

use engine::types::Value;
use sql::{Database, Session};

use crate::connection::{database, execute, query, state};

async fn run(session: &mut Session, text: &str) {
    query(session, text).await.unwrap_or_else(|fault| panic!("{text}: {fault}"));
}

async fn listening(database: &Arc<Database>, channels: &[&str]) -> Session {
    let mut session = database.session("shareddb");
    for channel in channels {
        run(&mut session, &format!("LISTEN {channel}")).await;
    }
    session
}

/// What a session has been told since the last call.
fn told(session: &Session) -> Vec<String> {
    let told = std::iter::from_fn(|| session.take_notification());
    told.map(|one| format!("{}: {}", one.channel, one.payload)).collect()
}

#[tokio::test]
async fn a_commit_tells_all_who_listen_and_its_own_session() {
    let database = database();
    let mut speaker = listening(&database, &["a"]).await;
    let other = listening(&database, &["a", "b"]).await;
    let deaf = listening(&database, &["c"]).await;
    run(&mut speaker, "CREATE TABLE t (i integer PRIMARY KEY)").await;
    run(&mut speaker, "BEGIN").await;
    run(&mut speaker, "NOTIFY a, 'x'").await;
    run(&mut speaker, "INSERT INTO t VALUES (1)").await;
    run(&mut speaker, "NOTIFY b, 'y'").await;
    run(&mut speaker, "NOTIFY a, 'x'").await;
    assert_eq!(told(&other), [""; 0], "nothing before COMMIT");
    run(&mut speaker, "COMMIT").await;
    assert_eq!(told(&other), ["a: x", "b: y"]);
    assert_eq!(told(&speaker), ["a: x"]);
    assert_eq!(told(&deaf), [""; 0]);
    assert!(database.session("shareddb").mailbox().is_none());
}

#[tokio::test]
async fn what_is_rolled_back_was_not_said() {
    let database = database();
    let mut session = listening(&database, &["a"]).await;
    for text in ["BEGIN", "NOTIFY a, '1'", "SAVEPOINT s", "NOTIFY a, '2'", "NOTIFY a, '1'"] {
        run(&mut session, text).await;
    }
    assert_eq!(state(query(&mut session, "SELECT 1/0").await), "22012");
    for text in ["ROLLBACK TO s", "NOTIFY a, '3'", "COMMIT"] {
        run(&mut session, text).await;
    }
    assert_eq!(told(&session), ["a: 1", "a: 3"]);
    run(&mut session, "BEGIN; NOTIFY a, '4'; ROLLBACK").await;
    assert_eq!(state(query(&mut session, "NOTIFY a, '5'; SELECT 1/0").await), "22012");
    assert_eq!(told(&session), [""; 0]);
    run(&mut session, "NOTIFY a, '6'; SELECT 1; NOTIFY a").await;
    assert_eq!(told(&session), ["a: 6", "a: "]);
}

#[tokio::test]
async fn a_commit_that_fails_says_nothing() {
    let database = database();
    let mut session = listening(&database, &["a"]).await;
    run(&mut session, "CREATE TABLE t (i integer PRIMARY KEY)").await;
    run(&mut session, "BEGIN").await;
    run(&mut session, "INSERT INTO t VALUES (1)").await;
    run(&mut session, "NOTIFY a, 'x'").await;
    run(&mut session, "LISTEN b").await;
    let mut other = database.session("shareddb");
    run(&mut other, "ALTER TABLE t ADD CHECK (i > 5)").await;
    assert_eq!(state(query(&mut session, "COMMIT").await), "40001");
    run(&mut other, "NOTIFY b, 'y'").await;
    assert_eq!(told(&session), [""; 0]);
}

#[tokio::test]
async fn notifications_come_in_the_order_of_commits() {
    let database = database();
    let listener = listening(&database, &["counter"]).await;
    let mut first = database.session("shareddb");
    run(&mut first, "CREATE TABLE counter (n integer)").await;
    run(&mut first, "INSERT INTO counter VALUES (0)").await;
    let count = |mut session: Session| async move {
        for _ in 0..50 {
            run(&mut session, "BEGIN").await;
            let text = "UPDATE counter SET n = n + 1 RETURNING n";
            let number = query(&mut session, text).await.expect("it waits for the row");
            let number = number.rows[0][0].clone().expect("a number");
            run(&mut session, &format!("NOTIFY counter, '{number}'")).await;
            run(&mut session, "COMMIT").await;
        }
    };
    let sessions = (0..4).map(|_| count(database.session("shareddb")));
    crate::within::within("all have counted", futures::future::join_all(sessions)).await;
    let wanted: Vec<String> = (1..=200).map(|number| format!("counter: {number}")).collect();
    assert_eq!(told(&listener), wanted);
}

#[tokio::test]
async fn listen_holds_from_its_commit_on_and_includes_its_own_transaction() {
    let database = database();
    let mut session = database.session("shareddb");
    let mut other = database.session("shareddb");
    run(&mut session, "BEGIN; LISTEN a; NOTIFY a, 'own'").await;
    run(&mut other, "NOTIFY a, 'before'").await;
    run(&mut session, "COMMIT").await;
    run(&mut other, "NOTIFY a, 'after'").await;
    run(&mut session, "BEGIN").await;
    assert_eq!(told(&session), [""; 0], "not within a block");
    run(&mut other, "NOTIFY a, 'meanwhile'").await;
    run(&mut session, "COMMIT").await;
    assert_eq!(told(&session), ["a: own", "a: after", "a: meanwhile"]);
    run(&mut session, "BEGIN; UNLISTEN *; NOTIFY a, 'gone'; COMMIT").await;
    run(&mut other, "NOTIFY a, 'too late'").await;
    assert_eq!(told(&session), [""; 0]);
}

#[tokio::test]
async fn pg_notify_takes_parameters() {
    let database = database();
    let mut session = listening(&database, &["a"]).await;
    let values = vec![Value::Text("a".into()), Value::Text("it's said".into())];
    let given = execute(&mut session, "SELECT pg_notify($1, $2) AS said", values).await;
    assert_eq!(given.expect("it runs").rows, [[Some(String::new())]]);
    session.end_implicit(false).await.expect("it commits");
    assert_eq!(told(&session), ["a: it's said"]);
    assert_eq!(state(query(&mut session, "SELECT pg_notify('a', 'x'), 1/0").await), "22012");
    assert_eq!(told(&session), [""; 0]);
    run(&mut session, "BEGIN; SELECT pg_notify('a', '1'), pg_notify('a', '2')").await;
    run(&mut session, "COMMIT").await;
    assert_eq!(told(&session), ["a: 1", "a: 2"]);
}

#[tokio::test]
async fn a_session_that_ends_no_longer_listens() {
    let database = database();
    let session = listening(&database, &["a"]).await;
    let mailbox = session.mailbox().cloned().expect("it listens");
    drop(session);
    run(&mut database.session("shareddb"), "NOTIFY a").await;
    assert_eq!((mailbox.count(), mailbox.channel_count()), (0, 0));
}
