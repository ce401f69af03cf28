//! Closed loop: each connection asks for its next page as soon as it has the last.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::Tally;
use crate::bookstore::interaction::Shop;
use crate::bookstore::{Browser, Pages, Scale, check};
use crate::client::{Failure, Result};
use crate::peers::{System, own_cpu_seconds};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoop {
    /// What is asked for.
    pub pages: Pages,
    /// The size of the shop.
    pub scale: Scale,
    /// Connections, each with a thread.
    pub connections: usize,
    /// Before measuring.
    pub warm_up: Duration,
    /// Measured.
    pub measure: Duration,
    /// Of the random numbers.
    pub seed: u64,
}

/// Browsers that share one connection: sessions (carts, pages seen) interleave as behind a web server's pool.
const BROWSERS_PER_CONNECTION: usize = 16;

const WARM: u8 = 0;
const MEASURE: u8 = 1;
const STOP: u8 = 2;

/// Runs it against a system. Rows that are there afterwards must be those whose commits were acknowledged.
pub fn run(system: &dyn System, plan: ClosedLoop) -> Result<Tally> {
    let phase = AtomicU8::new(WARM);
    let ready = Barrier::new(plan.connections + 1);
    let shops: Vec<Shop> =
        (0..plan.connections).map(|_| Shop::open(system.connect()?)).collect::<Result<_>>()?;
    let before = check::counts(&mut *system.connect()?)?;
    let mut total = Tally::default();
    let effects = std::thread::scope(|scope| {
        let workers: Vec<_> = shops
            .into_iter()
            .enumerate()
            .map(|(number, shop)| {
                let (phase, ready) = (&phase, &ready);
                scope.spawn(move || {
                    ready.wait();
                    work(shop, plan, number as u64, phase)
                })
            })
            .collect();
        ready.wait();
        std::thread::sleep(plan.warm_up);
        let (cpu, own, start) = (system.server().cpu_seconds(), own_cpu_seconds(), Instant::now());
        phase.store(MEASURE, Ordering::Relaxed);
        std::thread::sleep(plan.measure);
        phase.store(STOP, Ordering::Relaxed);
        total.seconds = start.elapsed().as_secs_f64();
        total.server_cpu = system.server().cpu_seconds() - cpu;
        total.driver_cpu = own_cpu_seconds() - own;
        let tallies = workers.into_iter().map(|worker| worker.join().expect("a worker panicked"));
        tallies.for_each(|tally| total.merge(tally));
        total.effects
    });
    total.effects = effects;
    total.connections = plan.connections;
    system.server().check(total.lost > 0)?;
    let after = check::counts(&mut *system.connect()?)?;
    match check::unaccounted(before, after, &total.effects, total.failed() + total.lost as u64) {
        None => Ok(total),
        Some(what) => Err(Failure::without_state(what)),
    }
}

fn work(mut shop: Shop, plan: ClosedLoop, number: u64, phase: &AtomicU8) -> Tally {
    let seed = |i: u64| plan.seed ^ (number << 32) ^ (i << 16);
    let mut browsers: Vec<Browser> =
        (0..BROWSERS_PER_CONNECTION as u64).map(|i| Browser::new(plan.scale, seed(i))).collect();
    let mut tally = Tally::default();
    for turn in 0.. {
        let before = phase.load(Ordering::Relaxed);
        if before == STOP {
            break;
        }
        let browser = &mut browsers[turn % BROWSERS_PER_CONNECTION];
        let interaction = plan.pages.draw(&mut browser.rng);
        let start = Instant::now();
        let result = shop.serve(interaction, browser);
        let measured = before == MEASURE;
        match result {
            Ok(()) if measured => tally.record(interaction, start.elapsed()),
            Ok(()) => {}
            Err(failure) if failure.state.is_empty() => {
                tally.fail(interaction, &failure.to_string());
                tally.lost = 1;
                break;
            }
            Err(failure) => tally.fail(interaction, &failure.to_string()),
        }
    }
    tally.effects = shop.effects;
    tally
}
