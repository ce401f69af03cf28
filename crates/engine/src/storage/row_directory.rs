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
    run: Run,
    /// All locations one by one, from the first on that does not continue the run: it is not looked
    /// at any more.
    locations: OnceLock<Box<[AtomicU64]>>,
    /// Rows that are here; counted by the writer.
    used: AtomicUsize,
}

/// Rows of a page whose newest versions lie one behind the other in one chunk, as they do after a
/// load until one of them changes.
#[derive(Debug)]
struct Run {
    /// The first of the rows, and its packed location.
    from: usize,
    first: u64,
    length: AtomicUsize,
}

impl Run {
    #[inline]
    fn get(&self, at: usize) -> u64 {
        let offset = at.wrapping_sub(self.from);
        let is_in = offset < self.length.load(Ordering::Acquire);
        if is_in { self.first + offset as u64 } else { PACKED_NONE }
    }

    /// Writer: takes a further row, if it continues the run.
    fn extend(&self, at: usize, packed: u64) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        let continues = packed != PACKED_NONE
            && at == self.from + length
            && packed == self.first + length as u64;
        if continues {
            self.length.store(length + 1, Ordering::Release);
        }
        continues
    }
}

impl Page {
    /// A page without rows that is about to get one.
    fn awaiting(at: usize, packed: u64) -> Page {
        Page {
            run: Run { from: at, first: packed, length: AtomicUsize::new(0) },
            locations: OnceLock::new(),
            used: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        match self.locations.get() {
            Some(locations) => locations[at].load(Ordering::Acquire),
            None => self.run.get(at),
        }
    }

    /// Writer: sets a location and gives the one before.
    fn replace(&self, at: usize, packed: u64) -> u64 {
        if self.locations.get().is_none() && self.run.extend(at, packed) {
            return PACKED_NONE;
        }
        let all = || (0..PAGE_ROWS).map(|at| AtomicU64::new(self.run.get(at))).collect();
        self.locations.get_or_init(all)[at].swap(packed, Ordering::Release)
    }

    fn memory(&self) -> usize {
        let locations = self.locations.get().map_or(0, |locations| size_of_val(&**locations));
        size_of::<Page>() + locations
    }
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
        unpack(page.get(row.index() % PAGE_ROWS))
    }

    /// Writer: sets the newest location of a row that this list covers.
    pub fn set(&self, row: RowId, location: Location) {
        let (at, packed) = (row.index() % PAGE_ROWS, pack(location));
        let page = self.pages[row.index() / PAGE_ROWS].get_or_init(|| {
            self.present.fetch_add(1, Ordering::Relaxed);
            self.vacant.fetch_add(1, Ordering::Relaxed);
            Arc::new(Page::awaiting(at, packed))
        });
        let before = page.replace(at, packed);
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
        let pages = self.pages.iter().filter_map(OnceLock::get).map(|page| page.memory());
        self.pages.len() * size_of::<OnceLock<Arc<Page>>>() + pages.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::seeds::seeds;
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
        assert_eq!(before - directory.memory(), 2 * (size_of::<Page>() + PAGE_ROWS * 8));
    }

    /// Sets locations in stretches that often continue each other, as loads do, and one by one.
    #[test]
    fn runs_and_single_rows_are_kept_as_they_were_set() {
        seeds("row-directory").for_each(keep_runs_and_single_rows);
    }

    fn keep_runs_and_single_rows(seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let (mut directory, mut twin) = (RowDirectory::new(1), HashMap::new());
        let (mut next_row, mut next_chunk) = (random.random_range(0..2_000), 0);
        for _ in 0..300 {
            next_chunk += 1;
            let one_by_one = random.random_bool(0.3);
            let first = if one_by_one { random.random_range(0..next_row + 1) } else { next_row };
            let rows = if one_by_one { 1 } else { random.random_range(1..3_000) };
            let gone = one_by_one && twin.contains_key(&first) && random.random_bool(0.5);
            for row in 0..rows {
                let (id, location) = match gone {
                    true => (first, Location::NONE),
                    false => {
                        let chunk = ChunkId(next_chunk + (row / 1_500) as u32);
                        (first + row, Location { chunk, offset: row as u32 })
                    }
                };
                if !directory.covers(RowId(id)) {
                    directory = directory.grown(RowId(id));
                }
                directory.set(RowId(id), location);
                twin.insert(id, location);
            }
            next_chunk += 1;
            next_row = next_row.max(first + rows + random.random_range(0..3));
        }
        for row in 0..next_row + 2_000 {
            let expected = twin.get(&row).copied().unwrap_or(Location::NONE);
            assert_eq!(directory.get(RowId(row)), expected, "row {row}");
        }
    }

    #[test]
    fn rows_of_a_load_take_no_room_until_they_move() {
        let directory = RowDirectory::new(8);
        let at = |row: u64| Location { chunk: ChunkId(3), offset: row as u32 };
        (0..8_192).for_each(|row| directory.set(RowId(row), at(row)));
        let loaded = directory.memory();
        assert!(loaded < 8_192 / 8, "{loaded}");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let moved = |row: u64| Location { chunk: ChunkId(4), offset: row as u32 };
                    let mut seen = 0;
                    while seen < 8_192 {
                        seen = 0;
                        for row in 0..8_192 {
                            let found = directory.get(RowId(row));
                            seen += u64::from(found == moved(row));
                            assert!(found == at(row) || found == moved(row), "{row}: {found:?}");
                        }
                    }
                });
            }
            for row in (0..8_192).rev() {
                directory.set(RowId(row), Location { chunk: ChunkId(4), offset: row as u32 });
            }
        });
        assert!(directory.memory() - loaded == 8_192 * 8);
    }
}
