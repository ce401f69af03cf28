//! PostgreSQL's regression texts, and the same with words left out or doubled: taken or refused exactly as PostgreSQL 15 does it.
//!
//! `tests/differences.txt` lists what differs, with reasons.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use syntax::{SyntaxError, parse};

use super::folder::Folder;
use super::postgres::{Postgres, Refusal};
use super::random::Chance;
use super::seeds::seeds;
use super::skipping::skip;

const CORPUS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/postgresql-15-regress.tar.zst");
const DIFFERENCES: &str = include_str!("../differences.txt");

/// The corpus unpacked, where it is there.
fn corpus() -> Option<Folder> {
    let folder = Folder::new();
    let unpacked = Path::new(CORPUS).exists()
        && Command::new("tar")
            .args(["--zstd", "-xf", CORPUS, "-C"])
            .arg(folder.path())
            .status()
            .is_ok_and(|status| status.success());
    unpacked.then_some(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it is readable").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Cuts a script of psql into statements: at `;` outside of quotes, comments and parentheses; lines with a backslash are psql's own.
/// A cut at a wrong place gives a text like any other.
fn statements(script: &str) -> Vec<String> {
    let script: String = script
        .lines()
        .filter(|line| !line.starts_with('\\'))
        .flat_map(|line| [line, "\n"])
        .collect();
    let (mut found, mut start, mut at, mut depth) = (Vec::new(), 0, 0, 0_i32);
    while at < script.len() {
        let rest = &script[at..];
        let first = rest.chars().next().expect("it is not the end");
        let skipped = match first {
            '\'' | '"' => rest[1..].find(first).map(|end| end + 2),
            '-' if rest.starts_with("--") => rest.find('\n').map(|end| end + 1),
            '/' if rest.starts_with("/*") => rest.find("*/").map(|end| end + 2),
            '$' => dollar_quoted(rest),
            _ => None,
        };
        depth += i32::from(first == '(') - i32::from(first == ')');
        at += skipped.unwrap_or(first.len_utf8());
        if first == ';' && depth <= 0 {
            found.push(script[start..at].trim().to_owned());
            (start, depth) = (at, 0);
        }
    }
    found
}

fn dollar_quoted(rest: &str) -> Option<usize> {
    let tag = &rest[..=rest[1..].find('$')? + 1];
    let is_tag =
        tag[1..tag.len() - 1].chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let end = rest[tag.len()..].find(tag)?;
    is_tag.then_some(2 * tag.len() + end)
}

/// A text with one of its words left out, doubled or in the place of another.
fn mutated(text: &str, chance: &mut Chance) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '(', ')', ',']).collect();
    let at = chance.below(words.len());
    let other = words[chance.below(words.len())];
    match chance.below(3) {
        0 => drop(words.remove(at)),
        1 => words.insert(at, other),
        _ => words[at] = other,
    }
    words.concat()
}

fn all_statements(folder: &Path) -> Vec<String> {
    let mut seen = HashSet::new();
    let scripts = files(folder).into_iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let statements = scripts.flat_map(|script| statements(&script));
    statements
        .filter(|text| text.len() < 8_000 && !text.contains('\0') && seen.insert(text.clone()))
        .collect()
}

fn told(error: &SyntaxError) -> Refusal {
    Refusal {
        sqlstate: error.sqlstate().to_owned(),
        message: error.message.clone(),
        hint: error.hint.clone(),
        detail: error.detail.clone(),
        position: error.position,
    }
}

/// What stands for a text in the file of differences: 64 bits of FNV-1a, for the corpus itself is not ours to copy.
fn mark(text: &str) -> String {
    let mix = |mark: u64, byte| (mark ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    format!("{:016x}", text.bytes().fold(0xCBF2_9CE4_8422_2325, mix))
}

/// The marks of the file of differences, a line each; reasons begin with `#`.
fn listed() -> HashSet<&'static str> {
    DIFFERENCES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

#[test]
fn texts_are_taken_and_refused_as_postgresql_15_does() {
    const NAME: &str = "corpus::texts_are_taken_and_refused_as_postgresql_15_does";
    let Some(folder) = corpus() else { return skip(NAME, "the corpus is not there") };
    let mut postgres = match Postgres::start() {
        Ok(postgres) => postgres,
        Err(reason) => return skip(NAME, &reason),
    };
    let statements = all_statements(folder.path());
    assert!(statements.len() > 10_000, "the corpus is larger: {}", statements.len());
    let mut chance = Chance::new(seeds("mutations").next().expect("there is one"));
    let mutations: Vec<String> = statements.iter().map(|text| mutated(text, &mut chance)).collect();
    let listed = listed();
    let mut differences = BTreeMap::new();
    let mut refused = 0;
    for text in statements.iter().chain(&mutations) {
        let theirs = postgres.refusal(text);
        let ours = parse(text).err().map(|error| told(&error));
        refused += usize::from(theirs.is_some());
        if theirs != ours {
            differences.insert(mark(text), (text, theirs, ours));
        }
    }
    println!("{} texts, {refused} refused, {} differ", 2 * statements.len(), differences.len());
    let unlisted: Vec<_> =
        differences.iter().filter(|(mark, _)| !listed.contains(mark.as_str())).collect();
    for (mark, (text, theirs, ours)) in &unlisted {
        println!("{mark} {text:?}\n  PostgreSQL: {theirs:?}\n  ours: {ours:?}");
    }
    let gone = listed.iter().filter(|mark| !differences.contains_key(**mark)).count();
    assert_eq!((unlisted.len(), gone), (0, 0), "unlisted and no longer different");
}
