//! One system under a mix: closed loops at several numbers of clients, and bursts.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde_json::{Value, json};

use super::{AnalyticOptions, LoadTimes};
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
}

impl Measured {
    /// For the record.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name, "description": self.description, "load": self.load,
            "differences": self.differences, "connections": self.connections,
            "loops": self.loops.iter().map(|tally| self.tally_json(tally)).collect::<Vec<_>>(),
            "at_once": self.bursts,
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
        }
    }
    Ok(best.1)
}

/// All closed loops and bursts of the options; `connections` of `None` is one per client.
pub fn measure_mix(
    options: &AnalyticOptions,
    system: &dyn System,
    mix: &dyn QueryMix,
    connections: Option<usize>,
) -> Result<Measured, Failure> {
    let names = mix.statements().iter().map(|statement| statement.name.clone());
    let mut measured = Measured {
        name: system.name().to_owned(),
        description: system.describe(),
        connections,
        statements: names.collect(),
        ..Measured::default()
    };
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
        let taken = burst(options, system, mix, connections, count)?;
        println!("  {count} at once: {:.1} ms", taken.milliseconds);
        measured.bursts.push(taken);
    }
    Ok(measured)
}

/// So many random queries at once.
pub fn burst(
    options: &AnalyticOptions,
    system: &dyn System,
    mix: &dyn QueryMix,
    connections: Option<usize>,
    count: usize,
) -> Result<Burst, Failure> {
    let mut rng = SmallRng::seed_from_u64(options.seed ^ 7);
    let queries: Vec<Query> = (0..count).map(|_| mix.draw(&mut rng)).collect();
    burst_of(system, mix, connections, &queries)
}

/// Given queries at once; the median of three runs, of one where a run takes long.
pub fn burst_of(
    system: &dyn System,
    mix: &dyn QueryMix,
    connections: Option<usize>,
    queries: &[Query],
) -> Result<Burst, Failure> {
    // Peers without sharing take seconds for a large burst.
    let times = if connections.is_some() && queries.len() > 64 { 1 } else { 3 };
    let connections = connections.unwrap_or(queries.len());
    Ok(burst::run(system, mix.statements(), queries, connections, times)?)
}
