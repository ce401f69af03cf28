//! Clients that each wait for an answer before they ask again, with no time to think.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::Latency;
use super::session::Session;
use crate::client::{Client, Result};
use crate::peers::{System, own_cpu_seconds};
use crate::query::{Query, QueryMix};

/// What to run.
#[derive(Clone, Copy)]
pub struct QueryLoop<'a> {
    /// What the clients draw from.
    pub mix: &'a dyn QueryMix,
    /// Clients with one query each under way or waiting for a connection.
    pub clients: usize,
    /// Connections, at most one per client. Clients queue for them, first come, first served; that counts as
    /// response time. Systems that slow down under concurrency are measured with few.
    pub connections: usize,
    /// Before measuring.
    pub warm_up: Duration,
    /// Measured.
    pub measure: Duration,
    /// Of the random numbers.
    pub seed: u64,
}

/// What one run gave.
#[derive(Clone, Default)]
pub struct QueryTally {
    /// Response times of each statement.
    pub latencies: Vec<Latency>,
    /// Failed queries by message.
    pub failures: BTreeMap<String, u64>,
    /// Rows fetched.
    pub rows: u64,
    /// Wall-clock seconds measured.
    pub seconds: f64,
    /// Server CPU seconds spent meanwhile.
    pub server_cpu: f64,
    /// Driver CPU seconds spent meanwhile.
    pub driver_cpu: f64,
    /// Clients.
    pub clients: usize,
    /// Connections that they shared.
    pub connections: usize,
}

impl QueryTally {
    /// Answers.
    pub fn answered(&self) -> u64 {
        self.latencies.iter().map(Latency::count).sum()
    }

    /// Answers per second.
    pub fn throughput(&self) -> f64 {
        self.answered() as f64 / self.seconds
    }

    /// Response times of all statements together.
    pub fn overall(&self) -> Latency {
        let mut all = Latency::default();
        self.latencies.iter().for_each(|latency| all.merge(latency));
        all
    }

    /// Mean response time by Little's law: exact for clients that never think, also where a run is too short for
    /// a slow system's queue to have turned over once.
    pub fn mean_ms(&self) -> f64 {
        1000.0 * self.clients as f64 / self.throughput()
    }

    /// The mean over the statements of their mean response times: each counts alike.
    pub fn mean_of_means_ms(&self) -> f64 {
        let measured = self.latencies.iter().filter(|latency| latency.count() > 0);
        self.sum_of_means_ms() / measured.count().max(1) as f64
    }

    /// The sum of the statements' mean response times.
    pub fn sum_of_means_ms(&self) -> f64 {
        let measured = self.latencies.iter().filter(|latency| latency.count() > 0);
        measured.map(Latency::mean_ms).sum()
    }

    /// Milliseconds of server CPU per answer.
    pub fn server_cpu_ms(&self) -> f64 {
        self.server_cpu * 1000.0 / self.answered().max(1) as f64
    }

    /// Failed queries.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    fn merge(&mut self, other: QueryTally) {
        self.latencies.resize_with(other.latencies.len(), Latency::default);
        for (own, others) in self.latencies.iter_mut().zip(&other.latencies) {
            own.merge(others);
        }
        for (message, count) in other.failures {
            *self.failures.entry(message).or_default() += count;
        }
        self.rows += other.rows;
    }
}

/// Warm-up and measurement go on until the clients have been answered once on average, and a client alone has asked
/// every statement: a queue, or a batch, must have turned over. Unless that takes longer than this.
const LONGEST_ROUND: Duration = Duration::from_secs(120);

const WARM_UP: u8 = 0;
const MEASURE: u8 = 1;
const STOP: u8 = 2;

/// One client while it is not being served.
struct Waiting {
    since: Instant,
    turn: usize,
    rng: SmallRng,
}

/// What the workers share.
struct Run<'a> {
    plan: QueryLoop<'a>,
    phase: AtomicU8,
    waiting: Mutex<VecDeque<Waiting>>,
    /// Answers so far, failures among them.
    ended: AtomicUsize,
    /// Connections that were lost.
    lost: AtomicUsize,
    ready: Barrier,
}

/// Runs it against a system.
pub fn run(system: &dyn System, plan: QueryLoop<'_>) -> Result<QueryTally> {
    let connections = plan.connections.min(plan.clients);
    let statements = plan.mix.statements();
    let open = |_| Ok(Session::open(system.connect()?, statements));
    let sessions: Vec<_> = (0..connections).map(open).collect::<Result<_>>()?;
    let run = Run {
        plan,
        phase: AtomicU8::new(WARM_UP),
        waiting: Mutex::new((0..plan.clients as u64).map(|i| new_client(plan.seed, i)).collect()),
        ended: AtomicUsize::new(0),
        lost: AtomicUsize::new(0),
        ready: Barrier::new(connections + 1),
    };
    let mut total = QueryTally { clients: plan.clients, connections, ..QueryTally::default() };
    std::thread::scope(|scope| -> Result<()> {
        let run = &run;
        let start = |session| scope.spawn(move || run.work(session));
        let workers: Vec<_> = sessions.into_iter().map(start).collect();
        run.ready.wait();
        run.measure(system, &mut total);
        for worker in workers {
            total.merge(worker.join().expect("a worker panicked")?);
        }
        Ok(())
    })?;
    Ok(total)
}

fn new_client(seed: u64, number: u64) -> Waiting {
    let rng = SmallRng::seed_from_u64(seed ^ (number << 32));
    Waiting { since: Instant::now(), turn: number as usize, rng }
}

impl Run<'_> {
    fn measure(&self, system: &dyn System, total: &mut QueryTally) {
        self.sleep_for_a_round(self.plan.warm_up);
        let (cpu, own, start) = (system.server().cpu_seconds(), own_cpu_seconds(), Instant::now());
        self.phase.store(MEASURE, Ordering::Relaxed);
        self.sleep_for_a_round(self.plan.measure);
        self.phase.store(STOP, Ordering::Relaxed);
        total.seconds = start.elapsed().as_secs_f64();
        total.server_cpu = system.server().cpu_seconds() - cpu;
        total.driver_cpu = own_cpu_seconds() - own;
    }

    /// At least `least`; no longer once a connection is lost, which ends the run with an error.
    fn sleep_for_a_round(&self, least: Duration) {
        let (start, before) = (Instant::now(), self.ended.load(Ordering::Relaxed));
        let alone = self.plan.clients == 1;
        let round = if alone { self.plan.mix.statements().len() } else { self.plan.clients };
        std::thread::sleep(least);
        while self.ended.load(Ordering::Relaxed) - before < round
            && self.lost.load(Ordering::Relaxed) == 0
            && start.elapsed() < LONGEST_ROUND
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn work(&self, mut session: Session<dyn Client>) -> Result<QueryTally> {
        let statements = self.plan.mix.statements();
        let mut tally = QueryTally::default();
        tally.latencies.resize_with(statements.len(), Latency::default);
        self.ready.wait();
        while self.phase.load(Ordering::Relaxed) != STOP {
            let taken = self.waiting.lock().pop_front();
            let mut client = taken.expect("a client waits: there are as many as connections");
            let query = self.next_query(&mut client);
            let result = session.fetch(&query);
            if let Err(failure) = result.as_ref()
                && failure.state.is_empty()
            {
                // The connection itself is gone.
                self.lost.fetch_add(1, Ordering::Relaxed);
                return result.map(|_| tally);
            }
            self.ended.fetch_add(1, Ordering::Relaxed);
            // What ends while we measure counts, whenever it began.
            if self.phase.load(Ordering::Relaxed) == MEASURE {
                match result {
                    Ok(rows) => {
                        tally.rows += rows as u64;
                        tally.latencies[query.statement].record(client.since.elapsed());
                    }
                    Err(failure) => {
                        let name = &statements[query.statement].name;
                        *tally.failures.entry(format!("{name}: {failure}")).or_default() += 1;
                    }
                }
            }
            client.since = Instant::now();
            self.waiting.lock().push_back(client);
        }
        Ok(tally)
    }

    /// Any statement; a client alone takes them in turns, so that few queries measure all of them.
    fn next_query(&self, client: &mut Waiting) -> Query {
        let mix = self.plan.mix;
        if self.plan.clients > 1 {
            return mix.draw(&mut client.rng);
        }
        client.turn += 1;
        mix.draw_from((client.turn - 1) % mix.statements().len(), &mut client.rng)
    }
}
