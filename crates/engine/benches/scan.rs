//! What a batch costs on one table, binding and index building included: title searches over the bookstore's
//! items, equality and ranges over a million rows, point look-ups.

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, Int32Array};
use criterion::{Criterion, criterion_group, criterion_main};
use engine::query_set::SetTable;
use engine::scan::{Request, TableAccess, TableBatch};
use engine::storage::{Store, TableView};
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, Comparison, ComputedComparison, DataType, Expression,
    IndexId, IndexKind, IndexSchema, Predicate, Result, Scalar, Slot, TableId, TableSchema, Value,
    Version,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn table(types: &[DataType], indexes: Vec<IndexSchema>, rows: &[Vec<Value>]) -> Arc<TableView> {
    let columns = types.iter().enumerate().map(|(i, data_type)| ColumnSchema {
        name: format!("c{i}").into(),
        data_type: *data_type,
        not_null: false,
        default: ColumnDefault::None,
        dropped: false,
        missing: Value::Null,
    });
    let schema = TableSchema {
        id: TableId(1),
        schema: "public".into(),
        name: "t".into(),
        columns: columns.collect(),
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let store = Store::new(1);
    let table = store.create_table(schema);
    for row in rows {
        table.insert(row, Version(1));
    }
    store.publish(Version(1));
    table.view(Version(1))
}

fn parameter(column: usize, comparison: Comparison, parameter: usize) -> Predicate {
    Predicate::Compare { column, comparison, value: Scalar::Parameter(parameter) }
}

/// One template, activations with the given parameters.
struct Load {
    view: Arc<TableView>,
    access: TableAccess,
    parameters: Vec<Vec<Value>>,
}

impl Load {
    fn new(view: &Arc<TableView>, predicates: Vec<Predicate>, parameters: Vec<Vec<Value>>) -> Load {
        let types = parameters[0].iter().map(|v| v.borrow().data_type().unwrap_or(DataType::Text));
        let statistics = view.table().statistics();
        let access =
            TableAccess::new(view.schema(), &statistics, predicates.into(), types.collect());
        Load { view: view.clone(), access, parameters }
    }

    /// The first `count` activations as one batch: how many rows it finds.
    fn run(&self, count: usize) -> usize {
        let sets = Arc::new(SetTable::new(count));
        let requests: Vec<Request<'_>> = self.parameters[..count]
            .iter()
            .enumerate()
            .map(|(slot, parameters)| Request {
                slot: Slot(slot as u32),
                access: &self.access,
                parameters,
            })
            .collect();
        let batch = TableBatch::new(self.view.clone(), &sets, &requests);
        let probed = batch.probe().map_or(0, |output| output.tuples.rows);
        probed + batch.chunks().iter().map(|id| batch.scan(*id).tuples.rows).sum::<usize>()
    }
}

fn syllables(number: u64, width: usize) -> String {
    const SYLLABLES: [&str; 10] = ["BA", "OG", "AL", "RI", "RE", "SE", "AT", "UL", "IN", "NG"];
    let digits = format!("{number:0width$}");
    digits.bytes().map(|digit| SYLLABLES[usize::from(digit - b'0')]).collect()
}

fn noise(rng: &mut StdRng, low: usize, high: usize) -> String {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!@#^&*()-= .";
    let length = rng.random_range(low..=high);
    (0..length).map(|_| char::from(LETTERS[rng.random_range(0..64)])).collect()
}

/// The bookstore's items: a title of about 37 bytes with a key of 14 in it, which about five titles share.
fn titles(criterion: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(7);
    let rows: Vec<Vec<Value>> = (0..10_000)
        .map(|item| {
            let key = syllables(item % 2_000, 7);
            let title = format!("{}{key}{}", noise(&mut rng, 0, 23), noise(&mut rng, 0, 23));
            vec![Value::Integer(item as i32), Value::Text(title.into())]
        })
        .collect();
    let view = table(&[DataType::Integer, DataType::Text], Vec::new(), &rows);
    let like = Predicate::Like {
        column: 1,
        pattern: Scalar::Parameter(0),
        negated: false,
        case_insensitive: false,
    };
    let patterns = (0..1024u64)
        .map(|i| vec![Value::Text(format!("%{}%", syllables(i * 1_361 % 2_000, 7)).into())]);
    let load = Load::new(&view, vec![like], patterns.collect());
    assert_eq!(load.run(1), 5);
    assert_eq!(load.run(1024), 1024 * 5);
    for count in [1, 2, 16, 128, 1024] {
        criterion.bench_function(&format!("titles/{count}"), |bencher| {
            bencher.iter(|| black_box(load.run(count)));
        });
    }
}

fn million(criterion: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(8);
    const SUBJECTS: i32 = 24;
    let rows: Vec<Vec<Value>> = (0..1_000_000)
        .map(|i| {
            vec![
                Value::Integer(i),
                Value::Integer(rng.random_range(0..100_000)),
                Value::Text(format!("subject {}", rng.random_range(0..SUBJECTS)).into()),
                Value::Date(rng.random_range(0..3_000)),
            ]
        })
        .collect();
    let index = IndexSchema {
        id: IndexId(1),
        name: "key".into(),
        columns: vec![ColumnId(0)],
        kind: IndexKind::Ordered,
        unique: true,
        primary: true,
        constraint: true,
    };
    let types = [DataType::Integer, DataType::Integer, DataType::Text, DataType::Date];
    let view = table(&types, vec![index], &rows);
    let integers = |span: i32| -> Vec<Vec<Value>> {
        let mut rng = StdRng::seed_from_u64(9);
        let low = (0..1024).map(|_| rng.random_range(0..100_000));
        low.map(|low| vec![Value::Integer(low), Value::Integer(low + span)]).collect()
    };
    let range =
        vec![parameter(1, Comparison::GreaterOrEqual, 0), parameter(1, Comparison::Less, 1)];
    let subjects = (0..1024).map(|i| {
        let day = i * 3_000 / 1024;
        let subject = Value::Text(format!("subject {}", i % SUBJECTS).into());
        vec![subject, Value::Date(day), Value::Date(day + 30)]
    });
    let both = vec![
        parameter(2, Comparison::Equal, 0),
        parameter(3, Comparison::GreaterOrEqual, 1),
        parameter(3, Comparison::Less, 2),
    ];
    let loads = [
        ("equal", Load::new(&view, vec![parameter(1, Comparison::Equal, 0)], integers(0))),
        ("range", Load::new(&view, range, integers(100))),
        ("subject and days", Load::new(&view, both, subjects.collect())),
    ];
    let mut group = criterion.benchmark_group("million");
    group.sample_size(10);
    for (name, load) in &loads {
        for count in [1, 16, 128, 1024] {
            group.bench_function(format!("{name}/{count}"), |bencher| {
                bencher.iter(|| black_box(load.run(count)));
            });
        }
    }
    group.finish();
    let key = Load::new(&view, vec![parameter(0, Comparison::Equal, 0)], integers(0));
    for count in [1, 16, 128, 1024] {
        criterion.bench_function(&format!("point/{count}"), |bencher| {
            bencher.iter(|| black_box(key.run(count)));
        });
    }
}

/// `c0 + c1`
#[derive(Debug)]
struct Sum;

impl Expression for Sum {
    fn columns(&self) -> &[usize] {
        &[0, 1]
    }

    fn parameters(&self) -> &[usize] {
        &[]
    }

    fn data_type(&self) -> DataType {
        DataType::Integer
    }

    fn evaluate(&self, columns: &[ArrayRef], _: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        let [a, b] = [0, 1].map(|i: usize| columns[i].as_primitive::<Int32Type>());
        let sums = a.values().iter().zip(b.values()).map(|(a, b)| a + b);
        Ok(Arc::new(Int32Array::from_iter_values(sums)))
    }

    fn text(&self) -> &str {
        "c0 + c1"
    }
}

/// `c0 + c1 > $1`
#[derive(Debug)]
struct SumAbove(ComputedComparison);

impl Expression for SumAbove {
    fn columns(&self) -> &[usize] {
        &[0, 1]
    }

    fn parameters(&self) -> &[usize] {
        &[0]
    }

    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        n: usize,
    ) -> Result<ArrayRef> {
        let sums = Sum.evaluate(columns, &[], n)?;
        let sums = sums.as_primitive::<Int32Type>().values().iter();
        let bounds = parameters[0].as_primitive::<Int32Type>().values();
        let above: Vec<bool> = sums.zip(bounds).map(|(sum, bound)| sum > bound).collect();
        Ok(Arc::new(BooleanArray::from(above)))
    }

    fn text(&self) -> &str {
        "c0 + c1 > $1"
    }

    fn comparison(&self) -> Option<&ComputedComparison> {
        Some(&self.0)
    }
}

/// Predicates that no index over one column answers, over 100,000 rows.
fn residuals(criterion: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(10);
    let mut number = || Value::Integer(rng.random_range(0..100_000));
    let rows: Vec<Vec<Value>> = (0..100_000).map(|_| vec![number(), number(), number()]).collect();
    let view = table(&[DataType::Integer; 3], Vec::new(), &rows);
    let parameters = || -> Vec<Vec<Value>> {
        let bounds = (0..1024).map(|i| 199_000 - i / 2);
        bounds.map(|bound| vec![Value::Integer(bound), Value::Integer(bound % 1_000)]).collect()
    };
    let columns =
        Predicate::Compare { column: 0, comparison: Comparison::Less, value: Scalar::Column(1) };
    let below = parameter(2, Comparison::Less, 1);
    let either = Predicate::Or(vec![
        vec![parameter(2, Comparison::Equal, 1)],
        vec![parameter(0, Comparison::Equal, 1), columns.clone()],
    ]);
    let sum = SumAbove(ComputedComparison {
        left: Arc::new(Sum),
        comparison: Comparison::Greater,
        right: Scalar::Parameter(0),
    });
    let load = |predicates| Load::new(&view, predicates, parameters());
    let loads = [
        ("column by column", load(vec![below.clone(), columns])),
        ("either", load(vec![parameter(1, Comparison::GreaterOrEqual, 1), either])),
        ("computed", load(vec![Predicate::Expression(Arc::new(sum))])),
    ];
    let mut group = criterion.benchmark_group("residuals");
    group.sample_size(10);
    for (name, load) in &loads {
        for count in [1, 16, 1024] {
            group.bench_function(format!("{name}/{count}"), |bencher| {
                bencher.iter(|| black_box(load.run(count)));
            });
        }
    }
}

criterion_group!(benches, titles, million, residuals);
criterion_main!(benches);
