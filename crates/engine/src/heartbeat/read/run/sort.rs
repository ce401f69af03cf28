//! ORDER BY: many rows of which few are wanted are looked through in runs on all workers, what is left is sorted on this thread.

use std::sync::Arc;
use std::time::Instant;

use super::{Run, chunks_pipe, then};
use crate::heartbeat::read::pipeline::{Part, Pipe, Sink, Step};
use crate::heartbeat::read::prepared::{Cuts, PreparedNode};
use crate::operators::{self, Cut, SortBuild, sort_run, sort_runs};
use crate::types::Result;

impl Run<'_> {
    pub(super) fn sort(&mut self, n: usize, cuts: &Cuts) -> Result<Vec<Pipe>> {
        let shared = self.shared.clone();
        let PreparedNode::Sort(node, _) = &shared.lane.nodes[n] else { unreachable!() };
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        let cuts: Arc<[Cut]> = self.cuts(n, cuts).into();
        let input = self.input(n, 0)?;
        if let [pipe] = &input[..]
            && pipe.is_partitioned()
        {
            return Ok(then(input, Step::Sort(n, cuts)));
        }
        let builds = self.drain(input, Sink::Sort(n)).into_iter().filter_map(|part| match part {
            Part::Sort(build) => Some(build),
            _ => None,
        });
        let builds = match sort_runs(builds.collect(), &cuts, self.pool.workers()) {
            Ok(runs) => self.sort_each(n, runs, &cuts),
            Err(builds) => builds,
        };
        let began = Instant::now();
        let tuples = operators::sort(node, &batch, &cuts, builds, &mut self.faults);
        self.note(n, tuples.rows, began);
        Ok(vec![chunks_pipe(vec![tuples])])
    }

    /// What slots want of each run, by whoever is free.
    fn sort_each(&mut self, n: usize, runs: Vec<SortBuild>, cuts: &Arc<[Cut]>) -> Vec<SortBuild> {
        let cuts = cuts.clone();
        self.each_for(n, runs, move |shared, run, faults| {
            let PreparedNode::Sort(node, _) = &shared.lane.nodes[n] else { unreachable!() };
            let parameters = shared.parameters();
            sort_run(node, &shared.batch(&parameters), &cuts, run, faults)
        })
    }
}
