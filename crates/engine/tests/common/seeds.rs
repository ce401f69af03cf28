//! The seeds of randomised tests: the tests of every crate include this file.
//!
//! A crate's `tests/seeds.txt` names a test, its seeds and, behind `#`, what they have found, so that each run is the same. To
//! explore, the environment says otherwise; NAME is the test's name in the file in capitals, with `_` for `-`:
//!
//! * `NAME_SEED=7` runs that seed alone.
//! * `NAME_SECONDS=60` goes on for so long, from `NAME_SEED` or from a new seed. `SOAK_SECONDS` says so of all tests.
//!
//! A seed that fails is printed, and is added to the file together with the change that repairs what it found.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the crate that includes this keeps.
const FILE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/seeds.txt"));

/// The seeds of a test, one after the other; each is printed when it is taken.
#[derive(Debug)]
pub struct Seeds {
    variable: String,
    kept: std::vec::IntoIter<u64>,
    /// What comes after those, up to a time.
    exploring: Option<(u64, Instant)>,
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let seed = self.kept.next().or_else(|| self.explored())?;
        println!("{}={seed}", self.variable);
        Some(seed)
    }
}

impl Seeds {
    fn explored(&mut self) -> Option<u64> {
        let (next, end) = self.exploring.as_mut()?;
        let seed = *next;
        *next = next.wrapping_add(1);
        (Instant::now() < *end).then_some(seed)
    }
}

/// The seeds of a test, by its name in the file.
pub fn seeds(test: &str) -> Seeds {
    let name = test.to_uppercase().replace('-', "_");
    let variable = format!("{name}_SEED");
    let told = number(&variable);
    let seconds = number(&format!("{name}_SECONDS")).or_else(|| number("SOAK_SECONDS"));
    let kept = match (told, seconds) {
        (None, None) => kept(FILE, test),
        (Some(seed), _) => vec![seed],
        (None, Some(_)) => vec![new_seed()],
    };
    let exploring = seconds.map(|seconds| {
        (kept[kept.len() - 1].wrapping_add(1), Instant::now() + Duration::from_secs(seconds))
    });
    Seeds { variable, kept: kept.into_iter(), exploring }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// Small enough to be typed.
fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    since.as_nanos() as u64 & 0xFFFF_FFFF
}

/// The seeds that stand in a file's lines for a test.
fn kept(file: &str, test: &str) -> Vec<u64> {
    let lines = file.lines().filter_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let (name, given) = line.trim().split_once(' ')?;
        (name == test).then(|| range(given.trim()).unwrap_or_else(|| panic!("no seeds: {line}")))
    });
    let seeds: Vec<u64> = lines.flatten().collect();
    assert!(!seeds.is_empty(), "tests/seeds.txt has no seed for {test}");
    seeds
}

/// `7`, or `1..20` with both ends.
fn range(text: &str) -> Option<std::ops::RangeInclusive<u64>> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[test]
fn lines_name_tests_and_their_seeds() {
    let file = "# what it is\nmoving 3\n\nfuzz 1..4\nmoving 40 # lost a row\n";
    assert_eq!(kept(file, "fuzz"), [1, 2, 3, 4]);
    assert_eq!(kept(file, "moving"), [3, 40]);
}
