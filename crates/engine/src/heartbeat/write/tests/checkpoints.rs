//! Checkpoints write what has changed, and have everything.

use super::fixture::*;
use crate::env::{Randomness, SeededRandomness, SimulatedDirectory};
use crate::heartbeat::write::Tuning;
use crate::transaction::Definition;
use crate::types::*;

/// Nothing is written to files but what a test asks for.
const QUIET: Tuning = Tuning { segment_size: 8 << 20, checkpoint_bytes: u64::MAX };

/// Bytes of the data files in a directory.
fn data_bytes(directory: &SimulatedDirectory) -> usize {
    let image = directory.image();
    let data = image.names().filter(|name| name.starts_with("data-"));
    data.map(|name| image.bytes(name).unwrap().len()).sum()
}

fn check_recovered(directory: &SimulatedDirectory, f: &Fixture, what: &str) {
    let image = directory.image().crash(&SeededRandomness::new(1));
    let recovered = Fixture::on(&SimulatedDirectory::from_image(image), QUIET).unwrap();
    assert_eq!(recovered.rows(), f.rows(), "{what}");
}

#[test]
fn rows_that_stay_are_written_once() {
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, QUIET).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    f.load(T, (0..40_000).map(|id| (id, id))).unwrap();
    f.checkpoint().unwrap();
    let once = data_bytes(&directory);
    for round in 0..5 {
        // A row each in far fewer chunks than there are.
        f.write(&delete_by_id(T), &[int(round * 7)]).unwrap();
        f.write(&add_to(T, false), &[int(20_000 + round), int(1)]).unwrap();
        f.checkpoint().unwrap();
        check_recovered(&directory, &f, &format!("round {round}"));
    }
    let now = data_bytes(&directory);
    assert!(now < once + once / 10, "{once} bytes became {now}");
}

#[test]
fn after_a_restart_rows_stay_where_they_are_too() {
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, QUIET).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    f.load(T, (0..40_000).map(|id| (id, id))).unwrap();
    (0..50).for_each(|id| drop(f.write(&delete_by_id(T), &[int(id * 3)]).unwrap()));
    f.checkpoint().unwrap();
    let once = data_bytes(&directory);
    drop(f);
    for round in 0..3 {
        let f = Fixture::on(&directory, QUIET).unwrap();
        f.write(&delete_by_id(T), &[int(1 + round * 3000)]).unwrap();
        f.insert(50_000 + round, 1).unwrap();
        f.checkpoint().unwrap();
        check_recovered(&directory, &f, &format!("restart {round}"));
    }
    let now = data_bytes(&directory);
    assert!(now < once + once / 2, "{once} bytes became {now}");
}

#[test]
fn a_file_of_mostly_dead_rows_is_given_up() {
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, QUIET).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    f.load(T, (0..20_000).map(|id| (id, id))).unwrap();
    f.checkpoint().unwrap();
    let full = data_bytes(&directory);
    for id in (0..20_000).filter(|id| id % 4 != 0) {
        f.write(&delete_by_id(T), &[int(id)]).unwrap();
    }
    // Twice: the checkpoint before is kept, too.
    f.checkpoint().unwrap();
    f.insert(50_000, 1).unwrap();
    f.checkpoint().unwrap();
    check_recovered(&directory, &f, "after most rows went");
    let now = data_bytes(&directory);
    assert!(now < full * 3 / 4, "{full} bytes became {now}");
}

#[test]
fn after_random_changes_every_checkpoint_has_all_rows() {
    let randomness = SeededRandomness::new(7);
    let directory = SimulatedDirectory::new();
    let mut f = Fixture::on(&directory, QUIET).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    let mut next = 0;
    for round in 0..15 {
        let below = |limit: u64| (randomness.next() % limit) as i32;
        match below(5) {
            0 => {
                let rows = below(20_000);
                f.load(T, (next..next + rows).map(|id| (id, round))).unwrap();
                next += rows;
            }
            1 => {
                let (from, to) = (below(next as u64 + 1), below(next as u64 + 1));
                for id in from..to.min(from + 6_000) {
                    f.write(&delete_by_id(T), &[int(id)]).unwrap();
                }
            }
            _ => {
                for _ in 0..below(300) {
                    let id = below(next as u64 + 1);
                    f.write(&add_to(T, false), &[int(id), int(1)]).unwrap();
                }
            }
        }
        f.checkpoint().unwrap();
        check_recovered(&directory, &f, &format!("round {round}"));
        if round % 4 == 3 {
            drop(f);
            f = Fixture::on(&directory, QUIET).unwrap();
        }
    }
    let mut schema = (*f.writes.store().table(T).unwrap().schema()).clone();
    schema
        .columns
        .push(ColumnSchema { missing: int(7), ..column("added", DataType::Integer, false) });
    f.define(Definition::AlterTable(schema)).unwrap();
    for round in 0..2 {
        f.checkpoint().unwrap();
        check_recovered(&directory, &f, &format!("with another column, {round}"));
        f.write(&add_to(T, false), &[int(next - 1), int(1)]).unwrap();
    }
}
