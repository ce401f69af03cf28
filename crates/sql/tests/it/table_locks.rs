//! LOCK TABLE, and what statements use of tables.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sql::{Database, Session};

use crate::connection::{column, database, query, state, until};
use crate::locks::{begin, run};

/// PostgreSQL's modes, from the weakest on.
const MODES: [&str; 8] = [
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
];

/// Which modes exclude each other: a row for each, in the same order.
const CONFLICTS: [&str; 8] = [
    ".......X", "......XX", "....XXXX", "...XXXXX", "..XX.XXX", "..XXXXXX", ".XXXXXXX", "XXXXXXXX",
];

fn conflict(one: usize, other: usize) -> bool {
    CONFLICTS[one].as_bytes()[other] == b'X'
}

async fn tables() -> (Arc<Database>, Session, Session) {
    let database = database();
    let (mut one, two) = (database.session("shareddb"), database.session("shareddb"));
    let tables = "CREATE TABLE t (a int PRIMARY KEY, b int);
        CREATE TABLE u (a int PRIMARY KEY, b int);
        INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
        INSERT INTO u VALUES (1, 10)";
    query(&mut one, tables).await.expect("created");
    query(&mut one, "CREATE VIEW v AS SELECT t.a, u.b FROM t JOIN u ON t.a = u.a")
        .await
        .expect("v");
    (database, one, two)
}

async fn lock(session: &mut Session, table: &str, mode: &str) {
    let text = format!("LOCK TABLE {table} IN {mode} MODE");
    query(session, &text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modes_exclude_each_other_as_in_postgresql() {
    let (_, mut one, mut two) = tables().await;
    for (held, holds) in MODES.into_iter().enumerate() {
        run(&mut one, &["BEGIN"]).await;
        lock(&mut one, "t", holds).await;
        for (asked, mode) in MODES.into_iter().enumerate() {
            run(&mut two, &["BEGIN"]).await;
            let given = query(&mut two, &format!("LOCK t IN {mode} MODE NOWAIT")).await;
            if conflict(held, asked) {
                let refused = given.expect_err(mode);
                assert_eq!(refused.state.code(), "55P03", "{} {mode}", holds);
                assert_eq!(refused.message, "could not obtain lock on relation \"t\"");
            } else {
                assert_eq!(given.expect(mode).tag, "LOCK TABLE", "{} {mode}", holds);
            }
            run(&mut two, &["ROLLBACK"]).await;
        }
        run(&mut one, &["COMMIT"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_goes_on_when_the_transaction_ends() {
    for end in ["COMMIT", "ROLLBACK"] {
        let (_, mut one, mut two) = tables().await;
        run(&mut one, &["BEGIN", "LOCK TABLE t"]).await;
        run(&mut two, &["BEGIN"]).await;
        let waiting = begin(two, "LOCK TABLE ONLY t, u IN ROW SHARE MODE").await;
        run(&mut one, &[end]).await;
        let (mut two, given) = waiting.await.expect("ends");
        assert_eq!(given.expect("locked").tag, "LOCK TABLE");
        run(&mut two, &["COMMIT"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_wait_for_the_modes_that_exclude_them() {
    // With the weakest mode that excludes it, and the strongest that does not.
    let cases = [
        ("SELECT * FROM t", 7),
        ("SELECT count(*) FROM t WHERE b > 5", 7),
        ("SELECT * FROM v", 7),
        ("SELECT * FROM u WHERE a IN (SELECT a FROM t)", 7),
        ("SELECT * FROM t WHERE a = 1 FOR UPDATE", 6),
        ("SELECT * FROM t WHERE a = 1 FOR KEY SHARE", 6),
        ("INSERT INTO t VALUES (7, 7)", 4),
        ("UPDATE t SET b = 0 WHERE a = 1", 4),
        ("UPDATE t SET b = 0", 4),
        ("UPDATE t SET b = u.b FROM u WHERE u.a = t.a", 4),
        ("DELETE FROM t WHERE a = 1", 4),
        ("DELETE FROM t WHERE b = (SELECT max(b) FROM t x WHERE x.a >= t.a)", 4),
        ("INSERT INTO t SELECT a + 100, b FROM u", 4),
        ("INSERT INTO u SELECT a + 100, b FROM t", 7),
    ];
    for (text, weakest) in cases {
        for in_block in [false, true] {
            let (_, mut one, mut two) = tables().await;
            run(&mut one, &["BEGIN"]).await;
            lock(&mut one, "t", MODES[weakest - 1]).await;
            if in_block {
                run(&mut two, &["BEGIN"]).await;
            }
            if weakest != 4 && (in_block || text.starts_with("SELECT")) {
                run(&mut two, &[text]).await;
                run(&mut one, &["ROLLBACK", "BEGIN"]).await;
                if in_block {
                    run(&mut two, &["ROLLBACK", "BEGIN"]).await;
                }
            } else {
                run(&mut one, &["ROLLBACK", "BEGIN"]).await;
            }
            lock(&mut one, "t", MODES[weakest]).await;
            let waiting = begin(two, text).await;
            run(&mut one, &["COMMIT"]).await;
            let (_, given) = waiting.await.expect("ends");
            given.unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_statement_sees_what_was_committed() {
    for in_block in [false, true] {
        let (_, mut one, mut two) = tables().await;
        run(&mut one, &["BEGIN", "LOCK TABLE t", "UPDATE t SET b = b + 1 WHERE a = 1"]).await;
        if in_block {
            run(&mut two, &["BEGIN ISOLATION LEVEL REPEATABLE READ"]).await;
        }
        let waiting = begin(two, "SELECT b FROM t WHERE a = 1").await;
        run(&mut one, &["COMMIT"]).await;
        let (_, given) = waiting.await.expect("ends");
        assert_eq!(column(&given.expect("goes on")), ["11"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lock_table_waits_for_what_blocks_have_used() {
    let cases = [
        ("SELECT * FROM t", "ACCESS EXCLUSIVE", "EXCLUSIVE"),
        ("SELECT * FROM v", "ACCESS EXCLUSIVE", "EXCLUSIVE"),
        ("DECLARE c CURSOR FOR SELECT * FROM t", "ACCESS EXCLUSIVE", "EXCLUSIVE"),
        ("SELECT * FROM t FOR SHARE", "EXCLUSIVE", "SHARE ROW EXCLUSIVE"),
        ("INSERT INTO t VALUES (9, 9)", "SHARE", "SHARE UPDATE EXCLUSIVE"),
        ("UPDATE t SET b = 0 WHERE a = 1", "SHARE", "SHARE UPDATE EXCLUSIVE"),
        ("DELETE FROM t WHERE a = 1", "SHARE", "SHARE UPDATE EXCLUSIVE"),
        ("INSERT INTO t SELECT a + 50, b FROM t", "SHARE", "SHARE UPDATE EXCLUSIVE"),
    ];
    for (text, excluded, free) in cases {
        let (_, mut one, mut two) = tables().await;
        run(&mut one, &["BEGIN", text]).await;
        run(&mut two, &["BEGIN"]).await;
        lock(&mut two, "t", free).await;
        let refused = query(&mut two, &format!("LOCK t IN {excluded} MODE NOWAIT")).await;
        assert_eq!(state(refused), "55P03", "{text}");
        run(&mut two, &["ROLLBACK", "BEGIN"]).await;
        let waiting = match excluded {
            "SHARE" => begin(two, "LOCK TABLE t IN SHARE MODE").await,
            "EXCLUSIVE" => begin(two, "LOCK TABLE t IN EXCLUSIVE MODE").await,
            _ => begin(two, "LOCK TABLE t").await,
        };
        run(&mut one, &["COMMIT"]).await;
        let (mut two, given) = waiting.await.expect("ends");
        given.expect("locked");
        run(&mut two, &["COMMIT"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_by_themselves_hold_nothing() {
    let (_, mut one, mut two) = tables().await;
    run(&mut one, &["SELECT * FROM t", "SELECT * FROM t FOR UPDATE", "UPDATE t SET b = 1"]).await;
    run(&mut two, &["BEGIN", "LOCK t NOWAIT", "COMMIT"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_use_parents_and_children() {
    let (_, mut one, mut two) = tables().await;
    let child = "CREATE TABLE child (id int PRIMARY KEY, a int REFERENCES t)";
    run(&mut one, &[child, "BEGIN", "INSERT INTO child VALUES (1, 1)"]).await;
    run(&mut two, &["BEGIN", "LOCK t IN SHARE MODE NOWAIT"]).await;
    assert_eq!(state(query(&mut two, "LOCK t IN EXCLUSIVE MODE NOWAIT").await), "55P03");
    run(&mut two, &["ROLLBACK"]).await;
    run(&mut one, &["COMMIT", "BEGIN", "LOCK child IN EXCLUSIVE MODE"]).await;
    let waiting = begin(two, "DELETE FROM t WHERE a = 2").await;
    run(&mut one, &["COMMIT"]).await;
    waiting.await.expect("ends").1.expect("deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_end_by_time_by_cancel_and_at_once() {
    let (_, mut one, mut two) = tables().await;
    run(&mut one, &["BEGIN", "LOCK TABLE t"]).await;
    run(&mut two, &["SET lock_timeout = '50ms'"]).await;
    for text in ["SELECT * FROM t", "UPDATE t SET b = 0", "INSERT INTO t VALUES (8, 8)"] {
        assert_eq!(state(query(&mut two, text).await), "55P03", "{text}");
        run(&mut two, &["BEGIN"]).await;
        assert_eq!(state(query(&mut two, text).await), "55P03", "{text}");
        run(&mut two, &["ROLLBACK"]).await;
    }
    run(&mut two, &["BEGIN"]).await;
    let refused = query(&mut two, "LOCK TABLE t IN SHARE MODE").await.expect_err("locked");
    assert_eq!(refused.message, "canceling statement due to lock timeout");
    run(&mut two, &["ROLLBACK", "SET lock_timeout = 0", "SET statement_timeout = '50ms'"]).await;
    assert_eq!(state(query(&mut two, "SELECT * FROM t").await), "57014");
    run(&mut two, &["BEGIN"]).await;
    assert_eq!(state(query(&mut two, "LOCK TABLE t IN SHARE MODE").await), "57014");
    run(&mut two, &["ROLLBACK", "SET statement_timeout = 0", "BEGIN"]).await;
    let cancelled = two.cancelled();
    let waiting = begin(two, "LOCK TABLE t").await;
    cancelled.store(true, Ordering::Relaxed);
    let (mut two, given) = waiting.await.expect("ends");
    assert_eq!(state(given), "57014");
    run(&mut two, &["ROLLBACK"]).await;
    let waiting = begin(two, "SELECT * FROM t").await;
    waiting.abort();
    drop(waiting.await);
    run(&mut one, &["COMMIT", "BEGIN", "LOCK TABLE t NOWAIT", "COMMIT"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_leaves_no_locks() {
    let (_, mut one, two) = tables().await;
    run(&mut one, &["BEGIN", "LOCK TABLE t"]).await;
    let waiting = begin(two, "SELECT a FROM t WHERE a = 2").await;
    drop(one);
    let (_, given) = waiting.await.expect("ends");
    assert_eq!(column(&given.expect("goes on")), ["2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn savepoints_end_the_locks_after_them() {
    let (_, mut one, mut two) = tables().await;
    let texts = ["BEGIN", "LOCK u IN SHARE MODE", "SAVEPOINT s", "LOCK t", "SELECT * FROM u"];
    run(&mut one, &texts).await;
    run(&mut two, &["BEGIN"]).await;
    assert_eq!(state(query(&mut two, "LOCK t NOWAIT").await), "55P03");
    run(&mut two, &["ROLLBACK", "BEGIN"]).await;
    run(&mut one, &["ROLLBACK TO s"]).await;
    run(&mut two, &["LOCK t NOWAIT"]).await;
    assert_eq!(state(query(&mut two, "LOCK u NOWAIT").await), "55P03");
    run(&mut two, &["ROLLBACK"]).await;
    // The same of what statements have used: only noted, and entered when somebody asks.
    for asks_before in [false, true] {
        run(&mut one, &["ROLLBACK", "BEGIN", "SELECT * FROM t", "SAVEPOINT s"]).await;
        run(&mut one, &["INSERT INTO t VALUES (70, 0)", "RELEASE s", "SAVEPOINT s"]).await;
        run(&mut one, &["SELECT * FROM u"]).await;
        if asks_before {
            run(&mut two, &["BEGIN"]).await;
            assert_eq!(state(query(&mut two, "LOCK u NOWAIT").await), "55P03");
            run(&mut two, &["ROLLBACK"]).await;
        }
        run(&mut one, &["ROLLBACK TO s"]).await;
        run(&mut two, &["BEGIN", "LOCK u NOWAIT"]).await;
        assert_eq!(state(query(&mut two, "LOCK t IN SHARE MODE NOWAIT").await), "55P03");
        run(&mut two, &["ROLLBACK"]).await;
    }
    // A fault ends all that came after the last savepoint.
    run(&mut one, &["ROLLBACK", "BEGIN", "LOCK t"]).await;
    assert_eq!(state(query(&mut one, "SELECT 1 / 0").await), "22012");
    run(&mut two, &["BEGIN", "LOCK t NOWAIT", "COMMIT"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_for_much_is_not_passed_by_newcomers() {
    let (database, mut one, two) = tables().await;
    let mut three = database.session("shareddb");
    run(&mut one, &["BEGIN", "SELECT * FROM t"]).await;
    let mut two = two;
    run(&mut two, &["BEGIN"]).await;
    let waiting = begin(two, "LOCK TABLE t").await;
    // It could go on beside the block that reads, but somebody waits already.
    run(&mut three, &["BEGIN"]).await;
    assert_eq!(state(query(&mut three, "LOCK t IN ACCESS SHARE MODE NOWAIT").await), "55P03");
    run(&mut three, &["ROLLBACK"]).await;
    let behind = begin(three, "SELECT a FROM t WHERE a = 1").await;
    // Who has used the table is not held up by those who wait for him.
    run(&mut one, &["SELECT * FROM t"]).await;
    run(&mut one, &["COMMIT"]).await;
    let (mut two, given) = waiting.await.expect("ends");
    given.expect("locked");
    assert!(!behind.is_finished());
    run(&mut two, &["DELETE FROM t WHERE a = 1", "COMMIT"]).await;
    let (_, given) = behind.await.expect("ends");
    assert!(given.expect("reads").rows.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlocks_among_tables_rows_and_keys_are_found() {
    let cases = [
        ("LOCK TABLE t", "LOCK TABLE u", "LOCK TABLE u", "LOCK TABLE t"),
        ("SELECT * FROM t", "SELECT * FROM u", "LOCK TABLE u", "LOCK TABLE t"),
        ("SELECT * FROM t", "SELECT * FROM t", "LOCK TABLE t", "LOCK TABLE t"),
        (
            "UPDATE t SET b = 1 WHERE a = 1",
            "LOCK TABLE u",
            "SELECT * FROM u",
            "DELETE FROM t WHERE a = 1",
        ),
        (
            "LOCK TABLE t",
            "SELECT pg_advisory_xact_lock(5)",
            "SELECT pg_advisory_xact_lock(5)",
            "SELECT * FROM t",
        ),
        (
            "SELECT pg_advisory_lock(5)",
            "UPDATE t SET b = 1 WHERE a = 1",
            "UPDATE t SET b = 2 WHERE a = 1",
            "SELECT pg_advisory_lock(5)",
        ),
    ];
    for (first, second, waits, closes) in cases {
        let (_, mut one, mut two) = tables().await;
        run(&mut one, &["SET deadlock_timeout = '1h'", "BEGIN", first]).await;
        run(&mut two, &["SET deadlock_timeout = '10ms'", "BEGIN", second]).await;
        let waiting = begin(one, waits).await;
        assert_eq!(state(query(&mut two, closes).await), "40P01", "{waits} {closes}");
        let (mut one, given) = waiting.await.expect("ends");
        given.unwrap_or_else(|error| panic!("{waits}: {error}"));
        run(&mut one, &["COMMIT"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_and_lock_table_exclude_each_other() {
    let definitions = [
        ("ALTER TABLE t ADD COLUMN c int", "ACCESS SHARE"),
        ("ALTER TABLE t ALTER COLUMN b TYPE bigint", "ACCESS SHARE"),
        ("DROP TABLE t", "ACCESS SHARE"),
        ("TRUNCATE t", "ACCESS SHARE"),
        ("CREATE INDEX i ON t (b)", "ROW EXCLUSIVE"),
    ];
    for (definition, mode) in definitions {
        let (_, mut one, mut two) = tables().await;
        run(&mut one, &["DROP VIEW v", "BEGIN"]).await;
        lock(&mut one, "t", mode).await;
        let waiting = begin(two, definition).await;
        run(&mut one, &["COMMIT"]).await;
        let (_, given) = waiting.await.expect("ends");
        given.unwrap_or_else(|error| panic!("{definition}: {error}"));
        let (_, mut one, other) = tables().await;
        two = other;
        run(&mut one, &["DROP VIEW v", "BEGIN", definition]).await;
        run(&mut two, &["BEGIN"]).await;
        let refused = query(&mut two, &format!("LOCK t IN {mode} MODE NOWAIT")).await;
        assert_eq!(state(refused), "55P03", "{definition}");
        run(&mut one, &["ROLLBACK"]).await;
        run(&mut two, &["ROLLBACK"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_waited_for_a_definition_is_planned_anew() {
    let (_, mut one, two) = tables().await;
    run(&mut one, &["DROP VIEW v", "BEGIN", "LOCK TABLE t"]).await;
    let waiting = begin(two, "SELECT a FROM t WHERE b = 10").await;
    run(&mut one, &["ALTER TABLE t ALTER COLUMN b TYPE bigint", "COMMIT"]).await;
    let (_, given) = waiting.await.expect("ends");
    assert_eq!(column(&given.expect("reads")), ["1"]);
    let (_, mut one, mut two) = tables().await;
    run(&mut one, &["DROP VIEW v", "BEGIN", "LOCK TABLE t"]).await;
    run(&mut two, &["BEGIN"]).await;
    let waiting = begin(two, "LOCK TABLE t").await;
    run(&mut one, &["DROP TABLE t", "COMMIT"]).await;
    let (mut two, given) = waiting.await.expect("ends");
    // It has waited for a table that is no more.
    drop(given);
    assert!(query(&mut two, "SELECT * FROM t").await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_views_and_places_are_looked_at() {
    let (_, mut one, mut two) = tables().await;
    let outside = query(&mut one, "LOCK TABLE t").await.expect_err("no block");
    assert_eq!(outside.state.code(), "25P01");
    assert_eq!(outside.message, "LOCK TABLE can only be used in transaction blocks");
    run(&mut one, &["BEGIN"]).await;
    assert_eq!(state(query(&mut one, "LOCK TABLE nothing").await), "42P01");
    run(&mut one, &["ROLLBACK", "CREATE SEQUENCE s", "BEGIN"]).await;
    assert_eq!(state(query(&mut one, "LOCK TABLE s").await), "42809");
    run(&mut one, &["ROLLBACK", "BEGIN", "LOCK TABLE v IN EXCLUSIVE MODE"]).await;
    run(&mut two, &["BEGIN"]).await;
    for table in ["t", "u"] {
        run(&mut two, &["SAVEPOINT s"]).await;
        let text = format!("LOCK {table} IN ROW SHARE MODE NOWAIT");
        assert_eq!(state(query(&mut two, &text).await), "55P03", "{table}");
        run(&mut two, &["ROLLBACK TO s"]).await;
    }
    run(&mut two, &["ROLLBACK"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_does_not_stand_in_its_own_way() {
    let (_, mut one, _two) = tables().await;
    let texts = [
        "BEGIN",
        "SELECT * FROM t",
        "LOCK TABLE t IN SHARE MODE",
        "UPDATE t SET b = 0 WHERE a = 1",
        "LOCK TABLE t",
        "SELECT * FROM t FOR UPDATE",
        "INSERT INTO t SELECT a + 10, b FROM t",
        "CREATE TABLE own (a int PRIMARY KEY)",
        "LOCK TABLE own",
        "INSERT INTO own VALUES (1)",
        "COMMIT",
    ];
    run(&mut one, &texts).await;
    let left = query(&mut one, "SELECT count(*) FROM t").await.expect("read");
    assert_eq!(column(&left), ["6"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_in_bulk_wait_too() {
    let (_, mut one, two) = tables().await;
    run(&mut one, &["BEGIN", "LOCK TABLE t IN SHARE MODE"]).await;
    let waiting = begin(two, "INSERT INTO t SELECT n, n FROM generate_series(1000, 3000) AS g (n)");
    let waiting = waiting.await;
    run(&mut one, &["COMMIT"]).await;
    let (mut two, given) = waiting.await.expect("ends");
    assert_eq!(given.expect("inserted").tag, "INSERT 0 2001");
    let left = query(&mut two, "SELECT count(*) FROM t").await.expect("read");
    assert_eq!(column(&left), ["2004"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pg_locks_shows_who_has_and_who_waits() {
    let (database, mut one, mut two) = tables().await;
    let mut three = database.session("shareddb");
    let shown = "SELECT l.mode || ' ' || l.granted::text || ' ' || l.fastpath::text FROM pg_locks l
        JOIN pg_class c ON c.oid = l.relation WHERE c.relname = 't' ORDER BY 1";
    assert!(column(&query(&mut three, shown).await.expect("shown")).is_empty());
    run(&mut one, &["BEGIN", "SELECT * FROM t"]).await;
    let noted = query(&mut three, shown).await.expect("shown");
    assert_eq!(column(&noted), ["AccessShareLock true true"]);
    run(&mut two, &["BEGIN"]).await;
    let waiting = begin(two, "LOCK TABLE t").await;
    let all = query(&mut three, shown).await.expect("shown");
    assert_eq!(column(&all), ["AccessExclusiveLock false false", "AccessShareLock true false"]);
    run(&mut one, &["COMMIT"]).await;
    let (mut two, _) = waiting.await.expect("ends");
    let all = query(&mut three, shown).await.expect("shown");
    assert_eq!(column(&all), ["AccessExclusiveLock true false"]);
    run(&mut two, &["COMMIT"]).await;
    until("nothing is locked", || database.engine().exclusion().shown().is_empty().then_some(()))
        .await;
}
