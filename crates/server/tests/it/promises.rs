//! `shareddb.response_time` over the wire: who is refused, who never is, who is dropped, and what is known of it.

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};
use crate::waiting::eventually;

/// A query that many share.
const GROUPS: &str = "SELECT s, count(*) FROM t GROUP BY s ORDER BY s LIMIT 1";

fn promise(client: &mut Raw, time: &str) {
    client.run(&format!("SET shareddb.response_time = '{time}'"));
}

/// Milliseconds that EXPLAIN says a query will take.
fn forecast(client: &mut Raw, query: &str) -> f64 {
    let lines = client.column(&format!("EXPLAIN {query}"));
    let line = lines.iter().find_map(|line| line.split_once("forecast: "));
    let (_, told) = line.unwrap_or_else(|| panic!("no forecast in {lines:?}"));
    told.split_once(" ms").expect("milliseconds").0.parse().expect("a number")
}

/// Admitted, kept, late and refused of a statement.
fn counts(client: &mut Raw, statement: &str) -> Vec<String> {
    client.run("SET shareddb.response_time = 0");
    let list = "admitted || ' ' || kept || ' ' || late || ' ' || refused";
    let text = format!("SELECT {list} FROM shareddb.promises WHERE statement LIKE '{statement}'");
    client.column(&text)
}

#[test]
fn who_would_be_late_beside_others_is_refused_at_once() {
    let fixture = Fixture::new();
    let mut client = fixture.with_rows(2_000);
    (0..8).for_each(|_| drop(client.run(GROUPS)));
    client.run("SET shareddb.late = 'finish'");
    promise(&mut client, "60min");
    // Sixty-four times the work takes at least eight times as long where nothing else was measured.
    let short = format!("{:.3}ms", forecast(&mut client, GROUPS) * 4.0);
    let mut others: Vec<Raw> = (0..64).map(|_| fixture.connect()).collect();
    let held = fixture.held_back(64, || {
        for other in &mut others {
            other.query(GROUPS);
            other.send();
        }
    });
    promise(&mut client, &short);
    client.query(GROUPS);
    let error = client.read();
    assert_eq!(error.field(b'C').as_deref(), Some("53400"), "{error:?}");
    assert!(error.field(b'D').expect("a detail").contains("are for others"), "{error:?}");
    // On a machine that is slow just now it takes longer than four times what was forecast even by itself.
    let hint = error.field(b'H').expect("a hint");
    let is_told =
        ["Try again in ", "By itself it takes "].iter().any(|told| hint.starts_with(told));
    assert!(is_told, "{error:?}");
    client.until_ready();
    drop(held);
    others.iter_mut().for_each(|other| assert_eq!(other.until_ready().tags(), "TDCZ"));
    // Nobody is beside it any more: it is let in as soon as the machine lets it.
    let is_let_in = (0..10_000).any(|_| {
        client.query(GROUPS);
        let first = client.read();
        client.until_ready();
        first.tag == b'T'
    });
    assert!(is_let_in, "it is refused for ever");
}

#[test]
fn what_ends_things_or_takes_a_promise_back_is_never_refused() {
    let fixture = Fixture::new();
    let mut client = fixture.with_rows(10);
    promise(&mut client, "1us");
    assert_eq!(client.fail("SELECT s FROM t WHERE i = 1"), "53400");
    let texts = [
        "BEGIN",
        "SAVEPOINT a",
        "ROLLBACK TO a",
        "RELEASE a",
        "COMMIT",
        "BEGIN",
        "ROLLBACK",
        "SHOW shareddb.response_time",
        "SET application_name = 'x'",
        "RESET application_name",
        "ALTER ROLE shareddb RESET ALL",
    ];
    for text in texts {
        client.run(text);
    }
    client.run("RESET shareddb.response_time");
    assert_eq!(client.column("SELECT s FROM t WHERE i = 1"), ["row 1"]);
    promise(&mut client, "1us");
    client.run("DISCARD ALL");
    assert_eq!(client.column("SELECT s FROM t WHERE i = 1"), ["row 1"]);
}

#[test]
fn a_block_is_refused_at_its_first_statement_or_not_at_all() {
    let fixture = Fixture::new();
    let mut client = fixture.with_rows(10);
    promise(&mut client, "1us");
    client.run("BEGIN");
    assert_eq!(client.fail("UPDATE t SET s = 'x' WHERE i = 1"), "53400");
    assert_eq!(client.fail("UPDATE t SET s = 'x' WHERE i = 1"), "25P02");
    client.run("ROLLBACK");
    client.run("BEGIN; SET LOCAL shareddb.response_time = 0");
    client.run("UPDATE t SET s = 'x' WHERE i = 1");
    client.run("SET LOCAL shareddb.response_time = '1us'");
    assert_eq!(client.run("UPDATE t SET s = 'y' WHERE i = 2").tags(), "CZ");
    assert_eq!(client.column("SELECT s FROM t WHERE i < 3 ORDER BY i"), ["row 0", "x", "y"]);
    client.run("COMMIT");
    client.run("RESET shareddb.response_time");
    assert_eq!(client.column("SELECT s FROM t WHERE i IN (1, 2) ORDER BY i"), ["x", "y"]);
}

#[test]
fn the_extended_protocol_is_refused_at_execute() {
    let fixture = Fixture::new();
    let mut client = fixture.with_rows(10);
    promise(&mut client, "1us");
    client.parse("", "SELECT s FROM t WHERE i = $1");
    client.bind("", "", &[Some("1")]);
    client.execute("", 0);
    client.sync();
    let messages = client.until_ready();
    assert_eq!(messages.tags(), "12EZ");
    assert_eq!(messages[2].field(b'C').as_deref(), Some("53400"));
    client.run("RESET shareddb.response_time");
    client.parse("", "SELECT s FROM t WHERE i = $1");
    client.bind("", "", &[Some("1")]);
    client.execute("", 0);
    client.sync();
    assert_eq!(client.until_ready().tags(), "12DCZ");
}

#[test]
fn who_is_late_is_dropped_or_finishes_as_the_session_says() {
    let fixture = Fixture::new();
    let mut client = fixture.with_rows(10);
    let mut holder = fixture.connect();
    let update = "UPDATE t SET s = 'x' WHERE i = 1";
    holder.run("BEGIN");
    holder.run(update);
    client.run("UPDATE t SET s = 'z' WHERE i = 2");
    promise(&mut client, "1s");
    client.query(update);
    let error = client.read();
    assert_eq!(error.field(b'C').as_deref(), Some("57014"), "{error:?}");
    let message = error.field(b'M').expect("a message");
    assert_eq!(message, "canceling statement due to shareddb.response_time");
    client.until_ready();
    assert_eq!(counts(&mut client, "UPDATE t SET%"), ["1 0 1 0"]);

    client.run("SET shareddb.late = 'finish'");
    promise(&mut client, "60min");
    client.query(update);
    client.send();
    eventually("it waits", || (fixture.waiting_for_locks() == 1).then_some(()));
    holder.run("COMMIT");
    assert_eq!(client.until_ready().tags(), "CZ");
    assert_eq!(counts(&mut client, "UPDATE t SET%"), ["2 1 1 0"]);
}

#[test]
fn what_came_of_promises_is_known() {
    let fixture = Fixture::new();
    let mut client = fixture.with_rows(10);
    promise(&mut client, "60min");
    for i in 0..5 {
        assert_eq!(client.column(&format!("SELECT s FROM t WHERE i = {i}")).len(), 1);
    }
    client.run("INSERT INTO t VALUES (100, 'x'), (101, 'y')");
    promise(&mut client, "1us");
    assert_eq!(client.fail("SELECT s FROM t WHERE i = 1"), "53400");
    assert_eq!(counts(&mut client, "SELECT s FROM t WHERE i = $_"), ["5 5 0 1"]);
    assert_eq!(counts(&mut client, "INSERT INTO t%"), ["1 1 0 0"]);
    let role = client.column("SELECT DISTINCT role FROM shareddb.promises");
    assert_eq!(role, ["shareddb"]);
    let times = "SELECT p50_us > 0 AND p99_us >= p50_us AND p999_us >= p99_us";
    let text = format!("{times} FROM shareddb.promises WHERE kept = 5");
    assert_eq!(client.column(&text), ["t"]);
}

#[test]
fn how_much_more_could_be_promised_is_told() {
    let fixture = Fixture::new();
    let mut client = fixture.with_rows(2_000);
    promise(&mut client, "60min");
    let list = "SELECT place FROM shareddb.capacity WHERE running_per_s > 0 AND more_per_s >= 0";
    let places = eventually("something has run in the last second", || {
        client.run(GROUPS);
        Some(client.column(list)).filter(|places| !places.is_empty())
    });
    // The statement that asks is one of them, and runs alone.
    assert_eq!(places[0], "all");
    assert!(places[1..].iter().all(|place| ["lane", "alone"].contains(&place.as_str())));
    assert!(places.len() > 1, "{places:?}");
}
