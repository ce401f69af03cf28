//! Tables stored anew with columns of other types.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int64Array, cast::AsArray};

use super::fixture::*;
use crate::env::{SeededRandomness, SimulatedDirectory};
use crate::heartbeat::write::TableRewrite;
use crate::storage::CHUNK_ROWS;
use crate::transaction::{Definition, Isolation, every_row};
use crate::types::*;

const CHILD: TableId = TableId(2);
const NEW: TableId = TableId(3);

/// An integer column times ten as bigint.
#[derive(Debug)]
struct TenTimes([usize; 1]);

impl Expression for TenTimes {
    fn columns(&self) -> &[usize] {
        &self.0
    }
    fn parameters(&self) -> &[usize] {
        &[]
    }
    fn data_type(&self) -> DataType {
        DataType::BigInt
    }
    fn evaluate(&self, columns: &[ArrayRef], _: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        let values = columns[0].as_primitive::<Int32Type>().iter();
        if columns[0].as_primitive::<Int32Type>().iter().any(|value| value == Some(-666)) {
            return Err(Error::new(SqlState::NumericOutOfRange, "out of range"));
        }
        let widened = values.map(|value| value.map(|value| i64::from(value) * 10));
        Ok(Arc::new(widened.collect::<Int64Array>()))
    }
    fn text(&self) -> &str {
        "a * 10"
    }
}

/// `t` with `v` ten times as large and bigint.
fn ten_times() -> TableRewrite {
    let mut by = table(NEW, "t");
    by.indexes = vec![unique(10, "t_pkey", &[0], true), unique(11, "t_v_key", &[1], false)];
    by.columns[1].data_type = DataType::BigInt;
    let value = Scalar::Expression(Arc::new(TenTimes([1])));
    TableRewrite { table: T, by, conversions: vec![(ColumnId(1), value)], checks: Vec::new() }
}

/// The rows of whatever table is called `t`, and of the child.
fn state_of(f: &Fixture) -> Vec<String> {
    let store = f.writes.store();
    let version = f.snapshot().version();
    let mut rows = Vec::new();
    for table in store.tables() {
        let (view, name) = (table.view(version), table.schema().name.clone());
        every_row(&view, |at| rows.push(format!("{name} {:?}", view.row(at))));
    }
    rows.sort();
    rows
}

fn child() -> TableSchema {
    let mut child = table(CHILD, "child");
    child.foreign_keys.push(ForeignKey {
        name: "child_v_fkey".into(),
        columns: vec![ColumnId(1)],
        parent: T,
        parent_columns: vec![ColumnId(0)],
        is_full: false,
        on_delete: ForeignKeyAction::NoAction,
        on_update: ForeignKeyAction::NoAction,
    });
    child
}

fn insert(f: &Fixture, table: TableId, id: i32, v: Value) -> Result<()> {
    f.write(&insert_into(table, None), &[int(id), v, Value::Null]).map(drop)
}

fn filled(f: &Fixture) {
    f.define(Definition::CreateTable(child())).unwrap();
    f.load(T, (1..CHUNK_ROWS as i32 + 50).map(|id| (id, id))).unwrap();
    f.write(&add_to(T, false), &[int(5), int(100_000)]).unwrap();
    f.write(&delete_by_id(T), &[int(6)]).unwrap();
    insert(f, CHILD, 1, int(7)).unwrap();
}

#[test]
fn rows_have_their_new_values_and_old_readers_the_old_ones() {
    let f = Fixture::in_memory();
    filled(&f);
    let before = f.snapshot();
    let old = f.writes.store().table(T).unwrap().view(before.version());
    let count = || {
        let mut sum = 0;
        every_row(&old, |at| match old.cell(ColumnId(1), at) {
            ValueRef::Integer(v) => sum += i64::from(v),
            other => panic!("{other:?}"),
        });
        sum
    };
    let sum = count();
    f.rewrite(ten_times()).unwrap();
    assert_eq!(count(), sum);
    assert!(f.writes.store().table(T).is_none());
    let new = f.writes.store().table(NEW).unwrap();
    assert!(new.oldest_version() > before.version());
    let (view, mut total) = (new.view(f.snapshot().version()), 0);
    every_row(&view, |at| match view.cell(ColumnId(1), at) {
        ValueRef::BigInt(v) => total += v,
        other => panic!("{other:?}"),
    });
    assert_eq!(total, sum * 10);
    // Keys, and foreign keys from the child, hold on.
    let taken = insert(&f, NEW, 7, Value::Null);
    assert_eq!(state(taken).unwrap_err(), SqlState::UniqueViolation);
    let referred = f.write(&delete_by_id(NEW), &[int(7)]);
    assert_eq!(state(referred).unwrap_err(), SqlState::ForeignKeyViolation);
    assert_eq!(state(insert(&f, CHILD, 2, int(6))).unwrap_err(), SqlState::ForeignKeyViolation);
    insert(&f, CHILD, 2, int(8)).unwrap();
    // What was planned with the old table finds it gone.
    assert_eq!(state(insert(&f, T, 9_999_999, int(1))).unwrap_err(), SqlState::UndefinedTable);
}

#[test]
fn a_fault_leaves_everything_as_it_was() {
    let f = Fixture::in_memory();
    filled(&f);
    let before = state_of(&f);
    f.write(&set_by_id(T, 1), &[int(9), int(10)]).unwrap();
    let twice = f.rewrite(ten_times()).unwrap_err();
    assert_eq!(
        (twice.state, twice.message.as_str()),
        (SqlState::UniqueViolation, "could not create unique index \"t_v_key\"",)
    );
    f.write(&set_by_id(T, 1), &[int(9), int(-666)]).unwrap();
    assert_eq!(state(f.rewrite(ten_times())).unwrap_err(), SqlState::NumericOutOfRange);
    f.write(&set_by_id(T, 1), &[int(9), Value::Null]).unwrap();
    let mut rewrite = ten_times();
    rewrite.by.columns[1].not_null = true;
    assert_eq!(state(f.rewrite(rewrite)).unwrap_err(), SqlState::NotNullViolation);
    let mut rewrite = ten_times();
    rewrite.by.columns[0].data_type = DataType::BigInt;
    rewrite.conversions.push((ColumnId(0), Scalar::Expression(Arc::new(TenTimes([0])))));
    rewrite.by.indexes.pop();
    assert_eq!(state(f.rewrite(rewrite)).unwrap_err(), SqlState::ForeignKeyViolation);
    f.write(&set_by_id(T, 1), &[int(9), int(9)]).unwrap();
    assert_eq!(state_of(&f), before);
}

#[test]
fn a_block_that_wrote_to_the_old_table_cannot_commit() {
    let f = Fixture::in_memory();
    f.load(T, (1..10).map(|id| (id, id))).unwrap();
    let mut block = f.begin(Isolation::ReadCommitted);
    block.write(&add_to(T, false), &[int(5), int(1)]).unwrap();
    f.rewrite(ten_times()).unwrap();
    assert_eq!(state(block.commit()).unwrap_err(), SqlState::SerializationFailure);
}

#[test]
fn every_crash_point_has_the_old_table_or_the_new_one() {
    let directory = SimulatedDirectory::new();
    directory.record();
    let f = Fixture::on(&directory, TUNING).unwrap();
    let (mut states, mut at) = (vec![state_of(&f)], vec![0]);
    let mut note = |f: &Fixture| {
        states.push(state_of(f));
        at.push(directory.recorded());
    };
    for step in 0..12 {
        match step {
            0 => drop(f.define(Definition::CreateTable(table(T, "t"))).unwrap()),
            1 => drop(f.define(Definition::CreateTable(child())).unwrap()),
            4 => drop(f.load(T, (100..140).map(|id| (id, id))).unwrap()),
            6 => insert(&f, CHILD, 1, int(3)).unwrap(),
            7 => drop(f.rewrite(ten_times()).unwrap()),
            9 => drop(f.write(&delete_by_id(NEW), &[int(100)]).unwrap()),
            10 => drop(f.checkpoint().unwrap()),
            11 => insert(&f, CHILD, 2, int(5)).unwrap(),
            n => insert(&f, if n < 7 { T } else { NEW }, n, Value::Null).unwrap(),
        }
        note(&f);
    }
    drop(f);
    for (operation, image) in directory.take_history().iter().enumerate() {
        let at_least = at.iter().filter(|at| **at <= operation + 1).count() - 1;
        for seed in 0..4 {
            let what = format!("crash after operation {operation}, seed {seed}");
            let randomness = SeededRandomness::new(operation as u64 * 100 + seed);
            let crashed = SimulatedDirectory::from_image(image.crash(&randomness));
            let f = Fixture::on(&crashed, TUNING).unwrap_or_else(|e| panic!("{what}: {e:?}"));
            let state = state_of(&f);
            let found = states.iter().skip(at_least).any(|known| *known == state);
            assert!(found, "{what}: {state:?} is no state after step {at_least}");
            let Some(new) = f.writes.store().table(NEW) else { continue };
            assert!(f.writes.store().table(T).is_none(), "{what}");
            assert_eq!(new.indexes().len(), 2, "{what}");
            let orphan = insert(&f, CHILD, 50, int(4_000));
            assert_eq!(super::fixture::state(orphan).unwrap_err(), SqlState::ForeignKeyViolation);
        }
    }
}
