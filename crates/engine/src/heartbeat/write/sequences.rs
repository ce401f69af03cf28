//! Reserving values of sequences in the log ahead of use.
//!
//! A sequence hands out values without asking the log. Every turn compares what was handed out with what the log
//! says, and where it has run past, logs a position [`AHEAD`] values further: recovery goes on from there. So a
//! value in a committed row is never handed out again, and most turns log nothing.

use std::sync::Arc;

use crate::log::Encoder;
use crate::storage::{Sequence, Store};
use crate::types::SequenceId;

/// Values that one reservation covers. Those not used are skipped after a crash (not after a clean stop).
const AHEAD: i64 = 1_000;

/// Bytes that one reservation takes at most.
const RESERVATION: usize = 32;

/// What the log says about sequences.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    sequences: Vec<Reserved>,
}

#[derive(Debug)]
struct Reserved {
    sequence: Arc<Sequence>,
    /// The last value that the log says was handed out.
    last: Option<i64>,
}

impl Reserved {
    fn covers(&self, value: i64) -> bool {
        match self.last {
            None => false,
            Some(last) if self.sequence.schema().increment > 0 => value <= last,
            Some(last) => value >= last,
        }
    }

    fn ahead(&self, value: i64) -> i64 {
        let schema = self.sequence.schema();
        let distance = schema.increment.saturating_mul(AHEAD);
        value.saturating_add(distance).clamp(schema.min, schema.max)
    }
}

impl Reservations {
    /// After recovery what sequences say is what the log says; for new and restarted ones it says nothing.
    pub fn refresh(&mut self, store: &Store) {
        let mut before = std::mem::take(&mut self.sequences);
        self.sequences.extend(store.sequences().into_iter().map(|sequence| {
            let known = before.iter_mut().find(|r| Arc::ptr_eq(&r.sequence, &sequence));
            let (last, called) = sequence.state();
            let last = match known {
                Some(known) if called => known.last.take(),
                Some(_) => None,
                None => called.then_some(last),
            };
            Reserved { sequence, last }
        }));
    }

    /// Bytes of a record to be kept free.
    pub fn space(&self) -> usize {
        self.sequences.len() * RESERVATION
    }

    /// Logs positions of sequences that have run past what the log says. `exact`: without going ahead.
    pub fn encode(&mut self, to: &mut Encoder, exact: bool) {
        for reserved in &mut self.sequences {
            let (last, called) = reserved.sequence.state();
            if !called {
                continue;
            }
            let outdated = if exact { reserved.last != Some(last) } else { !reserved.covers(last) };
            if outdated {
                let position = if exact { last } else { reserved.ahead(last) };
                to.reserve(reserved.sequence.schema().id, position, true);
                reserved.last = Some(position);
            }
        }
    }

    /// A sequence was set on purpose: the log says so.
    pub fn set(&mut self, id: SequenceId, last: i64, called: bool) {
        let found = self.sequences.iter_mut().find(|r| r.sequence.schema().id == id);
        if let Some(reserved) = found {
            reserved.last = called.then_some(last);
        }
    }

    /// Where recovery would go on: what a checkpoint must say.
    pub fn positions(&self) -> Vec<(Arc<Sequence>, i64, bool)> {
        let position = |reserved: &Reserved| {
            let (last, called) = reserved.sequence.state();
            match reserved.last {
                Some(ahead) if called => (reserved.sequence.clone(), ahead, true),
                _ => (reserved.sequence.clone(), last, called),
            }
        };
        self.sequences.iter().map(position).collect()
    }
}
