//! Dates, times, timestamps and intervals beside PostgreSQL 15's: texts, binary forms, and every computation over odd values, under several
//! settings. The gate compares a fixed sample of the combinations of arguments; `SHAREDDB_COMPARE_MOST` says how many of each computation.

mod cluster;
mod combinations;
mod examples;
mod exceptions;
mod lists;
mod rows;
mod settings;
mod texts;

use std::io::Write;

/// Tells that a test is not run, and why.
fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("the standard error is open");
}

/// How many combinations of arguments of a computation are compared at most, under each setting.
fn most() -> usize {
    let asked = std::env::var("SHAREDDB_COMPARE_MOST");
    asked.map_or(100, |most| most.parse().expect("SHAREDDB_COMPARE_MOST is a number"))
}

#[test]
fn postgresql_computes_the_same() {
    let cluster = match cluster::Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => return skip("postgresql_computes_the_same", &reason),
    };
    let mut report = exceptions::Report::default();
    let rows = rows::rows(&cluster);
    for settings in &settings::ALL {
        texts::compare(&cluster, settings, &mut report);
        rows::compare(&cluster, settings, &rows, most(), &mut report);
    }
    report.finish();
}
