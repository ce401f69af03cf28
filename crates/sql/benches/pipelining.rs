//! One to 64 identical scans with a grouping of their own above, after the figure of identical queries in the paper on
//! sharing data and work: nobody shares; one produces and copies every page to every consumer (push); all pull from the
//! shared pages list.

use std::sync::Arc;
use std::sync::mpsc::channel;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use datafusion::arrow::array::{AsArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::datatypes::{Float64Type, Int32Type};
use datafusion::sql::sqlparser::ast::Statement;
use engine::heartbeat::{AnswerPart, Engine, EngineOptions, Packing, Sharing};
use engine::types::{
    ColumnDefault, ColumnSchema, DataType, Definition, TableId, TableSchema, Value, Version,
};
use futures::{Stream, StreamExt};
use sql::alone::{Answers, Limits, Lists, Pipelining, Reading, run};
use sql::template::{Parameters, Planner, QueryTemplate, lift, parse};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

const ROWS: i32 = 2_000_000;
const TEXT: &str = "SELECT flag, price, discount FROM line WHERE day < 2400";
/// Pages in a consumer's own queue, where pages are pushed.
const QUEUE: usize = 8;

/// How results get to their consumers.
#[derive(Clone, Copy, Debug)]
enum Way {
    Unshared,
    Push,
    Pull,
}

struct Lines {
    planner: Planner,
    template: Arc<QueryTemplate>,
    values: Vec<Value>,
}

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

fn lines() -> Lines {
    let options = EngineOptions {
        workers: 1,
        data: None,
        sharing: Sharing::Automatic,
        packing: Packing::Automatic,
        boarding: true,
        queue_limit: 100,
        memory_limit: 1 << 30,
    };
    let engine = Engine::open(options).expect("an empty engine opens");
    let schema = TableSchema {
        id: TableId(1),
        schema: "public".into(),
        name: "line".into(),
        columns: vec![
            column("flag", DataType::Integer),
            column("day", DataType::Integer),
            column("price", DataType::Double),
            column("discount", DataType::Double),
        ],
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let (sender, receiver) = channel();
    let defined = move |outcome| sender.send(outcome).expect("awaited");
    engine.define(Definition::CreateTable(schema), Box::new(defined));
    receiver.recv().expect("answered").expect("the name is new");
    let table = engine.store().table(TableId(1)).expect("just made");
    let version = Version(engine.store().published().0 + 1);
    for from in (0..ROWS).step_by(8192) {
        let row = |i: i32| {
            let (price, discount) = (f64::from(i % 9_973), f64::from(i % 11) / 100.0);
            [
                Value::Integer(i % 6),
                Value::Integer(i % 2_557),
                Value::Double(price),
                Value::Double(discount),
            ]
        };
        let rows: Vec<_> = (from..(from + 8192).min(ROWS)).map(row).collect();
        table.insert_rows(&rows, version);
    }
    engine.store().publish(version);
    let planner = Planner::new(engine);
    let lifted = lift(TEXT, parse(TEXT).expect("SQL").remove(0));
    let Statement::Query(query) = &lifted.statement else { panic!("a query") };
    let mut parameters = Parameters::new(&lifted, &[]);
    let catalog = planner.catalog();
    let template = planner.query(&catalog, query, &mut parameters, &lifted.text).expect("planned");
    let values = parameters.literal_values().expect("literals have values");
    Lines { planner, template, values }
}

impl Lines {
    async fn scan(&self, pipelining: Option<Pipelining>) -> Answers {
        let store = self.planner.engine().store().clone();
        let (snapshot, limits) = (store.snapshot(), Limits::default());
        let found = Default::default();
        let reading = Reading { store, snapshot, overlay: None, found, limits, pipelining };
        run(&self.template, &self.values, &reading).await.expect("it runs")
    }
}

/// The consumer's own work: sums by flag.
#[derive(Default)]
struct Sums([f64; 6]);

impl Sums {
    fn add(&mut self, page: &RecordBatch) {
        let flags = page.column(0).as_primitive::<Int32Type>().values();
        let prices = page.column(1).as_primitive::<Float64Type>().values();
        let discounts = page.column(2).as_primitive::<Float64Type>().values();
        for ((flag, price), discount) in flags.iter().zip(prices).zip(discounts) {
            self.0[*flag as usize] += price * (1.0 - discount);
        }
    }
}

fn pages(answers: Answers) -> impl Stream<Item = RecordBatch> + Send + Unpin {
    let parts = answers.flat_map(|answer| futures::stream::iter(answer.expect("no fault").parts));
    let pages = parts.map(|part| match part {
        AnswerPart::Alone(page) => page,
        _ => unreachable!("it runs alone"),
    });
    Box::pin(pages)
}

async fn consume(lines: Arc<Lines>, lists: Option<Arc<Lists>>) -> Sums {
    let pipelining = lists.map(|lists| Pipelining { lists, report: None });
    let (mut pages, mut sums) = (pages(lines.scan(pipelining).await), Sums::default());
    while let Some(page) = pages.next().await {
        sums.add(&page);
    }
    sums
}

/// One scan, and a copy of every page for every consumer.
async fn push(lines: Arc<Lines>, consumers: usize) -> Vec<Sums> {
    let (senders, tasks): (Vec<_>, Vec<_>) = (0..consumers)
        .map(|_| {
            let (sender, mut receiver) = mpsc::channel::<RecordBatch>(QUEUE);
            let task = tokio::spawn(async move {
                let mut sums = Sums::default();
                while let Some(page) = receiver.recv().await {
                    sums.add(&page);
                }
                sums
            });
            (sender, task)
        })
        .unzip();
    let mut pages = pages(lines.scan(None).await);
    while let Some(page) = pages.next().await {
        let all = UInt32Array::from_iter_values(0..page.num_rows() as u32);
        for sender in &senders {
            let copy = take_record_batch(&page, &all).expect("rows of the page");
            sender.send(copy).await.expect("it reads");
        }
    }
    drop(senders);
    futures::future::try_join_all(tasks).await.expect("no panic")
}

async fn all(lines: Arc<Lines>, way: Way, queries: usize) -> Vec<Sums> {
    let lists = matches!(way, Way::Pull).then(Arc::<Lists>::default);
    if let Way::Push = way {
        return tokio::spawn(push(lines, queries)).await.expect("no panic");
    }
    let tasks = (0..queries).map(|_| tokio::spawn(consume(lines.clone(), lists.clone())));
    futures::future::try_join_all(tasks).await.expect("no panic")
}

fn identical(c: &mut Criterion) {
    let (lines, runtime) = (Arc::new(lines()), Runtime::new().expect("threads"));
    let mut group = c.benchmark_group("identical scans");
    group.sample_size(10);
    for queries in [1, 2, 4, 8, 16, 32, 64] {
        for way in [Way::Unshared, Way::Push, Way::Pull] {
            let id = BenchmarkId::new(format!("{way:?}"), queries);
            group.bench_function(id, |b| {
                b.iter(|| {
                    let sums = runtime.block_on(all(lines.clone(), way, queries));
                    assert_eq!(sums.len(), queries);
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, identical);
criterion_main!(benches);
