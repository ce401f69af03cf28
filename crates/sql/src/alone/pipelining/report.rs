//! What EXPLAIN ANALYZE says of the sub-plans of one query.

use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;

use super::consumer::Took;
use super::pages::Progress;

/// Filled when the query's streams end.
#[derive(Debug, Default)]
pub struct Report {
    parts: Mutex<Vec<(String, Took)>>,
    /// Set where the query ran query at a time though the global plan has it.
    lone: OnceLock<Duration>,
}

impl Report {
    /// One sub-plan is done with.
    pub fn add(&self, name: &str, took: Took) {
        self.parts.lock().push((name.to_owned(), took));
    }

    /// What each sub-plan has shared.
    pub fn all(&self) -> Vec<(String, Took)> {
        self.parts.lock().clone()
    }

    /// The query was by itself and ran alone because that was predicted to be cheaper; it took so long.
    pub fn set_lone(&self, took: Duration) {
        // Set once: a statement has one query.
        let _ = self.lone.set(took);
    }

    /// What it took then.
    pub fn lone(&self) -> Option<Duration> {
        self.lone.get().copied()
    }

    /// A line for each.
    pub fn lines(&self) -> Vec<String> {
        self.parts.lock().iter().map(|(name, took)| line(name, took)).collect()
    }
}

fn line(name: &str, took: &Took) -> String {
    let others = match took.others {
        0 => "shares with nobody".to_owned(),
        1 => "shares with 1 other".to_owned(),
        others => format!("shares with {others} others"),
    };
    let came = match took.progress {
        _ if !took.is_late => "began it".to_owned(),
        _ if took.is_again => "read again in this statement, from kept pages".to_owned(),
        Progress::Round(share) => format!("attached at {:.0} %", share * 100.0),
        Progress::Pages(0) => "attached before its first page".to_owned(),
        Progress::Pages(pages) => format!("attached after page {pages}"),
    };
    let (cost, saved) = (milliseconds(took.cost), milliseconds(took.saved));
    let left = if took.is_detached { ", too slow for the others and left to itself" } else { "" };
    format!(
        "Pipelining: {name}: {others}, {came}, would have cost {cost} alone, of which others bore {saved}{left}"
    )
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}
