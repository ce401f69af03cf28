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

#[test]
fn long_names_are_cut_and_told() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    let (long, kept) = ("N".repeat(70), "n".repeat(63));
    for _ in 0..2 {
        let messages = raw.run(&format!("SELECT 1 AS {long}"));
        assert_eq!(messages.tags(), "NTDCZ");
        assert_eq!(messages[0].field(b'S').as_deref(), Some("NOTICE"));
        assert_eq!(messages[0].field(b'C').as_deref(), Some("42622"));
        let (whole, told) = (long.to_lowercase(), messages[0].field(b'M'));
        let expected = format!("identifier \"{whole}\" will be truncated to \"{kept}\"");
        assert_eq!(told, Some(expected));
        let described = messages[1].text();
        assert!(described.contains(&kept) && !described.contains(&"n".repeat(64)), "{described}");
    }
    let used = [
        (format!("CREATE TABLE {long} ({long} int)"), format!("SELECT {kept} FROM {kept}")),
        (format!("CREATE SEQUENCE s{long}"), format!("SELECT nextval('s{}')", &kept[1..])),
        (format!("CREATE ROLE {long}"), format!("DROP ROLE {kept}")),
        (format!("PREPARE {long} AS SELECT 1"), format!("EXECUTE {kept}")),
        (format!("EXECUTE {long}"), format!("DEALLOCATE {kept}")),
        (format!("BEGIN; SAVEPOINT {long}"), format!("ROLLBACK TO {kept}")),
        (format!("DECLARE {long} CURSOR FOR SELECT 1"), format!("CLOSE {kept}")),
        (format!("WITH {long} AS (SELECT 1) SELECT * FROM {kept}"), "COMMIT".to_owned()),
        (format!("LISTEN {long}"), format!("UNLISTEN {kept}")),
    ];
    for (says, asks) in used {
        assert!(raw.run(&says).tags().contains('N'), "{says}");
        assert!(!raw.run(&asks).tags().contains('N'), "{asks}");
    }
}
