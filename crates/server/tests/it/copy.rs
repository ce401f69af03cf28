//! COPY in and out.

use crate::fixture::Fixture;
use crate::raw::{Message, Messages, Raw};

fn begin(raw: &mut Raw) {
    raw.query("COPY t FROM STDIN");
    let response = raw.read();
    assert_eq!((response.tag, response.body.as_slice()), (b'G', b"\0\0\x02\0\0\0\0".as_slice()));
}

#[test]
fn data_may_be_split_anywhere() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    let data = "1\tä\\n\n2\t\\N\n3\t\\\\.\n".as_bytes();
    begin(&mut raw);
    for byte in data {
        raw.message(b'd', &[*byte]);
    }
    raw.message(b'H', b"");
    raw.message(b'S', b"");
    raw.message(b'c', b"");
    let messages = raw.until_ready();
    assert_eq!(messages.commands(), ["COPY 3"]);
    assert_eq!(raw.column("SELECT s FROM t ORDER BY i"), ["ä\n", "", "\\."]);
}

#[test]
fn what_the_client_gives_up_is_not_there() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    begin(&mut raw);
    raw.message(b'd', b"1\ta\n");
    raw.message(b'f', b"changed my mind\0");
    let messages = raw.until_ready();
    assert_eq!(messages.states(), ["57014"]);
    assert!(messages[0].field(b'M').is_some_and(|text| text.contains("changed my mind")));
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn after_an_error_the_rest_of_the_data_is_dropped() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    begin(&mut raw);
    raw.message(b'd', b"1\ta\nnot a number\tb\n");
    for _ in 0..50 {
        raw.message(b'd', b"2\tc\n");
    }
    raw.message(b'c', b"");
    assert_eq!(raw.until_ready().states(), ["22P02"]);
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn in_the_extended_protocol_an_error_waits_for_sync() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    raw.parse("", "COPY t FROM STDIN");
    raw.bind("", "", &[]);
    raw.execute("", 0);
    raw.sync();
    let tags: Vec<u8> = (0..3).map(|_| raw.read().tag).collect();
    assert_eq!(tags, b"12G");
    raw.message(b'd', b"broken\n");
    raw.message(b'd', b"1\ta\n");
    raw.message(b'c', b"");
    raw.sync();
    assert_eq!(raw.until_ready().states().len(), 1);
    raw.run("SELECT 1");
}

#[test]
fn other_messages_end_the_copy() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    begin(&mut raw);
    raw.query("SELECT 1");
    assert_eq!(raw.until_ready().states(), ["08P01"]);
    assert_eq!(raw.run("SELECT 1").tags().chars().next_back(), Some('Z'));
}

#[test]
fn rows_come_out_as_they_went_in() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(3);
    let messages = raw.run("COPY t TO STDOUT");
    assert_eq!(messages.tags(), "HdddcCZ");
    let lines: Vec<String> = messages.iter().filter(|m| m.tag == b'd').map(Message::text).collect();
    assert_eq!(lines, ["0\trow 0\n", "1\trow 1\n", "2\trow 2\n"]);
    assert_eq!(messages.commands(), ["COPY 3"]);
}
