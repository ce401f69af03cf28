//! `tests/differences.txt`: what is described otherwise than PostgreSQL does, by script.
//!
//! A script's part says how many statements were compared and which differ, with the kind of difference. Any change fails the test: what
//! differs no longer is to be taken out, with `ANALYSIS_WRITE` set, which writes the parts of the scripts that were compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Letters of a statement that are kept.
const SHOWN: usize = 160;

const HEAD: &str = "# Statements of PostgreSQL's regression scripts that are described otherwise than PostgreSQL 15 does.\n\
                    # The tests that compare them write this with ANALYSIS_WRITE set.\n";

/// By script: its first line and those below.
#[derive(Debug, Default, PartialEq)]
pub struct Record(BTreeMap<String, Vec<String>>);

impl Record {
    /// Notes what was found of a script.
    pub fn note(&mut self, script: &str, statements: usize, differing: Vec<(&str, String)>) {
        let head = format!("{script}: {statements} statements, {} differ", differing.len());
        let line = |(kind, text): (&str, String)| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let shown: String = words.join(" ").chars().take(SHOWN).collect();
            format!("    {kind}: {shown}")
        };
        let lines = std::iter::once(head).chain(differing.into_iter().map(line));
        self.0.insert(script.to_owned(), lines.collect());
    }

    /// Compares what was found with what is recorded, or records it.
    ///
    /// # Panics
    /// When they differ.
    pub fn compare(self) {
        let mut recorded = Record::read();
        if std::env::var_os("ANALYSIS_WRITE").is_some() {
            recorded.0.extend(self.0);
            return recorded.write();
        }
        let mut changes = String::new();
        for (script, found) in &self.0 {
            let before = recorded.0.get(script).map_or(&[][..], Vec::as_slice);
            let lines = |these: &[String], others: &[String], sign: char| -> String {
                let only = these.iter().filter(|line| !others.contains(line));
                only.map(|line| format!("{sign} {line}\n")).collect()
            };
            changes.push_str(&lines(before, found, '-'));
            changes.push_str(&lines(found, before, '+'));
        }
        assert!(changes.is_empty(), "otherwise than tests/differences.txt says:\n{changes}");
    }

    fn path() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differences.txt")
    }

    fn read() -> Record {
        let text = std::fs::read_to_string(Record::path()).unwrap_or_default();
        let mut record = Record::default();
        let mut script = String::new();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            if !line.starts_with(' ') {
                script = line.split(':').next().unwrap_or_default().to_owned();
            }
            record.0.entry(script.clone()).or_default().push(line.to_owned());
        }
        record
    }

    fn write(&self) {
        let lines = self.0.values().flatten().map(|line| format!("{line}\n"));
        let text: String = std::iter::once(format!("{HEAD}\n")).chain(lines).collect();
        std::fs::write(Record::path(), text).expect("the record can be written");
    }
}
