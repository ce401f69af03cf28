//! What a heartbeat did: for EXPLAIN ANALYZE and the tables about the engine.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::operators::Packed;
use crate::plan::cost::Choice;
use crate::types::{LaneId, NodeId};

/// Heartbeats kept.
const KEPT: usize = 1024;

/// One heartbeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Its number, counted over all lanes.
    pub number: u64,
    /// The lane.
    pub lane: LaneId,
    /// Activations taken.
    pub activations: usize,
    /// Distinct ones that ran.
    pub requests: usize,
    /// The version that was read.
    pub version: crate::types::Version,
    /// When it began, since the engine started.
    pub began: Duration,
    /// From the first row read to the last answer handed over.
    pub took: Duration,
    /// What the cost model had said.
    pub predicted: Duration,
    /// Distinct query sets.
    pub sets: usize,
    /// Where it got on a pass that was under way; `None` for a batch that began its own.
    pub boarding: Option<Boarding>,
    /// How the query that the figures are for was aggregated with others; `None` where it was in no pack.
    pub packed: Option<Packed>,
    /// Each operator; empty where the whole batch was index probes.
    pub operators: Arc<[OperatorFigures]>,
}

/// How a generation got on a pass over a fact table that was under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boarding {
    /// Share of the table's chunks that lay behind the pass: its own way begins and ends there.
    pub at: f64,
    /// Generations that were aboard.
    pub others: usize,
}

/// One operator in one heartbeat.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorFigures {
    /// The node of the global plan.
    pub node: NodeId,
    /// What it is.
    pub signature: Arc<str>,
    /// Activations that used it.
    pub activations: usize,
    /// Rows put out, each counted once however many want it.
    pub rows: usize,
    /// Time spent, over all workers.
    pub took: Duration,
    /// Shared or alone.
    pub choice: Choice,
    /// Prediction of the choice made.
    pub predicted: Duration,
    /// Prediction of running once for each activation.
    pub alone: Duration,
    /// How a table was read.
    pub access: Option<Arc<str>>,
}

/// The last heartbeats.
#[derive(Debug, Default)]
pub struct History {
    heartbeats: Mutex<VecDeque<Figures>>,
}

impl History {
    /// Adds one; the oldest goes when there are too many.
    pub fn add(&self, figures: Figures) {
        let mut heartbeats = self.heartbeats.lock();
        if heartbeats.len() == KEPT {
            heartbeats.pop_front();
        }
        heartbeats.push_back(figures);
    }

    /// Those kept, oldest first.
    pub fn all(&self) -> Vec<Figures> {
        self.heartbeats.lock().iter().cloned().collect()
    }
}
