//! The table of a hash join's right side: put together on this thread where it is small, on all workers where it is not.

use std::sync::Arc;
use std::time::Instant;

use super::Run;
use crate::operators::{CutRows, Division, JoinBuild, JoinRun, JoinTable, Partition, join_runs};
use crate::query_set::Tuples;

impl Run<'_> {
    /// The table of join `n` over what the workers have taken in.
    pub(super) fn join_table(&mut self, n: usize, builds: Vec<JoinBuild>) -> JoinTable {
        let shared = self.shared.clone();
        let node = shared.lane.nodes[n].hash_join();
        match join_runs(node, builds, self.pool.workers()) {
            Ok(runs) => self.partitioned(n, runs),
            Err(builds) => {
                let (parameters, began) = (shared.parameters(), Instant::now());
                let batch = shared.batch(&parameters);
                let table = JoinTable::merge(node, &batch, builds, &mut self.faults);
                self.note(n, 0, began);
                table
            }
        }
    }

    fn partitioned(&mut self, n: usize, runs: Vec<Vec<Tuples>>) -> JoinTable {
        let shared = self.shared.clone();
        let (rows, runs) = self.read_runs(n, runs);
        let divisions = Division::of(&runs, self.pool.workers());
        let runs = Arc::new(runs);
        let partitions = divisions.into_iter().find_map(|division| {
            let cut = self.cut(n, &rows, &runs, division);
            self.partitions(n, cut)
        });
        let partitions = partitions.expect("any keys can be cut by their hashes");
        let (parameters, began) = (shared.parameters(), Instant::now());
        let (node, batch) = (shared.lane.nodes[n].hash_join(), shared.batch(&parameters));
        let table = JoinTable::of_partitions(node, &batch, rows, partitions, &mut self.faults);
        self.note(n, 0, began);
        table
    }

    /// The keys of each run, and all rows.
    fn read_runs(&mut self, n: usize, runs: Vec<Vec<Tuples>>) -> (Arc<Tuples>, Vec<JoinRun>) {
        let read = self.each_for(n, runs, move |shared, chunks, _| {
            let node = shared.lane.nodes[n].hash_join();
            let rows = node.rows(chunks, &shared.sets);
            let run = JoinRun::of(node, &rows);
            (rows, run)
        });
        let (rows, runs): (Vec<Tuples>, Vec<JoinRun>) = read.into_iter().unzip();
        let began = Instant::now();
        let node = self.shared.lane.nodes[n].hash_join();
        let rows = Arc::new(node.rows(rows, &self.shared.sets));
        self.note(n, 0, began);
        (rows, runs)
    }

    fn cut(
        &mut self,
        n: usize,
        rows: &Arc<Tuples>,
        runs: &Arc<Vec<JoinRun>>,
        division: Division,
    ) -> CutRows {
        let (all, own) = (runs.clone(), division.clone());
        let runs = (0..runs.len()).collect();
        let runs = self.each_for(n, runs, move |_, run: usize, _| all[run].cut(&own));
        CutRows { division, rows: rows.clone(), runs }
    }

    fn partitions(&mut self, n: usize, cut: CutRows) -> Option<Vec<Partition>> {
        let slots = self.shared.slots.len();
        let numbers = (0..cut.division.partitions()).collect();
        let partitions = self.each_for(n, numbers, move |shared, number: usize, _| {
            Partition::of(shared.lane.nodes[n].hash_join(), &cut, number, slots)
        });
        partitions.into_iter().collect()
    }
}
