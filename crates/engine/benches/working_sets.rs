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

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::heartbeat::{Activation, Answer, Engine, EngineOptions, Figures, Sharing, Template};
use engine::types::{Result, TableId, Value};

use self::star_schema::{CUSTOMER, Numbers, SUPPLIER};

fn fact_rows() -> i32 {
    std::env::var("ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(2_000_000)
}

type Request = (Arc<Template>, Vec<Value>);

fn engine() -> Arc<Engine> {
    let options = EngineOptions {
        workers: 2,
        data: None,
        sharing: Sharing::Always,
        boarding: true,
        queue_limit: 4096,
        memory_limit: 4 << 30,
    };
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

fn working_sets(criterion: &mut Criterion) {
    let engine = engine();
    let mut group = criterion.benchmark_group("working sets");
    group.sample_size(10);
    for (name, table, sums) in [
        ("suppliers", SUPPLIER, 1),
        ("customers", CUSTOMER, 1),
        ("suppliers, five sums", SUPPLIER, 5),
        ("customers, five sums", CUSTOMER, 5),
    ] {
        let table: TableId = table;
        let (plan, parameters) = star_schema::sums_by(table, sums);
        let template = engine.register(plan).expect("it is shareable");
        for count in [1, 16, 64, 256] {
            let mut numbers = Numbers(5);
            let request = |_| (template.clone(), parameters(&mut numbers));
            let requests: Vec<Request> = (0..count).map(request).collect();
            let figures = together(&engine, &requests);
            let pass = figures.operators.iter().find(|own| own.access.is_some());
            let pass = pass.expect("a star says how it read its table");
            let each = pass.took.as_secs_f64() * 1e9 / pairs(&requests);
            let access = pass.access.as_deref().unwrap_or_default();
            println!("{name}, {count} at once: {each:.1} ns of the pass a pair; {access}");
            group.throughput(Throughput::Elements(pairs(&requests) as u64));
            group.bench_function(format!("{name}, {count} at once"), |bencher| {
                bencher.iter(|| together(&engine, &requests));
            });
        }
    }
}

criterion_group!(benches, working_sets);
criterion_main!(benches);
