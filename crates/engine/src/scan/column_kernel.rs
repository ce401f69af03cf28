//! One slot's test on one column, run over a column slice: what a scan for a batch of one does, and what is left
//! of a batch's predicates after its indexes.

use std::sync::OnceLock;

use memchr::memmem;

use super::filter::{ColumnFilter, ColumnTest, contains_bytes, float_key};
use super::index::select_by_ranks;
use super::key_set::KeySet;
use super::pattern::{Pattern, PatternShape};
use super::rows::Rows;
use crate::storage::{ColumnSlice, Dictionary, Nulls, Strings, Zone, each_width};
use crate::types::{ColumnId, ValueRef};

/// Up to so many cuts a key is compared with each of them, without branches.
const FEW_CUTS: usize = 6;

/// A test on one column, ready to run.
#[derive(Debug)]
pub struct ColumnKernel {
    column: ColumnId,
    test: ColumnTest,
    /// Of the literal that is all a pattern asks for.
    finder: Option<memmem::Finder<'static>>,
    /// Of a literal that is a part of what a pattern asks for.
    part: Option<memmem::Finder<'static>>,
    /// One bit per dictionary code.
    codes: OnceLock<Box<[u64]>>,
    /// About how many rows are going to be tested.
    rows: usize,
}

impl ColumnKernel {
    /// `rows`: about how many rows are going to be tested in all.
    pub fn new(column: ColumnId, test: ColumnTest, rows: usize) -> ColumnKernel {
        let finder = match &test {
            ColumnTest::Pattern(pattern) if pattern.is_contains() && !pattern.folded() => {
                Some(memmem::Finder::new(pattern.literal()).into_owned())
            }
            _ => None,
        };
        let part = match &test {
            ColumnTest::Pattern(pattern)
                if matches!(pattern.shape(), PatternShape::General(part) if !part.is_empty())
                    && !pattern.folded() =>
            {
                Some(memmem::Finder::new(pattern.literal()).into_owned())
            }
            _ => None,
        };
        ColumnKernel { column, test, finder, part, codes: OnceLock::new(), rows }
    }

    /// The column.
    pub fn column(&self) -> ColumnId {
        self.column
    }

    /// Whether one value qualifies.
    pub fn accepts(&self, value: ValueRef<'_>) -> bool {
        match (&self.test, value) {
            (ColumnTest::Keys(filter), value) => filter.contains(value),
            (ColumnTest::Pattern(pattern), ValueRef::Text(text)) => pattern.accepts(text),
            (ColumnTest::Pattern(_), _) => false,
        }
    }

    /// Whether a chunk with this zone may hold a row that qualifies.
    pub fn may_accept(&self, zone: &Zone) -> bool {
        match &self.test {
            ColumnTest::Keys(filter) => filter.may_accept(zone),
            ColumnTest::Pattern(_) => zone.min.is_some(),
        }
    }

    /// Appends the rows that qualify.
    pub fn select(&self, column: &ColumnSlice<'_>, rows: Rows<'_>, out: &mut Vec<u32>) {
        match (&self.test, column) {
            (_, ColumnSlice::Constant(value, _)) => {
                let accepted = self.accepts(value.borrow());
                rows.select(out, |_| accepted);
            }
            (ColumnTest::Keys(ColumnFilter::Narrow(keys)), _) => {
                let by_ranks = keys.cuts().len() <= FEW_CUTS
                    && matches!(column.nulls(), Nulls::None)
                    && select_by_ranks(column, rows, keys.cuts(), out);
                if !by_ranks {
                    select_narrow(column, keys, rows, out);
                }
            }
            (ColumnTest::Keys(ColumnFilter::Wide(keys)), ColumnSlice::Int128(values, nulls)) => {
                select_by(*nulls, keys.nulls(), rows, out, |row| keys.contains(&values[row]));
            }
            (_, ColumnSlice::Codes(codes, dictionary, nulls)) => {
                each_width!(*codes, codes => {
                    self.select_codes(codes, dictionary, *nulls, rows, out);
                });
            }
            (
                ColumnTest::Keys(ColumnFilter::Bytes(keys)),
                ColumnSlice::Strings(strings, nulls) | ColumnSlice::Bytes(strings, nulls),
            ) => select_bytes(strings, *nulls, keys, rows, out),
            (ColumnTest::Pattern(pattern), ColumnSlice::Strings(strings, nulls)) => {
                self.select_pattern(pattern, strings, *nulls, rows, out);
            }
            (test, column) => unreachable!("{test:?} over {column:?}"),
        }
    }

    fn select_codes<C: Copy + Into<u32>>(
        &self,
        codes: &[C],
        dictionary: &Dictionary,
        nulls: Nulls<'_>,
        rows: Rows<'_>,
        out: &mut Vec<u32>,
    ) {
        let null = self.accepts(ValueRef::Null);
        if let ColumnTest::Keys(ColumnFilter::Bytes(keys)) = &self.test
            && let Some(point) = keys.as_point()
        {
            let text = std::str::from_utf8(point).ok();
            let Some(code) = text.and_then(|text| dictionary.code(text)) else { return };
            return select_by(nulls, null, rows, out, |row| codes[row].into() == code);
        }
        let length = dictionary.len();
        if self.codes.get().is_none() && length > self.rows.max(rows.len()) {
            let accepts =
                |row: usize| self.accepts(ValueRef::Text(dictionary.get(codes[row].into())));
            return select_by(nulls, null, rows, out, accepts);
        }
        let bits = self.codes.get_or_init(|| self.evaluate(dictionary, length));
        select_by(nulls, null, rows, out, |row| {
            let code = codes[row].into() as usize;
            bits[code / 64] >> (code % 64) & 1 == 1
        });
    }

    fn evaluate(&self, dictionary: &Dictionary, length: usize) -> Box<[u64]> {
        let mut bits = vec![0u64; length.div_ceil(64)].into_boxed_slice();
        if let Some(finder) = self.finder.as_ref().filter(|_| !self.is_negated()) {
            let search = |text: &[u8]| finder.find(text);
            dictionary.for_each_containing(length, finder.needle().len(), search, |code| {
                bits[code as usize / 64] |= 1 << (code % 64);
            });
            return bits;
        }
        for code in 0..length {
            let text = dictionary.get(code as u32);
            let accepted = match &self.finder {
                Some(finder) => finder.find(text.as_bytes()).is_some() != self.is_negated(),
                None => self.accepts(ValueRef::Text(text)),
            };
            bits[code / 64] |= u64::from(accepted) << (code % 64);
        }
        bits
    }

    fn is_negated(&self) -> bool {
        matches!(&self.test, ColumnTest::Pattern(pattern) if pattern.negated())
    }

    fn select_pattern(
        &self,
        pattern: &Pattern,
        strings: &Strings<'_>,
        nulls: Nulls<'_>,
        rows: Rows<'_>,
        out: &mut Vec<u32>,
    ) {
        match (&self.finder, rows) {
            // A NULL is stored as an empty string, which contains no literal.
            (Some(finder), _) if !pattern.negated() && rows.is_dense() => {
                for_each_containing(strings, finder, rows, |at| out.push(rows.offset(at) as u32));
            }
            (Some(finder), _) => select_by(nulls, false, rows, out, |row| {
                finder.find(strings.bytes(row)).is_some() != pattern.negated()
            }),
            _ if matches!(pattern.shape(), PatternShape::Anything) => {
                select_by(nulls, false, rows, out, |_| !pattern.negated());
            }
            _ if rows.is_dense() && self.part.is_some() => {
                let part = self.part.as_ref().expect("asked just now");
                select_by_part(pattern, part, strings, nulls, rows, out);
            }
            _ => select_by(nulls, false, rows, out, |row| pattern.accepts(strings.text(row))),
        }
    }
}

/// Appends the rows for which `keep` holds; where a row is NULL, `null` decides.
#[inline(always)]
fn select_by(
    nulls: Nulls<'_>,
    null: bool,
    rows: Rows<'_>,
    out: &mut Vec<u32>,
    keep: impl Fn(usize) -> bool,
) {
    match nulls {
        Nulls::None => rows.select(out, keep),
        _ => rows.select(out, |row| if nulls.is_null(row) { null } else { keep(row) }),
    }
}

fn select_narrow(column: &ColumnSlice<'_>, keys: &KeySet<i64>, rows: Rows<'_>, out: &mut Vec<u32>) {
    match *column {
        ColumnSlice::Boolean(values, nulls) => {
            select_keys(values, i64::from, nulls, keys, rows, out)
        }
        ColumnSlice::Int16(values, nulls) => select_keys(values, i64::from, nulls, keys, rows, out),
        ColumnSlice::Int32(values, nulls) => select_keys(values, i64::from, nulls, keys, rows, out),
        ColumnSlice::Int64(values, nulls) => select_keys(values, |v| v, nulls, keys, rows, out),
        ColumnSlice::Framed(base, distances, nulls) => each_width!(distances, distances => {
            let key = |distance| base + i64::from(distance);
            select_keys(distances, key, nulls, keys, rows, out);
        }),
        ColumnSlice::Float32(values, nulls) => {
            select_keys(values, |v| float_key(f64::from(v)), nulls, keys, rows, out);
        }
        ColumnSlice::Float64(values, nulls) => {
            select_keys(values, float_key, nulls, keys, rows, out);
        }
        _ => unreachable!("{column:?} has no 64-bit keys"),
    }
}

/// What [`select_by_ranks`] does not take: floats, and columns with NULL.
fn select_keys<T: Copy>(
    values: &[T],
    key: impl Fn(T) -> i64,
    nulls: Nulls<'_>,
    keys: &KeySet<i64>,
    rows: Rows<'_>,
    out: &mut Vec<u32>,
) {
    let null = keys.nulls();
    match keys.cuts() {
        [] if !null => {}
        cuts if cuts.len() <= FEW_CUTS => select_by(nulls, null, rows, out, |row| {
            let key = key(values[row]);
            cuts.iter().fold(false, |inside, &cut| inside ^ (cut <= key))
        }),
        _ => select_by(nulls, null, rows, out, |row| keys.contains(&key(values[row]))),
    }
}

/// The whole pattern is asked of texts only that contain its part.
fn select_by_part(
    pattern: &Pattern,
    part: &memmem::Finder<'_>,
    strings: &Strings<'_>,
    nulls: Nulls<'_>,
    rows: Rows<'_>,
    out: &mut Vec<u32>,
) {
    let mut matching = Vec::new();
    for_each_containing(strings, part, rows, |at| {
        let row = rows.offset(at);
        if pattern.matches(strings.text(row)) {
            matching.push(row as u32);
        }
    });
    if !pattern.negated() {
        // A NULL is stored as an empty string, which contains no literal.
        return out.extend(matching);
    }
    let mut others = matching.into_iter().peekable();
    rows.for_each(|row| {
        if others.next_if_eq(&(row as u32)).is_none() && !nulls.is_null(row) {
            out.push(row as u32);
        }
    });
}

fn select_bytes(
    strings: &Strings<'_>,
    nulls: Nulls<'_>,
    keys: &KeySet<Box<[u8]>>,
    rows: Rows<'_>,
    out: &mut Vec<u32>,
) {
    match keys.as_point() {
        Some(point) => select_by(nulls, false, rows, out, |row| strings.bytes(row) == &**point),
        None => select_by(nulls, keys.nulls(), rows, out, |row| {
            contains_bytes(keys, strings.bytes(row))
        }),
    }
}

/// Calls `visit` with the position in `rows` of each row that contains a literal: one search over all values from the
/// first to the last, so that the search's set-up is paid per match and not per row.
pub fn for_each_containing(
    strings: &Strings<'_>,
    finder: &memmem::Finder<'_>,
    rows: Rows<'_>,
    mut visit: impl FnMut(usize),
) {
    let Some(last) = rows.len().checked_sub(1) else { return };
    let (mut row, end) = (rows.offset(0), rows.offset(last) + 1);
    let offsets = &strings.offsets()[..=end];
    let heap = &strings.heap()[..offsets[end] as usize];
    let length = finder.needle().len();
    let (mut at, mut from) = (0, offsets[row] as usize);
    while let Some(found) = finder.find(&heap[from..]) {
        let start = from + found;
        while offsets[row + 1] as usize <= start {
            row += 1;
        }
        if start + length > offsets[row + 1] as usize {
            from = start + 1;
            continue;
        }
        from = offsets[row + 1] as usize;
        while rows.offset(at) < row {
            at += 1;
        }
        if rows.offset(at) == row {
            visit(at);
        }
    }
}
