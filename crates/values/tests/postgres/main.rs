//! Every computation beside PostgreSQL 15's: results in text and binary, and errors, over all pairs of odd values.

mod aggregates;
mod cluster;
mod comparison;
mod draw;
mod forms;
mod inputs;
mod meant;
mod odd;
mod patterns;
mod rows;
mod subject;

use cluster::Cluster;
use comparison::Comparison;

/// Calls of a function in the checks, and where everything is compared.
const SAMPLE: usize = 60;
const WHOLE: usize = 6_000;
/// Patterns that are drawn with a seed.
const DRAWN: usize = 3_000;

/// A server; `None` where there is none to start, which is said.
fn started(test: &str) -> Option<Cluster> {
    Cluster::start().map_err(|reason| skip(test, &reason)).ok()
}

/// Tells that a test is not run, and why. Written past the harness, which keeps what passing tests print to itself.
fn skip(test: &str, reason: &str) {
    use std::io::Write;
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("the standard error is open");
}

#[test]
fn a_sample_agrees_with_postgresql() {
    let Some(cluster) = started("a_sample_agrees_with_postgresql") else {
        return;
    };
    rows::compare(&cluster);
    let mut comparison = Comparison::new(&cluster);
    comparison.run(SAMPLE);
    comparison.judge();
}

#[test]
fn patterns_match_as_in_postgresql() {
    let Some(cluster) = started("patterns_match_as_in_postgresql") else {
        return;
    };
    let mut questions = patterns::given();
    for seed in draw::seeds("patterns") {
        questions.extend(patterns::drawn(seed, DRAWN));
    }
    let differing = patterns::differing(&cluster, &questions);
    differing.iter().take(40).for_each(|line| println!("{line}"));
    println!("{} of {} differ", differing.len(), questions.len());
    assert!(differing.is_empty(), "PostgreSQL matches otherwise");
}

#[test]
#[ignore = "takes minutes: make soak"]
fn everything_agrees_with_postgresql() {
    let Some(cluster) = started("everything_agrees_with_postgresql") else {
        return;
    };
    let mut comparison = Comparison::new(&cluster);
    comparison.run(WHOLE);
    comparison.judge();
    comparison.judge_list();
}
