//! Locking clauses below a statement's top: who gets which rows, and what stays locked.

use std::sync::Arc;

use sql::{Database, Session};

use crate::connection::{Given, column, database, query, state};
use crate::locks::{begin, run};

async fn jobs(number: usize) -> (Arc<Database>, Session, Session) {
    let database = database();
    let (mut one, two) = (database.session("shareddb"), database.session("shareddb"));
    run(
        &mut one,
        &["CREATE TABLE job (id int PRIMARY KEY, st text DEFAULT 'new', n int DEFAULT 0)"],
    )
    .await;
    run(&mut one, &["CREATE TABLE other (id int)"]).await;
    let ids: Vec<String> = (1..=number).map(|id| format!("({id})")).collect();
    run(&mut one, &[&format!("INSERT INTO job (id) VALUES {}", ids.join(", "))]).await;
    (database, one, two)
}

/// Statements with a query `{Q}` for the first job, which has a locking clause.
const SHAPES: [&str; 18] = [
    "UPDATE job SET n = n + 1 WHERE id = ({Q}) RETURNING id",
    "UPDATE job SET n = n + 1 WHERE id IN ({Q}) RETURNING id",
    "UPDATE job SET n = n + 1 WHERE id = ANY ({Q}) RETURNING id",
    "UPDATE job SET n = n + 1 WHERE id = ANY (ARRAY({Q})) RETURNING id",
    "UPDATE job SET n = j.n + 1 FROM ({Q}) j WHERE job.id = j.id RETURNING job.id",
    "WITH c AS ({Q}) UPDATE job j SET n = j.n + 1 FROM c WHERE j.id = c.id RETURNING j.id",
    "WITH c AS MATERIALIZED ({Q}), d AS (SELECT max(id) AS id FROM c)
        UPDATE job SET n = 1 FROM d WHERE job.id = d.id RETURNING job.id",
    "WITH c AS ({Q}) UPDATE job SET n = 1 WHERE id IN (SELECT id FROM c) RETURNING id",
    "DELETE FROM job WHERE id = ({Q}) RETURNING id",
    "DELETE FROM job WHERE id IN ({Q}) RETURNING id",
    "DELETE FROM job USING ({Q}) s WHERE job.id = s.id RETURNING job.id",
    "WITH c AS ({Q}) DELETE FROM job USING c WHERE job.id = c.id RETURNING job.id",
    "INSERT INTO other (id) {Q} RETURNING id",
    "INSERT INTO other (id) VALUES (({Q})) RETURNING id",
    "WITH c AS ({Q}) INSERT INTO other (id) SELECT id FROM c RETURNING id",
    "SELECT id FROM ({Q}) s",
    "SELECT ({Q}) AS id",
    "SELECT id FROM job WHERE id IN ({Q}) FOR KEY SHARE",
];

fn shape(shape: &str, limit: &str, clause: &str) -> String {
    let columns = if shape.contains("j.n") { "id, n" } else { "id" };
    let first = format!("SELECT {columns} FROM job WHERE st = 'new' ORDER BY id {limit} {clause}");
    shape.replace("{Q}", &first)
}

fn failed(text: &str) -> impl Fn(engine::types::Error) -> Given + '_ {
    move |fault| panic!("{text}: {fault}")
}

/// The jobs that nobody has locked.
async fn free(session: &mut Session) -> Vec<String> {
    let text = "SELECT id FROM job WHERE id < 5 ORDER BY id FOR UPDATE SKIP LOCKED";
    column(&query(session, text).await.expect("skips")).into_iter().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shape_passes_over_what_is_locked_and_locks_what_it_takes() {
    for pattern in SHAPES {
        let (database, mut one, mut two) = jobs(4).await;
        let mut three = database.session("shareddb");
        run(&mut one, &["BEGIN", "SELECT * FROM job WHERE id = 1 FOR UPDATE"]).await;
        let text = shape(pattern, "LIMIT 1", "FOR UPDATE SKIP LOCKED");
        run(&mut two, &["BEGIN"]).await;
        let given = query(&mut two, &text).await.unwrap_or_else(failed(&text));
        assert_eq!(column(&given), ["2"], "{text}");
        assert_eq!(free(&mut three).await, ["3", "4"], "{text}");
        run(&mut two, &["ROLLBACK"]).await;
        assert_eq!(free(&mut three).await, ["2", "3", "4"], "{text}");
        let given = query(&mut two, &text).await.unwrap_or_else(failed(&text));
        assert_eq!(column(&given), ["2"], "{text}, by itself");
        assert_eq!(free(&mut three).await.last().map(String::as_str), Some("4"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shape_refuses_with_nowait_and_waits_without() {
    for pattern in SHAPES {
        let (_, mut one, mut two) = jobs(4).await;
        let lock = ["BEGIN", "UPDATE job SET st = 'done' WHERE id = 1"];
        run(&mut one, &lock).await;
        let text = shape(pattern, "LIMIT 1", "FOR UPDATE NOWAIT");
        assert_eq!(state(query(&mut two, &text).await), "55P03", "{text}");
        assert!(!two.in_block(), "{text}");
        let text = shape(pattern, "LIMIT 1", "FOR UPDATE").leak();
        let waiting = begin(two, text).await;
        run(&mut one, &["COMMIT"]).await;
        let (_, given) = waiting.await.expect("ends");
        let given = given.unwrap_or_else(failed(text));
        assert_eq!(column(&given), ["2"], "the first job is done by now: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeatable_read_fails_where_a_row_has_changed() {
    for pattern in SHAPES {
        let (_, mut one, mut two) = jobs(4).await;
        run(&mut two, &["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT * FROM other"]).await;
        run(&mut one, &["UPDATE job SET n = 7 WHERE id = 1"]).await;
        let text = shape(pattern, "LIMIT 1", "FOR UPDATE");
        assert_eq!(state(query(&mut two, &text).await), "40001", "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_goes_to_one_worker() {
    const CLAIMS: [&str; 3] = [
        "UPDATE job SET n = n + 1, st = 'busy' WHERE id = (SELECT id FROM job WHERE st = 'new'
            ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
        "WITH c AS (SELECT id FROM job WHERE st = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED)
            UPDATE job SET n = n + 1, st = 'busy' FROM c WHERE job.id = c.id RETURNING job.id",
        "DELETE FROM job WHERE id IN (SELECT id FROM job WHERE st = 'new' ORDER BY id LIMIT 3
            FOR UPDATE SKIP LOCKED) RETURNING id",
    ];
    for claim in CLAIMS {
        let (database, ..) = jobs(40).await;
        let workers = (0..6).map(|_| {
            let mut session = database.session("shareddb");
            tokio::spawn(async move {
                let mut got: Vec<i32> = Vec::new();
                loop {
                    let given = query(&mut session, claim).await.unwrap_or_else(failed(claim));
                    if given.rows.is_empty() {
                        return got;
                    }
                    got.extend(
                        column(&given).iter().map(|id| id.parse::<i32>().expect("a number")),
                    );
                }
            })
        });
        let workers: Vec<_> = workers.collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.await.expect("no fault"));
        }
        all.sort_unstable();
        assert_eq!(all, (1..=40).collect::<Vec<i32>>(), "{claim}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prepared_claim_takes_parameters() {
    let (_, mut one, mut two) = jobs(4).await;
    run(&mut one, &["BEGIN", "SELECT * FROM job WHERE id = 2 FOR UPDATE"]).await;
    let prepare =
        "PREPARE claim (int, text) AS UPDATE job SET st = $2 WHERE id = (SELECT id FROM job
        WHERE id >= $1 AND st <> $2 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id";
    run(&mut two, &[prepare]).await;
    for expected in ["3", "4"] {
        let given = query(&mut two, "EXECUTE claim (2, 'busy')").await.expect("claims");
        assert_eq!(column(&given), [expected]);
    }
    let none = query(&mut two, "EXECUTE claim (2, 'busy')").await.expect("claims nothing");
    assert!(none.rows.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_given_stays_locked() {
    for (text, left) in [
        ("SELECT EXISTS (SELECT 1 FROM job FOR UPDATE)", 3),
        ("SELECT id FROM other WHERE id IN (SELECT id FROM job WHERE id > 2 FOR UPDATE)", 2),
        ("WITH c AS (SELECT id FROM job FOR UPDATE) SELECT 1", 4),
        ("SELECT count(*) FROM (SELECT id FROM job WHERE id > 1 FOR NO KEY UPDATE) s", 1),
        ("WITH RECURSIVE c AS (SELECT id FROM job WHERE id = 1 FOR UPDATE) SELECT id FROM c", 3),
        (
            "SELECT j.id FROM (other o RIGHT JOIN job j ON o.id = j.id) WHERE j.id > 2 FOR UPDATE OF j",
            2,
        ),
        ("WITH job AS (SELECT 1 AS id) SELECT id FROM job FOR UPDATE", 4),
        ("SELECT j.id FROM job j, (VALUES (1), (2)) v (id) WHERE v.id = j.id FOR UPDATE", 2),
        ("SELECT current_user, id FROM job WHERE id = 3 FOR UPDATE", 3),
        ("SELECT j.id FROM job j, generate_series(1, 2) g WHERE g = j.id FOR UPDATE", 2),
    ] {
        let (_, mut one, mut two) = jobs(4).await;
        run(&mut one, &["BEGIN", text]).await;
        assert_eq!(free(&mut two).await.len(), left, "{text}");
    }
}
