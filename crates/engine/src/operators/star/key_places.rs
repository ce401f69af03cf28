//! Keys in a chunk to places in a dimension's arrays: a subtraction and a comparison.

use super::by_place::each_number;
use super::kinds::Kinds;
use super::narrow::Filters;
use crate::storage::{Chunk, ColumnSlice, Nulls, each_width};
use crate::types::{ChunkId, Value};

/// The keys `least..least + span` have the places `1..=span`; all others, and NULL, have place 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyRange {
    /// The smallest key.
    pub least: i64,
    /// How many keys there may be.
    pub span: u64,
}

impl KeyRange {
    /// The place of a key.
    #[inline(always)]
    pub fn place(self, key: i64) -> u32 {
        let offset = (key as u64).wrapping_sub(self.least as u64);
        if offset < self.span { offset as u32 + 1 } else { 0 }
    }
}

/// A range of keys of 32 bits.
#[derive(Clone, Copy, Debug)]
struct NarrowRange {
    least: u32,
    span: u32,
}

impl KeyRange {
    /// The same range in 32 bits, where all of its keys fit: a smaller key's difference wraps around to beyond the span.
    fn narrow(self) -> Option<NarrowRange> {
        let least = i32::try_from(self.least).ok()?;
        let span = u32::try_from(self.span).ok()?;
        let most = self.least + i64::from(span) - 1;
        (most <= i64::from(i32::MAX)).then_some(NarrowRange { least: least as u32, span })
    }
}

/// Of so many rows side by side one may be missing: vectors take all of them sooner than the others are picked.
const HOLES: usize = 8;

/// The values of everything between the first of the rows, which ascend, and the last, where few rows are missing there.
fn side_by_side<'a, T>(values: &'a [T], rows: &[u32]) -> Option<&'a [T]> {
    debug_assert!(rows.is_sorted_by(|a, b| a < b), "each row once, in order");
    let (first, last) = (*rows.first()? as usize, *rows.last()? as usize);
    let missing = last - first + 1 - rows.len();
    (missing * HOLES <= rows.len()).then(|| &values[first..=last])
}

/// So many places are moved at once where no row is missing between them.
const RUN: usize = 64;

/// Takes the places of rows that are missing out of those from `first` on, which are of everything between the first of the
/// rows and the last.
fn keep_rows(places: &mut Vec<u32>, first: usize, rows: &[u32]) {
    let all = &mut places[first..];
    if all.len() == rows.len() {
        return;
    }
    for (number, run) in rows.chunks(RUN).enumerate() {
        let to = number * RUN;
        // Rows ascend: what is read lies not before what is written.
        let from = (run[0] - rows[0]) as usize;
        if (run[run.len() - 1] - run[0]) as usize == run.len() - 1 {
            all.copy_within(from..from + run.len(), to);
        } else {
            run.iter()
                .enumerate()
                .for_each(|(at, row)| all[to + at] = all[(row - rows[0]) as usize]);
        }
    }
    places.truncate(first + rows.len());
}

/// `key` gives the bits of a value's key.
fn append_narrow_places<T: Copy>(
    values: &[T],
    key: impl Fn(T) -> u32,
    range: NarrowRange,
    places: &mut Vec<u32>,
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { append_narrow_places_by_vectors(values, key, range, places) };
    }
    append_narrow_places_anywhere(values, key, range, places);
}

/// Eight keys an instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn append_narrow_places_by_vectors<T: Copy>(
    values: &[T],
    key: impl Fn(T) -> u32,
    range: NarrowRange,
    places: &mut Vec<u32>,
) {
    append_narrow_places_anywhere(values, key, range, places);
}

#[inline(always)]
fn append_narrow_places_anywhere<T: Copy>(
    values: &[T],
    key: impl Fn(T) -> u32,
    range: NarrowRange,
    places: &mut Vec<u32>,
) {
    places.extend(values.iter().map(|&value| {
        let offset = key(value).wrapping_sub(range.least);
        if offset < range.span { offset + 1 } else { 0 }
    }));
}

/// The largest distance from a base in two bytes: a smaller base and it make a key of 32 bits.
const LARGEST_STEP: i32 = u16::MAX as i32;

/// Rows of one chunk of the fact table.
#[derive(Clone, Copy)]
pub struct ChunkPart<'a> {
    /// The chunk's name.
    pub id: ChunkId,
    /// The chunk.
    pub chunk: &'a Chunk,
    /// Offsets, ascending.
    pub rows: &'a [u32],
}

/// The places that a part's rows refer to in each root, looked up when first asked for.
#[derive(Debug, Default)]
pub struct PartPlaces {
    by_root: Vec<Vec<u32>>,
    known: Vec<bool>,
    /// What kinds of rows these are, likewise.
    kinds: Vec<Vec<u16>>,
    known_kinds: Vec<bool>,
}

impl PartPlaces {
    /// Forgets the last part.
    pub fn start(&mut self, roots: usize) {
        self.by_root.resize_with(roots, Vec::new);
        self.known.clear();
        self.known.resize(roots, false);
        self.kinds.resize_with(roots, Vec::new);
        self.known_kinds.clear();
        self.known_kinds.resize(roots, false);
    }

    /// Looks a root's references up.
    pub(super) fn look_up(&mut self, filters: Filters<'_>, part: &ChunkPart<'_>, root: usize) {
        if !std::mem::replace(&mut self.known[root], true) {
            let (outer, dimension) = filters.roots[root];
            let range = filters.dimensions[dimension].range;
            self.by_root[root].clear();
            append_places(&part.chunk.column(outer), part.rows, range, &mut self.by_root[root]);
        }
    }

    /// Looks up the kinds of the rows that a root's references lead to.
    pub(super) fn look_up_kinds(
        &mut self,
        filters: Filters<'_>,
        part: &ChunkPart<'_>,
        root: usize,
        kinds: &Kinds,
    ) {
        if std::mem::replace(&mut self.known_kinds[root], true) {
            return;
        }
        self.look_up(filters, part, root);
        let (places, own) = (&self.by_root[root], &mut self.kinds[root]);
        own.clear();
        each_number!(&kinds.by_place, kind => {
            own.extend(places.iter().map(|&place| kind(place) as u16))
        });
    }

    /// The kinds of all rows of the part, where they were looked up.
    pub(super) fn kinds_of(&self, root: usize) -> Option<&[u16]> {
        self.known_kinds[root].then(|| &self.kinds[root][..])
    }

    /// The places of all rows of the part, in their order, where they were looked up.
    pub fn of(&self, root: usize) -> Option<&[u32]> {
        self.known[root].then(|| &self.by_root[root][..])
    }
}

/// Appends the places of the keys of `rows`.
pub fn append_places(keys: &ColumnSlice<'_>, rows: &[u32], range: KeyRange, places: &mut Vec<u32>) {
    let first = places.len();
    match *keys {
        _ if append_span(keys, rows, range, places) => keep_rows(places, first, rows),
        ColumnSlice::Int32(values, _) => {
            places.extend(rows.iter().map(|&row| range.place(i64::from(values[row as usize]))));
        }
        ColumnSlice::Framed(base, distances, _) => each_width!(distances, distances => {
            append_framed_places(base, distances, rows, range, places);
        }),
        ColumnSlice::Int64(values, _) => {
            places.extend(rows.iter().map(|&row| range.place(values[row as usize])));
        }
        ColumnSlice::Int16(values, _) => {
            places.extend(rows.iter().map(|&row| range.place(i64::from(values[row as usize]))));
        }
        ColumnSlice::Constant(value, _) => {
            let place = integer(value).map_or(0, |key| range.place(key));
            places.resize(first + rows.len(), place);
        }
        _ => unreachable!("a dimension's key is an integer or a date"),
    }
    let nulls = keys.nulls();
    if !matches!(nulls, Nulls::None) {
        for (place, &row) in places[first..].iter_mut().zip(rows) {
            if nulls.is_null(row as usize) {
                *place = 0;
            }
        }
    }
}

/// Appends the places of all rows from the first of `rows` to the last where few are missing, no key is NULL and vectors can
/// take them: whether it did.
pub(super) fn append_span_places(
    keys: &ColumnSlice<'_>,
    rows: &[u32],
    range: KeyRange,
    places: &mut Vec<u32>,
) -> bool {
    matches!(keys.nulls(), Nulls::None) && append_span(keys, rows, range, places)
}

/// The same, with any place for keys that are NULL.
fn append_span(
    keys: &ColumnSlice<'_>,
    rows: &[u32],
    range: KeyRange,
    places: &mut Vec<u32>,
) -> bool {
    let Some(range) = range.narrow() else { return false };
    match *keys {
        ColumnSlice::Int32(values, _) => match side_by_side(values, rows) {
            Some(values) => append_narrow_places(values, |key| key as u32, range, places),
            None => return false,
        },
        ColumnSlice::Framed(base, distances, _) => {
            return each_width!(distances, distances => {
                append_framed_span(base, distances, rows, range, places)
            });
        }
        _ => return false,
    }
    true
}

/// Keys are `base` and a distance from it.
fn append_framed_places<T: Copy + Into<u32>>(
    base: i64,
    distances: &[T],
    rows: &[u32],
    range: KeyRange,
    places: &mut Vec<u32>,
) {
    places.extend(rows.iter().map(|&row| {
        let distance: u32 = distances[row as usize].into();
        range.place(base + i64::from(distance))
    }));
}

/// The same of all rows from the first of `rows` to the last, where vectors can take them.
fn append_framed_span<T: Copy + Into<u32>>(
    base: i64,
    distances: &[T],
    rows: &[u32],
    range: NarrowRange,
    places: &mut Vec<u32>,
) -> bool {
    let narrow_base = i32::try_from(base).ok().filter(|base| *base <= i32::MAX - LARGEST_STEP);
    let has_few_bytes = size_of::<T>() < size_of::<u32>();
    match (side_by_side(distances, rows), narrow_base) {
        (Some(distances), Some(base)) if has_few_bytes => {
            let key = |distance: T| (base as u32).wrapping_add(distance.into());
            append_narrow_places(distances, key, range, places);
            true
        }
        _ => false,
    }
}

fn integer(value: &Value) -> Option<i64> {
    match *value {
        Value::SmallInt(value) => Some(i64::from(value)),
        Value::Integer(value) | Value::Date(value) => Some(i64::from(value)),
        Value::BigInt(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Unsigned;

    #[test]
    fn narrow_keys_have_the_same_places() {
        let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let keys = [i32::MIN, i32::MIN + 1, -7, -1, 0, 1, 6, 7, i32::MAX - 1, i32::MAX];
        let rows: Vec<u32> = (0..keys.len() as u32).collect();
        for (least, span) in
            [(low, 2), (-7, 9), (0, 7), (high - 1, 2), (low, u64::from(u32::MAX)), (5, 0)]
        {
            let range = KeyRange { least, span };
            let mut places = Vec::new();
            append_places(&ColumnSlice::Int32(&keys, Nulls::None), &rows, range, &mut places);
            let expected: Vec<u32> = keys.iter().map(|&key| range.place(i64::from(key))).collect();
            assert_eq!(places, expected, "{least} {span}");
        }
        assert!(KeyRange { least: high, span: 2 }.narrow().is_none());
    }

    #[test]
    fn framed_keys_have_the_same_places() {
        let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let distances: Vec<u16> = (0..300).chain([1_000, u16::MAX - 1, u16::MAX]).collect();
        let all: Vec<u32> = (0..distances.len() as u32).collect();
        let some: Vec<u32> = all.iter().copied().filter(|row| row % 3 != 1).collect();
        let most: Vec<u32> = all.iter().copied().filter(|row| row % 20 != 3).collect();
        let bases = [low, -100, 0, 5, high - 65_535, high - 10, high + 1, i64::MAX - 65_535];
        for base in bases {
            for least in [low, -7, base + 3, base + 260, high - 1] {
                let (range, keys) = (KeyRange { least, span: 50 }, Unsigned::Bits16(&distances));
                for rows in [&all, &some, &most] {
                    let mut places = Vec::new();
                    let keys = ColumnSlice::Framed(base, keys, Nulls::None);
                    append_places(&keys, rows, range, &mut places);
                    let key = |row: &u32| base + i64::from(distances[*row as usize]);
                    let expected: Vec<u32> = rows.iter().map(|row| range.place(key(row))).collect();
                    assert_eq!(places, expected, "{base} {range:?}");
                    let mut span = Vec::new();
                    if append_span_places(&keys, rows, range, &mut span) {
                        let place = |row: &u32| span[(row - rows[0]) as usize];
                        let places: Vec<u32> = rows.iter().map(place).collect();
                        assert_eq!(places, expected, "{base} {range:?}");
                    }
                }
            }
        }
    }
}
