//! Keys that one side of a join has found, handed down to the scans below the other side.
//!
//! A join's right side narrows its left side's tables, and the other way round where the left side is the smaller one by
//! far; an index join's predicates narrow its outer side, through as many joins as lie between ("sideways information
//! passing"). A filter goes down through whatever hands its column on unchanged and cannot fail, and waits at the scan, or
//! at the index join whose inner table has the column, until that is opened.

use std::sync::Arc;

use super::{Run, Shared, chunks_pipe};
use crate::heartbeat::read::pipeline::{Part, Pipe, PipeSource, Sink};
use crate::heartbeat::read::prepared::PreparedNode;
use crate::heartbeat::read::probe_chain::Views;
use crate::operators::HashJoinNode;
use crate::plan::{JoinKind, LaneNode, LanePlan, SharedOperation};
use crate::query_set::{QuerySets, SetId, Tuples};
use crate::scan::{KeyFilter, Keys, TableBatch};
use crate::types::{ColumnId, DataType, Predicate, Result, Scalar};

/// Rows below which an input is not worth narrowing.
const WORTHWHILE: f64 = 50_000.0;
/// So many times the other side's rows make a side worth waiting for the other side's keys.
const SMALLER: f64 = 2.0;
/// Rows of an inner table that may be read for each row of the outer side: about 3 ns against the 100 of a look-up.
const INNER_ROWS: f64 = 3.0;

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
        let PreparedNode::HashJoin(node) = &shared.lane.nodes[n] else { unreachable!() };
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
            let landings = self.landings(left, left_column);
            self.hand_down(n, &landings, std::slice::from_ref(rows), right_column);
        }
    }

    /// The rows of the left side, where these are to narrow the right side; `None` where the right side comes first.
    pub(super) fn left_first(&mut self, n: usize) -> Result<Option<Vec<Pipe>>> {
        let shared = self.shared.clone();
        let PreparedNode::HashJoin(node) = &shared.lane.nodes[n] else { unreachable!() };
        if matches!(node.kind, JoinKind::Right | JoinKind::Full) {
            return Ok(None);
        }
        let inputs = &shared.lane.plan.nodes[n].inputs;
        let (left, right) = (self.expected(inputs[0]), self.expected(inputs[1]));
        let pays = right >= WORTHWHILE && left * SMALLER <= right;
        if !pays && !(self.narrow_all && left <= right) {
            return Ok(None);
        }
        let keys = node.keys.iter().zip(comparable(node)).filter(|key| key.1);
        let keys: Vec<(usize, Vec<Landing>)> =
            keys.map(|(key, _)| (key.0, self.landings(inputs[1], key.1))).collect();
        if keys.iter().all(|(_, landings)| landings.is_empty()) {
            return Ok(None);
        }
        let pipes = self.input(n, 0)?;
        let parts = self.drain(pipes, Sink::Join(n)).into_iter();
        let chunks: Vec<Tuples> = parts.flat_map(chunks).filter(|chunk| chunk.rows > 0).collect();
        for (column, landings) in keys {
            self.hand_down(n, &landings, &chunks, column);
        }
        Ok(Some(vec![chunks_pipe(chunks)]))
    }

    /// The inner rows that an index join's predicates leave narrow its outer side.
    pub(super) fn narrow_outer(&mut self, n: usize) -> Result<()> {
        let shared = self.shared.clone();
        let PreparedNode::IndexJoin { table, node, inner } = &shared.lane.nodes[n] else {
            unreachable!()
        };
        let waiting = self.take_waiting(n, shared.wanted[n]);
        let asks = |user: &crate::operators::Users| !node.inner[user.variant].is_empty();
        let [key] = &node.keys[..] else { return Ok(()) };
        if !matches!(node.kind, JoinKind::Inner | JoinKind::Semi)
            || (waiting.is_empty() && !shared.users[n].iter().any(asks))
        {
            return Ok(());
        }
        let outer = shared.lane.plan.nodes[n].inputs[0];
        let view = self.views.view(*table)?;
        let inner_rows = view.table().live_rows() as f64;
        let expected = self.expected(outer);
        let pays = expected >= WORTHWHILE && expected * INNER_ROWS >= inner_rows;
        if !(pays || self.narrow_all) {
            return Ok(());
        }
        let schema = view.schema();
        let index = schema.indexes.iter().find(|index| index.id == node.index);
        let Some(index) = index else { return Ok(()) };
        let types = &shared.lane.plan.nodes[outer].types;
        let pairs = key.iter().zip(index.columns.iter()).filter(|(outer, inner)| {
            KeyFilter::is_for(types[**outer], schema.columns[inner.index()].data_type)
        });
        let pairs: Vec<(Vec<Landing>, usize)> = pairs
            .map(|(outer_column, inner)| (self.landings(outer, *outer_column), inner.index()))
            .collect();
        if pairs.iter().all(|(landings, _)| landings.is_empty()) {
            return Ok(());
        }
        let wanted = shared.wanted[n];
        // What fails here may never be asked of rows that no outer row refers to: its slots are let through.
        let faults = std::mem::take(&mut self.faults);
        let put_out = self.spent[n].rows;
        let batch = self.table_batch(*table, &[(n, &inner[..])], wanted);
        let chunks = batch.map(|mut batch| {
            narrow(&mut batch, waiting);
            let source = PipeSource::Table(n, Arc::new(batch));
            self.collect(vec![Pipe { source, steps: Vec::new() }])
        });
        let failed = std::mem::replace(&mut self.faults, faults);
        // Inner rows are not the join's.
        self.spent[n].rows = put_out;
        let chunks = chunks?;
        if failed.is_empty() {
            for (landings, column) in pairs {
                self.hand_down(n, &landings, &chunks, column);
            }
        }
        Ok(())
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
        let shared = self.shared.clone();
        let key = |chunk: &Tuples| chunk.column(column);
        let arrays: Vec<_> = chunks.iter().map(key).collect();
        let sets: Vec<&QuerySets> = chunks.iter().map(|chunk| &chunk.sets).collect();
        let runs: Vec<Keys<'_>> = arrays.into_iter().zip(sets).collect();
        let slots = shared.wanted[n];
        let Some(filter) = KeyFilter::new(&runs, slots, &shared.sets) else { return };
        if shared.budget.reserve(filter.memory()).is_err() {
            return;
        }
        let filter = Arc::new(filter);
        let waiting = landings.iter().map(|&(node, column)| Waiting {
            node,
            column,
            slots,
            filter: filter.clone(),
        });
        self.waiting.extend(waiting);
    }

    /// Rows that a node is expected to put out for this batch.
    fn expected(&self, n: usize) -> f64 {
        let node = &self.shared.lane.plan.nodes[n];
        let of = |user: &crate::operators::Users| {
            let slots = self.shared.sets.cardinality(user.set) as f64;
            node.estimates[user.variant].estimate.union(slots)
        };
        self.shared.users[n].iter().map(of).sum()
    }

    fn landings(&self, n: usize, column: usize) -> Vec<Landing> {
        let mut found = Vec::new();
        let mut below = vec![(n, column)];
        while let Some((n, column)) = below.pop() {
            let node = &self.shared.lane.plan.nodes[n];
            // A template that has a node twice means different rows by it each time.
            if self.kept[n].is_some() || uses_twice(&self.shared, n) {
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
}

fn narrow(batch: &mut TableBatch, waiting: Vec<Waiting>) {
    waiting.into_iter().for_each(|own| batch.narrow_by(own.column, own.filter));
}

fn chunks(part: Part) -> Vec<Tuples> {
    match part {
        Part::Join(build) => build.into_chunks(),
        _ => Vec::new(),
    }
}

/// By key, whether both columns are integers or dates.
fn comparable(node: &HashJoinNode) -> impl Iterator<Item = bool> {
    let types = |&(left, right): &(usize, usize)| (node.left_types[left], node.right_types[right]);
    node.keys
        .iter()
        .map(types)
        .map(|(left, right): (DataType, DataType)| KeyFilter::is_for(left, right))
}

fn uses_twice(shared: &Shared, n: usize) -> bool {
    let members = &shared.lane.plan.nodes[n].members;
    members.iter().enumerate().any(|(i, member)| members[..i].contains(member))
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
            match keeps_left(*kind) && !any_expression(residuals) {
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
