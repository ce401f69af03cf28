//! `shareddb bench bookstore`.
//!
//! Options in; all systems started and loaded, then in turns driven with the mixes ([`mixes`]) and for the figures
//! ([`throughput`], [`cores`], [`interactions`], [`batches`], [`interference`]); answers compared before, invariants checked afterwards.

mod batches;
mod cores;
mod interactions;
mod interference;
mod mixes;
mod throughput;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use self::mixes::BestConnections;
use super::Failure;
use super::load::Population;
use crate::bookstore::{Mix, Scale, check};
use crate::driver::Latency;
use crate::peers::{Peer, PeerOptions, SharedDb, SharedDbOptions, Sharing, System};
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
    /// Emulated browsers in the throughput figure, as long as a system serves them. They share a pool of connections,
    /// as many as the system served most with.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1000,2000,4000,8000,16000,32000,64000,96000,128000,192000"
    )]
    figure_browsers: Vec<usize>,
    /// Connections of the pool in the throughput figure.
    #[arg(long)]
    figure_pool: Option<usize>,
    /// Go on in the throughput figure where a system serves less than it is asked for.
    #[arg(long)]
    beyond_saturation: bool,
    /// Draw a second line of SharedDB in the throughput figure, with so many milliseconds promised for each statement.
    #[arg(long)]
    promise_ms: Option<f64>,
    /// Queries at once in the batches' figure.
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64,128,256,512,1024,2000")]
    batch_sizes: Vec<usize>,
    /// Best-sellers queries per second in the interference figure.
    #[arg(long, value_delimiter = ',', default_value = "0,200,400,700,1000,2000,5000,8000")]
    heavy_rates: Vec<f64>,
    /// The program to measure (default: $SHAREDDB, else this one).
    #[arg(long)]
    server_binary: Option<PathBuf>,
    /// Further arguments of the server, separated by blanks.
    #[arg(long, allow_hyphen_values = true)]
    server_arguments: Option<String>,
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
    /// The most over the number of cores (figure 8); systems are started and loaded anew for each.
    Cores,
    /// The most of each interaction by itself (figure 9).
    Interactions,
    /// Batches of 1 to 2,000 light and heavy queries (figure 10).
    Batches,
    /// Light against heavy (figure 11).
    Interference,
}

/// An answer of a peer that takes longer ends its part: indexes of the large shop take minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Systems that run, and what became of the others.
#[derive(Default)]
struct Systems {
    running: Vec<Box<dyn System>>,
    ended: Vec<String>,
}

impl Systems {
    /// Asks each in turn. A peer that fails, its server having ended, takes no further part: what the others gave is
    /// kept, and figures say so.
    fn on_each<T>(
        &mut self,
        mut ask: impl FnMut(&dyn System) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let mut given = Vec::new();
        while let Some(system) = self.running.get(given.len()) {
            match ask(&**system) {
                Ok(one) => given.push(one),
                Err(error) if given.is_empty() => return Err(error),
                Err(error) => {
                    let ended = system.server().check(true).err();
                    let why = ended.map_or_else(|| error.to_string(), |how| how.to_string());
                    let note = format!("{} takes no further part: {why}", system.name());
                    println!("{note}");
                    self.ended.push(note);
                    self.running.remove(given.len());
                }
            }
        }
        Ok(given)
    }

    /// A line of each, as far as it goes.
    fn lines(
        &mut self,
        mut draw: impl FnMut(&dyn System, &mut Vec<(f64, f64)>) -> Result<(), Failure>,
    ) -> Result<Vec<Line>, Failure> {
        let mut lines: Vec<Line> = Vec::new();
        self.on_each(|system| {
            lines.push(Line { label: system.name().to_owned(), points: Vec::new() });
            draw(system, &mut lines.last_mut().expect("it was just added").points)
        })?;
        Ok(lines)
    }
}

/// Runs the benchmark.
pub fn run(options: &BookstoreOptions) -> Result<(), Failure> {
    let scale = Scale { items: options.items, browsers: options.browsers };
    let scratch = options.scratch.clone().unwrap_or_else(|| options.output.join("scratch"));
    let scratch = std::path::absolute(scratch)?;
    std::fs::create_dir_all(&scratch)?;
    super::open_to_all(&scratch)?;
    std::fs::create_dir_all(&options.output)?;
    let mut systems = start(options, &scratch, None)?;
    let mut results = json!({
        "workload": "bookstore (TPC-W-derived)", "scale": scale, "seed": options.seed,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "systems": systems.running.iter().map(|s| s.describe()).collect::<Vec<_>>(),
    });
    results["load"] = load_all(&mut systems, scale, &scratch, options.seed)?;
    results["answers"] = compare_answers(&mut systems, scale, options.seed)?;
    let mut best = BestConnections::new();
    results["mixes"] = mixes::run(options, &mut systems, scale, &mut best)?;
    for figure in &options.figure {
        let (key, value) = match figure {
            FigureKind::Throughput => {
                ("throughput", throughput::draw(options, &mut systems, scale, &best)?)
            }
            FigureKind::Cores => ("cores", cores::draw(options, scale, &scratch)?),
            FigureKind::Interactions => {
                ("interactions", interactions::draw(options, &mut systems, scale)?)
            }
            FigureKind::Batches => ("batches", batches::draw(options, &mut systems, scale)?),
            FigureKind::Interference => {
                ("interference", interference::draw(options, &mut systems, scale)?)
            }
        };
        results[key] = value;
    }
    results["violations"] = check_invariants(&mut systems)?;
    results["ended"] = json!(systems.ended);
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_string_pretty(&results)?)?;
    }
    Ok(())
}

/// Starts all systems on so many cores, or on all there are.
fn start(
    options: &BookstoreOptions,
    scratch: &Path,
    cores: Option<usize>,
) -> Result<Systems, Failure> {
    let mut systems = Systems::default();
    let alone = options.no_sharing.then_some(Sharing::Never);
    for sharing in std::iter::once(Sharing::Automatic).chain(alone) {
        let program = options.server_binary.clone();
        let arguments = options.server_arguments.iter().flat_map(|text| text.split_whitespace());
        let arguments = arguments.map(str::to_owned).collect();
        let own =
            SharedDbOptions { sharing, program, arguments, cores, ..SharedDbOptions::default() };
        // What an earlier run left would be recovered.
        let _ = std::fs::remove_dir_all(scratch.join(own.folder_name()));
        systems.running.push(Box::new(SharedDb::start_with(scratch, own)?));
    }
    for peer in &options.against {
        let peer_options = PeerOptions { python: None, cores, patience: PATIENCE };
        systems.running.push(peer.start(scratch, peer_options)?);
    }
    Ok(systems)
}

fn load_all(
    systems: &mut Systems,
    scale: Scale,
    scratch: &Path,
    seed: u64,
) -> Result<Value, Failure> {
    println!("Population: {} items, {} customers", scale.items, scale.customers());
    let population = Population::write(&scratch.join("population"), scale, seed)?;
    let mut table = Table::new(&["loading", "rows", "seconds", "order lines/s", "resident MB"]);
    let mut values = serde_json::Map::new();
    systems.on_each(|system| {
        let times = population.load(system, scale)?;
        let resident = system.server().resident_bytes() as f64 / 1e6;
        table.row([
            system.name().to_owned(),
            times.rows.to_string(),
            format!("{:.1}", times.seconds),
            format!("{:.0}", times.order_lines_per_second),
            format!("{resident:.0}"),
        ]);
        values.insert(system.name().to_owned(), json!({"load": times, "resident_mb": resident}));
        Ok(())
    })?;
    println!("{table}");
    Ok(Value::Object(values))
}

/// Every system against the first: equal data must give equal answers.
fn compare_answers(systems: &mut Systems, scale: Scale, seed: u64) -> Result<Value, Failure> {
    let mut values = serde_json::Map::new();
    let mut first = systems.running[0].connect()?;
    let name = systems.running[0].name().to_owned();
    systems.on_each(|other| {
        if other.name() == name {
            return Ok(());
        }
        let found = check::differences(&mut *first, &mut *other.connect()?, scale, 20, seed)?;
        println!("Answers of {name} and {}: {} differences", other.name(), found.len());
        found.iter().take(5).for_each(|difference| println!("  {difference}"));
        values.insert(other.name().to_owned(), json!(found));
        Ok(())
    })?;
    Ok(Value::Object(values))
}

fn latency_json(latency: &Latency) -> Value {
    json!({
        "count": latency.count(), "p50_ms": latency.quantile_ms(0.5),
        "p90_ms": latency.quantile_ms(0.9), "p99_ms": latency.quantile_ms(0.99),
    })
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
    systems.on_each(|system| {
        let mut client = system.connect()?;
        let counts = check::counts(&mut *client)?;
        let mut violations = check::violations(&mut *client)?;
        violations.extend(system.differences()?);
        println!("{}: {counts:?}, {} violations", system.name(), violations.len());
        violations.iter().for_each(|violation| println!("  {violation}"));
        values
            .insert(system.name().to_owned(), json!({"counts": counts, "violations": violations}));
        Ok(())
    })?;
    Ok(Value::Object(values))
}
