//! A bounded sample of the fact table's rows in random order, each with who wants it and which groups it falls into.

use std::ops::Range;

use super::coverage::{CacheClass, classify};
use super::draw::Draw;
use super::group_numbers::{GroupNumbers, key_columns};
use super::key_places::{ChunkPart, PartPlaces};
use super::narrow::{Narrowing, Order, narrow};
use super::pairs::{Buckets, MOST_ROWS, flatten};
use super::references::append_references;
use super::{ActiveGrouping, Star};
use crate::operators::Batch;
use crate::scan::{ChunkRows, TableBatch};
use crate::storage::CHUNK_ROWS;
use crate::types::{ChunkId, Slot};

/// Of so many rows side by side one is drawn.
const STEP: usize = 8;
/// Chunks that rows are drawn from: 65,536 rows, about what the paper takes (section 5).
const MOST_CHUNKS: usize = MOST_ROWS / (CHUNK_ROWS / STEP);

/// Rows of the fact table in random order.
#[derive(Debug)]
pub(super) struct Sample {
    /// How many, those that nobody wants among them.
    rows: usize,
    /// By slot, the rows that it wants.
    buckets: Buckets,
    /// By root, what rows refer to; none of roots by which nobody groups.
    references: Vec<Vec<u32>>,
}

/// Sampled rows under construction; a row is known by its place in the random order.
struct Drawing<'a> {
    star: &'a Star,
    batch: &'a Batch<'a>,
    order: Order,
    part_places: PartPlaces,
    /// By row as it is drawn, its place in the random order.
    shuffled: Vec<u32>,
    /// By place, who wants the row.
    words: Vec<u64>,
    references: Vec<Vec<u32>>,
}

impl Sample {
    /// Draws from at most half of the chunks that are to be scanned.
    pub fn new(star: &Star, batch: &Batch<'_>, fact: &TableBatch, draw: &mut Draw) -> Sample {
        let all = fact.chunks();
        let count = (all.len() / 2).clamp(all.len().min(1), MOST_CHUNKS);
        // The writer may append to the last chunk meanwhile: how many rows there are is asked once.
        let sized = |n: &u32| (all[*n as usize], star.fact.chunk(all[*n as usize]).rows());
        let chunks: Vec<(ChunkId, usize)> =
            draw.permutation(all.len())[..count].iter().map(sized).collect();
        let rows: usize = chunks.iter().map(|(_, rows)| rows.div_ceil(STEP)).sum();
        let mut drawing = Drawing::new(star, batch, draw.permutation(rows));
        let mut first = 0;
        for (chunk, rows) in chunks {
            drawing.add(first..first + rows.div_ceil(STEP), chunk, fact.scan_rows(chunk), draw);
            first += rows.div_ceil(STEP);
        }
        let (mut pairs, mut buckets) = (Vec::new(), Buckets::default());
        flatten(&drawing.words, &star.words.numbers, 0, &mut pairs);
        buckets.fill(batch.sets.slots(), &pairs);
        Sample { rows, buckets, references: drawing.references }
    }

    /// The share of the rows that a slot wants.
    pub fn share(&self, slot: Slot) -> f64 {
        self.buckets.of(slot.index()).len() as f64 / self.rows.max(1) as f64
    }

    /// Classifies the slots of a grouping, of which `most` groups fit the cache.
    pub fn classes(&self, star: &Star, grouping: &ActiveGrouping, most: usize) -> Vec<CacheClass> {
        let pairs = grouping.slots.iter().map(|slot| self.buckets.of(slot.index()).len()).sum();
        let keys = key_columns(star, grouping, &self.references);
        let numbers = GroupNumbers::new(keys, self.rows, pairs);
        let mut groups = Vec::new();
        let class = |slot: &Slot| {
            let rows = self.buckets.of(slot.index());
            numbers.look_up(rows, &mut groups);
            classify(self.rows, rows, &groups, most)
        };
        grouping.slots.iter().map(class).collect()
    }
}

impl<'a> Drawing<'a> {
    fn new(star: &'a Star, batch: &'a Batch<'a>, shuffled: Vec<u32>) -> Drawing<'a> {
        let rows = shuffled.len();
        let references = |root: &(_, usize)| match star.is_grouped_by(root.1) {
            true => vec![0; rows],
            false => Vec::new(),
        };
        Drawing {
            star,
            batch,
            order: Order::new(star.filters()),
            part_places: PartPlaces::default(),
            words: vec![0; rows * star.words.width()],
            references: star.roots.iter().map(references).collect(),
            shuffled,
        }
    }

    /// Draws rows of a chunk, whose numbers in the sample are `drawn`. One of each [`STEP`] is looked at, whether the scan
    /// left it or not.
    fn add(&mut self, drawn: Range<usize>, chunk: ChunkId, found: ChunkRows, draw: &mut Draw) {
        let star = self.star;
        let offsets = (0..drawn.len()).map(|number| number * STEP + draw.below(STEP));
        let positions: Vec<u32> = offsets
            .filter_map(|offset| found.rows.binary_search(&(offset as u32)).ok())
            .map(|position| position as u32)
            .collect();
        let rows: Vec<u32> =
            positions.iter().map(|position| found.rows[*position as usize]).collect();
        let sets = &found.sets.take(&positions);
        let part = ChunkPart { id: chunk, chunk: star.fact.chunk(chunk), rows: &rows };
        let (filters, table, words) = (star.filters(), self.batch.sets, &star.words);
        self.part_places.start(star.roots.len());
        let narrowing = Narrowing { filters, table, words, part, sets };
        let left = narrow(&narrowing, &mut self.order, &mut self.part_places);
        let place = |row: &u32| self.shuffled[drawn.start + *row as usize / STEP] as usize;
        let width = words.width();
        for (row, words) in left.rows.iter().zip(left.words.chunks_exact(width)) {
            self.words[place(row) * width..][..width].copy_from_slice(words);
        }
        let mut at = Vec::new();
        for (root, own) in self.references.iter_mut().enumerate().filter(|(_, own)| !own.is_empty())
        {
            at.clear();
            append_references(star, root, &part, &left, &self.part_places, &mut at);
            left.rows.iter().zip(&at).for_each(|(row, &at)| own[place(row)] = at);
        }
    }
}
