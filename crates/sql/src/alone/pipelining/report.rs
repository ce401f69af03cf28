//! What EXPLAIN ANALYZE says of the sub-plans of one query.

use std::time::Duration;

use parking_lot::Mutex;

use super::consumer::Took;
use super::pages::Progress;

/// Filled when the query's streams end.
#[derive(Debug, Default)]
pub struct Report(Mutex<Vec<(String, Took)>>);

impl Report {
    /// One sub-plan is done with.
    pub fn add(&self, name: &str, took: Took) {
        self.0.lock().push((name.to_owned(), took));
    }

    /// What each sub-plan has shared.
    pub fn all(&self) -> Vec<(String, Took)> {
        self.0.lock().clone()
    }

    /// A line for each.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().iter().map(|(name, took)| line(name, took)).collect()
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
