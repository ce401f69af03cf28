//! Star queries whose aggregation tables are small or large, many at once: "Cache-aware batch sharing", section 6.1.
//!
//! `ROWS` sets the number of fact rows, by which groups grow, too: a customer for 200 fact rows, a supplier for 3,000. Besides
//! the time of a batch, what its pass took by (row, query) pair is printed.

#[path = "../tests/it/bookstore.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod bookstore;
#[path = "../tests/it/star_schema.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod star_schema;

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::heartbeat::{
    Activation, Answer, Engine, EngineOptions, Figures, Packing, Sharing, Template,
};
use engine::types::{Result, Value};

use self::star_schema::{CUSTOMER, Numbers, SUPPLIER};

fn fact_rows() -> i32 {
    std::env::var("ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(2_000_000)
}

type Request = (Arc<Template>, Vec<Value>);

fn engine(packing: Packing) -> Arc<Engine> {
    let options = bookstore::options(Sharing::Always, 2);
    let options = EngineOptions { packing, memory_limit: 4 << 30, ..options };
    let engine = Engine::open(options).expect("an engine without a directory opens");
    star_schema::fill(engine.store(), fact_rows());
    engine.store().tables().iter().for_each(|table| {
        table.statistics();
    });
    engine
}

/// Runs a batch; what its heartbeat did.
fn together(engine: &Engine, requests: &[Request]) -> Figures {
    let (sender, receiver) = channel();
    let figures = Arc::new(OnceLock::new());
    for (template, parameters) in requests {
        let sender = sender.clone();
        engine.submit(Activation {
            template: template.clone(),
            parameters: parameters.clone().into(),
            snapshot: None,
            sharing: engine.sharing(),
            deadline: None,
            cancelled: Arc::default(),
            figures: Some(figures.clone()),
            receiver: Box::new(move |answer: Result<Answer>| {
                sender.send(answer.expect("it succeeds").rows()).expect("it is awaited");
            }),
        });
    }
    engine.lead(requests[0].0.lane());
    requests.iter().for_each(|_| {
        receiver.recv().expect("it answers");
    });
    figures.get().expect("they were noted").clone()
}

/// (row, query) pairs that queries ask for.
fn pairs(requests: &[Request]) -> f64 {
    let number = |value: &Value| match value {
        Value::Integer(value) => *value,
        _ => unreachable!("the first three are integers"),
    };
    let share = |(_, p): &Request| {
        let month = |at: usize| number(&p[at]) / 100 * 12 + number(&p[at]) % 100;
        let months = f64::from(month(2) - month(1) + 1) / 84.0;
        let quantities = f64::from(51 - number(&p[0]).max(1)) / 50.0;
        quantities * months * 0.4
    };
    f64::from(fact_rows()) * requests.iter().map(share).sum::<f64>()
}

/// Seconds that the process has kept processors busy.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}

fn working_sets(criterion: &mut Criterion) {
    for packing in [Packing::Never, Packing::Automatic, Packing::Always] {
        let engine = engine(packing);
        for (name, table) in [("suppliers", SUPPLIER), ("customers", CUSTOMER)] {
            for sums in [1, 5] {
                let query = star_schema::sums_by(table, sums);
                let name = format!("{name}, {sums} sums, packing {packing:?}");
                measure(criterion, &engine, query, &name);
            }
        }
    }
}

fn measure(
    criterion: &mut Criterion,
    engine: &Engine,
    (plan, parameters): star_schema::Query,
    name: &str,
) {
    let mut group = criterion.benchmark_group("working sets");
    group.sample_size(10);
    let template = engine.register(plan).expect("it is shareable");
    for count in [16, 64, 256] {
        let mut numbers = Numbers(5);
        let request = |_| (template.clone(), parameters(&mut numbers));
        let requests: Vec<Request> = (0..count).map(request).collect();
        let each = |seconds: f64| seconds * 1e9 / pairs(&requests);
        let runs = (0..3).map(|_| {
            let (began, busy) = (Instant::now(), processor_time());
            let figures = together(engine, &requests);
            (began.elapsed().as_secs_f64(), processor_time() - busy, figures)
        });
        let best = runs.min_by(|a, b| a.1.total_cmp(&b.1)).expect("there are three");
        let access = best.2.operators.iter().find_map(|own| own.access.clone()).unwrap_or_default();
        println!(
            "{name}, {count} at once: {:.1} ns a pair, {:.1} ns of processors; {} activations, {access}",
            each(best.0),
            each(best.1),
            best.2.activations,
        );
        group.throughput(Throughput::Elements(pairs(&requests) as u64));
        group.bench_function(format!("{name}, {count} at once"), |bencher| {
            bencher.iter(|| together(engine, &requests));
        });
    }
}

criterion_group!(benches, working_sets);
criterion_main!(benches);
