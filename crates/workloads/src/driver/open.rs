//! Queries on a schedule, whether or not those before are answered: the load that a crowd offers.
//!
//! A query is due at its time; whichever connection is free next sends it, late where none is. Times count from when it was due.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::Latency;
use super::session::Session;
use crate::client::{Client, Failure, Result};
use crate::peers::{System, own_cpu_seconds};
use crate::query::QueryMix;

/// What to run.
#[derive(Clone, Copy)]
pub struct OpenLoop<'a> {
    /// What is asked.
    pub mix: &'a dyn QueryMix,
    /// Queries per second.
    pub per_second: f64,
    /// Connections that share them.
    pub connections: usize,
    /// What each connection sets first.
    pub setting: Option<&'a str>,
    /// An answer that takes longer is worth nothing.
    pub limit: Duration,
    /// Before measuring.
    pub warm_up: Duration,
    /// Measured.
    pub measure: Duration,
    /// Of the random numbers.
    pub seed: u64,
}

/// What came of the queries that were due while it was measured.
#[derive(Clone, Default)]
pub struct OpenTally {
    /// Queries that were due.
    pub offered: u64,
    /// Answered within the limit.
    pub in_time: u64,
    /// Refused at once (53400).
    pub refused: u64,
    /// Ended by the server since they were late (57014).
    pub dropped: u64,
    /// Failed otherwise, by message.
    pub failures: BTreeMap<String, u64>,
    /// Of answers, since they were due.
    pub answers: Latency,
    /// Of answers, since they were sent.
    pub served: Latency,
    /// Of refusals, since they were sent.
    pub refusals: Latency,
    /// Wall-clock seconds measured.
    pub seconds: f64,
    /// Server CPU seconds spent meanwhile.
    pub server_cpu: f64,
    /// Driver CPU seconds spent meanwhile.
    pub driver_cpu: f64,
}

impl OpenTally {
    /// Answers in time per second.
    pub fn goodput(&self) -> f64 {
        self.in_time as f64 / self.seconds
    }

    /// Failed otherwise than by being refused or dropped.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    fn merge(&mut self, other: OpenTally) {
        self.in_time += other.in_time;
        self.refused += other.refused;
        self.dropped += other.dropped;
        for (message, count) in other.failures {
            *self.failures.entry(message).or_default() += count;
        }
        self.answers.merge(&other.answers);
        self.served.merge(&other.served);
        self.refusals.merge(&other.refusals);
    }

    fn fail(&mut self, failure: &Failure, sent: Instant) {
        match failure.state.as_str() {
            "53400" => {
                self.refused += 1;
                self.refusals.record(sent.elapsed());
            }
            "57014" => self.dropped += 1,
            _ => *self.failures.entry(failure.to_string()).or_default() += 1,
        }
    }
}

/// When each query is due.
struct Schedule {
    start: Instant,
    interval: Duration,
    measure_from: Instant,
    end: Instant,
    next: AtomicU64,
}

impl Schedule {
    /// When the next query is due; `None` where that is behind the end.
    fn next(&self) -> Option<Instant> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let due = self.start + self.interval.mul_f64(number as f64);
        (due < self.end && Instant::now() < self.end).then_some(due)
    }
}

/// Runs it against a system.
pub fn run(system: &dyn System, plan: OpenLoop<'_>) -> Result<OpenTally> {
    let open = |_| {
        let mut client = system.connect()?;
        plan.setting.map_or(Ok(()), |setting| client.run(setting))?;
        Ok(Session::open(client, plan.mix.statements()))
    };
    let sessions: Vec<Session<dyn Client>> =
        (0..plan.connections).map(open).collect::<Result<_>>()?;
    let start = Instant::now();
    let schedule = Schedule {
        start,
        interval: Duration::from_secs_f64(1.0 / plan.per_second),
        measure_from: start + plan.warm_up,
        end: start + plan.warm_up + plan.measure,
        next: AtomicU64::new(0),
    };
    let seconds = plan.measure.as_secs_f64();
    let offered = (seconds * plan.per_second) as u64;
    let mut total = OpenTally { offered, seconds, ..OpenTally::default() };
    std::thread::scope(|scope| -> Result<()> {
        let schedule = &schedule;
        let numbered = sessions.into_iter().zip(0..);
        let start = |(session, number)| scope.spawn(move || work(session, plan, schedule, number));
        let workers: Vec<_> = numbered.map(start).collect();
        let wait = |until: Instant| {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        };
        wait(schedule.measure_from);
        let (cpu, own) = (system.server().cpu_seconds(), own_cpu_seconds());
        wait(schedule.end);
        total.server_cpu = system.server().cpu_seconds() - cpu;
        total.driver_cpu = own_cpu_seconds() - own;
        for worker in workers {
            total.merge(worker.join().expect("a worker panicked")?);
        }
        Ok(())
    })?;
    Ok(total)
}

fn work(
    mut session: Session<dyn Client>,
    plan: OpenLoop<'_>,
    schedule: &Schedule,
    number: u64,
) -> Result<OpenTally> {
    let mut rng = SmallRng::seed_from_u64(plan.seed ^ (number << 32));
    let mut tally = OpenTally::default();
    while let Some(due) = schedule.next() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let query = plan.mix.draw(&mut rng);
        let sent = Instant::now();
        let result = session.fetch(&query);
        match result {
            Err(failure) if failure.state.is_empty() => return Err(failure),
            _ if due < schedule.measure_from => {}
            Err(failure) => tally.fail(&failure, sent),
            Ok(_) => {
                tally.in_time += u64::from(due.elapsed() <= plan.limit);
                tally.answers.record(due.elapsed());
                tally.served.record(sent.elapsed());
            }
        }
    }
    Ok(tally)
}
