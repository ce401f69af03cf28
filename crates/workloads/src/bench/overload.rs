//! `shareddb bench overload`: what is answered in time where more is asked than can be answered.
//!
//! The most that clients without time to think are answered is measured first; then as much and multiples of it are offered, an
//! open loop, with and without a promise (`shareddb.response_time`). What is asked for: star queries, or the pages of the bookstore's
//! mixes. An answer counts that comes within the promised time, a page within the specification's, counted at the client from
//! when it was due.

use std::path::Path;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde_json::{Value, json};

use super::Failure;
use super::analytic::{AnalyticOptions, Axes, Contestant, DataFiles, load, write_figure};
use super::load::Population;
use crate::bookstore::interaction::Shop;
use crate::bookstore::{self, Browser, Mix};
use crate::client::{self, Client};
use crate::driver::Session;
use crate::driver::open::{self, Errand, Open, OpenTally, Pace, Span, Stream};
use crate::peers::{Sharing, System};
use crate::query::QueryMix;
use crate::report::{Line, Table};
use crate::star::{AllTemplates, Scale, StarSchema};

/// Clients of the closed loop whose throughput is the measure of all rates.
const CLOSED_CLIENTS: [usize; 2] = [64, 256];

/// Browsers that share a connection.
const BROWSERS_PER_CONNECTION: u64 = 16;

/// The bookstore's size.
const SHOP: bookstore::Scale = bookstore::Scale { items: 10_000, browsers: 100 };

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Asked {
    /// Queries of the star schema's 13 templates
    Star,
    /// Pages, most of them to read
    Browsing,
    /// Pages, some of them to buy
    Shopping,
    /// Pages, half of them to buy
    Ordering,
}

impl Asked {
    fn name(self) -> &'static str {
        match self {
            Asked::Star => "star",
            Asked::Browsing => "browsing",
            Asked::Shopping => "shopping",
            Asked::Ordering => "ordering",
        }
    }

    fn mix(self) -> Option<Mix> {
        match self {
            Asked::Star => None,
            Asked::Browsing => Some(Mix::Browsing),
            Asked::Shopping => Some(Mix::Shopping),
            Asked::Ordering => Some(Mix::Ordering),
        }
    }
}

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
    /// Connections of the open loop.
    #[arg(long, default_value_t = 512)]
    pool: usize,
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
}

/// A query of a mix.
struct Ask<'a> {
    session: Session<dyn Client>,
    mix: &'a dyn QueryMix,
    rng: SmallRng,
    limit: Duration,
}

impl Errand for Ask<'_> {
    fn run(&mut self) -> client::Result<Duration> {
        let query = self.mix.draw(&mut self.rng);
        self.session.fetch(&query).map(|_| self.limit)
    }
}

/// A page of the bookstore.
struct Page {
    shop: Shop,
    mix: Mix,
    browsers: Vec<Browser>,
    turn: usize,
}

impl Errand for Page {
    fn run(&mut self) -> client::Result<Duration> {
        self.turn += 1;
        let next = self.turn % self.browsers.len();
        let browser = &mut self.browsers[next];
        let interaction = self.mix.draw(&mut browser.rng);
        self.shop.serve(interaction, browser)?;
        Ok(Duration::from_secs(interaction.limit_seconds()))
    }
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
        match options.workload.mix() {
            Some(_) => {
                let folder = scratch.join("population");
                Population::write(&folder, SHOP, common.seed)?.load(&*arena.system, SHOP)?;
            }
            None => {
                let dataset = StarSchema::new(Scale { factor: options.scale_factor }, common.seed);
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

    fn errand(&self, number: u64, is_promised: bool) -> client::Result<Box<dyn Errand + '_>> {
        let client = self.connect(is_promised)?;
        let seed = self.options.common.seed ^ (number << 32);
        let Some(mix) = self.options.workload.mix() else {
            return Ok(Box::new(Ask {
                session: Session::open(client, self.star.statements()),
                mix: &self.star,
                rng: SmallRng::seed_from_u64(seed),
                limit: self.options.promise(),
            }));
        };
        let browser = |i: u64| Browser::new(SHOP, seed ^ (i << 16));
        let browsers = (0..BROWSERS_PER_CONNECTION).map(browser).collect();
        Ok(Box::new(Page { shop: Shop::open(client)?, mix, browsers, turn: 0 }))
    }

    fn run(&self, pace: Pace, connections: usize, is_promised: bool) -> Result<OpenTally, Failure> {
        let open: &Open<'_> = &|number| self.errand(number, is_promised);
        let stream = Stream { open, connections, pace };
        let mut tallies = open::run(&*self.system, &[stream], self.options.span())?;
        Ok(tallies.remove(0))
    }

    /// The most that clients without time to think are answered.
    fn closed_rate(&self) -> Result<f64, Failure> {
        let mut best = 0.0f64;
        for clients in CLOSED_CLIENTS {
            let tally = self.run(Pace::AtOnce, clients, false)?;
            best = best.max(tally.answers.count() as f64 / tally.seconds);
        }
        Ok(best)
    }
}

/// Runs the benchmark.
pub fn run(options: &OverloadOptions) -> Result<(), Failure> {
    let common = &options.common;
    std::fs::create_dir_all(&common.output)?;
    let scratch = common.scratch_folder()?;
    let arena = Arena::start(options, &scratch)?;
    let best = arena.closed_rate()?;
    println!("closed loop: {best:.0}/s");
    let mut results = Vec::new();
    for is_promised in [false, true] {
        if options.promised_only && !is_promised {
            continue;
        }
        for &times in &options.times {
            let tally = arena.run(Pace::PerSecond(best * times), options.pool, is_promised)?;
            results.push(Offered { times, is_promised, tally });
        }
    }
    drop(arena);
    common.clean(&scratch);
    report(options, best, &results)
}

fn report(options: &OverloadOptions, best: f64, results: &[Offered]) -> Result<(), Failure> {
    print(best, results);
    let name = options.workload.name();
    if let Some(file) = &options.common.json {
        let record = json!({
            "workload": format!("overload: {name}"), "scale_factor": options.scale_factor,
            "promise_ms": options.promise_ms, "pool": options.pool, "seed": options.common.seed,
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "closed_per_second": best,
            "offered": results.iter().map(|one| one.json(best)).collect::<Vec<_>>(),
        });
        std::fs::write(file, serde_json::to_string_pretty(&record)?)?;
    }
    let line = |is_promised: bool| {
        let own = results.iter().filter(|one| one.is_promised == is_promised);
        let label = if is_promised { "with a promise" } else { "without" };
        let points = own.map(|one| (one.times * best, one.tally.goodput())).collect();
        Line { label: label.to_owned(), points }
    };
    let title = format!("{name}, {} ms promised for each statement", options.promise_ms);
    let axes = Axes { x: "offered/s", y: "answered in time/s" };
    let file = options.common.output.join(format!("overload-{name}.svg"));
    write_figure(&file, &title, axes, vec![line(false), line(true)])
}

fn print(best: f64, results: &[Offered]) {
    let mut table = Table::new(&[
        "promise",
        "offered",
        "offered/s",
        "in time/s",
        "of the best",
        "refused/s",
        "dropped/s",
        "p50 ms",
        "p99 ms",
        "refusal p99 ms",
        "server CPU s",
        "driver CPU s",
        "failed",
    ]);
    for Offered { times, is_promised, tally } in results {
        let per_second = |count: u64| format!("{:.0}", count as f64 / tally.seconds);
        table.row([
            if *is_promised { "yes" } else { "no" }.to_owned(),
            format!("{times} x"),
            per_second(tally.offered),
            format!("{:.0}", tally.goodput()),
            format!("{:.3}", tally.goodput() / best),
            per_second(tally.refused),
            per_second(tally.dropped),
            format!("{:.1}", tally.answers.quantile_ms(0.5)),
            format!("{:.1}", tally.answers.quantile_ms(0.99)),
            format!("{:.1}", tally.refusals.quantile_ms(0.99)),
            format!("{:.1}", tally.server_cpu),
            format!("{:.1}", tally.driver_cpu),
            tally.failed().to_string(),
        ]);
    }
    println!("\n{table}");
    let failures = results.iter().flat_map(|one| &one.tally.failures);
    failures.for_each(|(message, count)| println!("{count} x {message}"));
}

impl Offered {
    fn json(&self, best: f64) -> Value {
        let tally = &self.tally;
        json!({
            "times": self.times, "promised": self.is_promised, "offered": tally.offered,
            "in_time": tally.in_time, "refused": tally.refused, "dropped": tally.dropped,
            "failed": tally.failed(), "seconds": tally.seconds,
            "goodput_over_best": tally.goodput() / best,
            "p50_ms": tally.answers.quantile_ms(0.5), "p99_ms": tally.answers.quantile_ms(0.99),
            "served_p99_ms": tally.served.quantile_ms(0.99),
            "refusal_p99_ms": tally.refusals.quantile_ms(0.99),
            "server_cpu_s": tally.server_cpu, "driver_cpu_s": tally.driver_cpu,
        })
    }
}
