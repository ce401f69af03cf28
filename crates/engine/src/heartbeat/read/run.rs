//! One batch through a lane's shared operators: from slots with parameters to answers.
//!
//! Nodes are opened from the answers down. A node that several consumers of the batch read is run once and kept;
//! each consumer restricts it to its own slots. Breakers end a pipeline, everything else streams.

mod aboard;
mod join_table;
mod key_filters;
mod sort;
mod star;

use std::sync::Arc;
use std::time::{Duration, Instant};

use self::key_filters::Waiting;
use self::star::StarRun;
use super::audience::Audience;
use super::each::each;
use super::pipeline::{Part, Pipe, PipeSource, Pipeline, Sink, StarPlace, Step, Work};
use super::pool::{Loop, Pool};
use super::prepared::{Cuts, PreparedLane, PreparedNode};
use super::probe_chain::Views;
use crate::heartbeat::AnswerPart;
use crate::operators::{
    self, Batch, Budget, Cut, Faults, GroupBuild, Groups, IndexJoinState, JoinProbe, LimitState,
    PackOptions, Star, Users,
};
use crate::plan::JoinKind;
use crate::query_set::{SetId, SetTable, Tuples};
use crate::scan::{Request, TableAccess, TableBatch};
use crate::storage::{Store, TableView};
use crate::types::limit::Limit;
use crate::types::{DataType, Error, Result, Slot, SqlState, TableId, TableSchema, Value, Version};

/// Pipelines of fewer morsels than this run on the thread that opened them.
const PARALLEL: usize = 3;

/// Slots whose groups are finished, sorted and cut together: few enough that their groups stay in a core's cache,
/// enough that a part is worth starting.
const PART_SLOTS: usize = 16;

/// One distinct request in a batch.
pub struct Slotted {
    /// Position of its template among the lane's members.
    pub member: usize,
    /// Its parameters, derived ones included.
    pub parameters: Arc<[Value]>,
}

/// What all workers of a batch share.
pub struct Shared {
    /// The lane's operators.
    pub lane: Arc<PreparedLane>,
    /// The batch's query sets.
    pub sets: Arc<SetTable>,
    /// Per node: which slots use which variant.
    pub users: Vec<Vec<Users>>,
    /// Per node: the slots that use it.
    pub wanted: Vec<SetId>,
    slots: Vec<Slotted>,
    budget: Budget,
    /// Who waits for it.
    audience: Audience,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

/// For expressions that take long: they fail once all have left, and nobody gets to see it.
impl Limit for Shared {
    fn fault(&self) -> Option<Error> {
        self.is_abandoned().then(super::batch::cancelled)
    }
}

impl Shared {
    /// The parameters and their types, by slot.
    pub fn parameters(&self) -> Rows<'_> {
        let members = &self.lane.plan.members;
        let types = |slot: &Slotted| &members[slot.member].compiled.parameter_types[..];
        Rows {
            values: self.slots.iter().map(|slot| &*slot.parameters).collect(),
            types: self.slots.iter().map(types).collect(),
        }
    }

    /// The batch as operators see it.
    pub fn batch<'a>(&'a self, rows: &'a Rows<'a>) -> Batch<'a> {
        let (parameters, types) = (&rows.values[..], &rows.types[..]);
        Batch { sets: &self.sets, parameters, types, budget: &self.budget }
    }

    /// All of the batch.
    pub fn each_slot(&self) -> impl Iterator<Item = Slot> {
        (0..self.slots.len() as u32).map(Slot)
    }

    /// Whether nobody waits any more. From then on work may be left out: there will be no answer that lacks it.
    pub fn is_abandoned(&self) -> bool {
        self.audience.has_left()
    }

    fn new(
        lane: Arc<PreparedLane>,
        slots: Vec<Slotted>,
        budget: Budget,
        audience: Audience,
    ) -> Shared {
        let sets = Arc::new(SetTable::new(slots.len()));
        let mut users = vec![Vec::new(); lane.nodes.len()];
        let mut wanted = vec![SetId::EMPTY; lane.nodes.len()];
        let slot = |i: usize| Slot(i as u32);
        for run in slots.chunk_by(|a, b| a.member == b.member) {
            let first = run.as_ptr_range().start;
            // Runs lie one after another in `slots`: their distance in elements is the first slot.
            let start = slots.iter().position(|s| std::ptr::eq(s, first)).unwrap_or_default();
            let set = sets.intern_slots((start..start + run.len()).map(slot));
            for used in &lane.plan.members[run[0].member].uses {
                users[used.node].push(Users { variant: used.variant, set });
                wanted[used.node] = sets.union(wanted[used.node], set);
            }
        }
        Shared { lane, sets, users, wanted, slots, budget, audience }
    }
}

/// Parameters by slot, borrowed.
pub struct Rows<'a> {
    values: Vec<&'a [Value]>,
    types: Vec<&'a [DataType]>,
}

/// Time and rows of one node in a batch.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// Rows put out.
    pub rows: usize,
    /// Time over all workers.
    pub took: Duration,
    /// How a table was read.
    pub access: Option<Arc<str>>,
}

/// What a batch gave.
pub struct Outcome {
    /// By slot.
    pub answers: Vec<Result<Vec<AnswerPart>>>,
    /// By node.
    pub spent: Vec<Spent>,
    /// Distinct query sets.
    pub sets: usize,
    /// Stars whose queries were aggregated in packs.
    pub packed: Vec<Arc<Star>>,
}

/// The tables of a batch at its snapshot.
#[derive(Clone)]
pub struct TableViews<'a> {
    store: &'a Store,
    version: Version,
    views: Vec<(TableId, Arc<TableView>)>,
}

impl<'a> TableViews<'a> {
    /// None taken yet. The caller keeps the snapshot of `version`.
    pub fn new(store: &'a Store, version: Version) -> TableViews<'a> {
        TableViews { store, version, views: Vec::new() }
    }

    /// What they are read at.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Takes the tables of a plan; 55000 where one is no longer what the plan was made for. What a view shows as its
    /// definition held after its version was published, so that its indexes have all rows of that version.
    pub fn serve(&mut self, planned: &[Arc<TableSchema>]) -> Result<()> {
        for definition in planned {
            let view = self.view(definition.id)?;
            // Mostly nothing has changed, and it is the very same one.
            if !Arc::ptr_eq(view.schema(), definition) && !view.schema().serves(definition) {
                let table = &definition.name;
                let message = format!("the definition of table \"{table}\" has changed");
                return Err(Error::new(SqlState::OutdatedPlan, message));
            }
        }
        Ok(())
    }
}

impl Views for TableViews<'_> {
    fn view(&mut self, table: TableId) -> Result<Arc<TableView>> {
        if let Some((_, view)) = self.views.iter().find(|(id, _)| *id == table) {
            return Ok(view.clone());
        }
        let missing = || Error::new(SqlState::UndefinedTable, "relation does not exist");
        let view = self.store.table(table).ok_or_else(missing)?.view(self.version);
        self.views.push((table, view.clone()));
        Ok(view)
    }
}

/// What a batch may take and do.
#[derive(Debug)]
pub struct Limits {
    /// Bytes that intermediate results may take.
    pub budget: Budget,
    /// Whether keys narrow the other side of a join however few rows it has; else only where that pays.
    pub narrow_all: bool,
    /// How stars put their queries into packs.
    pub packs: PackOptions,
}

/// Runs a batch. `slots` are ordered by member.
pub fn run(
    lane: Arc<PreparedLane>,
    slots: Vec<Slotted>,
    views: TableViews<'_>,
    pool: &Pool,
    limits: Limits,
    audience: Audience,
) -> Outcome {
    Run::new(lane, slots, views, pool, limits, audience).outcome()
}

/// One batch on its way.
pub struct Run<'a> {
    shared: Arc<Shared>,
    views: TableViews<'a>,
    pool: &'a Pool,
    faults: Faults,
    /// Output of nodes that several consumers read.
    kept: Vec<Option<Vec<Tuples>>>,
    /// By star of the lane.
    stars: Vec<StarRun>,
    narrow_all: bool,
    packs: PackOptions,
    /// Stars whose queries are aggregated in packs.
    packed: Vec<Arc<Star>>,
    /// Keys that joins have handed down to nodes that are not opened yet.
    waiting: Vec<Waiting>,
    /// By node, slots whose rows were read apart from the others'.
    served: Vec<SetId>,
    spent: Vec<Spent>,
}

impl<'a> Run<'a> {
    /// Nothing done yet. `slots` are ordered by member.
    pub fn new(
        lane: Arc<PreparedLane>,
        slots: Vec<Slotted>,
        views: TableViews<'a>,
        pool: &'a Pool,
        limits: Limits,
        audience: Audience,
    ) -> Run<'a> {
        let Limits { budget, narrow_all, packs } = limits;
        let shared = Arc::new(Shared::new(lane, slots, budget, audience));
        let nodes = shared.lane.nodes.len();
        Run {
            views,
            pool,
            faults: Faults::default(),
            kept: vec![None; nodes],
            stars: shared.lane.stars.stars.iter().map(|_| StarRun::Untried).collect(),
            narrow_all,
            packs,
            packed: Vec::new(),
            waiting: Vec::new(),
            served: vec![SetId::EMPTY; nodes],
            spent: vec![Spent::default(); nodes],
            shared,
        }
    }

    /// Runs everything that was not run before. Of a batch that all have left nobody gets what rows there are: those who
    /// follow meanwhile would take them for all.
    pub fn outcome(mut self) -> Outcome {
        let mut answers = self.answers();
        if self.shared.audience.was_seen_leaving() {
            answers.iter_mut().for_each(|answer| *answer = Err(super::batch::cancelled()));
        }
        let sets = self.shared.sets.interned();
        Outcome { answers, spent: self.spent, sets, packed: self.packed }
    }

    fn answers(&mut self) -> Vec<Result<Vec<AnswerPart>>> {
        let shared = self.shared.clone();
        let slots = shared.slots.len();
        let mut answers: Vec<Result<Vec<AnswerPart>>> = (0..slots).map(|_| Ok(vec![])).collect();
        let mut first = 0;
        let mut of_stars = Vec::new();
        for run in shared.slots.chunk_by(|a, b| a.member == b.member) {
            let last = first + run.len();
            let uses = &shared.lane.plan.members[run[0].member].uses;
            let root = uses.last().map_or(0, |used| used.node);
            match self.member(root, first as u32..last as u32) {
                // The groups of a pass are all there: finished together, nobody waits for the last part of each member.
                Ok(pipes) if pipes.iter().all(Pipe::is_of_star) => of_stars.extend(pipes),
                Ok(pipes) => self.route(pipes, &mut answers),
                Err(error) => {
                    answers[first..last].iter_mut().for_each(|answer| *answer = Err(error.clone()));
                }
            }
            first = last;
        }
        self.route(of_stars, &mut answers);
        for (slot, error) in self.faults.iter() {
            answers[slot.index()] = Err(error.clone());
        }
        answers
    }

    /// The rows of a member's root that its slots want.
    fn member(&mut self, root: usize, own: std::ops::Range<u32>) -> Result<Vec<Pipe>> {
        let set = self.shared.sets.intern_slots(own.map(Slot));
        let pipes = self.stream(root)?;
        Ok(restricted(pipes, set, self.shared.wanted[root]))
    }

    /// Hands rows to the slots that want them.
    fn route(&mut self, pipes: Vec<Pipe>, answers: &mut [Result<Vec<AnswerPart>>]) {
        let shared = self.shared.clone();
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        for tuples in self.collect(pipes) {
            let routed = operators::route(&batch, &tuples);
            let tuples = Arc::new(tuples);
            for (slot, rows) in routed {
                if let Ok(parts) = &mut answers[slot.index()] {
                    parts.push(AnswerPart::Shared { tuples: tuples.clone(), rows });
                }
            }
        }
    }

    /// The node's output; run once where several consumers of this batch read it.
    fn stream(&mut self, n: usize) -> Result<Vec<Pipe>> {
        if self.shared.is_abandoned() {
            return Err(super::batch::cancelled());
        }
        if self.kept[n].is_none() && self.readers(n) > 1 {
            let pipes = self.open(n)?;
            self.kept[n] = Some(self.collect(pipes));
        }
        match &self.kept[n] {
            Some(chunks) => Ok(vec![chunks_pipe(chunks.clone())]),
            None => self.open(n),
        }
    }

    /// Consumers of this batch, answers included.
    fn readers(&self, n: usize) -> usize {
        let plan = &self.shared.lane.plan;
        let active = |c: &&usize| self.shared.wanted[**c] != SetId::EMPTY;
        let consumers = plan.nodes[n].consumers.iter().filter(active).count();
        let is_root =
            |member: &usize| plan.members[*member].uses.last().is_some_and(|used| used.node == n);
        consumers + plan.nodes[n].members.iter().filter(|m| is_root(m)).count()
    }

    /// Input `i` of node `n`, restricted to the slots of `n`.
    fn input(&mut self, n: usize, i: usize) -> Result<Vec<Pipe>> {
        let below = self.shared.lane.plan.nodes[n].inputs[i];
        if let Some(pipes) = self.narrowed(below, self.shared.wanted[n])? {
            return Ok(pipes);
        }
        let pipes = self.stream(below)?;
        Ok(restricted(pipes, self.shared.wanted[n], self.shared.wanted[below]))
    }

    /// A table's rows for one of its consumers only, where others read the table too and keys narrow these rows, or all
    /// together are many: a pass over it costs less than keeping what all of them want.
    fn narrowed(&mut self, n: usize, slots: SetId) -> Result<Option<Vec<Pipe>>> {
        let shared = self.shared.clone();
        let PreparedNode::Scan { table, variants } = &shared.lane.nodes[n] else { return Ok(None) };
        let pays = self.has_waiting(n, slots) || self.expected(n) >= key_filters::WORTHWHILE;
        if self.kept[n].is_some() || self.readers(n) < 2 || !pays {
            return Ok(None);
        }
        self.served[n] = shared.sets.union(self.served[n], slots);
        self.scan(n, *table, variants, slots).map(Some)
    }

    fn open(&mut self, n: usize) -> Result<Vec<Pipe>> {
        let lane = self.shared.lane.clone();
        match &lane.nodes[n] {
            PreparedNode::Chain(chain) => {
                let shared = self.shared.clone();
                let began = Instant::now();
                let slots = shared.sets.members(shared.wanted[n]).collect::<Vec<_>>();
                let parameters = shared.parameters();
                let (views, faults) = (&mut self.views, &mut self.faults);
                let slots = slots.into_iter();
                let tuples = chain.run(slots, &parameters.values, &shared.sets, views, faults)?;
                self.note(n, tuples.rows, began);
                Ok(vec![chunks_pipe(vec![tuples])])
            }
            PreparedNode::Scan { table, variants } => {
                let slots = self.shared.sets.difference(self.shared.wanted[n], self.served[n]);
                self.scan(n, *table, variants, slots)
            }
            PreparedNode::Values(node) => {
                let shared = self.shared.clone();
                let parameters = shared.parameters();
                let (batch, set) = (shared.batch(&parameters), shared.wanted[n]);
                let tuples = operators::values(node, &batch, set, &mut self.faults);
                Ok(vec![chunks_pipe(vec![tuples])])
            }
            PreparedNode::Filter(_) => self.filter(n),
            PreparedNode::Project(_) => Ok(then(self.input(n, 0)?, Step::Project(n))),
            PreparedNode::IndexJoin { .. } => {
                if let Some(pipes) = self.by_hash(n)? {
                    return Ok(pipes);
                }
                let outer = self.input(n, 0)?;
                self.by_index(n, outer)
            }
            PreparedNode::HashJoin(node) => self.hash_join(n, node.kind == JoinKind::Full),
            PreparedNode::Group(_) => Ok(self.group(n, None)?.0),
            PreparedNode::Sort(_, cuts) => self.sort(n, cuts),
            PreparedNode::Limit(cuts) => self.limit(n, cuts),
            PreparedNode::Union => {
                let inputs = 0..lane.plan.nodes[n].inputs.len();
                let pipes = inputs.map(|i| self.input(n, i)).collect::<Result<Vec<_>>>()?;
                Ok(pipes.into_iter().flatten().collect())
            }
        }
    }

    /// An index join of these outer rows.
    fn by_index(&mut self, n: usize, outer: Vec<Pipe>) -> Result<Vec<Pipe>> {
        let shared = self.shared.clone();
        let PreparedNode::IndexJoin { table, node, .. } = &shared.lane.nodes[n] else {
            unreachable!()
        };
        let parameters = shared.parameters();
        let (batch, users) = (shared.batch(&parameters), &shared.users[n]);
        let view = self.views.view(*table)?;
        let state = Arc::new(IndexJoinState::new(node, &batch, users, view));
        Ok(then(outer, Step::IndexJoin(n, state)))
    }

    fn scan(
        &mut self,
        n: usize,
        table: TableId,
        variants: &[TableAccess],
        slots: SetId,
    ) -> Result<Vec<Pipe>> {
        let began = Instant::now();
        let mut batch = self.table_batch(table, &[(n, variants)], slots)?;
        self.spent[n].access = Some(batch.decision().to_string().into());
        self.narrow_scan(n, &mut batch, slots);
        self.note(n, 0, began);
        Ok(vec![Pipe { source: PipeSource::Table(n, Arc::new(batch)), steps: Vec::new() }])
    }

    fn hash_join(&mut self, n: usize, full: bool) -> Result<Vec<Pipe>> {
        let shared = self.shared.clone();
        let PreparedNode::HashJoin(node) = &shared.lane.nodes[n] else { unreachable!() };
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        let left = self.left_first(n)?;
        let right = self.input(n, 1)?;
        let builds = self.drain(right, Sink::Join(n)).into_iter().filter_map(|part| match part {
            Part::Join(build) => Some(build),
            _ => None,
        });
        let builds = builds.collect();
        let table = Arc::new(self.join_table(n, builds));
        let left = match left {
            Some(left) => left,
            None => {
                self.narrow_left(n, table.rows());
                self.input(n, 0)?
            }
        };
        let pipes = then(left, Step::Probe(n, table.clone()));
        if !full {
            return Ok(pipes);
        }
        let (mut chunks, mut probes) = self.collect_with_probes(pipes);
        let own: Vec<JoinProbe> = match probes.is_empty() {
            true => vec![JoinProbe::default()],
            false => probes.drain(..).filter(|p| p.0 == n).map(|p| p.1).collect(),
        };
        chunks.extend(table.unmatched(node, &batch, own));
        Ok(vec![chunks_pipe(chunks)])
    }

    /// A filter that alone reads a grouping (HAVING) may take groups before all are there.
    fn filter(&mut self, n: usize) -> Result<Vec<Pipe>> {
        let below = self.shared.lane.plan.nodes[n].inputs[0];
        let is_group = matches!(self.shared.lane.nodes[below], PreparedNode::Group(_));
        if !is_group || self.readers(below) > 1 {
            return Ok(then(self.input(n, 0)?, Step::Filter(n)));
        }
        let (rest, passed) = self.group(below, Some(n))?;
        let mut pipes = then(rest, Step::Filter(n));
        if !passed.is_empty() {
            pipes.push(chunks_pipe(passed));
        }
        Ok(pipes)
    }

    /// A grouping's rows; apart from these, the ones that passed the filter as soon as their chunk was read.
    fn group(&mut self, n: usize, filter: Option<usize>) -> Result<(Vec<Pipe>, Vec<Tuples>)> {
        let shared = self.shared.clone();
        let PreparedNode::Group(node) = &shared.lane.nodes[n] else { unreachable!() };
        let parts = shared.sets.cardinality(shared.wanted[n]).div_ceil(PART_SLOTS).max(1);
        if let Some((star, grouping)) = shared.lane.stars.places[n]
            && let Some(groups) = self.star(star)?
        {
            let place = StarPlace { node: n, star, grouping };
            let source = PipeSource::StarGroups(place, groups, parts);
            return Ok((vec![Pipe { source, steps: Vec::new() }], Vec::new()));
        }
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        let input = self.input(n, 0)?;
        let sink = match self.comes_in_chunks(n, &input) {
            true => Sink::GroupChunks(n, filter),
            false => Sink::Group(n),
        };
        let before = self.spent[n].rows;
        let (mut builds, mut whole, mut passed) = (Vec::new(), Vec::new(), Vec::new());
        for part in self.drain(input, sink) {
            let Part::Group(part) = part else { unreachable!("a part belongs to its sink") };
            builds.push(part.spread);
            whole.push(part.whole);
            passed.extend(part.finished);
            self.faults.merge(part.faults);
        }
        let finished = self.spent[n].rows - before;
        let in_one_chunk = finished + whole.iter().map(GroupBuild::groups).sum::<usize>();
        if in_one_chunk > 0 {
            self.spent[n].access = Some(format!("{in_one_chunk} groups in one chunk each").into());
        }
        let mut groups = match GroupBuild::partitions(node, &builds, self.pool.workers()) {
            Some(partitions) => self.merge_partitions(n, builds, partitions),
            None => {
                let began = Instant::now();
                let groups = Groups::merge(node, &batch, builds, &mut self.faults);
                self.note(n, 0, began);
                vec![groups]
            }
        };
        let whole = whole.into_iter().filter(|build| build.groups() > 0);
        groups.extend(self.merge_each(n, whole.map(|build| vec![build]).collect()));
        let pipe = |groups: Groups| {
            let groups = Arc::new(groups);
            let source = match groups.pieces() {
                Some(pieces) => PipeSource::Pieces(n, groups, pieces),
                None => PipeSource::Groups(n, groups, parts),
            };
            Pipe { source, steps: Vec::new() }
        };
        Ok((groups.into_iter().map(pipe).collect(), passed))
    }

    /// Whether a grouping's rows come from those of one table, which nothing below it reads a second time: then values that
    /// only a chunk has make groups that only the chunk has.
    fn comes_in_chunks(&self, n: usize, input: &[Pipe]) -> bool {
        let [pipe] = input else { return false };
        let Some(table) = pipe.table() else { return false };
        self.shared.lane.reads_below(n, table.view().schema().id) == 1
    }

    /// Puts the workers' parts of a grouping together on all of them, partition by partition.
    fn merge_partitions(
        &mut self,
        n: usize,
        builds: Vec<GroupBuild>,
        partitions: usize,
    ) -> Vec<Groups> {
        let cut = self.each_for(n, builds, move |shared, build: GroupBuild, _| {
            let PreparedNode::Group(node) = &shared.lane.nodes[n] else { unreachable!() };
            build.partition(node, partitions)
        });
        let mut by_partition: Vec<Vec<GroupBuild>> = (0..partitions).map(|_| Vec::new()).collect();
        for own in cut {
            by_partition.iter_mut().zip(own).for_each(|(all, own)| all.push(own));
        }
        self.merge_each(n, by_partition)
    }

    /// Puts parts of a grouping together, each on a worker; no two have rows of the same group.
    fn merge_each(&mut self, n: usize, parts: Vec<Vec<GroupBuild>>) -> Vec<Groups> {
        self.each_for(n, parts, move |shared, builds, faults| {
            let PreparedNode::Group(node) = &shared.lane.nodes[n] else { unreachable!() };
            let parameters = shared.parameters();
            Groups::merge(node, &shared.batch(&parameters), builds, faults)
        })
    }

    /// What `work` makes of each item for node `n`, by whoever is free.
    fn each_for<T: Send + 'static, R: Send + 'static>(
        &mut self,
        n: usize,
        items: Vec<T>,
        work: impl Fn(&Shared, T, &mut Faults) -> R + Send + Sync + 'static,
    ) -> Vec<R> {
        let shared = self.shared.clone();
        let done = each(self.pool, items, move |item| {
            let (began, mut faults) = (Instant::now(), Faults::default());
            let result = work(&shared, item, &mut faults);
            (result, faults, began.elapsed())
        });
        let done = done.into_iter().map(|(result, faults, took)| {
            self.faults.merge(faults);
            self.spent[n].took += took;
            result
        });
        done.collect()
    }

    /// What `users` want of a table, each by its variant of one of the nodes.
    fn table_batch(
        &mut self,
        table: TableId,
        nodes: &[(usize, impl AsRef<[TableAccess]>)],
        users: SetId,
    ) -> Result<TableBatch> {
        self.bound(table, nodes, users, TableBatch::new)
    }

    fn bound(
        &mut self,
        table: TableId,
        nodes: &[(usize, impl AsRef<[TableAccess]>)],
        users: SetId,
        bind: fn(Arc<TableView>, &Arc<SetTable>, &[Request<'_>]) -> TableBatch,
    ) -> Result<TableBatch> {
        let shared = self.shared.clone();
        let view = self.views.view(table)?;
        let mut requests = Vec::with_capacity(shared.slots.len());
        for (n, variants) in nodes {
            for own in &shared.users[*n] {
                for slot in shared.sets.members(shared.sets.intersect(own.set, users)) {
                    let parameters = &shared.slots[slot.index()].parameters;
                    let access = &variants.as_ref()[own.variant];
                    requests.push(Request { slot, access, parameters });
                }
            }
        }
        requests.sort_by_key(|request| request.slot);
        let batch = bind(view, &shared.sets, &requests);
        for (slot, error) in batch.errors() {
            self.faults.add(*slot, error.clone());
        }
        Ok(batch)
    }

    fn limit(&mut self, n: usize, cuts: &Cuts) -> Result<Vec<Pipe>> {
        let shared = self.shared.clone();
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        let mut state = LimitState::new(self.cuts(n, cuts));
        let input = self.input(n, 0)?;
        let pipeline = Pipeline::new(shared.clone(), input, Sink::Collect);
        let mut chunks = Vec::new();
        // Morsel after morsel: the input stops as soon as everybody has enough.
        while pipeline.has_work() && !state.done() {
            let once = std::cell::Cell::new(false);
            pipeline.help(&|| once.replace(true));
            for tuples in self.take(&pipeline).into_iter().flat_map(|work| collected(work.part)) {
                let began = Instant::now();
                let tuples = state.limit(&batch, tuples.1);
                self.note(n, tuples.rows, began);
                chunks.push(tuples);
            }
        }
        Ok(vec![chunks_pipe(chunks)])
    }

    /// The cut of each slot; nothing for those that do not use the node.
    fn cuts(&mut self, n: usize, cuts: &Cuts) -> Vec<Cut> {
        let shared = self.shared.clone();
        let mut bound = vec![Cut::NONE; shared.slots.len()];
        for users in &shared.users[n] {
            let (skip, fetch) = &cuts[users.variant];
            for slot in shared.sets.members(users.set) {
                let parameters = &shared.slots[slot.index()].parameters;
                match Cut::bind(skip.as_ref(), fetch.as_ref(), parameters) {
                    Ok(cut) => bound[slot.index()] = cut,
                    Err(error) => self.faults.add(slot, error),
                }
            }
        }
        bound
    }

    fn collect(&mut self, pipes: Vec<Pipe>) -> Vec<Tuples> {
        self.collect_with_probes(pipes).0
    }

    /// The rows of the pipes, in the order of their morsels.
    fn collect_with_probes(&mut self, pipes: Vec<Pipe>) -> (Vec<Tuples>, Vec<(usize, JoinProbe)>) {
        let mut ordered = Vec::new();
        let mut probes = Vec::new();
        for work in self.execute(pipes, Sink::Collect) {
            let Work { part, probes: own, .. } = work;
            probes.extend(own);
            ordered.extend(collected(part));
        }
        ordered.sort_by_key(|(morsel, _)| *morsel);
        (ordered.into_iter().map(|(_, tuples)| tuples).collect(), probes)
    }

    fn drain(&mut self, pipes: Vec<Pipe>, sink: Sink) -> Vec<Part> {
        self.execute(pipes, sink).into_iter().map(|work| work.part).collect()
    }

    /// Runs a pipeline, alone where it is short.
    fn execute(&mut self, pipes: Vec<Pipe>, sink: Sink) -> Vec<Work> {
        let pipeline = Arc::new(Pipeline::new(self.shared.clone(), pipes, sink));
        match pipeline.morsels() < PARALLEL || self.pool.workers() == 0 {
            true => pipeline.help(&|| false),
            false => self.pool.run(pipeline.clone()),
        }
        self.take(&pipeline)
    }

    /// What a pipeline's workers did so far; takes over its faults and times.
    fn take(&mut self, pipeline: &Pipeline) -> Vec<Work> {
        let mut done = pipeline.finish();
        for work in &mut done {
            self.faults.merge(std::mem::take(&mut work.faults));
            for (node, rows, took) in work.spent.drain(..) {
                self.spent[node].rows += rows;
                self.spent[node].took += took;
            }
        }
        done
    }

    fn note(&mut self, n: usize, rows: usize, began: Instant) {
        self.spent[n].rows += rows;
        self.spent[n].took += began.elapsed();
    }
}

fn collected(part: Part) -> Vec<(usize, Tuples)> {
    match part {
        Part::Collect(chunks) => chunks,
        _ => Vec::new(),
    }
}

fn chunks_pipe(chunks: Vec<Tuples>) -> Pipe {
    Pipe { source: PipeSource::Chunks(chunks), steps: Vec::new() }
}

fn then(mut pipes: Vec<Pipe>, step: Step) -> Vec<Pipe> {
    pipes.iter_mut().for_each(|pipe| pipe.steps.push(step.clone()));
    pipes
}

/// Only the slots of `set`, where more than those want the rows.
fn restricted(pipes: Vec<Pipe>, set: SetId, wanted: SetId) -> Vec<Pipe> {
    if set == wanted { pipes } else { then(pipes, Step::Restrict(set)) }
}
