//! Random tables: all types, NULLs, skew, none to three chunks, keys of all kinds, and what is changed between batches.

use std::sync::Arc;

use engine::storage::{CHUNK_ROWS, Load, Store, Table};
use engine::types::{
    ColumnId, DataType, IndexKind, IndexSchema, RowBlock, RowId, TableId, Value, Version,
};

use crate::bookstore::{column, index, table};
use crate::choices::{Choices, Numbers};

use DataType::*;

/// Types of columns that refer to nothing. `char(n)` is absent: what its values mean is told by `sql`.
const TYPES: [DataType; 14] = [
    Integer,
    SmallInt,
    BigInt,
    Text,
    Boolean,
    Real,
    Double,
    Numeric { precision: 12, scale: 2 },
    Numeric { precision: 30, scale: 3 },
    Varchar(60),
    Date,
    Timestamp,
    TimestampTz,
    Bytea,
];

/// Types of keys.
const KEYS: [DataType; 4] = [Integer, BigInt, Date, SmallInt];

/// Rows that a table may have.
const ROWS: [usize; 8] = [40, 3, 0, 150, 300, 1_200, 2_000, 20_000];

/// Columns that every table has, before a word and others: its key, a reference to another one's key, a small number.
pub const KEY: usize = 0;
pub const REFERENCE: usize = 1;
pub const NUMBER: usize = 2;

/// A table as it is to be.
#[derive(Clone, Debug)]
pub struct Plan {
    pub id: TableId,
    pub types: Vec<DataType>,
    indexes: Vec<IndexSchema>,
    pub rows: usize,
    /// The table that the second column refers to.
    pub refers_to: usize,
    /// Between one key and the next.
    step: i32,
    seed: u64,
}

/// The tables of a case.
pub struct Tables {
    pub plans: Vec<Plan>,
}

impl Tables {
    /// Chooses two to five tables.
    pub fn choose(choices: &mut Choices) -> Tables {
        let count = choices.between(2, 5);
        // All keys are of one type mostly, so that all joins have partners.
        let key = *choices.pick(&KEYS);
        let plans = (0..count).map(|number| plan(choices, number, count, key));
        let mut plans: Vec<Plan> = plans.collect();
        if choices.chance(40) {
            lay_star(choices, &mut plans);
        }
        Tables { plans }
    }

    /// Makes and fills them.
    pub fn fill(&self, store: &Arc<Store>) {
        let version = store.published().next();
        for plan in &self.plans {
            let stored = store.create_table(plan.schema());
            let mut numbers = Numbers(plan.seed);
            let rows: Vec<Vec<Value>> =
                (0..plan.rows).map(|row| self.row(plan, row, &mut numbers)).collect();
            match plan.rows > 1_000 {
                true => load(&stored, &rows, version),
                false => rows.iter().for_each(|row| {
                    stored.insert(row, version);
                }),
            }
        }
        store.publish(version);
    }

    /// Updates, deletes and inserts some rows; each table's number of new rows is kept in `added`.
    pub fn change(&self, store: &Arc<Store>, choices: &mut Choices, added: &mut [usize]) {
        let version = store.published().next();
        for (plan, added) in self.plans.iter().zip(added) {
            let stored = store.table(plan.id).expect("it was made");
            let mut numbers = Numbers(choices.below(1 << 20) as u64);
            let share = *choices.pick(&[0, 1, 5, 40]);
            for row in 0..(plan.rows + *added) * share / 100 {
                let id = RowId(numbers.below(plan.rows + *added) as u64);
                let Some(old) = stored.newest_row(id) else { continue };
                if numbers.chance(30) {
                    stored.delete(id, version);
                    continue;
                }
                let mut new = self.row(plan, row, &mut numbers);
                new[KEY] = old[KEY].clone();
                stored.update(id, &new, version);
            }
            for _ in 0..share {
                let row = self.row(plan, plan.rows + *added, &mut numbers);
                stored.insert(&row, version);
                *added += 1;
            }
        }
        store.publish(version);
    }

    fn row(&self, plan: &Plan, row: usize, numbers: &mut Numbers) -> Vec<Value> {
        let referred = &self.plans[plan.refers_to];
        let mut value = |(column, data_type): (usize, &DataType)| match column {
            KEY => key(*data_type, plan.step, row),
            _ if numbers.chance(8) => Value::Null,
            REFERENCE => key(*data_type, referred.step, skewed(numbers, referred.rows + 2)),
            NUMBER => Value::Integer(skewed(numbers, 40) as i32),
            _ => value(numbers, *data_type),
        };
        plan.types.iter().enumerate().map(&mut value).collect()
    }
}

impl Plan {
    /// What lies between one key and the next.
    pub fn step(&self) -> i32 {
        self.step
    }

    fn schema(&self) -> engine::types::TableSchema {
        let name = format!("t{}", self.id.0);
        let columns = self.types.iter().enumerate();
        let columns = columns.map(|(n, own)| column(&format!("c{n}"), *own, n == KEY));
        table(self.id, &name, columns.collect(), self.indexes.clone())
    }
}

fn plan(choices: &mut Choices, number: usize, count: usize, key: DataType) -> Plan {
    let mut types = vec![key, key, Integer, Text];
    for _ in 0..choices.between(1, 3) {
        types.push(*choices.pick(&TYPES));
    }
    let most = *choices.pick(&[4, 5, 3, 7, 8]);
    let rows = ROWS[choices.below(most)];
    let indexes = indexes(choices, number as u32 * 10, types.len() as u32);
    let step = *choices.pick(&[1, 1, 3, 700]);
    // The last day of so many, and the last number of 16 bits, are not far.
    let step = if matches!(key, SmallInt) { 1 } else { step };
    Plan {
        id: TableId(number as u32),
        types,
        indexes,
        rows,
        refers_to: choices.below(count),
        step,
        seed: choices.below(1 << 20) as u64,
    }
}

/// Makes the first table a large one that refers to a small one with an index over its key: left to chance they are rare.
fn lay_star(choices: &mut Choices, plans: &mut [Plan]) {
    (plans[0].rows, plans[0].refers_to) = (ROWS[ROWS.len() - 1], 1);
    plans[1].rows = *choices.pick(&[40, 150, 300]);
    if plans[1].indexes.iter().all(|own| *own.columns != [ColumnId(KEY as u32)]) {
        plans[1].indexes.push(index(19, "key", &[KEY as u32], true, false));
    }
}

fn indexes(choices: &mut Choices, first: u32, columns: u32) -> Vec<IndexSchema> {
    let mut all = Vec::new();
    if !choices.chance(20) {
        all.push(index(first, "pkey", &[0], true, true));
    } else if choices.chance(50) {
        all.push(index(first, "by_key", &[0], choices.chance(50), false));
    }
    let others: [&[u32]; 5] = [&[1], &[2], &[2, 1], &[3], &[columns - 1]];
    for (number, own) in (1..).zip(others) {
        if choices.chance(40) {
            let mut made = index(first + number, &format!("by_{own:?}"), own, false, false);
            if choices.chance(15) {
                made.kind = IndexKind::Hash;
            }
            all.push(made);
        }
    }
    all
}

/// Rows in bulk, as COPY brings them.
fn load(table: &Arc<Table>, rows: &[Vec<Value>], version: Version) {
    let mut load = Load::new(table);
    for rows in rows.chunks(CHUNK_ROWS) {
        load.append(&RowBlock::from_rows(&table.schema(), rows));
    }
    assert!(load.sort(1).is_none(), "keys differ");
    load.attach(version);
}

/// A place among so many: the first ones more often.
fn skewed(numbers: &mut Numbers, end: usize) -> usize {
    let place = numbers.below(end);
    if numbers.chance(50) { numbers.below(place + 1) } else { place }
}

/// The key of a row.
pub fn key(data_type: DataType, step: i32, row: usize) -> Value {
    let number = row as i32 * step;
    match data_type {
        SmallInt => Value::SmallInt(number as i16),
        BigInt => Value::BigInt(number.into()),
        Date => Value::Date(number),
        _ => Value::Integer(number),
    }
}

/// Some value of a type, of few.
pub fn value(numbers: &mut Numbers, data_type: DataType) -> Value {
    let small = skewed(numbers, 14) as i64 - 3;
    let words = ["red", "green", "blue", "red-1", "blue-3", "", "Green", "grün", "a longer word"];
    match data_type {
        Boolean => Value::Boolean(small > 0),
        SmallInt => Value::SmallInt(small as i16),
        Integer => Value::Integer(small as i32),
        BigInt => Value::BigInt(small * 1_000_000_007),
        Real => Value::Real(small as f32 / 2.0),
        // All sums of these are exact, in any order. -0 is absent: it equals 0 and is printed otherwise.
        Double => match numbers.below(60) {
            0 => Value::Double(f64::NAN),
            1 => Value::Double(f64::INFINITY),
            _ => Value::Double(small as f64 / 4.0),
        },
        Numeric { scale, .. } => Value::Numeric(i128::from(small) * 35, scale),
        Text | Varchar(_) | Char(_) => Value::Text(words[skewed(numbers, words.len())].into()),
        Date => Value::Date(small as i32 * 20),
        Timestamp => Value::Timestamp(small * 43_200_000_000),
        TimestampTz => Value::TimestampTz(small * 43_200_000_000),
        Bytea => Value::Bytea(vec![small as u8; numbers.below(3)].into()),
    }
}
