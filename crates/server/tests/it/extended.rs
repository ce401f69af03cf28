//! The extended protocol's state machine.

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};

#[test]
fn a_pipeline_is_answered_in_order() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(3);
    raw.parse("s", "SELECT s FROM t WHERE i = $1");
    raw.describe('S', "s");
    for key in ["0", "2", "7"] {
        raw.bind("", "s", &[Some(key)]);
        raw.describe('P', "");
        raw.execute("", 0);
    }
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(messages.tags(), "1tT2TDC2TDC2TCZ");
    assert_eq!(messages.rows(), [[Some("row 0".to_string())], [Some("row 2".to_string())]]);
    assert_eq!(messages.commands(), ["SELECT 1", "SELECT 1", "SELECT 0"]);
}

#[test]
fn after_an_error_everything_up_to_sync_is_discarded() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1);
    raw.parse("", "SELECT nowhere");
    raw.bind("", "", &[]);
    raw.execute("", 0);
    raw.query("INSERT INTO t VALUES (5, 'x')");
    raw.message(b'H', b"");
    raw.sync();
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(messages.tags(), "EZ");
    assert_eq!(messages.states(), ["42703"]);
    assert_eq!(raw.until_ready().tags(), "Z");
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["1"]);
}

#[test]
fn what_runs_between_two_syncs_commits_at_sync() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    let insert = |raw: &mut Raw, key: &str| {
        raw.bind("", "in", &[Some(key)]);
        raw.execute("", 0);
    };
    raw.parse("in", "INSERT INTO t VALUES ($1, 'x')");
    insert(&mut raw, "1");
    insert(&mut raw, "2");
    insert(&mut raw, "1");
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["23505"]);
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["0"], "the first two are rolled back");
    insert(&mut raw, "1");
    insert(&mut raw, "2");
    raw.sync();
    assert_eq!(raw.until_ready().commands(), ["INSERT 0 1", "INSERT 0 1"]);
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["2"]);
}

/// Sends statements as one pipeline.
fn pipeline(raw: &mut Raw, texts: &[&str]) {
    for text in texts {
        raw.parse("", text);
        raw.bind("", "", &[]);
        raw.execute("", 0);
    }
    raw.sync();
}

#[test]
fn a_definition_is_part_of_its_pipeline() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    let texts = [
        "INSERT INTO t VALUES (1, 'x')",
        "CREATE TABLE u (a int)",
        "CREATE VIEW v AS SELECT 1 AS a",
        "SELECT 1 / 0",
    ];
    pipeline(&mut raw, &texts);
    let messages = raw.until_ready();
    assert_eq!(messages.commands(), ["INSERT 0 1", "CREATE TABLE", "CREATE VIEW"]);
    assert_eq!((messages.states(), messages.status()), (vec!["22012".to_owned()], 'I'));
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["0"]);
    assert_eq!(
        (raw.fail("SELECT * FROM u"), raw.fail("SELECT * FROM v")),
        ("42P01".into(), "42P01".into())
    );
    pipeline(&mut raw, &texts[..3]);
    assert_eq!(raw.until_ready().states(), Vec::<String>::new());
    assert_eq!(raw.column("SELECT a FROM v"), ["1"]);
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["1"]);
    pipeline(&mut raw, &["DROP TABLE u", "COMMIT", "DROP VIEW v", "SELECT 1 / 0"]);
    assert_eq!(raw.until_ready().commands(), ["DROP TABLE", "COMMIT", "DROP VIEW"]);
    assert_eq!(raw.fail("SELECT * FROM u"), "42P01");
    assert_eq!(raw.column("SELECT a FROM v"), ["1"]);
}

#[test]
fn a_pipeline_is_no_block_as_in_postgresql() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    pipeline(&mut raw, &["SET LOCAL lock_timeout = 1000", "SHOW lock_timeout"]);
    let messages = raw.until_ready();
    assert_eq!(messages.tags(), "12NC12DCZ", "it warns, and does it");
    assert_eq!(messages.rows(), [[Some("1s".to_owned())]]);
    assert_eq!(raw.column("SHOW lock_timeout"), ["0"]);
    pipeline(&mut raw, &["VACUUM", "SELECT 1"]);
    assert_eq!(raw.until_ready().commands(), ["VACUUM", "SELECT 1"]);
    pipeline(&mut raw, &["SELECT 1", "VACUUM"]);
    assert_eq!(raw.until_ready().states(), ["25001"]);
    for text in ["LOCK TABLE t", "DECLARE c CURSOR FOR SELECT 1", "SAVEPOINT s"] {
        pipeline(&mut raw, &["SELECT 1", text]);
        assert_eq!(raw.until_ready().states(), ["25P01"], "{text}");
    }
}

#[test]
fn portals_last_as_long_as_their_pipeline() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    raw.parse("in", "INSERT INTO t VALUES ($1, 'x')");
    raw.bind("one", "in", &[Some("1")]);
    raw.bind("two", "in", &[Some("2")]);
    raw.execute("one", 0);
    raw.execute("two", 0);
    raw.sync();
    assert_eq!(raw.until_ready().commands(), ["INSERT 0 1", "INSERT 0 1"]);
}

#[test]
fn flush_delivers_without_sync() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.parse("", "SELECT 42");
    raw.message(b'H', b"");
    assert_eq!(raw.read().tag, b'1');
    raw.bind("", "", &[]);
    raw.execute("", 0);
    raw.message(b'H', b"");
    assert_eq!([raw.read().tag, raw.read().tag, raw.read().tag], *b"2DC");
    raw.sync();
    assert_eq!(raw.until_ready().tags(), "Z");
}

#[test]
fn errors_come_without_sync() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    // As asyncpg and postgres.js prepare.
    raw.parse("s", "SELECT nowhere");
    raw.message(b'D', b"Ss\0");
    raw.message(b'H', b"");
    let error = raw.read();
    assert_eq!((error.tag, error.field(b'C').as_deref()), (b'E', Some("42703")));
    raw.sync();
    assert_eq!(raw.until_ready().tags(), "Z");
    // Not even Flush: the server has nothing else to do.
    raw.bind("", "unknown", &[]);
    assert_eq!(raw.read().tag, b'E');
    raw.sync();
    assert_eq!(raw.until_ready().tags(), "Z");
}

#[test]
fn function_calls_are_refused_and_leave_the_server_ready() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.message(b'F', &[0; 10]);
    let messages = raw.until_ready();
    assert_eq!((messages.tags().as_str(), messages.status()), ("EZ", 'I'));
    assert_eq!(messages.states(), ["0A000"]);
    assert_eq!(raw.column("SELECT 1"), ["1"]);
}

#[test]
fn a_statement_split_over_packets_is_the_same_statement() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(2);
    let mut bytes = Vec::new();
    for (tag, body) in [
        (b'P', b"\0SELECT s FROM t WHERE i = $1\0\0\0".as_slice()),
        (b'B', b"\0\0\0\0\0\x01\0\0\0\x011\0\0"),
        (b'E', b"\0\0\0\0\0"),
        (b'S', b""),
    ] {
        bytes.push(tag);
        bytes.extend((body.len() as u32 + 4).to_be_bytes());
        bytes.extend(body);
    }
    for byte in bytes {
        raw.bytes(&[byte]);
    }
    assert_eq!(raw.until_ready().tags(), "12DCZ");
}

#[test]
fn names_are_checked() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    let fault = |raw: &mut Raw| {
        raw.sync();
        raw.until_ready().states().join(",")
    };
    raw.parse("a", "SELECT 1");
    raw.parse("a", "SELECT 2");
    assert_eq!(fault(&mut raw), "42P05");
    raw.bind("", "none", &[]);
    assert_eq!(fault(&mut raw), "26000");
    raw.execute("none", 0);
    assert_eq!(fault(&mut raw), "34000");
    raw.describe('P', "none");
    assert_eq!(fault(&mut raw), "34000");
    raw.describe('S', "none");
    assert_eq!(fault(&mut raw), "26000");
    raw.bind("p", "a", &[]);
    raw.bind("p", "a", &[]);
    assert_eq!(fault(&mut raw), "42P03");
    raw.close('S', "none");
    raw.close('P', "none");
    assert_eq!(fault(&mut raw), "", "closing what is not there is no fault");
    raw.close('S', "a");
    raw.parse("a", "SELECT 2");
    assert_eq!(fault(&mut raw), "");
}

#[test]
fn deallocate_forgets_statements_of_the_protocol() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.parse("One", "SELECT 1");
    raw.parse("two", "SELECT 2");
    raw.sync();
    raw.until_ready();
    assert_eq!(raw.run("DEALLOCATE \"One\"").commands(), ["DEALLOCATE"]);
    raw.bind("", "One", &[]);
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["26000"]);
    assert_eq!(raw.run("DEALLOCATE ALL").commands(), ["DEALLOCATE ALL"]);
    raw.bind("", "two", &[]);
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["26000"]);
    assert_eq!(raw.fail("DEALLOCATE three"), "26000");
}

#[test]
fn statements_of_prepare_and_of_parse_are_the_same() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.run("PREPARE x AS SELECT 42");
    raw.describe('S', "x");
    raw.bind("", "x", &[]);
    raw.execute("", 0);
    raw.sync();
    let messages = raw.until_ready();
    assert_eq!(messages.tags(), "tT2DCZ");
    assert_eq!(messages.rows()[0], [Some("42".to_string())]);
    raw.parse("w", "SELECT $1::int + 1");
    raw.sync();
    raw.until_ready();
    assert_eq!(raw.column("EXECUTE w (2)"), ["3"]);
    assert_eq!(raw.fail("PREPARE w AS SELECT 1"), "42P05");
    raw.parse("x", "SELECT 1");
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["42P05"]);
    raw.close('S', "x");
    raw.sync();
    raw.until_ready();
    assert_eq!(raw.fail("EXECUTE x"), "26000");
}

#[test]
fn malformed_messages_are_errors_not_ends() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.parse("s", "SELECT $1::int");
    raw.sync();
    raw.until_ready();
    let bodies: [(u8, &[u8]); 11] = [
        (b'P', b"no end"),
        (b'P', b"x\0SELECT 1\0"),
        (b'P', b"x\0SELECT 1\0\xff\xff"),
        (b'B', b"\0s\0\0\0\0\x01\x7f\xff\xff\xff"),
        (b'B', b"\0s\0\0\0\0\x01\xff\xff\xff\xfe\0\0"),
        (b'B', b"\0s\0\0\0\xff\xff"),
        (b'B', b"\0s\0\0\x02\0\0\0\0\0\x01\0\0\0\x011\0\0"),
        (b'B', b"\0s\0\0\0\0\x01\0\0\0\x011\0\x02\0\0\0\0"),
        (b'B', b"\0s\0\0\0\0\x02\0\0\0\x011\0\0\0\x011\0\0"),
        (b'E', b"\0"),
        (b'D', b"Xs\0"),
    ];
    for (tag, body) in bodies {
        raw.message(tag, body);
        raw.sync();
        let messages = raw.until_ready();
        assert_eq!(messages.states(), ["08P01"], "{} {body:?}", char::from(tag));
        assert_eq!(messages.status(), 'I');
    }
    raw.run("SELECT 1");
}

#[test]
fn heads_that_cannot_be_end_the_connection() {
    let fixture = Fixture::new();
    let heads: [&[u8]; 6] = [
        b"Q\0\0\0\0",
        b"Q\0\0\0\x03",
        b"Q\xff\xff\xff\xff",
        b"Q\x7f\xff\xff\xff",
        b"S\0\0\x27\x11",
        b"\x80\0\0\0\x04",
    ];
    for head in heads {
        let mut raw = fixture.connect();
        raw.bytes(head);
        let messages = raw.until_closed();
        assert_eq!(messages.states(), ["08P01"], "{head:?}");
        assert_eq!(messages[0].field(b'S').as_deref(), Some("FATAL"));
    }
    let mut raw = fixture.connect();
    raw.message(b'F', b"\0\0\0\x01");
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["0A000"], "functions are called by SELECT");
}

#[test]
fn a_declared_length_allocates_nothing() {
    let fixture = Fixture::new();
    let before = resident_kilobytes();
    let mut waiting: Vec<Raw> = (0..20).map(|_| fixture.connect()).collect();
    for raw in &mut waiting {
        raw.bytes(b"Q\x3f\xff\xff\xff");
    }
    fixture.connect().run("SELECT 1");
    assert!(resident_kilobytes() < before + (100 << 10), "20 declared gibibytes are not allocated");
}

fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("has it");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
}

#[test]
fn one_statement_per_parse() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.parse("", "SELECT 1; SELECT 2");
    raw.sync();
    assert_eq!(raw.until_ready().states(), ["42601"]);
    raw.parse("", "");
    raw.bind("", "", &[]);
    raw.describe('P', "");
    raw.execute("", 0);
    raw.sync();
    assert_eq!(raw.until_ready().tags(), "12nIZ");
}

#[test]
fn formats_are_none_one_or_one_each() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.parse("", "SELECT $1::int, $2::text");
    let two = 2i32.to_be_bytes();
    let parameters = [Some(two.as_slice()), Some(b"x".as_slice())];
    raw.bind_formats("", "", &[1, 0], &parameters, &[0, 1]);
    raw.execute("", 0);
    raw.bind_formats("", "", &[1], &parameters, &[1]);
    raw.execute("", 0);
    raw.sync();
    let messages = raw.until_ready();
    let rows: Vec<_> = messages.iter().filter(|m| m.tag == b'D').map(|m| &m.body).collect();
    assert_eq!(rows[0], b"\0\x02\0\0\0\x012\0\0\0\x01x");
    assert_eq!(rows[1], b"\0\x02\0\0\0\x04\0\0\0\x02\0\0\0\x01x");
}

#[test]
fn a_statement_with_many_parameters() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1);
    let marks: Vec<String> = (1..=3_000).map(|i| format!("${i}")).collect();
    raw.parse("", &format!("SELECT count(*) FROM t WHERE i IN ({})", marks.join(",")));
    raw.bind("", "", &vec![Some("0"); 3_000]);
    raw.execute("", 0);
    raw.sync();
    assert_eq!(raw.until_ready().rows(), [[Some("1".to_string())]]);
}
