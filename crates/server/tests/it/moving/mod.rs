//! Data and definitions that change beside clients who ask, cancel and vanish: whatever is answered holds of one moment.
//!
//! Money moves between accounts, accounts move between branches and are closed for others, entries say what has moved.
//! Every question (`questions`) has an answer that snapshot isolation alone determines, whatever the writers do.
//!
//! `SEED` repeats a run as far as threads can be repeated, `MOVING_SECONDS` lets one go on for longer.

mod definitions;
mod questions;
mod readers;
mod writers;

use std::time::{Duration, Instant};

use crate::fixture::Fixture;
use crate::fuzz::{Random, seed};
use crate::raw::{Messages, Raw};

use questions::{QUESTIONS, Rows, with};

/// Accounts at any time. Those of even number stay, the others may be closed for another odd number.
const ACCOUNTS: usize = 2_000;
/// Numbers of accounts are below this.
const NUMBERS: usize = 2 * ACCOUNTS;
/// Branches, and of these they are.
const BRANCHES: usize = 20;
const REGIONS: usize = 4;
/// What an account begins with.
const OPENING: usize = 1_000;
/// Entries at the beginning, two per account.
const ENTRIES: usize = 2 * ACCOUNTS;

/// Threads of each kind.
const WRITERS: usize = 3;
const READERS: usize = 3;
const DEFINERS: usize = 2;

/// What threads share.
#[derive(Clone, Copy)]
struct Scene<'a> {
    fixture: &'a Fixture,
    seed: u64,
    end: Instant,
}

impl Scene<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// The numbers of one thread.
    fn random(&self, thread: usize) -> Random {
        let mut random = Random::new(self.seed.wrapping_mul(1_000).wrapping_add(thread as u64));
        // Seeds beside each other begin alike.
        for _ in 0..10 {
            random.below(2);
        }
        random
    }

    /// Fails unless what a client was told is among what it may be told.
    fn expect(&self, state: &str, known: &[&str], told: &str, text: &str) {
        assert!(known.contains(&state), "seed {}: {state} ({told}) for {text}", self.seed);
    }
}

/// What the first error says.
fn fault(messages: &[crate::raw::Message]) -> String {
    let error = messages.iter().find(|message| message.tag == b'E');
    error.and_then(|error| error.field(b'M')).unwrap_or_default()
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

fn load(raw: &mut Raw, target: &str, rows: &str) {
    raw.query(&format!("COPY {target} FROM STDIN"));
    assert_eq!(raw.read().tag, b'G');
    raw.message(b'd', rows.as_bytes());
    raw.message(b'c', b"");
    assert_eq!(raw.until_ready().tags(), "CZ");
}

fn fill(raw: &mut Raw) {
    raw.run("CREATE TABLE branch (b int PRIMARY KEY, region text NOT NULL)");
    raw.run(
        "CREATE TABLE account (i int PRIMARY KEY, branch int NOT NULL REFERENCES branch, \
         amount bigint NOT NULL, opening bigint NOT NULL, grade int NOT NULL, note text)",
    );
    raw.run("CREATE TABLE entry (e bigserial PRIMARY KEY, i int NOT NULL, amount bigint NOT NULL)");
    raw.run("CREATE INDEX account_branch ON account (branch)");
    load(raw, "branch", &lines(BRANCHES, |b| format!("{b}\tregion {}\n", b % REGIONS)));
    let account = |i| {
        let (branch, grade) = (i * 7 % BRANCHES, i % 5);
        format!("{i}\t{branch}\t{OPENING}\t{OPENING}\t{grade}\tnote {}\n", i % 50)
    };
    load(raw, "account", &lines(ACCOUNTS, account));
    let entry = |e| format!("{}\t{}\n", e / 2, if e % 2 == 0 { 5 } else { -5 });
    load(raw, "entry (i, amount)", &lines(ENTRIES, entry));
}

/// All answers of one who asks alone.
fn ask_all(raw: &mut Raw, seed: u64) -> Vec<Rows> {
    let ask = |question: &questions::Question| {
        let text = with(question.text, BRANCHES / 3);
        let mut rows = raw.run(&text).rows();
        assert!((question.holds)(&rows), "seed {seed}: {text} gives {rows:?}");
        rows.sort();
        rows
    };
    QUESTIONS.iter().map(ask).collect()
}

/// Everybody has gone: all paths tell the same, twice.
fn ask_in_the_end(fixture: &Fixture, seed: u64) -> Vec<Rows> {
    let mut raw = fixture.connect();
    let first = ask_all(&mut raw, seed);
    for setting in ["path = 'global'", "path = 'alone'", "sharing = 'always'"] {
        raw.run(&format!("SET shareddb.{setting}"));
        assert_eq!(ask_all(&mut raw, seed), first, "seed {seed}, {setting}");
    }
    first
}

fn length(usual: u64) -> Duration {
    let told = std::env::var("MOVING_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(told.unwrap_or(usual))
}

/// Gives the answers of the end.
fn run(fixture: &Fixture, seed: u64, seconds: u64) -> Vec<Rows> {
    let mut first = fixture.connect();
    fill(&mut first);
    ask_all(&mut first, seed);
    let scene = Scene { fixture, seed, end: Instant::now() + length(seconds) };
    std::thread::scope(|scope| {
        for thread in 0..READERS {
            scope.spawn(move || readers::run(scene, scene.random(thread)));
        }
        for thread in READERS..READERS + WRITERS {
            scope.spawn(move || writers::run(scene, scene.random(thread)));
        }
        for thread in READERS + WRITERS..READERS + WRITERS + DEFINERS {
            scope.spawn(move || definitions::run(scene, scene.random(thread)));
        }
    });
    ask_in_the_end(fixture, seed)
}

#[test]
fn what_moves_is_there_once_at_any_moment() {
    run(&Fixture::new(), seed(), 3);
}

#[test]
fn what_has_moved_is_found_where_it_went() {
    let seed = seed();
    let folder = tempfile::tempdir().expect("a folder");
    let mut fixture = Fixture::stored(folder.path());
    let before = run(&fixture, seed, 2);
    fixture.stop();
    fixture.wait();
    let fixture = Fixture::stored(folder.path());
    assert_eq!(ask_in_the_end(&fixture, seed), before, "seed {seed}");
}
