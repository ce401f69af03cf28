//! Definitions inside blocks, as other sessions and the next process see them.

use std::path::Path;
use std::time::Duration;

use engine::heartbeat::{EngineOptions, Packing, Sharing};
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
        packing: Packing::Automatic,
        boarding: true,
        queue_limit: 1_000,
        memory_limit: 64 << 20,
    };
    let verification = sql::verification::VerificationOptions::default();
    let options = DatabaseOptions {
        engine,
        template_limit: 100,
        password_verifier: None,
        verification,
        response_time: Duration::ZERO,
    };
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_keeps_a_changed_type_or_the_old_one() {
    let name = format!("shareddb-changed-types-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let (first, second, third) = (folder.join("1"), folder.join("2"), folder.join("3"));
    {
        let database = open(&first);
        let mut session = database.session("one");
        for text in [
            "CREATE TABLE p (id int PRIMARY KEY)",
            "CREATE TABLE q (id serial PRIMARY KEY, p int REFERENCES p, n text UNIQUE)",
            "INSERT INTO p SELECT i FROM generate_series(1, 20000) AS s(i)",
            "INSERT INTO q (p, n) SELECT i, i::text FROM generate_series(1, 10000) AS s(i)",
            "ALTER TABLE p ALTER id TYPE bigint USING id + 0",
        ] {
            query(&mut session, text).await.expect(text);
        }
        // A fault in a row leaves nothing in the log.
        let fault = state(&mut session, "ALTER TABLE q ALTER n TYPE int USING 1 / (p - 77)").await;
        assert_eq!(fault, "22012");
        copy(&first, &second);
        for text in [
            "ALTER TABLE q ALTER n TYPE int USING n::int, ALTER id TYPE bigint",
            "DELETE FROM q WHERE n <= 9000",
            "INSERT INTO q (p, n) VALUES (20000, 9)",
        ] {
            query(&mut session, text).await.expect(text);
        }
        copy(&first, &third);
        // From a checkpoint, too.
        query(&mut session, "CHECKPOINT").await.expect("writes a checkpoint");
    }
    let before = open(&second);
    let mut session = before.session("one");
    let rows = query(&mut session, "SELECT n || 'x' FROM q JOIN p ON p.id = q.p WHERE n = '77'");
    assert_eq!(column(&rows.await.expect("still text")), ["77x"]);
    for data in [&third, &first] {
        let database = open(data);
        let mut session = database.session("one");
        let sums = "SELECT count(*)::text || ' ' || sum(n)::text FROM q JOIN p ON p.id = q.p";
        let sums = query(&mut session, sums).await.expect("both tables are there");
        assert_eq!(column(&sums), ["1001 9500509"]);
        assert_eq!(state(&mut session, "INSERT INTO q (p, n) VALUES (1, 9)").await, "23505");
        assert_eq!(state(&mut session, "INSERT INTO q (p, n) VALUES (0, 8)").await, "23503");
        assert_eq!(state(&mut session, "DELETE FROM p WHERE id = 20000").await, "23503");
        let id = query(&mut session, "INSERT INTO q (p, n) VALUES (1, 1) RETURNING id");
        let id: i64 = column(&id.await.expect("inserts"))[0].parse().expect("a number");
        assert!(id > 10_001, "{id} was given before");
    }
    drop((session, before));
    std::fs::remove_dir_all(folder).expect("removes");
}

/// Readers and writers of a table whose column changes its type all the time: nobody fails, no change is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_beside_changes_of_type_see_all_rows() {
    let database = database();
    let mut session = database.session("one");
    query(&mut session, "CREATE TABLE t (a int PRIMARY KEY, b int, c int)").await.expect("creates");
    let rows = "INSERT INTO t SELECT i, i, 0 FROM generate_series(1, 3000) AS s(i)";
    query(&mut session, rows).await.expect("inserts");
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let work = |name: &'static str, text: &'static str| {
        let (database, done) = (database.clone(), done.clone());
        tokio::spawn(async move {
            let mut session = database.session(name);
            let (mut answers, mut count) = (Vec::new(), 0);
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let given = query(&mut session, text).await.expect(text);
                answers = column(&given).into_iter().map(str::to_owned).collect::<Vec<_>>();
                count += 1;
            }
            (answers, count)
        })
    };
    let sum = work("reader", "SELECT sum(b::bigint)::bigint FROM t");
    let one = work("prober", "SELECT a FROM t WHERE a = 1234");
    let added = work("writer", "UPDATE t SET c = c + 1 WHERE a = 77 RETURNING a");
    for round in 0..20 {
        let wanted = ["bigint", "text USING b::text", "int USING b::int"][round % 3];
        let text = format!("ALTER TABLE t ALTER b TYPE {wanted}");
        query(&mut session, &text).await.expect(&text);
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(sum.await.expect("ends").0, ["4501500"]);
    assert_eq!(one.await.expect("ends").0, ["1234"]);
    let (_, updates) = added.await.expect("ends");
    let stored = query(&mut session, "SELECT c FROM t WHERE a = 77").await.expect("reads");
    assert_eq!(column(&stored), [updates.to_string()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_from_before_a_changed_type_keep_what_they_read() {
    let database = database();
    let (mut one, mut two) = (database.session("one"), database.session("two"));
    let mut three = database.session("three");
    for text in ["CREATE TABLE t (a int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3)"] {
        query(&mut two, text).await.expect(text);
    }
    let block = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    for text in [block, "SELECT count(*) FROM t"] {
        query(&mut one, text).await.expect(text);
    }
    for text in ["BEGIN", "DECLARE c CURSOR FOR SELECT a FROM t ORDER BY a", "FETCH 1 FROM c"] {
        query(&mut three, text).await.expect(text);
    }
    query(&mut two, "ALTER TABLE t ALTER a TYPE bigint USING a * 10").await.expect("changes");
    // What is open goes on; an older snapshot has no rows of the new table to see.
    let rest = query(&mut three, "FETCH ALL FROM c").await.expect("goes on");
    assert_eq!(column(&rest), ["2", "3"]);
    assert_eq!(state(&mut one, "SELECT a FROM t").await, "40001");
    query(&mut one, "ROLLBACK").await.expect("rolls back");
    for text in [block, "UPDATE t SET a = a + 1 WHERE a = 30", "COMMIT"] {
        query(&mut one, text).await.expect(text);
    }
    let rows = query(&mut three, "SELECT a FROM t ORDER BY a").await.expect("sees the new rows");
    assert_eq!(column(&rows), ["10", "20", "31"]);
}

/// What is known before a definition and what is known after it, of texts over `t`, its child `c`, its parent `p`, a view `v` of
/// `t`, and the other table `o`.
async fn known_after(definition: &str) -> Vec<&'static str> {
    const TEXTS: [(&str, &str); 8] = [
        ("t", "SELECT b FROM t WHERE a = 1"),
        ("c", "INSERT INTO c VALUES (7, 1)"),
        ("p", "DELETE FROM p WHERE a = 100"),
        ("v", "SELECT count(*) FROM v"),
        ("o", "SELECT a FROM o WHERE b = 'x'"),
        ("with", "WITH q AS (SELECT a FROM o) SELECT a FROM q WHERE a > 5"),
        ("catalog", "SELECT relname FROM pg_class WHERE relname = 'o'"),
        ("none", "SELECT x + 1 FROM (VALUES (1)) v (x)"),
    ];
    let database = database();
    let mut session = database.session("shareddb");
    for text in [
        "CREATE TABLE p (a int PRIMARY KEY)",
        "CREATE TABLE t (a int PRIMARY KEY REFERENCES p, b int)",
        "CREATE TABLE c (a int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE)",
        "CREATE TABLE o (a serial PRIMARY KEY, b text)",
        "CREATE VIEW v AS SELECT a FROM t",
        "INSERT INTO p VALUES (1)",
        "INSERT INTO t VALUES (1, 2)",
        "CREATE ROLE ann LOGIN",
    ] {
        query(&mut session, text).await.expect(text);
    }
    for (_, text) in TEXTS {
        query(&mut session, text).await.expect(text);
        assert!(session.known(text, &[]).is_some(), "{text}");
    }
    query(&mut session, definition).await.expect(definition);
    let is_known = |(_, text): &&(&str, &str)| session.known(text, &[]).is_some();
    TEXTS.iter().filter(is_known).map(|(name, _)| *name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_leaves_plans_that_read_nothing_of_it() {
    let others = ["t", "c", "p", "v", "o", "with", "none"];
    let cases: [(&str, &[&str]); 14] = [
        ("CREATE TABLE n (a serial PRIMARY KEY, b text)", &others),
        ("CREATE VIEW w AS SELECT a FROM o", &others),
        ("CREATE SEQUENCE s", &others),
        ("CREATE INDEX o_b ON o (b)", &["t", "c", "p", "v", "none"]),
        ("ALTER TABLE o ADD COLUMN d int DEFAULT 5", &["t", "c", "p", "v", "none"]),
        ("GRANT SELECT ON o TO ann", &["t", "c", "p", "v", "none"]),
        ("DROP TABLE o", &["t", "c", "p", "v", "none"]),
        // What refers to a table and what it refers to look at each other's definitions.
        ("ALTER TABLE t ADD COLUMN d int", &["o", "with", "none"]),
        ("CREATE TABLE n (a int REFERENCES t)", &["c", "o", "with", "none"]),
        ("DROP VIEW v", &["t", "c", "p", "o", "with", "none"]),
        ("GRANT SELECT ON v TO ann", &["t", "c", "p", "o", "with", "none"]),
        // Everything depends on roles, and on the sequences behind defaults.
        ("CREATE ROLE bob", &[]),
        ("ALTER SEQUENCE o_a_seq INCREMENT BY 2", &[]),
        ("REVOKE USAGE ON SCHEMA public FROM public", &[]),
    ];
    for (definition, known) in cases {
        assert_eq!(known_after(definition).await, known, "{definition}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_of_a_block_that_defines_are_its_own() {
    let database = database();
    let (mut one, mut two) = (database.session("shareddb"), database.session("shareddb"));
    let text = "SELECT * FROM t";
    query(&mut one, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)").await.expect("a table");
    query(&mut one, text).await.expect("rows");
    for step in ["BEGIN", "CREATE TABLE u (a int)", "PREPARE mine AS SELECT * FROM u", "ROLLBACK"] {
        query(&mut one, step).await.expect(step);
    }
    assert_eq!(state(&mut one, "EXECUTE mine").await, "42P01");
    query(&mut two, "CREATE TABLE u (a int, b int)").await.expect("the name is free");
    assert_eq!(state(&mut one, "EXECUTE mine").await, "0A000");
    assert!(two.known(text, &[]).is_some());
}
