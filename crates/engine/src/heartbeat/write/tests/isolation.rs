//! Hermitage's table: what REPEATABLE READ prevents and READ COMMITTED allows.

use super::fixture::*;
use crate::transaction::Isolation::{ReadCommitted, RepeatableRead};
use crate::types::{Comparison, SqlState};

const CONFLICT: SqlState = SqlState::SerializationFailure;

fn two_rows() -> Fixture {
    let f = Fixture::in_memory();
    f.insert(1, 10).unwrap();
    f.insert(2, 20).unwrap();
    f
}

#[test]
fn g0_write_cycles() {
    let f = two_rows();
    let (mut a, mut b) = (f.begin(RepeatableRead), f.begin(RepeatableRead));
    a.write(&set_by_id(T, 1), &[int(1), int(11)]).unwrap();
    let mut write = b.begin_write(&set_by_id(T, 1), &[int(1), int(12)]);
    assert!(b.must_wait(&mut write));
    a.write(&set_by_id(T, 1), &[int(2), int(21)]).unwrap();
    a.commit().unwrap();
    let said = done(|| f.writes.advance(&mut write, &mut b.set)).map(drop);
    assert_eq!(state(said).unwrap_err(), CONFLICT);
    assert_eq!(f.rows(), [(1, 11), (2, 21)]);
}

#[test]
fn g1a_aborted_reads_g1b_intermediate_reads_g1c_circular_flow() {
    for isolation in [ReadCommitted, RepeatableRead] {
        let f = two_rows();
        let (mut a, mut b) = (f.begin(isolation), f.begin(isolation));
        a.write(&set_by_id(T, 1), &[int(1), int(101)]).unwrap();
        assert_eq!(b.value(1), Some(10));
        a.write(&set_by_id(T, 1), &[int(1), int(11)]).unwrap();
        assert_eq!(b.value(1), Some(10));
        b.write(&set_by_id(T, 1), &[int(2), int(22)]).unwrap();
        assert_eq!((a.value(2), b.value(1)), (Some(20), Some(10)));
        drop(a);
        b.commit().unwrap();
        assert_eq!(f.rows(), [(1, 10), (2, 22)]);
    }
}

#[test]
fn otv_observed_transaction_vanishes() {
    let f = two_rows();
    let mut a = f.begin(ReadCommitted);
    a.write(&set_by_id(T, 1), &[int(1), int(11)]).unwrap();
    a.write(&set_by_id(T, 1), &[int(2), int(19)]).unwrap();
    let mut b = f.begin(ReadCommitted);
    let mut write = b.begin_write(&set_by_id(T, 1), &[int(1), int(12)]);
    assert!(b.must_wait(&mut write));
    a.commit().unwrap();
    done(|| f.writes.advance(&mut write, &mut b.set)).unwrap();
    let mut c = f.begin(ReadCommitted);
    assert_eq!(c.rows(), [(1, 11), (2, 19)]);
    b.write(&set_by_id(T, 1), &[int(2), int(18)]).unwrap();
    assert_eq!(c.rows(), [(1, 11), (2, 19)]);
    b.commit().unwrap();
    assert_eq!(c.rows(), [(1, 12), (2, 18)]);
}

#[test]
fn pmp_predicate_many_preceders() {
    let f = two_rows();
    let (mut a, mut b) = (f.begin(RepeatableRead), f.begin(ReadCommitted));
    assert_eq!(a.value(3), None);
    f.insert(3, 30).unwrap();
    assert_eq!(a.value(3), None);
    assert_eq!(b.value(3), Some(30));
    // Write predicates: a deletes what another has meanwhile moved.
    let f = two_rows();
    let mut a = f.begin(RepeatableRead);
    f.write(&set_by_id(T, 1), &[int(1), int(20)]).unwrap();
    let plan = delete_where(T, vec![compare(1, Comparison::Equal, 20)]);
    assert_eq!(a.write(&plan, &[]).unwrap().rows, 1);
    a.commit().unwrap();
    assert_eq!(f.rows(), [(1, 20)]);
}

#[test]
fn p4_lost_update() {
    let f = two_rows();
    let (mut a, mut b) = (f.begin(RepeatableRead), f.begin(RepeatableRead));
    assert_eq!((a.value(1), b.value(1)), (Some(10), Some(10)));
    a.write(&set_by_id(T, 1), &[int(1), int(11)]).unwrap();
    a.commit().unwrap();
    let said = b.write(&set_by_id(T, 1), &[int(1), int(11)]).map(drop);
    assert_eq!(state(said).unwrap_err(), CONFLICT);
}

#[test]
fn g_single_read_skew() {
    let f = two_rows();
    let mut a = f.begin(RepeatableRead);
    assert_eq!(a.value(1), Some(10));
    let mut b = f.begin(RepeatableRead);
    b.write(&set_by_id(T, 1), &[int(1), int(12)]).unwrap();
    b.write(&set_by_id(T, 1), &[int(2), int(18)]).unwrap();
    b.commit().unwrap();
    assert_eq!(a.value(2), Some(20));
    let plan = delete_where(T, vec![compare(1, Comparison::Equal, 20)]);
    assert_eq!(state(a.write(&plan, &[]).map(drop)).unwrap_err(), CONFLICT);
}

#[test]
fn g2_item_write_skew_is_allowed_by_snapshot_isolation() {
    let f = two_rows();
    let (mut a, mut b) = (f.begin(RepeatableRead), f.begin(RepeatableRead));
    a.write(&set_by_id(T, 1), &[int(1), int(11)]).unwrap();
    b.write(&set_by_id(T, 1), &[int(2), int(21)]).unwrap();
    a.commit().unwrap();
    b.commit().unwrap();
    assert_eq!(f.rows(), [(1, 11), (2, 21)]);
}

#[test]
fn bank_transfers_keep_the_sum_in_every_snapshot() {
    let f = Fixture::in_memory();
    (0..10).for_each(|id| _ = f.insert(id, 100_000).unwrap());
    std::thread::scope(|scope| {
        for client in 0..4 {
            let f = &f;
            scope.spawn(move || {
                for i in 0..60 {
                    let isolation = if client % 2 == 0 { ReadCommitted } else { RepeatableRead };
                    let mut block = f.begin(isolation);
                    let (from, to) = ((client * 7 + i) % 10, (client * 3 + i * 3 + 1) % 10);
                    // In one order, so that nobody waits for himself.
                    let mut steps = [(from, -5), (to, 5)];
                    steps.sort_unstable();
                    let done = steps.into_iter().try_for_each(|(id, by)| {
                        block.write(&add_to(T, false), &[int(id), int(by)]).map(drop)
                    });
                    let committed = state(done.and_then(|()| block.commit().map(drop)));
                    assert!(isolation == RepeatableRead || committed.is_ok(), "{committed:?}");
                    let sum: i32 = f.rows().iter().map(|row| row.1).sum();
                    assert_eq!(sum, 1_000_000);
                }
            });
        }
    });
}

#[test]
fn savepoints_and_failed_statements_leave_nothing() {
    let f = two_rows();
    let mut a = f.begin(ReadCommitted);
    a.write(&set_by_id(T, 1), &[int(1), int(11)]).unwrap();
    let mark = a.set.mark();
    a.write(&set_by_id(T, 1), &[int(1), int(12)]).unwrap();
    a.write(&delete_by_id(T), &[int(2)]).unwrap();
    assert_eq!(a.rows(), [(1, 12)]);
    assert!(a.write(&insert_into(T, None), &[int(1), int(0), crate::types::Value::Null]).is_err());
    assert_eq!(a.rows(), [(1, 12)]);
    a.set.rollback_to(mark);
    assert_eq!(a.rows(), [(1, 11), (2, 20)]);
    a.commit().unwrap();
    assert_eq!(f.rows(), [(1, 11), (2, 20)]);
}
