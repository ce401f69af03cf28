//! Each run of the tests does the same: no test draws from the clock, the process or the system.

use std::path::{Path, PathBuf};

use crate::imports::sources;

/// What gives something else each time, or a port that somebody else may have by the time that it is used.
const SOURCES: [&str; 6] = [
    "rand::random(",
    "rand::random::",
    "rand::rng(",
    "from_os_rng",
    "SystemTime::now",
    "TcpListener::bind",
];

/// Who may: the product itself, whoever draws seeds to explore, and this list.
const EXEMPT: [&str; 8] = [
    "engine/tests/common/seeds.rs",
    "engine/tests/it/repeatable.rs",
    "server/src/authentication/mod.rs",
    "server/src/authentication/verifier.rs",
    "server/src/clients.rs",
    "server/src/listener.rs",
    "workloads/src/bookstore/interaction.rs",
    "workloads/src/peers/process.rs",
];

/// What the line behind the beginning of properties is.
const SEEDED: &str = "#![proptest_config(crate::properties::";

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it lies beside others").to_owned()
}

fn is_seeded(properties: &str) -> bool {
    properties.trim_start().starts_with(SEEDED)
}

#[test]
fn no_test_draws_anything_that_another_run_does_not() {
    let mut files = Vec::new();
    sources(&crates(), &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let source = std::fs::read_to_string(&file).expect("sources are text");
        let mut properties = source.split("proptest! {\n").skip(1);
        if !properties.all(is_seeded) {
            wrong.push(format!("{}: properties without a seed", file.display()));
        }
        let is_exempt = EXEMPT.iter().any(|exempt| file.ends_with(exempt));
        let found = SOURCES.iter().filter(|word| !is_exempt && source.contains(**word));
        wrong.extend(found.map(|word| format!("{}: {word}", file.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
