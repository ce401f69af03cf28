//! What sessions begin with: kept settings of their role and the database, what the server and what they themselves have asked for.

use std::time::Duration;

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};

/// A session of a role, let in with these parameters.
fn session(fixture: &Fixture, role: &str, parameters: &[(&str, &str)]) -> Raw {
    let mut raw = Raw::open(fixture.address);
    raw.startup(&[&[("user", role), ("database", "shareddb")], parameters].concat());
    assert_eq!(raw.until_ready().states(), [""; 0], "{role}");
    raw
}

fn shown(raw: &mut Raw, setting: &str) -> String {
    raw.column(&format!("SHOW {setting}")).remove(0)
}

/// What a new session of a role has.
fn begun(fixture: &Fixture, role: &str, setting: &str) -> String {
    shown(&mut session(fixture, role, &[]), setting)
}

#[test]
fn what_is_said_of_less_takes_the_place_of_what_is_said_of_more() {
    let fixture = Fixture::new();
    let mut root = fixture.connect();
    root.run("CREATE ROLE ann LOGIN");
    let mut before = session(&fixture, "ann", &[]);
    for (statement, value) in [
        ("ALTER ROLE ALL SET work_mem = '1MB'", "1MB"),
        ("ALTER DATABASE shareddb SET work_mem = '2MB'", "2MB"),
        ("ALTER ROLE ann SET work_mem = '3MB'", "3MB"),
        ("ALTER ROLE ann IN DATABASE shareddb SET work_mem = '4MB'", "4MB"),
        ("ALTER ROLE ann RESET work_mem", "4MB"),
        ("ALTER ROLE ann IN DATABASE shareddb RESET ALL", "2MB"),
        ("ALTER DATABASE shareddb RESET ALL", "1MB"),
        ("ALTER ROLE ALL RESET ALL", "4MB"),
    ] {
        root.run(statement);
        assert_eq!(begun(&fixture, "ann", "work_mem"), value, "{statement}");
    }
    assert_eq!(shown(&mut before, "work_mem"), "4MB");
}

#[test]
fn what_a_session_begins_with_is_what_reset_returns_to() {
    let fixture = Fixture::new();
    let mut root = fixture.connect();
    root.run("CREATE ROLE ann LOGIN; ALTER ROLE ann SET statement_timeout = 5000");
    root.run("ALTER ROLE ann SET application_name = 'of ann'; ALTER ROLE ann SET my.own = 'x'");
    let options = [("options", "-c lock_timeout=7s"), ("application_name", "own")];
    let mut ann = session(&fixture, "ann", &options);
    for (change, back) in [
        (
            "SET statement_timeout = 3600001; SET lock_timeout = 3600001; SET application_name = 'a'",
            "RESET ALL",
        ),
        ("SET statement_timeout = 0; SET my.own = 'y'", "DISCARD ALL"),
        ("SET lock_timeout = 0; SET my.own = 'y'", "SET lock_timeout TO DEFAULT; RESET my.own"),
        ("BEGIN; SET lock_timeout = 0; RESET my.own", "ROLLBACK"),
    ] {
        ann.run(change);
        ann.run(back);
        for (setting, value) in [
            ("statement_timeout", "5s"),
            ("lock_timeout", "7s"),
            ("application_name", "own"),
            ("my.own", "x"),
        ] {
            assert_eq!(shown(&mut ann, setting), value, "{setting} after {change}, {back}");
        }
    }
    ann.run("SET work_mem = '1MB'");
    ann.run("RESET work_mem");
    assert_eq!(shown(&mut ann, "work_mem"), "4MB");
    let reset = ann.column("SELECT reset_val FROM pg_settings WHERE name = 'lock_timeout'");
    assert_eq!(reset, ["7s"]);
}

#[test]
fn clients_are_told_what_their_role_begins_with() {
    let fixture = Fixture::new();
    fixture.connect().run("ALTER ROLE shareddb SET application_name = 'the first'");
    let mut raw = Raw::open(fixture.address);
    raw.startup(&[("user", "shareddb")]);
    let messages = raw.until_ready();
    let told = messages.iter().filter(|message| message.tag == b'S').map(|message| message.text());
    let told: Vec<String> = told.filter(|text| text.starts_with("application_name")).collect();
    assert_eq!(told, ["application_name\0the first"]);
}

#[test]
fn who_acts_as_another_role_keeps_its_own_settings() {
    let fixture = Fixture::new();
    let mut root = fixture.connect();
    root.run("CREATE ROLE ann LOGIN; ALTER ROLE ann SET work_mem = '1MB'");
    for change in ["SET ROLE ann", "SET SESSION AUTHORIZATION ann"] {
        root.run(change);
        assert_eq!(shown(&mut root, "work_mem"), "4MB", "{change}");
    }
}

#[test]
fn kept_settings_outlive_the_server_and_new_names() {
    let folder = tempfile::tempdir().expect("a folder");
    {
        let fixture = Fixture::stored(folder.path());
        let mut root = fixture.connect();
        root.run("CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN");
        root.run("ALTER ROLE ann SET my.text = E'two\\nlines'; ALTER ROLE bob SET jit = on");
        root.run("CHECKPOINT");
        root.run("ALTER ROLE ann RENAME TO eve");
        root.run("ALTER DATABASE shareddb SET work_mem = '2MB'");
        root.run("DROP ROLE bob; CREATE ROLE bob LOGIN");
    }
    let fixture = Fixture::stored(folder.path());
    assert_eq!(begun(&fixture, "eve", "my.text"), "two\nlines");
    assert_eq!(begun(&fixture, "eve", "work_mem"), "2MB");
    assert_eq!(begun(&fixture, "bob", "jit"), "off");
}

#[test]
fn response_times_come_from_wherever_settings_do() {
    let fixture = Fixture::new();
    let response_time = "shareddb.response_time";
    let begun_with = |parameters: &[(&str, &str)]| {
        shown(&mut session(&fixture, "shareddb", parameters), response_time)
    };
    assert_eq!(begun_with(&[]), "0");
    assert_eq!(begun_with(&[("options", "-c shareddb.response_time=50ms")]), "50ms");
    assert_eq!(begun_with(&[("options", "-c shareddb.response_time=0.5")]), "500us");
    assert_eq!(begun_with(&[(response_time, "1.5s")]), "1500ms");
    fixture.connect().run("ALTER DATABASE shareddb SET shareddb.response_time = '20ms'");
    assert_eq!(begun_with(&[]), "20ms");
    assert_eq!(begun_with(&[(response_time, "0")]), "0");
    let mut raw = Raw::open(fixture.address);
    raw.startup(&[("user", "shareddb"), (response_time, "-1")]);
    assert_eq!(raw.until_closed().states(), ["22023"]);
}

#[test]
fn the_servers_response_time_is_what_nobody_has_said_otherwise() {
    let fixture = Fixture::answering_within(Duration::from_millis(50));
    let mut root = fixture.connect();
    let response_time = "shareddb.response_time";
    assert_eq!(shown(&mut root, response_time), "50ms");
    root.run("SET shareddb.response_time = 0");
    assert_eq!(shown(&mut root, response_time), "0");
    root.run("RESET ALL");
    assert_eq!(shown(&mut root, response_time), "50ms");
    root.run("ALTER ROLE ALL SET shareddb.response_time = 0");
    assert_eq!(begun(&fixture, "shareddb", response_time), "0");
}
