//! What comes before a client is let in.

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};

#[test]
fn packets_that_cannot_be_end_their_connection_and_no_other() {
    let fixture = Fixture::new();
    let mut long = 10_001u32.to_be_bytes().to_vec();
    long.extend([b'x'; 12_000]);
    let packets: [&[u8]; 9] = [
        &[0, 0, 0, 0],
        &[0, 0, 0, 3],
        &[0, 0, 0, 7, 0, 3, 0],
        &[0xff, 0xff, 0xff, 0xff],
        &[0x7f, 0xff, 0xff, 0xff],
        &long,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", // a TLS hello without asking
        b"\0\0\0\x0f\0\x03\0\0user\0ab",                 // no end of the string
        b"GET / HTTP/1.1\r\n\r\n",
    ];
    for packet in packets {
        let mut raw = Raw::open(fixture.address);
        raw.bytes(packet);
        let messages = raw.until_closed();
        assert_eq!(messages.states(), ["08P01"], "{packet:?}");
        assert_eq!(messages[0].field(b'S').as_deref(), Some("FATAL"));
    }
    fixture.connect().run("SELECT 1");
}

#[test]
fn encryption_requests_are_answered_by_one_byte_each() {
    let fixture = Fixture::new();
    let mut raw = Raw::open(fixture.address);
    raw.packet(&80_877_104u32.to_be_bytes());
    assert_eq!(raw.read_byte(), b'N');
    raw.packet(&80_877_103u32.to_be_bytes());
    assert_eq!(raw.read_byte(), b'N');
    raw.startup(&[("user", "shareddb")]);
    assert_eq!(raw.until_ready().status(), 'I');
}

#[test]
fn newer_versions_and_unknown_options_are_negotiated() {
    let fixture = Fixture::new();
    let mut raw = Raw::open(fixture.address);
    let mut packet = ((3u32 << 16) | 2).to_be_bytes().to_vec();
    packet.extend(b"user\0shareddb\0_pq_.magic\0on\0\0");
    raw.packet(&packet);
    let messages = raw.until_ready();
    assert_eq!(messages[0].tag, b'v');
    assert_eq!(messages[0].body, b"\0\x03\0\0\0\0\0\x01_pq_.magic\0");
    raw.run("SELECT 1");
}

#[test]
fn who_and_where_must_exist() {
    let fixture = Fixture::new();
    let refused = |parameters: &[(&str, &str)]| {
        let mut raw = Raw::open(fixture.address);
        raw.startup(parameters);
        raw.until_closed().states()
    };
    assert_eq!(refused(&[("user", "nobody"), ("database", "shareddb")]), ["28000"]);
    assert_eq!(refused(&[("database", "shareddb")]), ["28000"]);
    assert_eq!(refused(&[("user", "shareddb"), ("database", "other")]), ["3D000"]);
    assert_eq!(refused(&[("user", "shareddb"), ("no_such_setting", "1")]), ["42704"]);
    assert_eq!(refused(&[("user", "shareddb"), ("shareddb.foo", "1")]), ["42602"]);
    assert_eq!(refused(&[("user", "shareddb"), ("options", "-c shareddb.foo=1")]), ["42602"]);
    let replication = [("user", "shareddb"), ("replication", "database")];
    assert_eq!(refused(&replication), ["0A000"]);
}

#[test]
fn the_client_is_told_what_it_must_know() {
    let fixture = Fixture::new();
    let mut raw = Raw::open(fixture.address);
    raw.startup(&[("user", "shareddb"), ("application_name", "it's me")]);
    let messages = raw.until_ready();
    let parameter = |name: &str| {
        let found = messages.iter().find(|m| m.tag == b'S' && m.text().starts_with(name));
        found.map(|m| m.text().split_once('\0').expect("a value").1.to_string())
    };
    for (name, value) in [
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
        ("application_name", "it's me"),
        ("session_authorization", "shareddb"),
    ] {
        assert_eq!(parameter(name).as_deref(), Some(value), "{name}");
    }
    assert!(parameter("server_version").is_some_and(|version| version.starts_with("15")));
    assert!(parameter("DateStyle").is_some_and(|style| style.starts_with("ISO")));
    for name in ["in_hot_standby", "is_superuser", "IntervalStyle", "TimeZone"] {
        assert!(parameter(name).is_some(), "{name}");
    }
}

#[test]
fn settings_that_change_are_told_again() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    let messages = raw.run("SET application_name = 'later'");
    let told = messages.iter().find(|m| m.tag == b'S').map(|m| m.text());
    assert_eq!(told.as_deref(), Some("application_name\0later"));
}

#[test]
fn a_client_that_says_nothing_holds_up_nobody() {
    let fixture = Fixture::new();
    let silent: Vec<Raw> = (0..20).map(|_| Raw::open(fixture.address)).collect();
    fixture.connect().run("SELECT 1");
    drop(silent);
}
