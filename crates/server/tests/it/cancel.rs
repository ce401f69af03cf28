//! Cancel requests, clients that vanish, clients that do not read.

use server::ServerOptions;

use crate::fixture::Fixture;
use crate::raw::{Message, Messages, Raw};
use crate::waiting::{eventually, joined};

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
fn a_cancel_never_hits_a_text_that_is_new() {
    let fixture = Fixture::new();
    let mut raw = fixture.with_rows(10);
    for n in 0..30 {
        cancel(&fixture, raw.key);
        raw.query(&format!("SELECT i AS a{n} FROM t; SELECT s AS b{n} FROM t"));
        assert_eq!(raw.until_ready().states(), [""; 0], "a script");
        cancel(&fixture, raw.key);
        raw.parse("", &format!("SELECT i AS c{n} FROM t"));
        raw.bind("", "", &[]);
        raw.execute("", 0);
        raw.sync();
        assert_eq!(raw.until_ready().states(), [""; 0], "the extended protocol");
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

/// A write that goes on until it is cancelled, and everybody else's behind it.
const LONG_WRITE: &str = "UPDATE t SET s = md5(repeat(s, 100000))";

/// Cancels a statement again and again until it is answered: the first time it may not have begun.
fn cancelled(fixture: &Fixture, mut raw: Raw) -> (Vec<Message>, Raw) {
    let key = raw.key;
    let answer = std::thread::spawn(move || (raw.until_ready(), raw));
    eventually("a cancelled statement is answered", || {
        cancel(fixture, key);
        answer.is_finished().then_some(())
    });
    joined("the answer", answer)
}

/// A table's indexes beside its primary key.
fn indexes(raw: &mut Raw) -> Vec<String> {
    raw.column("SELECT indexname FROM pg_indexes WHERE tablename = 't' AND indexname <> 't_pkey'")
}

#[test]
fn a_cancel_withdraws_an_index_that_waits_for_a_long_write() {
    let fixture = Fixture::new();
    let mut writer = fixture.with_rows(20_000);
    let mut raw = fixture.connect();
    writer.query(LONG_WRITE);
    writer.send();
    raw.query("CREATE INDEX early ON t (s)");
    let (answer, mut raw) = cancelled(&fixture, raw);
    // Whether it came before the write or behind it: it is there, or it has left nothing.
    let is_built = answer.states().is_empty();
    assert!(is_built || answer.states() == ["57014"], "{:?}", answer.states());
    let (written, _) = cancelled(&fixture, writer);
    assert_eq!(written.states(), ["57014"], "the write went on meanwhile");
    assert_eq!(indexes(&mut raw).len(), usize::from(is_built));
    raw.run("CREATE INDEX again ON t (s)");
}

#[test]
fn a_client_that_leaves_withdraws_its_index() {
    let options = ServerOptions { max_connections: 2, ..ServerOptions::default() };
    let fixture = Fixture::with(options);
    let mut writer = fixture.with_rows(20_000);
    writer.query(LONG_WRITE);
    writer.send();
    let mut leaves = fixture.connect();
    leaves.query("CREATE INDEX early ON t (s)");
    leaves.send();
    drop(leaves);
    // Its seat is free when its statement has ended, though the write goes on.
    let mut raw = eventually("it has left", || {
        let mut raw = Raw::open(fixture.address);
        raw.startup(&[("user", "shareddb"), ("database", "shareddb")]);
        (raw.read().tag == b'R').then_some(raw)
    });
    raw.until_ready();
    let (written, _) = cancelled(&fixture, writer);
    assert_eq!(written.states(), ["57014"], "the write went on meanwhile");
    raw.run("CREATE INDEX again ON t (s)");
}

/// Statements that wait for a lock.
const WAITERS: [&str; 7] = [
    "UPDATE t SET s = 'y' WHERE i = 1",
    "DELETE FROM t USING t u WHERE t.i = u.i AND u.i = 1",
    "UPDATE t SET s = 'y' WHERE i = (SELECT min(i) + 1 FROM t)",
    "SELECT * FROM t WHERE i = 1 FOR UPDATE",
    "WITH one AS (SELECT i FROM t WHERE i = 1 FOR UPDATE) SELECT * FROM one",
    "INSERT INTO t VALUES (100, 'z')",
    "COPY t FROM STDIN",
];

#[test]
fn a_client_that_leaves_gives_up_its_wait_for_a_lock() {
    let fixture = Fixture::new();
    let mut holder = fixture.with_rows(10);
    let mut other = fixture.connect();
    holder.run("BEGIN; UPDATE t SET s = 'x' WHERE i = 1; INSERT INTO t VALUES (100, 'x')");
    for is_block in [false, true] {
        for text in WAITERS {
            let mut waits = fixture.connect();
            if is_block {
                waits.run("BEGIN; UPDATE t SET s = 'w' WHERE i = 2");
            }
            waits.query(text);
            if text.starts_with("COPY") {
                waits.pass_to(b'G');
                waits.message(b'd', b"100\tz\n");
                waits.message(b'c', b"");
            }
            waits.send();
            eventually(text, || (fixture.waiting_for_locks() == 1).then_some(()));
            drop(waits);
            eventually(text, || (fixture.waiting_for_locks() == 0).then_some(()));
            // What it had is free, though what it waited for is not.
            other.run("UPDATE t SET s = 'v' WHERE i = 2");
        }
    }
    holder.run("COMMIT");
    assert_eq!(other.column("SELECT s FROM t WHERE i IN (1, 2, 100) ORDER BY i"), ["x", "v", "x"]);
}

#[test]
fn a_client_that_leaves_behind_a_long_pipeline_ends_its_statement() {
    let options = ServerOptions { max_connections: 1, ..ServerOptions::default() };
    let fixture = Fixture::with(options);
    let mut leaves = fixture.connect();
    leaves.query("SELECT count(*) FROM generate_series(1, 100000000000)");
    // More than is read ahead, but no more than the system takes beside it: its end has come.
    leaves.query(&format!("SELECT '{}'", "x".repeat(90_000)));
    leaves.send();
    drop(leaves);
    eventually("its seat is free", || {
        let mut raw = Raw::open(fixture.address);
        raw.startup(&[("user", "shareddb"), ("database", "shareddb")]);
        (raw.read().tag == b'R').then_some(())
    });
}
