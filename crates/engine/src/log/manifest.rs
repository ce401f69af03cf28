//! What a checkpoint consists of. A manifest appears under its name only when all that it names is durable.

use std::sync::Arc;

use super::data_file::{BlockPlace, DataFile};
use super::fault::{corrupted, file_error};
use super::schema::{get_sequence, get_table, put_sequence, put_table};
use super::segment::FORMAT;
use super::{Decoder, Encoder, Malformed};
use crate::env::Directory;
use crate::types::{Result, RowId, SequenceSchema, TableSchema, Version};

const MAGIC: &[u8; 8] = b"SDB-MAN\n";

/// A checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub database: u64,
    /// The last record whose changes are in.
    pub sequence: u64,
    /// The log segment in which the next record lies, or a later one begins.
    pub segment: u64,
    /// The version of the snapshot.
    pub version: Version,
    pub tables: Vec<TableFiles>,
    pub sequences: Vec<(SequenceSchema, i64, bool)>,
    pub entries: Vec<(String, Arc<[u8]>)>,
}

/// A table's part of a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableFiles {
    pub schema: TableSchema,
    pub next_row_id: RowId,
    pub files: Vec<DataFile>,
}

pub(super) fn manifest_name(sequence: u64) -> String {
    format!("manifest-{sequence:016x}")
}

pub(super) fn manifest_sequence(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("manifest-").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

impl Manifest {
    fn encode(&self) -> Vec<u8> {
        let mut to = Encoder::default();
        to.bytes.extend_from_slice(MAGIC);
        to.bytes.extend_from_slice(&FORMAT.to_le_bytes());
        for number in [self.database, self.sequence, self.segment, self.version.0] {
            to.unsigned(number);
        }
        to.list(&self.tables, |to, table| {
            put_table(to, &table.schema);
            to.unsigned(table.next_row_id.0);
            to.list(&table.files, put_file);
        });
        to.list(&self.sequences, |to, (schema, last, called)| {
            put_sequence(to, schema);
            to.signed(*last);
            to.flag(*called);
        });
        to.list(&self.entries, |to, (key, value)| {
            to.text(key);
            to.slice(value);
        });
        let checksum = crc32c::crc32c(&to.bytes);
        to.bytes.extend_from_slice(&checksum.to_le_bytes());
        to.bytes
    }

    fn decode(bytes: &[u8]) -> Result<Manifest, Malformed> {
        let (bytes, checksum) = bytes.split_last_chunk::<4>().ok_or(Malformed)?;
        if crc32c::crc32c(bytes) != u32::from_le_bytes(*checksum) {
            return Err(Malformed);
        }
        let rest = bytes.strip_prefix(MAGIC).ok_or(Malformed)?;
        let rest = rest.strip_prefix(&FORMAT.to_le_bytes()).ok_or(Malformed)?;
        let from = &mut Decoder::new(rest);
        let manifest = Manifest {
            database: from.unsigned()?,
            sequence: from.unsigned()?,
            segment: from.unsigned()?,
            version: Version(from.unsigned()?),
            tables: from.list(|from| {
                Ok(TableFiles {
                    schema: get_table(from)?,
                    next_row_id: RowId(from.unsigned()?),
                    files: from.list(get_file)?,
                })
            })?,
            sequences: from.list(|from| Ok((get_sequence(from)?, from.signed()?, from.flag()?)))?,
            entries: from.list(|from| Ok((from.text()?.to_owned(), from.slice()?.into())))?,
        };
        if from.is_empty() { Ok(manifest) } else { Err(Malformed) }
    }

    /// Writes it and makes it the newest checkpoint.
    pub fn write(&self, directory: &dyn Directory) -> Result<()> {
        let name = manifest_name(self.sequence);
        let unfinished = format!("{name}.tmp");
        directory
            .sync()
            .and_then(|()| directory.create(&unfinished))
            .and_then(|file| file.write_at(0, &self.encode()).and_then(|()| file.sync()))
            .and_then(|()| directory.rename(&unfinished, &name))
            .and_then(|()| directory.sync())
            .map_err(|e| file_error("write", &name, &e))
    }

    /// Reads one back.
    pub fn read(directory: &dyn Directory, sequence: u64, database: u64) -> Result<Manifest> {
        let name = manifest_name(sequence);
        let file = directory.open(&name);
        let bytes = file.and_then(|f| f.read_all()).map_err(|e| file_error("read", &name, &e))?;
        Manifest::decode(&bytes)
            .ok()
            .filter(|manifest| (manifest.database, manifest.sequence) == (database, sequence))
            .ok_or_else(|| corrupted(&name, 0, "damaged manifest"))
    }

    /// The data files that it names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().flat_map(|table| table.files.iter().map(|file| file.name.as_str()))
    }
}

fn put_file(to: &mut Encoder, file: &DataFile) {
    to.text(&file.name);
    to.unsigned(file.file);
    to.unsigned(file.rows);
    to.list(&file.blocks, put_block);
}

fn get_file(from: &mut Decoder<'_>) -> Result<DataFile, Malformed> {
    Ok(DataFile {
        name: from.text()?.into(),
        file: from.unsigned()?,
        rows: from.unsigned()?,
        blocks: from.list(get_block)?,
    })
}

/// Dead rows as how many living ones lie before each: mostly a byte.
fn put_block(to: &mut Encoder, block: &BlockPlace) {
    to.unsigned(block.number);
    to.unsigned(block.offset);
    to.unsigned(u64::from(block.rows));
    let mut next = 0;
    to.list(&block.dead, |to, dead| {
        to.unsigned(u64::from(dead - next));
        next = dead + 1;
    });
}

fn get_block(from: &mut Decoder<'_>) -> Result<BlockPlace, Malformed> {
    let (number, offset, rows) = (from.unsigned()?, from.unsigned()?, from.number()?);
    let mut next = 0u32;
    let dead = from.list(|from| {
        let dead = next.checked_add(from.number()?).ok_or(Malformed)?;
        next = dead.checked_add(1).ok_or(Malformed)?;
        Ok(dead)
    })?;
    Ok(BlockPlace { number, offset, rows, dead })
}
