//! The simple protocol.

use crate::fixture::Fixture;
use crate::raw::Messages;

#[test]
fn a_query_is_described_answered_and_counted() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(3);
    let messages = raw.run("SELECT i, s FROM t ORDER BY i");
    assert_eq!(messages.tags(), "TDDDCZ");
    assert_eq!(messages.commands(), ["SELECT 3"]);
    assert_eq!(messages.rows()[2], [Some("2".to_string()), Some("row 2".to_string())]);
}

#[test]
fn nothing_to_do_is_an_empty_query() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    for text in ["", " ; ;", "-- a comment", "/* another */"] {
        assert_eq!(raw.run(text).tags(), "IZ", "{text:?}");
    }
}

#[test]
fn several_statements_are_one_transaction() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1);
    raw.query("INSERT INTO t VALUES (10, 'a'); SELECT 1/0; INSERT INTO t VALUES (11, 'b')");
    let messages = raw.until_ready();
    assert_eq!(messages.states(), ["22012"]);
    assert_eq!(messages.commands(), ["INSERT 0 1"]);
    assert_eq!(messages.status(), 'I');
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["1"]);
    raw.run("INSERT INTO t VALUES (10, 'a'); INSERT INTO t VALUES (11, 'b')");
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["3"]);
}

#[test]
fn a_failed_block_refuses_all_but_its_end() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    assert_eq!(raw.run("BEGIN").status(), 'T');
    raw.query("SELECT 1/0");
    assert_eq!(raw.until_ready().status(), 'E');
    assert_eq!(raw.fail("SELECT 1"), "25P02");
    let messages = raw.run("COMMIT");
    assert_eq!((messages.commands(), messages.status()), (vec!["ROLLBACK".to_string()], 'I'));
}

#[test]
fn positions_count_in_the_whole_text() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.query("SELECT 'ä'; SELECT nowhere");
    let messages = raw.until_ready();
    let error = messages.iter().find(|m| m.tag == b'E').expect("fails");
    assert_eq!(error.field(b'C').as_deref(), Some("42703"));
    if let Some(position) = error.field(b'P') {
        assert_eq!(position, "20");
    }
    raw.query("SELECT 1; SELEC 2");
    let messages = raw.until_ready();
    assert_eq!(messages.states(), ["42601"]);
    assert_eq!(messages.rows().len(), 0, "nothing runs before all of it parses");
}

#[test]
fn text_that_is_no_text_is_refused() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.message(b'Q', b"SELECT '\xff'\0");
    assert_eq!(raw.until_ready().states(), ["22021"]);
    raw.message(b'Q', b"SELECT 1\0\0");
    assert_eq!(raw.until_ready().states(), ["08P01"]);
    raw.run("SELECT 1");
}

#[test]
fn warnings_come_with_the_answer() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    let messages = raw.run("COMMIT");
    assert_eq!(messages.tags(), "NCZ");
    assert_eq!(messages[0].field(b'C').as_deref(), Some("25P01"));
    assert_eq!(messages[0].field(b'S').as_deref(), Some("WARNING"));
}
