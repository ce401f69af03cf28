//! The three mixes: each system swept to its best number of connections, then measured in turns with the others.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{BookstoreOptions, Systems, latency_json};
use crate::bench::Failure;
use crate::bookstore::{Mix, Pages, Scale};
use crate::driver::Tally;
use crate::driver::closed::{self, ClosedLoop};
use crate::peers::System;
use crate::report::Table;

/// The number of connections at which a system serves most, by mix and name.
pub type BestConnections = HashMap<(String, String), usize>;

/// How the record calls a mix.
pub fn mix_name(mix: Mix) -> String {
    format!("{mix:?}").to_lowercase()
}

/// Measures all mixes; `best` gets what the sweeps found.
pub fn run(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
    best: &mut BestConnections,
) -> Result<Value, Failure> {
    let mut values = serde_json::Map::new();
    for &mix in &options.mix {
        best.extend(sweep(options, systems, scale, mix)?);
        let tallies = measure(options, systems, scale, mix, best)?;
        print_mix(mix, systems, &tallies);
        let by_system = systems.running.iter().zip(&tallies);
        let map: serde_json::Map<String, Value> = by_system
            .map(|(system, tally)| (system.name().to_owned(), tally_json(tally)))
            .collect();
        values.insert(mix_name(mix), Value::Object(map));
    }
    Ok(Value::Object(values))
}

fn closed_loop(
    options: &BookstoreOptions,
    scale: Scale,
    pages: Pages,
    connections: usize,
    seconds: f64,
    round: u64,
) -> ClosedLoop {
    let measure = Duration::from_secs_f64(seconds);
    let warm_up = Duration::from_secs_f64(seconds.min(1.0));
    ClosedLoop { pages, scale, connections, warm_up, measure, seed: options.seed ^ (round << 48) }
}

/// The number of connections at which each system serves most of a mix, by name.
fn sweep(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
    mix: Mix,
) -> Result<BestConnections, Failure> {
    let best = systems.on_each(|system| {
        let (connections, _) = most(options, system, scale, Pages::Of(mix))?;
        Ok(((mix_name(mix), system.name().to_owned()), connections))
    })?;
    Ok(best.into_iter().collect())
}

/// The number of connections at which a system serves most, and how much that is in a second.
pub fn most(
    options: &BookstoreOptions,
    system: &dyn System,
    scale: Scale,
    pages: Pages,
) -> Result<(usize, f64), Failure> {
    let mut found = (options.connections[0], 0.0);
    for &connections in &options.connections {
        let plan = closed_loop(options, scale, pages, connections, options.seconds.min(2.0), 99);
        let served = closed::run(system, plan)?.throughput();
        if served > found.1 {
            found = (connections, served);
        }
    }
    Ok(found)
}

/// Systems in turns, so that a noisy minute hits all; the median run by throughput of each.
fn measure(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
    mix: Mix,
    best: &BestConnections,
) -> Result<Vec<Tally>, Failure> {
    let mut runs: HashMap<String, Vec<Tally>> = HashMap::new();
    for round in 0..options.rounds.max(1) {
        systems.on_each(|system| {
            let connections = best[&(mix_name(mix), system.name().to_owned())];
            let seconds = options.seconds;
            let plan =
                closed_loop(options, scale, Pages::Of(mix), connections, seconds, round as u64);
            let tally = closed::run(system, plan)?;
            runs.entry(system.name().to_owned()).or_default().push(tally);
            Ok(())
        })?;
    }
    Ok(systems.running.iter().filter_map(|system| runs.remove(system.name())).map(median).collect())
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
    for (system, tally) in systems.running.iter().zip(tallies) {
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
    for (system, tally) in systems.running.iter().zip(tallies) {
        for (message, count) in &tally.failures {
            println!("{}: {count} x {message}", system.name());
        }
    }
}

fn print_interactions(systems: &Systems, tallies: &[Tally]) {
    let mut heading = vec!["p50/p90/p99 ms"];
    heading.extend(systems.running.iter().map(|system| system.name()));
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
