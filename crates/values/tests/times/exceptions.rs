//! What differs, and what of it is known, by root.

use std::collections::BTreeMap;

/// Known differences: a computation or type (`*` for any), parts of the question (` & ` between), and the root; tabs between.
const KNOWN: &str = include_str!("exceptions.txt");
/// How many differences of a computation are told.
const TOLD: usize = 12;

/// Counts of what was compared.
#[derive(Default)]
pub struct Report {
    compared: usize,
    same: usize,
    known: BTreeMap<&'static str, usize>,
    different: BTreeMap<String, Vec<String>>,
}

fn known(subject: &str, question: &str) -> Option<&'static str> {
    KNOWN.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut columns = line.split('\t');
        let (of, part, root) = (columns.next()?, columns.next()?, columns.next()?);
        let is_it = part.split(" & ").all(|part| question.contains(part));
        ((of == "*" || of == subject) && is_it).then_some(root)
    })
}

impl Report {
    /// Compares an answer with PostgreSQL's.
    pub fn compare(&mut self, subject: &str, question: &str, ours: &str, theirs: &str) {
        self.compared += 1;
        if ours == theirs {
            self.same += 1;
        } else if let Some(root) = known(subject, question) {
            *self.known.entry(root).or_default() += 1;
        } else {
            let line = format!("{question}\n    ours   {ours}\n    theirs {theirs}");
            self.different.entry(subject.to_owned()).or_default().push(line);
        }
    }

    /// Tells the counts; fails where something differs that is not known.
    pub fn finish(self) {
        let Report { compared, same, known, different } = self;
        println!("{compared} compared, {same} the same, known differences: {known:?}");
        let mut told = String::new();
        for (subject, lines) in &different {
            told += &format!("{subject}: {} differ\n", lines.len());
            for line in lines.iter().take(TOLD) {
                told += &format!("  {line}\n");
            }
        }
        assert!(different.is_empty(), "{told}");
    }
}
