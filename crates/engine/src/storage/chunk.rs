//! A run of row versions, column by column.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::append_buffer::Appended;
use super::column_store::Column;
use super::ends::Ends;
use super::{ColumnSlice, Zone};
use crate::types::{ChunkId, ColumnId, Location, RowId, Value, ValueRef, Version};

/// Row versions of a full chunk. Small tables start with smaller chunks.
pub const CHUNK_ROWS: usize = 8192;

/// A run of row versions, column by column; append-only, readable while it grows.
#[derive(Debug)]
pub struct Chunk {
    pub(super) id: ChunkId,
    pub(super) capacity: usize,
    /// Row versions below are complete in every column.
    pub(super) rows: AtomicUsize,
    pub(super) columns: Box<[Column]>,
    /// The logical row of the first version; those behind it follow while `row_ids` is unset.
    pub(super) first_row: AtomicU64,
    pub(super) row_ids: OnceLock<Appended<u64>>,
    pub(super) lives: Lives,
    /// Once the chunk is sealed, by column.
    pub(super) zones: OnceLock<Box<[Zone]>>,
    /// Values of columns that were added after this chunk was begun.
    pub(super) added: Added,
}

/// Values of the columns that one ALTER TABLE added, then those of the next.
#[derive(Debug, Default)]
pub(super) struct Added(OnceLock<Box<(Box<[Value]>, Added)>>);

/// Since when and until when row versions live, and which version they replaced.
#[derive(Debug)]
pub(super) struct Lives {
    /// The begin of the first row; of all rows while `begins` is unset.
    pub first_begin: AtomicU64,
    pub begins: OnceLock<Appended<u64>>,
    pub max_begin: AtomicU64,
    /// Ends, allocated with the first.
    pub ends: OnceLock<Ends>,
    /// No row ends before.
    pub min_end: AtomicU64,
    /// All rows end here at the latest (TRUNCATE).
    pub end_all: AtomicU64,
    /// Rows that have an end, and the greatest of those ends.
    pub ended: AtomicU32,
    pub max_end: AtomicU64,
    /// The writer remembers this chunk for reclaiming.
    pub is_candidate: AtomicBool,
    /// Packed locations of the versions replaced, [`packed_none`] where a row was new.
    pub previous: OnceLock<Appended<u64>>,
}

/// In a packed previous location: the version is a copy that reclaiming made.
pub(super) const MOVED: u64 = 1 << 31;

/// A location in one word.
#[inline]
pub(super) fn pack(location: Location) -> u64 {
    u64::from(location.chunk.0) << 32 | u64::from(location.offset)
}

/// A location from one word.
#[inline]
pub(super) fn unpack(packed: u64) -> Location {
    Location { chunk: ChunkId((packed >> 32) as u32), offset: packed as u32 }
}

/// [`Location::NONE`], packed.
pub(super) const PACKED_NONE: u64 = u64::MAX;

impl Lives {
    pub fn new() -> Lives {
        Lives {
            first_begin: AtomicU64::new(0),
            begins: OnceLock::new(),
            max_begin: AtomicU64::new(0),
            ends: OnceLock::new(),
            min_end: AtomicU64::new(u64::MAX),
            end_all: AtomicU64::new(u64::MAX),
            ended: AtomicU32::new(0),
            max_end: AtomicU64::new(0),
            is_candidate: AtomicBool::new(false),
            previous: OnceLock::new(),
        }
    }

    #[inline]
    pub fn begin(&self, offset: usize) -> u64 {
        match self.begins.get() {
            Some(begins) => begins.values()[offset],
            None => self.first_begin.load(Ordering::Relaxed),
        }
    }

    #[inline]
    pub fn end(&self, offset: usize) -> u64 {
        let all = self.end_all.load(Ordering::Relaxed);
        match self.ends.get() {
            Some(ends) => ends.get(offset).min(all),
            None => all,
        }
    }

    /// The version that the one at `offset` replaced, and whether it is only a copy of it.
    #[inline]
    pub fn previous(&self, offset: usize) -> (Location, bool) {
        let packed = self.previous.get().map_or(PACKED_NONE, |links| links.values()[offset]);
        if packed == PACKED_NONE {
            return (Location::NONE, false);
        }
        (unpack(packed & !MOVED), packed & MOVED != 0)
    }

    /// Bytes allocated.
    pub fn memory(&self) -> usize {
        let begins = self.begins.get().map_or(0, Appended::memory);
        let previous = self.previous.get().map_or(0, Appended::memory);
        begins + previous + self.ends.get().map_or(0, Ends::memory)
    }

    /// Writer: ends a row.
    pub fn set_end(&self, offset: usize, capacity: usize, end: u64) {
        self.ends.get_or_init(|| Ends::new(capacity)).set(offset, end);
        self.min_end.fetch_min(end, Ordering::Relaxed);
        self.max_end.fetch_max(end, Ordering::Relaxed);
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

impl Chunk {
    /// Row versions readable now. Grows until the chunk is sealed.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows.load(Ordering::Acquire)
    }

    /// The first `rows()` values of a column. A column that was added after this chunk was written
    /// reads as its `missing` value.
    #[inline]
    pub fn column(&self, column: ColumnId) -> ColumnSlice<'_> {
        let rows = self.rows();
        match self.columns.get(column.index()) {
            Some(column) => column.slice(rows),
            None => {
                ColumnSlice::Constant(self.added.get(column.index() - self.columns.len()), rows)
            }
        }
    }

    /// One value.
    #[inline]
    pub fn cell(&self, column: ColumnId, offset: u32) -> ValueRef<'_> {
        match self.columns.get(column.index()) {
            Some(column) => column.value(offset as usize),
            None => self.added.get(column.index() - self.columns.len()).borrow(),
        }
    }

    /// Smallest and largest value and NULLs of a column, once the chunk is sealed: `None` while it
    /// grows. Covers all versions, visible or not. `None` also for a column added later: it is one
    /// constant.
    pub fn zone(&self, column: ColumnId) -> Option<&Zone> {
        self.zones.get()?.get(column.index())
    }

    /// Appends the offsets in `range` that `version` sees to `out`, ascending.
    pub fn visible(&self, version: Version, range: Range<u32>, out: &mut Vec<u32>) {
        if version.0 >= self.lives.end_all.load(Ordering::Relaxed) {
            return;
        }
        if self.all_visible(version) {
            return out.extend(range);
        }
        let all_begun = self.lives.max_begin.load(Ordering::Relaxed) <= version.0;
        let none_ended = self.lives.min_end.load(Ordering::Relaxed) > version.0;
        let span = range.start as usize..range.end as usize;
        let begins = match self.lives.begins.get() {
            Some(begins) if !all_begun => Some(&begins.values()[span.clone()]),
            None if self.lives.first_begin.load(Ordering::Relaxed) > version.0 => return,
            _ => None,
        };
        let ends = self.lives.ends.get().filter(|_| !none_ended);
        match (begins, ends) {
            (None, Some(ends)) => ends.living(version.0, range, out),
            _ => {
                let ends = ends.map(|ends| &ends.values()[span]);
                select_visible(version.0, range, begins, ends, out);
            }
        }
    }

    /// Whether `version` sees every row of this chunk: then nobody needs to look at row versions.
    /// Holds for the rows of an *earlier* call of [`Self::rows`]: newer ones may be invisible.
    #[inline]
    pub fn all_visible(&self, version: Version) -> bool {
        self.lives.max_begin.load(Ordering::Relaxed) <= version.0
            && self.lives.min_end.load(Ordering::Relaxed) > version.0
            && self.lives.end_all.load(Ordering::Relaxed) > version.0
    }

    /// Whether `version` sees the row at `offset`.
    #[inline]
    pub fn is_visible(&self, version: Version, offset: u32) -> bool {
        self.lives.begin(offset as usize) <= version.0
            && version.0 < self.lives.end(offset as usize)
    }

    /// The logical row at `offset`.
    #[inline]
    pub fn row_id(&self, offset: u32) -> RowId {
        match self.row_ids.get() {
            Some(ids) => RowId(ids.values()[offset as usize]),
            None => RowId(self.first_row.load(Ordering::Relaxed) + u64::from(offset)),
        }
    }

    /// The rows that have not ended; `None` where none has.
    pub(super) fn living(&self) -> Option<Vec<u32>> {
        let has_ended = self.lives.ended.load(Ordering::Relaxed) > 0
            || self.lives.end_all.load(Ordering::Relaxed) != u64::MAX;
        let alive = |row: &u32| self.lives.end(*row as usize) == u64::MAX;
        has_ended.then(|| (0..self.rows() as u32).filter(alive).collect())
    }

    /// Writer: gives all rows of a chunk that nobody sees yet their begin.
    pub(super) fn begin_all(&self, begin: Version) {
        assert!(self.lives.begins.get().is_none(), "the rows begin together");
        self.lives.first_begin.store(begin.0, Ordering::Relaxed);
        self.lives.max_begin.store(begin.0, Ordering::Relaxed);
    }

    /// Bytes that tell which rows the versions are of.
    pub(super) fn row_ids_memory(&self) -> usize {
        self.row_ids.get().map_or(0, Appended::memory)
    }

    /// Whether no version of this chunk is visible to `oldest` or later.
    pub(super) fn is_dead(&self, oldest: Version) -> bool {
        let all = self.lives.end_all.load(Ordering::Relaxed) <= oldest.0;
        let each = self.lives.ended.load(Ordering::Relaxed) as usize == self.rows()
            && self.lives.max_end.load(Ordering::Relaxed) <= oldest.0;
        all || each
    }
}

/// Appends `range.start + i` for every `i` with `begins[i] <= version < ends[i]`; a missing side
/// always holds.
fn select_visible(
    version: u64,
    range: Range<u32>,
    begins: Option<&[u64]>,
    ends: Option<&[AtomicU64]>,
    out: &mut Vec<u32>,
) {
    let first = out.len();
    out.resize(first + range.len(), 0);
    let target = &mut out[first..];
    let mut count = 0;
    let mut take = |offset: usize, visible: bool| {
        target[count] = range.start + offset as u32;
        count += usize::from(visible);
    };
    match (begins, ends) {
        (Some(begins), Some(ends)) => {
            begins.iter().zip(ends).enumerate().for_each(|(i, (b, e))| {
                take(i, *b <= version && version < e.load(Ordering::Relaxed));
            })
        }
        (Some(begins), None) => {
            begins.iter().enumerate().for_each(|(i, begin)| take(i, *begin <= version));
        }
        (None, Some(ends)) => ends.iter().enumerate().for_each(|(i, end)| {
            take(i, version < end.load(Ordering::Relaxed));
        }),
        (None, None) => (0..range.len()).for_each(|i| take(i, true)),
    }
    out.truncate(first + count);
}

impl Added {
    fn get(&self, position: usize) -> &Value {
        let (values, next) = &**self.0.get().expect("ALTER TABLE gave every chunk the new column");
        values.get(position).unwrap_or_else(|| next.get(position - values.len()))
    }

    /// Writer: adds the values of further columns.
    pub fn push(&self, values: Box<[Value]>) {
        match self.0.get() {
            Some(link) => link.1.push(values),
            None => drop(self.0.set(Box::new((values, Added::default())))),
        }
    }

    /// Columns added so far.
    pub fn len(&self) -> usize {
        self.0.get().map_or(0, |link| link.0.len() + link.1.len())
    }
}
