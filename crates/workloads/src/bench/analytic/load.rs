//! A dataset into a system: over the wire in parallel streams, or through files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::AnalyticOptions;
use super::memory::{settled, watched};
use crate::bench::Failure;
use crate::client::{Client, PostgresClient, Result};
use crate::dataset::{Dataset, TableDefinition};
use crate::peers::System;
use crate::report::Progress;

/// How long loading took.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct LoadTimes {
    /// Rows of all tables.
    pub rows: u64,
    /// All tables, indexes and statistics.
    pub seconds: f64,
    /// The most that the server's processes took meanwhile.
    pub peak_mb: f64,
    /// What they take afterwards, when it no longer falls.
    pub resident_mb: f64,
}

/// A dataset as files in COPY text format, one folder per table, written when the first system wants files.
pub struct DataFiles {
    folder: PathBuf,
    written: bool,
}

impl DataFiles {
    /// Nothing is written yet; files that an earlier run left in `folder` are not trusted.
    pub fn new(folder: PathBuf) -> DataFiles {
        DataFiles { folder, written: false }
    }

    /// The folder of a table's files.
    pub fn of_table(&self, table: &str) -> PathBuf {
        self.folder.join(table)
    }

    fn write(&mut self, dataset: &dyn Dataset) -> Result<()> {
        if self.written {
            return Ok(());
        }
        let _ = std::fs::remove_dir_all(&self.folder);
        for table in dataset.tables() {
            let folder = self.of_table(table.name);
            std::fs::create_dir_all(&folder)?;
            let title = format!("{} file", table.name);
            let progress = Progress::new(&title, dataset.expected_rows(table.name));
            in_parallel(
                dataset.pieces(table.name),
                || Ok(()),
                |(), number| {
                    let path = folder.join(format!("{number}.tsv"));
                    write_piece(dataset, table.name, number, &path, &progress)
                },
            )?;
            progress.finish();
        }
        self.written = true;
        Ok(())
    }
}

impl Drop for DataFiles {
    fn drop(&mut self) {
        // They are as large as the database; nobody reads them again.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn write_piece(
    dataset: &dyn Dataset,
    table: &str,
    number: usize,
    path: &Path,
    progress: &Progress,
) -> Result<u64> {
    use std::io::Write;
    let mut file = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let (mut piece, mut bytes, mut rows) = (dataset.piece(table, number), Vec::new(), 0);
    loop {
        let added = piece.append(&mut bytes);
        if added == 0 {
            break;
        }
        file.write_all(&bytes)?;
        bytes.clear();
        rows += added;
        progress.add(added);
    }
    file.flush()?;
    Ok(rows)
}

/// Creates and fills all tables of an empty system, which is ended if it takes more memory than it may.
pub fn load(
    system: &dyn System,
    dataset: &dyn Dataset,
    files: &mut DataFiles,
    options: &AnalyticOptions,
) -> std::result::Result<LoadTimes, Failure> {
    if system.connect_postgres().is_none() {
        files.write(dataset)?;
    }
    let limit = options.memory_limit();
    let watched = watched(system.server(), limit, || fill(system, dataset, files));
    if watched.exceeded {
        let gigabytes = limit as f64 / 1e9;
        return Err(
            format!("loading took more than {gigabytes:.1} GB: its server was ended").into()
        );
    }
    let (rows, seconds) = watched.outcome?;
    let resident = settled(system.server(), Duration::from_secs_f64(options.settle_seconds));
    let [peak_mb, resident_mb] = [watched.peak, resident].map(|bytes| bytes as f64 / 1e6);
    Ok(LoadTimes { rows, seconds, peak_mb, resident_mb })
}

/// Rows and seconds.
fn fill(system: &dyn System, dataset: &dyn Dataset, files: &DataFiles) -> Result<(u64, f64)> {
    let start = Instant::now();
    let rows = match system.connect_postgres() {
        Some(client) => {
            let open = || system.connect_postgres().expect("it was there a moment ago");
            load_over_the_wire(&mut client?, open, dataset)?
        }
        None => load_files(system, dataset, files)?,
    };
    system.finish_load()?;
    Ok((rows, start.elapsed().as_secs_f64()))
}

/// COPY in as many streams as there are cores; returns the number of rows.
pub fn load_over_the_wire(
    client: &mut PostgresClient,
    open: impl Fn() -> Result<PostgresClient> + Sync,
    dataset: &dyn Dataset,
) -> Result<u64> {
    for table in dataset.tables() {
        client.run(&table.create_statement())?;
    }
    let mut rows = 0;
    for table in dataset.tables() {
        let progress = Progress::new(table.name, dataset.expected_rows(table.name));
        rows += in_parallel(dataset.pieces(table.name), &open, |client, number| {
            copy_piece(client, dataset, table, number, &progress)
        })?;
        progress.finish();
    }
    for statement in dataset.tables().iter().flat_map(TableDefinition::foreign_key_statements) {
        client.run(&statement)?;
    }
    Ok(rows)
}

fn copy_piece(
    client: &mut PostgresClient,
    dataset: &dyn Dataset,
    table: &TableDefinition,
    number: usize,
    progress: &Progress,
) -> Result<u64> {
    let mut piece = dataset.piece(table.name, number);
    client.copy_in(&format!("COPY {} FROM STDIN", table.name), |out| {
        let rows = piece.append(out);
        progress.add(rows);
        rows > 0
    })
}

fn load_files(system: &dyn System, dataset: &dyn Dataset, files: &DataFiles) -> Result<u64> {
    let mut rows = 0;
    for table in dataset.tables() {
        system.create(table)?;
        rows += system.load(table.name, &files.of_table(table.name))?;
    }
    Ok(rows)
}

/// Does pieces `0..count` on as many threads as there are cores, each with something of its own; sums up.
fn in_parallel<T>(
    count: usize,
    open: impl Fn() -> Result<T> + Sync,
    work: impl Fn(&mut T, usize) -> Result<u64> + Sync,
) -> Result<u64> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count);
    let next = AtomicUsize::new(0);
    let run = || {
        let mut own = open()?;
        let mut sum = 0;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(sum);
            }
            sum += work(&mut own, number)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker panicked")).sum()
    })
}
