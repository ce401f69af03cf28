//! Analysis beside PostgreSQL 15's own answer to Describe.

#[path = "../../../values/tests/postgres/cluster.rs"]
mod cluster;
mod compared;
mod facts;
mod golden;
mod record;
mod shop;
mod split;
mod wire;
mod world;

use cluster::Cluster;

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
