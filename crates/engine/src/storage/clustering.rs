//! Which values of an integer column lie in one chunk only: rows that came in the order of a key lie so, all but
//! those that were written since. Called by [`crate::scan::TableBatch`] for groupings, which need not put such
//! values' rows together with those of other chunks.

use hashbrown::HashMap;

use super::{Chunk, TableView};
use crate::types::{ChunkId, ColumnId, DataType, Value, ValueRef};

/// Up to so many chunks beside the clustered ones have their values read, all of them: while a chunk grows nothing is known
/// of it, what a load leaves over lies with what another did, and updates scatter what was in order.
const OTHERS: usize = 16;
/// More may be, one of so many: reading more would take longer than a grouping gains by it.
const OTHERS_OF: usize = 16;
/// Fewer chunks are not worth it.
const CHUNKS: usize = 4;

/// The values of a column that one chunk has and no other.
#[derive(Debug)]
pub struct Clustering {
    /// Smallest and largest value of the chunks whose ranges touch each other at most at their ends.
    ranges: HashMap<ChunkId, (i64, i64)>,
    /// Values that may be in several chunks, ascending.
    spread: Vec<i64>,
}

impl Clustering {
    /// Of all row versions that the view may see; `None` where chunks' ranges overlap too much. Costs a look at each
    /// chunk's zone and at the values of the chunks that are not clustered.
    pub(super) fn of(view: &TableView, column: ColumnId) -> Option<Clustering> {
        use DataType::*;
        let data_type = view.schema().columns[column.index()].data_type;
        let chunks = view.chunks();
        if chunks.len() < CHUNKS || !matches!(data_type, SmallInt | Integer | BigInt) {
            return None;
        }
        let mut known: Vec<(i64, i64, ChunkId)> = Vec::with_capacity(chunks.len());
        known.extend(chunks.iter().filter_map(|(id, chunk)| {
            let (least, most) = range(chunk, column)?;
            Some((most, least, *id))
        }));
        // Ranges in order of their ends: whoever begins behind the last one taken is taken, which leaves the fewest out.
        known.sort_unstable();
        let mut ranges = HashMap::with_capacity(known.len());
        let mut spread = Vec::new();
        let mut end = None;
        for (most, least, id) in known {
            if end.is_none_or(|end| least >= end) {
                spread.extend(end.filter(|end| *end == least));
                ranges.insert(id, (least, most));
                end = Some(most);
            }
        }
        let others = chunks.len() - ranges.len();
        if others > OTHERS.max(chunks.len() / OTHERS_OF) || ranges.len() < CHUNKS {
            return None;
        }
        for (id, chunk) in chunks.iter().filter(|(id, _)| !ranges.contains_key(id)) {
            let offsets: Vec<u32> = (0..chunk.rows() as u32).collect();
            view.append_whole_numbers(column, *id, &offsets, &mut spread)?;
        }
        // Stable, because that sort takes runs as they are.
        spread.sort();
        spread.dedup();
        Some(Clustering { ranges, spread })
    }

    /// Whether a chunk has values of its own.
    pub fn is_clustered(&self, chunk: ChunkId) -> bool {
        self.ranges.contains_key(&chunk)
    }

    /// The values of a clustered chunk that others may have too, ascending.
    pub fn spread(&self, chunk: ChunkId) -> &[i64] {
        let Some(&(least, most)) = self.ranges.get(&chunk) else { return &self.spread };
        let from = self.spread.partition_point(|value| *value < least);
        let to = self.spread.partition_point(|value| *value <= most);
        &self.spread[from..to]
    }
}

/// The values of a chunk without NULL to which no row is added any more.
fn range(chunk: &Chunk, column: ColumnId) -> Option<(i64, i64)> {
    let zone = chunk.zone(column)?;
    let number = |value: &Option<Value>| match value.as_ref()?.borrow() {
        ValueRef::SmallInt(value) => Some(i64::from(value)),
        ValueRef::Integer(value) => Some(i64::from(value)),
        ValueRef::BigInt(value) => Some(value),
        _ => None,
    };
    (zone.nulls == 0).then_some(())?;
    Some((number(&zone.min)?, number(&zone.max)?))
}
