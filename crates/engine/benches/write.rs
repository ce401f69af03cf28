//! What a write costs, without and with a data directory.

use std::sync::Arc;
use std::sync::mpsc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, cast::AsArray};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use engine::heartbeat::{Engine, EngineOptions, Packing, Sharing, WriteOutcome, WriteReceiver};
use engine::plan::{InsertPlan, InsertSource, UpdatePlan, WriteAction, WritePlan};
use engine::transaction::{Definition, WriteSet};
use engine::types::*;

const TABLE: TableId = TableId(1);
const ROWS: i32 = 100_000;
const SESSION: SessionId = SessionId(1);

/// `column + parameter`
#[derive(Debug)]
struct Add;

impl Expression for Add {
    fn columns(&self) -> &[usize] {
        &[1]
    }
    fn parameters(&self) -> &[usize] {
        &[1]
    }
    fn data_type(&self) -> DataType {
        DataType::Integer
    }
    fn evaluate(&self, a: &[ArrayRef], b: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        let (a, b) = (a[0].as_primitive::<Int32Type>(), b[0].as_primitive::<Int32Type>());
        Ok(Arc::new(Int32Array::from_iter(a.iter().zip(b).map(|(a, b)| Some(a? + b?)))))
    }
    fn text(&self) -> &str {
        "v + $2"
    }
}

fn schema() -> TableSchema {
    let column = |name: &str, data_type, not_null| ColumnSchema {
        name: name.into(),
        data_type,
        not_null,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    };
    TableSchema {
        id: TABLE,
        schema: "public".into(),
        name: "accounts".into(),
        columns: vec![
            column("id", DataType::Integer, true),
            column("v", DataType::Integer, false),
            column("filler", DataType::Char(84), false),
        ],
        indexes: vec![IndexSchema {
            id: IndexId(1),
            name: "accounts_pkey".into(),
            columns: vec![ColumnId(0)],
            kind: IndexKind::Ordered,
            unique: true,
            primary: true,
            constraint: true,
        }],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

fn update() -> Arc<WritePlan> {
    let (comparison, value) = (Comparison::Equal, Scalar::Parameter(0));
    let predicates = vec![Predicate::Compare { column: 0, comparison, value }];
    let assignments = vec![(ColumnId(1), Scalar::Expression(Arc::new(Add)))];
    let rules = RowRules::default();
    let action = WriteAction::Update(UpdatePlan { table: TABLE, predicates, assignments, rules });
    plan(action, 2)
}

fn insert() -> Arc<WritePlan> {
    let filler = Scalar::Literal(Value::Text("x".repeat(20).into()));
    let row = [Scalar::Parameter(0), Scalar::Parameter(1), filler];
    let rows = vec![row.into_iter().map(InsertSource::Scalar).collect()];
    let action = InsertPlan { table: TABLE, rows, on_conflict: None, rules: RowRules::default() };
    plan(WriteAction::Insert(action), 2)
}

fn plan(action: WriteAction, parameters: usize) -> Arc<WritePlan> {
    let parameters = vec![DataType::Integer; parameters];
    let (returning, output) = (Vec::new(), Arc::from([]));
    Arc::new(WritePlan { action, returning, output, parameters, text: "bench".into() })
}

fn wait(submit: impl FnOnce(WriteReceiver)) -> WriteOutcome {
    let (sender, receiver) = mpsc::channel();
    submit(Box::new(move |outcome| drop(sender.send(outcome))));
    receiver.recv().expect("answered").expect("succeeds")
}

fn rows(range: std::ops::Range<i32>) -> WriteSet {
    let mut set = WriteSet::new();
    for id in range {
        let filler = Value::Text("x".repeat(20).into());
        set.insert(TABLE, Box::new([Value::Integer(id), Value::Integer(0), filler]));
    }
    set
}

fn open(data: Option<&std::path::Path>) -> Arc<Engine> {
    let engine = Engine::open(EngineOptions {
        workers: 2,
        data: data.map(Into::into),
        sharing: Sharing::Automatic,
        packing: Packing::Automatic,
        boarding: true,
        queue_limit: 100_000,
        memory_limit: 1 << 30,
    })
    .expect("opens");
    wait(|r| engine.define(Definition::CreateTable(schema()), r));
    wait(|r| engine.commit(rows(0..ROWS), SESSION, r));
    engine
}

/// `count` updates of random rows, all submitted before the last is waited for.
fn updates(engine: &Engine, plan: &Arc<WritePlan>, count: i32, seed: &mut u32) {
    let (sender, receiver) = mpsc::channel();
    for _ in 0..count {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let id = (*seed >> 8) as i32 % ROWS;
        let sender = sender.clone();
        engine.write(
            plan.clone(),
            Box::new([Value::Integer(id), Value::Integer(1)]),
            SESSION,
            Box::new(move |outcome| _ = sender.send(outcome.expect("succeeds").rows)),
        );
    }
    drop(sender);
    assert_eq!(receiver.iter().sum::<u64>(), count as u64);
}

fn writes(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a directory");
    let memory = open(None);
    let durable = open(Some(directory.path()));
    let (update, insert, mut seed) = (update(), insert(), 1);
    let mut group = criterion.benchmark_group("write");
    group.sample_size(20);
    group.bench_function("update by key, alone", |b| {
        b.iter(|| updates(&memory, &update, 1, &mut seed));
    });
    group.throughput(Throughput::Elements(100));
    group.bench_function("100 updates by key, waiting together", |b| {
        b.iter(|| updates(&memory, &update, 100, &mut seed));
    });
    group.bench_function("100 updates by key, durable", |b| {
        b.iter(|| updates(&durable, &update, 100, &mut seed));
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("update by key, alone, durable", |b| {
        b.iter(|| updates(&durable, &update, 1, &mut seed));
    });
    let mut next = ROWS;
    group.bench_function("insert, alone", |b| {
        b.iter(|| {
            next += 1;
            let row = Box::new([Value::Integer(next), Value::Integer(1)]);
            wait(|r| memory.write(insert.clone(), row, SESSION, r))
        });
    });
    for (name, engine) in [("memory", &memory), ("durable", &durable)] {
        group.throughput(Throughput::Elements(10_000));
        group.bench_function(format!("commit of 10000 rows, {name}"), |b| {
            b.iter_batched(
                || {
                    next += 10_000;
                    rows(next - 10_000 + 1_000_000_000..next + 1_000_000_000)
                },
                |set| wait(|r| engine.commit(set, SESSION, r)),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, writes);
criterion_main!(benches);
