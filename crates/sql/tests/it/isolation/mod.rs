//! PostgreSQL's isolation specifications, run as its isolationtester runs them, against the output that PostgreSQL expects.
//!
//! The corpus lies beside the checkout (`../shared/corpora`, or where `SHAREDDB_CORPORA` says); without it nothing is run. Specs that
//! cannot pass stand in `differences.tsv` with their reasons: one that passes all the same fails the test, so that the list only
//! shrinks.

mod output;
mod run;
mod spec;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use run::permutation;
use spec::Spec;

use crate::skipping::skip;

/// How long a step may take. Many of the specs that are listed hang where they differ.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_WITH_LISTED: Duration = Duration::from_secs(3);

/// Where specs and expected output lie; `None` without the corpus.
fn unpacked() -> Option<tempfile::TempDir> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let folder = std::env::var_os("SHAREDDB_CORPORA").map_or(beside, PathBuf::from);
    let archive = folder.join("postgresql-15-regress.tar.zst");
    if !archive.exists() {
        skip("sessions_meet_as_in_postgresql", &format!("there is no {}", archive.display()));
        return None;
    }
    let target = tempfile::tempdir().expect("a folder");
    let mut tar = Command::new("tar");
    tar.arg("--zstd").arg("-xf").arg(&archive).arg("-C").arg(target.path());
    let status = tar.args(["--wildcards", "*/src/test/isolation/*"]).status().expect("tar");
    assert!(status.success(), "the corpus cannot be unpacked");
    Some(target)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The specs that differ, with the reasons.
fn listed() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/isolation/differences.tsv");
    let pair = |line: &str| {
        line.split_once('\t').map(|(name, reason)| (name.to_owned(), reason.to_owned()))
    };
    read(&path).lines().filter_map(pair).collect()
}

/// What a spec gives, compared permutation by permutation; the first difference.
async fn first_difference(folder: &Path, name: &str, patience: Duration) -> Option<String> {
    let spec = match Spec::parse(&read(&folder.join(format!("specs/{name}.spec")))) {
        Ok(spec) => spec,
        Err(fault) => return Some(fault),
    };
    let expected: Vec<Vec<String>> = ["", "_1", "_2", "_3"]
        .iter()
        .map(|suffix| folder.join(format!("expected/{name}{suffix}.out")))
        .filter(|path| path.exists())
        .map(|path| output::permutations(&read(&path)))
        .collect();
    let mut database = crate::connection::database();
    for (number, steps) in spec.permutations().iter().enumerate() {
        let (given, is_clean) = permutation(&database, &spec, steps, patience).await;
        let given = output::trimmed(&given);
        if !is_clean {
            database = crate::connection::database();
        }
        let is_expected = |one: &Vec<String>| one.get(number) == Some(&given);
        if !expected.iter().any(is_expected) {
            let wanted = expected.first().and_then(|one| one.get(number));
            let wanted = wanted.map_or("nothing", String::as_str);
            return Some(format!("expected:\n{wanted}\ngiven:\n{given}"));
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_meet_as_in_postgresql() {
    let Some(unpacked) = unpacked() else { return };
    let folder = unpacked.path().join("postgresql-15/src/test/isolation");
    let only = std::env::var("SPEC").ok();
    let schedule = read(&folder.join("isolation_schedule"));
    let names = schedule.lines().filter_map(|line| line.strip_prefix("test: "));
    let listed = listed();
    let (mut wrong, mut passed) = (Vec::new(), 0);
    for name in names.flat_map(str::split_whitespace) {
        if only.as_ref().is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let began = std::time::Instant::now();
        let patience = if listed.contains_key(name) { PATIENCE_WITH_LISTED } else { PATIENCE };
        let difference = first_difference(&folder, name, patience).await;
        println!(
            "{name}: {} in {:?}",
            if difference.is_none() { "passes" } else { "differs" },
            began.elapsed()
        );
        match (difference, listed.get(name)) {
            (None, None) => passed += 1,
            (Some(difference), None) => wrong.push(format!("{name} differs\n{difference}")),
            (None, Some(reason)) => {
                wrong.push(format!("{name} passes: take it off the list ({reason})"));
            }
            (Some(_), Some(_)) => {}
        }
    }
    println!("{passed} pass, {} are listed", listed.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
