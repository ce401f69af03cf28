//! A light stream beside a heavy one: does the light one notice?

use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use super::Latency;
use crate::client::{Client, Parameter, Result};
use crate::peers::System;

/// One stream of statements on a schedule.
pub struct Stream<'a> {
    /// The statement.
    pub statement: &'a str,
    /// Drawn in turn.
    pub parameters: &'a [Vec<Parameter>],
    /// Statements per second in all; 0 for none.
    pub per_second: f64,
    /// Connections that share the rate.
    pub connections: usize,
}

/// What a stream saw.
#[derive(Clone, Default)]
pub struct Served {
    /// From the scheduled start to the answer: a late start counts (no coordinated omission).
    pub latency: Latency,
    /// Answers per second.
    pub per_second: f64,
}

/// Runs both streams for `seconds`; returns what the light and the heavy one saw.
pub fn run<'a>(
    system: &dyn System,
    light: &Stream<'a>,
    heavy: &Stream<'a>,
    seconds: f64,
) -> Result<(Served, Served)> {
    let light_clients = open(system, light)?;
    let heavy_clients = open(system, heavy)?;
    let start = Instant::now() + Duration::from_millis(100);
    let end = start + Duration::from_secs_f64(seconds);
    std::thread::scope(|scope| {
        let spawn = |clients: Vec<Box<dyn Client>>, stream: &Stream<'a>| -> Vec<_> {
            let interval = stream.connections as f64 / stream.per_second.max(1e-9);
            let numbered = clients.into_iter().enumerate();
            numbered
                .map(|(number, client)| {
                    let (text, parameters) = (stream.statement, stream.parameters);
                    let offset = interval * number as f64 / stream.connections as f64;
                    let first = start + Duration::from_secs_f64(offset);
                    scope
                        .spawn(move || work(client, text, parameters, number, first, interval, end))
                })
                .collect()
        };
        let light_threads = spawn(light_clients, light);
        let heavy_threads = spawn(heavy_clients, heavy);
        let collect = |threads: Vec<ScopedJoinHandle<'_, Result<Latency>>>| -> Result<Served> {
            let mut served = Served::default();
            for thread in threads {
                served.latency.merge(&thread.join().expect("a worker panicked")?);
            }
            served.per_second = served.latency.count() as f64 / seconds;
            Ok(served)
        };
        Ok((collect(light_threads)?, collect(heavy_threads)?))
    })
}

fn open(system: &dyn System, stream: &Stream<'_>) -> Result<Vec<Box<dyn Client>>> {
    let connections = if stream.per_second > 0.0 { stream.connections } else { 0 };
    (0..connections).map(|_| system.connect()).collect()
}

fn work(
    mut client: Box<dyn Client>,
    statement: &str,
    parameters: &[Vec<Parameter>],
    number: usize,
    first: Instant,
    interval: f64,
    end: Instant,
) -> Result<Latency> {
    let prepared = client.prepare(statement)?;
    let mut latency = Latency::default();
    for turn in 0u32.. {
        let due = first + Duration::from_secs_f64(interval * f64::from(turn));
        if due >= end || Instant::now() >= end {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let pick = (number * 7_919 + turn as usize) % parameters.len();
        client.execute(prepared, &parameters[pick])?;
        latency.record(due.elapsed());
    }
    Ok(latency)
}
