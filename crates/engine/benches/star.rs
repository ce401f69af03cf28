//! The Star Schema Benchmark's queries with random parameters, one at a time and many at once, on 6 million fact rows.
//!
//! `ROWS` sets the number of fact rows. The open loop at the end prints latencies: queries that arrive at a rate,
//! whatever is answered meanwhile, with and without getting on a pass that is under way.

#[path = "../tests/it/bookstore.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod bookstore;
#[path = "../tests/it/star_schema.rs"]
mod star_schema;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::heartbeat::{Activation, Answer, Engine, EngineOptions, Figures, Sharing, Template};
use engine::types::{Result, Value};

use self::star_schema::{Numbers, Query};

fn fact_rows() -> i32 {
    std::env::var("ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(6_000_000)
}

fn star(criterion: &mut Criterion) {
    let rows = fact_rows();
    let engine = bookstore::engine(Sharing::Always, 2);
    star_schema::fill(engine.store(), rows);
    engine.store().tables().iter().for_each(|table| {
        table.statistics();
    });
    let queries: Vec<Query> = star_schema::queries();
    let register = |(plan, _): &Query| engine.register(plan.clone()).expect("it is shareable");
    let templates: Vec<Arc<Template>> = queries.iter().map(register).collect();
    let mut numbers = Numbers(1);
    let mut request = |i: usize| {
        let place = i % queries.len();
        (templates[place].clone(), queries[place].1(&mut numbers))
    };
    let mut group = criterion.benchmark_group("star");
    group.sample_size(10);
    for (template, query) in templates.iter().zip(&queries) {
        let mut numbers = Numbers(3);
        group.bench_function(&*query.0.text, |bencher| {
            bencher.iter(|| {
                let requests = [(template.clone(), query.1(&mut numbers))];
                bookstore::together(&engine, &requests);
            });
        });
    }
    for batch in [13, 64, 256, 1024] {
        group.throughput(Throughput::Elements(batch as u64));
        let requests: Vec<(Arc<Template>, Vec<Value>)> = (0..batch).map(&mut request).collect();
        group.bench_function(format!("{batch} at once"), |bencher| {
            bencher.iter(|| bookstore::together(&engine, &requests));
        });
    }
}

/// Queries of an open loop at each rate.
const ARRIVALS: usize = 400;

/// What one rate gave, in milliseconds.
struct Latencies {
    sorted: Vec<f64>,
    boarded: usize,
}

fn open_loop(_: &mut Criterion) {
    for boarding in [false, true] {
        let options = bookstore::options(Sharing::Automatic, 2);
        let options = EngineOptions { boarding, queue_limit: 100_000, ..options };
        let engine = Engine::open(options).expect("an engine without a directory opens");
        star_schema::fill(engine.store(), fact_rows());
        let queries: Vec<Query> = star_schema::queries();
        let register = |(plan, _): &Query| engine.register(plan.clone()).expect("it is shareable");
        let templates: Vec<Arc<Template>> = queries.iter().map(register).collect();
        arrivals(&engine, &templates, &queries, 50.0);
        for rate in [15.0, 30.0, 50.0, 80.0, 150.0, 300.0] {
            let Latencies { sorted, boarded } = arrivals(&engine, &templates, &queries, rate);
            let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
            let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
            println!(
                "open loop, {rate} queries a second, boarding {boarding}: mean {mean:.1} ms, \
                 median {:.1}, p95 {:.1}, most {:.1}; {boarded} of {ARRIVALS} got on a pass under way",
                at(0.5),
                at(0.95),
                at(1.0)
            );
        }
    }
}

/// Submits queries at a rate, each at its time, whatever was answered before.
fn arrivals(
    engine: &Arc<Engine>,
    templates: &[Arc<Template>],
    queries: &[Query],
    rate: f64,
) -> Latencies {
    let (sender, receiver) = channel();
    let mut numbers = Numbers(7);
    let mut due = Instant::now();
    let mut figures = Vec::new();
    for _ in 0..ARRIVALS {
        // Gaps of a Poisson process.
        let share = f64::from(numbers.below(1 << 30) + 1) / f64::from(1 << 30);
        due += Duration::from_secs_f64(-share.ln() / rate);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let place = numbers.below(queries.len() as i32) as usize;
        let sender = sender.clone();
        let own = Arc::new(OnceLock::new());
        figures.push(own.clone());
        engine.submit(Activation {
            template: templates[place].clone(),
            parameters: queries[place].1(&mut numbers).into(),
            snapshot: None,
            sharing: engine.sharing(),
            deadline: None,
            cancelled: Arc::<AtomicBool>::default(),
            figures: Some(own),
            receiver: Box::new(move |answer: Result<Answer>| {
                assert!(answer.is_ok(), "it succeeds");
                sender.send(due.elapsed().as_secs_f64() * 1e3).expect("it is awaited");
            }),
        });
        engine.lead(templates[place].lane());
    }
    let mut sorted: Vec<f64> = receiver.iter().take(ARRIVALS).collect();
    sorted.sort_by(f64::total_cmp);
    let got_on =
        |own: &&Arc<OnceLock<Figures>>| own.get().is_some_and(|figures| figures.boarding.is_some());
    Latencies { sorted, boarded: figures.iter().filter(got_on).count() }
}

criterion_group!(benches, star, open_loop);
criterion_main!(benches);
