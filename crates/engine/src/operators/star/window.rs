//! Blocks of rows that are held back until each pack has its turn with all of them.

use super::block::{Block, Columns, Computed};
use crate::operators::Batch;

/// Blocks that are held: a pack's tables are fetched once for all of them.
pub(super) const HELD: usize = if cfg!(test) { 2 } else { 16 };
/// Pairs beyond which fewer blocks do: 32 MiB of them.
const MOST_PAIRS: usize = 1 << 24;

/// A block and what is read of it.
#[derive(Debug)]
pub(super) struct Held {
    pub block: Block,
    pub columns: Columns,
    /// By active grouping; `None` where none of its slots wants a row.
    pub computed: Vec<Option<Computed>>,
    /// Reserved for it.
    bytes: usize,
}

/// One worker's blocks.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub held: Vec<Held>,
    pairs: usize,
    /// To be filled again.
    free: Vec<Block>,
}

impl Window {
    /// Holds a block, and leaves an empty one in its place. Says whether the next one should wait for the packs' turns: there are
    /// many, or no memory is left for more.
    pub fn hold(
        &mut self,
        batch: &Batch<'_>,
        block: &mut Block,
        columns: Columns,
        computed: Vec<Option<Computed>>,
    ) -> bool {
        let pairs = block.buckets.pairs();
        let arguments =
            columns.len() + computed.iter().flatten().map(Computed::count).sum::<usize>();
        let needed = 2 * pairs + block.bytes() + 8 * arguments * block.locations.len();
        let granted = batch.budget.reserve(needed).is_ok();
        let bytes = if granted { needed } else { 0 };
        let block = std::mem::replace(block, self.free.pop().unwrap_or_default());
        self.held.push(Held { block, columns, computed, bytes });
        self.pairs += pairs;
        !granted || self.held.len() >= HELD || self.pairs >= MOST_PAIRS
    }

    /// Lets go of all blocks.
    pub fn clear(&mut self, batch: &Batch<'_>) {
        batch.budget.release(self.held.iter().map(|held| held.bytes).sum());
        self.pairs = 0;
        self.free.extend(self.held.drain(..).map(|mut held| {
            held.block.clear();
            held.block
        }));
    }
}
