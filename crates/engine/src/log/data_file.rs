//! Rows of a checkpoint: blocks of encoded rows, each with its own checksum.

use std::sync::Arc;

use super::fault::{corrupted, file_error};
use super::{Decoder, Encoder};
use crate::env::{Directory, File};
use crate::types::{Error, Result, RowId, Value, ValueRef};

const BLOCK_MAGIC: u32 = u32::from_le_bytes(*b"SBLK");
const BLOCK_HEADER: usize = 32;
/// Bytes after which a block is closed: large enough for sequential writes, small enough to be decoded in cache.
const BLOCK_SIZE: usize = 256 << 10;

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
    block: Encoder,
    block_rows: u32,
    previous: u64,
}

fn cannot(name: &str, action: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| file_error(action, name, &error)
}

impl DataFileWriter {
    pub fn create(directory: &dyn Directory, name: String, file: u64) -> Result<DataFileWriter> {
        let handle = directory.create(&name).map_err(cannot(&name, "create"))?;
        let described = DataFile { name, file, blocks: 0, rows: 0, length: 0 };
        let mut writer = DataFileWriter {
            file: handle,
            described,
            block: Encoder::default(),
            block_rows: 0,
            previous: 0,
        };
        writer.start_block();
        Ok(writer)
    }

    fn start_block(&mut self) {
        self.block.bytes.clear();
        self.block.bytes.resize(BLOCK_HEADER, 0);
        self.block_rows = 0;
        self.previous = 0;
    }

    /// Adds a row. Ids may come in any order; rising ones take fewer bytes.
    pub fn row<'v>(
        &mut self,
        id: RowId,
        columns: usize,
        cell: impl Fn(usize) -> ValueRef<'v>,
    ) -> Result<()> {
        self.block.signed(id.0.wrapping_sub(self.previous) as i64);
        self.previous = id.0;
        self.block.unsigned(columns as u64);
        (0..columns).for_each(|column| self.block.value(cell(column)));
        self.block_rows += 1;
        if self.block.bytes.len() >= BLOCK_SIZE { self.finish_block() } else { Ok(()) }
    }

    fn finish_block(&mut self) -> Result<()> {
        let bytes = &mut self.block.bytes;
        let length = (bytes.len() - BLOCK_HEADER) as u32;
        bytes[..4].copy_from_slice(&BLOCK_MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.block_rows.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.described.blocks.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.described.file.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        let written = self.file.write_at(self.described.length, bytes);
        written.map_err(cannot(&self.described.name, "write"))?;
        self.described.length += bytes.len() as u64;
        self.described.blocks += 1;
        self.described.rows += u64::from(self.block_rows);
        self.start_block();
        Ok(())
    }

    /// Makes the file durable (its name is not yet: the directory must be synced).
    pub fn finish(mut self) -> Result<DataFile> {
        if self.block_rows > 0 {
            self.finish_block()?;
        }
        self.file.sync().map_err(cannot(&self.described.name, "sync"))?;
        Ok(self.described)
    }
}

/// Hands all rows of a data file to `take`, block by block, in file order.
pub(super) fn read_data_file(
    directory: &dyn Directory,
    described: &DataFile,
    mut take: impl FnMut(&[RowId], &[Vec<Value>]),
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
        let (ids, values) =
            decode_rows(&bytes[BLOCK_HEADER..], count).ok_or_else(|| damaged("malformed block"))?;
        take(&ids, &values);
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

fn decode_rows(bytes: &[u8], count: u32) -> Option<(Vec<RowId>, Vec<Vec<Value>>)> {
    let mut from = Decoder::new(bytes);
    let mut previous = 0u64;
    let (mut ids, mut rows) = (Vec::new(), Vec::new());
    for _ in 0..count {
        previous = previous.wrapping_add(from.signed().ok()? as u64);
        ids.push(RowId(previous));
        let columns = from.unsigned().ok()?;
        rows.push((0..columns).map(|_| from.value().ok()).collect::<Option<_>>()?);
    }
    from.is_empty().then_some((ids, rows))
}
