//! Joins in any order, of any kind, with filters from above: a statement's rows are the same on each path.

use sql::Session;

use crate::connection::{Given, database, query};
use crate::seeds::seeds;

/// How many rows each table has; all have columns of the same names.
const TABLES: [i32; 5] = [20_000, 3_000, 300, 40, 6];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

async fn run(session: &mut Session, text: &str) -> Given {
    query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

async fn tables(session: &mut Session) {
    for (number, rows) in TABLES.into_iter().enumerate() {
        let text = format!(
            "CREATE TABLE t{number} (id int PRIMARY KEY, ref int, kind smallint, note text)"
        );
        run(session, &text).await;
        let row = |id: i32| {
            let reference =
                if id % 11 == 3 { "NULL".to_owned() } else { (id * 7 % 350).to_string() };
            format!("({id}, {reference}, {}, 'note {}')", id % 23, id % 13)
        };
        for from in (0..rows).step_by(5_000) {
            let rows: Vec<String> = (from..rows.min(from + 5_000)).map(row).collect();
            run(session, &format!("INSERT INTO t{number} VALUES {}", rows.join(", "))).await;
        }
        run(session, &format!("DELETE FROM t{number} WHERE id % 17 = 5")).await;
    }
}

/// A key of a row is met by one row of each table at most, so that no join has many more rows than its first table.
fn text(random: &mut Random) -> String {
    let count = 2 + random.below(5);
    let mut from = format!("t{} a0", random.below(TABLES.len()));
    for number in 1..count {
        let (other, table) = (random.below(number), random.below(TABLES.len()));
        let kind = ["JOIN", "JOIN", "JOIN", "LEFT JOIN"][random.below(4)];
        let key = ["ref", "kind", "id"][random.below(3)];
        let more = match random.below(4) {
            0 => format!(" AND a{number}.kind + a{other}.kind < 30"),
            _ => String::new(),
        };
        from += &format!(" {kind} t{table} a{number} ON a{number}.id = a{other}.{key}{more}");
    }
    let at = random.below(count);
    let condition = match random.below(5) {
        0 => format!("a{at}.kind < {}", random.below(23)),
        1 => format!("a{at}.note LIKE '%{}'", random.below(10)),
        2 => format!("a{at}.id IN (1, 2, 30, {})", random.below(400)),
        3 => format!("EXISTS (SELECT 1 FROM t2 x WHERE x.ref = a{at}.id AND x.kind < 9)"),
        _ => format!("a{at}.ref BETWEEN 5 AND {}", random.below(350)),
    };
    let columns = |column: &str| -> Vec<String> {
        (0..count).map(|number| column.replace('?', &format!("a{number}"))).collect()
    };
    match random.below(3) {
        0 => {
            let keys = columns("?.id").join(", ");
            let limit = 1 + random.below(30);
            format!(
                "SELECT {keys}, a0.note FROM {from} WHERE {condition} ORDER BY {keys} DESC LIMIT {limit}"
            )
        }
        1 => {
            let sums = columns("sum(?.id)").join(", ");
            format!(
                "SELECT a{at}.kind, count(*), {sums} FROM {from} WHERE {condition} GROUP BY 1 ORDER BY 1"
            )
        }
        _ => {
            let sums = columns("count(?.ref), max(?.note)").join(", ");
            format!("SELECT count(*), {sums} FROM {from} WHERE {condition}")
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_the_same_on_each_path() {
    let database = database();
    let mut session = database.session("shareddb");
    tables(&mut session).await;
    for seed in seeds("join-orders") {
        let mut random = Random(seed);
        for _ in 0..150 {
            let text = text(&mut random);
            run(&mut session, "SET shareddb.path = global").await;
            let global = run(&mut session, &text).await.rows;
            run(&mut session, "SET shareddb.path = alone").await;
            assert_eq!(run(&mut session, &text).await.rows, global, "seed {seed}: {text}");
        }
    }
}

#[tokio::test]
async fn a_block_counts_its_own_rows() {
    let database = database();
    let mut session = database.session("shareddb");
    tables(&mut session).await;
    for text in [
        "SET shareddb.path = alone",
        "BEGIN",
        "INSERT INTO t2 VALUES (-4, 1, 99, 'new'), (9000, 2, 98, 'new')",
        "DELETE FROM t2 WHERE id BETWEEN 10 AND 99",
        "UPDATE t2 SET kind = 120 WHERE id = 200",
    ] {
        run(&mut session, text).await;
    }
    let text = "SELECT count(*), min(id), max(id), max(kind), count(ref) FROM t2";
    let within = run(&mut session, text).await.rows;
    run(&mut session, "COMMIT").await;
    run(&mut session, "SET shareddb.path = global").await;
    assert_eq!(within, run(&mut session, text).await.rows);
    assert_eq!(within[0][1..4], ["-4", "9000", "120"].map(|cell| Some(cell.to_owned())));
}
