//! Writes by themselves and tables that are locked as wholes.

use std::sync::mpsc::{Receiver, channel};

use super::fixture::*;
use crate::heartbeat::{Step, TableLock, WriteOutcome, WriteReceiver};
use crate::transaction::Isolation::ReadCommitted;
use crate::transaction::{TableMode, WriteSet};
use crate::types::Result;
use crate::waiting::HANG;

fn rows(count: i32) -> Fixture {
    let f = Fixture::in_memory();
    (1..=count).for_each(|id| _ = f.insert(id, id * 10).unwrap());
    f
}

/// A set that has locked the table, or not.
fn lock(f: &Fixture, set: &mut WriteSet, mode: TableMode) -> bool {
    let mut lock = TableLock::new(T, mode, false);
    match f.writes.exclusion().lock(&mut lock, set).unwrap() {
        Step::Done(done) => done,
        step => panic!("nobody writes: {step:?}"),
    }
}

/// Where the answer comes, and who takes it there.
fn answer() -> (Receiver<Result<WriteOutcome>>, WriteReceiver) {
    let (sender, receiver) = channel();
    (receiver, Box::new(move |outcome| drop(sender.send(outcome))))
}

#[test]
fn writes_by_themselves_wait_for_a_locked_table() {
    for mode in [TableMode::Share, TableMode::Exclusive, TableMode::AccessExclusive] {
        let f = rows(2);
        let mut set = WriteSet::new();
        assert!(lock(&f, &mut set, mode));
        let (of_update, receiver) = answer();
        f.writes.write(add_to(T, false), [int(1), int(1)].into(), SESSION, receiver);
        let (of_load, receiver) = answer();
        f.writes.load(f.begin_load(T, [(7, 7), (8, 8)]).unwrap(), receiver);
        assert_eq!(f.writes.shared.locks.waiting(), 2);
        assert_eq!(f.rows(), [(1, 10), (2, 20)]);
        drop(set);
        assert_eq!(of_update.recv_timeout(HANG).expect("answered").unwrap().rows, 1);
        assert_eq!(of_load.recv_timeout(HANG).expect("answered").unwrap().rows, 2);
        assert_eq!(f.rows(), [(1, 11), (2, 20), (7, 7), (8, 8)]);
        assert!(!f.writes.shared.locks.any());
    }
}

#[test]
fn modes_that_leave_changes_alone_do_not_hold_them_up() {
    let f = rows(1);
    let mut set = WriteSet::new();
    assert!(lock(&f, &mut set, TableMode::ShareUpdateExclusive));
    f.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    assert_eq!(f.rows(), [(1, 11)]);
}

#[test]
fn a_block_keeps_what_its_statements_use_until_its_commit_is_visible() {
    let f = rows(1);
    let mut block = f.begin(ReadCommitted);
    let uses = [(T, TableMode::RowExclusive)];
    assert!(f.writes.exclusion().enter(&mut block.set, &uses).unwrap().is_none());
    block.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    let mut set = WriteSet::new();
    assert!(!lock(&f, &mut set, TableMode::Share));
    assert!(lock(&f, &mut set, TableMode::ShareUpdateExclusive));
    block.commit().unwrap();
    assert!(lock(&f, &mut set, TableMode::Share));
    assert!(f.writes.exclusion().is_in_use());
    let mut next = f.begin(ReadCommitted);
    assert!(f.writes.exclusion().enter(&mut next.set, &uses).unwrap().is_some());
}
