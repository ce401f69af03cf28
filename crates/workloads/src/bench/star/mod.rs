//! `shareddb bench star`: the Star Schema Benchmark.
//!
//! Options in; per scale factor and number of cores each system in turn is started, loaded, checked and measured, then
//! tables are printed, figures ([`figures`], [`grid`]) drawn and the record written.

mod figures;
mod grid;
mod packing;
mod prediction;
mod scaling;

use rand::rngs::SmallRng;
use serde_json::{Value, json};

use self::figures::{FEW, FigureKind};
use self::grid::{Grid, GridOptions};
use super::Failure;
use super::analytic::{
    AnalyticOptions, Axes, Bursts, Contest, Contestant, Experiment, Measured, failures,
    measure_mix, print_bursts, print_loads, print_loops, print_statements, record, write_figure,
};
use crate::driver::queries::QueryTally;
use crate::driver::updates::{UpdateStream, run_beside};
use crate::peers::{Sharing, System};
use crate::report::Line;
use crate::star::{AllTemplates, Scale, StarSchema, update};

/// Options of the Star Schema Benchmark.
#[derive(Debug, clap::Args)]
pub struct StarOptions {
    /// Scale factors; 1 is 6 million fact rows. With more than one, response time over scale is drawn.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    scale_factor: Vec<f64>,
    /// Keep every system to so many cores (the driver is not); with several numbers throughput over cores is drawn.
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Figures of the papers to draw as well (the mix over clients is always drawn).
    #[arg(long, value_enum, value_delimiter = ',')]
    figure: Vec<FigureKind>,
    /// Queries at once in figures, at most.
    #[arg(long, default_value_t = 512)]
    most_at_once: usize,
    #[command(flatten)]
    grid: GridOptions,
    /// Also measure SharedDB while so many updates per second hit the fact table.
    #[arg(long, default_value_t = 0.0)]
    updates_per_second: f64,
    #[command(flatten)]
    common: AnalyticOptions,
}

/// One scale factor's results.
#[derive(Default)]
struct AtScale {
    factor: f64,
    cores: Option<usize>,
    measured: Vec<Measured>,
    /// With other ways of packing, asked nothing else.
    packing: Vec<Measured>,
    grid: Option<Grid>,
}

/// Runs the benchmark.
pub fn run(options: &StarOptions) -> Result<(), Failure> {
    std::fs::create_dir_all(&options.common.output)?;
    let mut results: Vec<AtScale> = Vec::new();
    let cores: Vec<Option<usize>> = match &options.cores[..] {
        [] => vec![None],
        some => some.iter().copied().map(Some).collect(),
    };
    for &factor in &options.scale_factor {
        for &cores in &cores {
            run_scale(options, factor, cores, &mut results)?;
        }
    }
    scaling::report(options, &results)?;
    results.iter().try_for_each(|at| failures(&at.measured))
}

/// Writes what there is: a later system may take hours.
fn save(options: &StarOptions, results: &[AtScale]) -> Result<(), Failure> {
    let Some(file) = &options.common.json else { return Ok(()) };
    let records: Vec<Value> = results.iter().map(|at| at_scale_json(options, at)).collect();
    std::fs::write(file, serde_json::to_string_pretty(&records)?)?;
    Ok(())
}

fn at_scale_json(options: &StarOptions, at: &AtScale) -> Value {
    let mut value = record(&options.common, "Star Schema Benchmark", &at.measured);
    value["scale_factor"] = json!(at.factor);
    value["limited_to_cores"] = json!(at.cores);
    value["packing"] = at.packing.iter().map(Measured::json).collect();
    value["grid"] = json!(at.grid.as_ref().map(Grid::json));
    value
}

fn run_scale(
    options: &StarOptions,
    factor: f64,
    cores: Option<usize>,
    results: &mut Vec<AtScale>,
) -> Result<(), Failure> {
    let common = &options.common;
    let on = cores.map_or(String::new(), |cores| format!(" on {cores} cores"));
    println!("Star Schema Benchmark{on}, scale factor {factor}, seed {}", common.seed);
    let dataset = StarSchema::new(Scale { factor }, common.seed);
    let all = AllTemplates::new();
    let mix = AllTemplates::only(&common.select(&all)?);
    let mut contest = Contest::new(common, "star", &dataset, &mix)?;
    contest.cores = cores;
    let experiments = experiments(options);
    results.push(AtScale { factor, cores, ..AtScale::default() });
    for contestant in common.contestants() {
        let mut updated = None;
        let measured = contest.measure(
            contestant,
            |_| Ok(Vec::new()),
            |contest, system, measured| {
                for experiment in &experiments {
                    experiment.measure(common, system, measured)?;
                }
                updated = beside_updates(options, contest, contestant, system, dataset.scale)?;
                Ok(())
            },
        )?;
        let at = results.last_mut().expect("it was just added");
        at.measured.push(measured);
        at.measured.extend(updated);
        save(options, results)?;
    }
    let at = results.last_mut().expect("it was added");
    if options.figure.contains(&FigureKind::WorkingSets) && !common.peers_only {
        at.packing = packing::measure(common, options.most_at_once, &dataset, cores)?;
    }
    if options.figure.contains(&FigureKind::Grid) {
        at.grid = Some(Grid::measure(common, &options.grid, &dataset, factor, cores)?);
    }
    report(options, at, &experiments)?;
    save(options, results)
}

fn experiments(options: &StarOptions) -> Vec<Experiment> {
    let common = &options.common;
    let kinds = options.figure.iter();
    kinds.flat_map(|kind| kind.experiments(options.most_at_once, common.seed)).collect()
}

/// The same mix on SharedDB while small updates hit the fact table, and the answers once more.
fn beside_updates(
    options: &StarOptions,
    contest: &mut Contest<'_>,
    contestant: Contestant,
    system: &dyn System,
    scale: Scale,
) -> Result<Option<Measured>, Failure> {
    let per_second = options.updates_per_second;
    if contestant != Contestant::Own(Sharing::Automatic) || per_second == 0.0 {
        return Ok(None);
    }
    let (common, mix) = (contest.options, contest.mix);
    let draw = |rng: &mut SmallRng| update::parameters(scale, rng);
    let seed = common.seed ^ 11;
    let stream = UpdateStream { statement: update::STATEMENT, draw: &draw, per_second, seed };
    let (measured, updated) = run_beside(system, &stream, || -> Result<Measured, Failure> {
        let mut measured = Measured::new(system, mix);
        measured.differences = contest.answers.compare(system, common.check_connections)?;
        measure_mix(common, system, mix, &mut measured)?;
        Ok(measured)
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
    Ok(Some(measured))
}

fn report(options: &StarOptions, at: &AtScale, experiments: &[Experiment]) -> Result<(), Failure> {
    print_loads(&at.measured);
    print_loops(&at.measured);
    print_statements(&at.measured);
    print_bursts(&at.measured);
    let all = [&at.measured[..], &at.packing[..]].concat();
    experiments.iter().for_each(|experiment| experiment.print(&all));
    print_few_plans(&at.measured);
    if let Some(grid) = &at.grid {
        grid.print();
    }
    draw(options, at, experiments)
}

/// What many queries of few plans cost over what the plans cost.
fn print_few_plans(measured: &[Measured]) {
    let series = measured.iter().filter_map(|system| system.series.0.get(FEW));
    for Bursts { label, points } in series.flatten() {
        let (Some((_, first)), Some((_, last))) = (points.first(), points.last()) else { continue };
        println!(
            "{label}: {} queries of the plans of {} take {:.2} times as long",
            last.queries,
            first.queries,
            last.milliseconds / first.milliseconds,
        );
    }
}

fn draw(options: &StarOptions, at: &AtScale, experiments: &[Experiment]) -> Result<(), Failure> {
    let on = at.cores.map_or(String::new(), |cores| format!("-cores{cores}"));
    let file =
        |name: &str| options.common.output.join(format!("star-{name}-sf{}{on}.svg", at.factor));
    let scale = format!("scale factor {}", at.factor);
    let line = |value: fn(&QueryTally) -> f64| -> Vec<Line> {
        let points = |m: &Measured| m.loops.iter().map(|t| (t.clients as f64, value(t))).collect();
        at.measured.iter().map(|m| Line { label: m.name.clone(), points: points(m) }).collect()
    };
    let (times, rates) = (line(QueryTally::mean_ms), line(QueryTally::throughput));
    let response = Axes { x: "clients", y: "mean response time, ms" };
    write_figure(&file("response"), &format!("13 templates, {scale}"), response, times)?;
    let throughput = Axes { x: "clients", y: "queries/s" };
    write_figure(&file("throughput"), &format!("13 templates, {scale}"), throughput, rates)?;
    let at_once = Axes { x: "queries at once", y: "ms until the last answer" };
    let title = format!("13 templates, {scale}");
    write_figure(&file("at-once"), &title, at_once, at_once_lines(&at.measured))?;
    let all = [&at.measured[..], &at.packing[..]].concat();
    for experiment in experiments {
        experiment.draw(&all, &file(experiment.key), &scale)?;
    }
    at.grid.as_ref().map_or(Ok(()), |grid| grid.draw(&file("grid")))
}

fn at_once_lines(measured: &[Measured]) -> Vec<Line> {
    let line = |system: &Measured| Line {
        label: system.name.clone(),
        points: system.bursts.iter().map(|b| (b.queries as f64, b.milliseconds)).collect(),
    };
    measured.iter().map(line).collect()
}
