use super::fixture::*;
use crate::heartbeat::AnswerPart;
use crate::plan::{ConflictAction, OnConflict};
use crate::transaction::{Definition, WriteSet};
use crate::types::*;

#[test]
fn autocommit_writes_apply_in_order() {
    let f = Fixture::in_memory();
    for id in 0..10 {
        assert_eq!(f.insert(id, id * 10).unwrap().rows, 1);
    }
    assert_eq!(f.write(&add_to(T, false), &[int(3), int(5)]).unwrap().rows, 1);
    assert_eq!(f.write(&add_to(T, false), &[int(99), int(5)]).unwrap().rows, 0);
    let plan = delete_where(T, vec![compare(1, Comparison::GreaterOrEqual, 50)]);
    assert_eq!(f.write(&plan, &[]).unwrap().rows, 5);
    assert_eq!(f.rows(), [(0, 0), (1, 10), (2, 20), (3, 35), (4, 40)]);
}

#[test]
fn returning_gives_the_new_row() {
    let f = Fixture::in_memory();
    f.insert(1, 10).unwrap();
    let outcome = f.write(&add_to(T, true), &[int(1), int(5)]).unwrap();
    let answer = outcome.returning.unwrap();
    let AnswerPart::Own(_) = &answer.parts[0] else { panic!("rows of one's own") };
    assert_eq!(answer.rows(), 1);
    assert_eq!(answer.parts[0].cell(0, 0), ValueRef::Integer(15));
}

#[test]
fn a_fault_or_a_panic_is_its_own() {
    let f = Fixture::in_memory();
    f.insert(1, 600).unwrap();
    f.insert(2, 0).unwrap();
    assert_eq!(
        state(f.write(&add_to(T, false), &[int(1), int(66)])).unwrap_err(),
        SqlState::InternalError
    );
    assert_eq!(
        state(f.write(&add_to(T, false), &[int(1), int(67)])).unwrap_err(),
        SqlState::DivisionByZero
    );
    f.write(&add_to(T, false), &[int(2), int(1)]).unwrap();
    assert_eq!(f.rows(), [(1, 600), (2, 1)]);
}

#[test]
fn what_storage_cannot_keep_is_refused_before_it_is_applied() {
    let f = Fixture::in_memory();
    f.insert(1, 10).unwrap();
    let rows = [
        vec![int(2), Value::Numeric(110, 2), Value::Null],
        vec![int(2), Value::BigInt(1), Value::Null],
        vec![int(2), int(1), Value::Date(1)],
        vec![Value::Null, int(1), Value::Null],
        vec![int(2), int(1)],
    ];
    for row in rows {
        let mut set = WriteSet::new();
        set.insert(T, row.clone().into());
        assert!(f.commit(set).is_err(), "{row:?}");
        let mut set = WriteSet::new();
        let base = f.snapshot().version();
        set.update(T, RowId(0), base, row.clone().into());
        assert!(f.commit(set).is_err(), "{row:?}");
    }
    f.insert(2, 20).unwrap();
    assert_eq!(f.rows(), [(1, 10), (2, 20)], "the process goes on");
}

#[test]
fn on_conflict_finds_the_row_in_the_way() {
    let f = Fixture::in_memory();
    f.insert(1, 10).unwrap();
    let nothing = OnConflict { index: None, action: ConflictAction::Nothing };
    let outcome = f.write(&insert_into(T, Some(nothing)), &[int(1), int(11), Value::Null]);
    assert_eq!(outcome.unwrap().rows, 0);
    let action = ConflictAction::Update {
        // v = excluded.v
        assignments: vec![(ColumnId(1), Scalar::Column(4))],
        predicates: Vec::new(),
    };
    let update = OnConflict { index: Some(IndexId(10)), action };
    let plan = insert_into(T, Some(update));
    assert_eq!(f.write(&plan, &[int(1), int(12), Value::Null]).unwrap().rows, 1);
    assert_eq!(f.write(&plan, &[int(2), int(20), Value::Null]).unwrap().rows, 1);
    assert_eq!(f.rows(), [(1, 12), (2, 20)]);
}

#[test]
fn many_threads_lose_no_update() {
    let f = Fixture::in_memory();
    f.insert(1, 1000).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    f.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
                }
            });
        }
    });
    assert_eq!(f.rows(), [(1, 3000)]);
}

#[test]
fn definitions_are_checked_again() {
    let f = Fixture::in_memory();
    let again = f.define(Definition::CreateTable(table(TableId(9), "t")));
    assert_eq!(again.unwrap_err().message, "relation \"t\" already exists");
    f.insert(1, 1).unwrap();
    f.insert(2, 1).unwrap();
    let index = unique(77, "t_v_key", &[1], false);
    let error = f.define(Definition::CreateIndex { table: T, index }).unwrap_err();
    assert_eq!(error.state, SqlState::UniqueViolation);
    f.define(Definition::PutEntry { key: "a".into(), value: Some(vec![1]) }).unwrap();
    assert_eq!(f.writes.entry("a").as_deref(), Some(&[1][..]));
    f.define(Definition::Truncate { tables: vec![T], restart_identity: false }).unwrap();
    assert_eq!(f.rows(), []);
    f.define(Definition::DropTable(T)).unwrap();
    assert_eq!(state(f.insert(3, 3)).unwrap_err(), SqlState::UndefinedTable);
}
