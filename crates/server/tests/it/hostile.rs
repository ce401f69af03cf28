//! Texts that are deep, wide or slow to plan: each is answered, or refused, or can be cancelled, and nobody else notices.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::cancel::cancel;
use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};
use crate::waiting::{HANG, joined};

/// How long a text may be planned before its client cancels.
const PATIENCE: Duration = Duration::from_secs(2);

/// What may be said of a hostile text: too complex, too large, too many columns, no memory, or cancelled. What PostgreSQL's grammar has
/// no room for is a syntax error to it ("memory exhausted").
const REFUSALS: [&str; 6] = ["54001", "54000", "54011", "53200", "57014", "42601"];

/// The longest that somebody else may wait meanwhile, in an unoptimized build on a machine that does nothing else.
const OTHERS: Duration = Duration::from_secs(10);

fn row(one: impl Fn(usize) -> String, between: &str, times: usize) -> String {
    (0..times).map(one).collect::<Vec<_>>().join(between)
}

fn same(one: &str, between: &str, times: usize) -> String {
    row(|_| one.to_owned(), between, times)
}

fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

/// A CTE that doubles itself, `times` times.
fn doubled(times: usize) -> String {
    let mut text = "WITH c0 AS (SELECT 1 AS a)".to_owned();
    for i in 1..=times {
        let before = i - 1;
        let _ =
            write!(text, ", c{i} AS (SELECT * FROM c{before} UNION ALL SELECT * FROM c{before})");
    }
    format!("{text} SELECT count(*) FROM c{times}")
}

/// The texts, over `t (i integer PRIMARY KEY, s text)`.
fn texts() -> Vec<(&'static str, String)> {
    let unions = same("SELECT i FROM t", " UNION ALL ", 2_500);
    let pairs = |times| row(|n| format!("(i = {n} AND s = '{n}')"), " OR ", times);
    let where_ = |condition: String| format!("SELECT count(*) FROM t WHERE {condition}");
    vec![
        ("members of UNION ALL", unions.clone()),
        ("members of UNION", same("SELECT i FROM t", " UNION ", 2_500)),
        ("members of EXCEPT", same("SELECT i FROM t", " EXCEPT ", 2_500)),
        ("members of INTERSECT", same("SELECT i FROM t", " INTERSECT ", 2_500)),
        ("a view of many members", format!("CREATE VIEW v AS {unions}")),
        ("an INSERT of many members", format!("INSERT INTO u {unions}")),
        ("EXPLAIN of many members", format!("EXPLAIN {unions}")),
        ("COPY of many members", format!("COPY ({unions}) TO STDOUT")),
        ("PREPARE of many members", format!("PREPARE p AS {unions}")),
        ("casts", format!("SELECT i{} FROM t", "::int".repeat(12_000))),
        ("fewer casts", format!("SELECT i{} FROM t", "::int::text".repeat(1_000))),
        ("IS NULL", where_(format!("i{}", " IS NULL".repeat(12_000)))),
        ("AND of LIKE", where_(row(|n| format!("s LIKE '%{n}'"), " AND ", 12_000))),
        ("AND of IN", where_(row(|n| format!("i IN ({n}, 1)"), " AND ", 12_000))),
        ("AND of <>", where_(row(|n| format!("i <> {n}"), " AND ", 5_000))),
        ("OR of pairs", where_(pairs(2_000))),
        ("many ORs of pairs", where_(pairs(50_000))),
        ("NOT", where_(format!("{}true", "NOT ".repeat(5_000)))),
        ("minus", format!("SELECT {}1", "- ".repeat(20_000))),
        ("parentheses", format!("SELECT {}", nested("(", "1", ")", 100_000))),
        ("nested functions", format!("SELECT {}", nested("abs(", "1", ")", 900))),
        ("nested CASE", format!("SELECT {}", nested("CASE WHEN true THEN ", "1", " END", 900))),
        ("nested subqueries", format!("SELECT {}", nested("(SELECT ", "1", ")", 900))),
        (
            "nested derived tables",
            format!("SELECT * FROM {}", nested("(SELECT * FROM ", "t", ") x", 900)),
        ),
        ("a sum", format!("SELECT {} FROM t", same("i", " + ", 200))),
        ("a long sum", format!("SELECT {} FROM t", same("i", " + ", 4_000))),
        ("a concatenation", format!("SELECT {} FROM t", same("s", " || ", 4_000))),
        ("a CTE doubled", doubled(16)),
        ("a CTE doubled more often", doubled(60)),
        (
            "VALUES",
            format!("SELECT count(*) FROM (VALUES {}) v", row(|n| format!("({n})"), ", ", 100_000)),
        ),
        ("columns", format!("SELECT {}", row(|n| format!("{n} AS c{n}"), ", ", 65_536))),
        (
            "a table's columns",
            format!("CREATE TABLE w ({})", row(|n| format!("c{n} int"), ", ", 100_000)),
        ),
        ("joins", format!("SELECT count(*) FROM {}", row(|n| format!("t t{n}"), ", ", 400))),
        (
            "CUBE",
            format!(
                "SELECT count(*) FROM t GROUP BY CUBE ({})",
                row(|n| format!("i + {n}"), ", ", 12)
            ),
        ),
    ]
}

/// Sends a text, cancels it when patience is over, and gives what it was told; panics if it hears nothing in time.
fn provoke(fixture: &Fixture, send: impl FnOnce(&mut Raw)) -> (Vec<String>, Duration) {
    let mut raw = fixture.connect();
    let began = Instant::now();
    send(&mut raw);
    let is_told = AtomicBool::new(false);
    let (key, told) = (raw.key, &is_told);
    let states = std::thread::scope(|scope| {
        scope.spawn(move || {
            while began.elapsed() < PATIENCE && !told.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if !told.load(Ordering::Relaxed) {
                cancel(fixture, key);
            }
        });
        let states = raw.until_ready().states();
        is_told.store(true, Ordering::Relaxed);
        states.into_iter().map(|state| state.to_string()).collect::<Vec<_>>()
    });
    let took = began.elapsed();
    raw.run("SELECT 1");
    (states, took)
}

/// How long others wait meanwhile: one that is connected, one with a statement of a new shape, one that comes in.
struct Canary {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Vec<Duration>>,
}

impl Canary {
    fn start(fixture: &Fixture) -> Canary {
        let stop = Arc::<AtomicBool>::default();
        let (own, address) = (stop.clone(), fixture.address);
        let thread = std::thread::spawn(move || {
            let mut raw = Raw::connect(address);
            let mut waits = Vec::new();
            for n in 0.. {
                if own.load(Ordering::Relaxed) {
                    break;
                }
                let began = Instant::now();
                raw.run("SELECT 1");
                raw.run(&format!("SELECT i AS n{n} FROM t WHERE i = {n}"));
                Raw::connect(address).run("SELECT 1");
                waits.push(began.elapsed());
                std::thread::sleep(Duration::from_millis(10));
            }
            waits
        });
        Canary { stop, thread }
    }

    /// The longest wait, and the one in the middle.
    fn end(self) -> (Duration, Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let mut waits = joined("others are answered", self.thread);
        waits.sort();
        (waits[waits.len() - 1], waits[waits.len() / 2])
    }
}

/// The texts, three clients at a time.
fn provoke_all(fixture: &Fixture, send: impl Fn(&mut Raw, &str) + Sync) {
    let texts = Mutex::new(texts());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some((name, text)) = texts.lock().expect("nobody panicked").pop() else {
                        break;
                    };
                    let (states, took) = provoke(fixture, |raw| send(raw, &text));
                    println!("{name}: {states:?} in {took:?}");
                    let is_known = |state: &String| REFUSALS.contains(&state.as_str());
                    assert!(states.iter().all(is_known), "{name}: {states:?}");
                }
            });
        }
    });
}

/// Provokes with all texts; somebody else waits no longer than `others` meanwhile.
fn disturb_nobody(others: Duration, send: impl Fn(&mut Raw, &str) + Sync) {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(10);
    raw.run("CREATE TABLE u (i integer)");
    let canary = Canary::start(&fixture);
    provoke_all(&fixture, send);
    let (longest, usual) = canary.end();
    println!("others waited {usual:?}, at most {longest:?}");
    assert!(longest < others, "others waited {longest:?}");
}

fn query(raw: &mut Raw, text: &str) {
    raw.query(text);
    raw.send();
}

fn parse(raw: &mut Raw, text: &str) {
    raw.parse("", text);
    raw.sync();
    raw.send();
}

#[test]
fn hostile_texts_disturb_nobody() {
    disturb_nobody(HANG, query);
}

#[test]
fn hostile_texts_disturb_nobody_by_parse_alone() {
    disturb_nobody(HANG, parse);
}

#[test]
#[ignore = "soak: measures how long others wait"]
fn nobody_waits_long_beside_hostile_texts() {
    disturb_nobody(OTHERS, query);
    disturb_nobody(OTHERS, parse);
}

/// Takes long to plan and has no limit against it.
fn slow() -> String {
    format!("SELECT {} FROM t", same("i", " * ", 4_500))
}

#[test]
fn a_plan_can_be_cancelled_times_out_and_is_dropped_with_its_client() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1);
    let mut hasty = fixture.connect();
    hasty.run("SET statement_timeout = 1");
    assert_eq!(hasty.fail(&slow()), "57014");
    // More clients than there are threads, who leave.
    for _ in 0..12 {
        let mut other = fixture.connect();
        other.query(&slow());
        other.send();
        std::thread::sleep(Duration::from_millis(20));
    }
    raw.run("SELECT i AS something_new FROM t");
}
