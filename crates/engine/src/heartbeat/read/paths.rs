//! Which path a query takes that finds its lane idle: the global plan, or query at a time.
//!
//! For both paths there is what the cost model says of one activation, and a correction per template: measured over
//! predicted time, smoothed. In comes a template ([`Reads::lone_run`]), out comes permission to run it query at a time, or
//! none. The caller (`sql`) runs it, and says when it computes and when it waits for its client.
//!
//! The global plan is where a query goes unless its lane is idle (nobody waits, nobody leads, nobody runs alone: who comes
//! while another one runs alone could share with a third), its time in the global plan is known from measurement, and the
//! other path is predicted to take clearly less. Nothing is tried at random. What was measured while other work went on is
//! forgotten by the same order: after [`RECHECK`] queries in a row on the other path one takes the global plan again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Lane, Reads};
use crate::env::Clock;
use crate::heartbeat::{Sharing, Template};
use crate::plan::Weight;

/// The other path must be predicted to take less than this share of the global plan's time.
const CLEARLY: f64 = 0.9;
/// Bounds of a correction.
const BOUNDS: (f64, f64) = (1.0 / 1024.0, 1024.0);
/// How much a measurement counts against those before. The first counts by itself: the cost model is wrong by ten for some
/// templates, and a share of that would outweigh every measurement.
const WEIGHT: f64 = 0.25;
/// So many queries of a template in a row run alone before one takes the global plan, to measure it again.
const RECHECK: u64 = 64;

/// What was learned of one path of one template.
#[derive(Debug)]
pub struct Learned {
    /// Measured over predicted time, in thousandths.
    correction: AtomicU64,
    /// Nanoseconds, a moving average; 0 before the first measurement.
    took: AtomicU64,
}

impl Default for Learned {
    fn default() -> Learned {
        Learned { correction: AtomicU64::new(1000), took: AtomicU64::new(0) }
    }
}

impl Learned {
    fn note(&self, predicted: Duration, took: Duration) {
        let nanoseconds = took.as_nanos().max(1) as f64;
        let measured = nanoseconds / predicted.as_nanos().max(1) as f64;
        let old = self.took.load(Ordering::Relaxed) as f64;
        let weight = if old == 0.0 { 1.0 } else { WEIGHT };
        let smooth = |old: f64, new: f64| old * (1.0 - weight) + new * weight;
        let correction = smooth(self.correction(), measured).clamp(BOUNDS.0, BOUNDS.1);
        self.correction.store((correction * 1000.0) as u64, Ordering::Relaxed);
        self.took.store(smooth(old, nanoseconds) as u64, Ordering::Relaxed);
    }

    /// It cannot run this way.
    fn refuse(&self) {
        self.correction.store((BOUNDS.1 * 1000.0) as u64, Ordering::Relaxed);
    }

    fn correction(&self) -> f64 {
        self.correction.load(Ordering::Relaxed) as f64 / 1000.0
    }

    fn cost(&self, nanoseconds: f64) -> PathCost {
        let predicted = Duration::from_nanos(nanoseconds as u64);
        let measured = Some(self.took.load(Ordering::Relaxed)).filter(|took| *took > 0);
        PathCost {
            predicted,
            corrected: predicted.mul_f64(self.correction()),
            measured: measured.map(Duration::from_nanos),
        }
    }
}

/// What was learned of both paths of a template.
#[derive(Debug, Default)]
pub struct Paths {
    global: Learned,
    alone: Learned,
    /// Queries that ran alone since the last one that was measured in the global plan.
    in_a_row: AtomicU64,
}

/// What one activation takes on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathCost {
    /// What the cost model says.
    pub predicted: Duration,
    /// The same with what was learned.
    pub corrected: Duration,
    /// What it took, a moving average.
    pub measured: Option<Duration>,
}

/// What one activation takes by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathCosts {
    /// In the global plan.
    pub global: PathCost,
    /// Query at a time.
    pub alone: PathCost,
}

impl PathCosts {
    /// Whether query at a time is clearly the cheaper path.
    pub fn is_alone_cheaper(&self) -> bool {
        let least = self.global.corrected.mul_f64(CLEARLY);
        self.global.measured.is_some() && self.alone.corrected < least
    }
}

impl Template {
    /// What one activation takes by itself on both paths.
    pub fn path_costs(&self) -> PathCosts {
        let compiled = self.program().compiled.clone();
        PathCosts {
            global: self.paths.global.cost(compiled.one()),
            alone: self.paths.alone.cost(compiled.query_at_a_time),
        }
    }

    /// Notes what an activation by itself took in the global plan.
    pub(super) fn note_global(&self, took: Duration) {
        self.paths.in_a_row.store(0, Ordering::Relaxed);
        self.paths.global.note(self.path_costs().global.predicted, took);
    }
}

/// A query that runs query at a time though the global plan has it. Whoever holds it says when it computes
/// ([`LoneRun::resume`], as it does from the beginning) and when it waits for its client ([`LoneRun::pause`]).
#[derive(Debug)]
pub struct LoneRun {
    template: Arc<Template>,
    lane: Arc<Lane>,
    clock: Arc<dyn Clock>,
    costs: PathCosts,
    /// Time that it computed, up to `since`.
    took: Duration,
    /// Since when it computes, by that clock.
    since: Option<Duration>,
    is_complete: bool,
}

impl LoneRun {
    /// It computes.
    pub fn resume(&mut self) {
        if self.since.is_none() {
            self.lane.enter_alone();
            self.since = Some(self.clock.now());
        }
    }

    /// It waits for its client: queries that come meanwhile find the lane as idle as it is.
    pub fn pause(&mut self) {
        if let Some(since) = self.since.take() {
            self.lane.leave_alone();
            self.took += self.clock.now().saturating_sub(since);
        }
    }

    /// It has answered; the time that it took.
    pub fn complete(&mut self) -> Duration {
        self.pause();
        self.is_complete = true;
        self.took
    }

    /// There was not enough memory: the template is not run this way again.
    pub fn refuse(&mut self) {
        self.pause();
        self.template.paths.alone.refuse();
    }
}

impl Drop for LoneRun {
    fn drop(&mut self) {
        self.pause();
        // What was given up says something, too, once it has taken longer than expected.
        if self.is_complete || self.took > self.costs.alone.corrected {
            let paths = &self.template.paths;
            paths.in_a_row.fetch_add(1, Ordering::Relaxed);
            paths.alone.note(self.costs.alone.predicted, self.took);
        }
    }
}

impl Reads {
    /// Whether paths are chosen for this template at all.
    pub fn chooses_path(&self, template: &Template) -> bool {
        self.sharing == Sharing::Automatic && template.weight() == Weight::Heavy
    }

    /// Permission to run an activation query at a time; `None`: it goes through the global plan.
    pub fn lone_run(&self, template: &Arc<Template>) -> Option<LoneRun> {
        if !self.chooses_path(template) {
            return None;
        }
        let costs = template.path_costs();
        let is_due = template.paths.in_a_row.load(Ordering::Relaxed) >= RECHECK;
        let lane = template.lane_handle();
        let may = costs.is_alone_cheaper() && !is_due && lane.enter_alone_if_idle();
        let clock = &self.environment.clock;
        may.then(|| LoneRun {
            template: template.clone(),
            lane,
            clock: clock.clone(),
            costs,
            took: Duration::ZERO,
            since: Some(clock.now()),
            is_complete: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn costs(paths: &Paths, global: Duration, alone: Duration) -> PathCosts {
        PathCosts {
            global: paths.global.cost(global.as_nanos() as f64),
            alone: paths.alone.cost(alone.as_nanos() as f64),
        }
    }

    #[test]
    fn nothing_is_chosen_before_the_global_plan_was_measured() {
        let paths = Paths::default();
        assert!(!costs(&paths, 10 * MILLISECOND, MILLISECOND).is_alone_cheaper());
        paths.global.note(10 * MILLISECOND, 10 * MILLISECOND);
        assert!(costs(&paths, 10 * MILLISECOND, MILLISECOND).is_alone_cheaper());
        // A tenth is not clearly less.
        assert!(!costs(&paths, 10 * MILLISECOND, 9 * MILLISECOND).is_alone_cheaper());
    }

    #[test]
    fn what_proves_slower_is_left() {
        let paths = Paths::default();
        let (global, alone) = (10 * MILLISECOND, 5 * MILLISECOND);
        paths.global.note(global, global);
        assert!(costs(&paths, global, alone).is_alone_cheaper());
        paths.alone.note(alone, 20 * MILLISECOND);
        assert!(!costs(&paths, global, alone).is_alone_cheaper());
    }

    #[test]
    fn a_faster_global_plan_is_learned_too() {
        let paths = Paths::default();
        let (global, alone) = (100 * MILLISECOND, 50 * MILLISECOND);
        paths.global.note(global, 5 * MILLISECOND);
        assert!(!costs(&paths, global, alone).is_alone_cheaper());
    }

    #[test]
    fn a_wrong_model_is_forgotten_with_the_first_measurement() {
        let paths = Paths::default();
        let (global, alone) = (280 * MILLISECOND, 55 * MILLISECOND);
        paths.global.note(global, 24 * MILLISECOND);
        assert!(!costs(&paths, global, alone).is_alone_cheaper());
    }

    #[test]
    fn corrections_are_smoothed_and_bounded() {
        let learned = Learned::default();
        learned.note(MILLISECOND, MILLISECOND);
        learned.note(MILLISECOND, 5 * MILLISECOND);
        assert!((learned.correction() - 2.0).abs() < 0.01, "{}", learned.correction());
        (0..50).for_each(|_| learned.note(MILLISECOND, 10_000 * MILLISECOND));
        assert!((learned.correction() - BOUNDS.1).abs() < 0.01);
        (0..50).for_each(|_| learned.note(MILLISECOND, Duration::from_nanos(1)));
        assert!(learned.correction() >= BOUNDS.0 - 0.001);
    }
}
