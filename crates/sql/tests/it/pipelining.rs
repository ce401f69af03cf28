//! Queries that run alone at the same time, and take from each other what is equal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sql::{Database, Session};
use tokio::sync::Barrier;

use crate::connection::{Given, column, database, query, state};
use crate::seeds::seeds;
use crate::within::within;

const FACTS: i32 = 60_000;

/// Facts that fill several chunks, and a small dimension.
async fn facts() -> Arc<Database> {
    let database = database();
    let mut session = database.session("shareddb");
    let text = "CREATE TABLE fact (id int PRIMARY KEY, dim int, amount numeric(10, 2), note text); \
        CREATE TABLE dim (id int PRIMARY KEY, name text)";
    query(&mut session, text).await.expect("created");
    for from in (0..FACTS).step_by(10_000) {
        let row = |id: i32| format!("({id}, {}, {}.25, 'note {}')", id % 50, id % 977, id % 13);
        let rows: Vec<String> = (from..from + 10_000).map(row).collect();
        let text = format!("INSERT INTO fact VALUES {}", rows.join(", "));
        query(&mut session, &text).await.expect("inserted");
    }
    let rows: Vec<String> = (0..50).map(|id| format!("({id}, 'name {}')", id % 7)).collect();
    let text = format!("INSERT INTO dim VALUES {}", rows.join(", "));
    query(&mut session, &text).await.expect("inserted");
    database
}

/// Numbers of a linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A query that no batch can take, with one of a few constants so that others have the same.
fn text(random: &mut Random) -> String {
    let least = random.below(3) * 100;
    let ranked = "rank() OVER (ORDER BY";
    match random.below(15) {
        0 => format!(
            "SELECT name, sum(amount), {ranked} sum(amount), name) FROM fact JOIN dim ON dim = dim.id WHERE fact.id >= {least} GROUP BY name"
        ),
        1 => format!(
            "SELECT name, max(amount), {ranked} max(amount), name) FROM fact JOIN dim ON dim = dim.id WHERE fact.id >= {least} GROUP BY name"
        ),
        2 => format!(
            "SELECT id, amount, {ranked} amount, id) FROM fact WHERE note LIKE '%7%' AND id >= {least}"
        ),
        3 => format!(
            "SELECT count(*), min(r) FROM (SELECT {ranked} amount, id) AS r FROM fact WHERE id >= {least}) x"
        ),
        4 => format!(
            "SELECT dim, note, count(*), {ranked} dim, note) FROM fact WHERE id >= {least} GROUP BY dim, note"
        ),
        5 => format!(
            "SELECT id, row_number() OVER (ORDER BY id DESC) FROM fact WHERE dim = 7 AND id >= {least} LIMIT 40"
        ),
        6 => format!(
            "SELECT fact.id, name, {ranked} amount, fact.id) FROM fact JOIN dim ON dim = dim.id WHERE dim.id < {} AND fact.id >= {least}",
            random.below(3) * 20 + 2
        ),
        7 => format!(
            "SELECT id, {ranked} amount, id) FROM (SELECT id, amount FROM fact WHERE id >= {least} ORDER BY amount DESC, id LIMIT {}) x",
            random.below(3) * 40 + 5
        ),
        8 => format!(
            "WITH r AS (SELECT note, sum(amount) AS total FROM fact WHERE id >= {least} GROUP BY note) SELECT a.note, b.total, {ranked} a.total, a.note) FROM r a JOIN r b ON a.note = b.note WHERE b.total > {}",
            random.below(2) * 300
        ),
        9 => format!(
            "WITH r AS (SELECT id % 30000 AS k, sum(amount) AS total FROM fact WHERE id >= {least} GROUP BY 1) SELECT k, total, {ranked} k) FROM r WHERE total > (SELECT avg(total) FROM r)"
        ),
        10 => format!(
            "WITH r AS (SELECT id, {ranked} amount, id) AS n FROM fact WHERE id >= {least}) SELECT a.id, b.id, {ranked} a.n) FROM r a JOIN r b ON a.n = b.n + {}",
            random.below(3)
        ),
        11 => format!(
            "SELECT id, amount, {ranked} amount, id) FROM fact WHERE dim < 9 UNION ALL SELECT id, amount, 0 FROM fact WHERE id >= {least}"
        ),
        12 => format!(
            "SELECT dim, count(*), {ranked} dim) FROM (SELECT dim, note FROM fact WHERE id >= {least} EXCEPT SELECT dim, note FROM fact WHERE id % 7 = 3) x GROUP BY dim"
        ),
        13 => format!(
            "WITH x AS (SELECT dim, note, sum(amount) AS c FROM fact WHERE id >= {least} GROUP BY dim, note), r AS (SELECT dim, max(c) AS most FROM x GROUP BY dim) SELECT x.dim, note, {ranked} c, note) FROM x JOIN r ON x.dim = r.dim AND c = most WHERE r.dim <> {}",
            random.below(2)
        ),
        _ => format!(
            "SELECT a.dim, b.note, count(*), {ranked} a.dim, b.note) FROM fact a JOIN fact b ON a.id = b.id WHERE a.dim < 5 AND b.id >= {least} GROUP BY a.dim, b.note"
        ),
    }
}

type Row = Vec<Option<String>>;

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

async fn run(session: &mut Session, text: &str) -> Given {
    query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Asks at one snapshot, with sharing and without.
async fn reader(database: Arc<Database>, turns: Arc<Barrier>, seed: u64) {
    let (mut session, mut random) = (database.session("shareddb"), Random(seed));
    for _ in 0..12 {
        let text = text(&mut random);
        within("all readers ask at once", turns.wait()).await;
        run(&mut session, "BEGIN ISOLATION LEVEL REPEATABLE READ").await;
        // Some read a little, stop, and read on when others have long been through.
        let stops = random.below(3) == 0;
        let mut slow = Vec::new();
        if stops {
            run(&mut session, &format!("DECLARE c CURSOR FOR {text}")).await;
            slow = run(&mut session, "FETCH 3 FROM c").await.rows;
        }
        let shared = sorted(run(&mut session, &text).await.rows);
        if stops && random.below(2) == 0 {
            slow.extend(run(&mut session, "FETCH ALL FROM c").await.rows);
            assert_eq!(sorted(slow), shared, "{text}");
        }
        run(&mut session, "SET LOCAL shareddb.pipelining = off").await;
        let alone = sorted(run(&mut session, &text).await.rows);
        run(&mut session, "COMMIT").await;
        assert_eq!(shared, alone, "{text}");
    }
}

async fn writer(database: Arc<Database>, done: Arc<AtomicBool>, seed: u64) {
    let (mut session, mut random) = (database.session("shareddb"), Random(seed));
    while !done.load(Ordering::Relaxed) {
        let id = random.below(FACTS as u64);
        let text = match random.below(4) {
            0 => format!("UPDATE dim SET name = 'name {id}' WHERE id = {}", id % 50),
            1 => format!("DELETE FROM fact WHERE id = {id}"),
            _ => format!("UPDATE fact SET amount = amount + 1 WHERE id = {id}"),
        };
        run(&mut session, &text).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Readers beside a writer; how often one has taken from another what was equal.
async fn attached(seed: u64) -> u64 {
    let database = facts().await;
    let (turns, done) = (Arc::new(Barrier::new(6)), Arc::new(AtomicBool::new(false)));
    let writing = tokio::spawn(writer(database.clone(), done.clone(), seed));
    let readers = (0..6).map(|i| tokio::spawn(reader(database.clone(), turns.clone(), seed + i)));
    let readers: Vec<_> = readers.collect();
    for reader in readers {
        reader.await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    done.store(true, Ordering::Relaxed);
    writing.await.expect("the writer ends");
    database.pipelines().attached()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn shared_equals_alone_whoever_runs_beside() {
    for seed in seeds("pipelining") {
        attached(seed).await;
    }
}

/// Who meets is up to the machine; that equal ones take from each other where they do is `explain_analyze_names_what_was_shared`.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "soak: equal queries meet by chance"]
async fn equal_queries_meet_beside_others() {
    for seed in seeds("pipelining") {
        assert!(attached(seed).await > 0, "seed {seed}: equal queries have met");
    }
}

#[tokio::test]
async fn explain_analyze_names_what_was_shared() {
    let database = facts().await;
    let (mut first, mut second) = (database.session("shareddb"), database.session("shareddb"));
    let text =
        "SELECT id, amount, note, rank() OVER (ORDER BY amount, id) FROM fact WHERE dim <> 3";
    run(&mut first, &format!("BEGIN; DECLARE c CURSOR FOR {text}")).await;
    run(&mut first, "FETCH 10 FROM c").await;
    let analyze = format!("EXPLAIN ANALYZE {text}");
    let lines = run(&mut second, &analyze).await;
    let lines = column(&lines);
    let pipelined: Vec<&&str> =
        lines.iter().filter(|line| line.starts_with("Pipelining")).collect();
    assert!(
        pipelined[0].contains("BoundedWindowAgg of fact: shares with 1 other, attached after page"),
        "{lines:?}"
    );
    run(&mut second, "SET shareddb.pipelining = off").await;
    let shown = run(&mut second, "SHOW shareddb.pipelining").await;
    assert_eq!(column(&shown), ["off"]);
    let lines = run(&mut second, &analyze).await;
    assert!(!column(&lines).iter().any(|line| line.starts_with("Pipelining")), "{lines:?}");
    assert_eq!(state(query(&mut second, "SET shareddb.pipelining = 'some'").await), "22023");
}

/// The lines of EXPLAIN ANALYZE about sharing that hold `part`.
async fn told(session: &mut Session, text: &str, part: &str) -> Vec<String> {
    let given = run(session, &format!("EXPLAIN ANALYZE {text}")).await;
    let lines = column(&given).into_iter().map(|line| line.to_string());
    lines.filter(|line| line.starts_with("Pipelining") && line.contains(part)).collect()
}

#[tokio::test]
async fn explain_analyze_tells_what_a_statement_has_twice() {
    let database = facts().await;
    let mut session = database.session("shareddb");
    run(&mut session, "SET shareddb.path = alone").await;
    let kept =
        "Aggregate of fact: shares with nobody, read again in this statement, from kept pages";
    let most =
        "WITH r AS (SELECT note, sum(amount) AS total FROM fact WHERE dim <> 3 GROUP BY note)
        SELECT note, total FROM r WHERE total = (SELECT max(total) FROM r)";
    assert_eq!(told(&mut session, most, kept).await.len(), 1);
    let apart = most.replace("max(total) FROM r", "max(total) FROM r WHERE note <> ''");
    let other = "WITH r AS (SELECT note, sum(amount) AS total FROM fact WHERE dim <> 3 GROUP BY note)
        SELECT r.note FROM r JOIN (SELECT note, sum(amount) AS total FROM fact WHERE dim <> 4 GROUP BY note) x
        ON r.total = x.total";
    for (text, times) in [(apart.as_str(), 0), (other, 0)] {
        assert_eq!(told(&mut session, text, kept).await.len(), times, "{text}");
    }
    // A block's own changes are the same for all of one statement, and nobody else's.
    run(&mut session, "BEGIN; UPDATE fact SET amount = 9000000 WHERE id = 7").await;
    assert_eq!(told(&mut session, most, kept).await.len(), 1);
    let changed = run(&mut session, most).await;
    run(&mut session, "ROLLBACK; SET shareddb.pipelining = off").await;
    assert_ne!(run(&mut session, most).await.rows, changed.rows);
    assert!(told(&mut session, most, "").await.is_empty());
}

#[tokio::test]
async fn a_session_may_keep_away_from_the_global_plan() {
    let database = facts().await;
    let mut session = database.session("shareddb");
    let text = "SELECT name, count(*), sum(amount) FROM fact JOIN dim ON dim = dim.id \
        WHERE fact.id < 50000 GROUP BY name ORDER BY name";
    let explain = format!("EXPLAIN {text}");
    let global = run(&mut session, text).await;
    assert!(column(&run(&mut session, &explain).await)[0].starts_with("Lane"));
    run(&mut session, "SET shareddb.path = alone").await;
    let alone = run(&mut session, text).await;
    assert_eq!(alone.rows, global.rows);
    let lines = run(&mut session, &explain).await;
    assert!(column(&lines)[0].contains("shareddb.path is alone"), "{lines:?}");
    run(&mut session, "SET shareddb.path = global").await;
    assert!(column(&run(&mut session, &explain).await)[0].starts_with("Lane"));
    assert_eq!(state(query(&mut session, "SET shareddb.path = 'some'").await), "22023");
}
