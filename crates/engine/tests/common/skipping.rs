//! Tests that cannot run where something is missing say so, in one form that can be counted.

use std::io::Write;

/// Tells that a test is not run, and why. Written past the harness, which keeps what passing tests print to itself.
pub fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("the standard error is open");
}
