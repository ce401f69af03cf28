//! Tables and figures of what was measured.

use std::path::Path;

use super::Measured;
use crate::bench::Failure;
use crate::driver::queries::QueryTally;
use crate::report::{Figure, Line, Table};

/// Response times and throughput by system and number of clients.
pub fn print_loops(measured: &[Measured]) {
    let mut table = Table::new(&[
        "system",
        "clients",
        "connections",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "queries/s",
        "server CPU ms",
        "failed",
    ]);
    for system in measured {
        for tally in &system.loops {
            let overall = tally.overall();
            table.row([
                system.name.clone(),
                tally.clients.to_string(),
                tally.connections.to_string(),
                format!("{:.2}", tally.mean_ms()),
                format!("{:.2}", overall.quantile_ms(0.5)),
                format!("{:.2}", overall.quantile_ms(0.99)),
                format!("{:.1}", tally.throughput()),
                format!("{:.2}", tally.server_cpu_ms()),
                tally.failed().to_string(),
            ]);
        }
    }
    println!("\n{table}");
    for system in measured {
        for (message, count) in system.loops.iter().flat_map(|tally| &tally.failures) {
            println!("{}: {count} x {message}", system.name);
        }
    }
}

/// Mean response time of each statement with one client.
pub fn print_statements(measured: &[Measured]) {
    let alone = |system: &Measured| system.loops.iter().find(|t| t.clients == 1).cloned();
    let measured: Vec<_> = measured.iter().filter_map(|m| Some((m, alone(m)?))).collect();
    let Some((first, _)) = measured.first() else { return };
    let mut heading = vec!["one client, mean ms"];
    heading.extend(measured.iter().map(|(system, _)| system.name.as_str()));
    let mut table = Table::new(&heading);
    for (number, name) in first.statements.iter().enumerate() {
        let cells = measured.iter().map(|(_, tally)| {
            let latency = &tally.latencies[number];
            if latency.count() == 0 { "-".to_owned() } else { format!("{:.2}", latency.mean_ms()) }
        });
        table.row(std::iter::once(name.clone()).chain(cells));
    }
    let totals = |name: &str, total: fn(&QueryTally) -> f64| {
        let cells = measured.iter().map(|(_, tally)| match tally.answered() {
            0 => "-".to_owned(),
            _ => format!("{:.2}", total(tally)),
        });
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    table.row(totals("mean", QueryTally::mean_of_means_ms));
    table.row(totals("sum", QueryTally::sum_of_means_ms));
    println!("\n{table}");
}

/// How each system was loaded, what memory it takes, and which were not measured to the end.
pub fn print_loads(measured: &[Measured]) {
    let heading = ["loading", "rows", "seconds", "peak MB", "resident MB"];
    let mut table = Table::new(&heading);
    for system in measured.iter().filter(|system| system.load.rows > 0) {
        table.row([
            system.name.clone(),
            system.load.rows.to_string(),
            format!("{:.1}", system.load.seconds),
            format!("{:.0}", system.load.peak_mb),
            format!("{:.0}", system.load.resident_mb),
        ]);
    }
    println!("\n{table}");
    for system in measured {
        if let Some(failure) = &system.failure {
            println!("{} was not measured to the end: {failure}", system.name);
        }
    }
}

/// Queries at once by system.
pub fn print_bursts(measured: &[Measured]) {
    if measured.iter().all(|system| system.bursts.is_empty()) {
        return;
    }
    let heading = ["system", "at once", "connections", "ms", "ms per query", "server CPU ms"];
    let mut table = Table::new(&heading);
    for system in measured {
        for burst in &system.bursts {
            table.row([
                system.name.clone(),
                burst.queries.to_string(),
                burst.connections.to_string(),
                format!("{:.1}", burst.milliseconds),
                format!("{:.3}", burst.milliseconds / burst.queries as f64),
                format!("{:.0}", burst.server_cpu_ms),
            ]);
        }
    }
    println!("\n{table}");
}

/// What the axes of a figure show.
#[derive(Clone, Copy, Debug)]
pub struct Axes<'a> {
    /// Below.
    pub x: &'a str,
    /// Left.
    pub y: &'a str,
}

/// Writes a figure with logarithmic axes, unless there is nothing to see.
pub fn write_figure(
    file: &Path,
    title: &str,
    axes: Axes<'_>,
    lines: Vec<Line>,
) -> Result<(), Failure> {
    let points = lines.iter().flat_map(|line| &line.points).filter(|point| point.1.is_finite());
    let mut places: Vec<f64> = points.map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if places.len() < 2 {
        return Ok(());
    }
    let (x, y) = (axes.x.to_owned(), axes.y.to_owned());
    let figure =
        Figure { title: title.to_owned(), x, y, logarithmic: true, lines, notes: Vec::new() };
    figure.write(file).map_err(|error| error.to_string())?;
    println!("{}", file.display());
    Ok(())
}
