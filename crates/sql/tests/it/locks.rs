//! Several sessions that want the same rows.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sql::{Database, Session};

use crate::connection::{column, database, query, state, until};

async fn accounts() -> (Arc<Database>, Session, Session) {
    let database = database();
    let (mut one, two) = (database.session("shareddb"), database.session("shareddb"));
    let tables = "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
        CREATE TABLE entry (id int PRIMARY KEY, account int REFERENCES account, amount int);
        INSERT INTO account VALUES (1, 100), (2, 200), (3, 300)";
    query(&mut one, tables).await.expect("created");
    (database, one, two)
}

pub async fn run(session: &mut Session, texts: &[&str]) {
    for text in texts {
        query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// Lets a statement run beside, and returns when it waits for a lock.
pub async fn begin(
    mut session: Session,
    text: &'static str,
) -> tokio::task::JoinHandle<(Session, engine::types::Result<crate::connection::Given>)> {
    let waits = session.limits().waits_for_lock.clone();
    let task = tokio::spawn(async move {
        let given = query(&mut session, text).await;
        (session, given)
    });
    until("it waits for a lock", || {
        assert!(!task.is_finished(), "it does not wait: {text}");
        waits.load(Ordering::Relaxed).then_some(())
    })
    .await;
    task
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_waits_and_adds_to_what_was_committed() {
    let (_, mut one, mut two) = accounts().await;
    run(&mut one, &["BEGIN", "UPDATE account SET balance = balance + 1 WHERE id = 1"]).await;
    run(&mut two, &["BEGIN"]).await;
    let text = "UPDATE account SET balance = balance + 10 WHERE id = 1 RETURNING balance";
    let waiting = begin(two, text).await;
    run(&mut one, &["COMMIT"]).await;
    let (mut two, given) = waiting.await.expect("ends");
    assert_eq!(column(&given.expect("goes on")), ["111"]);
    run(&mut two, &["COMMIT"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_change_waits_for_a_block() {
    for text in [
        "UPDATE account SET balance = 0 WHERE id = 1",
        "DELETE FROM account WHERE id = 1",
        "UPDATE account SET balance = o.balance FROM account o WHERE o.id = 2 AND account.id = 1",
        "DELETE FROM account WHERE balance = (SELECT min(balance) FROM account a WHERE a.id <= account.id) AND id = 1",
        "SELECT * FROM account WHERE id = 1 FOR UPDATE",
        "SELECT * FROM account WHERE id = 1 FOR NO KEY UPDATE",
        "SELECT * FROM account WHERE id = 1 FOR SHARE",
        "INSERT INTO account VALUES (9, 5)",
        "INSERT INTO account VALUES (9, 5) ON CONFLICT DO NOTHING",
        "INSERT INTO account VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET balance = excluded.balance",
        "UPDATE account SET id = 9 WHERE id = 2",
    ] {
        for in_block in [false, true] {
            let (_, mut one, mut two) = accounts().await;
            let changes = [
                "BEGIN",
                "UPDATE account SET balance = balance + 1 WHERE id = 1",
                "INSERT INTO account VALUES (9, 0)",
            ];
            run(&mut one, &changes).await;
            if in_block {
                run(&mut two, &["BEGIN"]).await;
            }
            let waiting = begin(two, text).await;
            run(&mut one, &["ROLLBACK"]).await;
            let (_, given) = waiting.await.expect("ends");
            given.unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_complex_change_is_evaluated_again() {
    let (_, mut one, mut two) = accounts().await;
    run(&mut one, &["BEGIN", "UPDATE account SET balance = 1000 WHERE id = 1"]).await;
    run(&mut one, &["DELETE FROM account WHERE id = 2"]).await;
    run(&mut two, &["BEGIN"]).await;
    let text = "UPDATE account SET balance = account.balance + o.balance FROM account o
        WHERE o.id = 3 AND account.id < 3 RETURNING account.id, account.balance";
    let waiting = begin(two, text).await;
    run(&mut one, &["COMMIT"]).await;
    let (mut two, given) = waiting.await.expect("ends");
    let rows = given.expect("goes on").rows;
    assert_eq!(rows, [[Some("1".to_owned()), Some("1300".to_owned())]]);
    run(&mut two, &["COMMIT"]).await;
    let left = query(&mut one, "SELECT balance FROM account ORDER BY id").await.expect("read");
    assert_eq!(column(&left), ["1300", "300"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_end_by_time_by_cancel_and_at_once() {
    let (_, mut one, mut two) = accounts().await;
    run(&mut one, &["BEGIN", "SELECT * FROM account WHERE id = 1 FOR UPDATE"]).await;
    let update = "UPDATE account SET balance = 0 WHERE id = 1";
    run(&mut two, &["SET lock_timeout = '50ms'"]).await;
    assert_eq!(state(query(&mut two, update).await), "55P03");
    run(&mut two, &["BEGIN"]).await;
    assert_eq!(state(query(&mut two, update).await), "55P03");
    run(&mut two, &["ROLLBACK", "SET lock_timeout = 0", "SET statement_timeout = '50ms'"]).await;
    assert_eq!(state(query(&mut two, update).await), "57014");
    run(&mut two, &["BEGIN"]).await;
    assert_eq!(state(query(&mut two, update).await), "57014");
    run(&mut two, &["ROLLBACK", "SET statement_timeout = 0"]).await;
    let nowait = "SELECT * FROM account WHERE id = 1 FOR UPDATE NOWAIT";
    let refused = query(&mut two, nowait).await.expect_err("locked");
    assert_eq!(refused.state.code(), "55P03");
    assert_eq!(refused.message, "could not obtain lock on row in relation \"account\"");
    let skipping = "SELECT id FROM account ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
    assert_eq!(column(&query(&mut two, skipping).await.expect("skips")), ["2"]);
    let cancelled = two.cancelled();
    let waiting = begin(two, update).await;
    cancelled.store(true, Ordering::Relaxed);
    waiting.abort();
    // Its session goes with it.
    drop(waiting.await);
    run(&mut one, &["COMMIT"]).await;
    let key_share = "SELECT id FROM account WHERE id = 1 FOR KEY SHARE NOWAIT";
    assert_eq!(column(&query(&mut one, key_share).await.expect("free")), ["1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_ends_one_and_lets_the_other_go_on() {
    let (_, mut one, mut two) = accounts().await;
    run(&mut one, &["SET deadlock_timeout = '1h'", "BEGIN"]).await;
    run(&mut two, &["SET deadlock_timeout = '10ms'", "BEGIN"]).await;
    run(&mut one, &["UPDATE account SET balance = 1 WHERE id = 1"]).await;
    run(&mut two, &["UPDATE account SET balance = 2 WHERE id = 2"]).await;
    let waiting = begin(one, "UPDATE account SET balance = 1 WHERE id = 2").await;
    assert_eq!(
        state(query(&mut two, "UPDATE account SET balance = 2 WHERE id = 1").await),
        "40P01"
    );
    let (mut one, given) = waiting.await.expect("ends");
    given.expect("the other's locks ended with its failure");
    run(&mut one, &["COMMIT"]).await;
    run(&mut two, &["ROLLBACK"]).await;
    let left = query(&mut two, "SELECT balance FROM account ORDER BY id").await.expect("read");
    assert_eq!(column(&left), ["1", "1", "300"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parents_and_children_wait_for_each_other() {
    let (_, mut one, mut two) = accounts().await;
    run(&mut one, &["BEGIN", "INSERT INTO entry VALUES (1, 1, 5)"]).await;
    run(&mut two, &["UPDATE account SET balance = 0 WHERE id = 1", "BEGIN"]).await;
    let waiting = begin(two, "DELETE FROM account WHERE id = 1").await;
    run(&mut one, &["COMMIT"]).await;
    let (mut two, given) = waiting.await.expect("ends");
    assert_eq!(state(given), "23503");
    run(&mut two, &["ROLLBACK", "BEGIN", "DELETE FROM account WHERE id = 2"]).await;
    let waiting = begin(one, "INSERT INTO entry VALUES (2, 2, 5)").await;
    run(&mut two, &["COMMIT"]).await;
    let (_, given) = waiting.await.expect("ends");
    assert_eq!(state(given), "23503");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_savepoint_ends_the_locks_after_it_also_after_a_fault() {
    let (_, mut one, mut two) = accounts().await;
    let texts = ["BEGIN", "SELECT * FROM account WHERE id = 1 FOR UPDATE", "SAVEPOINT s"];
    run(&mut one, &texts).await;
    run(&mut one, &["UPDATE account SET balance = 0 WHERE id = 2"]).await;
    assert_eq!(state(query(&mut one, "INSERT INTO account VALUES (3, 0)").await), "23505");
    run(&mut two, &["SET lock_timeout = '50ms'"]).await;
    run(&mut two, &["UPDATE account SET balance = 7 WHERE id = 2"]).await;
    assert_eq!(
        state(query(&mut two, "UPDATE account SET balance = 7 WHERE id = 1").await),
        "55P03"
    );
    run(&mut one, &["ROLLBACK TO s", "COMMIT"]).await;
    run(&mut two, &["UPDATE account SET balance = 7 WHERE id = 1"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_leaves_no_locks() {
    let (_, mut one, two) = accounts().await;
    run(&mut one, &["BEGIN", "UPDATE account SET balance = 0"]).await;
    let waiting = begin(two, "UPDATE account SET balance = balance + 1").await;
    drop(one);
    let (_, given) = waiting.await.expect("ends");
    assert_eq!(given.expect("goes on").tag, "UPDATE 3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_by_read_modify_write() {
    let (database, mut one, _) = accounts().await;
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let mut session = database.session("shareddb");
        tasks.push(tokio::spawn(async move {
            for _ in 0..50 {
                run(&mut session, &["BEGIN"]).await;
                let read = "SELECT balance FROM account WHERE id = 1 FOR UPDATE";
                let given = query(&mut session, read).await.expect("locked");
                let balance: i32 = column(&given)[0].parse().expect("a number");
                let write = format!("UPDATE account SET balance = {} WHERE id = 1", balance + 1);
                run(&mut session, &[&write, "COMMIT"]).await;
            }
        }));
    }
    for task in tasks {
        task.await.expect("no fault");
    }
    let left = query(&mut one, "SELECT balance FROM account WHERE id = 1").await.expect("read");
    assert_eq!(column(&left), ["300"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeatable_child_fails_where_its_parent_is_not_what_it_sees() {
    for change in [
        "DELETE FROM account WHERE id = 2",
        "UPDATE account SET id = 9 WHERE id = 2",
        "BEGIN; DELETE FROM account WHERE id = 2; INSERT INTO account VALUES (2, 0); COMMIT",
    ] {
        for waits in [false, true] {
            let (_, mut one, mut two) = accounts().await;
            let block = ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT * FROM entry"];
            run(&mut two, &block).await;
            let child = "INSERT INTO entry VALUES (1, 2, 5)";
            let given = match waits {
                false => {
                    run(&mut one, &[change]).await;
                    query(&mut two, child).await
                }
                true => {
                    run(
                        &mut one,
                        &[
                            "BEGIN",
                            change.trim_start_matches("BEGIN; ").trim_end_matches("; COMMIT"),
                        ],
                    )
                    .await;
                    let waiting = begin(two, child).await;
                    run(&mut one, &["COMMIT"]).await;
                    waiting.await.expect("ends").1
                }
            };
            assert_eq!(state(given), "40001", "{change}, waits: {waits}");
        }
    }
    let (_, mut one, mut two) = accounts().await;
    run(&mut two, &["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT * FROM entry"]).await;
    run(&mut one, &["UPDATE account SET balance = 1 WHERE id = 2"]).await;
    run(&mut two, &["INSERT INTO entry VALUES (1, 3, 5)"]).await;
    assert_eq!(state(query(&mut two, "INSERT INTO entry VALUES (2, 7, 5)").await), "23503");
}
