//! Rows in bulk.

use super::fixture::*;
use crate::env::SimulatedDirectory;
use crate::heartbeat::write::Tuning;
use crate::transaction::{Definition, Isolation};
use crate::types::*;

const MANY: i32 = 20_000;

fn refused(result: Result<impl Sized>) -> (SqlState, Option<String>) {
    let error = result.map(drop).expect_err("refused");
    (error.state, error.context.clone())
}

fn at(row: u64) -> Option<String> {
    Some(format!("row {row}"))
}

#[test]
fn a_load_comes_whole_while_others_write() {
    let f = Fixture::in_memory();
    f.insert(-1, 1).unwrap();
    let before = f.snapshot();
    let load = f.begin_load(T, (0..MANY).map(|id| (id, id % 10))).unwrap();
    f.insert(-2, 2).unwrap();
    assert_eq!(f.rows(), [(-2, 2), (-1, 1)]);
    assert_eq!(f.finish_load(load).unwrap().rows, MANY as u64);
    f.write(&add_to(T, false), &[int(7), int(100)]).unwrap();
    f.write(&delete_by_id(T), &[int(8)]).unwrap();
    let rows = f.rows();
    assert_eq!(rows.len(), MANY as usize + 1);
    assert!(rows.contains(&(7, 107)) && !rows.iter().any(|row| row.0 == 8));
    assert_eq!(f.rows_at(T, &before, &Default::default()), [(-1, 1)]);
}

#[test]
fn one_fault_refuses_all_rows_and_names_its_own() {
    let f = Fixture::in_memory();
    f.insert(5, 5).unwrap();
    let twice = (10..10_000).chain([12, 11]).map(|id| (id, 0));
    assert_eq!(refused(f.load(T, twice)), (SqlState::UniqueViolation, at(9_990)));
    let stored = [8, 7, 6, 5, 4].map(|id| (id, 0));
    assert_eq!(refused(f.load(T, stored)), (SqlState::UniqueViolation, at(3)));
    let null = [(1, 0), (2, i32::MIN), (i32::MIN, 0), (i32::MIN, 0)];
    assert_eq!(refused(f.load(T, null)), (SqlState::NotNullViolation, at(2)));
    assert_eq!(f.rows(), [(5, 5)]);
}

#[test]
fn a_key_that_comes_first_wins() {
    let f = Fixture::in_memory();
    let load = f.begin_load(T, [(1, 1), (2, 2)]).unwrap();
    f.insert(2, 0).unwrap();
    assert_eq!(refused(f.finish_load(load)), (SqlState::UniqueViolation, at(1)));
    let load = f.begin_load(T, [(2, 1), (3, 2)]).unwrap();
    f.write(&delete_by_id(T), &[int(2)]).unwrap();
    f.finish_load(load).unwrap();
    assert_eq!(f.rows(), [(2, 1), (3, 2)]);
}

#[test]
fn parents_are_stored_or_come_along() {
    let f = Fixture::in_memory();
    f.load(T, [(1, 1), (2, 2)]).unwrap();
    let reference = |parent| ForeignKey {
        name: "v_fkey".into(),
        columns: vec![ColumnId(1)],
        parent,
        parent_columns: vec![ColumnId(0)],
        is_full: false,
        on_delete: ForeignKeyAction::NoAction,
        on_update: ForeignKeyAction::NoAction,
    };
    let (child, own) = (TableId(2), TableId(3));
    for (id, name, parent) in [(child, "c", T), (own, "o", own)] {
        let schema = TableSchema { foreign_keys: vec![reference(parent)], ..table(id, name) };
        f.define(Definition::CreateTable(schema)).unwrap();
    }
    f.load(child, [(1, 1), (2, 2), (3, 1), (4, i32::MIN)]).unwrap();
    let missing = [(5, 2), (6, 1), (7, 9), (8, 8)];
    assert_eq!(refused(f.load(child, missing)), (SqlState::ForeignKeyViolation, at(2)));
    f.load(own, [(1, 2), (2, 1), (3, 3)]).unwrap();
    f.load(own, [(4, 3), (5, 4)]).unwrap();
    assert_eq!(refused(f.load(own, [(6, 7)])), (SqlState::ForeignKeyViolation, at(0)));
    assert_eq!(f.rows_at(own, &f.snapshot(), &Default::default()).len(), 5);
}

#[test]
fn a_changed_definition_is_a_conflict_and_a_new_index_is_not() {
    let f = Fixture::in_memory();
    let load = f.begin_load(T, [(1, 1), (2, 1)]).unwrap();
    let index = IndexSchema { unique: false, ..unique(9, "t_v", &[1], false) };
    f.define(Definition::CreateIndex { table: T, index }).unwrap();
    f.finish_load(load).unwrap();
    assert_eq!(f.rows().len(), 2);
    let load = f.begin_load(T, [(3, 1)]).unwrap();
    let mut schema = table(T, "t");
    schema.columns.push(column("more", DataType::Integer, false));
    f.define(Definition::AlterTable(schema)).unwrap();
    assert_eq!(refused(f.finish_load(load)), (SqlState::SerializationFailure, None));
    let load = f.begin_load(T, []).unwrap();
    f.define(Definition::DropTable(T)).unwrap();
    assert_eq!(refused(f.finish_load(load)), (SqlState::UndefinedTable, None));
}

#[test]
fn a_block_takes_rows_in_bulk_and_sees_them() {
    let f = Fixture::in_memory();
    f.insert(1, 1).unwrap();
    let mut block = f.begin(Isolation::ReadCommitted);
    assert_eq!(state(block.load([(2, 2), (3, 3)])), Ok(()));
    assert_eq!(state(block.load([(4, 4), (3, 3)])), Err(SqlState::UniqueViolation));
    assert_eq!(state(block.load([(5, 5), (1, 3)])), Err(SqlState::UniqueViolation));
    assert_eq!(block.rows(), [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(f.rows(), [(1, 1)]);
    block.commit().unwrap();
    assert_eq!(f.rows(), [(1, 1), (2, 2), (3, 3)]);
}

#[test]
fn loads_come_back_from_the_log_and_from_a_checkpoint() {
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, Tuning::default()).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    let mut expected = Vec::new();
    for round in 0..3 {
        let rows = (0..MANY).map(|id| (round * 1_000_000 + id * 7 % MANY, id));
        f.load(T, rows.clone()).unwrap();
        expected.extend(rows);
        f.write(&add_to(T, false), &[int(round * 1_000_000), int(5)]).unwrap();
        f.write(&delete_by_id(T), &[int(round * 1_000_000 + 7)]).unwrap();
        if round == 1 {
            f.checkpoint().unwrap();
        }
    }
    let rows = f.rows();
    assert_eq!(rows.len(), expected.len() - 3);
    drop(f);
    let f = Fixture::on(&directory, Tuning::default()).unwrap();
    assert_eq!(f.rows(), rows);
    // Indexes are there again: keys are found, and refused where they are taken.
    f.write(&add_to(T, false), &[int(2_000_014), int(1)]).unwrap();
    assert!(f.rows().contains(&(2_000_014, 3)));
    assert_eq!(f.insert(1_000_021, 0).unwrap_err().state, SqlState::UniqueViolation);
    f.insert(1_000_007, 0).unwrap();
    assert_eq!(refused(f.load(T, [(-1, 0), (14, 0)])), (SqlState::UniqueViolation, at(1)));
}

/// Deleted rows leave chunks that are not full, but do not mix them with others.
#[test]
fn rows_in_order_stay_in_order_through_a_checkpoint() {
    let directory = SimulatedDirectory::new();
    let f = Fixture::on(&directory, Tuning::default()).unwrap();
    f.define(Definition::CreateTable(table(T, "t"))).unwrap();
    f.load(T, (0..20 * MANY).map(|id| (id, id))).unwrap();
    (0..4).for_each(|id| drop(f.write(&delete_by_id(T), &[int(id * MANY)]).unwrap()));
    let is_clustered = |f: &Fixture| {
        let table = f.writes.store().table(T).expect("created above");
        table.view(f.snapshot().version()).clustering(ColumnId(0)).is_some()
    };
    assert!(is_clustered(&f));
    f.checkpoint().unwrap();
    drop(f);
    let f = Fixture::on(&directory, Tuning::default()).unwrap();
    assert!(is_clustered(&f));
    assert_eq!(f.rows().len(), 20 * MANY as usize - 4);
}
