//! Cancel requests, clients that vanish, clients that do not read.

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};

/// Sends a cancel request and waits until the server has dealt with it.
pub fn cancel(fixture: &Fixture, (process, secret): (i32, u32)) {
    let mut raw = Raw::open(fixture.address);
    let mut packet = 80_877_102u32.to_be_bytes().to_vec();
    packet.extend(process.to_be_bytes());
    packet.extend(secret.to_be_bytes());
    raw.packet(&packet);
    assert_eq!(raw.until_closed(), [], "a cancel request is not answered");
}

/// A query whose rows fill any socket buffer.
const LARGE: &str = "SELECT a.i, b.i, a.s, b.s FROM t a, t b";

#[test]
fn a_cancel_ends_a_query_whose_client_does_not_read() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1_500);
    raw.query(LARGE);
    raw.pass_to(b'D');
    cancel(&fixture, raw.key);
    let messages = raw.until_ready();
    assert_eq!(messages.states(), ["57014"]);
    assert!(messages.rows().len() < 1_500 * 1_500, "it was not finished");
    raw.run("SELECT 1");
}

#[test]
fn time_ends_rows_that_stream() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.run("SET statement_timeout = 200");
    raw.query("SELECT g, g + 1 FROM generate_series(1, 1000000000000::bigint) g");
    assert_eq!(raw.until_ready().states(), ["57014"]);
    raw.run("SELECT 1");
}

/// A join and a grouping of all pairs.
const GROUPS: &str =
    "SELECT a.i % 7, count(*), sum(a.i * b.i) FROM t a JOIN t b ON a.i % 50 = b.i % 50";

#[test]
fn a_cancel_takes_nothing_from_neighbours() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(3_000);
    let filter = |least: i32| format!("{GROUPS} WHERE a.i > {least} GROUP BY 1 ORDER BY 1");
    raw.run(&filter(0));
    let mut waiting: Vec<Raw> = (0..8).map(|_| fixture.connect()).collect();
    let held = fixture.held_back(waiting.len(), || {
        for (client, least) in waiting.iter_mut().zip(0..) {
            client.run("SET shareddb.path = global");
            client.query(&filter(least));
            client.send();
        }
    });
    cancel(&fixture, waiting[7].key);
    drop(held);
    assert_eq!(waiting[7].until_ready().states(), ["57014"]);
    waiting[7].run("SELECT 1");
    for (mut client, least) in waiting.into_iter().take(7).zip(0..) {
        let answer = client.until_ready();
        raw.query(&filter(least));
        assert_eq!(answer, raw.until_ready());
    }
}

#[test]
fn a_cancel_never_hits_the_next_statement() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(10);
    for _ in 0..100 {
        raw.run("SELECT count(*) FROM t");
        cancel(&fixture, raw.key);
        raw.run("SELECT count(*) FROM t");
    }
}

#[test]
fn a_wrong_key_is_ignored() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1_500);
    raw.query(LARGE);
    raw.send();
    cancel(&fixture, (raw.key.0, raw.key.1 ^ 1));
    cancel(&fixture, (raw.key.0 + 1, raw.key.1));
    assert_eq!(raw.until_ready().states(), [""; 0]);
}

#[test]
fn a_cancel_ends_a_copy_that_waits_for_data() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(0);
    raw.query("COPY t FROM STDIN");
    assert_eq!(raw.read().tag, b'G');
    raw.message(b'd', b"1\ta\n");
    raw.send();
    cancel(&fixture, raw.key);
    assert_eq!(raw.until_ready().states(), ["57014"]);
    assert_eq!(raw.column("SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn clients_that_stop_reading_hold_up_nobody() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1_000);
    let mut stopped: Vec<Raw> = (0..6).map(|_| fixture.connect()).collect();
    for client in &mut stopped {
        client.query(LARGE);
        client.pass_to(b'D');
    }
    for i in 0..50 {
        raw.run(&format!("SELECT s FROM t WHERE i = {i}"));
    }
}

#[test]
fn a_client_that_vanishes_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(1);
    // Each is answered by a message of this kind as soon as it is under way.
    let scripts = [
        ("BEGIN; INSERT INTO t VALUES (77, 'x')", b'Z'),
        ("COPY t FROM STDIN", b'G'),
        (LARGE, b'D'),
    ];
    for (script, begun) in scripts {
        let mut other = fixture.connect();
        other.query(script);
        other.pass_to(begun);
    }
    assert_eq!(raw.column("SELECT count(*) FROM t WHERE i = 77"), ["0"]);
    // It waits until the block has gone.
    raw.run("INSERT INTO t VALUES (77, 'y')");
}
