//! Correlated subqueries that compute something of aggregates are joins of the global plan.

use crate::connection::{database, query};

const TABLES: &str = "
    CREATE TABLE part (p_partkey bigint PRIMARY KEY, p_brand text, p_name text);
    CREATE TABLE partsupp (
        ps_partkey bigint, ps_suppkey bigint, ps_availqty int, PRIMARY KEY (ps_partkey, ps_suppkey)
    );
    CREATE TABLE supplier (s_suppkey bigint PRIMARY KEY, s_name text);
    CREATE TABLE lineitem (
        l_partkey bigint, l_suppkey bigint, l_quantity numeric(15, 2), l_extendedprice numeric(15, 2), l_shipdate date
    );";

const SHARED: &[&str] = &[
    // TPC-H's question 17
    "SELECT sum(l_extendedprice) / 7.0 FROM lineitem, part
     WHERE p_partkey = l_partkey AND p_brand = 'Brand#23'
     AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)",
    // and 20
    "SELECT s_name FROM supplier WHERE s_suppkey IN (
         SELECT ps_suppkey FROM partsupp
         WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
         AND ps_availqty > (
             SELECT 0.5 * sum(l_quantity) FROM lineitem
             WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
             AND l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'))
     ORDER BY s_name",
    "SELECT p_partkey, (SELECT 2 * count(*) + 1 FROM lineitem WHERE l_partkey = p_partkey) FROM part",
    "SELECT p_partkey FROM part
     WHERE 10 > (SELECT max(l_quantity) - 2 * min(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)
     AND 0 < (SELECT 1 - count(*) FROM partsupp WHERE ps_partkey = p_partkey)",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expressions_over_aggregates_do_not_run_alone() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, TABLES).await.unwrap();
    for text in SHARED {
        let lines = query(&mut session, &format!("EXPLAIN {text}")).await.unwrap().rows;
        let lines: Vec<String> = lines.into_iter().flatten().flatten().collect();
        assert!(!lines[0].starts_with("Runs alone"), "{text}\n{}", lines.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_constant_around_is_a_probe_inside() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, TABLES).await.unwrap();
    query(&mut session, "CREATE INDEX lineitem_part ON lineitem (l_partkey)").await.unwrap();
    let text =
        "EXPLAIN SELECT p_partkey, (SELECT count(*) FROM lineitem WHERE l_partkey = p_partkey)
         FROM part WHERE p_partkey = 5";
    let lines = query(&mut session, text).await.unwrap().rows;
    let lines: Vec<String> = lines.into_iter().flatten().flatten().collect();
    let probes = lines.iter().any(|line| line.contains("Index probe of lineitem"));
    assert!(probes, "{}", lines.join("\n"));
}
