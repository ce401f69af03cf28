use super::fixture::*;
use crate::transaction::{Definition, Isolation};
use crate::types::*;

const CHILD: TableId = TableId(2);

fn with_child(on_delete: ForeignKeyAction, on_update: ForeignKeyAction) -> Fixture {
    let f = Fixture::in_memory();
    let mut child = table(CHILD, "c");
    child.foreign_keys.push(ForeignKey {
        name: "c_v_fkey".into(),
        columns: vec![ColumnId(1)],
        parent: T,
        parent_columns: vec![ColumnId(0)],
        is_full: false,
        on_delete,
        on_update,
    });
    f.define(Definition::CreateTable(child)).unwrap();
    f
}

fn child(f: &Fixture, id: i32, parent: Value) -> Result<u64> {
    f.write(&insert_into(CHILD, None), &[int(id), parent, Value::Null]).map(|o| o.rows)
}

fn children(f: &Fixture) -> Vec<(i32, i32)> {
    f.rows_at(CHILD, &f.snapshot(), &Default::default())
}

#[test]
fn unique_keys_speak_as_in_postgres() {
    let f = Fixture::in_memory();
    f.insert(1, 1).unwrap();
    let error = f.insert(1, 2).unwrap_err();
    assert_eq!(error.state, SqlState::UniqueViolation);
    assert_eq!(error.message, "duplicate key value violates unique constraint \"t_pkey\"");
    assert_eq!(error.detail.as_deref(), Some("Key (id)=(1) already exists."));
    assert_eq!(error.constraint.as_deref(), Some("t_pkey"));
    f.insert(2, 2).unwrap();
    // Onto another row's key, onto its own, and away.
    assert!(f.write(&set_by_id(T, 0), &[int(2), int(1)]).is_err());
    f.write(&set_by_id(T, 0), &[int(2), int(2)]).unwrap();
    f.write(&set_by_id(T, 0), &[int(2), int(3)]).unwrap();
    f.insert(2, 5).unwrap();
    assert_eq!(f.rows(), [(1, 1), (2, 5), (3, 2)]);
}

#[test]
fn a_block_sees_its_own_keys() {
    let f = Fixture::in_memory();
    f.insert(1, 1).unwrap();
    let mut block = f.begin(Isolation::ReadCommitted);
    block.write(&delete_by_id(T), &[int(1)]).unwrap();
    block.write(&insert_into(T, None), &[int(1), int(7), Value::Null]).unwrap();
    let again = block.write(&insert_into(T, None), &[int(1), int(8), Value::Null]);
    assert_eq!(state(again).unwrap_err(), SqlState::UniqueViolation);
    block.write(&add_to(T, false), &[int(1), int(1)]).unwrap();
    block.commit().unwrap();
    assert_eq!(f.rows(), [(1, 8)]);
}

#[test]
fn rows_are_checked_alone() {
    let f = Fixture::in_memory();
    let error = f.write(&insert_into(T, None), &[Value::Null, int(1), Value::Null]).unwrap_err();
    assert_eq!(
        error.message,
        "null value in column \"id\" of relation \"t\" violates not-null constraint"
    );
    assert_eq!(error.detail.as_deref(), Some("Failing row contains (null, 1, null)."));
    let long = Value::Text("abcdef".into());
    let error = f.write(&insert_into(T, None), &[int(1), int(1), long]).unwrap_err();
    assert_eq!(error.state, SqlState::StringTooLong);
    assert_eq!(f.rows(), []);
}

#[test]
fn children_need_parents() {
    let f = with_child(ForeignKeyAction::NoAction, ForeignKeyAction::NoAction);
    let error = child(&f, 1, int(5)).unwrap_err();
    assert_eq!(error.state, SqlState::ForeignKeyViolation);
    assert_eq!(
        error.message,
        "insert or update on table \"c\" violates foreign key constraint \"c_v_fkey\""
    );
    assert_eq!(error.detail.as_deref(), Some("Key (v)=(5) is not present in table \"t\"."));
    child(&f, 1, Value::Null).unwrap();
    f.insert(5, 0).unwrap();
    child(&f, 2, int(5)).unwrap();
    let error = f.write(&delete_by_id(T), &[int(5)]).unwrap_err();
    assert_eq!(
        error.message,
        "update or delete on table \"t\" violates foreign key constraint \"c_v_fkey\" on table \"c\""
    );
    assert_eq!(error.detail.as_deref(), Some("Key (id)=(5) is still referenced from table \"c\"."));
    assert!(f.write(&set_by_id(T, 0), &[int(5), int(6)]).is_err());
    f.write(&set_by_id(T, 1), &[int(5), int(6)]).unwrap();
    f.write(&delete_by_id(CHILD), &[int(2)]).unwrap();
    f.write(&delete_by_id(T), &[int(5)]).unwrap();
}

#[test]
fn parents_cascade_or_set_null() {
    let f = with_child(ForeignKeyAction::Cascade, ForeignKeyAction::Cascade);
    f.insert(1, 0).unwrap();
    child(&f, 10, int(1)).unwrap();
    child(&f, 11, int(1)).unwrap();
    f.write(&set_by_id(T, 0), &[int(1), int(2)]).unwrap();
    assert_eq!(children(&f), [(10, 2), (11, 2)]);
    f.write(&delete_by_id(T), &[int(2)]).unwrap();
    assert_eq!(children(&f), []);

    let f = with_child(ForeignKeyAction::SetNull, ForeignKeyAction::NoAction);
    f.insert(1, 0).unwrap();
    child(&f, 10, int(1)).unwrap();
    f.write(&delete_by_id(T), &[int(1)]).unwrap();
    assert_eq!(children(&f), [(10, i32::MIN)]);
}

#[test]
fn a_parents_end_and_a_new_child_wait_for_each_other() {
    let f = with_child(ForeignKeyAction::NoAction, ForeignKeyAction::NoAction);
    f.insert(1, 0).unwrap();
    let mut block = f.begin(Isolation::ReadCommitted);
    block.write(&delete_by_id(T), &[int(1)]).unwrap();
    std::thread::scope(|scope| {
        let late = scope.spawn(|| state(child(&f, 10, int(1)).map(drop)));
        while f.writes.shared.locks.waiting() == 0 {
            std::thread::yield_now();
        }
        block.commit().unwrap();
        assert_eq!(late.join().unwrap(), Err(SqlState::ForeignKeyViolation));
    });

    let f = with_child(ForeignKeyAction::NoAction, ForeignKeyAction::NoAction);
    f.insert(1, 0).unwrap();
    let mut block = f.begin(Isolation::ReadCommitted);
    block.write(&insert_into(CHILD, None), &[int(10), int(1), Value::Null]).unwrap();
    // What leaves the key alone goes by.
    f.write(&set_by_id(T, 1), &[int(1), int(5)]).unwrap();
    let mut other = f.begin(Isolation::ReadCommitted);
    let mut end = other.begin_write(&delete_by_id(T), &[int(1)]);
    assert!(other.must_wait(&mut end));
    block.commit().unwrap();
    let said = done(|| f.writes.advance(&mut end, &mut other.set)).map(drop);
    assert_eq!(state(said), Err(SqlState::ForeignKeyViolation));
}
