//! What the server relies on: parameters, implicit transactions, settings, notices.

use engine::types::Value;
use sql::{ImplicitTransaction, TransactionStatus};

use crate::connection::{column, database, execute, given, query, state};

#[tokio::test]
async fn parameters_are_inferred_and_literals_share_one_template() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int PRIMARY KEY, b text)").await.expect("created");
    let insert = session.prepare("INSERT INTO t VALUES ($1, $2)", &[]).await.expect("plans");
    assert_eq!(insert.parameters, [23, 25]);
    let given = execute(
        &mut session,
        "INSERT INTO t VALUES ($1, $2)",
        vec![Value::Integer(1), Value::Text("one".into())],
    );
    assert_eq!(given.await.expect("inserts").tag, "INSERT 0 1");
    for (a, b) in [("1", "one"), ("2", "NULL")] {
        let text = format!("SELECT max(b) FROM t WHERE a = {a}");
        assert_eq!(column(&query(&mut session, &text).await.expect("reads")), [b]);
    }
    let select =
        session.prepare("SELECT b FROM t WHERE a = $1 LIMIT $2", &[]).await.expect("plans");
    assert_eq!(select.parameters, [23, 20]);
}

#[tokio::test]
async fn statements_of_one_message_are_one_transaction() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int PRIMARY KEY)").await.expect("created");
    let text = "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); SELECT 1/0";
    assert_eq!(state(query(&mut session, text).await), "22012");
    assert_eq!(column(&query(&mut session, "SELECT count(*) FROM t").await.expect("reads")), ["0"]);
    query(&mut session, "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)").await.expect("both");
    assert_eq!(column(&query(&mut session, "SELECT count(*) FROM t").await.expect("reads")), ["2"]);
    assert_eq!(state(query(&mut session, "INSERT INTO t VALUES (3); SELEC 1").await), "42601");
    assert_eq!(column(&query(&mut session, "SELECT count(*) FROM t").await.expect("reads")), ["2"]);
}

#[tokio::test]
async fn a_pipeline_commits_at_its_end() {
    let database = database();
    let (mut one, mut two) = (database.session("shareddb"), database.session("shareddb"));
    query(&mut one, "CREATE TABLE t (a int)").await.expect("created");
    let insert = one.prepare("INSERT INTO t VALUES (1)", &[]).await.expect("plans");
    let outcome = one.execute(&insert, Vec::new(), ImplicitTransaction::Script).await;
    assert_eq!(given(outcome.expect("runs")).await.expect("tag").tag, "INSERT 0 1");
    assert_eq!(one.transaction_status(), TransactionStatus::Idle);
    assert_eq!(column(&query(&mut two, "SELECT count(*) FROM t").await.expect("reads")), ["0"]);
    one.end_implicit(false).await.expect("commits");
    assert_eq!(column(&query(&mut two, "SELECT count(*) FROM t").await.expect("reads")), ["1"]);
}

#[tokio::test]
async fn changed_columns_refuse_a_prepared_statement() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int)").await.expect("created");
    let all = session.prepare("SELECT * FROM t", &[]).await.expect("plans");
    let first = session.prepare("SELECT a FROM t", &[]).await.expect("plans");
    query(&mut session, "ALTER TABLE t ADD COLUMN b int").await.expect("altered");
    let fault = session.execute(&all, Vec::new(), ImplicitTransaction::Alone).await.err();
    let fault = fault.expect("refused");
    assert_eq!(fault.message, "cached plan must not change result type");
    assert_eq!(fault.state.code(), "0A000");
    assert!(session.execute(&first, Vec::new(), ImplicitTransaction::Alone).await.is_ok());
}

#[tokio::test]
async fn notices_and_parameter_changes_reach_the_server() {
    let database = database();
    let mut session = database.session("shareddb");
    assert!(session.take_parameter_changes().iter().any(|(name, _)| name == "server_version"));
    query(&mut session, "SET application_name = 'x'").await.expect("set");
    let changes = session.take_parameter_changes();
    assert_eq!(changes, [("application_name".to_owned(), "x".to_owned())]);
    query(&mut session, "COMMIT").await.expect("warns");
    let notices = session.take_notices();
    assert_eq!(notices[0].message, "there is no transaction in progress");
    assert_eq!(notices[0].state.code(), "25P01");
    query(&mut session, "DROP TABLE IF EXISTS nothing").await.expect("skips");
    assert_eq!(session.take_notices()[0].message, "table \"nothing\" does not exist, skipping");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_increments_all_count() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int PRIMARY KEY, b int)").await.expect("created");
    query(&mut session, "INSERT INTO t VALUES (1, 0)").await.expect("inserted");
    let workers = (0..8).map(|_| {
        let database = database.clone();
        tokio::spawn(async move {
            let mut session = database.session("shareddb");
            for _ in 0..20 {
                query(&mut session, "BEGIN").await.expect("begins");
                query(&mut session, "UPDATE t SET b = b + 1 WHERE a = 1").await.expect("updates");
                query(&mut session, "COMMIT").await.expect("commits");
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.expect("no fault");
    }
    let rows = query(&mut session, "SELECT b FROM t").await.expect("reads");
    assert_eq!(column(&rows), ["160"]);
}
