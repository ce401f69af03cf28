//! One generation's part of a ring.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::super::run::{Rows, Shared};
use crate::operators::{Faults, Star, StarBuild, StarGroups};
use crate::scan::TableBatch;
use crate::types::ChunkId;

/// One star of a batch, on its way over the fact table.
pub struct StarPass {
    /// The batch.
    pub shared: Arc<Shared>,
    /// Position among the lane's stars.
    pub number: usize,
    /// The dimensions and groupings.
    pub star: Arc<Star>,
    /// The fact table's rows.
    pub fact: TableBatch,
}

/// A star that goes once around the ring.
pub struct Rider {
    pub(super) pass: StarPass,
    /// Position of its first chunk.
    start: AtomicUsize,
    /// By seat of a worker.
    pub(super) builds: Mutex<Vec<Option<Box<StarBuild>>>>,
    /// Taken from seats, all of their rows in groups.
    pub(super) rested: Mutex<Vec<StarBuild>>,
    pub(super) work: Mutex<RiderWork>,
    /// All chunks and probes are handed out.
    pub(super) is_around: AtomicBool,
    /// Chunks, probes and the rest not done yet.
    pub(super) left: AtomicUsize,
}

/// What was done for a rider, over all workers.
#[derive(Default)]
pub(super) struct RiderWork {
    pub faults: Faults,
    /// Rows that somebody wanted.
    pub rows: usize,
    pub took: Duration,
    /// Chunks whose rows met the dimensions together with those of other riders.
    pub together: usize,
}

/// What a rider brings back.
pub struct Finished {
    /// Its groups.
    pub groups: StarGroups,
    /// Who failed.
    pub faults: Faults,
    /// Rows that somebody wanted.
    pub rows: usize,
    /// Time over all workers.
    pub took: Duration,
    /// Chunks that it read, and of these the ones that met the dimensions together with other riders'.
    pub chunks: (usize, usize),
}

impl Rider {
    /// Nothing done yet.
    pub(super) fn new(pass: StarPass) -> Rider {
        Rider {
            start: AtomicUsize::new(0),
            builds: Mutex::default(),
            rested: Mutex::default(),
            work: Mutex::default(),
            is_around: AtomicBool::new(false),
            left: AtomicUsize::new(pass.fact.chunks().len() + 2),
            pass,
        }
    }

    /// The chunks that it wants, in the order of the table.
    pub(super) fn chunks(&self) -> &[ChunkId] {
        self.pass.fact.chunks()
    }

    /// What it rides for.
    pub fn pass(&self) -> &StarPass {
        &self.pass
    }

    /// Its star, and the slots of its batch.
    pub(super) fn star(&self) -> (&Star, usize) {
        (&self.pass.star, self.pass.shared.sets.slots())
    }

    pub(super) fn parameters(&self) -> Rows<'_> {
        self.pass.shared.parameters()
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.pass.shared.is_abandoned()
    }

    pub(super) fn begins_at(&self, start: usize) {
        self.start.store(start, Ordering::Relaxed);
    }

    /// Where in the table its way began, as a share of its chunks.
    pub fn began_at(&self) -> f64 {
        self.start.load(Ordering::Relaxed) as f64 / self.chunks().len().max(1) as f64
    }

    /// What it brings back, once it is around.
    pub fn finish(&self) -> Finished {
        let parameters = self.parameters();
        let batch = self.pass.shared.batch(&parameters);
        let node = &self.pass.shared.lane.stars.stars[self.pass.number].node;
        let RiderWork { mut faults, rows, took, together } = std::mem::take(&mut *self.work.lock());
        let builds = std::mem::take(&mut *self.builds.lock()).into_iter().flatten();
        let rested = std::mem::take(&mut *self.rested.lock());
        let builds = builds.map(|build| *build).chain(rested).map(|mut build| {
            build.group(node, &self.pass.star, &batch, &mut faults);
            build
        });
        let groups = StarGroups::new(self.pass.star.clone(), builds.collect());
        Finished { groups, faults, rows, took, chunks: (self.chunks().len(), together) }
    }
}
