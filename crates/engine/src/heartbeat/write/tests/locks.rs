//! Blocks and writes by themselves that want the same rows and keys.

use super::fixture::*;
use crate::heartbeat::WriteReceiver;
use crate::transaction::Isolation::{ReadCommitted, RepeatableRead};
use crate::transaction::LockMode::{KeyShare, Share, Update};
use crate::types::{Comparison, SqlState, Value};
use crate::waiting::HANG;

fn rows(count: i32) -> Fixture {
    let f = Fixture::in_memory();
    (1..=count).for_each(|id| _ = f.insert(id, id * 10).unwrap());
    f
}

fn waiting(f: &Fixture) -> usize {
    f.writes.shared.locks.waiting()
}

/// A write by itself, whose answer is asked for later.
fn submit(
    f: &Fixture,
    plan: &std::sync::Arc<crate::plan::WritePlan>,
    parameters: &[Value],
) -> std::sync::mpsc::Receiver<crate::types::Result<crate::heartbeat::WriteOutcome>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let answered: WriteReceiver = Box::new(move |outcome| drop(sender.send(outcome)));
    f.writes.write(plan.clone(), parameters.into(), SESSION, answered);
    receiver
}

#[test]
fn an_update_waits_and_goes_on_with_the_newest_row() {
    let f = rows(2);
    let (mut a, mut b) = (f.begin(ReadCommitted), f.begin(ReadCommitted));
    a.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    let mut write = b.begin_write(&add_to(T, true), &[int(1), int(100)]);
    assert!(b.must_wait(&mut write));
    a.commit().unwrap();
    let outcome = done(|| f.writes.advance(&mut write, &mut b.set)).unwrap();
    assert_eq!((outcome.rows, write.is_newer()), (1, true));
    b.commit().unwrap();
    assert_eq!(f.rows(), [(1, 111), (2, 20)]);
    assert!(!f.writes.shared.locks.any());
}

#[test]
fn a_row_that_no_longer_qualifies_or_is_gone_is_left_out() {
    let f = rows(3);
    let (mut a, mut b) = (f.begin(ReadCommitted), f.begin(ReadCommitted));
    a.write(&set_by_id(T, 1), &[int(1), int(5)]).unwrap();
    a.write(&delete_by_id(T), &[int(2)]).unwrap();
    let plan = set_where(T, 1, vec![compare(1, Comparison::GreaterOrEqual, 10)]);
    let mut write = b.begin_write(&plan, &[int(0), int(99)]);
    assert!(b.must_wait(&mut write));
    a.commit().unwrap();
    assert_eq!(done(|| f.writes.advance(&mut write, &mut b.set)).unwrap().rows, 1);
    b.commit().unwrap();
    assert_eq!(f.rows(), [(1, 5), (3, 99)]);
}

#[test]
fn repeatable_read_waits_and_then_fails_if_the_row_has_changed() {
    for commits in [true, false] {
        let f = rows(1);
        let (mut a, mut b) = (f.begin(ReadCommitted), f.begin(RepeatableRead));
        a.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
        let mut write = b.begin_write(&add_to(T, false), &[int(1), int(100)]);
        assert!(b.must_wait(&mut write));
        if commits {
            a.commit().unwrap();
        } else {
            drop(a);
        }
        let said = state(done(|| f.writes.advance(&mut write, &mut b.set)).map(|o| o.rows));
        assert_eq!(said, if commits { Err(SqlState::SerializationFailure) } else { Ok(1) });
    }
}

#[test]
fn a_write_by_itself_waits_for_a_block_and_blocks_see_it() {
    let f = rows(1);
    let mut a = f.begin(ReadCommitted);
    a.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    let answer = submit(&f, &add_to(T, false), &[int(1), int(100)]);
    assert!(answer.try_recv().is_err());
    assert_eq!(waiting(&f), 1);
    a.commit().unwrap();
    assert_eq!(answer.recv_timeout(HANG).unwrap().unwrap().rows, 1);
    assert_eq!(f.rows(), [(1, 111)]);
    assert!(!f.writes.shared.locks.any());
}

#[test]
fn writes_by_themselves_stand_in_line_with_blocks() {
    let f = rows(1);
    let (mut a, mut b) = (f.begin(ReadCommitted), f.begin(ReadCommitted));
    a.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    let answer = submit(&f, &set_by_id(T, 1), &[int(1), int(0)]);
    let mut write = b.begin_write(&add_to(T, false), &[int(1), int(1000)]);
    assert!(b.must_wait(&mut write));
    a.commit().unwrap();
    answer.recv_timeout(HANG).unwrap().unwrap();
    done(|| f.writes.advance(&mut write, &mut b.set)).unwrap();
    b.commit().unwrap();
    assert_eq!(f.rows(), [(1, 1000)]);
}

#[test]
fn four_who_read_lock_and_write_lose_nothing() {
    let f = rows(1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let mut block = f.begin(ReadCommitted);
                    let value = block.lock(1, Update).unwrap().unwrap();
                    block.write(&set_by_id(T, 1), &[int(1), int(value + 1)]).unwrap();
                    block.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(f.rows(), [(1, 210)]);
}

#[test]
fn hot_rows_abort_nobody() {
    let f = rows(2);
    std::thread::scope(|scope| {
        for client in 0..6 {
            let f = &f;
            scope.spawn(move || {
                for _ in 0..20 {
                    if client == 0 {
                        f.write(&add_to(T, false), &[int(1), int(3)]).unwrap();
                        f.write(&add_to(T, false), &[int(2), int(3)]).unwrap();
                        continue;
                    }
                    let mut block = f.begin(ReadCommitted);
                    block.write(&add_to(T, client % 2 == 0), &[int(1), int(3)]).unwrap();
                    block.value(1).unwrap();
                    block.write(&add_to(T, false), &[int(2), int(3)]).unwrap();
                    block.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(f.rows(), [(1, 370), (2, 380)]);
    assert!(!f.writes.shared.locks.any());
}

#[test]
fn of_two_who_wait_for_each_other_one_goes() {
    let f = rows(2);
    let (mut a, mut b) = (f.begin(ReadCommitted), f.begin(ReadCommitted));
    a.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    b.write(&add_to(T, false), &[int(2), int(1)]).unwrap();
    let failed = std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let said = a.write(&add_to(T, false), &[int(2), int(1)]).map(|_| ());
            said.and_then(|()| a.commit().map(drop))
        });
        let said = b.write(&add_to(T, false), &[int(1), int(1)]).map(|_| ());
        let own = said.and_then(|()| b.commit().map(drop));
        [state(own), state(other.join().unwrap())]
    });
    assert!(failed.contains(&Err(SqlState::DeadlockDetected)) && failed.contains(&Ok(())));
    assert_eq!(f.rows(), [(1, 11), (2, 21)]);
}

#[test]
fn an_insert_waits_for_anothers_key() {
    for commits in [true, false] {
        let f = rows(1);
        let (mut a, mut b) = (f.begin(ReadCommitted), f.begin(ReadCommitted));
        a.write(&insert_into(T, None), &[int(2), int(0), Value::Null]).unwrap();
        let mut write = b.begin_write(&insert_into(T, None), &[int(2), int(9), Value::Null]);
        assert!(b.must_wait(&mut write));
        let by_itself = submit(&f, &insert_into(T, None), &[int(2), int(8), Value::Null]);
        if commits {
            a.commit().unwrap();
        } else {
            drop(a);
        }
        let said = state(done(|| f.writes.advance(&mut write, &mut b.set)).map(|o| o.rows));
        assert_eq!(said, if commits { Err(SqlState::UniqueViolation) } else { Ok(1) });
        b.commit().unwrap();
        let said = by_itself.recv_timeout(HANG).unwrap().map(|o| o.rows);
        assert_eq!(state(said), Err(SqlState::UniqueViolation));
        assert_eq!(f.rows(), [(1, 10), (2, if commits { 0 } else { 9 })]);
    }
}

#[test]
fn an_insert_waits_for_who_takes_its_key_away() {
    let f = rows(1);
    let (mut a, mut b) = (f.begin(ReadCommitted), f.begin(ReadCommitted));
    a.write(&delete_by_id(T), &[int(1)]).unwrap();
    let mut write = b.begin_write(&insert_into(T, None), &[int(1), int(7), Value::Null]);
    assert!(b.must_wait(&mut write));
    a.commit().unwrap();
    done(|| f.writes.advance(&mut write, &mut b.set)).unwrap();
    b.commit().unwrap();
    assert_eq!(f.rows(), [(1, 7)]);
}

#[test]
fn loads_wait_for_keys_too() {
    let f = rows(1);
    let mut a = f.begin(ReadCommitted);
    a.load([(2, 0), (3, 0)]).unwrap();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| state(f.load(T, [(3, 9), (4, 9)]).map(drop)));
        while waiting(&f) == 0 {
            std::thread::yield_now();
        }
        drop(a);
        assert_eq!(load.join().unwrap(), Ok(()));
    });
    assert_eq!(f.rows(), [(1, 10), (3, 9), (4, 9)]);
}

#[test]
fn shared_locks_stand_side_by_side() {
    let f = rows(1);
    let (mut a, mut b, mut c) =
        (f.begin(ReadCommitted), f.begin(ReadCommitted), f.begin(ReadCommitted));
    assert_eq!(a.lock(1, Share), Ok(Some(10)));
    assert_eq!(b.lock(1, KeyShare), Ok(Some(10)));
    let mut write = c.begin_write(&add_to(T, false), &[int(1), int(1)]);
    assert!(c.must_wait(&mut write));
    drop(a);
    // What a foreign key needs does not stop it.
    done(|| f.writes.advance(&mut write, &mut c.set)).unwrap();
    c.commit().unwrap();
    let mut c = f.begin(ReadCommitted);
    let mut end = c.begin_write(&delete_by_id(T), &[int(1)]);
    assert!(c.must_wait(&mut end));
    drop(b);
    done(|| f.writes.advance(&mut end, &mut c.set)).unwrap();
    c.commit().unwrap();
    assert_eq!(f.rows(), []);
}

#[test]
fn a_savepoint_ends_locks() {
    let f = rows(2);
    let (mut a, mut b) = (f.begin(ReadCommitted), f.begin(ReadCommitted));
    a.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    let place = a.set.place();
    a.write(&add_to(T, false), &[int(2), int(1)]).unwrap();
    let mut write = b.begin_write(&add_to(T, false), &[int(2), int(5)]);
    assert!(b.must_wait(&mut write));
    a.set.return_to(place);
    done(|| f.writes.advance(&mut write, &mut b.set)).unwrap();
    let mut write = b.begin_write(&add_to(T, false), &[int(1), int(5)]);
    assert!(b.must_wait(&mut write));
    a.commit().unwrap();
    done(|| f.writes.advance(&mut write, &mut b.set)).unwrap();
    b.commit().unwrap();
    assert_eq!(f.rows(), [(1, 16), (2, 25)]);
}

#[test]
fn when_the_engine_goes_who_waits_is_told() {
    let f = rows(1);
    let mut a = f.begin(ReadCommitted);
    a.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    let answer = submit(&f, &add_to(T, false), &[int(1), int(100)]);
    let Block { set, .. } = a;
    drop(f);
    let said = answer.recv_timeout(HANG).expect("told").map(drop);
    assert_eq!(state(said), Err(SqlState::AdminShutdown));
    drop(set);
}
