//! Rows of a checkpoint: blocks of encoded columns, each with its own checksum.

use std::sync::Arc;

use super::fault::{corrupted, file_error};
use super::written::{Source, WrittenFile};
use super::{Decoder, Encoder, Malformed};
use crate::env::{Directory, File};
use crate::storage::CHUNK_ROWS;
use crate::types::{ChunkId, ColumnId, Error, Result, RowBlock, RowId, TableSchema, ValueRef};

const BLOCK_MAGIC: u32 = u32::from_le_bytes(*b"SBLK");
const BLOCK_HEADER: usize = 32;
/// Bytes of strings after which a block is closed although it could have more rows.
const BLOCK_HEAP: usize = 16 << 20;

/// Bytes that are written before they are synced. A commit's sync waits for what the disk has been given before: a
/// checkpoint that hands over a whole table at once would hold up commits for as long as that takes to write.
const SYNCED_AT: u64 = 4 << 20;

/// What a manifest says about a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DataFile {
    pub name: String,
    /// Random, so that a block of another file is never taken for one of this.
    pub file: u64,
    /// Rows that were written into it, dead ones and blocks that are not named any more among them.
    pub rows: u64,
    /// Those of its blocks that have living rows.
    pub blocks: Vec<BlockPlace>,
}

/// A block of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    /// Its number in the file.
    pub number: u64,
    /// Bytes before it.
    pub offset: u64,
    /// Rows in it.
    pub rows: u32,
    /// The positions of those that have ended since it was written, ascending.
    pub dead: Vec<u32>,
}

impl BlockPlace {
    /// Rows that have not ended.
    pub fn living(&self) -> u64 {
        u64::from(self.rows) - self.dead.len() as u64
    }
}

/// Writes rows into a new file.
pub(super) struct DataFileWriter {
    file: Arc<dyn File>,
    described: DataFile,
    schema: Arc<TableSchema>,
    ids: Vec<RowId>,
    block: RowBlock,
    /// Where the rows of the block begun, and of those before, came from.
    chunk: ChunkId,
    offsets: Vec<u16>,
    sources: Vec<Source>,
    written_sources: Vec<Arc<[Source]>>,
    /// Bytes written, and of them synced.
    length: u64,
    synced: u64,
}

fn cannot(name: &str, action: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| file_error(action, name, &error)
}

impl DataFileWriter {
    pub fn create(
        directory: &dyn Directory,
        name: String,
        file: u64,
        schema: Arc<TableSchema>,
    ) -> Result<DataFileWriter> {
        let handle = directory.create(&name).map_err(cannot(&name, "create"))?;
        let described = DataFile { name, file, rows: 0, blocks: Vec::new() };
        let (ids, block) = (Vec::new(), RowBlock::new(&schema));
        Ok(DataFileWriter {
            file: handle,
            described,
            schema,
            ids,
            block,
            chunk: ChunkId(0),
            offsets: Vec::new(),
            sources: Vec::new(),
            written_sources: Vec::new(),
            length: 0,
            synced: 0,
        })
    }

    /// Adds a row of the chunk begun. Ids may come in any order; rising ones take fewer bytes.
    pub fn row<'v>(
        &mut self,
        (offset, id): (u32, RowId),
        cell: impl Fn(ColumnId) -> ValueRef<'v>,
    ) -> Result<()> {
        self.offsets.push(u16::try_from(offset).expect("a chunk has fewer rows"));
        self.ids.push(id);
        for column in 0..self.schema.columns.len() {
            self.block.column_mut(column).push(cell(ColumnId(column as u32)));
        }
        self.block.end_row();
        let is_full = self.ids.len() == CHUNK_ROWS || self.block.heap() >= BLOCK_HEAP;
        if is_full { self.finish_block() } else { Ok(()) }
    }

    /// So many rows of a chunk follow: they begin a block where they would not fit into the one begun. Recovery
    /// makes a chunk of a block, and values that lie together stay together.
    pub fn begin_chunk(&mut self, chunk: ChunkId, rows: usize) -> Result<()> {
        let fit = self.ids.is_empty() || self.ids.len() + rows <= CHUNK_ROWS;
        if !fit {
            self.finish_block()?;
        }
        self.end_source();
        self.chunk = chunk;
        Ok(())
    }

    fn end_source(&mut self) {
        if !self.offsets.is_empty() {
            let offsets = std::mem::take(&mut self.offsets);
            self.sources.push(Source::Chunk(self.chunk, offsets.into()));
        }
    }

    /// A header's place, the ids, the columns.
    fn encode_block(&mut self) -> Vec<u8> {
        let mut encoder = Encoder { bytes: vec![0; BLOCK_HEADER] };
        let mut previous = 0;
        for id in self.ids.drain(..) {
            encoder.signed(id.0.wrapping_sub(previous) as i64);
            previous = id.0;
        }
        encoder.block(&std::mem::replace(&mut self.block, RowBlock::new(&self.schema)));
        encoder.bytes
    }

    fn finish_block(&mut self) -> Result<()> {
        let rows = self.ids.len() as u32;
        let mut bytes = self.encode_block();
        let length = u32::try_from(bytes.len() - BLOCK_HEADER).expect("blocks are cut far below");
        bytes[..4].copy_from_slice(&BLOCK_MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        bytes[12..16].copy_from_slice(&rows.to_le_bytes());
        let number = self.described.blocks.len() as u64;
        bytes[16..24].copy_from_slice(&number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.described.file.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        let written = self.file.write_at(self.length, &bytes);
        written.map_err(cannot(&self.described.name, "write"))?;
        let place = BlockPlace { number, offset: self.length, rows, dead: Vec::new() };
        self.described.blocks.push(place);
        self.described.rows += u64::from(rows);
        self.end_source();
        self.written_sources.push(self.sources.drain(..).collect());
        self.length += bytes.len() as u64;
        if self.length - self.synced >= SYNCED_AT {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync().map_err(cannot(&self.described.name, "sync"))?;
        self.synced = self.length;
        Ok(())
    }

    /// Makes the file durable (its name is not yet: the directory must be synced); it and its bytes.
    pub fn finish(mut self) -> Result<(WrittenFile, u64)> {
        if !self.ids.is_empty() {
            self.finish_block()?;
        }
        self.sync()?;
        let written = WrittenFile { file: self.described, sources: self.written_sources };
        Ok((written, self.length))
    }
}

/// Hands the living rows of a data file to `take`, block by block, in file order.
pub(super) fn read_data_file(
    directory: &dyn Directory,
    described: &DataFile,
    mut take: impl FnMut(&BlockPlace, &[RowId], &RowBlock) -> Result<()>,
) -> Result<()> {
    let name = &described.name;
    let file = directory.open(name).map_err(cannot(name, "open"))?;
    let mut bytes = Vec::new();
    for place in &described.blocks {
        let damaged = |what| corrupted(name, place.offset, what);
        read_block(&*file, place.offset, &mut bytes).map_err(|_| damaged("unreadable block"))?;
        let count = check_block(&bytes, described.file, place.number);
        let count = count.ok_or_else(|| damaged("damaged block"))?;
        let (ids, block) =
            decode_rows(&bytes[BLOCK_HEADER..], count).map_err(|_| damaged("malformed block"))?;
        if count != place.rows || place.dead.last().is_some_and(|last| *last >= count) {
            return Err(damaged("a block with another number of rows"));
        }
        match place.dead.is_empty() {
            true => take(place, &ids, &block)?,
            false => {
                let (ids, block) = without(&place.dead, &ids, &block);
                take(place, &ids, &block)?;
            }
        }
    }
    Ok(())
}

/// Rows but those at the positions in `dead`, which ascend.
fn without(dead: &[u32], ids: &[RowId], block: &RowBlock) -> (Vec<RowId>, RowBlock) {
    let mut dead = dead.iter().copied().peekable();
    let living: Vec<usize> =
        (0..ids.len()).filter(|row| dead.next_if_eq(&(*row as u32)).is_none()).collect();
    (living.iter().map(|row| ids[*row]).collect(), block.select(&living))
}

fn read_block(file: &dyn File, at: u64, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    bytes.resize(BLOCK_HEADER, 0);
    file.read_at(at, bytes)?;
    let length = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes")) as usize;
    if (at as usize).saturating_add(BLOCK_HEADER + length) > file.len()? as usize {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    bytes.resize(BLOCK_HEADER + length, 0);
    file.read_at(at + BLOCK_HEADER as u64, &mut bytes[BLOCK_HEADER..])
}

/// The number of rows of an intact block.
fn check_block(bytes: &[u8], file: u64, block: u64) -> Option<u32> {
    let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let intact = half(0) == BLOCK_MAGIC
        && half(4) == crc32c::crc32c(&bytes[8..])
        && (word(16), word(24)) == (block, file);
    intact.then(|| half(12))
}

fn decode_rows(bytes: &[u8], count: u32) -> Result<(Vec<RowId>, RowBlock), Malformed> {
    let mut from = Decoder::new(bytes);
    let mut previous = 0u64;
    let mut ids = Vec::new();
    for _ in 0..count {
        previous = previous.wrapping_add(from.signed()? as u64);
        ids.push(RowId(previous));
    }
    let block = from.block()?;
    let fits = from.is_empty() && block.rows() == ids.len();
    fits.then_some((ids, block)).ok_or(Malformed)
}
