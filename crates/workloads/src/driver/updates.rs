//! Small updates on a schedule in the background, while something else is measured.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::Latency;
use crate::client::{Client, Parameter, Result};
use crate::peers::System;

/// Connections that share the rate: enough for a commit to take some milliseconds.
const CONNECTIONS: usize = 16;

/// What to update.
pub struct UpdateStream<'a> {
    /// One statement.
    pub statement: &'a str,
    /// Its random parameters.
    pub draw: &'a (dyn Fn(&mut SmallRng) -> Vec<Parameter> + Sync),
    /// Updates per second in all.
    pub per_second: f64,
    /// Of the random numbers.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Default)]
pub struct Updated {
    /// Updates per second that were committed.
    pub per_second: f64,
    /// From the scheduled start to the commit: a late start counts.
    pub latency: Latency,
    /// Updates that failed.
    pub failed: u64,
}

/// Runs `work` while updates are made.
pub fn run_beside<T>(
    system: &dyn System,
    stream: &UpdateStream<'_>,
    work: impl FnOnce() -> T,
) -> Result<(T, Updated)> {
    let clients: Vec<_> = (0..CONNECTIONS).map(|_| system.connect()).collect::<Result<_>>()?;
    let stop = AtomicBool::new(false);
    let failed = AtomicU64::new(0);
    let latency = Mutex::new(Latency::default());
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| -> Result<T> {
        let threads: Vec<_> = clients
            .into_iter()
            .enumerate()
            .map(|(number, client)| {
                let (stop, failed, latency) = (&stop, &failed, &latency);
                scope.spawn(move || -> Result<()> {
                    let own = update(client, stream, number, start, stop, failed)?;
                    latency.lock().merge(&own);
                    Ok(())
                })
            })
            .collect();
        let outcome = work();
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().expect("an updater panicked")?;
        }
        Ok(outcome)
    })?;
    let latency = latency.into_inner();
    let per_second = latency.count() as f64 / start.elapsed().as_secs_f64();
    Ok((outcome, Updated { per_second, latency, failed: failed.into_inner() }))
}

fn update(
    mut client: Box<dyn Client>,
    stream: &UpdateStream<'_>,
    number: usize,
    start: Instant,
    stop: &AtomicBool,
    failed: &AtomicU64,
) -> Result<Latency> {
    let prepared = client.prepare(stream.statement)?;
    let mut rng = SmallRng::seed_from_u64(stream.seed ^ ((number as u64) << 24));
    let interval = CONNECTIONS as f64 / stream.per_second;
    let offset = interval * number as f64 / CONNECTIONS as f64;
    let mut latency = Latency::default();
    for turn in 0u32.. {
        let due = start + Duration::from_secs_f64(offset + interval * f64::from(turn));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match client.execute(prepared, &(stream.draw)(&mut rng)) {
            Ok(_) => latency.record(due.elapsed()),
            Err(failure) if failure.state.is_empty() => return Err(failure),
            Err(_) => {
                failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    Ok(latency)
}
