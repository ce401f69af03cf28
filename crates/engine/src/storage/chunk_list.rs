//! The chunks of a table that exist at one time.

use std::sync::Arc;

use super::Chunk;
use crate::types::ChunkId;

/// Chunks ascending by id, found by id without a search. Never changes: the table replaces it.
#[derive(Debug)]
pub(super) struct ChunkList {
    chunks: Vec<(ChunkId, Arc<Chunk>)>,
    /// Open addressing by the low bits of the id: position + 1, or 0. At least twice as many as
    /// chunks; ids are mostly consecutive, so the first slot mostly holds.
    slots: Box<[u32]>,
}

impl ChunkList {
    /// A list of these chunks, ascending by id.
    pub fn new(chunks: Vec<(ChunkId, Arc<Chunk>)>) -> ChunkList {
        let mut slots = vec![0; (chunks.len() * 2 + 1).next_power_of_two()].into_boxed_slice();
        let mask = slots.len() - 1;
        for (position, (id, _)) in chunks.iter().enumerate() {
            let mut slot = id.index() & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = position as u32 + 1;
        }
        ChunkList { chunks, slots }
    }

    /// All chunks, ascending by id.
    #[inline]
    pub fn chunks(&self) -> &[(ChunkId, Arc<Chunk>)] {
        &self.chunks
    }

    /// The chunk of that id.
    #[inline]
    pub fn get(&self, id: ChunkId) -> Option<&Arc<Chunk>> {
        let mask = self.slots.len() - 1;
        let mut slot = id.index() & mask;
        loop {
            let position = self.slots[slot].checked_sub(1)?;
            let (found, chunk) = &self.chunks[position as usize];
            if *found == id {
                return Some(chunk);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// With more chunks at the end.
    pub fn with(&self, more: impl ExactSizeIterator<Item = Arc<Chunk>>) -> ChunkList {
        let mut chunks = Vec::with_capacity(self.chunks.len() + more.len());
        chunks.extend_from_slice(&self.chunks);
        chunks.extend(more.map(|chunk| (chunk.id, chunk)));
        ChunkList::new(chunks)
    }

    /// Without the chunks of which `gone` is true.
    pub fn without(&self, gone: impl Fn(&Chunk) -> bool) -> ChunkList {
        ChunkList::new(self.chunks.iter().filter(|(_, chunk)| !gone(chunk)).cloned().collect())
    }
}
