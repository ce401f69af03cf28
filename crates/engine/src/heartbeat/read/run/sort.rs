//! ORDER BY: few rows of many are looked for in runs on all workers, many are divided and sorted there, others on this thread.

use std::sync::Arc;
use std::time::Instant;

use super::{Run, chunks_pipe, then};
use crate::heartbeat::read::pipeline::{Part, Pipe, Sink, Step};
use crate::heartbeat::read::prepared::{Cuts, PreparedNode};
use crate::operators::{
    self, Cut, DividedSort, SortBuild, SortNode, SortRun, Sorted, divided_runs, sort_run, sort_runs,
};
use crate::query_set::Tuples;
use crate::types::Result;

impl Run<'_> {
    pub(super) fn sort(&mut self, n: usize, cuts: &Cuts) -> Result<Vec<Pipe>> {
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
        let workers = self.pool.workers();
        let sorted = match sort_runs(builds.collect(), &cuts, workers) {
            Ok(runs) => {
                let runs = self.sort_each(n, runs, &cuts);
                vec![self.sort_here(n, runs, &cuts)]
            }
            Err(builds) => match divided_runs(builds, workers) {
                Ok(runs) => self.sort_divided(n, runs, &cuts),
                Err(builds) => vec![self.sort_here(n, builds, &cuts)],
            },
        };
        Ok(vec![chunks_pipe(sorted)])
    }

    fn sort_here(&mut self, n: usize, builds: Vec<SortBuild>, cuts: &[Cut]) -> Tuples {
        let (shared, began) = (self.shared.clone(), Instant::now());
        let parameters = shared.parameters();
        let (node, batch) = (sort_node(&shared.lane.nodes[n]), shared.batch(&parameters));
        let tuples = operators::sort(node, &batch, cuts, builds, &mut self.faults);
        self.note(n, tuples.rows, began);
        tuples
    }

    /// What slots want of each run, by whoever is free.
    fn sort_each(&mut self, n: usize, runs: Vec<SortBuild>, cuts: &Arc<[Cut]>) -> Vec<SortBuild> {
        let cuts = cuts.clone();
        self.each_for(n, runs, move |shared, run, faults| {
            let parameters = shared.parameters();
            let node = sort_node(&shared.lane.nodes[n]);
            sort_run(node, &shared.batch(&parameters), &cuts, run, faults)
        })
    }

    /// All rows, divided and then sorted part by part, by whoever is free. Parts are left out once nobody waits.
    fn sort_divided(&mut self, n: usize, runs: Vec<Vec<Tuples>>, cuts: &Arc<[Cut]>) -> Vec<Tuples> {
        let runs = self.each_for(n, runs, move |shared, chunks, _| {
            SortRun::of(sort_node(&shared.lane.nodes[n]), chunks, &shared.sets)
        });
        let sort = match self.divided(n, runs.into_iter().flatten().collect(), cuts) {
            Ok(sort) => Arc::new(sort),
            Err(nothing) => return vec![nothing],
        };
        let own = sort.clone();
        let divided = self.each_for(n, sort.stretches(), move |shared, rows, _| {
            own.divide(if shared.is_abandoned() { rows.start..rows.start } else { rows })
        });
        let (own, own_cuts) = (sort.clone(), cuts.clone());
        let parts = sort.parts(divided);
        let sorted = self.each_for(n, parts, move |shared, part, _| match shared.is_abandoned() {
            true => Sorted::default(),
            false => own.sorted(&own_cuts, part),
        });
        let (shared, began) = (self.shared.clone(), Instant::now());
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        let sorted = sort.cut(&batch, cuts, sorted);
        self.note(n, 0, began);
        let own = sort.clone();
        let tuples = self.each_for(n, sorted, move |shared, sorted, _| {
            own.take(if shared.is_abandoned() { Sorted::default() } else { sorted })
        });
        sort.release(&batch);
        self.spent[n].rows += tuples.iter().map(|chunk| chunk.rows).sum::<usize>();
        tuples
    }

    fn divided(
        &mut self,
        n: usize,
        runs: Vec<SortRun>,
        cuts: &[Cut],
    ) -> Result<DividedSort, Tuples> {
        let (shared, began) = (self.shared.clone(), Instant::now());
        let parameters = shared.parameters();
        let (node, batch) = (sort_node(&shared.lane.nodes[n]), shared.batch(&parameters));
        let workers = self.pool.workers();
        let sort = DividedSort::new(node, &batch, cuts, runs, workers, &mut self.faults);
        self.note(n, 0, began);
        sort
    }
}

fn sort_node(node: &PreparedNode) -> &SortNode {
    match node {
        PreparedNode::Sort(node, _) => node,
        _ => unreachable!("ORDER BY is prepared as such"),
    }
}
