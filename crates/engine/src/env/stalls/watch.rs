//! The watcher's part: it looks at the counters, and keeps what it finds.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::task::{Figures, figures};
use super::work::Counter;
use super::{Cause, Stall};
use crate::env::Environment;

/// How often the watcher looks.
const EVERY: Duration = Duration::from_millis(5);
/// The same where nothing has happened for [`CALM_LOOKS`].
const SELDOM: Duration = Duration::from_millis(50);
const CALM_LOOKS: u32 = 200;
/// What takes less is no stall.
const LEAST: Duration = Duration::from_millis(10);
/// The watcher comes late where it sleeps so much longer than it meant to.
const LATE: Duration = Duration::from_millis(5);
/// Stalls that are kept.
const KEPT: usize = 1_024;
/// What giving a page to a thread takes at least: faults that explain half of a stall are its cause.
const FAULT: Duration = Duration::from_nanos(500);

/// Threads that are watched, and their last stalls.
#[derive(Debug, Default)]
pub struct Watch {
    threads: Mutex<Vec<Weak<Counter>>>,
    stalls: Mutex<VecDeque<Stall>>,
}

/// The process'.
pub fn process() -> &'static Watch {
    static PROCESS: LazyLock<Watch> = LazyLock::new(Watch::default);
    &PROCESS
}

impl Watch {
    /// The calling thread is watched from now on, to its end.
    pub(super) fn enter(&self) -> Arc<Counter> {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let name = std::thread::current().name().unwrap_or("unnamed").into();
        let counter = Arc::new(Counter::new(name, thread));
        let mut threads = self.threads.lock();
        threads.retain(|other| other.strong_count() > 0);
        threads.push(Arc::downgrade(&counter));
        counter
    }

    /// The last stalls, the oldest first.
    pub fn stalls(&self) -> Vec<Stall> {
        self.stalls.lock().iter().cloned().collect()
    }

    fn keep(&self, stall: Stall) {
        tracing::debug!(?stall, "a thread did not get on");
        let mut stalls = self.stalls.lock();
        if stalls.len() == KEPT {
            stalls.pop_front();
        }
        stalls.push_back(stall);
    }
}

/// What a thread was seen at.
struct Seen {
    count: u64,
    since: Duration,
    standing: Option<Standing>,
}

/// A thread that was seen not to get on.
struct Standing {
    /// What it had done then.
    before: Figures,
    /// The last reason for which it slept.
    slept: Option<Cause>,
    /// When it was seen so last.
    last: Duration,
}

/// Who looks, from time to time.
pub struct Watcher<'a> {
    watch: &'a Watch,
    figures: &'a dyn Fn(u32) -> Option<Figures>,
    seen: HashMap<u32, Seen>,
    last: Option<Duration>,
    /// How long to sleep before the next look.
    pause: Duration,
    /// When it came late last.
    late: Option<Duration>,
    calm_looks: u32,
}

impl<'a> Watcher<'a> {
    /// Who has not looked yet. `figures` asks the system about a thread.
    pub fn new(watch: &'a Watch, figures: &'a dyn Fn(u32) -> Option<Figures>) -> Watcher<'a> {
        let (seen, pause) = (HashMap::new(), EVERY);
        Watcher { watch, figures, seen, last: None, pause, late: None, calm_looks: 0 }
    }

    /// Watches the process' threads from a thread of its own, for ever.
    pub fn start(environment: &Environment) -> std::io::Result<()> {
        let clock = environment.clock.clone();
        let look = move || {
            let mut watcher = Watcher::new(process(), &figures);
            loop {
                std::thread::sleep(watcher.look(clock.now()));
            }
        };
        environment.threads.spawn("stalls", Box::new(look)).map(drop)
    }

    /// Looks once; gives the time until it should look again.
    pub fn look(&mut self, now: Duration) -> Duration {
        if self.last.is_some_and(|last| now.saturating_sub(last) > self.pause + LATE) {
            self.late = Some(now);
        }
        self.last = Some(now);
        let threads: Vec<_> = self.watch.threads.lock().iter().filter_map(Weak::upgrade).collect();
        self.seen.retain(|thread, _| threads.iter().any(|counter| counter.thread == *thread));
        let mut is_calm = true;
        for counter in threads {
            is_calm &= self.look_at(&counter, now);
        }
        self.calm_looks = if is_calm { self.calm_looks + 1 } else { 0 };
        self.pause = if self.calm_looks > CALM_LOOKS { SELDOM } else { EVERY };
        self.pause
    }

    /// Whether the thread has done nothing since the last look.
    fn look_at(&mut self, counter: &Counter, now: Duration) -> bool {
        let count = counter.count();
        let new = || Seen { count, since: now, standing: None };
        let Some(seen) = self.seen.get_mut(&counter.thread) else {
            self.seen.insert(counter.thread, new());
            return false;
        };
        if seen.count == count {
            let is_at_work = count % 2 == 1;
            if is_at_work && let Some(figures) = (self.figures)(counter.thread) {
                let new = Standing { before: figures, slept: None, last: now };
                let standing = seen.standing.get_or_insert(new);
                standing.slept = figures.sleeps.or(standing.slept);
                standing.last = now;
            }
            return !is_at_work;
        }
        let ended = std::mem::replace(seen, new());
        self.settle(counter, &ended, now);
        false
    }

    /// A piece of work is over at which the thread was seen.
    fn settle(&self, counter: &Counter, seen: &Seen, now: Duration) {
        let Some(Standing { before, slept, last }) = &seen.standing else { return };
        let took = last.saturating_sub(seen.since);
        if took < LEAST {
            return;
        }
        let Some(after) = (self.figures)(counter.thread) else { return };
        let (ran, waited) = (after.ran - before.ran, after.waited - before.waited);
        let faults = after.faults.saturating_sub(before.faults);
        self.watch.keep(Stall {
            thread: counter.name.clone(),
            ended: now,
            took,
            cause: cause(took, ran, waited, faults, *slept),
            ran,
            waited,
            faults,
            watcher_late: self.late.is_some_and(|late| late >= seen.since),
        });
    }
}

fn cause(
    took: Duration,
    ran: Duration,
    waited: Duration,
    faults: u64,
    slept: Option<Cause>,
) -> Cause {
    let asleep = took.saturating_sub(ran + waited);
    if asleep > ran && asleep > waited {
        return slept.unwrap_or(Cause::Sleep);
    }
    if waited > ran {
        return Cause::OtherThreads;
    }
    let given = FAULT * u32::try_from(faults).unwrap_or(u32::MAX);
    if given * 2 > ran { Cause::PageFaults } else { Cause::Work }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn idle() -> Figures {
        Figures { ran: Duration::ZERO, waited: Duration::ZERO, faults: 0, sleeps: None }
    }

    /// A thread at work from 0 to `end` milliseconds, which then has done this; the watcher looks every `every` milliseconds.
    fn seen(end: u64, every: u64, after: Figures) -> Vec<Stall> {
        let watch = Watch::default();
        let counter = watch.enter();
        let now = Cell::new(idle());
        let figures = |_| Some(now.get());
        let mut watcher = Watcher::new(&watch, &figures);
        watcher.look(Duration::ZERO);
        counter.step();
        for milliseconds in (1..=end + every).step_by(every as usize) {
            if milliseconds + every > end {
                now.set(after);
            }
            if milliseconds > end {
                counter.step();
            }
            watcher.look(milliseconds as u32 * MILLISECOND);
        }
        watch.stalls()
    }

    #[test]
    fn what_takes_long_is_kept_with_its_cause() {
        let of =
            |after: Figures| seen(40, 5, after).iter().map(|one| one.cause).collect::<Vec<_>>();
        let long = 30 * MILLISECOND;
        assert_eq!(of(Figures { ran: long, ..idle() }), [Cause::Work]);
        assert_eq!(of(Figures { waited: long, ..idle() }), [Cause::OtherThreads]);
        assert_eq!(of(Figures { ran: long, faults: 50_000, ..idle() }), [Cause::PageFaults]);
        assert_eq!(of(Figures { sleeps: Some(Cause::Sync), ..idle() }), [Cause::Sync]);
        let stall = &seen(40, 5, Figures { ran: long, ..idle() })[0];
        assert!(stall.took >= 30 * MILLISECOND && !stall.watcher_late, "{stall:?}");
    }

    #[test]
    fn what_is_short_is_not_kept() {
        assert_eq!(seen(7, 5, idle()), []);
    }

    #[test]
    fn a_watcher_that_came_late_says_so() {
        let stalls = seen(60, 25, Figures { waited: 50 * MILLISECOND, ..idle() });
        assert!(stalls.iter().all(|stall| stall.watcher_late) && stalls.len() == 1, "{stalls:?}");
    }

    #[test]
    fn threads_that_rest_are_no_stall_and_are_looked_at_seldom() {
        let watch = Watch::default();
        let _counter = watch.enter();
        let figures = |_| Some(idle());
        let mut watcher = Watcher::new(&watch, &figures);
        let mut now = Duration::ZERO;
        let mut pause = watcher.look(now);
        assert_eq!(pause, EVERY);
        for _ in 0..CALM_LOOKS + 2 {
            now += pause;
            pause = watcher.look(now);
        }
        assert_eq!((pause, watch.stalls()), (SELDOM, Vec::new()));
    }

    #[test]
    fn stalls_are_limited_in_number() {
        let watch = Watch::default();
        let stall = seen(40, 5, idle()).remove(0);
        (0..KEPT + 10).for_each(|_| watch.keep(stall.clone()));
        assert_eq!(watch.stalls().len(), KEPT);
    }
}
