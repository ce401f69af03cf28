//! Browsers that think: an interaction is due when its browser has thought, whether or not a connection is free.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rand::RngExt;

use super::Tally;
use crate::bookstore::interaction::Shop;
use crate::bookstore::{Browser, Mix, Scale};
use crate::client::Result;
use crate::peers::{System, own_cpu_seconds};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct OfferedLoad<'a> {
    /// The shares of the interactions.
    pub mix: Mix,
    /// The size of the shop.
    pub scale: Scale,
    /// Emulated browsers.
    pub browsers: usize,
    /// Mean of the thinking time, negative exponential, cut at ten times the mean (the specification: 7 s, 70 s).
    pub think: Duration,
    /// Connections in the pool.
    pub connections: usize,
    /// What each connection sets first.
    pub setting: Option<&'a str>,
    /// Before measuring: at least one thinking time, so that browsers are spread.
    pub warm_up: Duration,
    /// Measured.
    pub measure: Duration,
    /// Of the random numbers.
    pub seed: u64,
}

/// Who is due when. Browsers in service are in no queue.
struct Queue {
    due: Mutex<BinaryHeap<Reverse<(Instant, usize)>>>,
    changed: Condvar,
    end: Instant,
}

impl Queue {
    /// The next browser that is due, waiting for it; `None` when the run ends first.
    fn next(&self) -> Option<(Instant, usize)> {
        let mut due = self.due.lock();
        loop {
            let now = Instant::now();
            if now >= self.end {
                return None;
            }
            match due.peek() {
                Some(&Reverse((at, browser))) if at <= now => {
                    due.pop();
                    return Some((at, browser));
                }
                Some(&Reverse((at, _))) => {
                    self.changed.wait_until(&mut due, at.min(self.end));
                }
                None => {
                    self.changed.wait_until(&mut due, self.end);
                }
            }
        }
    }

    fn put(&self, at: Instant, browser: usize) {
        self.due.lock().push(Reverse((at, browser)));
        self.changed.notify_one();
    }
}

/// Runs it against a system. Response times include the wait for a connection.
pub fn run(system: &dyn System, plan: OfferedLoad<'_>) -> Result<Tally> {
    let open = |_| {
        let mut client = system.connect()?;
        plan.setting.map_or(Ok(()), |setting| client.run(setting))?;
        Shop::open(client)
    };
    let shops: Vec<Shop> = (0..plan.connections).map(open).collect::<Result<_>>()?;
    let start = Instant::now();
    let measure_from = start + plan.warm_up;
    let end = measure_from + plan.measure;
    let browsers: Vec<Mutex<Browser>> = (0..plan.browsers)
        .map(|i| Mutex::new(Browser::new(plan.scale, plan.seed ^ ((i as u64) << 20))))
        .collect();
    let first = |i: usize| start + plan.warm_up.mul_f64(i as f64 / plan.browsers as f64);
    let heap = (0..plan.browsers).map(|i| Reverse((first(i), i))).collect();
    let queue = Queue { due: Mutex::new(heap), changed: Condvar::new(), end };
    let mut total = Tally { connections: plan.connections, ..Tally::default() };
    std::thread::scope(|scope| {
        let (queue, browsers) = (&queue, &browsers);
        let work = |shop| scope.spawn(move || work(shop, plan, queue, browsers, measure_from));
        let workers: Vec<_> = shops.into_iter().map(work).collect();
        std::thread::sleep(measure_from.saturating_duration_since(Instant::now()));
        let (cpu, own) = (system.server().cpu_seconds(), own_cpu_seconds());
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        total.seconds = plan.measure.as_secs_f64();
        total.server_cpu = system.server().cpu_seconds() - cpu;
        total.driver_cpu = own_cpu_seconds() - own;
        let tallies = workers.into_iter().map(|worker| worker.join().expect("a worker panicked"));
        tallies.for_each(|tally| total.merge(tally));
    });
    system.server().check(total.lost > 0)?;
    Ok(total)
}

fn work(
    mut shop: Shop,
    plan: OfferedLoad<'_>,
    queue: &Queue,
    browsers: &[Mutex<Browser>],
    measure_from: Instant,
) -> Tally {
    let mut tally = Tally::default();
    while let Some((due, number)) = queue.next() {
        let mut browser = browsers[number].lock();
        let interaction = plan.mix.draw(&mut browser.rng);
        let result = shop.serve(interaction, &mut browser);
        match result {
            Ok(()) if due >= measure_from => tally.record(interaction, due.elapsed()),
            Ok(()) => {}
            Err(failure) => {
                tally.fail(interaction, &failure.to_string());
                if failure.state.is_empty() {
                    tally.lost = 1;
                    break;
                }
            }
        }
        let uniform: f64 = browser.rng.random_range(f64::MIN_POSITIVE..1.0);
        let factor = (-uniform.ln()).min(10.0);
        queue.put(Instant::now() + plan.think.mul_f64(factor), number);
    }
    tally.effects = shop.effects;
    tally
}
