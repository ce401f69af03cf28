//! Whatever runs ends, by cancel, its time, its client's leaving or the server's stop; and nobody else waits for it
//! meanwhile.
//!
//! A table of statements that never end by themselves, each ended in one way, in turns. Beside them a canary asks for one row
//! again and again. When a statement has ended the process becomes quiet: its work is over, too. How soon all that is, is
//! measured by the soak, on a machine that does nothing else. `SHAREDDB_ENDING` names families to end in all ways (part of
//! their text; nothing for all), and prints what each took.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::server::Server;
use crate::turns;
use crate::waiting::{HANG, eventually, joined};

/// How long things may take.
#[derive(Clone, Copy)]
struct Limits {
    /// A statement after its end was asked for.
    end: Duration,
    /// A row for the canary.
    canary: Duration,
    /// What was begun for a statement, after its end.
    quiet: Duration,
}

/// Only what never ends takes longer.
const ENDS: Limits = Limits { end: HANG, canary: HANG, quiet: HANG };
/// On a machine that does nothing else.
const SOON: Limits = Limits {
    end: Duration::from_secs(4),
    canary: Duration::from_secs(2),
    quiet: Duration::from_millis(500),
};

/// The process is quiet where it computes no more than so much in so long.
const QUIET: (Duration, Duration) = (Duration::from_millis(120), Duration::from_millis(200));

/// Runs before all.
const SET_UP: &str = "CREATE TABLE t (a int primary key, b int, s text);
    INSERT INTO t SELECT g, g % 100, 'text ' || g FROM generate_series(1, 30000) g;
    CREATE TABLE kept (a bigint);
    CREATE TABLE child (a int references t (a))";

/// Statements that go on and on, each in a session of its own.
const FAMILIES: &[&str] = &[
    "SELECT count(*) FROM generate_series(1, 100000000000)",
    "SELECT g, g + 1 FROM generate_series(1, 1000000000000::bigint) g",
    "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b WHERE a % 7 = b % 11",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n FROM r) SELECT count(*) FROM r",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100000000) SELECT max(n) FROM r",
    "SELECT sum((SELECT count(*) FROM t i WHERE i.a < o.a + i.b)) FROM t o",
    "UPDATE t SET b = t.b + x.a FROM t x, t y WHERE t.a < x.a + y.a AND t.s <> x.s || y.s",
    "UPDATE t SET b = (SELECT count(*) FROM t x WHERE x.a <= t.a)",
    "DELETE FROM t USING t u, t v WHERE t.a = u.a AND u.a + v.a < 0",
    "SELECT x.a + y.a FROM t x, t y EXCEPT SELECT x.a - y.a FROM t x, t y",
    "SELECT count(*) FROM t x, t y WHERE repeat(x.s, 50000) LIKE '%q%x%t%zz'",
    "SELECT count(*) FROM t WHERE repeat(s, 50000) LIKE '%q%x%t%zz'",
    "SELECT sum(length(regexp_replace(repeat(s, 20000), 't.*?e', 'x', 'g'))) FROM t",
    "SELECT count(*) FROM t WHERE repeat(s, 50000) SIMILAR TO '(%x|%y)+zz'",
    r"SELECT count(*) FROM t WHERE repeat(s, 100) ~ '(t+)(.*)(.*)\2\3\1z'",
    "SELECT count(md5(repeat(s, 30000))) FROM t",
    "SELECT count(position('zz' in repeat(s, 50000))) FROM t",
    "SELECT cardinality(array_agg(x.a + y.a)) FROM t x, t y GROUP BY x.b + y.b",
    "SELECT string_agg(x.s || y.s, ',') FROM t x, t y WHERE x.a + y.a < 0",
    "SELECT count(*) FROM (SELECT row_number() OVER () r, x.a + y.a c FROM t x, t y) q WHERE r < 0 AND c < 0",
    "SELECT count(*), sum(b), x.s FROM t x, generate_series(1, 100000) g GROUP BY x.s",
    "SELECT a % 2, b % 3, a % 5, a % 7, a % 11, a % 13, b % 7, b % 11, count(*) FROM t \
     GROUP BY CUBE (a % 2, b % 3, a % 5, a % 7, a % 11, a % 13, b % 7, b % 11, a % 17, a % 19, a % 23, a % 29)",
    "DECLARE c CURSOR WITH HOLD FOR SELECT x.a FROM t x, t y",
    "BEGIN; DECLARE c SCROLL CURSOR FOR SELECT x.a + y.a FROM t x, t y; MOVE ALL IN c",
    "BEGIN; UPDATE t SET b = b + 1 WHERE a < 100; SELECT count(*) FROM t x, t y WHERE x.s < y.s || 'x'",
    "BEGIN; INSERT INTO kept SELECT x.a FROM t x, t y WHERE x.a + y.a < 0",
    "INSERT INTO kept SELECT x.a FROM t x, t y WHERE x.a + y.a < 0",
    "CREATE TABLE made AS SELECT x.a FROM t x, t y WHERE x.a + y.a < 0",
    "COPY (SELECT x.a, y.a FROM t x, t y WHERE x.a + y.a < 0) TO STDOUT",
    "EXPLAIN ANALYZE SELECT count(*) FROM t x, t y WHERE x.s || 'a' < y.s",
    "SELECT x.s || y.s FROM t x, t y ORDER BY 1",
    "SELECT count(DISTINCT x.a * y.a) FROM t x, t y",
    "ALTER TABLE t ALTER b TYPE text USING md5(repeat(b::text, 100000))",
    "UPDATE t SET s = md5(repeat(s, 30000))",
    "BEGIN; UPDATE t SET s = md5(repeat(s, 30000))",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Cancel,
    Timeout,
    Leave,
    Stop,
}

/// A client that speaks only what is needed here.
struct Client {
    stream: TcpStream,
    key: (u32, u32),
}

impl Client {
    fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(HANG)).expect("a socket");
        stream.set_write_timeout(Some(HANG)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        let mut client = Client { stream, key: (0, 0) };
        let mut packet = (3u32 << 16).to_be_bytes().to_vec();
        packet.extend(b"user\0shareddb\0database\0shareddb\0\0");
        client.send(&[], &packet);
        while let Some((tag, body)) = client.read() {
            match tag {
                b'K' => client.key = (number(&body[..4]), number(&body[4..])),
                b'Z' => return client,
                _ => {}
            }
        }
        panic!("it was not let in");
    }

    fn send(&mut self, tag: &[u8], body: &[u8]) {
        let mut message = tag.to_vec();
        message.extend((body.len() as u32 + 4).to_be_bytes());
        message.extend(body);
        self.stream.write_all(&message).expect("it is there");
    }

    fn query(&mut self, text: &str) {
        self.send(b"Q", &[text.as_bytes(), b"\0"].concat());
    }

    /// `None` at the end of the connection.
    fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let mut body = vec![0; number(&head[1..]) as usize - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    /// Reads until the statement has ended; gives the last SQLSTATE.
    fn ended(&mut self) -> Option<String> {
        let mut state = None;
        while let Some((tag, body)) = self.read() {
            match tag {
                b'E' => {
                    let mut fields = body.split(|byte| *byte == 0);
                    let code = fields.find(|field| field.first() == Some(&b'C'));
                    state = code.map(|code| String::from_utf8_lossy(&code[1..]).into_owned());
                }
                b'Z' => break,
                _ => {}
            }
        }
        state
    }

    fn run(&mut self, text: &str) -> Option<String> {
        self.query(text);
        self.ended()
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes"))
}

fn cancel(address: SocketAddr, (process, secret): (u32, u32)) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let numbers = [16, 80_877_102, process, secret];
    let packet: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    stream.write_all(&packet).expect("it is there");
}

/// Somebody else, who asks for one row again and again.
struct Canary {
    ends: Arc<AtomicBool>,
    worst: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Canary {
    fn start(address: SocketAddr) -> Canary {
        let (ends, worst) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (ended, longest) = (ends.clone(), worst.clone());
        let thread = std::thread::spawn(move || {
            let mut client = Client::connect(address);
            while !ended.load(Ordering::Relaxed) {
                let began = Instant::now();
                assert_eq!(client.run("SELECT 1"), None, "the canary is answered");
                longest.fetch_max(began.elapsed().as_micros() as u64, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        Canary { ends, worst, thread: Some(thread) }
    }

    /// The longest wait.
    fn stop(mut self) -> Duration {
        self.ends.store(true, Ordering::Relaxed);
        joined("the canary's row", self.thread.take().expect("it runs"));
        Duration::from_micros(self.worst.load(Ordering::Relaxed))
    }
}

/// What a process has computed so far.
fn computed(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let behind = stat.rsplit(')').next().expect("its name is in parentheses");
    let ticks: u64 =
        behind.split_whitespace().skip(11).take(2).map(|n| n.parse::<u64>().expect("ticks")).sum();
    Duration::from_millis(ticks * 10)
}

/// What one family took in one way.
struct Took {
    end: Duration,
    canary: Duration,
    /// Until the process was quiet.
    after: Duration,
    state: Option<String>,
}

/// What the process has computed before a statement is ended: it has begun.
const BEGUN: Duration = Duration::from_millis(150);
const TIMEOUT: Duration = Duration::from_millis(400);

fn wait_until_begun(server: &Server, before: Duration) {
    eventually("the statement runs", || (computed(server.id()) > before + BEGUN).then_some(()));
}

/// How long it takes until the process is quiet.
fn becomes_quiet(server: &Server) -> Duration {
    let (busy, long) = QUIET;
    let began = Instant::now();
    eventually("the process becomes quiet", || {
        let (before, took) = (computed(server.id()), began.elapsed());
        std::thread::sleep(long);
        (computed(server.id()) - before <= busy).then_some(took)
    })
}

fn end(server: &Server, text: &str, way: Way) -> Took {
    let canary = Canary::start(server.address);
    let mut client = Client::connect(server.address);
    let texts: Vec<&str> = text.split("; ").collect();
    let (last, first) = texts.split_last().expect("a statement");
    first.iter().for_each(|text| drop(client.run(text)));
    if way == Way::Timeout {
        client.run(&format!("SET statement_timeout = {}", TIMEOUT.as_millis()));
    }
    let before = computed(server.id());
    let mut asked = Instant::now() + TIMEOUT;
    client.query(last);
    let mut reader = Client { stream: client.stream.try_clone().expect("a socket"), key: (0, 0) };
    let reads = std::thread::spawn(move || (reader.ended(), Instant::now()));
    if way != Way::Timeout {
        wait_until_begun(server, before);
        asked = Instant::now();
    }
    match way {
        Way::Cancel => cancel(server.address, client.key),
        Way::Timeout => {}
        _ => client.stream.shutdown(std::net::Shutdown::Both).expect("a socket"),
    }
    let (state, ended) = joined(text, reads);
    drop(client);
    let end = ended.saturating_duration_since(asked);
    let canary = canary.stop();
    Took { end, canary, after: becomes_quiet(server), state }
}

/// The server is asked to stop while the statement runs.
fn stop(text: &str) -> Duration {
    let mut server = set_up();
    let mut client = Client::connect(server.address);
    let before = computed(server.id());
    text.split("; ").for_each(|text| client.query(text));
    wait_until_begun(&server, before);
    let began = Instant::now();
    server.terminate();
    began.elapsed()
}

fn set_up() -> Server {
    let server = Server::start_with(None, &["--batch-memory", "512"]);
    let mut client = Client::connect(server.address);
    for text in SET_UP.split(';') {
        assert_eq!(client.run(text), None, "{text}");
    }
    server
}

/// What is wrong with how a family ended.
fn faults(way: Way, took: &Took, limits: Limits) -> Vec<String> {
    let mut faults = Vec::new();
    if took.end > limits.end {
        faults.push(format!("went on for {:?}", took.end));
    }
    if took.canary > limits.canary {
        faults.push(format!("the canary waited {:?}", took.canary));
    }
    if took.after > limits.quiet {
        faults.push(format!("computed for {:?} afterwards", took.after));
    }
    if way != Way::Leave && took.state.as_deref() != Some("57014") {
        faults.push(format!("ended with {:?}", took.state));
    }
    faults
}

fn wanted() -> (Vec<&'static str>, bool) {
    let named = std::env::var("SHAREDDB_ENDING").ok();
    let is_named = |text: &&str| named.as_ref().is_none_or(|named| text.contains(named.as_str()));
    (FAMILIES.iter().copied().filter(is_named).collect(), named.is_some())
}

#[test]
fn whatever_runs_ends_and_nobody_waits() {
    let _turn = turns::alone();
    end_all(ENDS);
}

#[test]
#[ignore = "soak: measures how soon statements end"]
fn whatever_runs_ends_soon_and_nobody_waits_long() {
    let _turn = turns::alone();
    end_all(SOON);
}

fn end_all(limits: Limits) {
    let (families, tells) = wanted();
    let mut fallen = Vec::new();
    let server = set_up();
    let ways = [Way::Cancel, Way::Timeout, Way::Leave];
    for (number, text) in families.into_iter().enumerate() {
        let one = number % ways.len();
        for way in if tells { ways.to_vec() } else { vec![ways[one]] } {
            let took = end(&server, text, way);
            let faults = faults(way, &took, limits);
            if tells {
                let Took { end, canary, after, .. } = &took;
                eprintln!(
                    "{way:?} {end:.0?}, canary {canary:.1?}, after {after:.0?} {faults:?}: {text}"
                );
            }
            fallen.extend(faults.iter().map(|fault| format!("{way:?}: {fault}: {text}")));
        }
    }
    assert!(fallen.is_empty(), "{} fall:\n{}", fallen.len(), fallen.join("\n"));
}

#[test]
fn whatever_runs_ends_when_the_server_stops() {
    let _turn = turns::alone();
    stop_all(HANG);
}

#[test]
#[ignore = "soak: measures how soon a server stops"]
fn whatever_runs_ends_soon_when_the_server_stops() {
    let _turn = turns::alone();
    stop_all(2 * SOON.end);
}

fn stop_all(limit: Duration) {
    let (families, tells) = wanted();
    let step = if tells { 1 } else { 5 };
    let mut fallen = Vec::new();
    for text in families.iter().step_by(step) {
        let took = stop(text);
        if tells {
            eprintln!("{:?} {took:.0?}: {text}", Way::Stop);
        }
        if took > limit {
            fallen.push(format!("{took:?}: {text}"));
        }
    }
    assert!(fallen.is_empty(), "{} fall:\n{}", fallen.len(), fallen.join("\n"));
}
