//! Answers run again by another path: nothing differs where nothing is broken, and what is broken is found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::heartbeat::{Account, Answer};
use engine::types::{Result, Value};
use sql::Database;
use sql::verification::{Executor, Question, Share, VerificationOptions};

use crate::connection::{column, execute, query, state, until, verified_database};

/// Everything is verified.
pub fn all() -> VerificationOptions {
    VerificationOptions { share: Share::ALL, ..VerificationOptions::default() }
}

/// What verification has found, once nothing waits any more.
pub async fn account(database: &Database) -> Account {
    let account = || database.engine().ledger().account();
    until("all is verified", || Some(account()).filter(|account| account.waiting == 0)).await
}

/// An executor that forgets the last row of everything.
#[derive(Debug, Default)]
struct Forgetful {
    runs: AtomicUsize,
}

#[async_trait::async_trait]
impl Executor for Forgetful {
    async fn run(&self, question: &Question, _cancelled: &Arc<AtomicBool>) -> Result<Answer> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let output = question.template.output.clone();
        Ok(Answer::new(output, Vec::new()))
    }
}

fn forgetful(is_strict: bool) -> (Arc<Forgetful>, VerificationOptions) {
    let executor = Arc::new(Forgetful::default());
    let options = VerificationOptions { is_strict, executor: Some(executor.clone()), ..all() };
    (executor, options)
}

const TABLE: &str =
    "CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_path_is_found_and_told_of() {
    let (executor, options) = forgetful(false);
    let database = verified_database(options);
    let mut session = database.session("shareddb");
    query(&mut session, TABLE).await.expect("a table");
    let text = "SELECT b FROM t WHERE a = $1";
    let given = execute(&mut session, text, vec![Value::Integer(2)]).await.expect("its own answer");
    assert_eq!(column(&given), ["y"], "the client is not disturbed");
    assert_eq!(account(&database).await.differed.activations, 1);
    assert_eq!(executor.runs.load(Ordering::Relaxed), 1);

    query(&mut session, "SET shareddb.verify = 0").await.expect("a setting");
    let told = query(&mut session, "SELECT * FROM shareddb.differences").await.expect("a table");
    let told: Vec<&str> = told.rows[0].iter().map(|cell| cell.as_deref().expect("told")).collect();
    let [number, statement, parameters, what, answer, other, batch, plan] = told[..] else {
        panic!("{told:?}");
    };
    assert_eq!((number, parameters, what), ("1", "(2)", "numbers of rows: 1 and 0"));
    assert!(statement.contains("SELECT b FROM t WHERE a = $1"), "{statement}");
    assert_eq!((answer, other), ("1 rows\n(\"y\")", "0 rows"));
    assert!(batch.starts_with("1 requests") && batch.ends_with("\n  (2)"), "{batch}");
    assert!(plan.starts_with("answered Global\n") && plan.len() > 20, "{plan}");

    let counted = "SELECT activations FROM shareddb.verification WHERE outcome = 'differed'";
    assert_eq!(column(&query(&mut session, counted).await.expect("a count")), ["1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strict_server_answers_xx001() {
    let (_, options) = forgetful(true);
    let database = verified_database(options);
    let mut session = database.session("shareddb");
    query(&mut session, TABLE).await.expect("a table");
    let global = "SELECT b FROM t WHERE a = 2";
    assert_eq!(state(query(&mut session, global).await), "XX001");
    query(&mut session, "SET shareddb.path = alone").await.expect("a setting");
    assert_eq!(state(query(&mut session, global).await), "XX001");
    // What the other path would not give either.
    let none = query(&mut session, "SELECT b FROM t WHERE a = 3").await.expect("the same");
    assert!(none.rows.is_empty());
    let account = account(&database).await;
    assert_eq!((account.differed.activations, account.agreed.activations), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_verified_is_counted_with_its_reason() {
    let database = verified_database(all());
    let mut session = database.session("shareddb");
    query(&mut session, TABLE).await.expect("a table");
    for text in [
        "SELECT random() FROM t",
        "SELECT rank() OVER (ORDER BY a) FROM t",
        "EXPLAIN SELECT a FROM t",
        "SELECT a FROM t WHERE a = 1",
        "SELECT a FROM t ORDER BY b LIMIT 1",
        "SELECT a FROM t LIMIT 1",
    ] {
        query(&mut session, text).await.expect(text);
    }
    let account = account(&database).await;
    assert_eq!(account.differed.activations, 0, "{:?}", database.engine().ledger().differences());
    assert_eq!(account.agreed.activations, 3);
    let skipped = |reason| account.skipped.get(reason).copied().unwrap_or(0);
    assert_eq!((skipped("volatile"), skipped("one path")), (1, 1));
    assert!(skipped("no query") >= 2, "{account:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_changes_and_both_paths_are_verified() {
    let database = verified_database(all());
    let mut session = database.session("shareddb");
    query(&mut session, TABLE).await.expect("a table");
    for path in ["global", "alone"] {
        query(&mut session, &format!("SET shareddb.path = {path}")).await.expect("a setting");
        let given = query(&mut session, "SELECT b, count(*) FROM t GROUP BY b ORDER BY b").await;
        assert_eq!(column(&given.expect("rows")), ["x", "y"], "{path}");
    }
    for text in
        ["BEGIN", "UPDATE t SET b = 'z' WHERE a = 1", "SELECT b FROM t WHERE a = 1", "COMMIT"]
    {
        query(&mut session, text).await.expect(text);
    }
    let account = account(&database).await;
    assert_eq!(account.differed.activations, 0, "{:?}", database.engine().ledger().differences());
    assert!(account.agreed.activations >= 3, "{account:?}");
}

/// Writes by themselves, in a block under its own changes, and with rows that a query finds.
const WRITES: [&str; 9] = [
    "UPDATE t SET b = 'z' WHERE a < 3",
    "UPDATE t SET b = b || 'y' WHERE b = 'z' RETURNING a, b",
    "DELETE FROM t WHERE a > (SELECT min(a) FROM t) AND a < 3 RETURNING *",
    "UPDATE t SET b = o.b FROM t o WHERE o.a = t.a AND o.b LIKE 'z%'",
    "BEGIN",
    "UPDATE t SET b = 'own' WHERE a = 1",
    "DELETE FROM t WHERE b = 'own' RETURNING a",
    "ROLLBACK",
    "DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM t o WHERE o.a = t.a + 1)",
];

async fn write(options: VerificationOptions) -> Account {
    let database = verified_database(options);
    let mut session = database.session("shareddb");
    query(&mut session, TABLE).await.expect("a table");
    for text in WRITES {
        query(&mut session, text).await.expect(text);
    }
    account(&database).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_writes_are_searched_for_again() {
    let same = write(all()).await;
    assert_eq!(same.differed.activations, 0, "{same:?}");
    // Seven writes and one scalar subquery.
    assert_eq!(same.agreed.activations, 8, "{same:?}");
    let (_, options) = forgetful(false);
    let wrong = write(options).await;
    assert_eq!((wrong.agreed.activations, wrong.differed.activations), (0, 8), "{wrong:?}");
}

#[tokio::test]
async fn the_share_is_a_setting() {
    let database = verified_database(VerificationOptions::default());
    let mut session = database.session("shareddb");
    let shown = async |session: &mut sql::Session| {
        let given = query(session, "SHOW shareddb.verify").await.expect("a setting");
        column(&given)[0].to_owned()
    };
    assert_eq!(shown(&mut session).await, "server");
    query(&mut session, "SET shareddb.verify = 0.25").await.expect("a share");
    assert_eq!(shown(&mut session).await, "0.25");
    for wrong in ["2", "-1", "often"] {
        let text = format!("SET shareddb.verify = '{wrong}'");
        assert_eq!(state(query(&mut session, &text).await), "22023", "{wrong}");
    }
    query(&mut session, "RESET shareddb.verify").await.expect("the default");
    assert_eq!(shown(&mut session).await, "server");
}

/// Different constants at the same moment: what a batch makes of them is what each gets by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_of_several_sessions_agree() {
    let database = verified_database(all());
    let mut session = database.session("shareddb");
    for text in [
        "CREATE TABLE d (k int PRIMARY KEY)",
        "CREATE TABLE f (id int PRIMARY KEY, k int)",
        "INSERT INTO d SELECT * FROM generate_series(0, 39)",
        "INSERT INTO f SELECT i, i % 40 FROM generate_series(1, 20000) s(i)",
    ] {
        query(&mut session, text).await.expect(text);
    }
    let ask = |bound: i32| {
        let mut session = database.session("shareddb");
        tokio::spawn(async move {
            query(&mut session, "SET shareddb.sharing = always").await.expect("a setting");
            let text = "SELECT count(*) FROM f JOIN d ON f.k = d.k WHERE d.k < $1";
            for _ in 0..20 {
                execute(&mut session, text, vec![Value::Integer(bound)]).await.expect("a count");
            }
        })
    };
    for asked in [20, 30, 10].map(ask) {
        asked.await.expect("it ends");
    }
    let account = account(&database).await;
    let differences = database.engine().ledger().differences();
    assert_eq!(account.differed.activations, 0, "{account:?} {:#?}", differences.last());
    assert!(account.agreed.activations >= 60, "{account:?}");
}
