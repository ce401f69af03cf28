//! Storage alone: probes, ranges, loads, updates, columns gathered.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::storage::{Bound, Store, Table};
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, IndexId, IndexKind, IndexSchema, Location,
    TableId, TableSchema, Value, ValueRef, Version,
};

const ROWS: usize = 1_000_000;

fn column(name: &str, data_type: DataType) -> ColumnSchema {
    ColumnSchema {
        name: name.into(),
        data_type,
        not_null: true,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    }
}

fn index(id: u32, columns: &[u32], kind: IndexKind, unique: bool) -> IndexSchema {
    IndexSchema {
        id: IndexId(id),
        name: format!("i{id}").into(),
        columns: columns.iter().map(|c| ColumnId(*c)).collect(),
        kind,
        unique,
        primary: unique,
        constraint: unique,
    }
}

/// An order-line-like table: a dense key, a sparse one, a foreign key, a name, an amount.
fn schema() -> TableSchema {
    TableSchema {
        id: TableId(1),
        schema: "public".into(),
        name: "line".into(),
        columns: vec![
            column("id", DataType::Integer),
            column("sparse", DataType::BigInt),
            column("item", DataType::Integer),
            column("name", DataType::Varchar(20)),
            column("amount", DataType::Numeric { precision: 12, scale: 2 }),
            column("status", DataType::Varchar(10)),
        ],
        indexes: vec![
            index(0, &[0], IndexKind::Ordered, true),
            index(1, &[1], IndexKind::Ordered, true),
            index(2, &[2], IndexKind::Ordered, false),
            index(3, &[3], IndexKind::Ordered, false),
        ],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

fn sparse(i: usize) -> i64 {
    (i as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)
}

fn name(i: usize) -> String {
    format!("customer {:07}", (i * 7919) % ROWS)
}

fn row(i: usize) -> Vec<Value> {
    vec![
        Value::Integer(i as i32),
        Value::BigInt(sparse(i)),
        Value::Integer((i * 31 % 10_000) as i32),
        Value::Text(name(i).into()),
        Value::Numeric(i as i128 * 3, 2),
        Value::Text(["PENDING", "SHIPPED", "DENIED"][i % 3].into()),
    ]
}

fn loaded(indexes: usize) -> (Arc<Store>, Arc<Table>) {
    let store = Store::new(2);
    let mut schema = schema();
    schema.indexes.truncate(indexes);
    let table = store.create_table(schema);
    let rows: Vec<Vec<Value>> = (0..ROWS).map(row).collect();
    load(&table, &rows);
    store.publish(Version(1));
    (store, table)
}

fn load(table: &Table, rows: &[Vec<Value>]) {
    for rows in rows.chunks(4096) {
        table.insert_rows(rows, Version(1));
    }
}

/// Numbers that look random, without the cost of a generator.
fn next(state: &mut usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % ROWS
}

fn probes(c: &mut Criterion) {
    let (_store, table) = loaded(4);
    println!("{} bytes per row", table.memory() / ROWS);
    let view = table.view(Version(1));
    let mut state = 1;
    let mut out = Vec::new();
    let mut group = c.benchmark_group("probe");
    group.bench_function("integer key and a cell", |b| {
        let index = table.index(IndexId(0)).expect("index 0");
        b.iter(|| {
            out.clear();
            view.probe(&index, &[ValueRef::Integer(next(&mut state) as i32)], &mut out);
            black_box(view.cell(ColumnId(4), out[0]));
        });
    });
    group.bench_function("sparse bigint key and a cell", |b| {
        let index = table.index(IndexId(1)).expect("index 1");
        b.iter(|| {
            out.clear();
            view.probe(&index, &[ValueRef::BigInt(sparse(next(&mut state)))], &mut out);
            black_box(view.cell(ColumnId(4), out[0]));
        });
    });
    group.bench_function("string key", |b| {
        let index = table.index(IndexId(3)).expect("index 3");
        let names: Vec<String> = (0..4096).map(|_| name(next(&mut state))).collect();
        let mut at = 0;
        b.iter(|| {
            out.clear();
            at = (at + 1) % names.len();
            view.probe(&index, &[ValueRef::Text(&names[at])], &mut out);
            assert_eq!(out.len(), 1);
        });
    });
    group.bench_function("100 rows of a secondary key", |b| {
        let index = table.index(IndexId(2)).expect("index 2");
        b.iter(|| {
            out.clear();
            view.probe(&index, &[ValueRef::Integer(next(&mut state) as i32 % 10_000)], &mut out);
            assert_eq!(out.len(), 100);
        });
    });
    group.bench_function("view", |b| b.iter(|| table.view(Version(1))));
    group.finish();
    ranges_and_columns(c, &table);
}

fn ranges_and_columns(c: &mut Criterion, table: &Arc<Table>) {
    let view = table.view(Version(1));
    let mut state = 1;
    let mut out = Vec::new();
    let mut group = c.benchmark_group("read");
    for id in [0, 1] {
        let index = table.index(IndexId(id)).expect("an index");
        group.bench_function(format!("range of 50 in index {id}"), |b| {
            b.iter(|| {
                out.clear();
                let i = next(&mut state);
                let low = [[Value::Integer(i as i32)], [Value::BigInt(sparse(i))]];
                let low = Bound::Included(&low[id as usize]);
                view.range(&index, low, Bound::Unbounded, false, 50, &mut out);
            });
        });
    }
    let few: Vec<Location> = locations(table, 50, &mut state);
    let many: Vec<Location> = locations(table, 8192, &mut state);
    for column in [0, 3, 4, 5] {
        group.bench_function(format!("gather 50 of column {column}"), |b| {
            b.iter(|| view.gather(ColumnId(column), &few));
        });
        group.bench_function(format!("gather 8192 scattered of column {column}"), |b| {
            b.iter(|| view.gather(ColumnId(column), &many));
        });
        let (id, chunk) = &view.chunks()[20];
        group.bench_function(format!("array of column {column}"), |b| {
            b.iter(|| view.array(ColumnId(column), *id, 0..chunk.rows() as u32));
        });
    }
    group.finish();
}

fn locations(table: &Arc<Table>, count: usize, state: &mut usize) -> Vec<Location> {
    let view = table.view(Version(1));
    let index = table.index(IndexId(0)).expect("index 0");
    let mut out = Vec::new();
    for _ in 0..count {
        view.probe(&index, &[ValueRef::Integer(next(state) as i32)], &mut out);
    }
    out
}

fn writes(c: &mut Criterion) {
    let rows: Vec<Vec<Value>> = (0..ROWS / 4).map(row).collect();
    let mut group = c.benchmark_group("write");
    group.sample_size(10).throughput(Throughput::Elements(rows.len() as u64));
    for indexes in [0, 1, 2, 4] {
        group.bench_function(format!("bulk load with {indexes} indexes"), |b| {
            b.iter(|| {
                let store = Store::new(2);
                let mut schema = schema();
                schema.indexes.truncate(indexes);
                let table = store.create_table(schema);
                load(&table, &rows);
                table
            });
        });
    }
    group.bench_function("insert one by one with 2 indexes, published each 100", |b| {
        b.iter(|| {
            let store = Store::new(2);
            let mut schema = schema();
            schema.indexes.truncate(2);
            let table = store.create_table(schema);
            for (at, rows) in rows.chunks(100).enumerate() {
                let version = Version(at as u64 + 1);
                for row in rows {
                    table.insert(row, version);
                }
                store.publish(version);
            }
            table
        });
    });
    group.throughput(Throughput::Elements(100));
    let (store, table) = loaded(4);
    let (mut version, mut state) = (Version(2), 1);
    group.sample_size(100);
    group.bench_function("update 100 rows, publish, reclaim", |b| {
        b.iter(|| {
            for _ in 0..100 {
                let i = next(&mut state);
                let mut row = row(i);
                row[4] = Value::Numeric(version.0.into(), 2);
                table.update(engine::types::RowId(i as u64), &row, version);
            }
            store.publish(version);
            version = version.next();
            store.reclaim(version, 1_000);
        });
    });
    group.finish();
}

criterion_group!(benches, probes, writes);
criterion_main!(benches);
