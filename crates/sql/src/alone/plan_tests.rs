//! What becomes of a statement: the order of its joins, the estimates of its scans, the filters that reach them.

use std::sync::Arc;
use std::sync::mpsc::channel;

use datafusion::common::stats::Precision;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, Definition, IndexId, IndexKind, IndexSchema,
    RowId, TableId, TableSchema, Value, Version,
};

use super::run::physical_plan;
use super::scan_plan::ScanExec;
use super::tests::{plan, rows, shop_of};
use super::{Limits, Reading, collect};
use crate::template::Planner;
use crate::waiting::HANG;

/// Names, each with how many values there are.
type Columns = &'static [(&'static str, i32)];

/// Tables of TPC-H in the proportions of scale factor 0.01, with the columns that joins and predicates read. A column has
/// so many values; the first one is the key where its name says so.
const TABLES: &[(&str, i32, Columns)] = &[
    ("region", 5, &[("r_regionkey", 5), ("r_name", 5)]),
    ("nation", 25, &[("n_nationkey", 25), ("n_regionkey", 5), ("n_name", 25)]),
    ("supplier", 100, &[("s_suppkey", 100), ("s_nationkey", 25)]),
    ("customer", 1_500, &[("c_custkey", 1_500), ("c_nationkey", 25)]),
    ("part", 2_000, &[("p_partkey", 2_000), ("p_type", 150), ("p_size", 50)]),
    ("partsupp", 8_000, &[("ps_partkey", 2_000), ("ps_suppkey", 100), ("ps_supplycost", 900)]),
    ("orders", 15_000, &[("o_orderkey", 15_000), ("o_custkey", 1_000), ("o_orderdate", 2_400)]),
    (
        "lineitem",
        60_000,
        &[
            ("l_orderkey", 15_000),
            ("l_partkey", 2_000),
            ("l_suppkey", 100),
            ("l_extendedprice", 10_000),
            ("l_quantity", 50),
        ],
    ),
];

/// The only selective predicate is that of the table named last.
const WORST: &str = "SELECT n_name, p_size, sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
    JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey \
    JOIN part ON l_partkey = p_partkey WHERE p_type = 7 GROUP BY n_name, p_size";

const Q5: &str = "SELECT n_name, sum(l_extendedprice) FROM customer, orders, lineitem, supplier, nation, region \
    WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey \
    AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey \
    AND r_name = 2 AND o_orderdate >= 300 AND o_orderdate < 665 GROUP BY n_name ORDER BY 2 DESC";

const Q8: &str = "SELECT o_orderdate / 365, sum(CASE WHEN n2.n_name = 3 THEN l_extendedprice ELSE 0 END) \
    FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region \
    WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey \
    AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey \
    AND r_name = 1 AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN 900 AND 1600 AND p_type = 7 \
    GROUP BY 1 ORDER BY 1";

const Q9: &str = "SELECT n_name, sum(l_extendedprice - ps_supplycost * l_quantity) \
    FROM part, supplier, lineitem, partsupp, orders, nation \
    WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey \
    AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_type < 8 GROUP BY n_name ORDER BY n_name";

fn table(number: usize, name: &str, columns: &[(&str, i32)]) -> TableSchema {
    let column = |(name, _): &(&str, i32)| ColumnSchema {
        name: (*name).into(),
        data_type: DataType::Integer,
        not_null: true,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    };
    let index = IndexSchema {
        id: IndexId(number as u32 + 10),
        name: format!("{name}_pkey").as_str().into(),
        columns: vec![ColumnId(0)],
        kind: IndexKind::Ordered,
        unique: true,
        primary: true,
        constraint: true,
    };
    TableSchema {
        id: TableId(number as u32 + 10),
        schema: "public".into(),
        name: name.into(),
        columns: columns.iter().map(column).collect(),
        indexes: if name == "lineitem" || name == "partsupp" { vec![] } else { vec![index] },
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

/// Values that follow no common rhythm, each about as often; keys in their order.
fn value(row: i32, column: usize, values: i32) -> Value {
    let spread = i64::from(row) * [1, 7_919, 104_729, 1_299_709, 15_485_863][column];
    Value::Integer((spread % i64::from(values)) as i32)
}

fn warehouse() -> Planner {
    let planner = shop_of(10, 1 << 30);
    let engine = planner.engine();
    for (number, (name, count, columns)) in TABLES.iter().enumerate() {
        let schema = table(number, name, columns);
        let id = schema.id;
        let (sender, receiver) = channel();
        let answer = move |outcome| sender.send(outcome).unwrap();
        engine.define(Definition::CreateTable(schema), Box::new(answer));
        receiver.recv_timeout(HANG).unwrap().unwrap();
        let row = |row: i32| -> Vec<Value> {
            let columns = columns.iter().enumerate();
            columns.map(|(column, (_, values))| value(row, column, *values)).collect()
        };
        let rows: Vec<Vec<Value>> = (0..*count).map(row).collect();
        let version = Version(engine.store().published().0 + 1);
        engine.store().table(id).unwrap().insert_rows(&rows, version);
        engine.store().publish(version);
    }
    Planner::new(engine.clone())
}

fn reading(planner: &Planner) -> Reading {
    let store = planner.engine().store().clone();
    let (snapshot, limits) = (store.snapshot(), Limits::default());
    Reading { store, snapshot, overlay: None, found: Default::default(), limits, pipelining: None }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// The plan, with our rules or with DataFusion's alone.
fn planned(planner: &Planner, text: &str, with_ours: bool) -> Arc<dyn ExecutionPlan> {
    let (template, values) = plan(planner, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut state = SessionStateBuilder::new_from_existing(template.planning.state().clone());
    if !with_ours {
        state = state.with_physical_optimizer_rules(PhysicalOptimizer::new().rules);
    }
    block_on(physical_plan(&template, &values, &reading(planner), &state.build())).unwrap()
}

/// Joins, build side first, and tables with a star for each filter from above.
fn outline(plan: &Arc<dyn ExecutionPlan>) -> String {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        let name = scan.scan().view.schema().name.to_string();
        return name + &"*".repeat(scan.scan().filters.len());
    }
    let below: Vec<String> = plan.children().into_iter().map(outline).collect();
    if below.len() > 1 { format!("({})", below.join(" ")) } else { below.concat() }
}

fn answers(planner: &Planner, text: &str) -> Vec<String> {
    let (template, values) = plan(planner, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let answer = block_on(collect(&template, &values, &reading(planner)));
    rows(&answer.unwrap_or_else(|error| panic!("{text}: {error}")))
}

#[test]
fn joins_come_in_the_order_that_is_cheapest() {
    let planner = warehouse();
    for (text, given, best) in [
        (
            WORST,
            "(part (nation (customer (orders lineitem))))",
            "(nation (((part lineitem*) orders*) customer**))",
        ),
        (
            Q5,
            "(region (nation (supplier ((customer orders) lineitem))))",
            "(region (nation* (supplier* ((customer orders*) lineitem*))))",
        ),
        (
            Q8,
            "(region (nation (nation (((supplier (part lineitem)) orders) customer))))",
            "(region (nation (nation* ((supplier* ((part lineitem**) orders*)) customer**))))",
        ),
        (
            Q9,
            "(nation (((supplier (part lineitem)) partsupp) orders))",
            "(nation (((supplier* (part lineitem**)) partsupp*) orders*))",
        ),
    ] {
        let outlines = [false, true].map(|ours| outline(&planned(&planner, text, ours)));
        assert_eq!(outlines, [given, best], "{text}");
    }
}

#[test]
fn a_good_order_stays() {
    let planner = warehouse();
    for text in [
        "SELECT count(*) FROM region JOIN nation ON r_regionkey = n_regionkey JOIN supplier ON n_nationkey = s_nationkey \
         WHERE r_name = 1",
        "SELECT count(*) FROM nation LEFT JOIN supplier ON n_nationkey = s_nationkey \
         LEFT JOIN customer ON n_nationkey = c_nationkey",
    ] {
        let outlines = [false, true].map(|ours| outline(&planned(&planner, text, ours)));
        assert_eq!(outlines[0], outlines[1].replace('*', ""), "{text}");
    }
}

#[test]
fn scans_tell_how_many_rows_they_give() {
    let planner = warehouse();
    let estimate = |text: &str| {
        let plan = planned(&planner, text, true);
        let known = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
        known.unwrap().num_rows
    };
    assert_eq!(estimate("SELECT * FROM lineitem"), Precision::Inexact(60_000));
    assert_eq!(estimate("SELECT * FROM orders WHERE o_orderkey = 17"), Precision::Inexact(1));
    let Precision::Inexact(tenth) = estimate("SELECT l_suppkey FROM lineitem WHERE l_quantity < 5")
    else {
        panic!("an estimate")
    };
    assert!((4_000..9_000).contains(&tenth), "{tenth}");
    assert_eq!(estimate("SELECT l_suppkey FROM lineitem LIMIT 9"), Precision::Inexact(9));
}

#[test]
fn estimates_are_no_answers() {
    let planner = warehouse();
    let orders = planner.engine().store().table(TableId(16)).unwrap();
    let version = Version(planner.engine().store().published().0 + 1);
    [0, 14_999].into_iter().for_each(|row| orders.delete(RowId(row), version));
    let text = "SELECT count(*), count(o_custkey), min(o_orderkey), max(o_orderkey) FROM orders";
    let before = answers(&planner, text);
    planner.engine().store().publish(version);
    assert_eq!(before, ["15000|15000|0|14999"]);
    assert_eq!(answers(&planner, text), ["14998|14998|1|14998"]);
    let plan = planned(&planner, text, true);
    assert!(plan.is::<AggregateExec>() || plan.children()[0].is::<AggregateExec>());
}

#[test]
fn filters_reach_the_scan_that_their_columns_come_from() {
    let planner = warehouse();
    let text = |limit: &str| {
        format!(
            "SELECT a.n_name, b.n_name, c.n_name FROM nation a JOIN nation b ON a.n_regionkey = b.n_nationkey \
             JOIN nation c ON b.n_regionkey = c.n_nationkey WHERE c.n_name = 3 ORDER BY 1, 2 {limit}"
        )
    };
    assert_eq!(outline(&planned(&planner, &text(""), true)).matches('*').count(), 2);
    for (text, wanted) in [
        (
            "SELECT l_orderkey, l_suppkey, l_quantity FROM lineitem ORDER BY l_quantity, l_orderkey LIMIT 3",
            "lineitem*",
        ),
        // There is no other column to be spared.
        (
            "SELECT l_orderkey, l_quantity FROM lineitem ORDER BY l_quantity, l_orderkey LIMIT 3",
            "lineitem",
        ),
        (
            "SELECT count(*) FROM part JOIN (SELECT * FROM lineitem LIMIT 900) x ON p_partkey = l_partkey WHERE p_size = 3",
            "(part lineitem)",
        ),
        ("SELECT l_orderkey + 1 FROM lineitem ORDER BY 1 LIMIT 3", "lineitem"),
    ] {
        assert_eq!(outline(&planned(&planner, text, true)), wanted, "{text}");
    }
    let outer = "SELECT o_orderkey, p_size FROM orders LEFT JOIN part ON o_custkey = p_partkey AND p_size = 3";
    assert_eq!(outline(&planned(&planner, outer, true)), "(part orders)", "all orders are wanted");
}
