//! Those who change definitions of what others read and write meanwhile.

use std::time::Duration;

use super::{Scene, fault};
use crate::cancel::cancel;
use crate::fuzz::Random;
use crate::raw::{Messages, Raw};

/// By themselves.
const ALONE: [&str; 24] = [
    "CREATE INDEX IF NOT EXISTS account_branch ON account (branch)",
    "DROP INDEX IF EXISTS account_branch",
    "CREATE INDEX IF NOT EXISTS account_amount ON account (amount, i)",
    "DROP INDEX IF EXISTS account_amount",
    "CREATE INDEX IF NOT EXISTS entry_i ON entry (i)",
    "DROP INDEX IF EXISTS entry_i",
    "ALTER TABLE account ADD COLUMN IF NOT EXISTS extra int DEFAULT 7",
    "ALTER TABLE account DROP COLUMN IF EXISTS extra",
    "ALTER TABLE entry ADD COLUMN IF NOT EXISTS extra text NOT NULL DEFAULT 'x'",
    "ALTER TABLE entry DROP COLUMN IF EXISTS extra",
    "ALTER TABLE account ALTER COLUMN grade TYPE bigint",
    "ALTER TABLE account ALTER COLUMN grade TYPE int",
    "ALTER TABLE account ADD CONSTRAINT bounded CHECK (opening > -1000000000)",
    "ALTER TABLE account DROP CONSTRAINT IF EXISTS bounded",
    "ALTER TABLE account ALTER COLUMN note SET NOT NULL",
    "ALTER TABLE account ALTER COLUMN note DROP NOT NULL",
    "CREATE TABLE IF NOT EXISTS other AS SELECT i, amount FROM account WHERE branch < 3",
    "DROP TABLE IF EXISTS other",
    "CREATE UNIQUE INDEX IF NOT EXISTS account_twice ON account (i, opening)",
    "DROP INDEX IF EXISTS account_twice",
    "ANALYZE account",
    "VACUUM",
    "CHECKPOINT",
    "SELECT count(*) FROM other",
];

/// Together; the last word is COMMIT or ROLLBACK, or the client vanishes before.
const BLOCK: [&str; 5] = [
    "BEGIN",
    "CREATE TABLE IF NOT EXISTS other (i int PRIMARY KEY, amount bigint)",
    "INSERT INTO other SELECT i + 100000, amount FROM account WHERE branch = 3",
    "CREATE INDEX IF NOT EXISTS entry_amount ON entry (amount)",
    "DROP INDEX IF EXISTS account_branch",
];

/// What two who define at the same time may tell each other: it is there already, or no longer.
const KNOWN: [&str; 7] = ["23505", "42P01", "42P07", "42701", "42703", "42704", "42710"];

/// One after another until it is over.
pub fn run(scene: Scene<'_>, mut random: Random) {
    let mut raw = scene.fixture.connect();
    while !scene.is_over() {
        if random.below(6) == 0 {
            define_together(scene, &mut raw, &mut random);
        } else {
            let text = ALONE[random.below(ALONE.len())];
            define(scene, &mut raw, &mut random, text);
        }
        std::thread::sleep(Duration::from_millis(random.below(12) as u64));
    }
}

/// Whether it succeeds and its client hears of it.
fn define(scene: Scene<'_>, raw: &mut Raw, random: &mut Random, text: &str) -> bool {
    raw.query(text);
    raw.send();
    let fate = random.below(20);
    let (is_cancelled, vanishes) = (fate == 0, fate == 1);
    if is_cancelled || vanishes {
        std::thread::sleep(Duration::from_micros(random.below(2_000) as u64));
    }
    if vanishes {
        *raw = scene.fixture.connect();
        return false;
    }
    if is_cancelled {
        cancel(scene.fixture, raw.key);
    }
    let answer = raw.until_ready();
    let states = answer.states();
    if let Some(state) = states.first() {
        let cancelled: &[&str] = if is_cancelled { &["57014"] } else { &[] };
        scene.expect(state, &[&KNOWN, cancelled].concat(), &fault(&answer), text);
    }
    states.is_empty()
}

fn define_together(scene: Scene<'_>, raw: &mut Raw, random: &mut Random) {
    let count = 1 + random.below(BLOCK.len());
    let succeeds = BLOCK[..count].iter().all(|text| define(scene, raw, random, text));
    match random.below(3) {
        0 => *raw = scene.fixture.connect(),
        1 if succeeds && !define(scene, raw, random, "COMMIT") => drop(raw.run("ROLLBACK")),
        1 if succeeds => {}
        _ => drop(raw.run("ROLLBACK")),
    }
}
