//! Data and definitions that change beside clients who ask, cancel and vanish: whatever is answered holds of one moment.
//!
//! Money moves between accounts, accounts move between branches and are closed for others, entries say what has moved.
//! Every question (`questions`) has an answer that snapshot isolation alone determines, whatever the writers do.
//!
//! A seed repeats a run as far as threads can be repeated (`seeds`).

mod definitions;
mod questions;
mod readers;
mod writers;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fixture::Fixture;
use crate::fuzz::Random;
use crate::raw::{Messages, Raw};
use crate::seeds::seeds;

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
/// Readers come first, then writers.
const WRITERS_END: usize = READERS + WRITERS;

/// What threads share.
#[derive(Clone, Copy)]
struct Scene<'a> {
    fixture: &'a Fixture,
    seed: u64,
    /// Rounds of readers that are to come.
    left: &'a AtomicUsize,
}

impl Scene<'_> {
    /// The others go on as long as there are rounds of readers.
    fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// A reader takes one of the rounds, where there is one.
    fn takes_round(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
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

/// Whoever panics ends the scene: nobody goes on without readers.
struct EndsByPanic<'a>(&'a AtomicUsize);

impl Drop for EndsByPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

/// So many rounds of readers, beside the others; gives the answers of the end.
fn run(fixture: &Fixture, seed: u64, rounds: usize) -> Vec<Rows> {
    let mut first = fixture.connect();
    fill(&mut first);
    ask_all(&mut first, seed);
    let left = AtomicUsize::new(rounds);
    let scene = Scene { fixture, seed, left: &left };
    std::thread::scope(|scope| {
        for thread in 0..READERS + WRITERS + DEFINERS {
            scope.spawn(move || {
                let _ends = EndsByPanic(scene.left);
                let act = match thread {
                    ..READERS => readers::run,
                    READERS..WRITERS_END => writers::run,
                    _ => definitions::run,
                };
                act(scene, scene.random(thread));
            });
        }
    });
    ask_in_the_end(fixture, seed)
}

#[test]
fn what_moves_is_there_once_at_any_moment() {
    for seed in seeds("moving") {
        run(&Fixture::new(), seed, 60);
    }
}

#[test]
fn what_has_moved_is_found_where_it_went() {
    seeds("moving-stored").for_each(move_and_start_again);
}

fn move_and_start_again(seed: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut fixture = Fixture::stored(folder.path());
    let before = run(&fixture, seed, 40);
    fixture.stop();
    fixture.wait();
    let fixture = Fixture::stored(folder.path());
    assert_eq!(ask_in_the_end(&fixture, seed), before, "seed {seed}");
}
