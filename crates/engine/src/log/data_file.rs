//! Rows of a checkpoint: blocks of encoded columns, each with its own checksum.

use std::sync::Arc;

use super::fault::{corrupted, file_error};
use super::{Decoder, Encoder, Malformed};
use crate::env::{Directory, File};
use crate::storage::CHUNK_ROWS;
use crate::types::{ColumnId, Error, Result, RowBlock, RowId, TableSchema, ValueRef};

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
    pub blocks: u64,
    pub rows: u64,
    pub length: u64,
}

/// Writes rows into a new file.
pub(super) struct DataFileWriter {
    file: Arc<dyn File>,
    described: DataFile,
    schema: Arc<TableSchema>,
    ids: Vec<RowId>,
    block: RowBlock,
    /// Bytes synced so far.
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
        let described = DataFile { name, file, blocks: 0, rows: 0, length: 0 };
        let (ids, block) = (Vec::new(), RowBlock::new(&schema));
        Ok(DataFileWriter { file: handle, described, schema, ids, block, synced: 0 })
    }

    /// Adds a row. Ids may come in any order; rising ones take fewer bytes.
    pub fn row<'v>(&mut self, id: RowId, cell: impl Fn(ColumnId) -> ValueRef<'v>) -> Result<()> {
        self.ids.push(id);
        for column in 0..self.schema.columns.len() {
            self.block.column_mut(column).push(cell(ColumnId(column as u32)));
        }
        self.block.end_row();
        let is_full = self.ids.len() == CHUNK_ROWS || self.block.heap() >= BLOCK_HEAP;
        if is_full { self.finish_block() } else { Ok(()) }
    }

    /// So many rows follow that lie in one chunk: they begin a block where they would not fit into the one begun. Recovery
    /// makes a chunk of a block, and values that lie together stay together.
    pub fn keep_together(&mut self, rows: usize) -> Result<()> {
        let fit = self.ids.is_empty() || self.ids.len() + rows <= CHUNK_ROWS;
        if fit { Ok(()) } else { self.finish_block() }
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
        bytes[16..24].copy_from_slice(&self.described.blocks.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.described.file.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        let written = self.file.write_at(self.described.length, &bytes);
        written.map_err(cannot(&self.described.name, "write"))?;
        self.described.length += bytes.len() as u64;
        self.described.blocks += 1;
        self.described.rows += u64::from(rows);
        if self.described.length - self.synced >= SYNCED_AT {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync().map_err(cannot(&self.described.name, "sync"))?;
        self.synced = self.described.length;
        Ok(())
    }

    /// Makes the file durable (its name is not yet: the directory must be synced).
    pub fn finish(mut self) -> Result<DataFile> {
        if !self.ids.is_empty() {
            self.finish_block()?;
        }
        self.sync()?;
        Ok(self.described)
    }
}

/// Hands all rows of a data file to `take`, block by block, in file order.
pub(super) fn read_data_file(
    directory: &dyn Directory,
    described: &DataFile,
    mut take: impl FnMut(&[RowId], &RowBlock) -> Result<()>,
) -> Result<()> {
    let name = &described.name;
    let file = directory.open(name).map_err(cannot(name, "open"))?;
    let (mut at, mut rows) = (0, 0);
    let mut bytes = Vec::new();
    for block in 0..described.blocks {
        let damaged = |what| corrupted(name, at, what);
        read_block(&*file, at, &mut bytes).map_err(|_| damaged("unreadable block"))?;
        let count =
            check_block(&bytes, described.file, block).ok_or_else(|| damaged("damaged block"))?;
        let (ids, block) =
            decode_rows(&bytes[BLOCK_HEADER..], count).map_err(|_| damaged("malformed block"))?;
        take(&ids, &block)?;
        rows += u64::from(count);
        at += bytes.len() as u64;
    }
    if (at, rows) == (described.length, described.rows) {
        Ok(())
    } else {
        Err(corrupted(name, at, "unexpected number of rows"))
    }
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
