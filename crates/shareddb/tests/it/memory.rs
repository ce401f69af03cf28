//! `--memory`: what grows without end gets 53200, nobody else notices, and the process stays below its limit.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use workloads::client::{Client, Failure, PostgresClient};

use crate::server::Server;
use crate::turns;
use crate::waiting::{HANG, eventually, joined};

/// What the server may take.
const LIMIT: &str = "512MiB";
const LIMIT_KILOBYTES: u64 = 512 << 10;

/// What is measured of it, on a machine that does nothing else.
#[derive(Clone, Copy)]
struct Measured {
    /// Whether the process has to stay below its limit at any moment.
    peak: bool,
    /// How long somebody beside may wait for a row by its key: the program under test is not optimized.
    patience: Duration,
}

/// Only what hangs fails.
const NOTHING: Measured = Measured { peak: false, patience: HANG };
const ALL: Measured = Measured { peak: true, patience: Duration::from_secs(5) };

const OUT_OF_MEMORY: &str = "53200";

fn server() -> Server {
    let server = Server::start_with(None, &["--memory", LIMIT]);
    let mut client = server.connect().expect("it serves");
    run(&mut client, "CREATE TABLE t (a int PRIMARY KEY, b int, s text)");
    run(&mut client, "INSERT INTO t SELECT g, g, 'text ' || g FROM generate_series(1, 30000) g");
    run(&mut client, "CREATE TABLE w (a int, s text)");
    server
}

fn run(client: &mut PostgresClient, statement: &str) {
    client.run(statement).unwrap_or_else(|failure| panic!("{statement}: {failure}"));
}

/// Whoever asks for a row by its key all the while, and is answered.
struct Canary {
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<Duration>>,
}

impl Canary {
    fn beside(server: &Server) -> Canary {
        let mut client = server.connect().expect("it serves");
        let stop = Arc::new(AtomicBool::new(false));
        let answers = Arc::<AtomicUsize>::default();
        let (stopped, answered) = (stop.clone(), answers.clone());
        let thread = std::thread::spawn(move || {
            let statement = client.prepare("SELECT b FROM t WHERE a = 77").expect("prepare");
            let mut longest = Duration::ZERO;
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                let rows = client.execute(statement, &[]).expect("nobody else notices");
                assert_eq!(rows.integer(0, 0), 77);
                longest = longest.max(began.elapsed());
                answered.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
            longest
        });
        Canary { stop, answers, thread: Some(thread) }
    }

    /// Waits until it has been answered so many times more.
    fn is_answered(&self, times: usize) {
        let before = self.answers.load(Ordering::Relaxed);
        let is_answered = || self.answers.load(Ordering::Relaxed) >= before + times;
        eventually("somebody beside is answered", || is_answered().then_some(()));
    }

    fn end(mut self, patience: Duration) {
        self.stop.store(true, Ordering::Relaxed);
        let longest = joined("a row for somebody beside", self.thread.take().expect("it runs"));
        assert!(longest < patience, "somebody beside waited {longest:?}");
    }
}

/// The highest resident size that the process has had, in kilobytes.
fn peak(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

fn check(server: &Server, canary: Canary, measured: Measured) {
    canary.end(measured.patience);
    let peak = peak(server);
    println!("peak: {} MiB", peak >> 10);
    assert!(!measured.peak || peak < LIMIT_KILOBYTES, "the process has taken {peak} kB");
}

fn refused(client: &mut PostgresClient, statement: &str) -> Failure {
    let began = Instant::now();
    let failure = client.run(statement).expect_err(statement);
    assert_eq!(failure.state, OUT_OF_MEMORY, "{statement}: {failure}");
    println!("{:?}: {statement}", began.elapsed());
    failure
}

#[test]
fn statements_that_grow_without_end_are_refused_and_nobody_else_notices() {
    let _turn = turns::alone();
    grow_without_end(NOTHING);
}

fn grow_without_end(measured: Measured) {
    let server = server();
    let canary = Canary::beside(&server);
    let mut client = server.connect().expect("it serves");
    // Each doubles what is inside.
    let quoted = nested(60, "quote_literal({})", "''''");
    let encoded = nested(60, "encode({}::bytea, 'hex')", "'ab'");
    let doubled = [quoted, encoded].map(|text| format!("SELECT length({text})"));
    for statement in doubled.iter().map(String::as_str).chain([
        "SELECT length(repeat('x', 1000000000))",
        "SELECT length(regexp_replace(repeat('a', 1000000), 'a', repeat('b', 5000), 'g'))",
        "WITH RECURSIVE r(s, n) AS (SELECT 'x'::text, 1 UNION ALL SELECT s || s, n + 1 FROM r \
         WHERE n < 40) SELECT max(length(s)) FROM r",
        "SELECT array_length(ARRAY(SELECT generate_series(1, 50000000)), 1)",
        "SELECT x.a * y.a, count(*) FROM t x, t y GROUP BY 1",
        "SELECT sum(length(format('%s %s %s %s', r, r, r, r))) \
         FROM (SELECT repeat(s, 300000) AS r FROM t WHERE a <= 60) q",
        "SELECT length(string_agg(x.s || y.s, ',')) FROM t x, t y",
        "SELECT x.s, string_agg(y.s, ',') FROM t x, t y GROUP BY x.s",
    ]) {
        refused(&mut client, statement);
        eventually("the session goes on", || is_taken(&mut client, "SELECT 1").then_some(()));
    }
    check(&server, canary, measured);
}

/// Something within itself so many times; `{}` stands for what is inside.
fn nested(times: usize, around: &str, innermost: &str) -> String {
    (0..times).fold(innermost.to_owned(), |inner, _| around.replace("{}", &inner))
}

/// What is nested forty times within itself; `{}` stands for what is inside.
const NESTED: [&str; 12] = [
    "coalesce({}, 1)",
    "coalesce({}, 10 / b)",
    "coalesce(nullif(b, 1), {})",
    "coalesce(nullif({} + 1, 2), 3)",
    "nullif({}, 4)",
    "CASE WHEN a = 1 THEN 2 ELSE {} END",
    "CASE WHEN a <> 1 THEN {} ELSE 2 END",
    "CASE WHEN {} = 1 THEN 2 ELSE 3 END",
    "CASE {} WHEN 1 THEN 2 ELSE b END",
    "abs(CASE WHEN a <> 1 THEN {} + 1 END)",
    "length(replace({}::text, 'a', 'b'))",
    "((({})))",
];

/// A plan may take less than a hundred megabytes of so much: more would be 53200.
#[test]
fn what_is_nested_is_planned_in_little_memory() {
    let _turn = turns::alone();
    let server = server();
    let canary = Canary::beside(&server);
    let mut client = server.connect().expect("it serves");
    for around in NESTED {
        let nested = nested(40, around, "a");
        run(&mut client, &format!("SELECT sum({nested}), max(a) FROM t WHERE {nested} > 0"));
    }
    check(&server, canary, NOTHING);
}

#[test]
fn changes_cursors_and_tables_that_grow_without_end_are_refused() {
    let _turn = turns::alone();
    change_without_end(NOTHING);
}

fn change_without_end(measured: Measured) {
    let server = server();
    let canary = Canary::beside(&server);
    let mut client = server.connect().expect("it serves");
    let endless = "SELECT g, repeat('y', 300) FROM generate_series(1, 100000000) g";
    run(&mut client, "BEGIN");
    refused(&mut client, &format!("INSERT INTO w {endless}"));
    run(&mut client, "ROLLBACK");
    refused(&mut client, &format!("INSERT INTO w {endless}"));
    run(&mut client, "BEGIN");
    run(&mut client, &format!("DECLARE c SCROLL CURSOR FOR {endless}"));
    refused(&mut client, "MOVE 50000000 FROM c");
    run(&mut client, "ROLLBACK");
    refused(&mut client, &format!("DECLARE c CURSOR WITH HOLD FOR {endless}"));
    run(&mut client, "BEGIN");
    run(&mut client, "DECLARE c CURSOR FOR SELECT g FROM generate_series(1, 100000000) g");
    run(&mut client, "MOVE 500000 FROM c");
    run(&mut client, "COMMIT");
    fill(&mut client);
    check(&server, canary, measured);
}

/// Tables grow until they have no room; then rows can be read and deleted, and there is room again.
fn fill(client: &mut PostgresClient) {
    // No two texts are the same: those would be kept once.
    let add = |i: u32| {
        let text = format!("repeat(md5(({i} * 2000 + g)::text), 100)");
        format!("INSERT INTO w SELECT g, {text} FROM generate_series(1, 2000) g")
    };
    let full = (0..1000).find_map(|i| client.run(&add(i)).err()).expect("it is full one day");
    assert_eq!(full.state, OUT_OF_MEMORY, "{full}");
    run(client, "SELECT count(*) FROM w");
    run(client, "DELETE FROM w WHERE a < 100");
    run(client, "TRUNCATE w");
    eventually("there is room again", || is_taken(client, &add(1000)).then_some(()));
}

/// Whether a statement succeeds; there may be no memory for it.
fn is_taken(client: &mut PostgresClient, statement: &str) -> bool {
    let failure = client.run(statement).err();
    assert!(failure.iter().all(|failure| failure.state == OUT_OF_MEMORY), "{failure:?}");
    failure.is_none()
}

#[test]
fn statements_that_are_prepared_without_end_are_refused_and_those_forgotten_make_room() {
    let _turn = turns::alone();
    prepare_without_end(NOTHING);
}

fn prepare_without_end(measured: Measured) {
    let server = server();
    let canary = Canary::beside(&server);
    let mut sessions: Vec<PostgresClient> =
        (0..4).map(|_| server.connect().expect("it serves")).collect();
    let list = (0..150).map(|i| format!("a AS c{i}")).collect::<Vec<_>>().join(", ");
    let mut prepared = 0;
    let full = loop {
        let client = &mut sessions[prepared % 4];
        // Texts that differ in more than their literals.
        let text = format!("PREPARE p{prepared} AS SELECT {list}, a AS d{prepared} FROM t");
        match client.run(&text) {
            Ok(_) => prepared += 1,
            Err(failure) => break failure,
        }
        assert!(prepared < 5_000, "nobody counts them");
    };
    assert_eq!(full.state, OUT_OF_MEMORY, "{full}");
    assert!(prepared > 8, "only {prepared} were kept");
    run(&mut sessions[0], "EXECUTE p0");
    run(&mut sessions[0], "SELECT a + 1 FROM t WHERE a = 5");
    run(&mut sessions[0], "DEALLOCATE ALL");
    run(&mut sessions[0], &format!("PREPARE again AS SELECT {list}, a AS again FROM t"));
    check(&server, canary, measured);
}

/// A connection that sends what it is told to.
fn raw(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).expect("it serves");
    stream.set_read_timeout(Some(HANG)).expect("a socket");
    stream.set_write_timeout(Some(HANG)).expect("a socket");
    let body = b"user\0shareddb\0database\0shareddb\0\0";
    let length = (body.len() + 8) as u32;
    let head = [length.to_be_bytes(), 196_608_u32.to_be_bytes()].concat();
    stream.write_all(&[&head[..], body].concat()).expect("it listens");
    until_ready(&mut stream);
    stream
}

/// The messages up to ReadyForQuery, by their kinds and what stands in them.
fn until_ready(stream: &mut TcpStream) -> Vec<(u8, Vec<u8>)> {
    let mut messages = Vec::new();
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).expect("an answer");
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("an answer");
        messages.push((head[0], body));
        if head[0] == b'Z' {
            return messages;
        }
    }
}

fn query_head(bytes: u32) -> [u8; 5] {
    let [a, b, c, d] = (bytes + 4).to_be_bytes();
    [b'Q', a, b, c, d]
}

#[test]
fn messages_that_do_not_fit_are_passed_over_and_answers_that_nobody_reads_go() {
    let _turn = turns::alone();
    send_too_much_and_read_nothing(NOTHING);
}

fn send_too_much_and_read_nothing(measured: Measured) {
    let server = server();
    let canary = Canary::beside(&server);
    let megabyte = vec![b' '; 1 << 20];
    let mut unfinished: Vec<TcpStream> = (0..24).map(|_| raw(&server)).collect();
    for stream in &mut unfinished {
        stream.write_all(&query_head(300 << 20)).expect("it listens");
    }
    for _ in 0..30 {
        unfinished.iter_mut().for_each(|one| one.write_all(&megabyte).expect("it reads on"));
    }
    drop(unfinished);
    let mut large = raw(&server);
    large.write_all(&query_head(200 << 20)).expect("it listens");
    (0..200).for_each(|_| large.write_all(&megabyte).expect("it reads on"));
    let answer = until_ready(&mut large);
    let error = answer.iter().find(|(kind, _)| *kind == b'E').expect("refused");
    let code = format!("C{OUT_OF_MEMORY}\0").into_bytes();
    assert!(error.1.windows(code.len()).any(|window| *window == code));
    large.write_all(&query_head(9)).expect("it listens");
    large.write_all(b"SELECT 1\0").expect("it listens");
    assert!(until_ready(&mut large).iter().any(|(kind, _)| *kind == b'D'), "it goes on");
    // A hundred megabytes each.
    let text = b"SELECT repeat(s, 16000000) FROM t WHERE a = 1\0";
    let mut silent: Vec<TcpStream> = (0..60).map(|_| raw(&server)).collect();
    for stream in &mut silent {
        stream.write_all(&query_head(text.len() as u32)).expect("it listens");
        stream.write_all(text).expect("it listens");
    }
    canary.is_answered(200);
    drop(silent);
    check(&server, canary, measured);
}

#[test]
#[ignore = "soak: measures the process's memory, and how long others wait"]
fn the_process_stays_below_its_limit() {
    let _turn = turns::alone();
    for grow in
        [grow_without_end, change_without_end, prepare_without_end, send_too_much_and_read_nothing]
    {
        grow(ALL);
    }
}
