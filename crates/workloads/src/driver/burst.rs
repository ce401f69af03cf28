//! Many queries at once: how long until all have answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::session::Session;
use crate::client::{Client, PostgresClient, Result};
use crate::peers::System;
use crate::query::{Query, Statement};

/// A round that takes longer is measured once: nothing that warms up matters there.
const LONG: Duration = Duration::from_secs(2);

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

/// Runs the burst `times` times over `connections` connections, or less often where that takes long, after once to
/// warm up; returns the median by time. Server CPU comes from counters of 10 ms: it is averaged over all runs.
pub fn run(
    system: &dyn System,
    statements: &[Statement],
    queries: &[Query],
    connections: usize,
    times: usize,
) -> Result<Burst> {
    let connections = connections.min(queries.len());
    let mut pool = Pool::open(system, statements, connections)?;
    let mut cpu = system.server().cpu_seconds();
    let mut runs = vec![pool.round(queries)?];
    if runs[0].0 < LONG {
        runs.clear();
        cpu = system.server().cpu_seconds();
        let start = Instant::now();
        while runs.len() < times && start.elapsed() < 2 * LONG {
            runs.push(pool.round(queries)?);
        }
    }
    let server_cpu_ms = (system.server().cpu_seconds() - cpu) * 1000.0 / runs.len() as f64;
    runs.sort();
    let (took, rows) = runs[runs.len() / 2];
    let milliseconds = took.as_secs_f64() * 1000.0;
    Ok(Burst { queries: queries.len(), connections, milliseconds, server_cpu_ms, rows })
}

/// Connections of one kind. PostgreSQL's protocol lets one thread send on all before it reads from any; other
/// clients need a thread per connection.
pub enum Pool {
    /// All driven by the calling thread.
    Pipelined(Vec<Session<PostgresClient>>),
    /// Each with a thread of its own.
    Threaded(Vec<Session<dyn Client>>),
}

impl Pool {
    /// So many connections with the statements prepared.
    pub fn open(system: &dyn System, statements: &[Statement], connections: usize) -> Result<Pool> {
        let mut pipelined = Vec::new();
        let mut threaded = Vec::new();
        for _ in 0..connections {
            match system.connect_postgres() {
                Some(client) => pipelined.push(Session::open(Box::new(client?), statements)),
                None => threaded.push(Session::open(system.connect()?, statements)),
            }
        }
        let all_threaded = pipelined.is_empty();
        Ok(if all_threaded { Pool::Threaded(threaded) } else { Pool::Pipelined(pipelined) })
    }

    /// All queries at once; the time until the last answer, and the number of rows.
    pub fn round(&mut self, queries: &[Query]) -> Result<(Duration, usize)> {
        let start = Instant::now();
        let rows = match self {
            Pool::Pipelined(sessions) => pipelined_round(sessions, queries)?,
            Pool::Threaded(sessions) => threaded_round(sessions, queries)?,
        };
        Ok((start.elapsed(), rows))
    }
}

/// Equal shares, each in one write.
fn pipelined_round(sessions: &mut [Session<PostgresClient>], queries: &[Query]) -> Result<usize> {
    let share = queries.len().div_ceil(sessions.len());
    for (session, chunk) in sessions.iter_mut().zip(queries.chunks(share)) {
        session.send(chunk)?;
    }
    let mut rows = 0;
    for (session, chunk) in sessions.iter_mut().zip(queries.chunks(share)) {
        rows += session.client.receive_many(chunk.len())?;
    }
    Ok(rows)
}

/// Whoever is free takes the next; nobody does any more when a query has failed.
fn threaded_round(sessions: &mut [Session<dyn Client>], queries: &[Query]) -> Result<usize> {
    let next = AtomicUsize::new(0);
    let work = |session: &mut Session<dyn Client>| {
        let mut rows = 0;
        while let Some(query) = queries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let fetched = session.fetch(query);
            if fetched.is_err() {
                next.store(queries.len(), Ordering::Relaxed);
            }
            rows += fetched?;
        }
        Ok(rows)
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            sessions.iter_mut().map(|session| scope.spawn(move || work(session))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker panicked")).sum()
    })
}
