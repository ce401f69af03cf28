//! Clients that leave at random moments of batches that others wait for, too: whoever stays gets what he gets alone.

use std::time::Duration;

use crate::cancel::cancel;
use crate::fixture::Fixture;
use crate::fuzz::Random;
use crate::raw::{Message, Messages, Raw};
use crate::seeds::seeds;

/// Rounds per seed; all of one are answered before the next.
const ROUNDS: usize = 25;
/// Clients that come and go in a round.
const EVENTS: usize = 20;
/// A few statements, so that equal ones meet: rows, groups, pairs of a join, the first of a sort.
const STATEMENTS: [&str; 4] = [
    "SELECT i, s FROM t WHERE s LIKE '%row 1%' ORDER BY s",
    "SELECT i % 100, count(*), max(s) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT a.i, b.s FROM t a JOIN t b ON a.i = b.i + 1 WHERE a.s LIKE '%7%' ORDER BY 1",
    "SELECT s, i FROM t ORDER BY s DESC LIMIT 50",
];

/// One who waits.
struct Asked {
    raw: Raw,
    statement: usize,
    is_cancelled: bool,
}

impl Asked {
    fn new(fixture: &Fixture, statement: usize) -> Asked {
        let mut raw = fixture.connect();
        raw.query(STATEMENTS[statement]);
        raw.send();
        Asked { raw, statement, is_cancelled: false }
    }

    /// Its answer is that of one who asks alone; that of a cancelled one may be 57014 instead.
    fn check(mut self, alone: &[Vec<Message>], seed: u64) {
        let answer = self.raw.until_ready();
        let is_ended = self.is_cancelled && answer.states() == ["57014"];
        let (tags, text) = (answer.tags().len(), STATEMENTS[self.statement]);
        assert!(is_ended || answer == alone[self.statement], "seed {seed}: {tags} tags of {text}");
    }
}

#[test]
fn whoever_leaves_takes_nothing_from_those_who_stay() {
    seeds("leaving").for_each(leave_at_random_moments);
}

fn leave_at_random_moments(seed: u64) {
    let mut random = Random::new(seed);
    let fixture = Fixture::new();
    let mut first = fixture.with_rows(8_000);
    let alone = STATEMENTS.map(|text| {
        first.query(text);
        first.until_ready()
    });
    assert!(alone.iter().all(|answer| answer.states().is_empty() && !answer.rows().is_empty()));
    for _ in 0..ROUNDS {
        let mut waiting: Vec<Asked> = Vec::new();
        for _ in 0..EVENTS {
            let one = random.below(waiting.len().max(1));
            match random.below(5) {
                3 if !waiting.is_empty() => {
                    waiting[one].is_cancelled = true;
                    cancel(&fixture, waiting[one].raw.key);
                }
                4 if !waiting.is_empty() => drop(waiting.swap_remove(one)),
                _ => waiting.push(Asked::new(&fixture, random.below(STATEMENTS.len()))),
            }
            std::thread::sleep(Duration::from_millis(random.below(6) as u64));
        }
        waiting.into_iter().for_each(|asked| asked.check(&alone, seed));
    }
}
