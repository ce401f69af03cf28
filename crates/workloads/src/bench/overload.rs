//! `shareddb bench overload`: what is answered in time where more is asked than can be answered.
//!
//! The most that clients without time to think are answered is measured first; then queries are offered at multiples of that rate, an
//! open loop, with and without a promise (`shareddb.response_time`). An answer counts that comes within the promised time, counted
//! at the client from when the query was due.

use std::time::Duration;

use serde_json::{Value, json};

use super::Failure;
use super::analytic::{AnalyticOptions, Axes, Contestant, DataFiles, load, write_figure};
use crate::driver::open::{self, OpenLoop, OpenTally};
use crate::driver::queries::{self, QueryLoop};
use crate::peers::{Sharing, System};
use crate::query::QueryMix;
use crate::report::{Line, Table};
use crate::star::{AllTemplates, Scale, StarSchema};

/// Clients of the closed loop whose throughput is the measure of all rates.
const CLOSED_CLIENTS: [usize; 2] = [64, 256];

/// Options of the overload benchmark: star queries.
#[derive(Debug, clap::Args)]
pub struct OverloadOptions {
    /// The scale factor of the star schema; 1 is 6 million fact rows.
    #[arg(long, default_value_t = 1.0)]
    scale_factor: f64,
    /// Multiples of the closed loop's rate that are offered.
    #[arg(long, value_delimiter = ',', default_value = "0.5,1,2,5,10")]
    times: Vec<f64>,
    /// Milliseconds within which an answer counts, and that are promised.
    #[arg(long, default_value_t = 500.0)]
    promise_ms: f64,
    /// Connections of the open loop.
    #[arg(long, default_value_t = 512)]
    pool: usize,
    #[command(flatten)]
    common: AnalyticOptions,
}

/// One rate, with or without a promise.
struct Offered {
    times: f64,
    is_promised: bool,
    tally: OpenTally,
}

/// Runs the benchmark.
pub fn run(options: &OverloadOptions) -> Result<(), Failure> {
    let common = &options.common;
    std::fs::create_dir_all(&common.output)?;
    let dataset = StarSchema::new(Scale { factor: options.scale_factor }, common.seed);
    let all = AllTemplates::new();
    let mix = AllTemplates::only(&common.select(&all)?);
    let scratch = common.scratch_folder()?;
    let system = common.start(Contestant::Own(Sharing::Automatic), &scratch, None)?;
    println!("{}", system.describe());
    let mut files = DataFiles::new(scratch.join("star"));
    load(&*system, &dataset, &mut files, common)?;
    let best = closed_rate(options, &*system, &mix)?;
    println!("closed loop: {best:.0} queries/s");
    let mut results = Vec::new();
    for is_promised in [false, true] {
        for &times in &options.times {
            let tally = offer(options, &*system, &mix, best * times, is_promised)?;
            results.push(Offered { times, is_promised, tally });
        }
    }
    drop(system);
    common.clean(&scratch);
    report(options, best, &results)
}

/// The most that clients without time to think are answered.
fn closed_rate(
    options: &OverloadOptions,
    system: &dyn System,
    mix: &dyn QueryMix,
) -> Result<f64, Failure> {
    let mut best = 0.0f64;
    for clients in CLOSED_CLIENTS {
        let measure = Duration::from_secs_f64(options.common.seconds);
        let warm_up = measure / 2;
        let (connections, seed) = (clients, options.common.seed);
        let plan = QueryLoop { mix, clients, connections, warm_up, measure, seed };
        best = best.max(queries::run(system, plan)?.throughput());
    }
    Ok(best)
}

fn offer(
    options: &OverloadOptions,
    system: &dyn System,
    mix: &dyn QueryMix,
    per_second: f64,
    is_promised: bool,
) -> Result<OpenTally, Failure> {
    let setting = format!("SET shareddb.response_time = '{}ms'", options.promise_ms);
    let measure = Duration::from_secs_f64(options.common.seconds);
    let plan = OpenLoop {
        mix,
        per_second,
        connections: options.pool,
        setting: is_promised.then_some(&*setting),
        limit: Duration::from_secs_f64(options.promise_ms / 1e3),
        warm_up: measure / 2,
        measure,
        seed: options.common.seed,
    };
    Ok(open::run(system, plan)?)
}

fn report(options: &OverloadOptions, best: f64, results: &[Offered]) -> Result<(), Failure> {
    print(best, results);
    if let Some(file) = &options.common.json {
        let record = json!({
            "workload": "overload: star", "scale_factor": options.scale_factor,
            "promise_ms": options.promise_ms, "pool": options.pool, "seed": options.common.seed,
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "closed_per_second": best,
            "offered": results.iter().map(|one| one.json(best)).collect::<Vec<_>>(),
        });
        std::fs::write(file, serde_json::to_string_pretty(&record)?)?;
    }
    let line = |is_promised: bool| {
        let own = results.iter().filter(|one| one.is_promised == is_promised);
        let label = if is_promised { "with a promise" } else { "without" };
        let points = own.map(|one| (one.times * best, one.tally.goodput())).collect();
        Line { label: label.to_owned(), points }
    };
    let title = format!("star queries within {} ms", options.promise_ms);
    let axes = Axes { x: "queries offered/s", y: "answered in time/s" };
    let file = options.common.output.join("overload-star.svg");
    write_figure(&file, &title, axes, vec![line(false), line(true)])
}

fn print(best: f64, results: &[Offered]) {
    let mut table = Table::new(&[
        "promise",
        "offered",
        "offered/s",
        "in time/s",
        "of the best",
        "refused/s",
        "dropped/s",
        "p50 ms",
        "p99 ms",
        "refusal p99 ms",
        "server CPU s",
        "driver CPU s",
        "failed",
    ]);
    for Offered { times, is_promised, tally } in results {
        let per_second = |count: u64| format!("{:.0}", count as f64 / tally.seconds);
        table.row([
            if *is_promised { "yes" } else { "no" }.to_owned(),
            format!("{times} x"),
            per_second(tally.offered),
            format!("{:.0}", tally.goodput()),
            format!("{:.3}", tally.goodput() / best),
            per_second(tally.refused),
            per_second(tally.dropped),
            format!("{:.1}", tally.answers.quantile_ms(0.5)),
            format!("{:.1}", tally.answers.quantile_ms(0.99)),
            format!("{:.1}", tally.refusals.quantile_ms(0.99)),
            format!("{:.1}", tally.server_cpu),
            format!("{:.1}", tally.driver_cpu),
            tally.failed().to_string(),
        ]);
    }
    println!("\n{table}");
    let failures = results.iter().flat_map(|one| &one.tally.failures);
    failures.for_each(|(message, count)| println!("{count} x {message}"));
}

impl Offered {
    fn json(&self, best: f64) -> Value {
        let tally = &self.tally;
        json!({
            "times": self.times, "promised": self.is_promised, "offered": tally.offered,
            "in_time": tally.in_time, "refused": tally.refused, "dropped": tally.dropped,
            "failed": tally.failed(), "seconds": tally.seconds,
            "goodput_over_best": tally.goodput() / best,
            "p50_ms": tally.answers.quantile_ms(0.5), "p99_ms": tally.answers.quantile_ms(0.99),
            "served_p99_ms": tally.served.quantile_ms(0.99),
            "refusal_p99_ms": tally.refusals.quantile_ms(0.99),
            "server_cpu_s": tally.server_cpu, "driver_cpu_s": tally.driver_cpu,
        })
    }
}
