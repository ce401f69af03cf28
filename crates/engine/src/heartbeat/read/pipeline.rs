//! Streaming operators from a source to a breaker, run morsel by morsel on all free workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::pool::Loop;
use super::prepared::PreparedNode;
use super::run::{Rows, Shared};
use crate::operators::{
    self, Batch, ChunkOf, Cut, Faults, GroupPart, Groups, IndexJoinScratch, IndexJoinState,
    JoinBuild, JoinProbe, JoinTable, SortBuild, StarGroups,
};
use crate::query_set::{SetId, Tuples};
use crate::scan::TableBatch;
use crate::types::ChunkId;
use crate::types::limit::within;

/// Rows of a morsel where they are already there: about a millisecond's work for a few operators.
const MORSEL_ROWS: usize = 8192;

/// Pairs of rows that a join makes at a time: a few milliseconds' work and a few megabytes.
const PIECE_PAIRS: usize = 1 << 16;

/// Chunks of which fewer rows are left wait for those of others, until there are so many together: what operators do per
/// call, some microseconds each, would be more than what they do per row.
const FEW_ROWS: usize = 2048;

/// A source and the operators that its rows stream through.
pub struct Pipe {
    /// Where the rows come from.
    pub source: PipeSource,
    /// What they stream through.
    pub steps: Vec<Step>,
}

/// Where rows come from.
pub enum PipeSource {
    /// They are there.
    Chunks(Vec<Tuples>),
    /// From a table; the position is that of the scan's node.
    Table(usize, Arc<TableBatch>),
    /// From a grouping, slots by slots; the position is that of its node, the number that of the parts.
    Groups(usize, Arc<Groups>, usize),
    /// From a grouping, groups by groups; several parts may have rows of one slot.
    Pieces(usize, Arc<Groups>, usize),
    /// From one of a star's groupings, slots by slots.
    StarGroups(StarPlace, Arc<StarGroups>, usize),
}

/// One of a star's groupings.
#[derive(Clone, Copy, Debug)]
pub struct StarPlace {
    /// Its node.
    pub node: usize,
    /// Position among the lane's stars.
    pub star: usize,
    /// Position among the star's groupings.
    pub grouping: usize,
}

/// A streaming operator; the position is that of its node.
#[derive(Clone)]
pub enum Step {
    /// Keeps these slots.
    Restrict(SetId),
    /// Predicates.
    Filter(usize),
    /// New columns.
    Project(usize),
    /// Partners by index.
    IndexJoin(usize, Arc<IndexJoinState>),
    /// Partners by hash table.
    Probe(usize, Arc<JoinTable>),
    /// An order and cuts, where each morsel has all rows of its slots.
    Sort(usize, Arc<[Cut]>),
}

/// What becomes of the rows at the end; the position is that of the breaker's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// They are kept.
    Collect,
    /// A join's right side.
    Join(usize),
    /// A grouping's input.
    Group(usize),
    /// A grouping's input, whose rows come from one table only and bring its columns at most once; and the filter, if
    /// there is one, that alone reads the groups.
    GroupChunks(usize, Option<usize>),
    /// A sort's input.
    Sort(usize),
}

/// One worker's part of a sink.
pub enum Part {
    /// Chunks with the number of their morsel.
    Collect(Vec<(usize, Tuples)>),
    /// A join's.
    Join(JoinBuild),
    /// A grouping's.
    Group(Box<GroupPart>),
    /// A sort's.
    Sort(SortBuild),
}

/// What one worker did.
pub struct Work {
    /// Its part of the sink.
    pub part: Part,
    /// Its faults.
    pub faults: Faults,
    /// Memory of outer joins, by step.
    pub probes: Vec<(usize, JoinProbe)>,
    /// Rows put out and time spent, by node.
    pub spent: Vec<(usize, usize, Duration)>,
}

/// Pipes that run into one sink.
pub struct Pipeline {
    shared: Arc<Shared>,
    pipes: Vec<Pipe>,
    /// First morsel of each pipe, and the number of all.
    starts: Vec<usize>,
    sink: Sink,
    next: AtomicUsize,
    /// Everybody in the batch has failed: what is left need not be done.
    all_failed: AtomicBool,
    done: Mutex<Vec<Work>>,
}

impl Pipe {
    /// Cuts large chunks, so that several workers can take part; small tables and chunks stay whole.
    fn divide(&mut self) {
        let PipeSource::Chunks(chunks) = &mut self.source else { return };
        if self.steps.is_empty() || chunks.iter().all(|chunk| chunk.rows <= 2 * MORSEL_ROWS) {
            return;
        }
        let whole = std::mem::take(chunks);
        for chunk in whole {
            for start in (0..chunk.rows).step_by(MORSEL_ROWS) {
                let end = (start + MORSEL_ROWS).min(chunk.rows) as u32;
                chunks.push(chunk.take(&(start as u32..end).collect::<Vec<_>>()));
            }
        }
    }

    /// Whether all rows of a slot come in one morsel.
    pub fn is_partitioned(&self) -> bool {
        matches!(self.source, PipeSource::Groups(..) | PipeSource::StarGroups(..))
    }

    /// The table that its rows come from.
    pub fn table(&self) -> Option<&Arc<TableBatch>> {
        match &self.source {
            PipeSource::Table(_, table) => Some(table),
            _ => None,
        }
    }

    /// The chunk that a morsel reads; none where index probes read rows of any.
    fn chunk(&self, within: usize) -> Option<(Arc<TableBatch>, ChunkId)> {
        let table = self.table()?;
        Some((table.clone(), table.chunks()[within.checked_sub(1)?]))
    }

    /// Whether its rows are groups of a pass over a fact table.
    pub fn is_of_star(&self) -> bool {
        matches!(self.source, PipeSource::StarGroups(..))
    }

    fn morsels(&self) -> usize {
        match &self.source {
            PipeSource::Groups(_, _, parts)
            | PipeSource::Pieces(_, _, parts)
            | PipeSource::StarGroups(_, _, parts) => *parts,
            PipeSource::Chunks(chunks) => chunks.len(),
            // The first morsel is all index probes of the batch.
            PipeSource::Table(_, table) => table.chunks().len() + 1,
        }
    }
}

impl Pipeline {
    /// Ready to run.
    pub fn new(shared: Arc<Shared>, mut pipes: Vec<Pipe>, sink: Sink) -> Pipeline {
        pipes.iter_mut().for_each(Pipe::divide);
        let mut starts = vec![0];
        for pipe in &pipes {
            starts.push(starts.last().copied().unwrap_or_default() + pipe.morsels());
        }
        let (next, done) = (AtomicUsize::new(0), Mutex::default());
        Pipeline { shared, pipes, starts, sink, next, all_failed: AtomicBool::new(false), done }
    }

    /// Morsels in all.
    pub fn morsels(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    /// What the workers did; call it when all are done.
    pub fn finish(&self) -> Vec<Work> {
        std::mem::take(&mut self.done.lock())
    }

    /// Whether nobody wants more rows, or can get them.
    fn is_over(&self) -> bool {
        self.shared.is_abandoned() || self.all_failed.load(Ordering::Relaxed)
    }

    fn part(&self) -> Part {
        match self.sink {
            Sink::Collect => Part::Collect(Vec::new()),
            Sink::Join(_) => Part::Join(JoinBuild::default()),
            Sink::Group(_) | Sink::GroupChunks(..) => Part::Group(Box::default()),
            Sink::Sort(_) => Part::Sort(SortBuild::default()),
        }
    }
}

impl Loop for Pipeline {
    fn has_work(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.morsels()
            && !self.all_failed.load(Ordering::Relaxed)
    }

    fn help(&self, leave: &dyn Fn() -> bool) {
        within(Some(self.shared.clone()), || self.work(leave));
    }
}

impl Pipeline {
    fn work(&self, leave: &dyn Fn() -> bool) {
        let parameters = self.shared.parameters();
        let mut worker = Worker::new(self, &parameters);
        while !leave() {
            let morsel = self.next.fetch_add(1, Ordering::Relaxed);
            if morsel >= self.morsels() || self.is_over() {
                break;
            }
            worker.morsel(morsel);
            worker.note_failures();
        }
        worker.flush();
        self.done.lock().push(worker.work);
    }
}

/// One worker in a pipeline.
struct Worker<'a> {
    pipeline: &'a Pipeline,
    batch: Batch<'a>,
    index_joins: Vec<(usize, IndexJoinScratch)>,
    /// The chunk that rows come from, where a grouping takes them chunk by chunk.
    chunk: Option<(Arc<TableBatch>, ChunkId)>,
    /// Rows that wait for others of the same pipe, and whose they are.
    waiting: Vec<Tuples>,
    waiting_rows: usize,
    waits_for: usize,
    work: Work,
}

impl<'a> Worker<'a> {
    fn new(pipeline: &'a Pipeline, parameters: &'a Rows<'a>) -> Worker<'a> {
        let work = Work {
            part: pipeline.part(),
            faults: Faults::default(),
            probes: Vec::new(),
            spent: Vec::new(),
        };
        let batch = pipeline.shared.batch(parameters);
        Worker {
            pipeline,
            batch,
            index_joins: Vec::new(),
            chunk: None,
            waiting: Vec::new(),
            waiting_rows: 0,
            waits_for: 0,
            work,
        }
    }

    fn morsel(&mut self, morsel: usize) {
        let number = self.pipeline.starts.partition_point(|start| *start <= morsel) - 1;
        let within = morsel - self.pipeline.starts[number];
        let pipe = &self.pipeline.pipes[number];
        if let Sink::GroupChunks(..) = self.pipeline.sink {
            self.chunk = pipe.chunk(within);
        }
        match self.source(&pipe.source, within) {
            Some(tuples) if tuples.rows < FEW_ROWS && self.may_wait(pipe) => {
                self.wait(number, tuples);
            }
            Some(tuples) => self.run(&pipe.steps, morsel, tuples),
            None => {}
        }
        self.end_chunk();
    }

    /// Where everybody has failed (mostly for want of memory), nobody goes on: a join may have many pairs yet.
    fn note_failures(&self) {
        let (pipeline, faults) = (self.pipeline, &self.work.faults);
        if !faults.is_empty() && pipeline.shared.each_slot().all(|slot| faults.contains(slot)) {
            pipeline.all_failed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether nobody asks which of a table's rows come together, and a run of rows costs something that more rows share.
    fn may_wait(&self, pipe: &Pipe) -> bool {
        let pays = match &self.work.part {
            Part::Collect(_) => false,
            Part::Group(part) => !(self.chunk.is_some() && part.takes_chunks()),
            Part::Join(_) | Part::Sort(_) => !pipe.steps.is_empty(),
        };
        pays && pipe.table().is_some()
    }

    /// Keeps rows until there are enough.
    fn wait(&mut self, pipe: usize, tuples: Tuples) {
        if self.waits_for != pipe {
            self.flush();
            self.waits_for = pipe;
        }
        if tuples.rows > 0 {
            self.waiting_rows += tuples.rows;
            self.waiting.push(tuples);
        }
        if self.waiting_rows >= FEW_ROWS {
            self.flush();
        }
    }

    /// Streams the rows that wait through their steps.
    fn flush(&mut self) {
        self.waiting_rows = 0;
        let waiting = std::mem::take(&mut self.waiting);
        let Some(tuples) = Tuples::concat(waiting, self.batch.sets) else { return };
        let pipeline = self.pipeline;
        // Only rows that are kept as they come have the number of their morsel.
        self.run(&pipeline.pipes[self.waits_for].steps, 0, tuples);
    }

    /// A grouping may close what only the chunk has. Its filter takes those groups while they lie in the cache: of a
    /// HAVING's many groups most never come together with others.
    fn end_chunk(&mut self) {
        let Some((table, _)) = self.chunk.take() else { return };
        let pipeline = self.pipeline;
        let (Part::Group(part), Sink::GroupChunks(n, filter)) =
            (&mut self.work.part, pipeline.sink)
        else {
            unreachable!("a part belongs to its sink")
        };
        let PreparedNode::Group(node) = &pipeline.shared.lane.nodes[n] else { unreachable!() };
        // What rows fail with counts before what groups do, also those of chunks that were read earlier.
        let of_rows = std::mem::take(&mut self.work.faults);
        let (at_once, faults) = (filter.is_some(), &mut self.work.faults);
        let began = Instant::now();
        let groups = part.end_chunk(node, &self.batch, &table, at_once, faults);
        self.spent(n, groups.as_ref().map_or(0, |groups| groups.rows), began);
        let kept = groups.zip(filter).map(|(groups, n)| self.step(&Step::Filter(n), groups));
        let of_groups = std::mem::replace(&mut self.work.faults, of_rows);
        let Part::Group(part) = &mut self.work.part else { unreachable!("it was one above") };
        part.faults.merge(of_groups);
        if let Some(kept) = kept {
            part.keep(node, &self.batch, kept);
        }
    }

    /// Streams a chunk through the rest of the steps. A join's left side goes piece by piece where its pairs are many:
    /// what they take stays bounded, and nobody waits long for a cancelled batch to end.
    fn run(&mut self, steps: &[Step], morsel: usize, tuples: Tuples) {
        if tuples.rows == 0 {
            // Operators pass zero rows through; a chunk that nobody wants need not visit them.
            return;
        }
        let Some((step, rest)) = steps.split_first() else { return self.sink(morsel, tuples) };
        let needs_all = |step: &Step| matches!(step, Step::Sort(..));
        let pieces = match rest.iter().any(needs_all) {
            true => None,
            false => self.pieces(step, &tuples),
        };
        let Some(pieces) = pieces else {
            let tuples = self.step(step, tuples);
            return self.run(rest, morsel, tuples);
        };
        for piece in pieces {
            if self.pipeline.is_over() {
                return;
            }
            let rows: Vec<u32> = piece.collect();
            let tuples = self.step(step, tuples.take(&rows));
            self.run(rest, morsel, tuples);
            self.note_failures();
        }
    }

    /// The pieces of a chunk that a join should take one by one; `None` for all of it at once.
    fn pieces(&self, step: &Step, tuples: &Tuples) -> Option<Vec<std::ops::Range<u32>>> {
        let nodes = &self.pipeline.shared.lane.nodes;
        match step {
            Step::Probe(n, table) => {
                let node = nodes[*n].hash_join();
                let users = &self.pipeline.shared.users[*n];
                table.pieces(node, &self.batch, users, tuples, PIECE_PAIRS)
            }
            Step::IndexJoin(n, state) => {
                let scratch = self.index_joins.iter().find(|(node, _)| node == n);
                state.pieces(scratch.map(|(_, scratch)| scratch), tuples, PIECE_PAIRS)
            }
            Step::Restrict(_) | Step::Filter(_) | Step::Project(_) | Step::Sort(..) => None,
        }
    }

    fn source(&mut self, source: &PipeSource, within: usize) -> Option<Tuples> {
        match source {
            PipeSource::StarGroups(place, groups, parts) => {
                let shared = &self.pipeline.shared;
                let node = &shared.lane.stars.stars[place.star].node;
                let (grouping, faults) = (place.grouping, &mut self.work.faults);
                let began = Instant::now();
                let tuples = groups.finish(node, grouping, &self.batch, (within, *parts), faults);
                self.spent(place.node, tuples.rows, began);
                Some(tuples)
            }
            PipeSource::Chunks(chunks) => Some(chunks[within].clone()),
            PipeSource::Table(node, table) => {
                let began = Instant::now();
                let output = match within {
                    0 => table.probe()?,
                    _ => table.scan(table.chunks()[within - 1]),
                };
                for (slot, error) in output.errors {
                    self.work.faults.add(slot, error);
                }
                self.spent(*node, output.tuples.rows, began);
                Some(output.tuples)
            }
            PipeSource::Groups(n, groups, parts) | PipeSource::Pieces(n, groups, parts) => {
                let shared = &self.pipeline.shared;
                let PreparedNode::Group(node) = &shared.lane.nodes[*n] else { unreachable!() };
                let (set, faults) = (shared.wanted[*n], &mut self.work.faults);
                let began = Instant::now();
                let tuples = groups.finish(node, &self.batch, set, (within, *parts), faults);
                self.spent(*n, tuples.rows, began);
                Some(tuples)
            }
        }
    }

    fn step(&mut self, step: &Step, tuples: Tuples) -> Tuples {
        let shared = &self.pipeline.shared;
        let (batch, faults) = (&self.batch, &mut self.work.faults);
        let began = Instant::now();
        let (node, tuples) = match step {
            Step::Restrict(set) => return operators::restrict(batch, *set, tuples),
            Step::Filter(n) => {
                let PreparedNode::Filter(node) = &shared.lane.nodes[*n] else { unreachable!() };
                (*n, operators::filter(node, batch, &shared.users[*n], tuples, faults))
            }
            Step::Project(n) => {
                let PreparedNode::Project(node) = &shared.lane.nodes[*n] else { unreachable!() };
                (*n, operators::project(node, batch, tuples, faults))
            }
            Step::IndexJoin(n, state) => {
                let PreparedNode::IndexJoin { node, .. } = &shared.lane.nodes[*n] else {
                    unreachable!()
                };
                let scratch = entry(&mut self.index_joins, *n);
                (*n, state.join(node, batch, scratch, tuples, faults))
            }
            Step::Probe(n, table) => {
                let node = shared.lane.nodes[*n].hash_join();
                let probe = entry(&mut self.work.probes, *n);
                (*n, table.probe(node, batch, &shared.users[*n], probe, tuples, faults))
            }
            Step::Sort(n, cuts) => {
                let PreparedNode::Sort(node, _) = &shared.lane.nodes[*n] else { unreachable!() };
                let mut build = SortBuild::default();
                build.add(node, batch, tuples, faults);
                (*n, operators::sort(node, batch, cuts, vec![build], faults))
            }
        };
        self.spent(node, tuples.rows, began);
        tuples
    }

    fn sink(&mut self, morsel: usize, tuples: Tuples) {
        let nodes = &self.pipeline.shared.lane.nodes;
        let (batch, faults) = (&self.batch, &mut self.work.faults);
        let began = Instant::now();
        match (&mut self.work.part, self.pipeline.sink) {
            (Part::Collect(chunks), Sink::Collect) => match batch.budget.reserve(tuples.memory()) {
                Ok(()) => chunks.push((morsel, tuples)),
                // Whoever fits by himself is answered when the batch runs again in parts.
                Err(error) => {
                    let slots = self.pipeline.shared.each_slot();
                    slots.for_each(|slot| faults.add(slot, error.clone()));
                }
            },
            (Part::Join(build), Sink::Join(n)) => {
                let node = nodes[n].hash_join();
                build.add(node, batch, tuples, faults);
                self.spent(n, 0, began);
            }
            (Part::Group(part), Sink::Group(n) | Sink::GroupChunks(n, _)) => {
                let PreparedNode::Group(node) = &nodes[n] else { unreachable!() };
                let of = self.chunk.as_ref();
                let of = of.map(|(table, chunk)| ChunkOf { table, chunk: *chunk });
                part.add(node, batch, of, tuples, faults);
                self.spent(n, 0, began);
            }
            (Part::Sort(build), Sink::Sort(n)) => {
                let PreparedNode::Sort(node, _) = &nodes[n] else { unreachable!() };
                build.add(node, batch, tuples, faults);
                self.spent(n, 0, began);
            }
            _ => unreachable!("a part belongs to its sink"),
        }
    }

    fn spent(&mut self, node: usize, rows: usize, began: Instant) {
        let took = began.elapsed();
        match self.work.spent.iter_mut().find(|spent| spent.0 == node) {
            Some(spent) => {
                spent.1 += rows;
                spent.2 += took;
            }
            None => self.work.spent.push((node, rows, took)),
        }
    }
}

/// The value for `key` in a short list, made when missing.
fn entry<T: Default>(list: &mut Vec<(usize, T)>, key: usize) -> &mut T {
    let position = match list.iter().position(|(k, _)| *k == key) {
        Some(position) => position,
        None => {
            list.push((key, T::default()));
            list.len() - 1
        }
    };
    &mut list[position].1
}
