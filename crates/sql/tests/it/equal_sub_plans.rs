//! Equal sub-plans of one statement run once, and answers are those of the alone path: in batches of several clients
//! with different parameters, and beside commits.

use std::sync::Arc;

use engine::types::Value;
use sql::{Database, Session};

use crate::connection::{Given, column, database, execute, query};

const ROWS: i32 = 12_000;

const TWICE: &str = "WITH r AS (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $1 GROUP BY supplier) \
    SELECT a.supplier, a.total, b.total FROM r a JOIN r b ON a.supplier = b.supplier AND a.total > $2 ORDER BY 1";

/// Each with two integers as parameters.
const STATEMENTS: &[&str] = &[
    TWICE,
    "WITH r AS (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $1 GROUP BY supplier)
     SELECT a.supplier, b.supplier, a.total FROM r a JOIN r b ON a.total = b.total AND a.supplier < b.supplier + $2
     ORDER BY 1, 2",
    "WITH r AS (SELECT supplier, sum(amount) AS total, count(*) AS n FROM sale WHERE day >= $1 GROUP BY supplier)
     SELECT a.supplier, a.total, b.n, c.total FROM r a JOIN r b ON a.supplier = b.supplier + 1
     LEFT JOIN r c ON b.n = c.n AND c.supplier < $2 ORDER BY 1, 2, 3, 4",
    "SELECT a.supplier, a.total, b.total
     FROM (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $1 GROUP BY supplier) a
     JOIN (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $2 GROUP BY supplier) b
     ON a.supplier = b.supplier ORDER BY 1",
    "SELECT a.supplier, a.total, b.total
     FROM (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $1 GROUP BY supplier) a
     JOIN (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $1 + 0 * $2 GROUP BY supplier) b
     ON a.supplier = b.supplier ORDER BY 1",
    "WITH r AS (SELECT supplier, sum(amount) AS total, min(day) AS first FROM sale WHERE day >= $1 GROUP BY supplier)
     SELECT a.supplier, a.first, b.total FROM r a JOIN r b ON a.supplier = b.supplier WHERE b.total > $2 ORDER BY 1",
    "WITH r AS (SELECT supplier, sum(amount) AS total FROM sale WHERE day < $1
     GROUP BY supplier HAVING sum(amount) > $2)
     SELECT name, a.total, b.total FROM supplier JOIN r a ON id = a.supplier JOIN r b ON id = b.supplier
     WHERE name LIKE '%3' ORDER BY 1, 2",
    "WITH r AS (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $1 GROUP BY supplier)
     SELECT name, total FROM supplier JOIN r ON id = supplier
     WHERE total = (SELECT max(total) FROM r) OR id = $2 ORDER BY 1, 2",
    "WITH r AS (SELECT name, count(*) AS n FROM sale JOIN supplier ON supplier = supplier.id
     WHERE day >= $1 GROUP BY name)
     SELECT a.name, b.n FROM r a FULL JOIN r b ON a.name = b.name AND a.n > $2 ORDER BY 1, 2",
    // Keys of the few suppliers are not for what `b` reads.
    "WITH r AS (SELECT supplier, day, count(*) AS n FROM sale WHERE day >= $1 GROUP BY supplier, day)
     SELECT a.supplier, a.n, sum(b.n) FROM supplier JOIN r a ON id = a.supplier
     LEFT JOIN r b ON b.day = a.day AND a.n > $2 - 50 WHERE name LIKE '%3' GROUP BY a.supplier, a.n ORDER BY 1, 2, 3",
    "WITH d AS (SELECT DISTINCT supplier, day FROM sale WHERE day < $1)
     SELECT count(*) FROM d a WHERE NOT EXISTS (SELECT 1 FROM d b
     WHERE b.supplier = a.supplier AND b.day = a.day + $2)",
    "WITH f AS (SELECT id, day FROM sale WHERE day <> $2 ORDER BY amount DESC, id LIMIT 40)
     SELECT a.id, b.id FROM f a JOIN f b ON a.day = b.day + $1 ORDER BY 1, 2",
    "WITH r AS (SELECT supplier, count(*) AS n FROM sale WHERE day = $1 GROUP BY supplier)
     SELECT n, supplier FROM r UNION ALL SELECT supplier, n FROM r
     WHERE n < $2 UNION ALL SELECT n, n FROM r ORDER BY 1, 2",
    "WITH r AS (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $1 GROUP BY supplier)
     SELECT name, total FROM supplier JOIN r ON id = supplier
     WHERE total = (SELECT max(total) FROM r) AND id <> $2 ORDER BY 1, 2",
    "WITH r AS (SELECT supplier, sum(amount) AS total, count(*) AS n FROM sale WHERE day >= $1 AND day < $2
     GROUP BY supplier)
     SELECT supplier, total FROM r WHERE total = (SELECT min(total) FROM r) AND n = (SELECT max(n) FROM r)
     OR total > (SELECT avg(total) FROM r) ORDER BY 1, 2",
    "WITH r AS (SELECT supplier, sum(amount) AS total, count(*) AS n FROM sale WHERE day >= $1 AND day < $2
     GROUP BY supplier)
     SELECT supplier, total FROM r WHERE n = (SELECT max(n) FROM r) AND total <> (SELECT min(total) FROM r)
     ORDER BY 1, 2",
    "WITH r AS (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= $1 GROUP BY supplier)
     SELECT supplier, (SELECT min(total) FROM r) FROM r
     WHERE total = (SELECT max(total) FROM r WHERE supplier <> $2) ORDER BY 1, 2",
];

/// TPC-H Q15: whoever has the most of what the grouping around the subquery tells too.
const MOST: &str = "WITH r AS (SELECT supplier, sum(amount) AS total FROM sale WHERE day >= 50 GROUP BY supplier) \
    SELECT name, total FROM supplier JOIN r ON id = supplier WHERE total = (SELECT max(total) FROM r)";

async fn run(session: &mut Session, text: &str) -> Given {
    query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

async fn sales() -> Arc<Database> {
    let database = database();
    let mut session = database.session("shareddb");
    let text = "CREATE TABLE sale (id int PRIMARY KEY, supplier int, day int, amount int); \
        CREATE TABLE supplier (id int PRIMARY KEY, name text)";
    run(&mut session, text).await;
    let row = |id: i32| format!("({id}, {}, {}, {})", id * 7 % 61, id * 13 % 100, id * id % 97);
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    run(&mut session, &format!("INSERT INTO sale VALUES {}", rows.join(", "))).await;
    let rows: Vec<String> = (0..61).map(|id| format!("({id}, 'name {}')", id % 17)).collect();
    run(&mut session, &format!("INSERT INTO supplier VALUES {}", rows.join(", "))).await;
    database
}

fn parameters(client: i32) -> Vec<Value> {
    vec![Value::Integer(client * 37 % 100), Value::Integer(client * 11 % 50)]
}

/// The answer on each path, both in a block of one snapshot.
async fn agrees(session: &mut Session, text: &str, client: i32) {
    run(session, "BEGIN ISOLATION LEVEL REPEATABLE READ").await;
    let mut answers = Vec::new();
    for path in ["global", "alone"] {
        run(session, &format!("SET LOCAL shareddb.path = {path}")).await;
        let answer = execute(session, text, parameters(client)).await;
        answers.push(answer.unwrap_or_else(|error| panic!("{text}, {path}: {error}")));
    }
    run(session, "COMMIT").await;
    assert_eq!(answers[0], answers[1], "{text}, client {client}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_those_of_the_alone_path_beside_commits() {
    let database = sales().await;
    let client = |client: i32| {
        let mut session = database.session("shareddb");
        async move {
            let sharing = ["always", "automatic", "never"][client as usize % 3];
            run(&mut session, &format!("SET shareddb.sharing = {sharing}")).await;
            for text in STATEMENTS.iter().cycle().skip(client as usize).take(STATEMENTS.len()) {
                agrees(&mut session, text, client).await;
            }
        }
    };
    let clients: Vec<_> = (0..6).map(|number| tokio::spawn(client(number))).collect();
    let mut session = database.session("shareddb");
    let mut step = 0;
    while !clients.iter().all(tokio::task::JoinHandle::is_finished) {
        step += 1;
        let text = format!(
            "UPDATE sale SET amount = amount + 1, day = {} WHERE id % 50 = {}",
            step % 100,
            step % 50
        );
        run(&mut session, &text).await;
    }
    for client in clients {
        client.await.expect("no client fails");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_batch_of_many_parameters_answers_what_each_gets_alone() {
    let database = sales().await;
    for text in STATEMENTS {
        let client = |client: i32, path: &'static str| {
            let mut session = database.session("shareddb");
            tokio::spawn(async move {
                run(&mut session, "SET shareddb.sharing = always").await;
                run(&mut session, &format!("SET shareddb.path = {path}")).await;
                execute(&mut session, text, parameters(client)).await.expect("it is valid")
            })
        };
        let together: Vec<_> = (0..12).map(|number| client(number, "global")).collect();
        for (number, answer) in together.into_iter().enumerate() {
            let alone = client(number as i32, "alone").await.expect("it ends");
            assert_eq!(answer.await.expect("it ends"), alone, "{text}, client {number}");
        }
    }
}

/// The lines of EXPLAIN that hold `part`.
async fn told(session: &mut Session, text: &str, part: &str) -> Vec<String> {
    let given = run(session, text).await;
    column(&given)
        .into_iter()
        .map(|line| line.to_string())
        .filter(|line| line.contains(part))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_named_twice_is_scanned_once() {
    let database = sales().await;
    let mut session = database.session("shareddb");
    run(&mut session, "SET shareddb.path = global").await;
    let twice = TWICE.replace("$1", "50").replace("$2", "7");
    let scans = told(&mut session, &format!("EXPLAIN {twice}"), "Clock Scan of sale").await;
    assert_eq!(scans.len(), 1, "{scans:?}");
    let again = told(&mut session, &format!("EXPLAIN {twice}"), "Reused: Group by").await;
    assert_eq!(again.len(), 1, "{again:?}");
    let actual = told(&mut session, &format!("EXPLAIN ANALYZE {twice}"), "actual: 6000 rows").await;
    assert_eq!(actual.len(), 1, "{actual:?}");
    // Two literals are two parameters.
    let two = "SELECT * FROM (SELECT supplier, sum(amount) FROM sale WHERE day > 5 GROUP BY supplier) a
        JOIN (SELECT supplier, sum(amount) FROM sale WHERE day > 5 GROUP BY supplier) b ON a.supplier = b.supplier";
    let scans = told(&mut session, &format!("EXPLAIN {two}"), "Clock Scan of sale").await;
    assert_eq!(scans.len(), 2, "{scans:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_scalar_subquery_and_its_statement_group_is_grouped_once() {
    let database = sales().await;
    let mut session = database.session("shareddb");
    run(&mut session, "SET shareddb.path = global").await;
    let lines = |text: &str, part| (format!("EXPLAIN ANALYZE {text}"), part);
    // Another day in the subquery is another grouping, and any other comparison a parameter.
    let days = MOST.replace(
        "max(total) FROM r",
        "max(t) FROM (SELECT sum(amount) AS t FROM sale WHERE day >= 50 GROUP BY supplier) x",
    );
    let more = MOST.replace("total = (SELECT max", "total >= (SELECT max");
    let exact = MOST.replace("sum(amount)", "sum(amount * (1 - 0.07))");
    let cases = [(MOST, 1, 1, 0), (&exact, 1, 1, 0), (&days, 2, 0, 1), (&more, 2, 0, 1)];
    for (text, scans, again, first) in cases {
        let wanted = [
            (lines(text, "Clock Scan of sale"), scans),
            (lines(text, "Reused: Group by"), again),
            (lines(text, "Scalar subquery"), first),
        ];
        for ((analyze, part), times) in wanted {
            let found = told(&mut session, &analyze, part).await;
            assert_eq!(found.len(), times, "{text}: {found:?}");
        }
        let answer = run(&mut session, text).await;
        run(&mut session, "SET shareddb.path = alone").await;
        assert_eq!(run(&mut session, text).await, answer, "{text}");
        run(&mut session, "SET shareddb.path = global").await;
    }
}
