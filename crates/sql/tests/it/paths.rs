//! A query by itself takes the cheaper path; its answer is the same on each.

use std::sync::Arc;

use sql::{Database, Session};

use crate::connection::{Given, column, database, query};

const ROWS: i32 = 60_000;

async fn facts() -> Arc<Database> {
    let database = database();
    let mut session = database.session("shareddb");
    let text = "CREATE TABLE fact (id int PRIMARY KEY, dim int, amount numeric(10, 2), note text); \
        CREATE TABLE dim (id int PRIMARY KEY, name text)";
    run(&mut session, text).await;
    for from in (0..ROWS).step_by(10_000) {
        let row = |id: i32| format!("({id}, {}, {}.25, 'note {}')", id % 50, id % 977, id % 13);
        let rows: Vec<String> = (from..from + 10_000).map(row).collect();
        run(&mut session, &format!("INSERT INTO fact VALUES {}", rows.join(", "))).await;
    }
    let rows: Vec<String> = (0..50).map(|id| format!("({id}, 'name {}')", id % 7)).collect();
    run(&mut session, &format!("INSERT INTO dim VALUES {}", rows.join(", "))).await;
    database
}

async fn run(session: &mut Session, text: &str) -> Given {
    query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// First rows by an order that no index has: the cost model says that alone they cost so much less that no measurement of
/// the global plan changes it.
const FIRST: &str = "SELECT id, amount FROM fact ORDER BY amount DESC, id LIMIT 10";

const STATEMENTS: &[&str] = &[
    FIRST,
    "SELECT id FROM fact WHERE note LIKE '%7' ORDER BY amount, id LIMIT 100",
    "SELECT count(*), sum(amount), min(note), max(dim) FROM fact",
    "SELECT dim, count(*), avg(amount) FROM fact GROUP BY dim ORDER BY dim",
    "SELECT avg(DISTINCT amount * 1.3), avg(id), avg(amount) FROM fact WHERE dim < 11",
    "SELECT count(DISTINCT note), avg(DISTINCT amount) FROM fact WHERE dim < 25",
    "SELECT count(*), sum(total) FROM (SELECT id, sum(amount) AS total FROM fact GROUP BY id HAVING sum(amount) > 900) AS g",
    "SELECT name, sum(amount * 2) FROM fact JOIN dim ON dim = dim.id GROUP BY name ORDER BY name",
    "SELECT dim, sum(amount * (1 - amount / 1000)), sum(amount * (2 - amount) * (1.5 + id)), avg(amount + id),
     min(amount - 0.125), max(id * dim), sum(id - dim * 3), count(amount * 2) FROM fact GROUP BY dim ORDER BY dim",
    "SELECT sum(amount * (1 - missing)), sum(id * missing), sum(missing) 
     FROM (SELECT id, amount, CASE WHEN dim > 3 THEN dim END AS missing FROM fact) fact",
    "SELECT sum(id * 2000000), sum(amount * 99999999.99 * amount) FROM fact WHERE id < 1000",
    "SELECT id * 3 - dim, amount * (1 - amount), -amount + 1 FROM fact WHERE id < 200 ORDER BY id",
    "SELECT name FROM dim WHERE NOT EXISTS (SELECT 1 FROM fact WHERE fact.dim = dim.id AND amount > 976)
     ORDER BY dim.id",
    "SELECT dim, note FROM fact WHERE amount = (SELECT max(amount) FROM fact) ORDER BY id",
    "SELECT first.id, name FROM (SELECT id, dim FROM fact ORDER BY amount DESC, id LIMIT 30) first
     JOIN dim ON dim = dim.id ORDER BY first.id",
    "SELECT count(*), sum(id) FROM (SELECT id, dim FROM fact WHERE dim < 9 ORDER BY amount, id LIMIT 20 OFFSET 3) part",
    "SELECT name FROM dim WHERE id IN (SELECT dim FROM fact WHERE id > 70 ORDER BY note, id LIMIT 5) ORDER BY dim.id",
    "SELECT id FROM fact WHERE id > 59990 UNION ALL SELECT id FROM dim WHERE id < 3 ORDER BY id",
];

/// Sums whose arguments do not fit their types in some row.
const OVERFLOWS: &[&str] = &[
    "SELECT sum(id * 2000000) FROM fact",
    "SELECT dim, sum(dim - id * 100000) FROM fact GROUP BY dim",
    "SELECT max(id * 9223372036854775) FROM fact",
    "SELECT id * 2000000 FROM fact",
];

/// How many templates were measured on the alone path.
async fn measured_alone(session: &mut Session) -> usize {
    let text = "SELECT statement FROM shareddb.templates WHERE alone_measured_us IS NOT NULL";
    run(session, text).await.rows.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_the_same_on_each_path() {
    let database = facts().await;
    let mut session = database.session("shareddb");
    let shown = run(&mut session, "SHOW shareddb.path").await;
    assert_eq!(column(&shown), ["automatic"]);
    for text in STATEMENTS {
        run(&mut session, "SET shareddb.path = global").await;
        let global = run(&mut session, text).await;
        run(&mut session, "SET shareddb.path = alone").await;
        assert_eq!(run(&mut session, text).await.rows, global.rows, "{text}");
        run(&mut session, "SET shareddb.path = automatic").await;
        for _ in 0..5 {
            assert_eq!(run(&mut session, text).await.rows, global.rows, "{text}");
        }
    }
    for path in ["global", "alone"] {
        run(&mut session, &format!("SET shareddb.path = {path}")).await;
        for text in OVERFLOWS {
            let failed = query(&mut session, text).await.err();
            assert_eq!(failed.map(|error| error.state.code()), Some("22003"), "{text}, {path}");
        }
    }
    // Those who are answered may come before the lane is at rest: then they take the global plan.
    let mut rounds = 0;
    while measured_alone(&mut session).await == 0 {
        run(&mut session, FIRST).await;
        rounds += 1;
        assert!(rounds < 1000, "nothing ever runs alone");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_the_same_however_a_session_shares() {
    let database = facts().await;
    let mut session = database.session("shareddb");
    let shown = run(&mut session, "SHOW shareddb.sharing").await;
    assert_eq!(column(&shown), ["server"]);
    for text in STATEMENTS {
        let usual = run(&mut session, text).await;
        for way in ["automatic", "always", "never"] {
            run(&mut session, &format!("SET shareddb.sharing = {way}")).await;
            assert_eq!(run(&mut session, text).await.rows, usual.rows, "{text}, {way}");
        }
        run(&mut session, "RESET shareddb.sharing").await;
    }
    let refused = query(&mut session, "SET shareddb.sharing = 'some'").await.err();
    assert_eq!(refused.map(|error| error.state.code()), Some("22023"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_a_clustered_key_are_whole_chunk_by_chunk() {
    let database = facts().await;
    let mut session = database.session("shareddb");
    run(&mut session, "SET shareddb.path = global").await;
    let text =
        "EXPLAIN ANALYZE SELECT id, sum(amount) FROM fact GROUP BY id HAVING sum(amount) > 900";
    let answer = run(&mut session, text).await;
    let lines = column(&answer);
    assert!(lines.iter().any(|line| line.contains("groups in one chunk each")), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_says_what_it_takes_by_itself() {
    let database = facts().await;
    let mut session = database.session("shareddb");
    let explain = format!("EXPLAIN {FIRST}");
    let lines = run(&mut session, &explain).await;
    let expected = "\
Lane 0 (heavy, 1 template)
Project  [node 2]
    shared: a batch of 8 costs about 3 µs shared, 16 µs alone
  Top-N by amount desc, id  [node 1]
      limit $1
      shared: a batch of 8 costs about 6300 µs shared, 46000 µs alone
    Clock Scan of fact  [node 0]
        one pass over about 60000 rows for the whole batch, 60000 per activation
        shared: a batch of 8 costs about 68 µs shared, 500 µs alone
By itself it takes the global plan: predicted 5800 µs in the global plan, predicted 810 µs alone
";
    assert_eq!(column(&lines).join("\n") + "\n", expected);
    run(&mut session, "SET shareddb.path = global").await;
    let lines = run(&mut session, &explain).await;
    assert!(!column(&lines).iter().any(|line| line.starts_with("By itself")), "{lines:?}");
    run(&mut session, FIRST).await;
    let analyze = format!("EXPLAIN (COSTS OFF, ANALYZE) {FIRST}");
    let lines = run(&mut session, &analyze).await;
    assert!(column(&lines).iter().any(|line| line.starts_with("Heartbeat")), "{lines:?}");
    run(&mut session, "RESET shareddb.path").await;
    let mut rounds = 0;
    loop {
        let lines = run(&mut session, &analyze).await;
        let lines = column(&lines);
        if lines.iter().any(|line| line.starts_with("It ran alone, in ")) {
            assert!(lines[0].starts_with("Runs alone"), "{lines:?}");
            assert!(lines.iter().any(|line| line.contains("measured ")), "{lines:?}");
            break;
        }
        assert!(lines[0].starts_with("Lane"), "{lines:?}");
        rounds += 1;
        assert!(rounds < 1000, "nothing ever runs alone");
    }
}
