//! Definitions whose statement ends while they are computed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::fixture::*;
use crate::storage::CHUNK_ROWS;
use crate::transaction::{Definition, WriteSet};
use crate::types::limit::{Limit, within};
use crate::types::*;

/// Ends the work when it has asked so many times.
#[derive(Debug)]
struct After(usize, AtomicUsize);

impl Limit for After {
    fn fault(&self) -> Option<Error> {
        let asked = self.1.fetch_add(1, Ordering::Relaxed);
        (asked >= self.0).then(|| Error::new(SqlState::QueryCanceled, "cancelled"))
    }
}

/// Defines with less and less patience, until it is enough; how often that was.
fn until_done(f: &Fixture, define: impl Fn() -> Result<()>, is_there: impl Fn() -> bool) -> usize {
    for asked in 1.. {
        let limit = Arc::new(After(asked, AtomicUsize::new(0)));
        match within(Some(limit), &define) {
            Err(fault) => assert_eq!(fault.state, SqlState::QueryCanceled),
            Ok(()) => return asked,
        }
        assert!(!is_there(), "nothing is applied after {asked} questions");
        f.write(&set_by_id(T, 1), &[int(1), int(-(asked as i32))]).expect("the table is as it was");
    }
    unreachable!("numbers do not end")
}

fn filled() -> Fixture {
    let f = Fixture::in_memory();
    f.load(T, (0..3 * CHUNK_ROWS as i32).map(|i| (i, i))).expect("room");
    f
}

#[test]
fn an_index_is_there_whole_or_not_at_all() {
    let f = filled();
    let index = unique(70, "t_v_key", &[1], false);
    let stored = || f.writes.store().table(T).expect("it is there");
    let create = Definition::CreateIndex { table: T, index: index.clone() };
    let is_there = || stored().index(IndexId(70)).is_some();
    let asked = until_done(&f, || f.define(create.clone()).map(|_| ()), is_there);
    assert!(is_there() && asked > 3 + CHUNK_ROWS * 3 / (1 << 16), "asked {asked} times only");
    f.define(Definition::DropIndex { table: T, index: IndexId(70) }).expect("it is there");
    let block = || {
        let definitions = vec![create.clone()];
        let changes =
            crate::heartbeat::write::DefinitionChanges { definitions, rewrites: Vec::new() };
        let set = WriteSet::new();
        let commit = |receiver| f.writes.commit_definitions(set, changes, receiver);
        f.wait(commit).map(|_| ())
    };
    until_done(&f, block, is_there);
    assert!(is_there());
}

#[test]
fn a_constraint_that_all_rows_are_asked_for_ends_too() {
    let f = filled();
    let mut altered = table(T, "t");
    altered.columns[1].not_null = true;
    let alter = Definition::AlterTable(altered);
    let stored = || f.writes.store().table(T).expect("it is there").schema();
    let is_there = || stored().columns[1].not_null;
    assert!(until_done(&f, || f.define(alter.clone()).map(|_| ()), is_there) > 100);
    assert!(is_there());
}
