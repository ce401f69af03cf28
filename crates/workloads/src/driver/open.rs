//! Errands on a schedule, whether or not those before are done: the load that a crowd offers.
//!
//! An errand is due at its time; whichever connection is free next goes on it, late where none is. Times count from when it was due.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Latency;
use crate::client::{Failure, Result};
use crate::peers::{System, own_cpu_seconds};

/// What a connection is asked for, again and again: a query, or the statements of a page.
pub trait Errand: Send {
    /// Goes on the next one; gives the time within which its answer is worth something.
    fn run(&mut self) -> Result<Duration>;
}

/// Opens a connection for errands, by its number.
pub type Open<'a> = dyn Fn(u64) -> Result<Box<dyn Errand + 'a>> + Sync + 'a;

/// How often errands are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// So many in a second.
    PerSecond(f64),
    /// Each connection goes on its next one as soon as it is back from the last: a closed loop.
    AtOnce,
}

/// Errands of one kind.
#[derive(Clone, Copy)]
pub struct Stream<'o, 'a> {
    /// Opens its connections.
    pub open: &'o Open<'a>,
    /// Connections that share them.
    pub connections: usize,
    /// How often they are due.
    pub pace: Pace,
}

/// How long.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Before measuring.
    pub warm_up: Duration,
    /// Measured.
    pub measure: Duration,
}

/// What came of the errands that were due while it was measured.
#[derive(Clone, Default)]
pub struct OpenTally {
    /// Errands that were due.
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

/// Time and CPU seconds of a run.
#[derive(Clone, Copy)]
struct Spent {
    seconds: f64,
    server_cpu: f64,
    driver_cpu: f64,
}

impl OpenTally {
    fn during(self, pace: Pace, spent: Spent) -> OpenTally {
        let Spent { seconds, server_cpu, driver_cpu } = spent;
        let offered = match pace {
            Pace::PerSecond(rate) => (seconds * rate) as u64,
            Pace::AtOnce => 0,
        };
        OpenTally { offered, seconds, server_cpu, driver_cpu, ..self }
    }

    /// Answers in time per second.
    pub fn goodput(&self) -> f64 {
        self.in_time as f64 / self.seconds
    }

    /// Failed otherwise than by being refused or dropped.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    fn answer(&mut self, due: Instant, sent: Instant, limit: Duration) {
        self.in_time += u64::from(due.elapsed() <= limit);
        self.answers.record(due.elapsed());
        self.served.record(sent.elapsed());
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

/// When each errand is due.
struct Schedule {
    start: Instant,
    pace: Pace,
    measure_from: Instant,
    end: Instant,
    next: AtomicU64,
}

impl Schedule {
    /// When the next errand is due; `None` where that is behind the end.
    fn next(&self) -> Option<Instant> {
        let now = Instant::now();
        let due = match self.pace {
            Pace::AtOnce => now,
            Pace::PerSecond(rate) => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                self.start + Duration::from_secs_f64(number as f64 / rate)
            }
        };
        (due < self.end && now < self.end).then_some(due)
    }
}

/// Runs streams beside each other against a system; what came of each. All have the same CPU seconds: those of all together.
pub fn run<'a>(
    system: &dyn System,
    streams: &[Stream<'_, 'a>],
    span: Span,
) -> Result<Vec<OpenTally>> {
    let open = |stream: &Stream<'_, 'a>| -> Result<Vec<Box<dyn Errand + 'a>>> {
        (0..stream.connections as u64).map(|number| (stream.open)(number)).collect()
    };
    let errands: Vec<_> = streams.iter().map(open).collect::<Result<_>>()?;
    let start = Instant::now();
    let measure_from = start + span.warm_up;
    let end = measure_from + span.measure;
    let schedule = |stream: &Stream<'_, 'a>| {
        let (pace, next) = (stream.pace, AtomicU64::new(0));
        Schedule { start, pace, measure_from, end, next }
    };
    let schedules: Vec<Schedule> = streams.iter().map(schedule).collect();
    // One for all connections of a stream: thousands of them would spend more on the pages of their own than on what they ask for.
    let tallies: Vec<Mutex<OpenTally>> = streams.iter().map(|_| Mutex::default()).collect();
    let wait = |until: Instant| {
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    };
    std::thread::scope(|scope| {
        let work = |(errands, (schedule, tally)): (Vec<Box<dyn Errand + 'a>>, (_, _))| {
            let start = |errand| scope.spawn(move || work(errand, schedule, tally));
            errands.into_iter().map(start).collect::<Vec<_>>()
        };
        let together = errands.into_iter().zip(schedules.iter().zip(&tallies));
        let workers: Vec<Vec<_>> = together.map(work).collect();
        wait(measure_from);
        let (cpu, own) = (system.server().cpu_seconds(), own_cpu_seconds());
        wait(end);
        let spent = Spent {
            seconds: span.measure.as_secs_f64(),
            server_cpu: system.server().cpu_seconds() - cpu,
            driver_cpu: own_cpu_seconds() - own,
        };
        for worker in workers.into_iter().flatten() {
            worker.join().expect("a worker panicked")?;
        }
        let tally = |(tally, stream): (&Mutex<OpenTally>, &Stream<'_, 'a>)| {
            let counted = std::mem::take(&mut *tally.lock().expect("no worker panicked"));
            counted.during(stream.pace, spent)
        };
        Ok(tallies.iter().zip(streams).map(tally).collect())
    })
}

fn work(
    mut errand: Box<dyn Errand + '_>,
    schedule: &Schedule,
    tally: &Mutex<OpenTally>,
) -> Result<()> {
    let counted = || tally.lock().expect("no worker panicked");
    while let Some(due) = schedule.next() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let sent = Instant::now();
        let result = errand.run();
        match result {
            Err(failure) if failure.state.is_empty() => return Err(failure),
            _ if due < schedule.measure_from => {}
            Err(failure) => counted().fail(&failure, sent),
            Ok(limit) => counted().answer(due, sent, limit),
        }
    }
    Ok(())
}
