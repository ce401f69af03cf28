//! From the files of a data directory to storage.

use std::sync::Arc;

use super::acknowledged::AcknowledgedFile;
use super::checkpoint::manifests;
use super::data_file::{DataFile, read_data_file};
use super::manifest::{Manifest, TableFiles};
use super::reader::{read_log, segments};
use super::replay::{Replay, restore};
use super::written::{Source, WrittenFile, WrittenTable};
use super::{DataDirectory, Entries, LogWriter, Written};
use crate::env::{Environment, in_parallel};
use crate::storage::Store;
use crate::types::{Error, Result, SqlState, Version};

/// What recovery gives.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// All tables and sequences; published up to `version`.
    pub store: Arc<Store>,
    /// The catalog's key-value part.
    pub entries: Entries,
    /// The newest version.
    pub version: Version,
    /// The end of the log.
    pub writer: LogWriter,
    /// The last record of the checkpoint that it began with; 0 where there was none.
    pub checkpoint: u64,
    /// What that checkpoint has.
    pub written: Written,
}

struct Loaded {
    store: Arc<Store>,
    entries: Entries,
    version: Version,
    sequence: u64,
    segment: u64,
    written: Written,
}

/// Loads the newest intact checkpoint and replays the log behind it. Changes nothing on disk before all is
/// read, so a crash in here starts over.
pub(crate) fn recover(
    environment: &Environment,
    data: &DataDirectory,
    workers: usize,
    segment_size: u64,
) -> Result<Recovered> {
    let directory = &data.directory;
    let (file, acknowledged) = AcknowledgedFile::open(&**directory, data.database)?;
    let loaded = load_checkpoint(data, workers)?;
    let mut version = loaded.version;
    let mut replay = Replay::new(&loaded.store, &loaded.entries, workers);
    let from = (loaded.segment, loaded.sequence);
    let tail = read_log(&**directory, data.database, from, acknowledged, |record| {
        version = version.max(record.version);
        replay.record(&record)
    })?;
    replay.flush()?;
    fill_indexes(&loaded.store, workers);
    let randomness = environment.randomness.clone();
    let writer = match tail {
        Some(tail) => LogWriter::resume(directory.clone(), randomness, tail, segment_size, file)?,
        None => LogWriter::create(
            directory.clone(),
            randomness,
            data.database,
            loaded.segment,
            loaded.sequence + 1,
            segment_size,
            file,
        )?,
    };
    loaded.store.publish(version);
    let Loaded { store, entries, sequence: checkpoint, written, .. } = loaded;
    Ok(Recovered { store, entries, version, writer, checkpoint, written })
}

/// The newest checkpoint that is wholly intact; an older one where the newest is damaged; an empty store where
/// there is none and the log begins at its beginning.
fn load_checkpoint(data: &DataDirectory, workers: usize) -> Result<Loaded> {
    let mut first_fault = None;
    for sequence in manifests(&*data.directory)? {
        match load(data, sequence, workers) {
            Ok(loaded) => return Ok(loaded),
            Err(error) => {
                tracing::warn!(%error, sequence, "a checkpoint is damaged; trying the one before");
                first_fault.get_or_insert(error);
            }
        }
    }
    let first_segment = segments(&*data.directory)?.first().copied();
    match (first_fault, first_segment) {
        (_, Some(1)) | (None, None) => Ok(empty(workers)),
        (Some(fault), _) => Err(fault),
        (None, _) => Err(Error::new(
            SqlState::DataCorrupted,
            "the log does not begin at its beginning and there is no checkpoint",
        )),
    }
}

fn empty(workers: usize) -> Loaded {
    Loaded {
        store: Store::new(workers),
        entries: Entries::default(),
        version: Version(0),
        sequence: 0,
        segment: 1,
        written: Written::default(),
    }
}

fn load(data: &DataDirectory, sequence: u64, workers: usize) -> Result<Loaded> {
    let manifest = Manifest::read(&*data.directory, sequence, data.database)?;
    let store = Store::new(workers);
    for table in &manifest.tables {
        store.create_table(table.schema.clone()).defer_indexes();
    }
    let version = manifest.version;
    let parts: Vec<(&TableFiles, &DataFile)> = manifest
        .tables
        .iter()
        .flat_map(|table| table.files.iter().map(move |file| (table, file)))
        .collect();
    let files =
        in_parallel(workers, &parts, |(table, file)| load_part(data, &store, table, file, version));
    let mut written = Written::default();
    for ((table, _), file) in parts.iter().zip(files) {
        let schema = || Arc::new(table.schema.clone());
        let none = || WrittenTable { schema: schema(), files: Vec::new() };
        written.tables.entry(table.schema.id).or_insert_with(none).files.push(file?);
    }
    for files in &manifest.tables {
        let table = store.table(files.schema.id).expect("created just before");
        table.raise_next_row_id(files.next_row_id);
    }
    for (schema, last, called) in &manifest.sequences {
        store.create_sequence(schema.clone()).set(*last, *called)?;
    }
    let entries = Entries::default();
    manifest.entries.iter().for_each(|(key, value)| entries.put(key, Some(value)));
    Ok(Loaded { store, entries, version, sequence, segment: manifest.segment, written })
}

/// Parts of one table load in parallel too: blocks become chunks apart and take turns to be attached.
fn load_part(
    data: &DataDirectory,
    store: &Store,
    table: &TableFiles,
    file: &DataFile,
    version: Version,
) -> Result<WrittenFile> {
    let table = store.table(table.schema.id).expect("created just before");
    let mut sources = Vec::with_capacity(file.blocks.len());
    read_data_file(&*data.directory, file, |place, ids, block| {
        sources.push(match restore(&table, ids, block, version)? {
            Some(chunk) => Source::of_restored(place, chunk),
            // Few rows lie among others now: the next checkpoint writes them with these.
            None => Arc::new([Source::Gone(place.rows)]),
        });
        Ok(())
    })?;
    Ok(WrittenFile { file: file.clone(), sources })
}

/// Nothing probes an index before all rows are there: each is built once, from its sorted keys.
fn fill_indexes(store: &Store, workers: usize) {
    let tables = store.tables();
    let with_indexes = tables.iter().flat_map(|t| t.indexes().into_iter().map(move |i| (t, i)));
    let mut indexes: Vec<_> = with_indexes.collect();
    // The largest first, so that no thread is left with it at the end.
    indexes.sort_by_key(|(table, _)| std::cmp::Reverse(table.live_rows()));
    in_parallel(workers, &indexes, |(table, index)| table.fill_index(index));
    tables.iter().for_each(|table| table.maintain_indexes());
}
