//! `shareddb bench star`: the Star Schema Benchmark.

use rand::rngs::SmallRng;
use serde_json::{Value, json};

use super::Failure;
use super::analytic::{
    AnalyticOptions, Contest, Contestant, Measured, burst, burst_of, measure_mix, print_bursts,
    print_loops, print_statements, record, write_figure,
};
use crate::driver::queries::QueryTally;
use crate::driver::updates::{UpdateStream, run_beside};
use crate::peers::System;
use crate::report::{Line, Table};
use crate::star::{AllTemplates, Scale, Selective, Similar, StarSchema, WorkingSets, update};

/// Options of the Star Schema Benchmark.
#[derive(Debug, clap::Args)]
pub struct StarOptions {
    /// Scale factors; 1 is 6 million fact rows. With more than one, response time over scale is drawn.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    scale_factor: Vec<f64>,
    /// Keep every system to so many cores (the driver is not); with several numbers throughput over cores is drawn.
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Figures of the paper to draw as well (response time over concurrency is always drawn).
    #[arg(long, value_enum, value_delimiter = ',')]
    figure: Vec<FigureKind>,
    /// Also measure SharedDB while so many updates per second hit the fact table.
    #[arg(long, default_value_t = 0.0)]
    updates_per_second: f64,
    #[command(flatten)]
    common: AnalyticOptions,
}

/// What else can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FigureKind {
    /// 8 queries at once, selecting 0.2 % to 30 % of the fact rows (the paper's figure 11).
    Selectivity,
    /// 512 queries at once of 1 to 512 different plans (figure 15).
    Similarity,
    /// 100 queries at once with large and small aggregation tables, 1:1 to 1:32 ("Cache-aware batch sharing", 6.2).
    WorkingSets,
}

/// Nations of customers and suppliers in the selectivity figure: 0.16, 1, 10, 19 and 29 per cent.
const NATIONS: [(usize, usize); 5] = [(1, 1), (2, 3), (8, 8), (11, 11), (14, 13)];
const SELECTIVITY_QUERIES: usize = 8;

const PLANS: [usize; 5] = [1, 16, 64, 256, 512];
const SIMILARITY_QUERIES: usize = 512;

/// Small queries for each large one in the working sets' figure.
const SMALL_PER_LARGE: [usize; 6] = [1, 2, 4, 8, 16, 32];
const WORKING_SET_QUERIES: usize = 100;

/// One scale factor's results.
#[derive(Default)]
struct AtScale {
    factor: f64,
    cores: Option<usize>,
    measured: Vec<Measured>,
    selectivity: Vec<Line>,
    similarity: Vec<Line>,
    working_sets: Vec<Line>,
}

/// Runs the benchmark.
pub fn run(options: &StarOptions) -> Result<(), Failure> {
    let mut results: Vec<AtScale> = Vec::new();
    for &factor in &options.scale_factor {
        if options.cores.is_empty() {
            results.push(run_scale(options, factor, None)?);
        }
        for &cores in &options.cores {
            results.push(run_scale(options, factor, Some(cores))?);
        }
    }
    let most_cores = results.iter().filter(|at| at.cores == options.cores.iter().copied().max());
    let scale = ("scale factor", "mean response time, ms");
    let lines = lines_over(most_cores, |at| at.factor, |tally| tally.mean_ms());
    write_figure(&options.common.output.join("star-scale.svg"), "Scale", scale, lines)?;
    let last = results.last().map(|at| at.factor);
    let last = results.iter().filter(|at| Some(at.factor) == last);
    let lines = lines_over(last, |at| at.cores.unwrap_or(0) as f64, |tally| tally.throughput());
    let cores = ("cores", "queries/s");
    write_figure(&options.common.output.join("star-cores.svg"), "Cores", cores, lines)?;
    if let Some(file) = &options.common.json {
        let records: Vec<Value> = results.iter().map(|at| at_scale_json(options, at)).collect();
        std::fs::write(file, serde_json::to_string_pretty(&records)?)?;
    }
    Ok(())
}

fn at_scale_json(options: &StarOptions, at: &AtScale) -> Value {
    let mut value = record(&options.common, "Star Schema Benchmark", &at.measured);
    value["scale_factor"] = json!(at.factor);
    value["limited_to_cores"] = json!(at.cores);
    let lines = |lines: &[Line]| -> serde_json::Map<String, Value> {
        lines.iter().map(|line| (line.label.clone(), json!(line.points))).collect()
    };
    value["selectivity_ms"] = Value::Object(lines(&at.selectivity));
    value["similarity_ms"] = Value::Object(lines(&at.similarity));
    value["working_sets_ms"] = Value::Object(lines(&at.working_sets));
    value
}

fn run_scale(options: &StarOptions, factor: f64, cores: Option<usize>) -> Result<AtScale, Failure> {
    let common = &options.common;
    let on = cores.map_or(String::new(), |cores| format!(" on {cores} cores"));
    println!("Star Schema Benchmark{on}, scale factor {factor}, seed {}", common.seed);
    let dataset = StarSchema::new(Scale { factor }, common.seed);
    let all = AllTemplates::new();
    let mix = AllTemplates::only(&common.select(&all)?);
    let mut contest = Contest::new(common, "star", &dataset, &mix)?;
    contest.cores = cores;
    let mut at = AtScale { factor, cores, ..AtScale::default() };
    for contestant in common.contestants() {
        let outcome = contest.measure(contestant, |_| Ok(Vec::new()))?;
        let Some((system, measured)) = outcome else { continue };
        add_figures(options, &*system, &measured, &mut at)?;
        let updated = match (contestant, options.updates_per_second) {
            (Contestant::Peer(_), _) | (_, 0.0) => None,
            (_, rate) => Some(beside_updates(&mut contest, &*system, dataset.scale, rate)?),
        };
        at.measured.push(measured);
        at.measured.extend(updated);
        drop(system);
        common.clean(&common.scratch_folder()?);
    }
    print_loops(&at.measured);
    print_statements(&at.measured);
    print_bursts(&at.measured);
    print_lines("8 at once, ms by % of fact rows", &at.selectivity);
    print_lines("512 at once, ms by number of plans", &at.similarity);
    print_lines("100 at once, ms by small queries per large one", &at.working_sets);
    draw(common, &at)?;
    Ok(at)
}

/// The lines of the figures that were asked for.
fn add_figures(
    options: &StarOptions,
    system: &dyn System,
    measured: &Measured,
    at: &mut AtScale,
) -> Result<(), Failure> {
    if options.figure.contains(&FigureKind::Selectivity) {
        at.selectivity.push(selectivity_line(&options.common, system, measured)?);
    }
    if options.figure.contains(&FigureKind::Similarity) {
        at.similarity.push(similarity_line(&options.common, system, measured)?);
    }
    if options.figure.contains(&FigureKind::WorkingSets) {
        at.working_sets.push(working_sets_line(&options.common, system, measured)?);
    }
    Ok(())
}

/// The same mix while small updates hit the fact table, and the answers once more.
fn beside_updates(
    contest: &mut Contest<'_>,
    system: &dyn System,
    scale: Scale,
    per_second: f64,
) -> Result<Measured, Failure> {
    let (common, mix) = (contest.options, contest.mix);
    let draw = |rng: &mut SmallRng| update::parameters(scale, rng);
    let seed = common.seed ^ 11;
    let stream = UpdateStream { statement: update::STATEMENT, draw: &draw, per_second, seed };
    let (measured, updated) = run_beside(system, &stream, || -> Result<Measured, Failure> {
        let differences = contest.answers.compare(system, common.check_connections)?;
        Ok(Measured { differences, ..measure_mix(common, system, mix, None)? })
    })?;
    let mut measured = measured?;
    println!(
        "{:.0} updates/s (p50 {:.2} ms, p99 {:.2} ms, {} failed)",
        updated.per_second,
        updated.latency.quantile_ms(0.5),
        updated.latency.quantile_ms(0.99),
        updated.failed,
    );
    measured.name = format!("{}, {per_second:.0} updates/s", measured.name);
    Ok(measured)
}

/// Response time over selectivity.
fn selectivity_line(
    common: &AnalyticOptions,
    system: &dyn System,
    measured: &Measured,
) -> Result<Line, Failure> {
    let mut points = Vec::new();
    for (customers, suppliers) in NATIONS {
        let mix = Selective::new(customers, suppliers);
        let taken = burst(common, system, &mix, measured.connections, SELECTIVITY_QUERIES)?;
        points.push((mix.selectivity() * 100.0, taken.milliseconds));
    }
    Ok(Line { label: system.name().to_owned(), points })
}

/// Response time over the number of different plans.
fn similarity_line(
    common: &AnalyticOptions,
    system: &dyn System,
    measured: &Measured,
) -> Result<Line, Failure> {
    let mut points = Vec::new();
    for plans in PLANS {
        let mix = Similar::new(plans, common.seed);
        let queries = mix.queries(SIMILARITY_QUERIES);
        let taken = burst_of(system, &mix, measured.connections, &queries)?;
        points.push((plans as f64, taken.milliseconds));
    }
    Ok(Line { label: system.name().to_owned(), points })
}

/// Response time over the ratio of small to large working sets.
fn working_sets_line(
    common: &AnalyticOptions,
    system: &dyn System,
    measured: &Measured,
) -> Result<Line, Failure> {
    let mix = WorkingSets::new();
    let mut points = Vec::new();
    for small in SMALL_PER_LARGE {
        let queries = mix.queries(WORKING_SET_QUERIES, small, common.seed);
        let taken = burst_of(system, &mix, measured.connections, &queries)?;
        points.push((small as f64, taken.milliseconds));
    }
    Ok(Line { label: system.name().to_owned(), points })
}

fn print_lines(title: &str, lines: &[Line]) {
    let Some(first) = lines.first() else { return };
    let places: Vec<String> = first.points.iter().map(|point| format!("{:.2}", point.0)).collect();
    let mut heading = vec![title];
    heading.extend(places.iter().map(String::as_str));
    let mut table = Table::new(&heading);
    for line in lines {
        let cells = line.points.iter().map(|point| format!("{:.1}", point.1));
        table.row(std::iter::once(line.label.clone()).chain(cells));
    }
    println!("\n{table}");
}

fn draw(common: &AnalyticOptions, at: &AtScale) -> Result<(), Failure> {
    let line = |value: fn(&QueryTally) -> f64| {
        let points = |m: &Measured| m.loops.iter().map(|t| (t.clients as f64, value(t))).collect();
        let lines = at.measured.iter().map(|m| Line { label: m.name.clone(), points: points(m) });
        lines.collect::<Vec<_>>()
    };
    let write = |name: &str, title: &str, axes, lines| {
        let on = at.cores.map_or(String::new(), |cores| format!("-cores{cores}"));
        let file = common.output.join(format!("star-{name}-sf{}{on}.svg", at.factor));
        write_figure(&file, &format!("{title}, scale factor {}", at.factor), axes, lines)
    };
    let response = "mean response time, ms";
    let clients = "clients";
    write("concurrency", "Response time", (clients, response), line(|tally| tally.mean_ms()))?;
    write("throughput", "Throughput", (clients, "queries/s"), line(|tally| tally.throughput()))?;
    let last = "ms until the last answer";
    let percent = "% of fact rows selected by each of 8 queries at once";
    write("selectivity", "Selectivity", (percent, last), at.selectivity.clone())?;
    let plans = "different plans among 512 queries at once";
    write("similarity", "Similarity", (plans, last), at.similarity.clone())?;
    let small = "queries with 50 KB for each one with 1.6 MB, 100 at once";
    write("working-sets", "Working sets", (small, last), at.working_sets.clone())
}

/// A line per system and number of clients through all results.
fn lines_over<'r>(
    results: impl Iterator<Item = &'r AtScale>,
    x: fn(&AtScale) -> f64,
    y: fn(&QueryTally) -> f64,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for result in results {
        for system in &result.measured {
            for tally in &system.loops {
                let label = format!("{}, {} clients", system.name, tally.clients);
                let point = (x(result), y(tally));
                match lines.iter_mut().find(|line| line.label == label) {
                    Some(line) => line.points.push(point),
                    None => lines.push(Line { label, points: vec![point] }),
                }
            }
        }
    }
    lines
}
