//! Schema and population into a running system.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::bookstore::Scale;
use crate::bookstore::population::TableRows;
use crate::bookstore::schema::{
    Dialect, TABLES, create_statements, drop_statements, index_statements,
};
use crate::client::{PostgresClient, Result};
use crate::peers::System;

/// The population as files in COPY text format, written once and loaded into every system.
pub struct Population {
    files: BTreeMap<&'static str, PathBuf>,
}

impl Population {
    /// Writes the files.
    pub fn write(folder: &Path, scale: Scale, seed: u64) -> Result<Population> {
        std::fs::create_dir_all(folder)?;
        let mut files = BTreeMap::new();
        for table in TABLES {
            let path = folder.join(format!("{table}.tsv"));
            let mut file = BufWriter::with_capacity(1 << 20, std::fs::File::create(&path)?);
            let mut rows = TableRows::new(scale, table, seed);
            let mut line = Vec::new();
            while rows.append_next(&mut line) {
                file.write_all(&line)?;
                line.clear();
            }
            file.flush()?;
            files.insert(table, path);
        }
        Ok(Population { files })
    }

    /// Creates the schema, loads all tables, builds the indexes; returns rows and seconds of the largest table's
    /// load.
    pub fn load(&self, system: &dyn System, scale: Scale) -> Result<LoadTimes> {
        let start = Instant::now();
        let mut client = system.connect()?;
        for statement in drop_statements() {
            client.run(&statement)?;
        }
        for statement in create_statements(system.dialect(), scale) {
            client.run(&statement)?;
        }
        let mut times = LoadTimes::default();
        for table in TABLES {
            let table_start = Instant::now();
            let rows = system.load(table, &self.files[table])?;
            times.rows += rows;
            if table == "order_line" {
                times.order_lines_per_second = rows as f64 / table_start.elapsed().as_secs_f64();
            }
        }
        for statement in index_statements() {
            client.run(&statement)?;
        }
        system.finish_load()?;
        times.seconds = start.elapsed().as_secs_f64();
        Ok(times)
    }
}

/// How long loading took.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct LoadTimes {
    /// Rows of all tables.
    pub rows: u64,
    /// All tables and indexes.
    pub seconds: f64,
    /// COPY into `order_line` with its primary key in place.
    pub order_lines_per_second: f64,
}

/// Loads the demo over one connection, without files.
pub fn load_bookstore(client: &mut PostgresClient, scale: Scale, seed: u64) -> Result<u64> {
    use crate::client::Client;
    let mut loaded = 0;
    for statement in create_statements(Dialect::Postgres, scale) {
        client.run(&statement)?;
    }
    for table in TABLES {
        let mut rows = TableRows::new(scale, table, seed);
        let copy = format!("COPY {table} FROM STDIN");
        loaded += client.copy_in(&copy, |out| rows.append_next(out))?;
    }
    for statement in index_statements() {
        client.run(&statement)?;
    }
    Ok(loaded)
}
