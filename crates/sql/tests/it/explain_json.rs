//! EXPLAIN (FORMAT JSON) says what EXPLAIN says, as programs read it.

use serde_json::Value;
use sql::Session;

use crate::connection::{column, database, query};

const QUERY: &str = "SELECT v, count(*) FROM a JOIN b ON b.a = a.id \
                     WHERE v > (SELECT min(v) FROM a) GROUP BY v ORDER BY v";

async fn lines(session: &mut Session, text: &str) -> Vec<String> {
    let given = query(session, text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    column(&given).into_iter().map(|line| line.to_string()).collect()
}

async fn told(session: &mut Session, options: &str, text: &str) -> Value {
    let rows = lines(session, &format!("EXPLAIN ({options}) {text}")).await;
    let told: Value = serde_json::from_str(&rows.concat()).expect("JSON");
    assert_eq!((rows.len(), told.as_array().map(Vec::len)), (1, Some(1)), "{told:#}");
    told[0].clone()
}

/// The values of a key in a plan and all plans below it.
fn values(plan: &Value, key: &str) -> Vec<String> {
    let below = plan["Plans"].as_array().into_iter().flatten();
    let own = plan[key].as_str().map(str::to_owned).into_iter();
    own.chain(below.flat_map(|plan| values(plan, key))).collect()
}

async fn two_tables() -> Session {
    let mut session = database().session("shareddb");
    for text in [
        "CREATE TABLE a (id int PRIMARY KEY, v int)",
        "CREATE TABLE b (id int PRIMARY KEY, a int)",
        "INSERT INTO a VALUES (1, 1), (2, 2)",
        "INSERT INTO b VALUES (1, 1), (2, 2)",
        "SET shareddb.path = global",
    ] {
        query(&mut session, text).await.expect("it is valid");
    }
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_through_the_global_plan_is_a_tree() {
    let mut session = two_tables().await;
    let json = told(&mut session, "FORMAT JSON", QUERY).await;
    let text = lines(&mut session, &format!("EXPLAIN {QUERY}")).await;
    let plan = &json["Plan"];
    assert_eq!(json["Lane"].as_str(), Some(text[0].as_str()));
    let kinds = values(plan, "Node Type");
    assert!(kinds.contains(&"Clock Scan".to_owned()), "{json:#}");
    assert_eq!(values(plan, "Parent Relationship"), ["InitPlan"], "{json:#}");
    let descriptions = values(plan, "Description");
    assert_eq!(descriptions.len(), kinds.len());
    for description in descriptions {
        assert!(text.iter().any(|line| line.contains(&description)), "{description}: {text:?}");
    }
    let analyzed = told(&mut session, "ANALYZE, FORMAT 'json'", QUERY).await;
    let notes = analyzed["Notes"].as_array().expect("what its heartbeat did");
    assert!(notes[0].as_str().is_some_and(|note| note.starts_with("Heartbeat ")), "{notes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_alone_and_what_has_no_plan_has_a_node_type_too() {
    let mut session = two_tables().await;
    let text = "SELECT id, row_number() OVER (ORDER BY v) FROM a WHERE v > 0";
    let json = told(&mut session, "FORMAT JSON", text).await;
    let path = json["Path"].as_str().expect("it says how it runs");
    assert!(path.starts_with("Runs alone, query at a time: "), "{json:#}");
    let kinds = values(&json["Plan"], "Node Type");
    assert!(kinds.iter().any(|kind| kind == "WindowAggr"), "{json:#}");
    let json = told(&mut session, "FORMAT JSON", "INSERT INTO a VALUES (3, 3)").await;
    assert_eq!(json["Plan"]["Node Type"], "INSERT in the write heartbeat");
    query(&mut session, "PREPARE p AS SELECT v FROM a WHERE id = $1").await.expect("new");
    let json = told(&mut session, "FORMAT JSON", "EXECUTE p (1)").await;
    assert!(values(&json["Plan"], "Node Type").contains(&"Index Scan".to_owned()), "{json:#}");
}
