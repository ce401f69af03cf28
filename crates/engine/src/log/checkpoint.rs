//! Writing a checkpoint while the server runs: a snapshot scan per table and segment, in parallel, that writes the rows
//! which the files of the last one lack ([`super::written`]).
//!
//! The write heartbeat makes the [`CheckpointSource`] between two heartbeats, so that the snapshot holds exactly
//! the records up to `sequence`; the rest happens on another thread. Until the new manifest is durable nothing
//! old is removed, and then what the last [`KEPT`] checkpoints need stays.

use std::collections::HashSet;
use std::sync::Arc;

use super::data_file::DataFileWriter;
use super::fault::file_error;
use super::manifest::{Manifest, TableFiles, manifest_sequence};
use super::segment::segment_number;
use super::written::{Written, WrittenFile, WrittenTable, keep};
use crate::env::{Directory, Randomness, in_parallel};
use crate::storage::{Snapshot, TableView};
use crate::types::{ChunkId, ColumnId, Result, RowId, SequenceSchema};

/// Checkpoints that are kept: if the newest turns out damaged, recovery starts from the one before.
pub(crate) const KEPT: usize = 2;

/// Everything that a checkpoint writes, as of one record.
#[derive(Debug)]
pub(crate) struct CheckpointSource {
    /// The last record that the snapshot holds.
    pub sequence: u64,
    /// The segment in which that record lies.
    pub segment: u64,
    /// Keeps what the views see.
    pub snapshot: Snapshot,
    /// The tables.
    pub tables: Vec<TableSource>,
    /// Sequences and where they go on after recovery.
    pub sequences: Vec<(SequenceSchema, i64, bool)>,
    /// The catalog's key-value part.
    pub entries: Vec<(String, Arc<[u8]>)>,
}

/// A table as a checkpoint sees it.
#[derive(Debug)]
pub(crate) struct TableSource {
    /// Its rows at the snapshot.
    pub view: Arc<TableView>,
    /// Row ids from here on were not given yet.
    pub next_row_id: RowId,
}

/// Writes a checkpoint and removes what it makes superfluous; the bytes of rows that it wrote. What `written` says is in
/// older files stays there; it says what the new checkpoint has afterwards.
pub(crate) fn write_checkpoint(
    directory: &dyn Directory,
    randomness: &dyn Randomness,
    database: u64,
    segments: usize,
    source: &CheckpointSource,
    written: &mut Written,
) -> Result<u64> {
    let kept = in_parallel(segments, &source.tables, |table| {
        keep(written.tables.get(&table.view.schema().id), &table.view)
    });
    let parts: Vec<(usize, usize)> = (0..source.tables.len())
        .flat_map(|table| (0..segments).map(move |part| (table, part)))
        .collect();
    let results = in_parallel(segments, &parts, |&(table, part)| {
        let rows = (&*source.tables[table].view, &kept[table].chunks);
        write_part(directory, randomness, source.sequence, rows, (part, segments))
    });
    let mut files: Vec<Vec<WrittenFile>> = kept.into_iter().map(|kept| kept.files).collect();
    let mut bytes = 0;
    for ((table, _), result) in parts.iter().zip(results) {
        let Some((file, length)) = result? else { continue };
        files[*table].push(file);
        bytes += length;
    }
    let tables = source.tables.iter().zip(&files).map(|(table, files)| table.describe(files));
    let manifest = Manifest {
        database,
        sequence: source.sequence,
        segment: source.segment,
        version: source.snapshot.version(),
        tables: tables.collect(),
        sequences: source.sequences.clone(),
        entries: source.entries.clone(),
    };
    manifest.write(directory)?;
    let of_table = |(table, files): (&TableSource, Vec<WrittenFile>)| {
        let schema = table.view.schema().clone();
        (schema.id, WrittenTable { schema, files })
    };
    written.tables = source.tables.iter().zip(files).map(of_table).collect();
    remove_superfluous(directory, database)?;
    Ok(bytes)
}

impl TableSource {
    fn describe(&self, files: &[WrittenFile]) -> TableFiles {
        let schema = (**self.view.schema()).clone();
        let files = files.iter().map(|written| written.file.clone()).collect();
        TableFiles { schema, next_row_id: self.next_row_id, files }
    }
}

/// One segment of one table: a new file with the rows of chunks that are not kept elsewhere, and its bytes.
fn write_part(
    directory: &dyn Directory,
    randomness: &dyn Randomness,
    sequence: u64,
    (view, kept): (&TableView, &HashSet<ChunkId>),
    (part, parts): (usize, usize),
) -> Result<Option<(WrittenFile, u64)>> {
    let table = view.schema().id;
    let name = format!("data-{sequence:016x}-{table}-{part}");
    let mut writer = None;
    let mut visible = Vec::new();
    let in_part = |id: &ChunkId| id.index() % parts == part && !kept.contains(id);
    for (id, chunk) in view.chunks().iter().filter(|(id, _)| in_part(id)) {
        visible.clear();
        chunk.visible(view.version(), 0..chunk.rows() as u32, &mut visible);
        if visible.is_empty() {
            continue;
        }
        let writer = match &mut writer {
            Some(writer) => writer,
            none => {
                let (file, schema) = (randomness.next(), view.schema().clone());
                none.insert(DataFileWriter::create(directory, name.clone(), file, schema)?)
            }
        };
        writer.begin_chunk(*id, visible.len())?;
        for &offset in &visible {
            let cell = |column: ColumnId| chunk.cell(column, offset);
            writer.row((offset, chunk.row_id(offset)), cell)?;
        }
    }
    writer.map(DataFileWriter::finish).transpose()
}

/// Removes checkpoints but the newest [`KEPT`], files that none of those names, and segments before the older one.
fn remove_superfluous(directory: &dyn Directory, database: u64) -> Result<()> {
    let sequences = manifests(directory)?;
    let intact = sequences.iter().filter_map(|s| Manifest::read(directory, *s, database).ok());
    let kept: Vec<Manifest> = intact.take(KEPT).collect();
    if kept.len() < KEPT {
        // The whole log and every file may still be needed to fall back on.
        return Ok(());
    }
    let oldest_segment = kept.iter().map(|manifest| manifest.segment).min().unwrap_or(0);
    let named: HashSet<&str> = kept.iter().flat_map(Manifest::files).collect();
    let is_superfluous = |name: &String| {
        let old_log = segment_number(name).is_some_and(|number| number < oldest_segment);
        let old_data = name.starts_with("data-") && !named.contains(name.as_str());
        let old_manifest = manifest_sequence(name)
            .is_some_and(|sequence| kept.iter().all(|manifest| manifest.sequence != sequence));
        old_log || old_data || old_manifest
    };
    let names = directory.list().map_err(|e| file_error("list", &directory.describe(), &e))?;
    for name in names.iter().filter(|name| is_superfluous(name)) {
        directory.remove(name).map_err(|e| file_error("remove", name, &e))?;
    }
    Ok(())
}

/// The manifests in a directory, newest first.
pub(super) fn manifests(directory: &dyn Directory) -> Result<Vec<u64>> {
    let names = directory.list().map_err(|e| file_error("list", &directory.describe(), &e))?;
    let mut sequences: Vec<u64> = names.iter().filter_map(|n| manifest_sequence(n)).collect();
    sequences.sort_unstable_by(|a, b| b.cmp(a));
    Ok(sequences)
}
