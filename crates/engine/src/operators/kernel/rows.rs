//! Runs of rows put end to end, and rid of what nobody reads.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::DataType as ArrowType;

use crate::query_set::{ColumnOrigin, QuerySets, SetTable, SlotBuckets, Source, Tuples};
use crate::types::{DataType, Location};

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

/// Chunks in runs of at least so many rows each, but for the last.
pub fn runs(chunks: impl Iterator<Item = Tuples>, length: usize) -> Vec<Vec<Tuples>> {
    let mut runs = vec![Vec::new()];
    let mut rows = 0;
    for chunk in chunks {
        if rows >= length {
            runs.push(Vec::new());
            rows = 0;
        }
        rows += chunk.rows;
        runs.last_mut().expect("there is one").push(chunk);
    }
    runs
}

/// The same rows with all output columns read.
fn materialise(tuples: Tuples) -> Tuples {
    let columns = tuples.columns.len();
    of_arrays((0..columns).map(|i| tuples.column(i)).collect(), tuples.rows, tuples.sets)
}

/// No row and no column: what a breaker gives that no chunk has come to.
pub fn no_rows() -> Tuples {
    of_arrays(Vec::new(), 0, QuerySets::none())
}

/// Rows of computed columns only.
pub fn of_arrays(computed: Vec<ArrayRef>, rows: usize, sets: QuerySets) -> Tuples {
    let columns = (0..computed.len()).map(ColumnOrigin::Computed).collect();
    Tuples { rows, sources: Vec::new(), computed, columns, sets }
}

/// In place of a row number: a row of NULLs.
pub const NO_ROW: u32 = u32::MAX;

/// The rows named, in that order, with new sets; [`NO_ROW`] gives NULLs.
pub fn take_or_null(tuples: &Tuples, rows: &[u32], sets: QuerySets) -> Tuples {
    if !rows.contains(&NO_ROW) {
        return tuples.take_as(rows, sets);
    }
    let location = |source: &Source, row: u32| match row {
        NO_ROW => Location::NONE,
        row => source.locations[row as usize],
    };
    let sources = tuples.sources.iter().map(|source| Source {
        view: source.view.clone(),
        locations: rows.iter().map(|&row| location(source, row)).collect(),
    });
    let places = match tuples.computed.is_empty() {
        true => UInt32Array::from(Vec::<u32>::new()),
        false => rows.iter().map(|&row| (row != NO_ROW).then_some(row)).collect(),
    };
    let take = |array: &ArrayRef| arrow_select::take::take(array, &places, None);
    let computed = tuples.computed.iter().map(|a| take(a).expect("rows lie inside the array"));
    Tuples {
        rows: rows.len(),
        sources: sources.collect(),
        computed: computed.collect(),
        columns: tuples.columns.clone(),
        sets,
    }
}

/// `rows` by number: row `i` of `0..numbers.len()` goes to bucket `numbers[i]`, each bucket in the order of
/// `rows`. A counting sort.
pub fn bucket(numbers: &[u32], count: usize, rows: impl Iterator<Item = u32>) -> SlotBuckets {
    let mut offsets = vec![0u32; count + 1];
    numbers.iter().for_each(|&number| offsets[number as usize + 1] += 1);
    let mut total = 0;
    for offset in &mut offsets {
        total += *offset;
        *offset = total;
    }
    let mut next = offsets.clone();
    let mut bucketed = vec![0; numbers.len()];
    for row in rows {
        let place = &mut next[numbers[row as usize] as usize];
        bucketed[*place as usize] = row;
        *place += 1;
    }
    SlotBuckets { offsets, rows: bucketed }
}

/// Rows that are bucketed side by side: which place a row of few numbers gets depends on the row just before, unless that is
/// of another lane.
const LANES: usize = 4;
/// Up to so many numbers lanes pay: their places stay in the first cache.
const LANE_NUMBERS: usize = 256;
/// and from so many rows on.
const LANE_ROWS: usize = 1024;

/// All rows by number, each bucket in their order; see [`bucket`].
pub fn bucket_all(numbers: &[u32], count: usize) -> SlotBuckets {
    if count > LANE_NUMBERS || numbers.len() < LANE_ROWS {
        return bucket(numbers, count, 0..numbers.len() as u32);
    }
    let mut next = vec![[0u32; LANES]; count];
    for_each_in_lanes(numbers.len(), |lane, row| next[numbers[row] as usize][lane] += 1);
    let mut offsets = Vec::with_capacity(count + 1);
    let mut total = 0;
    for places in &mut next {
        offsets.push(total);
        for place in places {
            total += std::mem::replace(place, total);
        }
    }
    offsets.push(total);
    let mut rows = vec![0; numbers.len()];
    for_each_in_lanes(numbers.len(), |lane, row| {
        let place = &mut next[numbers[row] as usize][lane];
        rows[*place as usize] = row as u32;
        *place += 1;
    });
    SlotBuckets { offsets, rows }
}

/// Calls `visit` with each row and the lane that it belongs to, in turns; a lane's rows follow each other, and lanes do.
#[inline(always)]
fn for_each_in_lanes(rows: usize, mut visit: impl FnMut(usize, usize)) {
    let length = rows / LANES;
    for at in 0..length {
        (0..LANES).for_each(|lane| visit(lane, lane * length + at));
    }
    (LANES * length..rows).for_each(|row| visit(LANES - 1, row));
}

/// Digits after the point of a column of decimals, 0 for others.
pub fn scale_of(tuples: &Tuples, column: usize) -> u8 {
    match tuples.columns[column] {
        ColumnOrigin::Computed(i) => match tuples.computed[i].data_type() {
            ArrowType::Decimal128(_, scale) => *scale as u8,
            _ => 0,
        },
        ColumnOrigin::Source { source, column } => {
            let schema = tuples.sources[source].view.schema();
            match schema.columns[column.index()].data_type {
                DataType::Numeric { scale, .. } => scale,
                _ => 0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_put_rows_where_one_loop_does() {
        for (rows, count) in [(0, 1), (5, 3), (1024, 1), (4097, 7), (5003, 256), (5003, 300)] {
            let numbers: Vec<u32> = (0..rows as u32).map(|row| row * row % 991 % count).collect();
            let one_by_one = bucket(&numbers, count as usize, 0..rows as u32);
            let all = bucket_all(&numbers, count as usize);
            assert_eq!((all.offsets, all.rows), (one_by_one.offsets, one_by_one.rows), "{rows}");
        }
    }
}
