//! The memory of queries that run alone: pages that are kept for readings to come are the first to go.
//!
//! What keeping spares is work; a query must not fail for it, nor another one beside it. So who finds no room gets that
//! of kept pages first, and only then 53200.

use std::fmt;
use std::sync::{Arc, Weak};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{
    GreedyMemoryPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use engine::env::memory::process;
use parking_lot::Mutex;

use super::pages::{PAGES, SharedPages};

/// Bytes after which the process is asked for room.
const ASKED: usize = 1 << 20;

/// So many bytes, first come first served.
#[derive(Debug)]
pub struct Memory {
    pool: GreedyMemoryPool,
    /// Lists that keep pages for readings to come.
    keeping: Mutex<Vec<Weak<SharedPages>>>,
}

impl Memory {
    /// All of it is free.
    pub fn new(bytes: usize) -> Memory {
        Memory { pool: GreedyMemoryPool::new(bytes), keeping: Mutex::default() }
    }

    /// That of a running query.
    pub fn of(context: &TaskContext) -> Option<&Memory> {
        context.memory_pool().downcast_ref()
    }

    /// This list keeps pages from now on.
    pub fn keep(&self, list: &Arc<SharedPages>) {
        let mut keeping = self.keeping.lock();
        keeping.retain(|other| other.strong_count() > 0);
        if !keeping.iter().any(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(list))) {
            keeping.push(Arc::downgrade(list));
        }
    }

    /// Where the process has room (asked once in a megabyte), and the queries that run alone among each other. What grows mostly
    /// does so by doubling: the old is there beside the new.
    fn try_grow_now(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let reserved = self.pool.reserved();
        if reserved / ASKED != reserved.saturating_add(additional) / ASKED {
            let asked = process().ask(additional.saturating_mul(2).max(ASKED));
            asked.map_err(|fault| DataFusionError::External(Box::new(fault)))?;
        }
        self.pool.try_grow(reservation, additional)
    }

    fn reclaim(&self) {
        let keeping = std::mem::take(&mut *self.keeping.lock());
        keeping.iter().filter_map(Weak::upgrade).for_each(|list| list.give_way());
    }
}

impl MemoryPool for Memory {
    fn name(&self) -> &'static str {
        "alone"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
    }

    /// A list that asks for itself is locked, and lets go by itself.
    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let grown = self.try_grow_now(reservation, additional);
        if grown.is_ok() || reservation.consumer().name() == PAGES {
            return grown;
        }
        self.reclaim();
        self.try_grow_now(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.pool.memory_limit()
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pool)
    }
}
