//! Consumers polled by hand: who attaches to whom, and that everybody gets what alone would have given.

use std::sync::Arc;

use engine::types::{Result, RowId, TableId, Value, Version};
use futures::StreamExt;

use super::super::run::begin;
use super::super::tests::{item, plan, rows, shop_of};
use super::super::{Answers, Limits, Reading};
use super::{Lists, Pipelining, Progress, Report, Took};
use crate::template::Planner;

/// Pages of all columns but the title fill a list many times over.
const ITEMS: i32 = 300_000;
const WIDE: &str = "SELECT id, cost, day, weight, stock FROM item WHERE stock <> 3";
/// A step window: more than a list holds, over two scans.
const JOINED: &str = "SELECT a.id, a.cost, b.cost, b.weight FROM item a JOIN item b ON a.id = b.id \
    WHERE a.stock <> 3 AND b.stock < 6";

struct Shop {
    planner: Planner,
    lists: Arc<Lists>,
}

/// A query on its way.
struct Query {
    answers: Answers,
    report: Arc<Report>,
    rows: Vec<String>,
}

impl Shop {
    fn new(memory: usize) -> Shop {
        Shop { planner: shop_of(ITEMS, memory), lists: Arc::default() }
    }

    async fn begin(&self, text: &str, pipelining: Option<Pipelining>) -> Answers {
        let (template, values) = plan(&self.planner, text).expect(text);
        let store = self.planner.engine().store().clone();
        let (snapshot, limits) = (store.snapshot(), Limits::default());
        let reading = Reading {
            store,
            snapshot,
            overlay: None,
            found: Default::default(),
            limits,
            pipelining,
        };
        begin(&template, &values, &reading).await.expect(text)
    }

    async fn query(&self, text: &str) -> Query {
        let report = Arc::new(Report::default());
        let (lists, told) = (self.lists.clone(), Some(report.clone()));
        let answers = self.begin(text, Some(Pipelining { lists, report: told })).await;
        Query { answers, report, rows: Vec::new() }
    }

    /// Without sharing.
    async fn alone(&self, text: &str) -> Vec<String> {
        let (answers, report) = (self.begin(text, None).await, Arc::default());
        Query { answers, report, rows: Vec::new() }.all().await.expect(text)
    }

    /// A commit that changes one item.
    fn change(&self, id: i32) {
        let store = self.planner.engine().store();
        let version = Version(store.published().0 + 1);
        let mut row = item(id);
        row[5] = Value::BigInt(1_000);
        store.table(TableId(1)).expect("it is there").update(RowId(id as u64), &row, version);
        store.publish(version);
    }
}

impl Query {
    /// Reads one piece.
    async fn step(&mut self) -> Result<bool> {
        let Some(answer) = self.answers.next().await else { return Ok(false) };
        self.rows.extend(rows(&answer?));
        Ok(true)
    }

    async fn steps(&mut self, count: usize) {
        for _ in 0..count {
            assert!(self.step().await.expect("no fault"), "there is more");
        }
    }

    async fn all(mut self) -> Result<Vec<String>> {
        while self.step().await? {}
        Ok(self.rows)
    }

    /// All rows, sorted, and what was shared.
    async fn told(self) -> (Vec<String>, Vec<(String, Took)>) {
        let report = self.report.clone();
        let rows = self.all().await.expect("no fault");
        (sorted(rows), report.all())
    }
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort_unstable();
    rows
}

fn only(told: &[(String, Took)]) -> Took {
    assert_eq!(told.len(), 1, "{told:?}");
    told[0].1
}

#[tokio::test]
async fn equal_queries_run_once() {
    let shop = Shop::new(1 << 30);
    let text = "SELECT stock, count(*), sum(cost) FROM item GROUP BY stock ORDER BY stock";
    let alone = shop.alone(text).await;
    let mut first = shop.query(text).await;
    first.steps(1).await;
    let second = shop.query(text).await;
    let report = second.report.clone();
    assert_eq!((second.all().await.as_ref(), &first.rows), (Ok(&alone), &alone));
    let took = only(&report.all());
    assert!(took.is_late && took.others == 1 && took.saved == took.cost, "{took:?}");
    assert!(report.lines()[0].contains("Sort of item: shares with 1 other, attached after page 1"));
}

#[tokio::test]
async fn different_queries_share_what_is_equal_below() {
    let shop = Shop::new(1 << 30);
    let least = JOINED.replace(
        "a.id, a.cost, b.cost, b.weight",
        "min(a.id), max(a.cost), sum(b.cost), count(b.weight)",
    );
    let other = least.replace("b.stock < 6", "b.stock < 5");
    let wanted = [shop.alone(&least).await, shop.alone(&other).await];
    let mut first = shop.query(JOINED).await;
    first.steps(1).await;
    let mut given = Vec::new();
    for text in [&least, &other] {
        let query = shop.query(text).await;
        let report = query.report.clone();
        given.push(query.all().await.expect("no fault"));
        let all = report.all();
        let late: Vec<&str> =
            all.iter().filter(|(_, took)| took.is_late).map(|(name, _)| name.as_str()).collect();
        let equal = (*text == least).then_some("HashJoin of item, item");
        assert_eq!(late, equal.as_slice(), "{all:?}");
    }
    assert_eq!(given, wanted);
}

#[tokio::test]
async fn who_comes_late_to_a_scan_reads_around() {
    let shop = Shop::new(1 << 30);
    let alone = shop.alone(WIDE).await;
    let mut first = shop.query(WIDE).await;
    first.steps(12).await;
    let mut second = shop.query(WIDE).await;
    second.steps(1).await;
    assert_ne!(second.rows[0], alone[0]);
    let (first, second) = tokio::join!(first.told(), second.told());
    let wanted = sorted(alone);
    assert!(first.0 == wanted && second.0 == wanted);
    let took = only(&second.1);
    let Progress::Round(share) = took.progress else { panic!("a linear window: {took:?}") };
    assert!(took.is_late && share > 0.0 && share < 1.0, "{took:?}");
    assert!(took.saved < took.cost && !took.is_detached, "{took:?}");
}

#[tokio::test]
async fn where_order_matters_nobody_reads_around() {
    let shop = Shop::new(1 << 30);
    let mut first = shop.query(WIDE).await;
    first.steps(12).await;
    let limited = format!("{WIDE} LIMIT 5");
    let weights = "SELECT sum(weight) FROM (SELECT * FROM item WHERE stock <> 3) x";
    for text in [limited.as_str(), weights] {
        let query = shop.query(text).await;
        let report = query.report.clone();
        assert_eq!(query.all().await.as_ref(), Ok(&shop.alone(text).await), "{text}");
        assert!(report.all().iter().all(|(_, took)| !took.is_late), "{text}");
    }
    drop(first);
    assert_eq!(shop.lists.running(), 0);
}

#[tokio::test]
async fn a_join_is_entered_until_its_first_page_is_forgotten() {
    let shop = Shop::new(1 << 30);
    let alone = sorted(shop.alone(JOINED).await);
    let mut first = shop.query(JOINED).await;
    first.steps(1).await;
    let mut second = shop.query(JOINED).await;
    second.steps(1).await;
    assert_eq!(second.rows[0], first.rows[0]);
    for _ in 0..10 {
        first.steps(1).await;
        second.steps(1).await;
    }
    let mut third = shop.query(JOINED).await;
    third.steps(1).await;
    let (first, second, third) = tokio::join!(first.told(), second.told(), third.told());
    assert!(first.0 == alone && second.0 == alone && third.0 == alone);
    let is_late = |told: &[(String, Took)]| {
        let join = told.iter().find(|(name, _)| name.starts_with("HashJoin"));
        join.map(|(_, took)| took.is_late)
    };
    assert_eq!((is_late(&second.1), is_late(&third.1)), (Some(true), Some(false)));
}

/// One of two stops reading; the other one is not held up, and the first reads on when it likes.
async fn stop(shop: &Shop, text: &str) -> Took {
    let alone = sorted(shop.alone(text).await);
    let first = shop.query(text).await;
    let mut stopped = shop.query(text).await;
    stopped.steps(1).await;
    let (rows, told) = first.told().await;
    assert!(rows == alone, "{text}");
    assert!(told.iter().any(|(_, took)| took.others == 1), "{told:?}");
    stopped.steps(1).await;
    let (rows, told) = stopped.told().await;
    assert!(rows == alone, "{text}");
    told.last().expect("the outermost ends last").1
}

#[tokio::test]
async fn a_consumer_that_stops_holds_nobody_up() {
    let shop = Shop::new(1 << 30);
    assert!(stop(&shop, WIDE).await.is_detached);
    assert!(stop(&shop, JOINED).await.is_detached);
    let sorted = format!("{WIDE} ORDER BY weight, id");
    assert!(stop(&shop, &sorted).await.is_detached);
    // All of it fits the list.
    let small = "SELECT id FROM item WHERE id % 10 = 0";
    assert!(!stop(&shop, small).await.is_detached);
    assert_eq!(shop.lists.running(), 0);
}

#[tokio::test]
async fn one_that_reads_on_by_itself_repeats_inputs_that_were_read_around() {
    let shop = Shop::new(1 << 30);
    let input = "SELECT id, cost FROM item WHERE stock <> 3";
    let mut scan = shop.query(input).await;
    scan.steps(20).await;
    let took = stop(&shop, JOINED).await;
    assert!(took.is_detached, "{took:?}");
    scan.all().await.expect("no fault");
}

#[tokio::test]
async fn a_cancelled_host_leaves_its_satellites_the_rest() {
    let shop = Shop::new(1 << 30);
    for text in [WIDE, JOINED] {
        let alone = sorted(shop.alone(text).await);
        let mut host = shop.query(text).await;
        let mut satellite = shop.query(text).await;
        host.steps(3).await;
        satellite.steps(1).await;
        drop(host);
        let (rows, told) = satellite.told().await;
        assert!(rows == alone, "{text}");
        assert!(told.iter().any(|(_, took)| took.is_late && took.saved < took.cost), "{told:?}");
        assert_eq!(shop.lists.running(), 0);
    }
}

#[tokio::test]
async fn an_error_of_the_plan_is_everybodys() {
    let shop = Shop::new(1 << 30);
    let text = "SELECT id, 1 / (id - 150000) FROM item";
    let (mut first, mut second) = (shop.query(text).await, shop.query(text).await);
    first.steps(1).await;
    second.steps(1).await;
    let (first, second) = tokio::join!(first.all(), second.all());
    let state = |outcome: Result<_>| outcome.expect_err("a division by zero").state.code();
    assert_eq!((state(first), state(second)), ("22012", "22012"));
    let again = shop.query(text).await;
    assert_eq!(state(again.all().await), "22012");
}

#[tokio::test]
async fn a_commit_between_parts_what_reads_its_table() {
    let shop = Shop::new(1 << 30);
    let before = sorted(shop.alone(WIDE).await);
    let mut first = shop.query(WIDE).await;
    first.steps(1).await;
    shop.change(7);
    let after = sorted(shop.alone(WIDE).await);
    assert_ne!(before, after);
    let mut second = shop.query(WIDE).await;
    second.steps(1).await;
    let mut third = shop.query(WIDE).await;
    third.steps(1).await;
    let (first, second, third) = tokio::join!(first.told(), second.told(), third.told());
    assert!(first.0 == before && second.0 == after && third.0 == after);
    assert!(!only(&second.1).is_late && only(&third.1).is_late, "{:?} {:?}", second.1, third.1);
}

#[tokio::test]
async fn without_memory_for_pages_readers_go_in_step() {
    let shop = Shop::new(1 << 12);
    let alone = sorted(shop.alone(WIDE).await);
    let (mut first, mut second) = (shop.query(WIDE).await, shop.query(WIDE).await);
    first.steps(1).await;
    second.steps(1).await;
    let (first, second) = tokio::join!(first.told(), second.told());
    assert!(first.0 == alone && second.0 == alone);
    assert!(only(&second.1).is_late);
    let mut stopped = shop.query(WIDE).await;
    let third = shop.query(WIDE).await;
    stopped.steps(1).await;
    assert!(third.told().await.0 == alone);
    let (rows, told) = stopped.told().await;
    assert!(rows == alone && only(&told).is_detached, "{told:?}");
}

/// Items of the same stock as some few: a join whose right side is the same scan whatever `least` and `most` are.
fn same_stock(least: i32, most: i32) -> String {
    format!(
        "SELECT b.id, b.cost, a.id FROM item a JOIN item b ON a.stock = b.stock \
         WHERE a.id BETWEEN {least} AND {most} AND b.weight > 9"
    )
}

fn late(told: &[(String, Took)]) -> Vec<&str> {
    told.iter().filter(|(_, took)| took.is_late).map(|(name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn what_a_join_has_left_of_a_scan_is_nobody_elses() {
    let shop = Shop::new(1 << 30);
    let texts = [same_stock(0, 1), same_stock(2, 3)];
    let wanted = [sorted(shop.alone(&texts[0]).await), sorted(shop.alone(&texts[1]).await)];
    let mut first = shop.query(&texts[0]).await;
    first.steps(1).await;
    let mut second = shop.query(&texts[1]).await;
    second.steps(1).await;
    let mut equal = shop.query(&texts[0]).await;
    equal.steps(1).await;
    let (first, second, equal) = tokio::join!(first.told(), second.told(), equal.told());
    assert!(first.0 == wanted[0] && second.0 == wanted[1] && equal.0 == wanted[0]);
    assert!(late(&second.1).is_empty(), "{:?}", second.1);
    assert_eq!(late(&equal.1), ["HashJoin of item, item"]);
}

#[tokio::test]
async fn a_filter_that_leaves_most_rows_gives_way_to_sharing() {
    let shop = Shop::new(1 << 30);
    let texts = [same_stock(0, 6), same_stock(7, 13)];
    let wanted = [sorted(shop.alone(&texts[0]).await), sorted(shop.alone(&texts[1]).await)];
    let mut first = shop.query(&texts[0]).await;
    first.steps(1).await;
    let mut second = shop.query(&texts[1]).await;
    second.steps(1).await;
    let (first, second) = tokio::join!(first.told(), second.told());
    assert!(first.0 == wanted[0] && second.0 == wanted[1]);
    assert_eq!(late(&second.1), ["Scan of item"]);
}

#[tokio::test]
async fn a_join_takes_all_rows_of_a_scan_that_runs_anyway() {
    let shop = Shop::new(1 << 30);
    let text = same_stock(0, 1);
    let alone = sorted(shop.alone(&text).await);
    let mut scan = shop.query("SELECT id, cost, stock FROM item WHERE weight > 9").await;
    scan.steps(3).await;
    let mut join = shop.query(&text).await;
    join.steps(1).await;
    let (scan, join) = tokio::join!(scan.all(), join.told());
    assert!(join.0 == alone && scan.is_ok());
    assert_eq!(late(&join.1), ["Scan of item"]);
}

/// A grouping of many groups that is named twice: the right side of the join is narrowed by the left one's keys.
const TWICE: &str = "WITH r AS (SELECT day, sum(cost) AS total FROM item WHERE stock <> 3 GROUP BY day) \
    SELECT a.day, a.total, b.total FROM r a JOIN r b ON a.day = b.day WHERE a.total > 20";

fn again(told: &[(String, Took)]) -> Vec<(&str, Took)> {
    let again = told.iter().filter(|(_, took)| took.is_again);
    again.map(|(name, took)| (name.as_str(), *took)).collect()
}

#[tokio::test]
async fn what_a_statement_names_twice_runs_once() {
    let shop = Shop::new(1 << 30);
    let most = "WITH r AS (SELECT day, sum(cost) AS total FROM item WHERE stock <> 3 GROUP BY day) \
        SELECT day, total FROM r WHERE total = (SELECT max(total) FROM r)";
    let both = "SELECT day, sum(cost) FROM item GROUP BY day \
        UNION ALL SELECT day + 1, sum(cost) FROM item GROUP BY day";
    let ranked = "WITH r AS (SELECT id, rank() OVER (ORDER BY weight) AS n FROM item) \
        SELECT a.id, b.id FROM r a JOIN r b ON a.n = b.n + 1";
    for text in [TWICE, most, both, ranked] {
        let alone = shop.alone(text).await;
        let query = shop.query(text).await;
        let report = query.report.clone();
        assert!(query.all().await.as_ref() == Ok(&alone), "{text}");
        let told = report.all();
        let [(name, took)] = again(&told)[..] else { panic!("{text}: {told:?}") };
        assert!(took.saved == took.cost && took.others == 0 && !took.is_detached, "{took:?}");
        let first = told.iter().find(|(other, took)| other == name && !took.is_again);
        assert!(first.is_some_and(|(_, took)| !took.is_late), "{told:?}");
        let lines = report.lines();
        let kept = |line: &&String| line.contains("read again in this statement, from kept pages");
        assert_eq!(lines.iter().filter(kept).count(), 1, "{lines:?}");
        assert_eq!((shop.lists.running(), shop.lists.attached()), (0, 0), "{text}");
    }
}

#[tokio::test]
async fn readings_that_are_all_narrowed_share_what_is_hardly_narrowed() {
    let shop = Shop::new(1 << 30);
    // Each side has its own join with items of the stocks that it wants: of all seven, or of two.
    let text = |most: i32| {
        let other = most + 10;
        format!(
            "WITH r AS (SELECT stock, id % 1000 AS k, sum(cost) AS total FROM item GROUP BY stock, id % 1000) \
            SELECT v.id, k, total FROM item v JOIN r ON r.stock = v.stock WHERE v.id BETWEEN 0 AND {most} \
            UNION ALL SELECT w.id, k, total FROM item w JOIN r ON r.stock = w.stock WHERE w.id BETWEEN 10 AND {other}"
        )
    };
    for (text, times) in [(text(6), 1), (text(1), 0)] {
        let alone = sorted(shop.alone(&text).await);
        let (rows, told) = shop.query(&text).await.told().await;
        assert!(rows == alone, "{text}");
        assert_eq!(again(&told).len(), times, "{text}: {told:?}");
    }
}

#[tokio::test]
async fn who_reads_from_others_expects_nothing_of_what_they_run() {
    let shop = Shop::new(1 << 30);
    let text = "WITH x AS (SELECT day, stock, sum(cost) AS c FROM item GROUP BY day, stock), \
        r AS (SELECT stock, max(c) AS most FROM x GROUP BY stock) \
        SELECT x.day, r.most FROM x JOIN r ON r.stock = x.stock AND r.most = x.c";
    let alone = sorted(shop.alone(text).await);
    let mut first = shop.query(text).await;
    first.steps(1).await;
    let mut second = shop.query(text).await;
    second.steps(1).await;
    let (first, second) = tokio::join!(first.told(), second.told());
    assert!(first.0 == alone && second.0 == alone);
    assert_eq!((again(&first.1).len(), again(&second.1).len()), (1, 0), "{:?}", second.1);
    assert_eq!(shop.lists.running(), 0);
}

#[tokio::test]
async fn what_differs_in_a_parameter_runs_for_itself() {
    let shop = Shop::new(1 << 30);
    let text = "SELECT a.day, a.total, b.total \
        FROM (SELECT day, sum(cost) AS total FROM item WHERE stock <> 3 GROUP BY day) a \
        JOIN (SELECT day, sum(cost) AS total FROM item WHERE stock <> 4 GROUP BY day) b ON a.day = b.day";
    for (text, times) in [(text.to_owned(), 0), (text.replace("<> 4", "<> 3"), 1)] {
        let alone = shop.alone(&text).await;
        let query = shop.query(&text).await;
        let report = query.report.clone();
        assert!(query.all().await == Ok(alone), "{text}");
        assert_eq!(again(&report.all()).len(), times, "{text}");
    }
}

#[tokio::test]
async fn a_reading_that_stops_early_leaves_the_rest_to_the_other() {
    let shop = Shop::new(1 << 30);
    let text = "WITH r AS (SELECT day, sum(cost) AS total FROM item WHERE stock <> 3 GROUP BY day) \
        SELECT count(*), sum(total) FROM (SELECT * FROM (SELECT total FROM r LIMIT 3) f \
        UNION ALL SELECT total FROM r) x";
    let alone = shop.alone(text).await;
    let query = shop.query(text).await;
    let report = query.report.clone();
    assert_eq!(query.all().await, Ok(alone));
    let told = report.all();
    assert!(again(&told).iter().any(|(_, took)| took.saved < took.cost), "{told:?}");
}

#[tokio::test]
async fn a_statement_that_ends_gives_its_places_up() {
    let shop = Shop::new(1 << 30);
    let alone = sorted(shop.alone(TWICE).await);
    let (mut first, mut second) = (shop.query(TWICE).await, shop.query(TWICE).await);
    let (one, two) = tokio::join!(first.step(), second.step());
    assert_eq!((one, two), (Ok(true), Ok(true)));
    drop(first);
    let third = shop.query(TWICE).await;
    let (second, third) = tokio::join!(second.told(), third.told());
    assert!(second.0 == alone && third.0 == alone);
    assert_eq!(shop.lists.running(), 0);
}

#[tokio::test]
async fn an_error_of_what_is_named_twice_is_that_of_both() {
    let shop = Shop::new(1 << 30);
    let text = "WITH r AS (SELECT day, sum(1 / (id - 150000)) AS n FROM item GROUP BY day) \
        SELECT * FROM r a JOIN r b ON a.day = b.day";
    let failed = shop.query(text).await.all().await.expect_err("a division by zero");
    assert_eq!(failed.state.code(), "22012");
    assert_eq!(shop.lists.running(), 0);
}

/// A query fails for want of memory where it would have alone, not for what it keeps.
#[tokio::test]
async fn kept_pages_give_way_to_whoever_lacks_memory() {
    let text = "WITH r AS (SELECT day, sum(cost) AS total FROM item GROUP BY day) \
        SELECT a.day, b.total, rank() OVER (ORDER BY a.total, a.day) FROM r a JOIN r b ON a.day = b.day";
    let of = |limit: usize| Shop { planner: shop_of(60_000, limit), lists: Arc::default() };
    let fits = |limit: &usize| {
        let shop = of(*limit);
        async move {
            let reading = shop.begin(text, None).await;
            Query { answers: reading, report: Arc::default(), rows: Vec::new() }.all().await.ok()
        }
    };
    let (mut limit, mut alone) = (1 << 20, None);
    while alone.is_none() {
        limit += 1 << 20;
        alone = fits(&limit).await;
    }
    // Pages within the bound are not kept for readings to come.
    let query = of(limit + (2 << 20)).query(text).await;
    assert!(query.all().await.ok() == alone, "{limit} bytes do alone");
    let failed = of(1 << 20).query(text).await.all().await.expect_err("too little");
    assert_eq!(failed.state.code(), "53200");
}

#[tokio::test]
async fn windows_unions_and_limits_are_shared() {
    let shop = Shop::new(1 << 30);
    let few = "(SELECT * FROM item WHERE id % 50 = 0) x";
    let texts = [
        (format!("SELECT id, rank() OVER (ORDER BY weight, id) FROM {few}"), "BoundedWindowAgg"),
        (format!("SELECT id, sum(cost) OVER (PARTITION BY stock) FROM {few}"), "WindowAgg"),
        (format!("SELECT id FROM {few} UNION ALL SELECT id FROM item WHERE id < 9"), "Append"),
        (format!("SELECT id FROM {few} UNION SELECT id FROM item WHERE id < 9"), "Aggregate"),
        (format!("SELECT id FROM {few} EXCEPT SELECT id FROM item WHERE stock = 2"), "HashJoin"),
        (format!("SELECT id FROM {few} INTERSECT SELECT id FROM item"), "HashJoin"),
        (format!("SELECT id, cost FROM {few} ORDER BY weight DESC LIMIT 5000"), "Sort"),
        (format!("SELECT id, cost FROM {few} LIMIT 2000 OFFSET 7"), "GlobalLimit"),
        (format!("SELECT id, cost FROM {few} LIMIT 2000"), "Scan"),
    ];
    let mut missed = Vec::new();
    for (text, name) in &texts {
        let alone = shop.alone(text).await;
        let mut first = shop.query(text).await;
        first.steps(1).await;
        let mut second = shop.query(text).await;
        second.steps(1).await;
        let (first, second) = tokio::join!(first.told(), second.told());
        let alone = sorted(alone);
        assert!(first.0 == alone && second.0 == alone, "{text}");
        let outermost = late(&second.1).last().copied().unwrap_or("nothing").to_owned();
        if !outermost.starts_with(name) {
            missed.push((text, outermost));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[tokio::test]
async fn windows_and_limits_that_differ_are_not_shared() {
    let shop = Shop::new(1 << 30);
    let pairs = [
        ("SELECT id, rank() OVER (ORDER BY weight) FROM item", "rank", "dense_rank"),
        ("SELECT id, lag(cost, 1) OVER (ORDER BY id) FROM item", "cost, 1", "cost, 2"),
        ("SELECT id, sum(cost) OVER (PARTITION BY stock) FROM item", "stock", "id % 5"),
        (
            "SELECT id, sum(cost) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM item",
            "1 PRECEDING",
            "2 PRECEDING",
        ),
        (
            "SELECT id, count(*) FILTER (WHERE stock > 1) OVER (ORDER BY id) FROM item",
            "stock > 1",
            "stock > 2",
        ),
        ("SELECT id, cost FROM item WHERE stock = 6 LIMIT 20000", "20000", "20001"),
        ("SELECT id, cost FROM item WHERE stock = 6 LIMIT 20000 OFFSET 7", "7", "8"),
    ];
    for (text, part, other) in pairs {
        let other = text.replacen(part, other, 1);
        let wanted = [sorted(shop.alone(text).await), sorted(shop.alone(&other).await)];
        let mut first = shop.query(text).await;
        first.steps(1).await;
        let mut second = shop.query(&other).await;
        second.steps(1).await;
        let (first, second) = tokio::join!(first.told(), second.told());
        assert!(first.0 == wanted[0] && second.0 == wanted[1], "{text}");
        let shared = late(&second.1);
        let apart = |name: &&str| name.contains("Window") || name.contains("Limit");
        assert!(!shared.iter().any(apart), "{text}: {shared:?}");
    }
}

#[tokio::test]
async fn a_union_that_is_left_by_the_others_reads_on_in_its_order() {
    let shop = Shop::new(1 << 30);
    let union = "SELECT id, cost, day, weight FROM item WHERE stock <> 3 \
        UNION ALL SELECT id, cost, day, weight FROM item WHERE stock <> 5";
    assert!(stop(&shop, union).await.is_detached);
}
