//! What aggregating a star's queries costs, all together and in packs.
//!
//! A model of caches: what a visit of a group costs is the lines that it fetches. Constants were measured with
//! `benches/working_sets`.

use super::build::{PAIRS, ROWS};
use super::coverage::CacheClass;
use super::slot_groups::SlotGroups;
use super::window::HELD;
use super::{ActiveGrouping, Star, StarNode};
use crate::types::Slot;

/// Fetching a line of a table from memory, in nanoseconds, many of them at the same time.
const FAR: f64 = 4.0;
/// The same from the third cache.
const NEAR: f64 = 1.2;
/// Bytes of tables beyond which they outgrow a worker's part of the third cache.
const NEAR_BYTES: f64 = 16e6;
/// Reading one byte of a block that has left the second cache.
const STREAM: f64 = 0.03;
/// What a pair costs whatever the cache does, and what each of its aggregates adds.
const PAIR: f64 = 4.0;
const ADD: f64 = 1.2;
/// Drawing a row and classifying a pair of the sample.
const DRAWN: f64 = 20.0;
const CLASSIFIED: f64 = 15.0;
/// Rows of the sample.
const SAMPLED: f64 = 65_536.0;
/// What is spared must be so much of the whole: predictions are not that exact.
const WORTH: f64 = 0.15;

/// What is known of a query whose rows go into pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query {
    pub slot: Slot,
    /// Position among the active groupings.
    pub grouping: usize,
    pub class: CacheClass,
    /// Groups that it visits, as far as anybody knows.
    pub groups: f64,
    /// Share of the rows that it wants.
    pub share: f64,
    pub aggregates: usize,
}

impl Query {
    /// Bytes of its working set, of which the sample shows at least so many.
    pub fn estimated_bytes(&self) -> usize {
        let groups = match self.class {
            CacheClass::AlwaysShare => 0,
            CacheClass::CouldShare(groups) | CacheClass::NeverShare(groups) => groups,
        };
        groups * SlotGroups::visited(self.aggregates)
    }

    /// Bytes of the groups that it visits.
    fn bytes(&self) -> f64 {
        self.groups * SlotGroups::visited(self.aggregates) as f64
    }

    /// Cache lines that a visit of a group touches.
    fn lines(&self) -> f64 {
        1.0 + 2.0 * self.aggregates as f64
    }

    /// What a pair takes where all is in the cache.
    pub fn pair(&self) -> f64 {
        PAIR + ADD * self.aggregates as f64
    }

    /// Different groups that so many rows visit.
    fn visited(&self, rows: f64) -> f64 {
        let groups = self.groups.max(1.0);
        groups * (1.0 - (-rows * self.share / groups).exp())
    }
}

/// Whether a sample is worth its price: tables would outgrow the cache, and what packs can spare at most is much more.
pub(super) fn may_pay(expected: &[Query], rows: f64, cache: usize) -> bool {
    let pairs: f64 = expected.iter().map(|query| query.share).sum();
    let bytes: f64 = expected.iter().map(Query::bytes).sum();
    let line = if bytes > NEAR_BYTES { FAR } else { NEAR };
    let spared: f64 = expected.iter().map(|query| rows * query.share * query.lines() * line).sum();
    let price = SAMPLED.min(rows / 2.0) * (DRAWN + CLASSIFIED * pairs);
    expected.len() > 1 && bytes > cache as f64 && spared * WORTH > price
}

/// Bytes of a block that aggregation reads (the paper's B), at most half of the cache.
pub(super) fn block_bytes(star: &Star, node: &StarNode, cache: usize) -> usize {
    let widest = star.groupings_of(false).map(|(_, grouping)| row_bytes(node, grouping)).max();
    (widest.unwrap_or_default() * ROWS).min(cache / 2)
}

/// Bytes of a row that a grouping reads.
fn row_bytes(node: &StarNode, grouping: &ActiveGrouping) -> usize {
    4 * grouping.keys.len() + 8 * node.groupings[grouping.number].aggregates.len()
}

/// Whether aggregating in packs is predicted to cost less than all together, by row of the fact table.
pub(super) fn pays(
    star: &Star,
    node: &StarNode,
    queries: &[Query],
    packs: &[Vec<usize>],
    cache: usize,
) -> bool {
    let all: f64 = queries.iter().map(Query::bytes).sum();
    if all <= cache as f64 {
        return false;
    }
    let line = if all > NEAR_BYTES { FAR } else { NEAR };
    let pairs: f64 = queries.iter().map(|query| query.share).sum();
    let rows = (PAIRS as f64 / pairs.max(1e-9)).clamp(ROWS as f64 / 2.0, ROWS as f64);
    let fetched = |rows: f64| -> f64 {
        let lines = |query: &Query| query.visited(rows) * query.lines();
        queries.iter().map(lines).sum::<f64>() * line / rows
    };
    let together = fetched(rows);
    let outgrown = |query: &Query| match query.bytes() > cache as f64 {
        true => query.share * query.lines() * NEAR,
        false => 0.0,
    };
    let read = |pack: &Vec<usize>| {
        let of = |number: &usize| row_bytes(node, &star.groupings[queries[*number].grouping]);
        pack.iter().map(of).max().unwrap_or_default() as f64 * STREAM
    };
    let in_packs = fetched(rows * HELD as f64)
        + queries.iter().map(outgrown).sum::<f64>()
        + packs.iter().map(read).sum::<f64>();
    let whole = together + queries.iter().map(|query| query.share * query.pair()).sum::<f64>();
    together - in_packs > whole * WORTH
}
