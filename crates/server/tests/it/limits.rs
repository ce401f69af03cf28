//! How many may come in, and how all are sent away.

use std::time::Duration;

use server::ServerOptions;

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};
use crate::waiting::eventually;

#[test]
fn one_connection_too_many_is_told_so() {
    let fixture = Fixture::with(ServerOptions { max_connections: 2, ..ServerOptions::default() });
    let first = fixture.connect();
    let _second = fixture.connect();
    let mut third = Raw::open(fixture.address);
    third.startup(&[("user", "shareddb")]);
    assert_eq!(third.until_closed().states(), ["53300"]);
    drop(first);
    eventually("a seat that was left is free", || {
        let mut again = Raw::open(fixture.address);
        again.startup(&[("user", "shareddb")]);
        (again.read().tag == b'R').then_some(())
    });
}

#[test]
fn silent_sockets_keep_nobody_out() {
    let fixture = Fixture::with(ServerOptions { max_connections: 2, ..ServerOptions::default() });
    let mut silent: Vec<Raw> = (0..400).map(|_| Raw::open(fixture.address)).collect();
    fixture.connect().run("SELECT 1");
    assert_eq!(silent[0].until_closed().states(), ["53300"]);
}

#[test]
fn a_statement_ends_when_the_server_stops() {
    let mut fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.query("SELECT count(*) FROM generate_series(1, 100000000000)");
    raw.send();
    // So that it has most likely begun: where it has not, the same is told.
    std::thread::sleep(Duration::from_millis(200));
    fixture.stop();
    assert_eq!(raw.until_closed().states(), ["57P01"]);
    fixture.wait();
}

#[test]
fn when_the_server_stops_everybody_is_told() {
    let mut fixture = Fixture::new();
    let mut idle = fixture.connect();
    let mut open = fixture.connect();
    open.run("BEGIN");
    fixture.stop();
    assert_eq!(idle.until_closed().states(), ["57P01"]);
    assert_eq!(open.until_closed().states(), ["57P01"]);
    fixture.wait();
}

#[test]
fn a_client_that_does_not_read_does_not_stop_the_stop() {
    let grace = Duration::from_millis(300);
    let mut fixture = Fixture::with(ServerOptions { grace, ..ServerOptions::default() });
    let mut raw = fixture.with_rows(1_500);
    raw.query("SELECT a.i, b.i, a.s, b.s FROM t a, t b");
    raw.pass_to(b'D');
    fixture.stop();
    fixture.wait();
}
