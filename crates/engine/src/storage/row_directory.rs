//! Row ids to the newest location of each row.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::chunk::{PACKED_NONE, pack, unpack};
use crate::types::{Location, RowId};

/// Rows of one page.
const PAGE_ROWS: usize = 1024;

/// A run of row ids. Dropped when all its rows are gone.
#[derive(Debug)]
struct Page {
    locations: Box<[AtomicU64]>,
    /// Rows that are here; counted by the writer.
    used: AtomicUsize,
}

/// Pages by number; readers hold one such list and see pages appear in it. A longer or a pruned
/// list is a new one that shares the pages.
#[derive(Debug)]
pub(super) struct RowDirectory {
    pages: Box<[OnceLock<Arc<Page>>]>,
    /// Pages that exist, and those of them that have no rows; counted by the writer.
    present: AtomicUsize,
    vacant: AtomicUsize,
}

impl RowDirectory {
    /// No rows, room for `pages` pages.
    pub fn new(pages: usize) -> RowDirectory {
        RowDirectory {
            pages: (0..pages).map(|_| OnceLock::new()).collect(),
            present: AtomicUsize::new(0),
            vacant: AtomicUsize::new(0),
        }
    }

    /// Whether a row's page can be in this list.
    #[inline]
    pub fn covers(&self, row: RowId) -> bool {
        row.index() / PAGE_ROWS < self.pages.len()
    }

    /// A list that covers `row` too, with the same pages.
    pub fn grown(&self, row: RowId) -> RowDirectory {
        let wanted = (row.index() / PAGE_ROWS + 1).next_power_of_two();
        self.copied(wanted.max(self.pages.len()), |_| true)
    }

    /// A list without pages that have no rows, if at least half of the pages are such. The page
    /// that grows (the one of row `next`) stays.
    pub fn pruned(&self, next: RowId) -> Option<RowDirectory> {
        let vacant = self.vacant.load(Ordering::Relaxed);
        let present = self.present.load(Ordering::Relaxed);
        let growing = next.index() / PAGE_ROWS;
        (vacant > 1 && vacant * 2 >= present).then(|| {
            self.copied(self.pages.len(), |(at, page)| {
                at >= growing || page.used.load(Ordering::Relaxed) > 0
            })
        })
    }

    fn copied(&self, length: usize, keep: impl Fn((usize, &Page)) -> bool) -> RowDirectory {
        let list = RowDirectory::new(length);
        for (at, page) in self.pages.iter().enumerate() {
            if let Some(page) = page.get().filter(|page| keep((at, page))) {
                let _ = list.pages[at].set(page.clone());
                list.present.fetch_add(1, Ordering::Relaxed);
                let is_vacant = page.used.load(Ordering::Relaxed) == 0;
                list.vacant.fetch_add(usize::from(is_vacant), Ordering::Relaxed);
            }
        }
        list
    }

    /// The newest location of a row.
    #[inline]
    pub fn get(&self, row: RowId) -> Location {
        let Some(page) = self.pages.get(row.index() / PAGE_ROWS).and_then(OnceLock::get) else {
            return Location::NONE;
        };
        unpack(page.locations[row.index() % PAGE_ROWS].load(Ordering::Acquire))
    }

    /// Writer: sets the newest location of a row that this list covers.
    pub fn set(&self, row: RowId, location: Location) {
        let page = self.pages[row.index() / PAGE_ROWS].get_or_init(|| {
            self.present.fetch_add(1, Ordering::Relaxed);
            self.vacant.fetch_add(1, Ordering::Relaxed);
            let locations = (0..PAGE_ROWS).map(|_| AtomicU64::new(PACKED_NONE)).collect();
            Arc::new(Page { locations, used: AtomicUsize::new(0) })
        });
        let packed = pack(location);
        let before = page.locations[row.index() % PAGE_ROWS].swap(packed, Ordering::Release);
        match (before == PACKED_NONE, packed == PACKED_NONE) {
            (true, false) if page.used.fetch_add(1, Ordering::Relaxed) == 0 => {
                self.vacant.fetch_sub(1, Ordering::Relaxed);
            }
            (false, true) if page.used.fetch_sub(1, Ordering::Relaxed) == 1 => {
                self.vacant.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let pages = self.present.load(Ordering::Relaxed);
        self.pages.len() * size_of::<OnceLock<Arc<Page>>>() + pages * PAGE_ROWS * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ChunkId;

    #[test]
    fn rows_come_and_go_in_any_order() {
        let at = |i: u64| Location { chunk: ChunkId(i as u32), offset: 7 };
        let mut directory = RowDirectory::new(1);
        for row in [5_000, 3, 100_000, 1] {
            if !directory.covers(RowId(row)) {
                directory = directory.grown(RowId(row));
            }
            directory.set(RowId(row), at(row));
        }
        assert_eq!(directory.get(RowId(5_000)), at(5_000));
        assert!(directory.get(RowId(4)).is_none());
        assert!(directory.get(RowId(1 << 40)).is_none());
        assert!(directory.pruned(RowId(100_001)).is_none());
        directory.set(RowId(5_000), Location::NONE);
        directory.set(RowId(100_000), Location::NONE);
        let before = directory.memory();
        directory = directory.pruned(RowId(200_000)).expect("two of three pages are empty");
        assert_eq!(directory.get(RowId(3)), at(3));
        assert!(directory.get(RowId(5_000)).is_none());
        assert_eq!(before - directory.memory(), 2 * PAGE_ROWS * 8);
    }
}
