//! Runs of rows put end to end, and rid of what nobody reads.

use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::query_set::{ColumnOrigin, QuerySets, SetTable, Tuples};

/// Forgets tables and computed columns that no output column reads, so that later operators do not carry
/// their rows along.
pub fn prune(mut tuples: Tuples) -> Tuples {
    let mut sources = vec![false; tuples.sources.len()];
    let mut computed = vec![false; tuples.computed.len()];
    for origin in tuples.columns.iter() {
        match *origin {
            ColumnOrigin::Source { source, .. } => sources[source] = true,
            ColumnOrigin::Computed(i) => computed[i] = true,
        }
    }
    if sources.iter().chain(&computed).all(|&read| read) {
        return tuples;
    }
    let number = |kept: &[bool], i: usize| kept[..i].iter().filter(|&&read| read).count();
    let columns = tuples.columns.iter().map(|origin| match *origin {
        ColumnOrigin::Source { source, column } => {
            ColumnOrigin::Source { source: number(&sources, source), column }
        }
        ColumnOrigin::Computed(i) => ColumnOrigin::Computed(number(&computed, i)),
    });
    tuples.columns = columns.collect();
    let (mut keep_source, mut keep_computed) = (sources.iter(), computed.iter());
    tuples.sources.retain(|_| keep_source.next() == Some(&true));
    tuples.computed.retain(|_| keep_computed.next() == Some(&true));
    tuples
}

/// Runs of rows end to end; `None` for no run. Runs of different origin (the arms of a UNION, tables at
/// different snapshots) are read into computed columns first.
pub fn concat(parts: Vec<Tuples>, sets: &SetTable) -> Option<Tuples> {
    let alike = |a: &Tuples, b: &Tuples| {
        let mut sources = a.sources.iter().zip(&b.sources);
        a.columns == b.columns
            && a.sources.len() == b.sources.len()
            && a.computed.len() == b.computed.len()
            && sources.all(|(a, b)| Arc::ptr_eq(&a.view, &b.view))
    };
    let mut parts = parts;
    if parts.iter().any(|part| part.rows > 0) {
        parts.retain(|part| part.rows > 0);
    } else {
        parts.truncate(1);
    }
    if parts.windows(2).all(|pair| alike(&pair[0], &pair[1])) {
        return Tuples::concat(parts, sets);
    }
    Tuples::concat(parts.into_iter().map(materialise).collect(), sets)
}

/// The same rows with all output columns read.
pub fn materialise(tuples: Tuples) -> Tuples {
    let columns = tuples.columns.len();
    of_arrays((0..columns).map(|i| tuples.column(i)).collect(), tuples.rows, tuples.sets)
}

/// Rows of computed columns only.
pub fn of_arrays(computed: Vec<ArrayRef>, rows: usize, sets: QuerySets) -> Tuples {
    let columns = (0..computed.len()).map(ColumnOrigin::Computed).collect();
    Tuples { rows, sources: Vec::new(), computed, columns, sets }
}
