//! A star of a batch: its dimensions one after the other, then one pass over its fact table, on a ring of its own or on one
//! that turns already.

use std::sync::Arc;

use super::super::pipeline::{Pipe, PipeSource};
use super::super::pool::Loop;
use super::super::prepared::PreparedNode;
use super::super::probe_chain::Views;
use super::super::ring::{Finished, Rider, Ring, StarPass};
use super::super::star::{PreparedDimension, PreparedStar};
use super::{PARALLEL, Run, Shared, each};
use crate::operators::{Child, Dimension, DimensionRows, FREE_SPAN, Star, StarGroups, StarNode};
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

impl Run<'_> {
    /// The groups of a star, run once for all its groupings in this batch; `None` where they are better run one by one.
    pub(super) fn star(&mut self, number: usize) -> Result<Option<Arc<StarGroups>>> {
        match &self.stars[number] {
            StarRun::Done(groups) => return Ok(Some(groups.clone())),
            StarRun::Declined => return Ok(None),
            StarRun::Untried => {}
        }
        let Some(pass) = self.begin_star(number)? else { return Ok(None) };
        let (ring, rider) = Ring::new(pass);
        match ring.morsels() < PARALLEL || self.pool.workers() == 0 {
            true => ring.help(&|| false),
            false => self.pool.run(ring),
        }
        Ok(Some(self.end_star(number, &rider)))
    }

    /// A star's dimensions and what is asked of its fact table, ready for the pass; `None` where its groupings are better
    /// run one by one.
    pub fn begin_star(&mut self, number: usize) -> Result<Option<StarPass>> {
        let pass = self.star_pass(number)?;
        if pass.is_none() {
            self.stars[number] = StarRun::Declined;
        }
        Ok(pass)
    }

    fn star_pass(&mut self, number: usize) -> Result<Option<StarPass>> {
        let shared = self.shared.clone();
        let star = &shared.lane.stars.stars[number];
        let wanted: Vec<SetId> =
            star.groupings.iter().map(|(node, _)| shared.wanted[*node]).collect();
        let all = union(&shared, wanted.iter());
        let activations = shared.sets.cardinality(all);
        if !star.pays(&shared.lane.plan, &wanted, activations, self.views.store) {
            return Ok(None);
        }
        let Some(dimensions) = self.dimensions(star, &wanted, all)? else { return Ok(None) };
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

    /// The star's dimensions; `None` where one cannot be an array. Those that lead to no others are put together side by
    /// side.
    fn dimensions(
        &mut self,
        star: &PreparedStar,
        wanted: &[SetId],
        all: SetId,
    ) -> Result<Option<Vec<Dimension>>> {
        let shared = self.shared.clone();
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        let has_children = |position| star.node.dimensions.iter().any(|d| d.parent == position);
        let (mut leaves, mut parents) = (Vec::new(), Vec::new());
        for position in 0..star.dimensions.len() {
            let rows = self.dimension_rows(star, position, wanted, all)?;
            match has_children(Some(position)) {
                true => parents.push(Some(rows)),
                false => {
                    parents.push(None);
                    leaves.push(rows);
                }
            }
        }
        let mut leaves = self.leaves(leaves).into_iter();
        // From the last to the first, turned around at the end: children come before their parents.
        let mut built: Vec<Dimension> = Vec::new();
        while let Some(parent) = parents.pop() {
            let dimension = match parent {
                Some(rows) => {
                    let children = children(&star.node, parents.len(), &built);
                    Dimension::new(&batch, &rows, &children)
                }
                None => leaves.next_back().flatten(),
            };
            let Some(dimension) = dimension else { return Ok(None) };
            batch.budget.reserve(dimension.memory())?;
            built.push(dimension);
        }
        built.reverse();
        Ok(Some(built))
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

    /// What a dimension is made of: the rows that those want who join it.
    fn dimension_rows(
        &mut self,
        star: &PreparedStar,
        position: usize,
        wanted: &[SetId],
        all: SetId,
    ) -> Result<DimensionRows> {
        let sets = self.shared.sets.clone();
        let groupings = star.node.groupings.iter().zip(wanted);
        let joining = groupings.filter(|(g, _)| g.dimensions.contains(&position));
        let users = union(&self.shared, joining.map(|(_, set)| set));
        Ok(DimensionRows {
            chunks: self.wanted_rows(&star.dimensions[position], users)?,
            view: self.views.view(star.dimensions[position].table)?,
            key: star.node.dimensions[position].key,
            passing: sets.difference(all, users),
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
