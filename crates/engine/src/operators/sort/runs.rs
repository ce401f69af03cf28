//! Few rows of many: each run of the input is rid of what no slot's cut can hold, by whoever is free.

use super::{SortBuild, SortNode, sort};
use crate::operators::kernel::runs;
use crate::operators::{Batch, Cut, Faults};

/// Rows from which on runs pay: one thread takes about two milliseconds for so many.
const ROWS: usize = 1 << 16;
/// Runs per worker: nobody should wait long for the last one.
const RUNS: usize = 2;
/// Where more than one of so many rows is wanted of a run, sorting it is work done twice.
const SELECTIVITY: u64 = 8;

/// The input in runs of about equal length for [`sort_run`]; as it came where one thread is as fast.
pub fn sort_runs(
    builds: Vec<SortBuild>,
    cuts: &[Cut],
    workers: usize,
) -> Result<Vec<SortBuild>, Vec<SortBuild>> {
    let rows = super::rows(&builds);
    let length = rows.div_ceil((workers * RUNS).max(1));
    let kept = cuts.iter().fold(0u64, |kept, cut| kept.saturating_add(cut.end()));
    let pays = kept.saturating_mul(SELECTIVITY) <= length as u64;
    if workers < 2 || rows < ROWS || !pays {
        return Err(builds);
    }
    let chunks = builds.into_iter().flat_map(|build| build.chunks);
    Ok(runs(chunks, length).into_iter().map(|chunks| SortBuild { chunks }).collect())
}

/// A run without what is behind the end of every slot's cut.
pub fn sort_run(
    node: &SortNode,
    batch: &Batch<'_>,
    cuts: &[Cut],
    run: SortBuild,
    faults: &mut Faults,
) -> SortBuild {
    let cuts: Vec<Cut> = cuts.iter().map(|cut| Cut { skip: 0, fetch: cut.end() }).collect();
    SortBuild { chunks: vec![sort(node, batch, &cuts, vec![run], faults)] }
}
