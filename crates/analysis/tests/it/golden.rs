//! Trees as text: `tests/golden/*.txt` show one tree, or the fault, per rule.
//!
//! In a file each statement stands behind `> `, what it becomes below it. With `ANALYSIS_WRITE` set the files are written.

use std::path::{Path, PathBuf};

use analysis::{Context, analyze};

use crate::shop::Shop;

/// What a statement becomes.
fn shown(statement: &str) -> String {
    let tree = match syntax::parse(statement) {
        Ok(tree) => tree,
        Err(error) => return format!("{error:?}\n"),
    };
    let parsed = tree.statements().next().expect("a statement");
    match analyze(statement, parsed.node, &Shop::new(), &Context::default(), &[]) {
        Ok(analysis) => analysis.query.to_string(),
        Err(error) => {
            let hint = error.hint.map_or(String::new(), |hint| format!("HINT: {hint}\n"));
            let detail = error.detail.map_or(String::new(), |detail| format!("DETAIL: {detail}\n"));
            let place = error.position.map_or(String::new(), |place| format!(" at {place}"));
            format!("ERROR {}{place}: {}\n{detail}{hint}", error.sqlstate, error.message)
        }
    }
}

/// A file as it should be: its comments and statements with what these become.
fn written_anew(text: &str) -> String {
    let mut new = String::new();
    for line in text.lines() {
        if let Some(statement) = line.strip_prefix("> ") {
            new.push_str(&format!("{line}\n{}\n", shown(statement)));
        } else if line.starts_with('#') {
            new.push_str(&format!("{line}\n\n"));
        }
    }
    format!("{}\n", new.trim_end())
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = std::fs::read_dir(folder).expect("the folder is part of the crate");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

#[test]
fn trees_are_as_the_golden_files_show() {
    let mut changed = Vec::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).expect("a golden file");
        let new = written_anew(&text);
        if new == text {
            continue;
        }
        match std::env::var_os("ANALYSIS_WRITE") {
            Some(_) => std::fs::write(&file, new).expect("the file can be written"),
            None => changed.push(format!("{}:\n{new}", file.display())),
        }
    }
    assert!(changed.is_empty(), "trees are otherwise:\n{}", changed.join("\n"));
}
