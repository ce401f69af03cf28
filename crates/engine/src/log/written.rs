//! What the newest checkpoint holds of each chunk, so that the next one writes only what has changed since.
//!
//! Row versions never change: of a chunk that got no new rows only some have ended since. So its rows in an older data
//! file stay, and the next manifest says which of them are dead. A chunk that has grown is written again, and so are all
//! rows of a file that is mostly dead: a checkpoint takes at most about twice the bytes of its living rows, and what is written
//! again was paid for by as many rows that ended.
//!
//! Rows are told by chunk and offset. Reclaiming moves rows to other chunks: what it leaves is dead here and written there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::data_file::{BlockPlace, DataFile};
use crate::storage::TableView;
use crate::types::{ChunkId, ColumnSchema, TableId, TableSchema};

/// By table.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(super) tables: HashMap<TableId, WrittenTable>,
}

/// The files that hold a table.
#[derive(Debug)]
pub(super) struct WrittenTable {
    /// The table when they were written: with other columns they do not fit any more.
    pub schema: Arc<TableSchema>,
    pub files: Vec<WrittenFile>,
}

/// A data file and where its rows came from. All rows of a chunk are in one file.
#[derive(Clone, Debug)]
pub(super) struct WrittenFile {
    pub file: DataFile,
    /// By block of the file: its rows, in order.
    pub sources: Vec<Arc<[Source]>>,
}

/// Where a run of a block's rows came from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Rows at these offsets of a chunk, ascending.
    Chunk(ChunkId, Arc<[u16]>),
    /// So many rows that are dead or were written again elsewhere.
    Gone(u32),
}

/// What of a table stays where it is.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub files: Vec<WrittenFile>,
    /// Chunks whose visible rows are all in those files.
    pub chunks: HashSet<ChunkId>,
}

/// What of the files still holds for a newer view of their table.
pub(super) fn keep(table: Option<&WrittenTable>, view: &TableView) -> Kept {
    let mut kept = Kept::default();
    let Some(table) = table.filter(|table| have_same_columns(&table.schema, view.schema())) else {
        return kept;
    };
    for file in &table.files {
        let living = living_rows(file, view, &grown_chunks(file, view));
        let rows: u64 = living.file.blocks.iter().map(BlockPlace::living).sum();
        if rows * LIVING_SHARE >= file.file.rows {
            kept.chunks.extend(living.chunks());
            kept.files.push(living);
        }
    }
    kept
}

/// A file stays while one of so many of its rows lives.
const LIVING_SHARE: u64 = 2;

impl WrittenFile {
    fn chunks(&self) -> impl Iterator<Item = ChunkId> {
        self.sources.iter().flat_map(|sources| sources.iter()).filter_map(|source| match source {
            Source::Chunk(chunk, _) => Some(*chunk),
            Source::Gone(_) => None,
        })
    }
}

fn have_same_columns(one: &TableSchema, other: &TableSchema) -> bool {
    let same = |(a, b): (&ColumnSchema, &ColumnSchema)| {
        (a.data_type, a.dropped) == (b.data_type, b.dropped)
    };
    one.columns.len() == other.columns.len() && one.columns.iter().zip(&other.columns).all(same)
}

/// Chunks of a file that have visible rows which the file has not.
fn grown_chunks(file: &WrittenFile, view: &TableView) -> HashSet<ChunkId> {
    let mut unwritten: HashMap<ChunkId, usize> = HashMap::new();
    for source in file.sources.iter().flat_map(|sources| sources.iter()) {
        let Source::Chunk(chunk, offsets) = source else { continue };
        let Some(visible) = visible(view, *chunk) else { continue };
        let living = offsets.len() - dead_positions(offsets, &visible).count();
        *unwritten.entry(*chunk).or_insert(visible.len()) -= living;
    }
    unwritten.into_iter().filter(|(_, rows)| *rows > 0).map(|(chunk, _)| chunk).collect()
}

/// The file without the rows that the view does not see any more, or that are written again with their chunk.
fn living_rows(file: &WrittenFile, view: &TableView, grown: &HashSet<ChunkId>) -> WrittenFile {
    let blocks = file.file.blocks.iter().zip(&file.sources);
    let blocks = blocks.map(|(block, sources)| living_block(block, sources, view, grown));
    let (blocks, sources) = blocks.filter(|(block, _)| block.living() > 0).unzip();
    WrittenFile { file: DataFile { blocks, ..file.file.clone() }, sources }
}

fn living_block(
    block: &BlockPlace,
    sources: &[Source],
    view: &TableView,
    grown: &HashSet<ChunkId>,
) -> (BlockPlace, Arc<[Source]>) {
    let (mut dead, mut first) = (Vec::new(), 0);
    let living = sources.iter().map(|source| {
        let rows = source.rows();
        let visible = match source {
            Source::Chunk(chunk, _) if !grown.contains(chunk) => visible(view, *chunk),
            _ => None,
        };
        let left = match (source, visible) {
            (Source::Chunk(_, offsets), Some(visible)) => {
                dead.extend(dead_positions(offsets, &visible).map(|at| first + at as u32));
                source.clone()
            }
            _ => {
                dead.extend(first..first + rows);
                Source::Gone(rows)
            }
        };
        first += rows;
        left
    });
    let living = living.collect();
    (BlockPlace { dead, ..block.clone() }, living)
}

impl Source {
    /// The sources of a block of which recovery has made a chunk, without its dead rows.
    pub fn of_restored(block: &BlockPlace, chunk: ChunkId) -> Arc<[Source]> {
        let mut sources = Vec::new();
        let (mut position, mut offset) = (0, 0);
        for dead in block.dead.iter().copied().chain([block.rows]) {
            let living = dead - position;
            if living > 0 {
                let offsets = (offset..offset + living).map(|offset| offset as u16);
                sources.push(Source::Chunk(chunk, offsets.collect()));
            }
            if dead < block.rows {
                sources.push(Source::Gone(1));
            }
            (position, offset) = (dead + 1, offset + living);
        }
        sources.into()
    }

    fn rows(&self) -> u32 {
        match self {
            Source::Chunk(_, offsets) => offsets.len() as u32,
            Source::Gone(rows) => *rows,
        }
    }
}

/// The offsets that a view sees of a chunk; `None` where the chunk is gone.
fn visible(view: &TableView, chunk: ChunkId) -> Option<Vec<u32>> {
    let chunk = view.stored_chunk(chunk)?;
    let mut visible = Vec::new();
    chunk.visible(view.version(), 0..chunk.rows() as u32, &mut visible);
    Some(visible)
}

/// The positions in `offsets` of those that are not visible; both ascend.
fn dead_positions<'a>(offsets: &'a [u16], visible: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let mut visible = visible.iter().copied().peekable();
    offsets.iter().enumerate().filter_map(move |(position, offset)| {
        let offset = u32::from(*offset);
        while visible.next_if(|seen| *seen < offset).is_some() {}
        (visible.peek() != Some(&offset)).then_some(position)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_are_those_that_are_not_seen() {
        let dead = |offsets: &[u16], visible: &[u32]| -> Vec<usize> {
            dead_positions(offsets, visible).collect()
        };
        assert!(dead(&[0, 1, 2, 3], &[0, 1, 2, 3, 4]).is_empty());
        assert_eq!(dead(&[0, 2, 5, 7], &[1, 2, 7, 9]), [0, 2]);
        assert_eq!(dead(&[3, 4], &[]), [0, 1]);
    }

    #[test]
    fn what_was_dead_before_a_restart_stays_so() {
        let sources = |dead: &[u32]| {
            let block = BlockPlace { number: 0, offset: 0, rows: 6, dead: dead.into() };
            let sources = Source::of_restored(&block, ChunkId(3));
            assert_eq!(sources.iter().map(Source::rows).sum::<u32>(), 6);
            sources.iter().map(|source| format!("{source:?}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sources(&[]), "Chunk(ChunkId(3), [0, 1, 2, 3, 4, 5])");
        let interrupted =
            "Gone(1) Chunk(ChunkId(3), [0, 1]) Gone(1) Gone(1) Chunk(ChunkId(3), [2])";
        assert_eq!(sources(&[0, 3, 4]), interrupted);
        assert_eq!(sources(&[5]), "Chunk(ChunkId(3), [0, 1, 2, 3, 4]) Gone(1)");
    }
}
