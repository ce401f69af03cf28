//! Counts of what is the same and what differs.

use std::collections::BTreeMap;

use values::facts::{Volatility, functions};
use values::kernel::kernel;

use crate::aggregates;
use crate::cluster::Cluster;
use crate::subject::{Subject, subjects};

/// Computations that are asked for at once.
const BATCH: usize = 64;
/// Differences of a computation that are shown.
const SHOWN: usize = 3;

/// A comparison, and what it has found.
pub struct Comparison<'a> {
    cluster: &'a Cluster,
    same: usize,
    /// By computation and kind, the calls that differ with PostgreSQL's answer and ours.
    different: BTreeMap<(&'static str, &'static str), Vec<String>>,
}

impl<'a> Comparison<'a> {
    pub fn new(cluster: &'a Cluster) -> Self {
        Self { cluster, same: 0, different: BTreeMap::new() }
    }

    /// Compares up to `limit` calls of each computation; of those whose names begin with one of `VALUES_ONLY`'s words, where it is set.
    pub fn run(&mut self, limit: usize) {
        let wanted = std::env::var("VALUES_ONLY").ok();
        let is_wanted = |name: &str| {
            let begins = |words: &String| words.split(' ').any(|word| name.starts_with(word));
            wanted.as_ref().is_none_or(begins)
        };
        let subjects: Vec<Subject> =
            subjects().into_iter().filter(|subject| is_wanted(subject.name)).collect();
        for batch in subjects.chunks(BATCH) {
            let script: String = batch.iter().map(|subject| subject.script(limit)).collect();
            let lines = self.cluster.lines(&script);
            let mut theirs = lines.iter().map(|line| unescaped(line));
            for subject in batch {
                for (call, ours) in subject.answers(limit) {
                    let theirs = theirs.next().expect("PostgreSQL answers every call");
                    self.note(subject.name, call, &theirs, &ours);
                }
            }
            assert_eq!(theirs.next(), None, "PostgreSQL answers no more than was asked");
        }
        if is_wanted("aggregates") {
            self.run_aggregates();
        }
    }

    /// Compares all aggregates.
    fn run_aggregates(&mut self) {
        let all = aggregates::all();
        let script: String = all.iter().map(aggregates::Aggregate::script).collect();
        let lines = self.cluster.lines(&script);
        let mut theirs = lines.iter().map(|line| unescaped(line));
        for aggregate in all {
            for (call, ours) in aggregate.answers() {
                let theirs = theirs.next().expect("PostgreSQL answers every call");
                self.note(aggregate.name(), call, &theirs, &ours);
            }
        }
        assert_eq!(theirs.next(), None, "PostgreSQL answers no more than was asked");
    }

    fn note(&mut self, name: &'static str, call: String, theirs: &str, ours: &str) {
        let state = |answer: &str| answer.strip_prefix('E').map(|error| error[..5].to_owned());
        let kind = match (state(theirs), state(ours)) {
            _ if theirs == ours || is_signed_nan(theirs, ours) => {
                self.same += 1;
                return;
            }
            (None, None) => "value",
            (Some(theirs), Some(ours)) if theirs == ours => "message",
            _ => "state",
        };
        let calls = self.different.entry((name, kind)).or_default();
        calls.push(format!("{call}: PostgreSQL {theirs:.300}, we {ours:.300}"));
    }

    /// Prints the counts.
    ///
    /// # Panics
    /// When something differs that is not listed.
    pub fn judge(&self) {
        let count = |kind: &str| -> usize {
            let of_kind = self.different.iter().filter(|((_, other), _)| *other == kind);
            of_kind.map(|(_, calls)| calls.len()).sum()
        };
        let without = functions()
            .iter()
            .filter(|row| row.volatility != Volatility::Volatile && kernel(row.source).is_none());
        println!(
            "calls: {} same, {} other value, {} other SQLSTATE, {} other message; rows without a kernel: {}",
            self.same,
            count("value"),
            count("state"),
            count("message"),
            without.count(),
        );
        let mut unlisted = Vec::new();
        for ((name, kind), calls) in &self.different {
            let is_listed =
                listed().iter().any(|(other, kinds)| other == name && kinds.contains(kind));
            println!("{}{name}, {kind}: {}", if is_listed { "listed: " } else { "" }, calls.len());
            if !is_listed {
                calls.iter().take(SHOWN).for_each(|call| println!("    {call}"));
                unlisted.push((name, kind));
            }
        }
        assert_eq!(unlisted, [], "PostgreSQL answers otherwise");
    }

    /// # Panics
    /// When something is listed that does not differ.
    pub fn judge_list(&self) {
        if std::env::var("VALUES_ONLY").is_ok() {
            return;
        }
        for (name, kinds) in listed() {
            for kind in kinds {
                assert!(
                    self.different.contains_key(&(name, kind)),
                    "{name}, {kind} is listed and agrees"
                );
            }
        }
    }
}

/// Whether both are not a number. Its sign hangs on the order of a processor's operands, and its text has none.
fn is_signed_nan(theirs: &str, ours: &str) -> bool {
    let is_nan = |answer: &str| {
        let bits = ["V7ff8000000000000", "Vfff8000000000000", "V7fc00000", "Vffc00000"];
        answer.strip_suffix(" NaN").is_some_and(|answer| bits.contains(&answer))
    };
    is_nan(theirs) && is_nan(ours)
}

/// What may differ: computations with the kinds of differences.
fn listed() -> Vec<(&'static str, Vec<&'static str>)> {
    let lines = include_str!("exceptions.tsv").lines().filter(|line| !line.starts_with('#'));
    let exception = |line: &'static str| {
        let mut fields = line.split('\t');
        let name = fields.next().expect("a name");
        let kinds = fields.next().expect("kinds").split(' ').collect();
        assert!(fields.next().is_some_and(|reason| !reason.is_empty()), "a reason: {line}");
        (name, kinds)
    };
    lines.map(exception).collect()
}

/// A line of COPY's text format, of one column.
pub fn unescaped(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        out.push(match letter {
            '\\' => match letters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('v') => '\u{b}',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    out
}
