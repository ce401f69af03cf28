//! One worker that turns the ring: a chunk's rows for all riders that want it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::super::run::Rows;
use super::{Epoch, Morsel, Rider};
use crate::operators::{Batch, FactRows, Faults, MergedScratch, MergedStars, StarBuild, Survivors};
use crate::query_set::{QuerySets, SetId};
use crate::scan::{ChunkRows, ScanOutput, TableBatch};
use crate::types::{ChunkId, Error, Slot};

/// A worker between two boardings.
pub(super) struct Worker<'a> {
    epoch: &'a Epoch,
    /// By rider.
    batches: Vec<Batch<'a>>,
    seat: usize,
    scratch: MergedScratch,
}

/// A rider's rows of a chunk.
struct Read {
    rider: usize,
    rows: FactRows,
    /// What is left of them, where they have met the dimensions together with others' rows.
    narrowed: Option<Survivors>,
    took: Duration,
}

impl<'a> Worker<'a> {
    pub fn new(epoch: &'a Epoch, parameters: &'a [Rows<'a>], seat: usize) -> Worker<'a> {
        let riders = epoch.riders.iter().zip(parameters);
        let batches = riders.map(|(rider, rows)| rider.pass.shared.batch(rows)).collect();
        Worker { epoch, batches, seat, scratch: MergedScratch::default() }
    }

    pub fn run(&mut self, morsel: Morsel, done: &dyn Fn(&Arc<Rider>)) {
        match morsel {
            Morsel::Probes(rider) => {
                let began = Instant::now();
                let (runs, errors) = probed(&self.epoch.riders[rider].pass.fact);
                self.fail(rider, errors);
                let took = began.elapsed();
                for rows in runs {
                    self.add(Read { rider, rows, narrowed: None, took: Duration::ZERO });
                }
                self.end(rider, took, done);
            }
            Morsel::Rest(rider) => {
                let began = Instant::now();
                self.rest(rider);
                self.end(rider, began.elapsed(), done);
            }
            Morsel::Chunk(chunk, takers) => {
                let mut reads: Vec<Read> =
                    takers.into_iter().map(|rider| self.read(rider, chunk)).collect();
                self.narrow_together(chunk, &mut reads);
                for read in reads {
                    let (rider, took) = (read.rider, read.took);
                    self.add(read);
                    self.end(rider, took, done);
                }
            }
        }
    }

    /// What a rider's scan leaves of a chunk.
    fn read(&self, rider: usize, chunk: ChunkId) -> Read {
        let began = Instant::now();
        let found = self.epoch.riders[rider].pass.fact.scan_rows(chunk);
        let ChunkRows { rows, sets, errors } = found;
        self.fail(rider, errors);
        let rows = FactRows { chunk, rows, sets };
        Read { rider, rows, narrowed: None, took: began.elapsed() }
    }

    /// Rows that several riders read alike meet the dimensions once: those that all versions of the chunk have in common,
    /// where the scan leaves the same to each of a rider's slots.
    fn narrow_together(&mut self, chunk: ChunkId, reads: &mut [Read]) {
        let Some(merged) = &self.epoch.merged else { return };
        let most = reads.iter().filter(|read| read.set().is_some());
        let Some(most) = most.max_by_key(|read| read.rows.rows.len()) else { return };
        let rows = most.rows.rows.clone();
        let is_alike = |read: &&mut Read| read.set().is_some() && read.rows.rows == rows;
        let mut alike: Vec<&mut Read> = reads.iter_mut().filter(is_alike).collect();
        if alike.len() > 1 && !rows.is_empty() {
            narrow_alike(self.epoch, merged, &mut self.scratch, chunk, &rows, &mut alike);
        }
    }

    /// A rider's rows go into its groups.
    fn add(&self, read: Read) {
        let rider = &self.epoch.riders[read.rider];
        let (began, together) = (Instant::now(), usize::from(read.narrowed.is_some()));
        let mut faults = Faults::default();
        let mut build = self.take_build(rider);
        let before = build.survivors();
        let (star, batch) = (&rider.pass.star, &self.batches[read.rider]);
        let node = &rider.pass.shared.lane.stars.stars[rider.pass.number].node;
        build.add(node, star, batch, read.rows, read.narrowed, &mut faults);
        let rows = build.survivors() - before;
        self.put_build(rider, build);
        let mut work = rider.work.lock();
        work.faults.merge(faults);
        work.rows += rows;
        work.together += together;
        work.took += began.elapsed();
    }

    /// One of a rider's morsels is done. When the last one is handed out, each worker puts what it has put off into groups.
    fn end(&self, rider: usize, took: Duration, done: &dyn Fn(&Arc<Rider>)) {
        let (rider, batch) = (&self.epoch.riders[rider], &self.batches[rider]);
        let began = Instant::now();
        if rider.is_around.load(Ordering::Relaxed) {
            let mut faults = Faults::default();
            let mut build = self.take_build(rider);
            let node = &rider.pass.shared.lane.stars.stars[rider.pass.number].node;
            build.group(node, &rider.pass.star, batch, &mut faults);
            self.put_build(rider, build);
            rider.work.lock().faults.merge(faults);
        }
        rider.work.lock().took += took + began.elapsed();
        done(rider);
    }

    /// Puts into groups what other workers have put off: those who are at it take care of it themselves, and find a new
    /// build should they come back.
    fn rest(&self, rider: usize) {
        let (rider, batch) = (&self.epoch.riders[rider], &self.batches[rider]);
        let node = &rider.pass.shared.lane.stars.stars[rider.pass.number].node;
        let builds = std::mem::take(&mut *rider.builds.lock());
        let mut faults = Faults::default();
        for mut build in builds.into_iter().flatten() {
            build.group(node, &rider.pass.star, batch, &mut faults);
            rider.rested.lock().push(*build);
        }
        rider.work.lock().faults.merge(faults);
    }

    fn take_build(&self, rider: &Rider) -> Box<StarBuild> {
        let mut builds = rider.builds.lock();
        builds.get_mut(self.seat).and_then(Option::take).unwrap_or_default()
    }

    fn put_build(&self, rider: &Rider, build: Box<StarBuild>) {
        let mut builds = rider.builds.lock();
        let seats = builds.len().max(self.seat + 1);
        builds.resize_with(seats, || None);
        builds[self.seat] = Some(build);
    }

    fn fail(&self, rider: usize, errors: Vec<(Slot, Error)>) {
        if !errors.is_empty() {
            let mut work = self.epoch.riders[rider].work.lock();
            errors.into_iter().for_each(|(slot, error)| work.faults.add(slot, error));
        }
    }
}

impl Read {
    /// Who wants the rows, where that is the same for all of them.
    fn set(&self) -> Option<SetId> {
        match self.rows.sets {
            QuerySets::Uniform(set) => Some(set),
            _ => None,
        }
    }
}

/// One narrowing for several riders that read the same rows.
fn narrow_alike(
    epoch: &Epoch,
    merged: &MergedStars,
    scratch: &mut MergedScratch,
    chunk: ChunkId,
    rows: &[u32],
    alike: &mut [&mut Read],
) {
    let began = Instant::now();
    let wanted = alike.iter().map(|read| {
        let pass = &epoch.riders[read.rider].pass;
        let set = read.set().expect("only uniform ones are alike");
        (epoch.members[read.rider], &*pass.star, &*pass.shared.sets, set)
    });
    let wanted: Vec<_> = wanted.collect();
    let left = merged.narrow(scratch, (chunk, rows), &wanted);
    let took = began.elapsed() / alike.len() as u32;
    for (read, survivors) in alike.iter_mut().zip(left) {
        read.narrowed = survivors;
        read.took += took;
    }
}

/// The rows that probes found, by chunk, in the order that a star counts on.
fn probed(fact: &TableBatch) -> (Vec<FactRows>, Vec<(Slot, Error)>) {
    let Some(ScanOutput { tuples, errors }) = fact.probe_in_order() else {
        return Default::default();
    };
    let locations = &tuples.sources[0].locations;
    let mut runs = Vec::new();
    let mut start = 0;
    for run in locations.chunk_by(|a, b| a.chunk == b.chunk) {
        let end = start + run.len();
        let rows = run.iter().map(|location| location.offset).collect();
        runs.push(FactRows { chunk: run[0].chunk, rows, sets: tuples.sets.slice(start..end) });
        start = end;
    }
    (runs, errors)
}
