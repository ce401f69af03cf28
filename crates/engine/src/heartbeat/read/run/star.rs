//! A star of a batch: its dimensions one after the other, then one pass over its fact table, on a ring of its own or on one
//! that turns already.

use std::sync::Arc;

use super::super::pipeline::{Pipe, PipeSource};
use super::super::pool::Loop;
use super::super::prepared::PreparedNode;
use super::super::probe_chain::Views;
use super::super::ring::{Finished, Rider, Ring, StarPass};
use super::super::star::{PreparedDimension, PreparedStar};
use super::aboard::Asking;
use super::{PARALLEL, Run, Shared, each};
use crate::operators::{
    Child, Dimension, DimensionRows, FREE_SPAN, Star, StarDimension, StarGroups, StarNode,
};
use crate::query_set::{SetId, Tuples};
use crate::scan::{TableAccess, TableBatch};
use crate::types::Result;

/// Rows of dimensions from which on these are put together by several workers: about 0.3 ms, ten times a wake-up.
const MANY_ROWS: usize = 1 << 14;

/// What became of a star in this batch.
pub(super) enum StarRun {
    Untried,
    /// Its groupings run one by one.
    Declined,
    Done(Arc<StarGroups>),
}

/// A dimension on its way to be put together.
enum Part {
    TakenOver(Dimension),
    /// It leads to others.
    Parent(DimensionRows),
    /// It is put together beside others.
    Leaf,
}

impl Run<'_> {
    /// The groups of a star, run once for all its groupings in this batch; `None` where they are better run one by one.
    pub(super) fn star(&mut self, number: usize) -> Result<Option<Arc<StarGroups>>> {
        match &self.stars[number] {
            StarRun::Done(groups) => return Ok(Some(groups.clone())),
            StarRun::Declined => return Ok(None),
            StarRun::Untried => {}
        }
        let Some(pass) = self.begin_star(number, &[])? else { return Ok(None) };
        let (ring, rider) = Ring::new(pass);
        match ring.morsels() < PARALLEL || self.pool.workers() == 0 {
            true => ring.help(&|| false),
            false => self.pool.run(ring),
        }
        Ok(Some(self.end_star(number, &rider)))
    }

    /// A star's dimensions and what is asked of its fact table, ready for the pass; `None` where its groupings are better
    /// run one by one. `aboard` ride already on the ring that it is to get on.
    pub fn begin_star(&mut self, number: usize, aboard: &[Arc<Rider>]) -> Result<Option<StarPass>> {
        let pass = self.star_pass(number, aboard)?;
        if pass.is_none() {
            self.stars[number] = StarRun::Declined;
        }
        Ok(pass)
    }

    fn star_pass(&mut self, number: usize, aboard: &[Arc<Rider>]) -> Result<Option<StarPass>> {
        let shared = self.shared.clone();
        let star = &shared.lane.stars.stars[number];
        let wanted: Vec<SetId> =
            star.groupings.iter().map(|(node, _)| shared.wanted[*node]).collect();
        let all = union(&shared, wanted.iter());
        let activations = shared.sets.cardinality(all);
        if !star.pays(&shared.lane.plan, &wanted, activations, self.views.store) {
            return Ok(None);
        }
        let made = self.dimensions(number, &wanted, all, aboard)?;
        let Some((dimensions, taken_over)) = made else { return Ok(None) };
        let PreparedNode::Scan { table, variants } = &shared.lane.nodes[star.scan] else {
            unreachable!("a star stands on a scan")
        };
        let view = self.views.view(*table)?;
        let mut fact = self.bound(*table, &[(star.scan, variants)], all, TableBatch::of_star)?;
        let decision = fact.decision().to_string();
        let filters = fact.take_value_filters(FREE_SPAN, all);
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        let made = Star::new(&star.node, &batch, view, dimensions, &filters, &wanted);
        let Some(mut made) = made else { return Ok(None) };
        made.pack(&star.node, &batch, &fact, self.packs, &star.last_sample);
        let made = Arc::new(made);
        let in_bins = made.groupings_in_bins();
        let mut access = format!("{decision}; {}, {in_bins} in bins", star.describe(&wanted));
        if taken_over > 0 {
            access = format!("{access}; {taken_over} dimensions as batches aboard have them");
        }
        if let Some(packing) = made.packing() {
            access = format!("{access}; {packing}");
            self.packed.push(made.clone());
        }
        self.note_star(star, &wanted, access);
        Ok(Some(StarPass { shared: shared.clone(), number, star: made, fact }))
    }

    /// Takes over what the star's rider has brought back.
    pub fn end_star(&mut self, number: usize, rider: &Rider) -> Arc<StarGroups> {
        let Finished { groups, faults, rows, took, chunks: (all, together) } = rider.finish();
        self.faults.merge(faults);
        let spent = &mut self.spent[self.shared.lane.stars.stars[number].scan];
        spent.rows += rows;
        spent.took += took;
        if together > 0 {
            let access = spent.access.as_deref().unwrap_or_default();
            let text = format!("{access}, {together} of {all} chunks together with other batches");
            spent.access = Some(text.into());
        }
        let groups = Arc::new(groups);
        self.stars[number] = StarRun::Done(groups.clone());
        groups
    }

    /// How the fact table and the joins were read, for EXPLAIN ANALYZE.
    fn note_star(&mut self, star: &PreparedStar, wanted: &[SetId], access: String) {
        self.spent[star.scan].access = Some(access.into());
        let active = star.groupings.iter().zip(wanted).filter(|(_, set)| **set != SetId::EMPTY);
        for join in active.flat_map(|((_, joins), _)| joins) {
            self.spent[*join].access = Some("inside the star's pass".into());
        }
    }

    /// The star's dimensions, and how many of them were taken over from those aboard; `None` where one cannot be an array.
    /// Those that lead to no others are put together side by side.
    fn dimensions(
        &mut self,
        number: usize,
        wanted: &[SetId],
        all: SetId,
        aboard: &[Arc<Rider>],
    ) -> Result<Option<(Vec<Dimension>, usize)>> {
        let shared = self.shared.clone();
        let star = &shared.lane.stars.stars[number];
        let (mut leaves, mut parts) = (Vec::new(), Vec::new());
        for position in 0..star.dimensions.len() {
            let users = self.users(star, position, wanted);
            let passing = shared.sets.difference(all, users);
            let asking = Asking { star: number, position, users, passing, aboard };
            parts.push(self.part(&asking, &mut leaves)?);
        }
        let taken_over = parts.iter().filter(|part| matches!(part, Part::TakenOver(_))).count();
        let mut leaves = self.leaves(leaves).into_iter();
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        // From the last to the first, turned around at the end: children come before their parents.
        let mut built: Vec<Dimension> = Vec::new();
        while let Some(part) = parts.pop() {
            let dimension = match part {
                Part::TakenOver(dimension) => Some(dimension),
                Part::Leaf => leaves.next_back().flatten(),
                Part::Parent(rows) => {
                    Dimension::new(&batch, &rows, &children(&star.node, parts.len(), &built))
                }
            };
            let Some(dimension) = dimension else { return Ok(None) };
            batch.budget.reserve(dimension.memory())?;
            built.push(dimension);
        }
        built.reverse();
        Ok(Some((built, taken_over)))
    }

    /// A dimension as those aboard have it, else its rows: among `leaves` where it leads to no others.
    fn part(&mut self, asking: &Asking<'_>, leaves: &mut Vec<DimensionRows>) -> Result<Part> {
        let shared = self.shared.clone();
        let star = &shared.lane.stars.stars[asking.star];
        let is_child = |d: &StarDimension| d.parent == Some(asking.position);
        if star.node.dimensions.iter().any(is_child) {
            return Ok(Part::Parent(self.dimension_rows(star, asking)?));
        }
        if let Some(dimension) = self.taken_over(asking)? {
            return Ok(Part::TakenOver(dimension));
        }
        leaves.push(self.dimension_rows(star, asking)?);
        Ok(Part::Leaf)
    }

    /// Dimensions that lead to no others, or `None`, in the order of their rows.
    fn leaves(&self, leaves: Vec<DimensionRows>) -> Vec<Option<Dimension>> {
        let rows: usize = leaves.iter().flat_map(|own| &own.chunks).map(|chunk| chunk.rows).sum();
        let shared = self.shared.clone();
        let put_together = move |rows: DimensionRows| {
            let parameters = shared.parameters();
            Dimension::new(&shared.batch(&parameters), &rows, &[])
        };
        match rows < MANY_ROWS || self.pool.workers() == 0 {
            true => leaves.into_iter().map(put_together).collect(),
            false => each(self.pool, leaves, put_together),
        }
    }

    /// Who joins a dimension.
    fn users(&self, star: &PreparedStar, position: usize, wanted: &[SetId]) -> SetId {
        let groupings = star.node.groupings.iter().zip(wanted);
        let joining = groupings.filter(|(g, _)| g.dimensions.contains(&position));
        union(&self.shared, joining.map(|(_, set)| set))
    }

    /// What a dimension is made of: the rows that those want who join it.
    fn dimension_rows(
        &mut self,
        star: &PreparedStar,
        asking: &Asking<'_>,
    ) -> Result<DimensionRows> {
        let dimension = &star.dimensions[asking.position];
        Ok(DimensionRows {
            chunks: self.wanted_rows(dimension, asking.users)?,
            view: self.views.view(dimension.table)?,
            key: star.node.dimensions[asking.position].key,
            passing: asking.passing,
        })
    }

    /// The rows of a dimension that `users` want.
    fn wanted_rows(&mut self, dimension: &PreparedDimension, users: SetId) -> Result<Vec<Tuples>> {
        let joins: Vec<(usize, &[TableAccess])> =
            dimension.joins.iter().map(|(node, variants)| (*node, &variants[..])).collect();
        let batch = self.table_batch(dimension.table, &joins, users)?;
        let source = PipeSource::Table(joins[0].0, Arc::new(batch));
        Ok(self.collect(vec![Pipe { source, steps: Vec::new() }]))
    }
}

/// Those of a star's last dimensions, which are built from the last to the first, that this one's rows refer to.
fn children<'a>(node: &StarNode, position: usize, built: &'a [Dimension]) -> Vec<Child<'a>> {
    let numbered = built.iter().zip((0..node.dimensions.len()).rev());
    let own = numbered.filter(|(_, number)| node.dimensions[*number].parent == Some(position));
    let child = |(dimension, number): (&'a Dimension, usize)| {
        let outer = node.dimensions[number].outer;
        Child { outer, dimension, number }
    };
    own.map(child).collect()
}

fn union<'a>(shared: &Shared, sets: impl Iterator<Item = &'a SetId>) -> SetId {
    sets.fold(SetId::EMPTY, |all, set| shared.sets.union(all, *set))
}
