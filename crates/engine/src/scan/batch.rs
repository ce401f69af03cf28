//! A batch's business with one table: who probes, who rides, and the rows for all of them.

use std::sync::{Arc, OnceLock};

use super::access::{IndexPath, TableAccess, table_columns};
use super::clock_scan::{ChunkRows, Query, ScanBatch};
use super::conjunction::{BoundParameters, Conjunction};
use super::decision::{Decision, Undecided, decide, scan_cost};
use super::filter::ColumnFilter;
use super::key_filter::KeyFilter;
use super::probe::{Found, Probe, probe_all};
use super::rows::Rows;
use super::selectivity::{filter_selectivity, pattern_selectivity, wants_points};
use crate::query_set::{ColumnOrigin, QuerySets, Renumbering, SetId, SetTable, Source, Tuples};
use crate::storage::{Chunk, Clustering, Index, TableStatistics, TableView};
use crate::transaction::Parameters;
use crate::types::{ChunkId, ColumnId, DataType, Error, Location, Result, Slot, Value};

/// Up to so many activations zones are asked what a scan would visit: chunks × activations look-ups.
const ASKED_OF_ZONES: usize = 16;

/// What one activation wants of the table.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its place in the batch.
    pub slot: Slot,
    /// Its template's predicates.
    pub access: &'a TableAccess,
    /// Its parameters.
    pub parameters: &'a [Value],
}

/// A batch's requests on one table at one version. Immutable, shared by workers: [`Self::probe`] is one morsel,
/// [`Self::scan`] of each of [`Self::chunks`] another. Slots without a request want no row.
#[derive(Debug)]
pub struct TableBatch {
    view: Arc<TableView>,
    sets: Arc<SetTable>,
    types: Arc<[DataType]>,
    columns: Arc<[ColumnOrigin]>,
    probes: Vec<Probe>,
    scan: Option<Riders>,
    chunks: Vec<ChunkId>,
    /// What joins ask of the rows of those who ride, by column.
    keys: Vec<(ColumnId, Arc<KeyFilter>)>,
    decision: Decision,
    /// Of the column that was asked for first.
    clustering: OnceLock<(ColumnId, Option<Clustering>)>,
    errors: Vec<(Slot, Error)>,
}

/// The scan of those who ride, in its own numbering: one number per conjunction, of which an activation may
/// have several.
#[derive(Debug)]
struct Riders {
    batch: ScanBatch,
    /// By number; those of one activation follow each other.
    slots: Vec<Slot>,
    /// `None` where the numbers are the batch's own.
    renumbering: Option<Renumbering>,
    /// Keys may be looked up before its predicates are asked.
    keys_first: bool,
}

/// What all activations of a batch ask of one integer column, value by value.
#[derive(Debug)]
pub struct ValueFilter {
    /// The column.
    pub column: ColumnId,
    /// The smallest value.
    pub least: i64,
    /// Who may want rows with the value `least + i`.
    pub sets: Vec<SetId>,
    /// Who may want rows where the column is NULL.
    pub nulls: SetId,
}

/// Rows with their query sets, and who failed on the way.
#[derive(Debug)]
pub struct ScanOutput {
    /// Output columns are all columns of the table, by column id.
    pub tuples: Tuples,
    /// Slots that failed; they may linger in the sets.
    pub errors: Vec<(Slot, Error)>,
}

/// How a scan is made.
type NewScan = fn(Arc<TableView>, Arc<SetTable>, Vec<Query>, &TableStatistics) -> ScanBatch;

/// An activation whose predicates are bound.
struct Bound {
    slot: Slot,
    conjunction: Conjunction,
    parameters: BoundParameters,
}

impl TableBatch {
    /// Binds parameters, decides who probes and who rides, and builds the predicate indexes.
    pub fn new(view: Arc<TableView>, sets: &Arc<SetTable>, requests: &[Request<'_>]) -> TableBatch {
        TableBatch::with(view, sets, requests, ScanBatch::new)
    }

    /// The same for the fact table of a star, see [`Self::take_value_filters`].
    pub fn of_star(
        view: Arc<TableView>,
        sets: &Arc<SetTable>,
        requests: &[Request<'_>],
    ) -> TableBatch {
        TableBatch::with(view, sets, requests, ScanBatch::of_star)
    }

    fn with(
        view: Arc<TableView>,
        sets: &Arc<SetTable>,
        requests: &[Request<'_>],
        scan: NewScan,
    ) -> TableBatch {
        // A table that has got further columns since the template was made is described anew.
        let known = requests.first().map(|request| request.access);
        let known = known.filter(|access| access.types.len() == view.schema().columns.len());
        let (columns, types) = match known {
            Some(access) => (access.columns.clone(), access.types.clone()),
            None => table_columns(view.schema()),
        };
        let mut batch = TableBatch {
            types,
            columns,
            sets: sets.clone(),
            probes: Vec::new(),
            scan: None,
            chunks: Vec::new(),
            keys: Vec::new(),
            decision: Decision::default(),
            clustering: OnceLock::new(),
            errors: Vec::new(),
            view,
        };
        let mut riders = Vec::new();
        let mut undecided = Vec::new();
        for request in requests {
            match batch.place(request, &mut riders, &mut undecided) {
                Ok(()) => {}
                Err(error) => batch.errors.push((request.slot, error)),
            }
        }
        batch.decide(undecided, &mut riders);
        if let (Some(request), false) = (requests.first(), riders.is_empty()) {
            batch.board(riders, &request.access.statistics, scan);
        }
        batch
    }

    /// Points become probes at once; what has no usable index must ride.
    fn place<'a>(
        &mut self,
        request: &Request<'a>,
        riders: &mut Vec<Bound>,
        undecided: &mut Vec<(Bound, &'a TableAccess)>,
    ) -> Result<()> {
        let access = request.access;
        let path = self.path(access);
        if let Some((_, index)) = &path
            && access.is_point()
            && let Some(probe) = Probe::plain(request.slot, access, index, request.parameters)
        {
            self.decision.points += 1;
            self.probes.push(probe);
            return Ok(());
        }
        let parameters = Parameters { values: request.parameters, types: &access.parameter_types };
        let conjunction = Conjunction::bind(&access.predicates, &self.types, parameters)?;
        if conjunction.never {
            return Ok(());
        }
        let parameters = BoundParameters {
            values: request.parameters.into(),
            types: access.parameter_types.clone(),
        };
        let bound = Bound { slot: request.slot, conjunction, parameters };
        let Some((path, index)) = path else {
            riders.push(bound);
            return Ok(());
        };
        if !access.is_point() {
            undecided.push((bound, access));
            return Ok(());
        }
        let Bound { slot, conjunction, parameters } = bound;
        match Probe::bound(slot, path, &index, conjunction, &self.types, parameters.clone()) {
            Ok(probe) => {
                self.decision.points += 1;
                self.probes.push(probe);
            }
            Err(conjunction) => riders.push(Bound { slot, conjunction, parameters }),
        }
        Ok(())
    }

    /// The template's index, if it was not dropped since. Whoever has it in hand may use it: what the view sees
    /// was indexed before.
    fn path<'a>(&self, access: &'a TableAccess) -> Option<(&'a IndexPath, Arc<Index>)> {
        let path = access.path.as_ref()?;
        Some((path, self.view.table().index(path.index)?))
    }

    fn decide(&mut self, undecided: Vec<(Bound, &TableAccess)>, riders: &mut Vec<Bound>) {
        self.decision.unindexed = riders.len();
        if undecided.is_empty() {
            return;
        }
        let share = self.visited_share(&undecided);
        let visited_rows = undecided[0].1.statistics.rows as f64 * share;
        let estimate = |(bound, access): &(Bound, &TableAccess)| {
            let estimate = self.estimate(bound, access);
            Undecided { scan_cost: estimate.scan_cost * share, ..estimate }
        };
        let costs: Vec<Undecided> = undecided.iter().map(estimate).collect();
        let rides = decide(&costs, riders.len(), visited_rows);
        self.decision.probe_cost = costs.iter().map(|one| one.probe_cost).sum();
        self.decision.scan_cost = scan_cost(&costs, visited_rows);
        for ((bound, access), rides) in undecided.into_iter().zip(rides) {
            let path = if rides { None } else { self.path(access) };
            let Some((path, index)) = path else {
                riders.push(bound);
                continue;
            };
            let Bound { slot, conjunction, parameters } = bound;
            match Probe::bound(slot, path, &index, conjunction, &self.types, parameters.clone()) {
                Ok(probe) => {
                    self.decision.probing += 1;
                    self.probes.push(probe);
                }
                Err(conjunction) => {
                    self.decision.unindexed += 1;
                    riders.push(Bound { slot, conjunction, parameters });
                }
            }
        }
    }

    /// Share of the table's rows in chunks that zones do not rule out for all of them. Of many activations it is
    /// not worth asking: their probes cost more than any scan.
    fn visited_share(&self, undecided: &[(Bound, &TableAccess)]) -> f64 {
        if undecided.len() > ASKED_OF_ZONES {
            return 1.0;
        }
        let may_want = |chunk: &Chunk, bound: &Bound| {
            bound.conjunction.filters.iter().all(|(column, filter)| {
                let zone = chunk.zone(ColumnId(*column as u32));
                zone.is_none_or(|zone| filter.may_accept(zone))
            })
        };
        let (mut all, mut visited) = (1, 1);
        for (_, chunk) in self.view.chunks() {
            let rows = chunk.rows();
            all += rows;
            if undecided.iter().any(|(bound, _)| may_want(chunk, bound)) {
                visited += rows;
            }
        }
        visited as f64 / all as f64
    }

    /// What an activation costs with its parameters known.
    fn estimate(&self, bound: &Bound, access: &TableAccess) -> Undecided {
        let statistics = &access.statistics;
        let unknown = Default::default();
        let of = |column: usize| statistics.columns.get(column).unwrap_or(&unknown);
        let path = access.path.as_ref().expect("only activations with an index are undecided");
        let in_path = |column: usize| path.columns.iter().any(|own| own.index() == column);
        let (mut fetched, mut rows) = (statistics.rows as f64, statistics.rows as f64);
        for (column, filter) in &bound.conjunction.filters {
            let share = filter_selectivity(filter, of(*column));
            rows *= share;
            fetched *= if in_path(*column) { share } else { 1.0 };
        }
        // Rows that came after the statistics may all lie in a range: keys mostly grow, and what is asked for is mostly
        // what came last.
        let arrived = (self.view.table().live_rows() as f64 - statistics.rows as f64).max(0.0);
        let is_range =
            |(column, filter): &(usize, ColumnFilter)| in_path(*column) && !wants_points(filter);
        if bound.conjunction.filters.iter().any(is_range) {
            fetched += arrived;
            rows += arrived;
        }
        for (column, pattern) in &bound.conjunction.patterns {
            rows *= pattern_selectivity(pattern, of(*column));
        }
        let estimate = access.estimate();
        Undecided {
            probe_cost: TableAccess::probe_cost(fetched),
            scan_cost: estimate.scan_cost,
            rows,
        }
    }

    /// Builds the scan of those who ride.
    fn board(&mut self, riders: Vec<Bound>, statistics: &TableStatistics, scan: NewScan) {
        self.decision.riding = riders.len();
        let (mut slots, mut queries) = (Vec::new(), Vec::new());
        for Bound { slot, conjunction, parameters } in riders {
            match conjunction.split(&self.types, parameters.borrow()) {
                Ok(arms) => {
                    for conjunction in arms.into_iter().filter(|arm| !arm.never) {
                        slots.push(slot);
                        queries.push(Query { conjunction, parameters: parameters.clone() });
                    }
                }
                Err(error) => self.errors.push((slot, error)),
            }
        }
        if queries.is_empty() {
            return;
        }
        let own = slots.len() == self.sets.slots()
            && slots.iter().enumerate().all(|(number, slot)| slot.index() == number);
        let sets = if own { self.sets.clone() } else { Arc::new(SetTable::new(slots.len())) };
        let renumbering = (!own).then(|| Renumbering::onto(slots.iter().copied()));
        let batch = scan(self.view.clone(), sets, queries, statistics);
        let errors = batch.errors().iter();
        self.errors.extend(errors.map(|(number, error)| (slots[number.index()], error.clone())));
        let chunks = self.view.chunks().iter();
        let wanted = chunks.filter(|(_, chunk)| batch.wanted(chunk) != SetId::EMPTY);
        self.chunks = wanted.map(|(id, _)| *id).collect();
        self.decision.chunks = self.chunks.len();
        self.decision.all_chunks = self.view.chunks().len();
        let schema = self.view.schema();
        let describe = |(pick, kind): (&super::optimizer::Pick, &str)| {
            let name = &schema.columns[pick.attribute.column].name;
            format!("{name} by {kind} ({} activations, gain {:.1})", pick.slots.len(), pick.gain)
        };
        self.decision.indexes = batch.picks().map(describe).collect();
        let keys_first = batch.takes_keys_first();
        self.scan = Some(Riders { batch, slots, renumbering, keys_first });
    }

    /// Slots that failed before any row was read.
    pub fn errors(&self) -> &[(Slot, Error)] {
        &self.errors
    }

    /// Who probes, who rides, and why.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The table.
    pub fn view(&self) -> &Arc<TableView> {
        &self.view
    }

    /// Which values of a column lie in one chunk only. Looked for once, for one column: for another there is none.
    pub fn clustering(&self, column: ColumnId) -> Option<&Clustering> {
        let (known, clustering) =
            self.clustering.get_or_init(|| (column, self.view.clustering(column)));
        clustering.as_ref().filter(|_| *known == column)
    }

    /// All index probes of the batch, rows in the order of keys; `None` if nobody probes.
    pub fn probe(&self) -> Option<ScanOutput> {
        self.found().map(|found| self.output(found))
    }

    /// The same, each row once, in the order in which chunks have them.
    pub fn probe_in_order(&self) -> Option<ScanOutput> {
        let mut found = self.found()?;
        found.unite(&self.sets);
        Some(self.output(found))
    }

    fn found(&self) -> Option<Found> {
        let probes = &self.probes;
        (!probes.is_empty()).then(|| probe_all(&self.view, &self.sets, &self.types, probes))
    }

    fn output(&self, mut found: Found) -> ScanOutput {
        let sets = found.sets(&self.sets);
        ScanOutput { tuples: self.tuples(found.locations, sets), errors: found.errors }
    }

    /// Drops rows of those who ride that cannot be joined by `column`.
    pub fn narrow_by(&mut self, column: ColumnId, keys: Arc<KeyFilter>) {
        self.keys.push((column, keys));
    }

    /// The chunks that hold rows for those who ride.
    pub fn chunks(&self) -> &[ChunkId] {
        &self.chunks
    }

    /// The rows of one chunk for those who ride.
    pub fn scan(&self, chunk: ChunkId) -> ScanOutput {
        let ChunkRows { rows, sets, errors } = self.scan_rows(chunk);
        let locations = rows.into_iter().map(|offset| Location { chunk, offset }).collect();
        ScanOutput { tuples: self.tuples(locations, sets), errors }
    }

    /// The same rows by their offsets.
    pub fn scan_rows(&self, chunk: ChunkId) -> ChunkRows {
        let Some(riders) = &self.scan else { return ChunkRows::none() };
        let mut looked_up = Vec::new();
        let found = riders.batch.scan_after(chunk, |chunk, rows| {
            if riders.keys_first { self.look_up(chunk, rows, &mut looked_up) } else { None }
        });
        let rows = found.rows.len();
        let sets = match &riders.renumbering {
            None => found.sets,
            Some(renumbering) => found
                .sets
                .renumber(rows, riders.batch.sets(), &self.sets, renumbering)
                .compact(rows, &self.sets),
        };
        let errors = found.errors.into_iter();
        let errors = errors.map(|(number, error)| (riders.slots[number.index()], error)).collect();
        self.narrowed(chunk, ChunkRows { rows: found.rows, sets, errors }, &looked_up)
    }

    /// The rows whose keys somebody has; notes which filters were asked.
    fn look_up(&self, chunk: &Chunk, rows: Rows<'_>, asked: &mut Vec<usize>) -> Option<Vec<u32>> {
        let mut kept: Option<Vec<u32>> = None;
        for (number, (column, keys)) in self.keys.iter().enumerate() {
            if keys.comes_first() {
                let rows = kept.as_deref().map_or(rows, Rows::Some);
                kept = Some(keys.look_up(&chunk.column(*column), rows));
                asked.push(number);
            }
        }
        kept
    }

    /// What joins leave of a chunk's rows, which some of the keys have been `looked_up` of.
    fn narrowed(&self, chunk: ChunkId, mut found: ChunkRows, looked_up: &[usize]) -> ChunkRows {
        for (number, (column, keys)) in self.keys.iter().enumerate() {
            if found.rows.is_empty() {
                break;
            }
            let column = self.view.chunk(chunk).column(*column);
            found = match looked_up.contains(&number) {
                true => keys.narrow_known(&column, found, &self.sets),
                false => keys.narrow(&column, found, &self.sets),
            };
        }
        found
    }

    /// Everything, on this thread.
    pub fn run(&self) -> ScanOutput {
        if self.chunks.is_empty() {
            return self.probe().unwrap_or_else(|| self.nothing());
        }
        let mut errors = Vec::new();
        let outputs = self.probe().into_iter().chain(self.chunks.iter().map(|id| self.scan(*id)));
        let parts = outputs.map(|output| {
            errors.extend(output.errors);
            output.tuples
        });
        let tuples = Tuples::concat(parts.collect(), &self.sets).expect("there is a chunk");
        ScanOutput { tuples, errors }
    }

    /// Takes the predicate indexes over integer columns of at most `widest` values out of the scan: its rows then still
    /// have to meet these filters. `all` are the slots of the batch. What one of several conjunctions of a slot asks stays in
    /// the scan: a row has to meet one of them whole, not each column's part of any.
    pub fn take_value_filters(&mut self, widest: u64, all: SetId) -> Vec<ValueFilter> {
        let Some(riders) = &mut self.scan else { return Vec::new() };
        let slots = &riders.slots;
        let is_whole = |number: Slot| {
            let number = number.index();
            let before = number.checked_sub(1).map(|before| slots[before]);
            before != Some(slots[number]) && slots.get(number + 1) != Some(&slots[number])
        };
        let taken = riders.batch.take_value_sets(widest, is_whole);
        let riding = self.sets.intern_slots(riders.slots.iter().copied());
        let probing = self.sets.difference(all, riding);
        let filter = |(column, least, ids): (ColumnId, i64, Vec<SetId>)| {
            let values = ids.len();
            let sets = match &riders.renumbering {
                None => ids,
                Some(renumbering) => QuerySets::Interned(ids)
                    .renumber(values, riders.batch.sets(), &self.sets, renumbering)
                    .ids(values, &self.sets),
            };
            let mut sets: Vec<SetId> =
                sets.into_iter().map(|set| self.sets.union(set, probing)).collect();
            let nulls = sets.pop().unwrap_or(SetId::EMPTY);
            ValueFilter { column, least, sets, nulls }
        };
        taken.into_iter().map(filter).collect()
    }

    fn nothing(&self) -> ScanOutput {
        ScanOutput { tuples: self.tuples(Vec::new(), QuerySets::none()), errors: Vec::new() }
    }

    fn tuples(&self, locations: Vec<Location>, sets: QuerySets) -> Tuples {
        let source = Source { view: self.view.clone(), locations };
        Tuples::of_source(source, self.columns.clone(), sets)
    }
}
