//! On the operating system's files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fixture::*;
use crate::env::Environment;
use crate::heartbeat::write::{Tuning, WriteHeartbeat};
use crate::transaction::Definition;
use crate::types::SqlState;

fn open(path: &Path) -> crate::types::Result<Fixture> {
    let tuning = Tuning { segment_size: 64 << 10, checkpoint_bytes: 128 << 10 };
    WriteHeartbeat::open(Environment::system(), Some(path), 2, 1000, tuning)
        .map(|writes| Fixture { writes })
}

#[test]
fn checkpoints_while_serving_and_recovery() {
    let directory = tempfile::tempdir().unwrap();
    let f = open(directory.path()).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let f = &f;
            scope.spawn(move || {
                for i in 0..150 {
                    f.insert(writer * 10_000 + i, 1000 + i).unwrap();
                    let id = int(writer * 10_000 + i / 2);
                    f.write(&add_to(T, false), &[id, int(1)]).unwrap();
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                f.checkpoint().unwrap();
                done.store(f.rows().len() == 600, Ordering::Relaxed);
            }
        });
    });
    let rows = f.rows();
    let error = open(directory.path()).err().unwrap();
    assert_eq!(error.state, SqlState::ObjectInUse);
    drop(f);
    let f = open(directory.path()).unwrap();
    assert_eq!(f.rows(), rows);
    assert_eq!(rows.iter().map(|(_, v)| v - 1000).sum::<i32>(), 4 * (149 * 75 + 150));
    f.write(&delete_by_id(T), &[int(0)]).unwrap();
    drop(f);
    assert_eq!(open(directory.path()).unwrap().rows(), rows[1..]);
}

#[test]
fn an_unusable_directory_is_a_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = open(&file).err().unwrap();
    assert_eq!(error.state, SqlState::IoError);
    assert!(error.message.starts_with("could not open data directory"), "{error}");
}
