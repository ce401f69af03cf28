//! A query that needs more memory than there is fails alone.

use crate::connection::{column, database_within, query, state};

#[tokio::test]
async fn a_sort_beyond_the_limit_is_53200_and_nothing_else_suffers() {
    let database = database_within(1 << 20);
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int PRIMARY KEY, b text)").await.expect("created");
    for from in (0..20_000).step_by(1_000) {
        let row = |a: i32| format!("({a}, '{}')", format!("{a:05}").repeat(20));
        let rows: Vec<String> = (from..from + 1_000).map(row).collect();
        let text = format!("INSERT INTO t VALUES {}", rows.join(", "));
        query(&mut session, &text).await.expect("inserted");
    }
    let ranked = "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY b DESC) AS r FROM t WHERE a < {}) x";
    let all = query(&mut session, &ranked.replace("{}", "20000")).await;
    assert_eq!(state(all), "53200");
    let few = query(&mut session, &ranked.replace("{}", "500")).await.expect("fits");
    assert_eq!(column(&few), ["500"]);
}

#[tokio::test]
async fn an_answer_too_large_to_be_kept_goes_out_piece_by_piece() {
    let database = database_within(1 << 20);
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int PRIMARY KEY)").await.expect("created");
    let rows: Vec<String> = (0..1_000).map(|a| format!("({a})")).collect();
    let text = format!("INSERT INTO t VALUES {}", rows.join(", "));
    query(&mut session, &text).await.expect("inserted");
    let pairs = "SELECT x.a + y.a FROM t x, t y WHERE y.a < 300";
    let all = query(&mut session, pairs).await.expect("it is answered");
    assert_eq!(all.rows.len(), 300_000);
    query(&mut session, "SET shareddb.path = global").await.expect("set");
    assert_eq!(state(query(&mut session, pairs).await), "53200");
}
