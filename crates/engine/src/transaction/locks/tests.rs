//! The lock table by itself: modes, order, cycles, ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::LockMode::{KeyShare, NoKeyUpdate, Share, Update};
use super::*;
use crate::types::{RowId, SqlState, TableId};

fn row(id: u64) -> LockKey {
    LockKey::Row(TableId(1), RowId(id))
}

fn locks<const N: usize>() -> (Arc<Locks>, [Owner; N]) {
    let locks = Arc::new(Locks::default());
    let owners = std::array::from_fn(|_| locks.owner(None));
    (locks, owners)
}

/// Counts those who were called back.
#[derive(Default)]
struct Calls(Arc<AtomicUsize>);

impl Calls {
    fn then(&self) -> Callback {
        let calls = self.0.clone();
        Box::new(move |given| {
            given.expect("a lock");
            calls.fetch_add(1, Ordering::SeqCst);
        })
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn take(locks: &Locks, owner: &Owner, id: u64, mode: LockMode) -> Acquired {
    locks.acquire(owner, &row(id), mode).expect("memory")
}

#[test]
fn modes_conflict_as_in_postgresql() {
    let modes = [KeyShare, Share, NoKeyUpdate, Update];
    let table = [
        [false, false, false, true],
        [false, false, true, true],
        [false, true, true, true],
        [true, true, true, true],
    ];
    for (held, conflicts) in modes.into_iter().zip(table) {
        for (wanted, conflict) in modes.into_iter().zip(conflicts) {
            let (locks, [a, b]) = locks();
            assert_eq!(take(&locks, &a, 1, held), Acquired::Fresh);
            assert_eq!(locks.is_busy(None, &row(1), wanted), conflict);
            assert!(!locks.is_busy(Some(a.group()), &row(1), wanted));
            let expected = if conflict { Acquired::Busy } else { Acquired::Fresh };
            assert_eq!(take(&locks, &b, 1, wanted), expected, "{held:?} {wanted:?}");
        }
    }
}

#[test]
fn an_owner_does_not_stand_in_its_own_way_and_ends_with_its_locks() {
    let (locks, [a, b]) = locks();
    assert_eq!(take(&locks, &a, 1, Share), Acquired::Fresh);
    assert_eq!(take(&locks, &a, 1, KeyShare), Acquired::Before);
    assert_eq!(take(&locks, &a, 1, Update), Acquired::Fresh);
    assert_eq!(take(&locks, &a, 1, Update), Acquired::Before);
    assert!(locks.any());
    drop(a);
    assert!(!locks.any());
    assert_eq!(take(&locks, &b, 1, Update), Acquired::Fresh);
}

#[test]
fn who_waits_gets_it_in_order_and_newcomers_stand_behind() {
    let (locks, [a, b, c, d]) = locks();
    let (first, second) = (Calls::default(), Calls::default());
    take(&locks, &a, 1, Share);
    locks.enqueue(b.enter(), row(1), Update, false, first.then());
    locks.enqueue(c.enter(), row(1), Update, false, second.then());
    // It could have it beside a, but b was first.
    assert_eq!(take(&locks, &d, 1, Share), Acquired::Busy);
    assert_eq!(locks.waiting(), 2);
    drop(a);
    assert_eq!((first.count(), second.count()), (1, 0));
    assert_eq!(take(&locks, &b, 1, Update), Acquired::Before);
    drop(b);
    assert_eq!((first.count(), second.count()), (1, 1));
}

#[test]
fn those_who_go_together_get_it_together() {
    let (locks, [a, b, c, d]) = locks();
    let (shared, last) = (Calls::default(), Calls::default());
    take(&locks, &a, 1, Update);
    locks.enqueue(b.enter(), row(1), Share, false, shared.then());
    locks.enqueue(c.enter(), row(1), KeyShare, false, shared.then());
    locks.enqueue(d.enter(), row(1), Update, false, last.then());
    drop(a);
    assert_eq!((shared.count(), last.count()), (2, 0));
    drop(b);
    assert_eq!(last.count(), 0);
    drop(c);
    assert_eq!(last.count(), 1);
}

#[test]
fn who_leaves_lets_those_behind_go_on() {
    let (locks, [a, b, c]) = locks();
    let calls = Calls::default();
    take(&locks, &a, 1, KeyShare);
    let waiting = b.wait(row(1), Update, false);
    locks.enqueue(c.enter(), row(1), KeyShare, false, calls.then());
    assert_eq!(calls.count(), 0);
    drop(waiting);
    assert_eq!(calls.count(), 1);
    assert_eq!(locks.waiting(), 0);
}

#[test]
fn who_only_looks_is_told_and_has_nothing() {
    let (locks, [a, b, c]) = locks();
    let calls = Calls::default();
    take(&locks, &a, 1, Update);
    locks.enqueue(b.enter(), row(1), Update, true, calls.then());
    drop(a);
    assert_eq!(calls.count(), 1);
    assert_eq!(take(&locks, &c, 1, Update), Acquired::Fresh);
}

#[test]
fn a_savepoint_gives_back_what_came_after_it() {
    let (locks, [a, b]) = locks();
    take(&locks, &a, 1, KeyShare);
    let mark = a.mark();
    take(&locks, &a, 1, Update);
    take(&locks, &a, 2, Update);
    let calls = Calls::default();
    locks.enqueue(b.enter(), row(1), NoKeyUpdate, false, calls.then());
    assert_eq!(calls.count(), 0);
    a.release_to(mark);
    assert_eq!(calls.count(), 1);
    assert_eq!(take(&locks, &b, 2, Update), Acquired::Fresh);
    // The weaker mode is left.
    assert_eq!(take(&locks, &b, 1, Update), Acquired::Busy);
}

#[test]
fn two_and_three_who_wait_for_each_other_are_found() {
    let (locks, owners) = locks::<3>();
    for (id, owner) in owners.iter().enumerate() {
        take(&locks, owner, id as u64, Update);
    }
    let [a, b, c] = &owners;
    let of_a = a.wait(row(1), Update, false);
    assert!(!of_a.is_deadlocked());
    let of_b = b.wait(row(0), Update, false);
    assert!(of_a.is_deadlocked() && of_b.is_deadlocked());
    drop(of_b);
    assert!(!of_a.is_deadlocked());
    let of_b = b.wait(row(2), Update, false);
    assert!(!of_b.is_deadlocked());
    let of_c = c.wait(row(0), Update, false);
    assert!(of_a.is_deadlocked() && of_b.is_deadlocked() && of_c.is_deadlocked());
}

#[test]
fn one_of_a_cycle_gives_way() {
    let (locks, [a, b]) = locks();
    take(&locks, &a, 1, Update);
    take(&locks, &b, 2, Update);
    let of_a = a.wait(row(2), Update, false);
    let of_b = b.wait(row(1), Update, false);
    assert!(of_b.gives_way());
    assert!(!of_a.gives_way(), "the other one is on its way out");
    drop(of_b);
    drop(b);
    assert_eq!(take(&locks, &a, 2, Update), Acquired::Before);
}

#[test]
fn who_only_waits_for_a_cycle_is_no_part_of_it() {
    let (locks, [a, b, c]) = locks();
    take(&locks, &a, 1, Update);
    take(&locks, &b, 2, Update);
    let of_c = c.wait(row(1), Update, false);
    let _of_a = a.wait(row(2), Update, false);
    let _of_b = b.wait(row(1), Update, false);
    assert!(!of_c.is_deadlocked());
    assert!(_of_a.is_deadlocked());
}

#[test]
fn two_who_make_a_shared_lock_stronger_wait_for_each_other() {
    let (locks, [a, b]) = locks();
    take(&locks, &a, 1, Share);
    take(&locks, &b, 1, Share);
    let of_a = a.wait(row(1), Update, false);
    assert!(!of_a.is_deadlocked());
    let of_b = b.wait(row(1), Update, false);
    assert!(of_b.is_deadlocked());
    drop(b);
    assert!(!of_a.is_deadlocked());
    assert_eq!(take(&locks, &a, 1, Update), Acquired::Before);
}

#[test]
fn a_cycle_by_order_alone_is_resolved_by_order() {
    // a has 1 shared; b waits for 1; c, who has 2, wants 1 shared and stands behind b; a waits for 2. Without its place behind
    // b, c could go on.
    let (locks, [a, b, c]) = locks();
    take(&locks, &a, 1, Share);
    take(&locks, &c, 2, Update);
    let (of_b, of_c) = (Calls::default(), Calls::default());
    locks.enqueue(b.enter(), row(1), Update, false, of_b.then());
    locks.enqueue(c.enter(), row(1), Share, false, of_c.then());
    let of_a = a.wait(row(2), Update, false);
    assert_eq!(of_c.count(), 0);
    assert!(!of_a.is_deadlocked());
    assert_eq!((of_b.count(), of_c.count()), (0, 1), "c goes first");
    drop(c);
    assert_eq!(take(&locks, &a, 2, Update), Acquired::Before);
    drop((of_a, a));
    assert_eq!(of_b.count(), 1);
}

#[test]
fn an_upgrade_stands_before_those_who_wait_for_it() {
    let (locks, [a, b, c]) = locks();
    take(&locks, &a, 1, Share);
    take(&locks, &b, 1, KeyShare);
    let (upgrade, other) = (Calls::default(), Calls::default());
    locks.enqueue(c.enter(), row(1), Update, false, other.then());
    locks.enqueue(a.enter(), row(1), Update, false, upgrade.then());
    drop(b);
    assert_eq!((upgrade.count(), other.count()), (1, 0));
    drop(a);
    assert_eq!(other.count(), 1);
}

#[test]
fn at_the_end_all_are_told() {
    let (locks, [a, b]) = locks();
    take(&locks, &a, 1, Update);
    let told = Arc::new(Mutex::new(None));
    let own = told.clone();
    locks.enqueue(
        b.enter(),
        row(1),
        Update,
        false,
        Box::new(move |given| *own.lock() = Some(given)),
    );
    locks.refuse_all(&Error::new(SqlState::AdminShutdown, "shutting down"));
    let state = told.lock().take().expect("told").expect_err("refused").state;
    assert_eq!(state, SqlState::AdminShutdown);
}

fn table(id: u32) -> LockKey {
    LockKey::Table(TableId(id))
}

#[test]
fn modes_of_tables_exclude_each_other_both_ways() {
    for one in TableMode::ALL {
        for other in TableMode::ALL {
            assert_eq!(one.conflicts(other), other.conflicts(one), "{one:?} {other:?}");
            let (locks, [a, b]) = locks();
            assert_eq!(locks.acquire(&a, &table(1), one), Ok(Acquired::Fresh));
            let busy = locks.acquire(&b, &table(1), other) == Ok(Acquired::Busy);
            assert_eq!(busy, one.conflicts(other), "{one:?} {other:?}");
        }
    }
}

#[test]
fn what_statements_use_is_told_when_somebody_excludes_them() {
    let (locks, [a, b, c]) = locks();
    let used = TableId(1);
    assert_eq!(a.use_table(used, TableMode::RowExclusive), Ok(Acquired::Fresh));
    assert!(!locks.any(), "it is only noted");
    assert_eq!(locks.acquire(&b, &table(1), TableMode::Exclusive), Ok(Acquired::Busy));
    assert!(locks.any() && !locks.exclude_statements());
    // What came before a savepoint stays, and is not told twice.
    let mark = a.mark();
    assert_eq!(a.use_table(TableId(2), TableMode::AccessShare), Ok(Acquired::Fresh));
    a.release_to(mark);
    assert_eq!(locks.acquire(&b, &table(2), TableMode::AccessExclusive), Ok(Acquired::Fresh));
    assert!(locks.exclude_statements());
    // While somebody excludes statements, they queue.
    assert_eq!(c.use_table(TableId(2), TableMode::AccessShare), Ok(Acquired::Busy));
    assert_eq!(c.use_table(TableId(3), TableMode::AccessShare), Ok(Acquired::Fresh));
    let calls = Calls::default();
    locks.enqueue(b.enter(), table(1), TableMode::Exclusive, false, calls.then());
    assert_eq!(calls.count(), 0);
    drop(a);
    assert_eq!(calls.count(), 1);
    drop(b);
    assert!(!locks.exclude_statements());
    drop(c);
    assert!(!locks.any());
}

#[test]
fn a_block_that_uses_a_table_passes_those_who_wait_for_it_by() {
    let (locks, [a, b, c]) = locks();
    assert_eq!(a.use_table(TableId(1), TableMode::RowExclusive), Ok(Acquired::Fresh));
    let calls = Calls::default();
    locks.enqueue(b.enter(), table(1), TableMode::Share, false, calls.then());
    assert_eq!(locks.acquire(&a, &table(1), TableMode::RowShare), Ok(Acquired::Before));
    assert_eq!(locks.acquire(&a, &table(1), TableMode::ShareUpdateExclusive), Ok(Acquired::Fresh));
    assert_eq!(locks.acquire(&c, &table(1), TableMode::RowExclusive), Ok(Acquired::Busy));
    drop(a);
    assert_eq!(calls.count(), 1);
}

#[test]
fn owners_of_one_session_wait_as_one() {
    let locks = Arc::new(Locks::default());
    let key = LockKey::Advisory(AdvisoryKey::Number(1));
    let [kept, block] = std::array::from_fn(|_| locks.owner(Some(SessionId(1))));
    let other = locks.owner(Some(SessionId(2)));
    assert_eq!(locks.acquire(&kept, &key, TableMode::Exclusive), Ok(Acquired::Fresh));
    assert_eq!(locks.acquire(&block, &key, TableMode::Exclusive), Ok(Acquired::Fresh));
    take(&locks, &other, 1, Update);
    let of_other = other.wait(key.clone(), TableMode::Share, false);
    assert!(!of_other.is_deadlocked());
    let of_block = block.wait(row(1), Update, false);
    assert!(of_other.is_deadlocked() && of_block.is_deadlocked());
    drop(of_block);
    drop(block);
    assert_eq!(locks.waiting(), 1, "the session has it still");
    drop(kept);
    assert_eq!(locks.waiting(), 0);
}

#[test]
fn a_session_and_all_have_so_many_locks_that_clients_name() {
    let (locks, [a, b]) = locks();
    locks.state.lock().limits = (2, 3);
    let ask = |owner: &Owner, number| {
        let key = LockKey::Advisory(AdvisoryKey::Number(number));
        locks.acquire(owner, &key, TableMode::Exclusive).map_err(|error| error.state)
    };
    assert_eq!((ask(&a, 1), ask(&a, 2)), (Ok(Acquired::Fresh), Ok(Acquired::Fresh)));
    assert_eq!(ask(&a, 2), Ok(Acquired::Before));
    assert_eq!(ask(&a, 3), Err(SqlState::OutOfMemory));
    assert_eq!(take(&locks, &a, 1, Update), Acquired::Fresh, "rows are not counted");
    assert_eq!(ask(&b, 4), Ok(Acquired::Fresh));
    assert_eq!(ask(&b, 5), Err(SqlState::OutOfMemory));
    drop(a);
    assert_eq!(ask(&b, 5), Ok(Acquired::Fresh));
}
