//! The lists that run now, by what they compute.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::consumer::Consumer;
use super::host::Host;
use super::load::Load;
use super::pages::{SharedPages, StatementId};
use super::signature::Signature;

/// All lists of a database. At most one per operator of a running query.
#[derive(Debug)]
pub struct Lists {
    load: Arc<Load>,
    running: Mutex<Vec<Running>>,
    attached: AtomicU64,
    statements: AtomicU64,
}

#[derive(Debug)]
struct Running {
    signature: Arc<Signature>,
    list: Weak<SharedPages>,
}

impl Default for Lists {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Lists {
            load: Load::new(cores),
            running: Mutex::default(),
            attached: AtomicU64::new(0),
            statements: AtomicU64::new(0),
        }
    }
}

impl Lists {
    /// How much runs.
    pub fn load(&self) -> &Arc<Load> {
        &self.load
    }

    /// One more query that may read lists.
    pub fn statement(&self) -> StatementId {
        StatementId(self.statements.fetch_add(1, Ordering::Relaxed))
    }

    /// Lists that somebody reads.
    #[cfg(test)]
    pub fn running(&self) -> usize {
        self.running.lock().iter().filter(|other| other.list.strong_count() > 0).count()
    }

    /// How often a sub-plan was found running.
    pub fn attached(&self) -> u64 {
        self.attached.load(Ordering::Relaxed)
    }

    /// Enters a running list of this signature whose window is open, if there is one.
    pub fn enter(
        &self,
        signature: &Arc<Signature>,
        any_order: bool,
        statement: StatementId,
    ) -> Option<Consumer> {
        // Ended lists are dropped behind the lock.
        let mut met = Vec::new();
        let mut running = self.running.lock();
        self.enter_one(&mut running, signature, any_order, statement, &mut met)
    }

    /// Enters a running list of this signature whose window is open, or begins one.
    pub fn join(
        &self,
        signature: &Arc<Signature>,
        any_order: bool,
        statement: StatementId,
        host: impl FnOnce() -> Host,
    ) -> Consumer {
        let mut met = Vec::new();
        let mut running = self.running.lock();
        let found = self.enter_one(&mut running, signature, any_order, statement, &mut met);
        if let Some(consumer) = found {
            return consumer;
        }
        let host = Arc::new(host());
        let (list, entry) = SharedPages::new(host, any_order, self.load.clone(), statement);
        running.push(Running { signature: signature.clone(), list: Arc::downgrade(&list) });
        drop(running);
        Consumer::new(list, statement, entry, false)
    }

    fn enter_one(
        &self,
        running: &mut Vec<Running>,
        signature: &Arc<Signature>,
        any_order: bool,
        statement: StatementId,
        met: &mut Vec<Arc<SharedPages>>,
    ) -> Option<Consumer> {
        running.retain(|other| other.list.strong_count() > 0);
        for other in running.iter().filter(|other| other.signature == *signature) {
            let Some(list) = other.list.upgrade() else { continue };
            if let Some(entry) = list.enter(any_order, statement) {
                self.attached.fetch_add(1, Ordering::Relaxed);
                return Some(Consumer::new(list, statement, entry, true));
            }
            met.push(list);
        }
        None
    }
}
