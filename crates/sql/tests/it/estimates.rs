//! How many rows EXPLAIN expects: by the statement's own values, and by what is stored now.

use std::sync::Arc;

use sql::{Database, Session};

use crate::connection::{Given, column, database, query};
use crate::within::within;

async fn run(session: &mut Session, text: &str) -> Given {
    query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// 5,000 orders: quantities 1 to 50, 25 customers of whom every fifth order has none, days of 2024.
async fn orders() -> Arc<Database> {
    let database = database();
    let mut session = database.session("shareddb");
    let text = "CREATE TABLE orders (id int PRIMARY KEY, quantity smallint, customer int, day date, price numeric(10, 2))";
    run(&mut session, text).await;
    let row = |id: i32| {
        let customer = if id % 5 == 0 { "NULL".to_owned() } else { (id % 25).to_string() };
        let (quantity, day) = (id % 50 + 1, id % 300);
        format!("({id}, {quantity}, {customer}, date '2024-01-01' + {day}, {}.50)", id % 1000)
    };
    let rows: Vec<String> = (0..5_000).map(row).collect();
    run(&mut session, &format!("INSERT INTO orders VALUES {}", rows.join(", "))).await;
    database
}

/// What EXPLAIN says of the orders that a condition leaves.
async fn expected(session: &mut Session, condition: &str) -> String {
    let text = format!("EXPLAIN SELECT count(*) FROM orders WHERE {condition}");
    let answer = run(session, &text).await;
    let lines = column(&answer);
    let line = lines.iter().find(|line| line.contains("per activation") || line.contains("finds"));
    line.unwrap_or_else(|| panic!("{lines:?}")).trim().to_owned()
}

/// One template a line or two: each statement is told of its own values, whoever was planned first.
const EXPECTED: &str = "\
quantity < 26: 2600 per activation
quantity < 2: 100 per activation
quantity < 1000: 5000 per activation
quantity < 0: 1 per activation
quantity BETWEEN 10 AND 14: 510 per activation
quantity BETWEEN 14 AND 10: 1 per activation
quantity = 7: 100 per activation
quantity = 70: 1 per activation
quantity IN (1, 2, 3): 310 per activation
quantity IN (1, 2, 70): 200 per activation
customer >= 12: 2100 per activation
day >= '2024-07-01' AND day < date '2024-07-01' + 31: 520 per activation
price < 100: 500 per activation
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn literals_count_with_their_values() {
    let database = orders().await;
    let mut session = database.session("shareddb");
    let mut found = String::new();
    for line in EXPECTED.lines() {
        let (condition, _) = line.split_once(": ").expect("a condition and its rows");
        let rows = expected(&mut session, condition).await;
        let (_, rows) = rows.rsplit_once(", ").unwrap_or_else(|| panic!("{rows}"));
        found.push_str(&format!("{condition}: {rows}\n"));
    }
    assert_eq!(found, EXPECTED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn light_is_what_every_activation_finds_little_by() {
    let database = orders().await;
    let mut session = database.session("shareddb");
    let text = "EXPLAIN SELECT price FROM orders WHERE id BETWEEN 10 AND 12";
    let answer = run(&mut session, text).await;
    let lines = column(&answer);
    assert!(lines[0].contains("heavy"), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("the index finds about")), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn analyze_counts_what_is_left() {
    let database = database();
    let mut session = database.session("shareddb");
    run(&mut session, "CREATE TABLE orders (id int PRIMARY KEY, state int, day int)").await;
    let rows: Vec<String> = (0..20_000).map(|id| format!("({id}, {id}, {id})")).collect();
    run(&mut session, &format!("INSERT INTO orders VALUES {}", rows.join(", "))).await;
    let all =
        |rows| format!("one pass over about 20000 rows for the whole batch, {rows} per activation");
    assert_eq!(expected(&mut session, "state = 1").await, all("2"));
    run(&mut session, "UPDATE orders SET state = 1").await;
    run(&mut session, "ANALYZE orders").await;
    assert_eq!(expected(&mut session, "state = 1").await, all("20000"));
    run(&mut session, "UPDATE orders SET state = 2, day = 0 WHERE id < 10").await;
    run(&mut session, "BEGIN; ANALYZE; COMMIT").await;
    assert_eq!(expected(&mut session, "state = 1").await, all("10000"));
    run(&mut session, "DELETE FROM orders WHERE id >= 100").await;
    run(&mut session, "VACUUM (VERBOSE, ANALYZE) orders (state)").await;
    let left =
        |rows| format!("one pass over about 100 rows for the whole batch, {rows} per activation");
    assert_eq!(expected(&mut session, "state = 2").await, left("50"));
    assert_eq!(expected(&mut session, "day > 50").await, left("48"));
    for (text, state) in [("ANALYZE orders, nothing", "42P01"), ("ANALYZE orders orders", "42601")]
    {
        let refused = query(&mut session, text).await.err();
        assert_eq!(refused.map(|error| error.state.code()), Some(state), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn much_changed_tables_are_counted_without_being_asked() {
    let database = orders().await;
    let mut session = database.session("shareddb");
    run(&mut session, "UPDATE orders SET customer = 7").await;
    let found = "one pass over about 5000 rows for the whole batch, 5000 per activation";
    within("somebody counts", async {
        while expected(&mut session, "customer = 7").await != found {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    })
    .await;
}
