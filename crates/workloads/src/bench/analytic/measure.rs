//! One system under a mix: closed loops at several numbers of clients, and bursts.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde_json::{Value, json};

use super::{AnalyticOptions, LoadTimes, Series};
use crate::bench::Failure;
use crate::driver::burst::{self, Burst};
use crate::driver::queries::{self, QueryLoop, QueryTally};
use crate::peers::System;
use crate::query::{Query, QueryMix};

/// What a system showed.
#[derive(Clone, Default)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Version and settings.
    pub description: String,
    /// Somebody else's.
    pub is_peer: bool,
    /// How it was loaded.
    pub load: LoadTimes,
    /// Answers that differ from the first system's, and failures.
    pub differences: Vec<String>,
    /// Connections at which it serves most; `None` for as many as clients.
    pub connections: Option<usize>,
    /// Names of the statements.
    pub statements: Vec<String>,
    /// One run per number of clients.
    pub loops: Vec<QueryTally>,
    /// One run per number of queries at once.
    pub bursts: Vec<Burst>,
    /// The figures made of bursts.
    pub series: Series,
    /// Why it was not measured to the end.
    pub failure: Option<String>,
}

impl Measured {
    /// How it appears in reports, and what it is asked.
    pub fn new(system: &dyn System, mix: &dyn QueryMix) -> Measured {
        let names = mix.statements().iter().map(|statement| statement.name.clone());
        Measured {
            name: system.name().to_owned(),
            description: system.describe(),
            statements: names.collect(),
            ..Measured::default()
        }
    }

    /// What one query took at the most that the system served; 0 when nothing was measured.
    pub fn loops_ms_per_query(&self) -> f64 {
        let most = self.loops.iter().map(QueryTally::throughput).fold(0.0, f64::max);
        if most > 0.0 { 1000.0 / most } else { 0.0 }
    }

    /// For the record.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name, "description": self.description, "load": self.load,
            "differences": self.differences, "connections": self.connections,
            "loops": self.loops.iter().map(|tally| self.tally_json(tally)).collect::<Vec<_>>(),
            "at_once": self.bursts, "figures": self.series.json(), "failure": self.failure,
        })
    }

    fn tally_json(&self, tally: &QueryTally) -> Value {
        let overall = tally.overall();
        let statements = self.statements.iter().zip(&tally.latencies);
        let statements: serde_json::Map<String, Value> = statements
            .map(|(name, latency)| {
                let (count, mean) = (latency.count(), latency.mean_ms());
                let quantile = |share| latency.quantile_ms(share);
                let value = json!({
                    "count": count, "mean_ms": mean,
                    "p50_ms": quantile(0.5), "p99_ms": quantile(0.99),
                });
                (name.clone(), value)
            })
            .collect();
        json!({
            "clients": tally.clients, "connections": tally.connections,
            "mean_ms": tally.mean_ms(), "mean_of_statements_ms": tally.mean_of_means_ms(),
            "p50_ms": overall.quantile_ms(0.5), "p99_ms": overall.quantile_ms(0.99),
            "queries_per_second": tally.throughput(), "server_cpu_ms": tally.server_cpu_ms(),
            "driver_cpu_seconds": tally.driver_cpu, "failures": tally.failures,
            "statements": statements,
        })
    }
}

/// A setting that serves so much less than the best one so far ends the search.
const DECLINE: f64 = 0.8;

/// The number of connections at which a system serves most, with 16 clients.
pub fn best_connections(
    options: &AnalyticOptions,
    system: &dyn System,
    mix: &dyn QueryMix,
) -> Result<usize, Failure> {
    let mut best = (0.0, 1);
    for &connections in &options.connections {
        let plan = QueryLoop {
            mix,
            clients: 16.max(connections),
            connections,
            warm_up: Duration::from_millis(300),
            measure: Duration::from_secs_f64(options.seconds.min(3.0)),
            seed: options.seed ^ 99,
        };
        let throughput = queries::run(system, plan)?.throughput();
        println!("{} with {connections} connections: {throughput:.1} queries/s", system.name());
        if throughput > best.0 {
            best = (throughput, connections);
        } else if throughput < DECLINE * best.0 {
            break;
        }
    }
    Ok(best.1)
}

/// All closed loops and bursts of the options, as far as the system goes.
pub fn measure_mix(
    options: &AnalyticOptions,
    system: &dyn System,
    mix: &dyn QueryMix,
    measured: &mut Measured,
) -> Result<(), Failure> {
    let connections = measured.connections;
    for &clients in &options.concurrency {
        let plan = QueryLoop {
            mix,
            clients,
            connections: connections.unwrap_or(clients),
            warm_up: Duration::from_secs_f64(options.seconds.min(1.0)),
            measure: Duration::from_secs_f64(options.seconds),
            seed: options.seed,
        };
        let tally = queries::run(system, plan)?;
        let (mean, rate) = (tally.mean_ms(), tally.throughput());
        println!("  {clients} clients: mean {mean:.1} ms, {rate:.1} queries/s");
        measured.loops.push(tally);
    }
    for &count in &options.at_once {
        if options.is_too_long(system.name(), count, measured.loops_ms_per_query()) {
            continue;
        }
        let taken = burst(options, system, mix, connections, count)?;
        println!("  {count} at once: {:.1} ms", taken.milliseconds);
        measured.bursts.push(taken);
    }
    Ok(())
}

/// So many random queries at once.
fn burst(
    options: &AnalyticOptions,
    system: &dyn System,
    mix: &dyn QueryMix,
    connections: Option<usize>,
    count: usize,
) -> crate::client::Result<Burst> {
    let mut rng = SmallRng::seed_from_u64(options.seed ^ 7);
    let queries: Vec<Query> = (0..count).map(|_| mix.draw(&mut rng)).collect();
    burst_of(system, mix, connections, &queries)
}

/// Given queries at once: the median of three runs, or a single one that takes long.
pub fn burst_of(
    system: &dyn System,
    mix: &dyn QueryMix,
    connections: Option<usize>,
    queries: &[Query],
) -> crate::client::Result<Burst> {
    let connections = connections.unwrap_or(queries.len());
    burst::run(system, mix.statements(), queries, connections, 3)
}
