//! What changes with the scale factor and with the number of cores, over the results of one run.

use super::figures::NARROW;
use super::{AtScale, StarOptions};
use crate::bench::Failure;
use crate::bench::analytic::{Axes, Measured, write_figure};
use crate::driver::queries::QueryTally;
use crate::report::{Line, Table};

/// Queries at once in the paper's experiment over scale (figure 13).
const AT_ONCE: usize = 8;

/// Draws response time over scale on the most cores and throughput over cores at the last scale factor; prints what the
/// larger scale costs.
pub fn report(options: &StarOptions, results: &[AtScale]) -> Result<(), Failure> {
    let most = options.cores.iter().copied().max();
    let scales: Vec<&AtScale> = results.iter().filter(|at| at.cores == most).collect();
    let last = results.last().map(|at| at.factor);
    let cores: Vec<&AtScale> = results.iter().filter(|at| Some(at.factor) == last).collect();
    print_costs(&scales);
    let file = |name: &str| options.common.output.join(format!("star-{name}.svg"));
    let axes = Axes { x: "scale factor", y: "mean response time, ms" };
    let lines = lines_over(&scales, |at| at.factor, QueryTally::mean_ms);
    write_figure(&file("scale"), "13 templates over scale", axes, lines)?;
    let axes = Axes { x: "scale factor", y: "ms until the last answer" };
    let title = format!("{AT_ONCE} x Q3.2 at once over scale");
    write_figure(&file("scale-q32"), &title, axes, narrow_lines(&scales))?;
    let axes = Axes { x: "cores", y: "queries/s" };
    let lines = lines_over(&cores, |at| at.cores.unwrap_or(0) as f64, QueryTally::throughput);
    write_figure(&file("cores"), "13 templates over cores", axes, lines)
}

/// A line per system and number of clients through all results.
fn lines_over(
    results: &[&AtScale],
    x: fn(&AtScale) -> f64,
    y: fn(&QueryTally) -> f64,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for result in results {
        for system in &result.measured {
            for tally in &system.loops {
                let label = format!("{}, {} clients", system.name, tally.clients);
                Line::extend(&mut lines, &label, (x(result), y(tally)));
            }
        }
    }
    lines
}

fn narrow_lines(results: &[&AtScale]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for result in results {
        for system in &result.measured {
            for bursts in system.series.0.get(NARROW).into_iter().flatten() {
                let burst =
                    bursts.points.iter().map(|(_, burst)| burst).find(|b| b.queries == AT_ONCE);
                if let Some(burst) = burst {
                    Line::extend(&mut lines, &bursts.label, (result.factor, burst.milliseconds));
                }
            }
        }
    }
    lines
}

/// What one query costs, and the memory, at each scale factor over the first one's.
fn print_costs(results: &[&AtScale]) {
    let Some((first, larger)) = results.split_first().filter(|(_, larger)| !larger.is_empty())
    else {
        return;
    };
    let from = format!("ms at {}", first.factor);
    let heading = ["system", "clients", "scale factor", &from, "ms", "times", "resident times"];
    let mut table = Table::new(&heading);
    for at in larger {
        for system in &at.measured {
            let before = first.measured.iter().find(|before| before.name == system.name);
            let Some(before) = before else { continue };
            for (small, large) in pairs(before, system) {
                let memory = system.load.resident_mb / before.load.resident_mb;
                table.row([
                    system.name.clone(),
                    large.clients.to_string(),
                    at.factor.to_string(),
                    format!("{:.2}", small.mean_ms()),
                    format!("{:.2}", large.mean_ms()),
                    format!("{:.2}", large.mean_ms() / small.mean_ms()),
                    format!("{memory:.2}"),
                ]);
            }
        }
    }
    println!("\n{table}");
}

/// Runs of both with equal numbers of clients.
fn pairs<'m>(
    one: &'m Measured,
    other: &'m Measured,
) -> impl Iterator<Item = (&'m QueryTally, &'m QueryTally)> {
    let same = |tally: &QueryTally| one.loops.iter().find(|t| t.clients == tally.clients);
    other.loops.iter().filter_map(move |tally| Some((same(tally)?, tally)))
}
