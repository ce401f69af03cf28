//! Many activations of one statement at once, each with its own parameters: how long until all have answered.

use std::time::Instant;

use crate::client::{Client, Parameter, PostgresClient, Prepared, Result};
use crate::peers::System;

/// What one burst took.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Burst {
    /// Activations.
    pub queries: usize,
    /// Connections that they were spread over.
    pub connections: usize,
    /// Until the last answer.
    pub milliseconds: f64,
    /// Server CPU meanwhile.
    pub server_cpu_ms: f64,
    /// Rows received.
    pub rows: usize,
}

/// Runs the burst `times` times over `connections` connections and returns the median by time. Server CPU comes
/// from counters of 10 ms: it is averaged over all runs.
pub fn run(
    system: &dyn System,
    statement: &str,
    parameters: &[Vec<Parameter>],
    connections: usize,
    times: usize,
) -> Result<Burst> {
    let connections = connections.min(parameters.len());
    let mut pool = Pool::open(system, statement, connections)?;
    let share = parameters.len().div_ceil(connections);
    pool.round(parameters, share)?;
    let cpu = system.cpu_seconds();
    let mut runs = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        let rows = pool.round(parameters, share)?;
        runs.push((start.elapsed().as_secs_f64() * 1000.0, rows));
    }
    let cpu_ms = (system.cpu_seconds() - cpu) * 1000.0 / times as f64;
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (milliseconds, rows) = runs[times / 2];
    let queries = parameters.len();
    Ok(Burst { queries, connections, milliseconds, server_cpu_ms: cpu_ms, rows })
}

/// Connections of one kind. PostgreSQL's protocol lets one thread send on all before it reads from any; other
/// clients need a thread per connection.
enum Pool {
    Pipelined(Vec<(PostgresClient, Prepared)>),
    Threaded(Vec<(Box<dyn Client>, Prepared)>),
}

impl Pool {
    fn open(system: &dyn System, statement: &str, connections: usize) -> Result<Pool> {
        let mut pipelined = Vec::new();
        let mut threaded: Vec<(Box<dyn Client>, Prepared)> = Vec::new();
        for _ in 0..connections {
            match system.connect_postgres() {
                Some(client) => {
                    let mut client = client?;
                    let prepared = client.prepare(statement)?;
                    pipelined.push((client, prepared));
                }
                None => {
                    let mut client = system.connect()?;
                    let prepared = client.prepare(statement)?;
                    threaded.push((client, prepared));
                }
            }
        }
        let all_threaded = pipelined.is_empty();
        Ok(if all_threaded { Pool::Threaded(threaded) } else { Pool::Pipelined(pipelined) })
    }

    fn round(&mut self, parameters: &[Vec<Parameter>], share: usize) -> Result<usize> {
        match self {
            Pool::Pipelined(clients) => pipelined_round(clients, parameters, share),
            Pool::Threaded(clients) => threaded_round(clients, parameters, share),
        }
    }
}

fn pipelined_round(
    clients: &mut [(PostgresClient, Prepared)],
    parameters: &[Vec<Parameter>],
    share: usize,
) -> Result<usize> {
    for ((client, prepared), chunk) in clients.iter_mut().zip(parameters.chunks(share)) {
        client.send_many(*prepared, chunk)?;
    }
    let mut rows = 0;
    for ((client, _), chunk) in clients.iter_mut().zip(parameters.chunks(share)) {
        rows += client.receive_many(chunk.len())?;
    }
    Ok(rows)
}

fn threaded_round(
    clients: &mut [(Box<dyn Client>, Prepared)],
    parameters: &[Vec<Parameter>],
    share: usize,
) -> Result<usize> {
    std::thread::scope(|scope| {
        let work = clients.iter_mut().zip(parameters.chunks(share));
        let threads: Vec<_> = work
            .map(|((client, prepared), chunk)| {
                scope.spawn(move || client.execute_many(*prepared, chunk))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker panicked")).sum()
    })
}
