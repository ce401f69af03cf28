//! Advisory locks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::types::Value;
use sql::{Database, Session};

use crate::connection::{column, database, execute, query, state};
use crate::locks::{begin, run};

async fn sessions() -> (Arc<Database>, Session, Session) {
    let database = database();
    let (one, two) = (database.session("shareddb"), database.session("shareddb"));
    (database, one, two)
}

/// What a query of one row gives.
async fn row(session: &mut Session, text: &str) -> String {
    let given = query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    let cells = given.rows.into_iter().flatten();
    cells.map(|cell| cell.unwrap_or("NULL".into())).collect::<Vec<_>>().join(" ")
}

async fn tries(session: &mut Session, call: &str) -> bool {
    match &*row(session, &format!("SELECT {call}")).await {
        "t" => true,
        "f" => false,
        other => panic!("{call}: {other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_exclude_each_other() {
    let (_, mut one, mut two) = sessions().await;
    let cases = [
        ("pg_advisory_lock(1)", "pg_try_advisory_lock(1)", false),
        ("pg_advisory_lock(1)", "pg_try_advisory_lock_shared(1)", false),
        ("pg_advisory_lock_shared(1)", "pg_try_advisory_lock(1)", false),
        ("pg_advisory_lock_shared(1)", "pg_try_advisory_lock_shared(1)", true),
        ("pg_advisory_lock(1)", "pg_try_advisory_xact_lock(1)", false),
        ("pg_advisory_lock(1)", "pg_try_advisory_xact_lock_shared(1)", false),
        ("pg_advisory_lock(1)", "pg_try_advisory_lock(2)", true),
        ("pg_advisory_lock(1)", "pg_try_advisory_lock(0, 1)", true),
        ("pg_advisory_lock(3, 4)", "pg_try_advisory_lock(3, 4)", false),
        ("pg_advisory_lock(3, 4)", "pg_try_advisory_lock_shared(4, 3)", true),
        (
            "pg_advisory_lock(-9223372036854775807)",
            "pg_try_advisory_lock(-9223372036854775807)",
            false,
        ),
    ];
    for (has, asks, expected) in cases {
        assert_eq!(row(&mut one, &format!("SELECT {has}")).await, "");
        assert_eq!(tries(&mut two, asks).await, expected, "{has} {asks}");
        for session in [&mut one, &mut two] {
            run(session, &["SELECT pg_advisory_unlock_all()"]).await;
        }
        assert!(tries(&mut two, &has.replace("pg_", "pg_try_")).await);
        run(&mut two, &["SELECT pg_advisory_unlock_all()"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_a_session_are_counted() {
    let (_, mut one, mut two) = sessions().await;
    run(&mut one, &["SELECT pg_advisory_lock(7)", "SELECT pg_advisory_lock(7)"]).await;
    assert!(tries(&mut one, "pg_try_advisory_lock(7)").await);
    for _ in 0..3 {
        assert!(!tries(&mut two, "pg_try_advisory_lock(7)").await);
        assert!(tries(&mut one, "pg_advisory_unlock(7)").await);
    }
    assert!(one.take_notices().is_empty());
    assert!(tries(&mut two, "pg_try_advisory_lock(7)").await);
    assert!(!tries(&mut one, "pg_advisory_unlock(7)").await);
    let notices = one.take_notices();
    assert_eq!(notices[0].message, "you don't own a lock of type ExclusiveLock");
    assert_eq!(notices[0].state.code(), "01000");
    assert!(!tries(&mut one, "pg_advisory_unlock_shared(7)").await);
    assert_eq!(one.take_notices()[0].message, "you don't own a lock of type ShareLock");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_a_session_outlive_transactions_and_end_with_it() {
    let (database, mut one, mut two) = sessions().await;
    run(&mut one, &["BEGIN", "SELECT pg_advisory_lock(1)", "ROLLBACK"]).await;
    assert!(!tries(&mut two, "pg_try_advisory_lock(1)").await);
    run(&mut one, &["DISCARD ALL"]).await;
    assert!(tries(&mut two, "pg_try_advisory_lock(1)").await);
    drop(two);
    assert!(tries(&mut one, "pg_try_advisory_lock(1)").await);
    drop(one);
    let mut three = database.session("shareddb");
    assert!(tries(&mut three, "pg_try_advisory_lock(1)").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_a_transaction_end_with_it_and_with_its_savepoints() {
    let (_, mut one, mut two) = sessions().await;
    run(&mut one, &["SELECT pg_advisory_xact_lock(1)"]).await;
    assert!(tries(&mut two, "pg_try_advisory_lock(1)").await);
    run(&mut two, &["SELECT pg_advisory_unlock(1)"]).await;
    for end in ["COMMIT", "ROLLBACK"] {
        run(&mut one, &["BEGIN", "SELECT pg_advisory_xact_lock(1)", "SAVEPOINT s"]).await;
        assert!(tries(&mut one, "pg_try_advisory_xact_lock_shared(2, 2)").await);
        assert!(!tries(&mut two, "pg_try_advisory_lock(1)").await);
        assert!(!tries(&mut two, "pg_try_advisory_lock(2, 2)").await);
        run(&mut one, &["ROLLBACK TO s"]).await;
        assert!(tries(&mut two, "pg_try_advisory_xact_lock(2, 2)").await);
        assert!(!tries(&mut two, "pg_try_advisory_lock(1)").await);
        assert!(!tries(&mut one, "pg_advisory_unlock(1)").await, "it is the transaction's");
        run(&mut one, &[end]).await;
        assert!(tries(&mut two, "pg_try_advisory_xact_lock(1)").await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_goes_on_and_waits_end() {
    let (_, mut one, mut two) = sessions().await;
    run(&mut one, &["SELECT pg_advisory_lock(1)"]).await;
    let waiting = begin(two, "SELECT pg_advisory_lock(1)").await;
    run(&mut one, &["SELECT pg_advisory_unlock(1)"]).await;
    let (other, given) = waiting.await.expect("ends");
    given.expect("locked");
    two = other;
    assert!(!tries(&mut one, "pg_try_advisory_lock_shared(1)").await);
    run(&mut one, &["SET lock_timeout = '50ms'"]).await;
    assert_eq!(state(query(&mut one, "SELECT pg_advisory_xact_lock(1)").await), "55P03");
    run(&mut one, &["SET lock_timeout = 0", "SET statement_timeout = '50ms'"]).await;
    assert_eq!(state(query(&mut one, "SELECT pg_advisory_lock_shared(1)").await), "57014");
    run(&mut one, &["SET statement_timeout = 0"]).await;
    let cancelled = one.cancelled();
    let waiting = begin(one, "SELECT pg_advisory_lock(1)").await;
    cancelled.store(true, Ordering::Relaxed);
    let (mut one, given) = waiting.await.expect("ends");
    assert_eq!(state(given), "57014");
    run(&mut two, &["SELECT pg_advisory_unlock_all()"]).await;
    assert!(tries(&mut one, "pg_try_advisory_lock(1)").await);
    let waiting = begin(two, "SELECT pg_advisory_lock(1)").await;
    drop(one);
    waiting.await.expect("ends").1.expect("locked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_select_may_call_several() {
    let (_, mut one, mut two) = sessions().await;
    let text = "SELECT pg_advisory_lock(1) AS first, pg_try_advisory_lock(2, 3) AS second, 5 AS five,
        pg_try_advisory_lock_shared(4) IS NULL, NOT pg_try_advisory_lock(5), (pg_try_advisory_lock(6))::text";
    assert_eq!(row(&mut one, text).await, " t 5 f f true");
    for key in ["1", "2, 3", "4", "5", "6"] {
        assert!(!tries(&mut two, &format!("pg_try_advisory_lock({key})")).await, "{key}");
    }
    assert_eq!(row(&mut one, "SELECT pg_catalog.pg_advisory_unlock(1)").await, "t");
    assert_eq!(row(&mut one, "SELECT pg_try_advisory_lock(NULL)").await, "NULL");
    assert_eq!(row(&mut one, "SELECT PG_TRY_ADVISORY_LOCK(3 * 4 + 1)").await, "t");
    assert!(!tries(&mut two, "pg_try_advisory_lock(13)").await);
    run(&mut one, &["PREPARE p AS SELECT pg_try_advisory_lock(77)"]).await;
    assert_eq!(row(&mut one, "EXECUTE p").await, "t");
    assert!(!tries(&mut two, "pg_try_advisory_lock(77)").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_may_be_parameters() {
    let (_, mut one, mut two) = sessions().await;
    let statement = one.prepare("SELECT pg_try_advisory_lock($1)", &[]).await.expect("planned");
    assert_eq!(statement.parameters, [20]);
    let statement = one.prepare("SELECT pg_advisory_lock($1, $2)", &[]).await.expect("planned");
    assert_eq!(statement.parameters, [23, 23]);
    let text = "SELECT pg_try_advisory_lock($1)";
    for (value, expected) in [(41, "t"), (42, "t"), (41, "f")] {
        let session = if expected == "t" { &mut one } else { &mut two };
        let given = execute(session, text, vec![Value::BigInt(value)]).await.expect("called");
        assert_eq!(column(&given), [expected]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_places_are_refused_by_name() {
    let (_, mut one, mut two) = sessions().await;
    run(&mut one, &["CREATE TABLE t (a int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"]).await;
    for text in [
        "SELECT * FROM pg_try_advisory_lock(1)",
        "SELECT * FROM pg_try_advisory_lock(1) AS l (ok)",
        "SELECT pg_try_advisory_lock(a) FROM t",
        "SELECT a FROM t WHERE pg_try_advisory_lock(a)",
        "SELECT 1 WHERE pg_try_advisory_lock(1)",
        "SELECT pg_try_advisory_lock(1) WHERE false",
        "SELECT pg_try_advisory_lock(1) LIMIT 0",
        "SELECT CASE WHEN false THEN pg_try_advisory_lock(1) END",
        "SELECT (SELECT pg_try_advisory_lock(1))",
        "SELECT pg_try_advisory_lock(1) UNION ALL SELECT true",
        "WITH l AS (SELECT pg_try_advisory_lock(1)) SELECT * FROM l",
        "UPDATE t SET a = 3 WHERE pg_try_advisory_lock(1)",
        "INSERT INTO t SELECT 9 FROM pg_advisory_lock(1)",
        "COPY (SELECT pg_try_advisory_lock(1)) TO STDOUT",
    ] {
        let refused = query(&mut one, text).await.expect_err(text);
        assert_eq!(refused.state.code(), "0A000", "{text}: {refused}");
        assert!(refused.message.contains("advisory_lock"), "{text}: {refused}");
        assert!(refused.hint.is_some(), "{text}");
    }
    assert_eq!(state(query(&mut one, "SELECT pg_advisory_lock()").await), "42883");
    assert_eq!(state(query(&mut one, "SELECT pg_advisory_lock(1, 2, 3)").await), "42883");
    assert!(tries(&mut two, "pg_try_advisory_lock(1)").await, "none of them has run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_does_not_stand_in_its_own_way() {
    let (_, mut one, mut two) = sessions().await;
    run(&mut one, &["SELECT pg_advisory_lock_shared(1)", "BEGIN"]).await;
    run(&mut one, &["SELECT pg_advisory_xact_lock(1)", "SELECT pg_advisory_lock(1)"]).await;
    run(&mut one, &["SELECT pg_advisory_unlock(1)", "COMMIT"]).await;
    assert!(tries(&mut two, "pg_try_advisory_lock_shared(1)").await, "the shared one is left");
    assert!(!tries(&mut two, "pg_try_advisory_lock(1)").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_has_so_many_at_most() {
    let (_, mut one, mut two) = sessions().await;
    let calls = |from: usize, to: usize| {
        let calls = (from..to).map(|key| format!("pg_try_advisory_lock({key})"));
        format!("SELECT {}", calls.collect::<Vec<_>>().join(", "))
    };
    for part in 0..8 {
        run(&mut one, &[&calls(part * 512, (part + 1) * 512)]).await;
    }
    let refused = query(&mut one, "SELECT pg_try_advisory_lock(-1)").await.expect_err("full");
    assert_eq!((refused.state.code(), &*refused.message), ("53200", "out of shared memory"));
    assert!(refused.hint.is_some());
    assert!(tries(&mut two, "pg_try_advisory_lock(-1)").await);
    run(&mut one, &["SELECT pg_advisory_unlock(0)", "SELECT pg_advisory_lock(5000)"]).await;
}
