//! `shareddb bench overload`: what is answered in time where more is asked than can be answered.
//!
//! The most that clients without time to think are answered is measured first; then as much and multiples of it are offered, an
//! open loop, with and without a promise (`shareddb.response_time`). What is asked for ([`asked`]): star queries, the pages of the
//! bookstore's mixes, light statements beside heavy ones, which are offered at half of what they reach by themselves. An answer counts that comes within the promised time, a page within the specification's, counted at the client from
//! when it was due.

mod asked;
mod report;

use std::path::Path;
use std::time::Duration;

use self::asked::{Asked, Kind, SHOP};
use super::Failure;
use super::analytic::{AnalyticOptions, Contestant, DataFiles, load};
use super::load::Population;
use crate::client::{self, Client};
use crate::driver::open::{self, Errand, Open, OpenTally, Pace, Span, Stream};
use crate::peers::{Sharing, System};
use crate::star::{AllTemplates, Scale, StarSchema};

/// Clients of the closed loop whose throughput is the measure of all rates.
const CLOSED_CLIENTS: [usize; 2] = [64, 256];

/// What is offered beside the measured stream, of its own closed loop's rate.
const BESIDE: f64 = 0.5;

/// Connections of an open loop, at least and at most, unless it is said how many.
const POOL: (usize, usize) = (512, 2_048);

/// Options of the overload benchmark.
#[derive(Debug, clap::Args)]
pub struct OverloadOptions {
    /// What is asked for.
    #[arg(long, value_enum, default_value = "star")]
    workload: Asked,
    /// The scale factor of the star schema; 1 is 6 million fact rows.
    #[arg(long, default_value_t = 1.0)]
    scale_factor: f64,
    /// Multiples of the closed loop's rate that are offered.
    #[arg(long, value_delimiter = ',', default_value = "0.5,1,2,5,10")]
    times: Vec<f64>,
    /// Milliseconds that are promised for each statement, and within which the answer of a star query counts.
    #[arg(long, default_value_t = 500.0)]
    promise_ms: f64,
    /// Connections of the open loop [default: twice as many as wait where the best rate takes the promised time, from 512 to 2048].
    #[arg(long)]
    pool: Option<usize>,
    /// Only with a promise.
    #[arg(long)]
    promised_only: bool,
    #[command(flatten)]
    common: AnalyticOptions,
}

impl OverloadOptions {
    fn promise(&self) -> Duration {
        Duration::from_secs_f64(self.promise_ms / 1e3)
    }

    /// Whatever is asked for must find a connection: else it waits at the client, and is late before it was sent.
    fn pool(&self, best: f64) -> usize {
        let waiting = best * self.promise().as_secs_f64();
        self.pool.unwrap_or_else(|| ((2.0 * waiting) as usize).clamp(POOL.0, POOL.1))
    }

    fn scale(&self) -> Scale {
        Scale { factor: self.scale_factor }
    }

    fn span(&self) -> Span {
        let measure = Duration::from_secs_f64(self.common.seconds);
        Span { warm_up: measure / 2, measure }
    }
}

/// One rate, with or without a promise.
struct Offered {
    times: f64,
    is_promised: bool,
    tally: OpenTally,
    /// What came of the stream beside it.
    beside: Option<OpenTally>,
}

/// The closed loops' rates, per second.
#[derive(Clone, Copy)]
struct Best {
    measured: f64,
    /// Of the stream beside, alone.
    beside: Option<f64>,
}

/// A system with its data.
struct Arena<'a> {
    options: &'a OverloadOptions,
    system: Box<dyn System>,
    star: AllTemplates,
}

impl<'a> Arena<'a> {
    fn start(options: &'a OverloadOptions, scratch: &Path) -> Result<Arena<'a>, Failure> {
        let common = &options.common;
        let all = AllTemplates::new();
        let star = AllTemplates::only(&common.select(&all)?);
        let system = common.start(Contestant::Own(Sharing::Automatic), scratch, None)?;
        println!("{}", system.describe());
        let arena = Arena { options, system, star };
        match options.workload.is_of_star() {
            false => {
                let folder = scratch.join("population");
                Population::write(&folder, SHOP, common.seed)?.load(&*arena.system, SHOP)?;
            }
            true => {
                let dataset = StarSchema::new(options.scale(), common.seed);
                let mut files = DataFiles::new(scratch.join("star"));
                load(&*arena.system, &dataset, &mut files, common)?;
            }
        }
        Ok(arena)
    }

    fn connect(&self, is_promised: bool) -> client::Result<Box<dyn Client>> {
        let mut client = self.system.connect()?;
        if is_promised {
            let promise = self.options.promise_ms;
            client.run(&format!("SET shareddb.response_time = '{promise}ms'"))?;
        }
        Ok(client)
    }

    fn errand(
        &self,
        kind: Kind,
        number: u64,
        is_promised: bool,
    ) -> client::Result<Box<dyn Errand + '_>> {
        let seed = self.options.common.seed ^ (number << 32);
        kind.open(self.connect(is_promised)?, &self.star, seed, self.options.promise())
    }

    /// Runs streams beside each other; what came of each.
    fn run(
        &self,
        streams: &[(Kind, Pace, usize)],
        is_promised: bool,
    ) -> Result<Vec<OpenTally>, Failure> {
        let open = |&(kind, ..): &(Kind, Pace, usize)| -> Box<Open<'_>> {
            Box::new(move |number| self.errand(kind, number, is_promised))
        };
        let opens: Vec<Box<Open<'_>>> = streams.iter().map(open).collect();
        let mut together: Vec<Stream<'_, '_>> = Vec::new();
        for (open, &(_, pace, connections)) in opens.iter().zip(streams) {
            together.push(Stream { open: &**open, connections, pace });
        }
        Ok(open::run(&*self.system, &together, self.options.span())?)
    }

    /// The most that clients without time to think are answered, beside what is offered beside it.
    fn closed_rate(&self, kind: Kind, beside: Option<(Kind, f64)>) -> Result<f64, Failure> {
        let mut best = 0.0f64;
        for clients in CLOSED_CLIENTS {
            let mut streams = vec![(kind, Pace::AtOnce, clients)];
            streams.extend(beside.map(|beside| self.beside(beside)));
            let tally = self.run(&streams, false)?.remove(0);
            best = best.max(tally.answers.count() as f64 / tally.seconds);
        }
        Ok(best)
    }

    fn best(&self) -> Result<Best, Failure> {
        let asked = self.options.workload;
        let beside =
            asked.beside().map(|kind| Ok::<_, Failure>((kind, self.closed_rate(kind, None)?)));
        let beside = beside.transpose()?;
        let measured = self.closed_rate(asked.measured(self.options.scale()), beside)?;
        Ok(Best { measured, beside: beside.map(|(_, rate)| rate) })
    }

    fn beside(&self, (kind, best): (Kind, f64)) -> (Kind, Pace, usize) {
        (kind, Pace::PerSecond(BESIDE * best), self.options.pool(best))
    }

    fn offer(&self, best: Best, times: f64, is_promised: bool) -> Result<Offered, Failure> {
        let asked = self.options.workload;
        let pace = Pace::PerSecond(best.measured * times);
        let pool = self.options.pool(best.measured);
        let mut streams = vec![(asked.measured(self.options.scale()), pace, pool)];
        streams.extend(asked.beside().zip(best.beside).map(|beside| self.beside(beside)));
        let mut tallies = self.run(&streams, is_promised)?.into_iter();
        let tally = tallies.next().expect("one tally a stream");
        Ok(Offered { times, is_promised, tally, beside: tallies.next() })
    }
}

/// Runs the benchmark.
pub fn run(options: &OverloadOptions) -> Result<(), Failure> {
    let common = &options.common;
    std::fs::create_dir_all(&common.output)?;
    let scratch = common.scratch_folder()?;
    let arena = Arena::start(options, &scratch)?;
    let best = arena.best()?;
    println!("closed loop: {:.0}/s", best.measured);
    if let Some(beside) = best.beside {
        println!(
            "beside it {:.0}/s are offered, {BESIDE} of its closed loop's rate",
            BESIDE * beside
        );
    }
    let mut results = Vec::new();
    for is_promised in [false, true] {
        if options.promised_only && !is_promised {
            continue;
        }
        for &times in &options.times {
            results.push(arena.offer(best, times, is_promised)?);
        }
    }
    drop(arena);
    common.clean(&scratch);
    report::write(options, best, &results)
}
