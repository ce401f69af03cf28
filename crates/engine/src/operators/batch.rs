//! What every operator of a heartbeat sees: the batch's sets, its parameters, its memory, its faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashMap;

use crate::env::memory::process;
use crate::query_set::{SetId, SetTable};
use crate::types::{DataType, Error, Result, Slot, SqlState, Value};

/// One batch, as operators see it. Cheap to make: borrow it anew for every call.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The batch's query sets.
    pub sets: &'a SetTable,
    /// The activations' parameters, by slot.
    pub parameters: &'a [&'a [Value]],
    /// The parameters' types, by slot.
    pub types: &'a [&'a [DataType]],
    /// What intermediate results may take.
    pub budget: &'a Budget,
}

/// The activations of a batch that use one variant of a node: templates that share an operator differ in
/// predicates and residuals, and each template's are one variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Users {
    /// Position in the node's variants.
    pub variant: usize,
    /// The slots; disjoint from those of other users.
    pub set: SetId,
}

/// Bytes after which a batch asks whether the process has room for more.
const ASKED: usize = 1 << 20;

/// Bytes that the intermediate results of one batch may take.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    /// What several batches that run at the same time may take together.
    whole: Option<Arc<Budget>>,
}

impl Drop for Budget {
    fn drop(&mut self) {
        if let Some(whole) = &self.whole {
            whole.release(self.used());
        }
    }
}

impl Budget {
    /// A budget of `limit` bytes, nothing used.
    pub fn new(limit: usize) -> Budget {
        Budget { limit, used: AtomicUsize::new(0), whole: None }
    }

    /// A budget of `limit` bytes that are taken from what several batches may take together, and given back when it is
    /// dropped.
    pub fn within(whole: &Arc<Budget>, limit: usize) -> Budget {
        Budget { limit, used: AtomicUsize::new(0), whole: Some(whole.clone()) }
    }

    /// Bytes reserved now.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes `bytes`; 53200 when that is more than is left, or, asked once in a megabyte, than the process has room for.
    pub fn reserve(&self, bytes: usize) -> Result<()> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let used = before.saturating_add(bytes);
        let granted = match &self.whole {
            _ if used > self.limit => Err(self.exhausted(bytes)),
            Some(whole) => whole.reserve(bytes),
            None if before / ASKED == used / ASKED => Ok(()),
            None => process().ask(bytes.max(ASKED)),
        };
        if granted.is_err() {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
        granted
    }

    fn exhausted(&self, bytes: usize) -> Error {
        let needed = format!("Failed on request of size {bytes}; the limit is {}.", self.limit);
        Error::new(SqlState::OutOfMemory, "out of memory").detail(needed)
    }

    /// Gives `bytes` back that [`Self::reserve`] has given.
    pub fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.release(bytes);
        }
    }
}

/// Errors of single activations. A faulted slot may still appear in later query sets: its rows are of no
/// interest to anybody, and the heartbeat answers it with its first error.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    by_slot: HashMap<Slot, Error>,
}

impl Faults {
    /// Records a slot's error; its first one stays.
    pub fn add(&mut self, slot: Slot, error: Error) {
        self.by_slot.entry(slot).or_insert(error);
    }

    /// Whether a slot has failed.
    pub fn contains(&self, slot: Slot) -> bool {
        self.by_slot.contains_key(&slot)
    }

    /// Whether nobody has failed.
    pub fn is_empty(&self) -> bool {
        self.by_slot.is_empty()
    }

    /// Takes in another worker's faults.
    pub fn merge(&mut self, other: Faults) {
        other.by_slot.into_iter().for_each(|(slot, error)| self.add(slot, error));
    }

    /// The slots that failed and why, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Error)> {
        self.by_slot.iter().map(|(slot, error)| (*slot, error))
    }
}
