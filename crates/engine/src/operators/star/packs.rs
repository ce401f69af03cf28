//! Packs: queries of a star whose aggregation tables fit the core's second cache together ("Cache-aware batch sharing",
//! section 4.4).
//!
//! That paper scans the table once for each pack. Here a row meets the dimensions once for all queries, whatever their packs;
//! what has turns is aggregation. Each worker holds blocks of rows back ([`super::window`]), and then pack after pack
//! takes all of them in: the pack's tables stay in the cache over many blocks, instead of being fetched for each.
//! Holding back and reading the blocks once for each pack costs something, too: packs are made where all tables together
//! outgrow the cache, a sample says how large each is ([`Sample`]), and what is spared is more.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::coverage::CacheClass;
use super::draw::Draw;
use super::first_fit::{Item, pack};
use super::pack_cost::{Query, block_bytes, may_pay, pays};
use super::sample::Sample;
use super::slot_groups::SlotGroups;
use super::{Star, StarNode};
use crate::operators::Batch;
use crate::scan::TableBatch;
use crate::storage::CHUNK_ROWS;
use crate::types::Slot;

/// Whether a star's queries are aggregated in packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Where that is predicted to cost less.
    Automatic,
    /// Wherever there are several queries with tables of their own.
    Always,
    /// All queries of a batch together.
    Never,
}

/// How a batch's stars put their queries into packs.
#[derive(Clone, Copy, Debug)]
pub struct PackOptions {
    /// Whether they do.
    pub packing: Packing,
    /// Bytes of a core's second cache, which a pack's tables should fit together with a block (the paper's C).
    pub cache: usize,
    /// Of the sample and the lottery.
    pub seed: u64,
}

/// So many times as long as another of its pack a query may take (the paper's d): all of a batch are answered together,
/// but in its turn a pack should not work for one of them only. The paper takes 1.25 where packs are answered one by one;
/// less than 2 makes more packs, each of which reads all blocks.
const RATIO: f64 = 2.0;

/// A star's queries in packs.
#[derive(Debug)]
pub(super) struct Packs {
    /// By pack, active groupings with slots of each.
    pub packs: Vec<Vec<(usize, Vec<Slot>)>>,
    /// By ticket, the pack that draws it: one for each query.
    tickets: Vec<u32>,
    /// Of the lottery.
    pub seed: u64,
    queries: Vec<Query>,
}

/// So many batches believe a sample that said packs do not pay. Drawing one takes a hundredth of a batch's time, by one
/// worker while the others wait.
const BELIEVED: usize = 15;
/// So many times its queries are other ones.
const MORE: f64 = 1.25;

/// The last sample's word that packs do not pay.
#[derive(Debug, Default)]
pub struct LastSample {
    /// Queries that it was drawn for.
    queries: AtomicUsize,
    /// Batches that will still believe it.
    batches: AtomicUsize,
}

impl LastSample {
    /// Whether a batch of so many queries believes it.
    fn says_no(&self, queries: usize) -> bool {
        let is_like = queries as f64 <= self.queries.load(Ordering::Relaxed) as f64 * MORE;
        let less = |batches: usize| batches.checked_sub(1);
        is_like && self.batches.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn note(&self, queries: usize) {
        self.queries.store(queries, Ordering::Relaxed);
        self.batches.store(BELIEVED, Ordering::Relaxed);
    }
}

/// What EXPLAIN ANALYZE tells of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// How many packs there were.
    pub packs: usize,
    /// Queries in its own.
    pub queries: usize,
    /// Its class.
    pub class: CacheClass,
    /// Bytes of its working set, as far as the sample can tell.
    pub bytes: usize,
}

impl Star {
    /// Puts its queries into packs where that pays; asks and notes what `last_sample` says of that.
    pub fn pack(
        &mut self,
        node: &StarNode,
        batch: &Batch<'_>,
        fact: &TableBatch,
        options: PackOptions,
        last_sample: &LastSample,
    ) {
        let PackOptions { packing, cache, seed } = options;
        let rows = fact.chunks().len() as f64 * CHUNK_ROWS as f64;
        let expected = self.expected(node, rows);
        let wanted = match packing {
            Packing::Never => false,
            Packing::Always => expected.len() > 1,
            Packing::Automatic => {
                may_pay(&expected, rows, cache) && !last_sample.says_no(expected.len())
            }
        };
        if !wanted {
            return;
        }
        let mut draw = Draw::new(seed);
        let sample = Sample::new(self, batch, fact, &mut draw);
        let capacity = cache - block_bytes(self, node, cache);
        let queries = self.sampled(&sample, &expected, capacity);
        let packs = packs(&queries, capacity);
        if packing == Packing::Always || pays(self, node, &queries, &packs, cache) {
            self.packs = Some(Packs::new(self, queries, &packs, draw.bits()));
        } else {
            last_sample.note(queries.len());
        }
    }

    /// Its queries without bins over so many rows, as dimensions and group numbers let expect them.
    fn expected(&self, node: &StarNode, rows: f64) -> Vec<Query> {
        let Some(shares) = &self.shares else { return Vec::new() };
        let queries = self.groupings_of(false).flat_map(|(position, grouping)| {
            let aggregates = node.groupings[grouping.number].aggregates.len();
            let groups: f64 = grouping
                .keys
                .iter()
                .map(|(column, _)| self.columns[*column].representatives.len() as f64)
                .product();
            let query = move |&slot: &Slot| {
                let (class, share) = (CacheClass::NeverShare(0), shares.of(slot));
                let groups = groups.min(rows * share);
                Query { slot, grouping: position, class, groups, share, aggregates }
            };
            grouping.slots.iter().map(query)
        });
        queries.collect()
    }

    /// The same queries as the sample shows them.
    fn sampled(&self, sample: &Sample, expected: &[Query], capacity: usize) -> Vec<Query> {
        let mut queries = Vec::with_capacity(expected.len());
        for own in expected.chunk_by(|a, b| a.grouping == b.grouping) {
            let most = capacity / SlotGroups::visited(own[0].aggregates);
            let classes = sample.classes(self, &self.groupings[own[0].grouping], most);
            queries.extend(own.iter().zip(classes).map(|(query, class)| {
                let groups = match class {
                    CacheClass::AlwaysShare => 0.0,
                    CacheClass::CouldShare(groups) => groups as f64,
                    // The sample cannot tell: as many as there may be.
                    CacheClass::NeverShare(_) => query.groups,
                };
                Query { class, groups, share: sample.share(query.slot), ..*query }
            }));
        }
        queries
    }

    /// What is to be told of a slot.
    pub fn packed(&self, slot: Slot) -> Option<Packed> {
        let packs = self.packs.as_ref()?;
        let query = packs.queries.iter().find(|query| query.slot == slot)?;
        let slots = |pack: &Vec<(usize, Vec<Slot>)>| pack.iter().map(|own| own.1.len()).sum();
        let has = |pack: &&Vec<(usize, Vec<Slot>)>| pack.iter().any(|own| own.1.contains(&slot));
        Some(Packed {
            packs: packs.packs.len(),
            queries: packs.packs.iter().find(has).map_or(0, slots),
            class: query.class,
            bytes: query.estimated_bytes(),
        })
    }

    /// How its queries are packed, for EXPLAIN ANALYZE.
    pub fn packing(&self) -> Option<String> {
        let packs = self.packs.as_ref()?;
        let count =
            |is: fn(&CacheClass) -> bool| packs.queries.iter().filter(|q| is(&q.class)).count();
        Some(format!(
            "{} packs of {} queries ({} always share, {} could share, {} never share; working sets of at least {} KiB)",
            packs.packs.len(),
            packs.queries.len(),
            count(|class| *class == CacheClass::AlwaysShare),
            count(|class| matches!(class, CacheClass::CouldShare(_))),
            count(|class| matches!(class, CacheClass::NeverShare(_))),
            packs.queries.iter().map(Query::estimated_bytes).sum::<usize>() >> 10,
        ))
    }
}

impl Packs {
    fn new(star: &Star, queries: Vec<Query>, packs: &[Vec<usize>], seed: u64) -> Packs {
        let by_grouping = |pack: &Vec<usize>| {
            let mut pack: Vec<&Query> = pack.iter().map(|number| &queries[*number]).collect();
            pack.sort_by_key(|query| (query.grouping, query.slot));
            let runs = pack.chunk_by(|a, b| a.grouping == b.grouping);
            runs.map(|own| (own[0].grouping, own.iter().map(|q| q.slot).collect())).collect()
        };
        let mut made: Vec<Vec<(usize, Vec<Slot>)>> = packs.iter().map(by_grouping).collect();
        // Rows of slots with bins come here only where these cannot take them.
        let binned = star.groupings.iter().enumerate().zip(&star.bins);
        let binned = binned.filter(|(_, bins)| bins.is_some());
        let binned: Vec<_> = binned.map(|((n, own), _)| (n, own.slots.clone())).collect();
        made.extend((!binned.is_empty()).then_some(binned));
        let tickets = |(number, pack): (u32, &Vec<(usize, Vec<Slot>)>)| {
            let queries: usize = pack.iter().map(|(_, slots)| slots.len()).sum();
            std::iter::repeat_n(number, queries)
        };
        let tickets = (0..).zip(&made).flat_map(tickets).collect();
        Packs { packs: made, tickets, seed, queries }
    }

    /// The order of the packs' turns, by lottery: the next one is drawn with tickets in proportion to queries (section
    /// 4.5.1) of those that have had no turn yet, so that nobody waits for longer than the others take once.
    pub fn turns(&self, draw: &mut Draw) -> Vec<usize> {
        let mut has_turn = vec![false; self.packs.len()];
        let drawn = draw.permutation(self.tickets.len()).into_iter();
        let packs = drawn.map(|ticket| self.tickets[ticket as usize] as usize);
        packs.filter(|pack| !std::mem::replace(&mut has_turn[*pack], true)).collect()
    }
}

/// Positions of the queries of each pack.
fn packs(queries: &[Query], capacity: usize) -> Vec<Vec<usize>> {
    let item = |query: &Query| Item {
        class: query.class,
        bytes: query.estimated_bytes(),
        time: query.share * query.pair(),
    };
    let items: Vec<Item> = queries.iter().map(item).collect();
    pack(&items, capacity, RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_says_no_for_a_while_by_batches_like_its_own() {
        let last_sample = LastSample::default();
        assert!(!last_sample.says_no(100), "none was drawn");
        last_sample.note(100);
        assert!(!last_sample.says_no(126), "many more queries");
        assert_eq!((0..100).filter(|_| last_sample.says_no(125)).count(), BELIEVED);
    }
}
