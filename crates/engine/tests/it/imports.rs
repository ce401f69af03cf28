//! The rooms import one way only. This table is the architecture; a change of it is a decision.

use std::path::{Path, PathBuf};

/// A room and the rooms that it may name.
const ALLOWED: [(&str, &[&str]); 11] = [
    ("types", &[]),
    ("env", &["types"]),
    ("storage", &["types", "env"]),
    ("query_set", &["types", "storage"]),
    ("transaction", &["types", "env", "storage"]),
    ("log", &["types", "env", "storage", "transaction"]),
    ("scan", &["types", "storage", "query_set", "transaction"]),
    ("plan", &["types", "storage", "transaction", "query_set", "scan"]),
    ("operators", &["types", "env", "storage", "transaction", "query_set", "scan", "plan"]),
    (
        "heartbeat",
        &[
            "types",
            "env",
            "storage",
            "log",
            "transaction",
            "query_set",
            "scan",
            "plan",
            "operators",
        ],
    ),
    ("system", &["types", "env", "storage", "plan", "heartbeat"]),
];

/// All sources below a directory.
pub fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a room is a directory") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Rooms named as `crate::room` outside comments. What comes after `#[cfg(test)]` at the start of a line may
/// name anything: tests reach across.
fn named(source: &str) -> Vec<String> {
    let code = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in lines {
        for (at, _) in line.match_indices("crate::") {
            let rest = &line[at + "crate::".len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push(rest[..end].to_owned());
        }
    }
    found
}

#[test]
fn rooms_import_one_way_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (room, allowed) in ALLOWED {
        let mut files = Vec::new();
        sources(&root.join(room), &mut files);
        // Test-only files (twins, fixtures) reach across like tests do.
        files.retain(|f| !is_test_file(f));
        for file in files {
            let source = std::fs::read_to_string(&file).expect("sources are text");
            for name in named(&source) {
                let is_room = ALLOWED.iter().any(|(other, _)| *other == name);
                if is_room && name != room && !allowed.contains(&&*name) {
                    wrong.push(format!("{} names {name}", file.display()));
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "imports against the table:\n{}", wrong.join("\n"));
}

/// A file that its parent declares under `#[cfg(test)]`.
fn is_test_file(file: &Path) -> bool {
    let name = file.file_stem().and_then(|n| n.to_str()).unwrap_or_default();
    let parent = file.parent().map(|p| p.join("mod.rs"));
    let parent = parent.and_then(|p| std::fs::read_to_string(p).ok()).unwrap_or_default();
    let text = format!("#[cfg(test)]\nmod {name};");
    let public = format!("#[cfg(test)]\npub(crate) mod {name};");
    name == "tests" || parent.contains(&text) || parent.contains(&public)
}

#[test]
fn the_table_names_every_room_and_has_no_cycle() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let library = std::fs::read_to_string(library).expect("sources are text");
    for line in library.lines().filter_map(|line| line.strip_prefix("pub mod ")) {
        let room = line.trim_end_matches(';');
        assert!(ALLOWED.iter().any(|(known, _)| *known == room), "{room} is not in the table");
    }
    for (position, (room, allowed)) in ALLOWED.iter().enumerate() {
        for other in *allowed {
            let before = ALLOWED.iter().position(|(known, _)| known == other);
            assert!(before.is_some_and(|b| b < position), "{room} comes before {other}");
        }
    }
}
