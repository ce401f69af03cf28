//! Portals: row limits, several at once, their lives.

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};

fn declare(raw: &mut Raw, portal: &str) {
    raw.parse("", "SELECT i FROM t ORDER BY i");
    raw.bind(portal, "", &[]);
}

fn first_column(messages: &[crate::raw::Message]) -> Vec<String> {
    messages.rows().into_iter().map(|mut row| row.remove(0).expect("not NULL")).collect()
}

#[test]
fn a_limit_suspends_and_the_next_execute_goes_on() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(5);
    declare(&mut raw, "");
    for _ in 0..4 {
        raw.execute("", 2);
    }
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(messages.tags(), "12DDsDDsDCCZ");
    assert_eq!(first_column(&messages), ["0", "1", "2", "3", "4"]);
    assert_eq!(messages.commands(), ["SELECT 1", "SELECT 0"]);
}

#[test]
fn portals_interleave() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(4);
    raw.run("BEGIN");
    declare(&mut raw, "a");
    declare(&mut raw, "b");
    for portal in ["a", "b", "b", "a"] {
        raw.execute(portal, 2);
    }
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(first_column(&messages), ["0", "1", "0", "1", "2", "3", "2", "3"]);
}

#[test]
fn portals_live_as_long_as_their_transaction() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(3);
    raw.run("BEGIN");
    declare(&mut raw, "p");
    raw.execute("p", 1);
    raw.sync();
    assert_eq!(raw.until_ready().tags(), "12DsZ");
    raw.execute("p", 0);
    raw.sync();
    assert_eq!(first_column(&raw.until_ready()), ["1", "2"]);
    raw.run("COMMIT");
    raw.execute("p", 0);
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["34000"]);
    declare(&mut raw, "q");
    raw.sync();
    raw.until_ready();
    raw.execute("q", 0);
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["34000"], "outside a block Sync ends it");
}

#[test]
fn a_portal_that_has_run_does_not_run_again() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1);
    raw.parse("", "INSERT INTO t VALUES (9, 'x')");
    raw.bind("p", "", &[]);
    raw.execute("p", 0);
    raw.execute("p", 0);
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["55000"]);
}

#[test]
fn closing_a_portal_frees_its_name() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(2);
    declare(&mut raw, "p");
    raw.execute("p", 1);
    raw.close('P', "p");
    raw.bind("p", "", &[]);
    raw.execute("p", 0);
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(messages.tags(), "12Ds32DDCZ");
}

#[test]
fn a_cursor_by_declare_is_a_portal() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(5);
    raw.run("BEGIN; DECLARE \"C\" CURSOR FOR SELECT i FROM t ORDER BY i; FETCH \"C\"");
    raw.describe('P', "C");
    raw.execute("C", 2);
    raw.execute("C", 2);
    raw.execute("C", 0);
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(messages.tags(), "TDDsDDsCZ");
    assert_eq!(first_column(&messages), ["1", "2", "3", "4"]);
    assert_eq!(messages.commands(), ["SELECT 0"]);
    assert_eq!(raw.column("FETCH \"C\""), [""; 0]);
    declare(&mut raw, "C");
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["42P03"]);
}

#[test]
fn a_portal_is_a_cursor() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(9);
    raw.run("BEGIN");
    for portal in ["begun", "ready", "spent", "moved", "closed"] {
        declare(&mut raw, portal);
    }
    raw.execute("begun", 2);
    raw.execute("spent", 0);
    raw.sync();
    raw.until_ready();
    assert_eq!(raw.column("FETCH 2 FROM begun"), ["2", "3"]);
    assert_eq!(raw.column("FETCH ready"), ["0"]);
    assert_eq!(raw.column("FETCH spent"), [""; 0]);
    raw.run("MOVE 3 IN moved");
    raw.execute("begun", 1);
    raw.execute("moved", 1);
    raw.execute("ready", 0);
    raw.describe('P', "begun");
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(messages.tags(), "DsDsDDDDDDDDCTZ");
    let expected = ["4", "3", "1", "2", "3", "4", "5", "6", "7", "8"];
    assert_eq!(first_column(&messages), expected);
    raw.run("CLOSE begun; CLOSE closed");
    raw.execute("closed", 0);
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["34000"]);
    raw.run("ROLLBACK; BEGIN");
    assert_eq!(raw.fail("FETCH ready"), "34000", "it has ended with its transaction");
}

#[test]
fn a_portal_that_became_a_cursor_keeps_its_formats() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(3);
    raw.run("BEGIN");
    raw.parse("", "SELECT i FROM t ORDER BY i");
    raw.bind_formats("p", "", &[], &[], &[1]);
    raw.sync();
    raw.until_ready();
    raw.run("MOVE p");
    raw.execute("p", 1);
    raw.sync();
    assert_eq!(raw.until_ready()[0].values(), [Some(&[0, 0, 0, 1][..])]);
}

#[test]
fn closing_a_cursors_portal_closes_the_cursor() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1);
    raw.run("BEGIN; DECLARE c CURSOR FOR SELECT i FROM t");
    raw.close('P', "c");
    raw.execute("c", 0);
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["34000"]);
}
