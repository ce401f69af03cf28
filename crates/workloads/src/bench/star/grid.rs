//! Sharing never loses: over a grid of concurrency, selectivity and similarity the choice that the server makes per
//! batch, against the better of always and never sharing.
//!
//! Sessions of one server ask in turns for each choice, so that what disturbs one round disturbs all of them, and where its
//! rows lie in memory, too: a cell's figure is the median over the rounds of the ratios within a round.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figures::NATIONS;
use super::prediction::{Gain, Predictions, Watch};
use crate::bench::Failure;
use crate::bench::analytic::{AnalyticOptions, DataFiles, load};
use crate::dataset::Dataset;
use crate::driver::burst::Pool;
use crate::peers::{Packing, SharedDb, Sharing};
use crate::query::{Query, QueryMix};
use crate::report::{HeatMap, Table};
use crate::star::{AllTemplates, Selective, similar};

/// Options of the grid.
#[derive(Clone, Debug, clap::Args)]
pub struct GridOptions {
    /// Queries at once in the grid.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,64,256")]
    grid_at_once: Vec<usize>,
    /// Rounds per cell of the grid.
    #[arg(long, default_value_t = 9)]
    grid_rounds: usize,
}

/// The choices in the order in which they are kept; the first is compared with the others.
const CHOICES: [Sharing; 3] = [Sharing::Automatic, Sharing::Always, Sharing::Never];

/// The choice whose predictions are followed.
const ALWAYS: usize = 1;

/// Different plans in a cell; `usize::MAX` for as many as queries.
const PLANS: [usize; 3] = [1, 16, usize::MAX];

/// A cell gets fewer rounds, but some, when it takes longer.
const LONG_CELL: Duration = Duration::from_secs(15);
const LEAST_ROUNDS: usize = 3;

/// A fixed choice that takes so many times as long as the automatic one is not asked again.
const HOPELESS: f64 = 1.5;

/// What was aimed at: the automatic choice takes at most so many times as long.
const AIM: f64 = 1.1;

/// One combination.
#[derive(Clone, Debug)]
struct Cell {
    mix: String,
    plans: usize,
    queries: usize,
    /// Medians in the order of [`CHOICES`].
    milliseconds: [f64; 3],
    /// The automatic choice over the better fixed one.
    ratio: f64,
    /// Never over always sharing as the server predicted it of the batches that always shared.
    predicted: Option<f64>,
}

/// All combinations.
pub struct Grid {
    factor: f64,
    at_once: Vec<usize>,
    cells: Vec<Cell>,
}

impl Grid {
    /// Starts a server, loads it and measures all cells.
    pub fn measure(
        options: &AnalyticOptions,
        grid: &GridOptions,
        dataset: &dyn Dataset,
        factor: f64,
        cores: Option<usize>,
    ) -> Result<Grid, Failure> {
        let scratch = options.scratch_folder()?;
        println!("\nSharing never loses: each choice in turn");
        let server =
            options.start_own((Sharing::Automatic, Packing::Automatic), &scratch, cores)?;
        let mut files = DataFiles::new(scratch.join("grid"));
        load(&server, dataset, &mut files, options)?;
        let systems = CHOICES.map(|sharing| server.asked_to(sharing));
        let mut cells = Vec::new();
        for (name, mix) in mixes() {
            measure_mix(options, grid, &systems, (&name, &*mix), &mut cells)?;
        }
        drop((server, systems));
        options.clean(&scratch);
        Ok(Grid { factor, at_once: grid.grid_at_once.clone(), cells })
    }

    fn worst(&self) -> Option<&Cell> {
        self.cells.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio))
    }

    /// Of the cells in which queries could share.
    fn predictions(&self) -> Predictions {
        Predictions::new(self.cells.iter().filter(|cell| cell.plans > 1).filter_map(Cell::gain))
    }

    /// A row per cell, the worst of them, and how good the predictions were.
    pub fn print(&self) {
        let heading =
            ["grid", "plans", "at once", "automatic ms", "always ms", "never ms", "ratio", "gain"];
        let mut table = Table::new(&heading);
        for cell in &self.cells {
            let times = cell.milliseconds.iter().map(|time| format!("{time:.2}"));
            let mut row = vec![cell.mix.clone(), cell.plans.to_string(), cell.queries.to_string()];
            row.extend(times);
            row.push(format!("{:.2}", cell.ratio));
            row.push(cell.predicted.map_or_else(String::new, |gain| format!("{gain:.1}")));
            table.row(row);
        }
        println!("\n{table}");
        let within = self.cells.iter().filter(|cell| cell.ratio <= AIM).count();
        if let Some(worst) = self.worst() {
            println!(
                "automatic over the better fixed choice: at most {:.2} ({}, {} plans, {} at once); \
                 within {AIM} in {within} of {} cells",
                worst.ratio,
                worst.mix,
                worst.plans,
                worst.queries,
                self.cells.len(),
            );
        }
        self.predictions().print();
    }

    /// Draws it.
    pub fn draw(&self, file: &std::path::Path) -> Result<(), Failure> {
        let mut rows: Vec<(String, Vec<Option<f64>>)> = Vec::new();
        for cell in &self.cells {
            let name = format!("{}, {}", cell.mix, plans_name(cell));
            let column = self.at_once.iter().position(|&queries| queries == cell.queries);
            let column = column.expect("cells are of these columns");
            if !rows.iter().any(|(row, _)| *row == name) {
                rows.push((name.clone(), vec![None; self.at_once.len()]));
            }
            let row = rows.iter_mut().find(|(row, _)| *row == name);
            row.expect("it is there").1[column] = Some(cell.ratio);
        }
        let map = HeatMap {
            title: format!("Automatic over the better fixed choice, scale factor {}", self.factor),
            x: "queries at once".to_owned(),
            columns: self.at_once.iter().map(usize::to_string).collect(),
            rows,
            bad: 2.0 * AIM - 1.0,
        };
        map.write(file).map_err(|error| error.to_string())?;
        println!("{}", file.display());
        Ok(())
    }

    /// For the record.
    pub fn json(&self) -> Value {
        let cell = |cell: &Cell| {
            let [automatic, always, never] = cell.milliseconds;
            json!({
                "mix": cell.mix, "plans": cell.plans, "queries": cell.queries,
                "automatic_ms": automatic, "always_ms": always, "never_ms": never,
                "ratio": cell.ratio, "predicted_gain": cell.predicted,
            })
        };
        let worst = self.worst().map(|cell| cell.ratio);
        let cells: Vec<Value> = self.cells.iter().map(cell).collect();
        json!({"cells": cells, "worst": worst, "predictions": self.predictions().json()})
    }
}

impl Cell {
    fn gain(&self) -> Option<Gain> {
        let [_, always, never] = self.milliseconds;
        self.predicted.map(|predicted| Gain { predicted, measured: never / always })
    }
}

/// Q3.2 at four selectivities, and all templates.
fn mixes() -> Vec<(String, Box<dyn QueryMix>)> {
    let selective = NATIONS.iter().filter(|nations| **nations != (11, 11));
    let mut mixes: Vec<(String, Box<dyn QueryMix>)> = selective
        .map(|&(customers, suppliers)| {
            let mix = Selective::new(customers, suppliers);
            let name = format!("Q3.2, {:.1} % of rows", mix.selectivity() * 100.0);
            (name, Box::new(mix) as Box<dyn QueryMix>)
        })
        .collect();
    mixes.push(("13 templates".to_owned(), Box::new(AllTemplates::new())));
    mixes
}

/// The numbers of different plans that make a difference among so many queries.
fn plans_of(queries: usize) -> Vec<usize> {
    let mut plans: Vec<usize> = PLANS.iter().map(|&plans| plans.min(queries)).collect();
    plans.dedup();
    plans
}

/// Rows of the picture are alike across columns: "different" has another number in each.
fn plans_name(cell: &Cell) -> String {
    match cell.plans {
        plans if plans == cell.queries => "all different".to_owned(),
        1 => "equal".to_owned(),
        plans => format!("{plans} plans"),
    }
}

/// The cells of one mix, those left out that would take too long: a cell is measured several times.
fn measure_mix(
    options: &AnalyticOptions,
    grid: &GridOptions,
    systems: &[SharedDb; 3],
    (name, mix): (&str, &dyn QueryMix),
    cells: &mut Vec<Cell>,
) -> Result<(), Failure> {
    let mut slowest_per_query = 0.0;
    for &queries in &grid.grid_at_once {
        for plans in plans_of(queries) {
            if options.is_too_long(name, queries, LEAST_ROUNDS as f64 * slowest_per_query) {
                continue;
            }
            let asked = similar(mix, plans, queries, options.seed);
            let mut watch = Watch::new(&systems[ALWAYS])?;
            let (milliseconds, ratio) =
                measure_cell(systems, mix, &asked, grid.grid_rounds, &mut watch)?;
            let predicted = watch.gain();
            println!("  {name}, {plans} plans, {queries} at once: {ratio:.2}");
            let slowest = milliseconds.into_iter().fold(0.0, f64::max);
            slowest_per_query = f64::max(slowest_per_query, slowest / queries as f64);
            cells.push(Cell {
                mix: name.to_owned(),
                plans,
                queries,
                milliseconds,
                ratio,
                predicted,
            });
        }
    }
    Ok(())
}

/// Medians of all choices, and the ratio; follows the predictions where all share.
fn measure_cell(
    systems: &[SharedDb; 3],
    mix: &dyn QueryMix,
    queries: &[Query],
    rounds: usize,
    watch: &mut Watch,
) -> Result<([f64; 3], f64), Failure> {
    let open = |system| Pool::open(system, mix.statements(), queries.len());
    let mut pools: Vec<Pool> =
        systems.iter().map(|system| open(system)).collect::<Result<_, _>>()?;
    let mut times: [Vec<f64>; 3] = Default::default();
    for pool in &mut pools {
        pool.round(queries)?;
    }
    let start = Instant::now();
    for round in 0..rounds.max(1) {
        if round >= LEAST_ROUNDS && start.elapsed() > LONG_CELL {
            break;
        }
        // Whoever comes first in one round comes last in another.
        for number in (0..CHOICES.len()).map(|place| (place + round) % CHOICES.len()) {
            if round == 0 || !is_hopeless(&times, number) {
                let mut ask = || pools[number].round(queries);
                let (took, _) = match number {
                    ALWAYS => watch.during(ask)?,
                    _ => ask()?,
                };
                times[number].push(took.as_secs_f64() * 1000.0);
            }
        }
    }
    let ratio = (1..CHOICES.len())
        .map(|fixed| {
            let pairs = times[0].iter().zip(&times[fixed]);
            median(pairs.map(|(automatic, fixed)| automatic / fixed).collect())
        })
        .fold(0.0, f64::max);
    Ok((times.map(median), ratio))
}

/// The automatic choice is always asked again.
fn is_hopeless(times: &[Vec<f64>; 3], number: usize) -> bool {
    number > 0 && times[number][0] > HOPELESS * times[0][0]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_that_differ_are_asked_for() {
        assert_eq!(plans_of(1), [1]);
        assert_eq!(plans_of(4), [1, 4]);
        assert_eq!(plans_of(16), [1, 16]);
        assert_eq!(plans_of(64), [1, 16, 64]);
    }

    #[test]
    fn only_fixed_choices_are_hopeless() {
        let times = [vec![10.0], vec![16.0], vec![14.0]];
        assert!(!is_hopeless(&times, 0));
        assert!(is_hopeless(&times, 1));
        assert!(!is_hopeless(&times, 2));
    }
}
