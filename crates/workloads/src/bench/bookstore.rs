//! `shareddb bench bookstore`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::Failure;
use super::load::Population;
use crate::bookstore::statements::{ALL, Statement};
use crate::bookstore::{Browser, Mix, Scale, check};
use crate::client::Parameter;
use crate::driver::burst::{self, Burst};
use crate::driver::closed::{self, ClosedLoop};
use crate::driver::interference::{self, Stream};
use crate::driver::offered::{self, OfferedLoad};
use crate::driver::{Latency, Tally};
use crate::peers::{Peer, SharedDb, System};
use crate::query::{self, Query};
use crate::report::{Figure, Line, Table};

/// Options of the bookstore benchmark.
#[derive(Debug, clap::Args)]
pub struct BookstoreOptions {
    /// Mixes to run.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "browsing,shopping,ordering")]
    mix: Vec<Mix>,
    /// Seconds measured per run.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Peers to run beside SharedDB.
    #[arg(long, value_enum, value_delimiter = ',')]
    against: Vec<Peer>,
    /// Also run SharedDB query at a time.
    #[arg(long)]
    no_sharing: bool,
    /// Books.
    #[arg(long, default_value_t = 10_000)]
    items: u64,
    /// Emulated browsers that the customer tables are sized for.
    #[arg(long, default_value_t = 100)]
    browsers: u64,
    /// Connections to sweep; each system is measured at its best.
    #[arg(long, value_delimiter = ',', default_value = "4,8,16,32,64")]
    connections: Vec<usize>,
    /// Runs per system and mix at its best number of connections; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Figures of the paper to draw as well.
    #[arg(long, value_enum, value_delimiter = ',')]
    figure: Vec<FigureKind>,
    /// Mean thinking time of the browsers in the throughput figure.
    #[arg(long, default_value_t = 7.0)]
    think_seconds: f64,
    /// Where the results go as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where the figures go.
    #[arg(long, default_value = "target/bench")]
    output: PathBuf,
    /// Where servers keep their data during the run (default: a folder below the output's).
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// Of all random numbers.
    #[arg(long, default_value_t = 20_120_801)]
    seed: u64,
}

/// What can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FigureKind {
    /// Throughput over the number of browsers (the paper's figure 7).
    Throughput,
    /// Batches of 1 to 2,000 light and heavy queries (figure 10).
    Batches,
    /// Light against heavy (figure 11).
    Interference,
}

type Systems = Vec<Box<dyn System>>;

/// Runs the benchmark.
pub fn run(options: &BookstoreOptions) -> Result<(), Failure> {
    let scale = Scale { items: options.items, browsers: options.browsers };
    let scratch = options.scratch.clone().unwrap_or_else(|| options.output.join("scratch"));
    let scratch = std::path::absolute(scratch)?;
    std::fs::create_dir_all(&scratch)?;
    super::open_to_all(&scratch)?;
    std::fs::create_dir_all(&options.output)?;
    let mut systems = start(options, scale, &scratch)?;
    let mut results = json!({
        "workload": "bookstore (TPC-W-derived)", "scale": scale, "seed": options.seed,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "systems": systems.iter().map(|s| s.describe()).collect::<Vec<_>>(),
    });
    results["load"] = load_all(&systems, scale, &scratch, options.seed)?;
    results["answers"] = compare_answers(&systems, scale, options.seed)?;
    results["mixes"] = run_mixes(options, &mut systems, scale)?;
    for figure in &options.figure {
        let (key, value) = match figure {
            FigureKind::Throughput => {
                ("throughput", draw_throughput(options, &mut systems, scale)?)
            }
            FigureKind::Batches => ("batches", draw_batches(options, &mut systems, scale)?),
            FigureKind::Interference => {
                ("interference", draw_interference(options, &mut systems, scale)?)
            }
        };
        results[key] = value;
    }
    results["violations"] = check_invariants(&mut systems)?;
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_string_pretty(&results)?)?;
    }
    Ok(())
}

fn start(options: &BookstoreOptions, scale: Scale, scratch: &Path) -> Result<Systems, Failure> {
    let mut systems: Systems = vec![Box::new(SharedDb::start(scratch, true)?)];
    if options.no_sharing {
        systems.push(Box::new(SharedDb::start(scratch, false)?));
    }
    for peer in &options.against {
        systems.push(peer.start(scratch, scale)?);
    }
    Ok(systems)
}

fn load_all(systems: &Systems, scale: Scale, scratch: &Path, seed: u64) -> Result<Value, Failure> {
    println!("Population: {} items, {} customers", scale.items, scale.customers());
    let population = Population::write(&scratch.join("population"), scale, seed)?;
    let mut table = Table::new(&["loading", "rows", "seconds", "order lines/s", "resident MB"]);
    let mut values = serde_json::Map::new();
    for system in systems {
        let times = population.load(&**system, scale)?;
        let resident = system.resident_bytes() as f64 / 1e6;
        table.row([
            system.name().to_owned(),
            times.rows.to_string(),
            format!("{:.1}", times.seconds),
            format!("{:.0}", times.order_lines_per_second),
            format!("{resident:.0}"),
        ]);
        values.insert(system.name().to_owned(), json!({"load": times, "resident_mb": resident}));
    }
    println!("{table}");
    Ok(Value::Object(values))
}

/// Every system against the first: equal data must give equal answers.
fn compare_answers(systems: &Systems, scale: Scale, seed: u64) -> Result<Value, Failure> {
    let mut values = serde_json::Map::new();
    for other in &systems[1..] {
        let (mut left, mut right) = (systems[0].connect()?, other.connect()?);
        let found = check::differences(&mut *left, &mut *right, scale, 20, seed)?;
        println!(
            "Answers of {} and {}: {} differences",
            systems[0].name(),
            other.name(),
            found.len()
        );
        found.iter().take(5).for_each(|difference| println!("  {difference}"));
        values.insert(other.name().to_owned(), json!(found));
    }
    Ok(Value::Object(values))
}

fn run_mixes(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
) -> Result<Value, Failure> {
    let mut values = serde_json::Map::new();
    for &mix in &options.mix {
        let best = sweep(options, systems, scale, mix)?;
        let tallies = measure(options, systems, scale, mix, &best)?;
        print_mix(mix, systems, &tallies);
        let by_system = systems.iter().zip(&tallies);
        let map: serde_json::Map<String, Value> = by_system
            .map(|(system, tally)| (system.name().to_owned(), tally_json(tally)))
            .collect();
        values.insert(format!("{mix:?}").to_lowercase(), Value::Object(map));
    }
    Ok(Value::Object(values))
}

fn closed_loop(
    options: &BookstoreOptions,
    scale: Scale,
    mix: Mix,
    connections: usize,
    seconds: f64,
    round: u64,
) -> ClosedLoop {
    let measure = Duration::from_secs_f64(seconds);
    let warm_up = Duration::from_secs_f64(1.0);
    ClosedLoop { mix, scale, connections, warm_up, measure, seed: options.seed ^ (round << 48) }
}

/// Asks each system in turn. A peer that fails, its server having ended, takes no further part: what the others gave is
/// kept.
fn on_each<T>(
    systems: &mut Systems,
    mut ask: impl FnMut(&dyn System) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut given = Vec::new();
    while let Some(system) = systems.get(given.len()) {
        match ask(&**system) {
            Ok(one) => given.push(one),
            Err(error) if given.is_empty() => return Err(error),
            Err(error) => {
                println!("{} takes no further part: {error}", system.name());
                systems.remove(given.len());
            }
        }
    }
    Ok(given)
}

/// The number of connections at which each system serves most, by name.
fn sweep(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
    mix: Mix,
) -> Result<HashMap<String, usize>, Failure> {
    let best = on_each(systems, |system| {
        let mut found = (0.0, options.connections[0]);
        for &connections in &options.connections {
            let plan = closed_loop(options, scale, mix, connections, 2.0, 99);
            let tally = closed::run(system, plan)?;
            if tally.throughput() > found.0 {
                found = (tally.throughput(), connections);
            }
        }
        Ok((system.name().to_owned(), found.1))
    })?;
    Ok(best.into_iter().collect())
}

/// Systems in turns, so that a noisy minute hits all; the median run by throughput of each.
fn measure(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
    mix: Mix,
    best: &HashMap<String, usize>,
) -> Result<Vec<Tally>, Failure> {
    let mut runs: HashMap<String, Vec<Tally>> = HashMap::new();
    for round in 0..options.rounds.max(1) {
        on_each(systems, |system| {
            let connections = best[system.name()];
            let seconds = options.seconds;
            let plan = closed_loop(options, scale, mix, connections, seconds, round as u64);
            let tally = closed::run(system, plan)?;
            runs.entry(system.name().to_owned()).or_default().push(tally);
            Ok(())
        })?;
    }
    Ok(systems.iter().filter_map(|system| runs.remove(system.name())).map(median).collect())
}

fn median(mut runs: Vec<Tally>) -> Tally {
    runs.sort_by(|a, b| a.throughput().total_cmp(&b.throughput()));
    let middle = runs.len() / 2;
    runs.swap_remove(middle)
}

fn print_mix(mix: Mix, systems: &Systems, tallies: &[Tally]) {
    println!("\n{mix:?} mix");
    let mut table = Table::new(&[
        "system",
        "connections",
        "interactions/s",
        "server CPU us",
        "driver CPU us",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "late",
        "failed",
        "retried",
    ]);
    for (system, tally) in systems.iter().zip(tallies) {
        let all = tally.overall();
        let mut row = vec![system.name().to_owned(), tally.connections.to_string()];
        row.push(format!("{:.0}", tally.throughput()));
        row.push(format!("{:.1}", tally.server_cpu_us()));
        row.push(format!("{:.1}", tally.driver_cpu_us()));
        row.extend([0.5, 0.9, 0.99].map(|share| format!("{:.2}", all.quantile_ms(share))));
        row.extend([tally.late, tally.failed(), tally.effects.retries].map(|n| n.to_string()));
        table.row(row);
    }
    println!("{table}");
    print_interactions(systems, tallies);
    for (system, tally) in systems.iter().zip(tallies) {
        for (message, count) in &tally.failures {
            println!("{}: {count} x {message}", system.name());
        }
    }
}

fn print_interactions(systems: &Systems, tallies: &[Tally]) {
    let mut heading = vec!["p50/p90/p99 ms"];
    heading.extend(systems.iter().map(|system| system.name()));
    let mut table = Table::new(&heading);
    for interaction in crate::bookstore::Interaction::ALL {
        let cells = tallies.iter().map(|tally| {
            let latency = tally.latencies.get(&interaction);
            latency.map_or("-".to_owned(), |l| {
                [0.5, 0.9, 0.99].map(|share| format!("{:.2}", l.quantile_ms(share))).join("/")
            })
        });
        table.row(std::iter::once(format!("{interaction:?}")).chain(cells));
    }
    println!("{table}");
}

fn latency_json(latency: &Latency) -> Value {
    json!({
        "count": latency.count(), "p50_ms": latency.quantile_ms(0.5),
        "p90_ms": latency.quantile_ms(0.9), "p99_ms": latency.quantile_ms(0.99),
    })
}

fn tally_json(tally: &Tally) -> Value {
    let by_interaction = tally.latencies.iter();
    let latencies: serde_json::Map<String, Value> = by_interaction
        .map(|(interaction, latency)| (format!("{interaction:?}"), latency_json(latency)))
        .collect();
    json!({
        "connections": tally.connections, "interactions_per_second": tally.throughput(),
        "server_cpu_us": tally.server_cpu_us(), "driver_cpu_us": tally.driver_cpu_us(),
        "late": tally.late, "failures": tally.failures, "retries": tally.effects.retries,
        "latencies": latencies,
    })
}

fn draw_throughput(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
) -> Result<Value, Failure> {
    let mut values = serde_json::Map::new();
    for &mix in &options.mix {
        let lines = on_each(systems, |system| {
            let points = throughput_line(options, system, scale, mix)?;
            Ok(Line { label: system.name().to_owned(), points })
        })?;
        let name = format!("{mix:?}").to_lowercase();
        values.insert(name.clone(), lines_json(&lines));
        let figure = Figure {
            title: format!("Throughput over load, {mix:?} mix"),
            x: "emulated browsers".to_owned(),
            y: "interactions per second within limits".to_owned(),
            logarithmic: false,
            lines,
        };
        write(&figure, &options.output.join(format!("throughput-{name}.svg")))?;
    }
    Ok(Value::Object(values))
}

/// Doubles the number of browsers until the system no longer serves what is offered.
fn throughput_line(
    options: &BookstoreOptions,
    system: &dyn System,
    scale: Scale,
    mix: Mix,
) -> Result<Vec<(f64, f64)>, Failure> {
    let think = Duration::from_secs_f64(options.think_seconds);
    let mut points = vec![(0.0, 0.0)];
    for doubling in 0..9 {
        let browsers = 1_000 << doubling;
        let plan = OfferedLoad {
            mix,
            scale,
            browsers,
            think,
            connections: 32,
            warm_up: think,
            measure: Duration::from_secs_f64(options.seconds),
            seed: options.seed,
        };
        let tally = offered::run(system, plan)?;
        points.push((browsers as f64, tally.throughput()));
        if tally.throughput() < 0.6 * browsers as f64 / options.think_seconds {
            break;
        }
    }
    Ok(points)
}

/// Sizes of the bursts.
const BURSTS: [usize; 9] = [1, 4, 16, 64, 128, 256, 512, 1_024, 2_000];

fn draw_batches(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
) -> Result<Value, Failure> {
    let kinds: [(&str, Statement); 3] = [
        ("title searches", Statement::SearchTitle),
        ("best sellers", Statement::BestSellersWindow),
        ("item look-ups", Statement::ProductDetail),
    ];
    let mut values = serde_json::Map::new();
    for (name, statement) in kinds {
        let mut table = Table::new(&["at once", "system", "connections", "ms", "server CPU ms"]);
        let lines = on_each(systems, |system| {
            let mut points = Vec::new();
            for queries in BURSTS {
                let parameters = distinct_parameters(statement, scale, queries, options.seed);
                let burst = best_burst(system, statement, &parameters)?;
                table.row([
                    queries.to_string(),
                    system.name().to_owned(),
                    burst.connections.to_string(),
                    format!("{:.2}", burst.milliseconds),
                    format!("{:.1}", burst.server_cpu_ms),
                ]);
                points.push((queries as f64, burst.milliseconds));
                let key = format!("{name}/{}/{queries}", system.name());
                values.insert(key, json!(burst));
            }
            Ok(Line { label: system.name().to_owned(), points })
        })?;
        println!("\nBatches of {name}\n{table}");
        let figure = Figure {
            title: format!("Response time of a batch: {name}"),
            x: "queries at once".to_owned(),
            y: "milliseconds until the last answer".to_owned(),
            logarithmic: true,
            lines,
        };
        let file = format!("batches-{}.svg", name.replace(' ', "-"));
        write(&figure, &options.output.join(file))?;
    }
    Ok(Value::Object(values))
}

/// The pool at which the system finishes first.
fn best_burst(
    system: &dyn System,
    statement: Statement,
    parameters: &[Vec<Parameter>],
) -> Result<Burst, Failure> {
    let (name, text) = ALL[statement as usize];
    let statements = [query::Statement { name: format!("{name:?}"), text: text.to_owned() }];
    let queries: Vec<Query> = parameters
        .iter()
        .map(|parameters| Query { statement: 0, parameters: parameters.clone() })
        .collect();
    let mut best: Option<Burst> = None;
    for connections in [8, 32, 128, 1_024] {
        if connections > 8 && connections / 4 >= parameters.len() {
            continue;
        }
        let times = if parameters.len() < 64 { 15 } else { 5 };
        let burst = burst::run(system, &statements, &queries, connections, times)?;
        if best.is_none_or(|best| burst.milliseconds < best.milliseconds) {
            best = Some(burst);
        }
    }
    Ok(best.expect("eight connections are always tried"))
}

/// Parameters that differ from each other: no figure may depend on equal activations collapsing.
fn distinct_parameters(
    statement: Statement,
    scale: Scale,
    count: usize,
    seed: u64,
) -> Vec<Vec<Parameter>> {
    let mut browser = Browser::new(scale, seed);
    let draw = |i: usize, browser: &mut Browser| match statement {
        Statement::SearchTitle => {
            let key = 1 + i as u64 % scale.title_keys();
            vec![format!("%{}%", crate::bookstore::digit_syllables(key, 7)).into()]
        }
        Statement::BestSellersWindow => {
            let window = 3_333 - (i as i64 / 24) % 1_000;
            let subject = crate::bookstore::population::SUBJECTS[i % 24];
            vec![window.into(), subject.into()]
        }
        _ => vec![browser.any_item().into()],
    };
    (0..count).map(|i| draw(i, &mut browser)).collect()
}

/// Light look-ups per second beside the heavy stream.
const LIGHT_PER_SECOND: f64 = 400.0;
/// Rates of the heavy stream.
const HEAVY_PER_SECOND: [f64; 8] = [0.0, 200.0, 400.0, 700.0, 1_000.0, 2_000.0, 5_000.0, 8_000.0];

fn draw_interference(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
) -> Result<Value, Failure> {
    let items = distinct_parameters(Statement::ProductDetail, scale, 4_096, options.seed);
    let windows = distinct_parameters(Statement::BestSellersWindow, scale, 20_000, options.seed);
    let mut table = Table::new(&[
        "system",
        "heavy offered/s",
        "heavy served/s",
        "heavy p99 ms",
        "light p50 ms",
        "light p99 ms",
    ]);
    let mut values = serde_json::Map::new();
    let lines = on_each(systems, |system| {
        let mut points = Vec::new();
        for rate in HEAVY_PER_SECOND {
            let light = Stream {
                statement: ALL[Statement::ProductDetail as usize].1,
                parameters: &items,
                per_second: LIGHT_PER_SECOND,
                connections: 4,
            };
            let heavy = Stream {
                statement: ALL[Statement::BestSellersWindow as usize].1,
                parameters: &windows,
                per_second: rate,
                connections: 64,
            };
            let seconds = options.seconds.min(5.0);
            let (light, heavy) = interference::run(system, &light, &heavy, seconds)?;
            table.row([
                system.name().to_owned(),
                format!("{rate:.0}"),
                format!("{:.0}", heavy.per_second),
                format!("{:.2}", heavy.latency.quantile_ms(0.99)),
                format!("{:.2}", light.latency.quantile_ms(0.5)),
                format!("{:.2}", light.latency.quantile_ms(0.99)),
            ]);
            points.push((rate, light.latency.quantile_ms(0.99)));
            values.insert(
                format!("{}/{rate}", system.name()),
                json!({"light": latency_json(&light.latency),
                       "heavy": latency_json(&heavy.latency),
                       "heavy_served_per_second": heavy.per_second}),
            );
            if heavy.per_second < 0.6 * rate {
                break;
            }
        }
        Ok(Line { label: system.name().to_owned(), points })
    })?;
    println!("\n400 item look-ups per second beside best sellers\n{table}");
    let figure = Figure {
        title: "Light beside heavy".to_owned(),
        x: "best-sellers queries per second".to_owned(),
        y: "p99 of an item look-up, ms".to_owned(),
        logarithmic: false,
        lines,
    };
    write(&figure, &options.output.join("interference.svg"))?;
    Ok(Value::Object(values))
}

fn lines_json(lines: &[Line]) -> Value {
    lines.iter().map(|line| (line.label.clone(), json!(line.points))).collect()
}

fn write(figure: &Figure, file: &Path) -> Result<(), Failure> {
    figure.write(file).map_err(|error| error.to_string())?;
    println!("Figure: {}", file.display());
    Ok(())
}

fn check_invariants(systems: &mut Systems) -> Result<Value, Failure> {
    let mut values = serde_json::Map::new();
    on_each(systems, |system| {
        let mut client = system.connect()?;
        let counts = check::counts(&mut *client)?;
        let violations = check::violations(&mut *client)?;
        println!("{}: {counts:?}, {} violations", system.name(), violations.len());
        violations.iter().for_each(|violation| println!("  {violation}"));
        values
            .insert(system.name().to_owned(), json!({"counts": counts, "violations": violations}));
        Ok(())
    })?;
    Ok(Value::Object(values))
}
