//! Keys that one side of a join has found, handed down to the scans below the other side.
//!
//! A join's right side narrows its left side's tables, and the other way round where the left side is the smaller one by
//! far; an index join's predicates narrow its outer side, through as many joins as lie between ("sideways information
//! passing"). A filter goes down through whatever hands its column on unchanged and cannot fail, and waits at the scan, or
//! at the index join whose inner table has the column, until that is opened.

use std::sync::Arc;

use super::{Run, chunks_pipe, then};
use crate::heartbeat::read::pipeline::{Part, Pipe, PipeSource, Sink, Step};
use crate::heartbeat::read::prepared::PreparedNode;
use crate::heartbeat::read::probe_chain::Views;
use crate::operators::{HashJoinNode, JoinBuild, JoinTable, Users};
use crate::plan::{JoinKind, LaneNode, LanePlan, SharedOperation};
use crate::query_set::{SetId, Tuples};
use crate::scan::{KeyFilter, Keys, TableAccess, TableBatch};
use crate::types::{ColumnId, DataType, Predicate, Result, Scalar, TableId};

/// Rows below which an input is not worth narrowing.
pub(super) const WORTHWHILE: f64 = 50_000.0;
/// So many times the other side's rows make a side worth waiting for the other side's keys.
const SMALLER: f64 = 2.0;
/// Rows of an inner table that may be read for each row of the outer side: about 3 ns against the 100 of a look-up.
const INNER_ROWS: f64 = 3.0;
/// The same where an outer row's look-up is one of many that miss the cache.
const INNER_ROWS_OF_MANY: f64 = 32.0;
/// An inner table of so many times fewer rows than the outer side's is read as a whole.
const FEW_INNER: f64 = 4.0;

/// A filter on its way, where it waits.
pub(super) struct Waiting {
    node: usize,
    /// Of the scan's table, or of the index join's inner one.
    column: ColumnId,
    slots: SetId,
    filter: Arc<KeyFilter>,
}

/// Where a filter takes effect: a scan's or an index join's inner column.
type Landing = (usize, ColumnId);

impl Run<'_> {
    /// The right side's keys narrow the left side, which is opened next.
    pub(super) fn narrow_left(&mut self, n: usize, rows: &Tuples) {
        let shared = self.shared.clone();
        let node = shared.lane.nodes[n].hash_join();
        let matters = matches!(node.kind, JoinKind::Inner | JoinKind::Semi);
        let left = shared.lane.plan.nodes[n].inputs[0];
        let expected = self.expected(left);
        let pays = expected >= WORTHWHILE && rows.rows as f64 * SMALLER <= expected;
        if !matters || !(pays || self.narrow_all) {
            return;
        }
        for (&(left_column, right_column), _) in
            node.keys.iter().zip(comparable(node)).filter(|k| k.1)
        {
            let landings = self.landings(left, left_column, shared.wanted[n]);
            self.hand_down(n, &landings, std::slice::from_ref(rows), right_column);
        }
    }

    /// The rows of the left side, where these are to narrow the right side; `None` where the right side comes first.
    pub(super) fn left_first(&mut self, n: usize) -> Result<Option<Vec<Pipe>>> {
        let shared = self.shared.clone();
        let node = shared.lane.nodes[n].hash_join();
        if matches!(node.kind, JoinKind::Right | JoinKind::Full) {
            return Ok(None);
        }
        let inputs = &shared.lane.plan.nodes[n].inputs;
        let (left, right) = (self.expected(inputs[0]), self.expected(inputs[1]));
        let pays = right >= WORTHWHILE && left * SMALLER <= right;
        let tried = self.narrow_all && left <= right;
        if !(pays || tried) {
            return Ok(None);
        }
        let keys = node.keys.iter().zip(comparable(node)).filter(|key| key.1);
        let keys: Vec<(usize, Vec<Landing>)> = keys
            .map(|(key, _)| (key.0, self.landings(inputs[1], key.1, shared.wanted[n])))
            .collect();
        if keys.iter().all(|(_, landings)| landings.is_empty()) {
            return Ok(None);
        }
        let chunks = self.rows_of_left(n)?;
        for (column, landings) in keys {
            self.hand_down(n, &landings, &chunks, column);
        }
        Ok(Some(vec![chunks_pipe(chunks)]))
    }

    /// An index join by hash table where reading the inner table costs less than looking every outer row up. Its rows narrow
    /// the outer side where its predicates, or keys from above, leave few of them.
    pub(super) fn by_hash(&mut self, n: usize) -> Result<Option<Vec<Pipe>>> {
        let shared = self.shared.clone();
        let PreparedNode::IndexJoin { table, node, inner, hash } = &shared.lane.nodes[n] else {
            unreachable!()
        };
        let waiting = self.take_waiting(n, shared.wanted[n]);
        let Some(hash) = hash else { return Ok(None) };
        let outer = shared.lane.plan.nodes[n].inputs[0];
        let (expected, inner_rows) = (self.expected(outer), self.live_rows(*table)?);
        let worthwhile = expected >= WORTHWHILE || self.narrow_all;
        let asks = |user: &Users| !node.inner[user.variant].is_empty();
        let restricts = !waiting.is_empty() || shared.users[n].iter().any(asks);
        let drops = matches!(node.kind, JoinKind::Inner | JoinKind::Semi) && restricts;
        if !worthwhile || expected * INNER_ROWS_OF_MANY < inner_rows {
            return Ok(None);
        }
        if (drops && expected * INNER_ROWS >= inner_rows) || expected >= inner_rows * FEW_INNER {
            let Some(chunks) = self.inner_rows(n, *table, inner, waiting)? else { return Ok(None) };
            if drops {
                let wanted = shared.wanted[n];
                for &(left, right) in &hash.keys {
                    self.hand_down(n, &self.landings(outer, left, wanted), &chunks, right);
                }
            }
            let Some(table) = self.table_of(n, chunks) else { return Ok(None) };
            return Ok(Some(then(self.input(n, 0)?, Step::Probe(n, table))));
        }
        let left = self.rows_of_left(n)?;
        let mut keys = waiting;
        for &(left_column, right_column) in &hash.keys {
            let filter = self.key_filter(n, &left, left_column, inner_rows);
            let column = ColumnId(right_column as u32);
            let slots = shared.wanted[n];
            keys.extend(filter.map(|filter| Waiting { node: n, column, slots, filter }));
        }
        let left = vec![chunks_pipe(left)];
        let chunks = self.inner_rows(n, *table, inner, keys)?;
        Ok(Some(match chunks.and_then(|chunks| self.table_of(n, chunks)) {
            Some(table) => then(left, Step::Probe(n, table)),
            None => self.by_index(n, left)?,
        }))
    }

    /// The rows of an index join's inner table that somebody wants; `None` where that cannot be asked of rows that no outer
    /// row may refer to.
    fn inner_rows(
        &mut self,
        n: usize,
        table: TableId,
        inner: &[TableAccess],
        keys: Vec<Waiting>,
    ) -> Result<Option<Vec<Tuples>>> {
        let faults = std::mem::take(&mut self.faults);
        let put_out = self.spent[n].rows;
        let wanted = self.shared.wanted[n];
        let batch = self.table_batch(table, &[(n, inner)], wanted);
        let chunks = batch.map(|mut batch| {
            self.spent[n].access = Some(format!("by hash table, {}", batch.decision()).into());
            narrow(&mut batch, keys);
            let source = PipeSource::Table(n, Arc::new(batch));
            self.collect(vec![Pipe { source, steps: Vec::new() }])
        });
        let failed = std::mem::replace(&mut self.faults, faults);
        // Inner rows are not the join's.
        self.spent[n].rows = put_out;
        Ok(failed.is_empty().then_some(chunks?))
    }

    /// `None` where there is no memory for it.
    fn table_of(&mut self, n: usize, chunks: Vec<Tuples>) -> Option<Arc<JoinTable>> {
        let shared = self.shared.clone();
        let (node, parameters) = (shared.lane.nodes[n].hash_join(), shared.parameters());
        let batch = shared.batch(&parameters);
        let memory = chunks.iter().map(|chunk| node.memory(chunk)).sum();
        batch.budget.reserve(memory).ok()?;
        batch.budget.release(memory);
        let mut build = JoinBuild::default();
        chunks.into_iter().for_each(|chunk| build.add(node, &batch, chunk, &mut self.faults));
        Some(Arc::new(self.join_table(n, vec![build])))
    }

    fn rows_of_left(&mut self, n: usize) -> Result<Vec<Tuples>> {
        let shared = self.shared.clone();
        let (node, parameters) = (shared.lane.nodes[n].hash_join(), shared.parameters());
        let batch = shared.batch(&parameters);
        let pipes = self.input(n, 0)?;
        let chunks = |part: Part| match part {
            Part::Join(build) => build.into_chunks(node, &batch),
            _ => Vec::new(),
        };
        let chunks = self.drain(pipes, Sink::Join(n)).into_iter().flat_map(chunks);
        Ok(chunks.filter(|chunk| chunk.rows > 0).collect())
    }

    /// Narrows a scan of some slots by what waits for it, and says by which columns.
    pub(super) fn narrow_scan(&mut self, n: usize, batch: &mut TableBatch, slots: SetId) {
        let waiting = self.take_waiting(n, slots);
        if !waiting.is_empty() {
            let schema = batch.view().schema().clone();
            let names = waiting.iter().map(|own| &*schema.columns[own.column.index()].name);
            let names = names.collect::<Vec<_>>().join(", ");
            self.spent[n].access =
                Some(format!("{}; only keys met: {names}", batch.decision()).into());
            narrow(batch, waiting);
        }
    }

    /// Whether filters wait for a node's rows of these slots.
    pub(super) fn has_waiting(&self, n: usize, slots: SetId) -> bool {
        let concerns = |own: &Waiting| {
            own.node == n && self.shared.sets.intersect(own.slots, slots) != SetId::EMPTY
        };
        self.waiting.iter().any(concerns)
    }

    fn take_waiting(&mut self, n: usize, slots: SetId) -> Vec<Waiting> {
        let sets = self.shared.sets.clone();
        let concerns =
            |own: &mut Waiting| own.node == n && sets.intersect(own.slots, slots) != SetId::EMPTY;
        self.waiting.extract_if(.., concerns).collect()
    }

    /// Makes a filter of the keys in `column` and lets it wait at the landings.
    fn hand_down(&mut self, n: usize, landings: &[Landing], chunks: &[Tuples], column: usize) {
        if landings.is_empty() {
            return;
        }
        let asked = landings.iter().map(|landing| self.asked(landing.0)).fold(0.0, f64::max);
        let Some(filter) = self.key_filter(n, chunks, column, asked) else { return };
        let slots = self.shared.wanted[n];
        let waiting = landings.iter().map(|&(node, column)| Waiting {
            node,
            column,
            slots,
            filter: filter.clone(),
        });
        self.waiting.extend(waiting);
    }

    /// The keys in `column` that a join's slots want; `None` where they make no array, or there is no memory for one.
    fn key_filter(
        &self,
        n: usize,
        chunks: &[Tuples],
        column: usize,
        asked: f64,
    ) -> Option<Arc<KeyFilter>> {
        let shared = &self.shared;
        let arrays: Vec<_> = chunks.iter().map(|chunk| chunk.column(column)).collect();
        let sets = chunks.iter().map(|chunk| &chunk.sets);
        let runs: Vec<Keys<'_>> = arrays.into_iter().zip(sets).collect();
        let filter = KeyFilter::new(&runs, shared.wanted[n], &shared.sets, asked as u64)?;
        shared.budget.reserve(filter.memory()).ok()?;
        Some(Arc::new(filter))
    }

    /// Rows that a filter is asked for where it lands, about: those that a scan finds; of an index join's inner table that is
    /// all, where it is read as a whole.
    fn asked(&mut self, landing: usize) -> f64 {
        match &self.shared.clone().lane.plan.nodes[landing].operation {
            SharedOperation::IndexJoin { table, .. } => self.live_rows(*table).unwrap_or_default(),
            _ => self.expected(landing),
        }
    }

    fn live_rows(&mut self, table: TableId) -> Result<f64> {
        Ok(self.views.view(table)?.table().live_rows() as f64)
    }

    /// Rows that a node is expected to put out for this batch.
    pub(super) fn expected(&self, n: usize) -> f64 {
        let node = &self.shared.lane.plan.nodes[n];
        let of = |user: &Users| {
            let slots = self.shared.sets.cardinality(user.set) as f64;
            node.estimates[user.variant].estimate.union(slots)
        };
        self.shared.users[n].iter().map(of).sum()
    }

    /// Where keys in a column of node `n` may drop rows that the slots of a join want.
    fn landings(&self, n: usize, column: usize, slots: SetId) -> Vec<Landing> {
        let mut found = Vec::new();
        let mut below = vec![(n, column)];
        while let Some((n, column)) = below.pop() {
            let node = &self.shared.lane.plan.nodes[n];
            if self.kept[n].is_some() || self.is_read_twice(n, slots) {
                continue;
            }
            match &node.operation {
                SharedOperation::Scan { .. } => found.push((n, ColumnId(column as u32))),
                SharedOperation::IndexJoin { kind: JoinKind::Inner, .. }
                    if column >= left_width(&self.shared.lane.plan, node) =>
                {
                    let own = column - left_width(&self.shared.lane.plan, node);
                    found.push((n, ColumnId(own as u32)));
                }
                _ => below.extend(sources(&self.shared.lane.plan, node, column)),
            }
        }
        found
    }

    /// Whether some of these slots read a node's rows for two consumers, or on both sides of one: what has no key for one
    /// of them is wanted by the other.
    fn is_read_twice(&self, n: usize, slots: SetId) -> bool {
        let shared = &self.shared;
        let consumers = shared.lane.plan.nodes[n].consumers.iter();
        let reads = |c: &&usize| shared.sets.intersect(shared.wanted[**c], slots) != SetId::EMPTY;
        consumers.filter(reads).count() > 1
    }
}

fn narrow(batch: &mut TableBatch, waiting: Vec<Waiting>) {
    waiting.into_iter().for_each(|own| batch.narrow_by(own.column, own.filter));
}

/// By key, whether both columns are integers or dates.
fn comparable(node: &HashJoinNode) -> impl Iterator<Item = bool> {
    let types = |&(left, right): &(usize, usize)| (node.left_types[left], node.right_types[right]);
    node.keys
        .iter()
        .map(types)
        .map(|(left, right): (DataType, DataType)| KeyFilter::is_for(left, right))
}

fn left_width(plan: &LanePlan, node: &LaneNode) -> usize {
    plan.nodes[node.inputs[0]].types.len()
}

/// The inputs' columns whose values reach an output column unchanged, where rows without a wanted value there may be left
/// out below: no group, pair or error of another value depends on them.
fn sources(plan: &LanePlan, node: &LaneNode, column: usize) -> Vec<(usize, usize)> {
    let below = |i: usize, column: usize| (node.inputs[i], column);
    match &node.operation {
        SharedOperation::Filter { variants } if !any_expression(variants) => vec![below(0, column)],
        SharedOperation::Project { expressions } => match expressions[column] {
            Scalar::Column(column) if !expressions.iter().any(is_expression) => {
                vec![below(0, column)]
            }
            _ => Vec::new(),
        },
        SharedOperation::Distinct => vec![below(0, column)],
        SharedOperation::Aggregate { keys, .. } if column < keys.len() => {
            vec![below(0, keys[column])]
        }
        SharedOperation::IndexJoin { kind, residuals, .. } => {
            // The inner table's columns are no left row's: of an outer join they say nothing below.
            let is_left = column < left_width(plan, node);
            match is_left && keeps_left(*kind) && !any_expression(residuals) {
                true => vec![below(0, column)],
                false => Vec::new(),
            }
        }
        SharedOperation::HashJoin { kind, keys, residuals } if !any_expression(residuals) => {
            let left = left_width(plan, node);
            let equal = |c: usize| keys.iter().find(|(a, b)| *a == c || left + *b == c);
            match column.checked_sub(left) {
                None if keeps_left(*kind) => {
                    let partner = equal(column).map(|(_, right)| below(1, *right));
                    std::iter::once(below(0, column)).chain(partner).collect()
                }
                Some(right) if *kind == JoinKind::Inner => {
                    let partner = equal(column).map(|(left, _)| below(0, *left));
                    std::iter::once(below(1, right)).chain(partner).collect()
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Whether a left row's fate depends on itself and its partners only.
fn keeps_left(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
}

fn is_expression(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Expression(_))
}

fn any_expression(variants: &[Vec<Predicate>]) -> bool {
    fn reads(predicate: &Predicate) -> bool {
        match predicate {
            Predicate::Expression(_) => true,
            Predicate::Or(arms) => arms.iter().flatten().any(reads),
            _ => false,
        }
    }
    variants.iter().flatten().any(reads)
}
