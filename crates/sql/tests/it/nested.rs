//! What planning would copy at each level: it is not copied, or refused at once.

use engine::types::SqlState;

use crate::connection::{column, database, query};

/// `around(around(.. innermost ..))`, `levels` deep; `{}` stands for what is inside.
fn nested(levels: usize, around: &str, innermost: &str) -> String {
    (0..levels).fold(innermost.to_owned(), |inner, _| around.replace("{}", &inner))
}

#[tokio::test]
async fn a_filter_over_columns_that_are_read_twice_at_each_level_is_answered() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE n (a int)").await.expect("created");
    query(&mut session, "INSERT INTO n VALUES (0), (1), (3), (-2)").await.expect("inserted");
    let doubled = nested(24, "(SELECT a + a AS a FROM {} q)", "n");
    let text = format!("SELECT a FROM {doubled} q WHERE a > 0 ORDER BY a");
    let given = query(&mut session, &text).await.expect("PostgreSQL itself has no memory for it");
    assert_eq!(column(&given), ["16777216", "50331648"]);
}

#[tokio::test]
async fn what_would_be_copied_without_end_is_refused() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE n (a int)").await.expect("created");
    let compared = "CASE WHEN {} BETWEEN 1 AND 5 THEN 2 ELSE 7 END";
    // Not hidden from the planner: it gives something else each time.
    let volatile = "coalesce({}, 1 / (1 + (10 * random())::int))";
    for (around, innermost) in [(compared, "a"), (volatile, "nullif((10 * random())::int, 3)")] {
        let text = |levels| format!("SELECT {} FROM n", nested(levels, around, innermost));
        query(&mut session, &text(4)).await.expect("a few levels are answered");
        let fault = query(&mut session, &text(40)).await.expect_err("2 to the power of 40");
        assert_eq!(fault.message, "statement too complex");
        assert!(fault.hint.is_some(), "{fault:?}");
        assert_eq!(fault.state, SqlState::StatementTooComplex);
    }
    query(&mut session, "SELECT 1").await.expect("the session goes on");
}
