//! Unique integer keys that lie close together: an array from key to row.
//!
//! Keys of serial columns are mostly consecutive. A probe then is one look at a page, a range is a
//! walk. Entries are changed in place and seen by readers at once; that is no harm, since readers
//! check the visible row. Once the keys turn out to lie too far apart, everything moves into the
//! index's tree, for good.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use parking_lot::RwLock;

/// Keys of one page.
const PAGE_KEYS: u64 = 1024;
const PAGE_WORDS: usize = PAGE_KEYS as usize / 64;
/// Pages that a table of any size may have: below that nobody asks how full they are.
const FREE_PAGES: usize = 16;
/// Beyond those, at most this many array slots per key.
const SLOTS_PER_KEY: usize = 8;
/// Pages that may be missing between the first and the last: so many, and some more per page that
/// exists. A missing page takes 16 bytes.
const FREE_GAPS: u64 = 4096;
const GAPS_PER_PAGE: u64 = 16;

/// No row has this key.
const VACANT: u64 = u64::MAX;
/// Rows of several ages have this key: they are listed aside.
const SEVERAL: u64 = u64::MAX - 1;

/// An array from key to row. Keys are unsigned numbers in the order of the column's values.
#[derive(Debug)]
pub(super) struct DenseKeys {
    active: AtomicBool,
    window: ArcSwap<Window>,
    /// Keys that more than one row had or has, some of which are not reclaimed yet.
    several: RwLock<HashMap<u64, Vec<u64>>>,
    /// Entries, pages, and pages without entries: only the writer counts.
    entries: AtomicUsize,
    pages: AtomicUsize,
    vacant_pages: AtomicUsize,
}

/// The pages of a run of keys.
#[derive(Debug)]
struct Window {
    /// Number of the first page: its keys divided by [`PAGE_KEYS`].
    first: u64,
    pages: Box<[OnceLock<Arc<Page>>]>,
    /// Pages up to the highest that exists: there is room above it.
    length: AtomicUsize,
}

#[derive(Debug)]
struct Page {
    ascending: Ascending,
    /// All keys one by one, from the first change on that `ascending` cannot tell: it is not looked
    /// at any more.
    rows: OnceLock<Box<[AtomicU64]>>,
    used: AtomicUsize,
}

/// Keys whose rows follow each other as the keys do, as they do after a load: a bit per key; its
/// row is the first row and as many more as there are bits below.
#[derive(Debug)]
struct Ascending {
    first_row: u64,
    /// Bits in the words before; written before the first bit of the word.
    ranks: [AtomicU16; PAGE_WORDS],
    bits: [AtomicU64; PAGE_WORDS],
}

impl Ascending {
    fn new(first_row: u64) -> Ascending {
        Ascending { first_row, ranks: Default::default(), bits: Default::default() }
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        let (word, bit) = (self.bits[at / 64].load(Ordering::Acquire), 1 << (at % 64));
        if word & bit == 0 {
            return VACANT;
        }
        let below = (word & (bit - 1)).count_ones();
        let rank = u32::from(self.ranks[at / 64].load(Ordering::Relaxed)) + below;
        self.first_row + u64::from(rank)
    }

    /// Writer: takes a key above the `used` others, if its row is the next one.
    fn extend(&self, at: usize, row: u64, used: usize) -> bool {
        let (word, bit) = (self.bits[at / 64].load(Ordering::Relaxed), 1 << (at % 64));
        let is_highest = word < bit
            && self.bits[at / 64 + 1..].iter().all(|word| word.load(Ordering::Relaxed) == 0);
        if !is_highest || row != self.first_row + used as u64 {
            return false;
        }
        if word == 0 {
            self.ranks[at / 64].store(used as u16, Ordering::Relaxed);
        }
        self.bits[at / 64].store(word | bit, Ordering::Release);
        true
    }
}

impl Page {
    /// A page without keys that is about to get one of that row.
    fn awaiting(row: u64) -> Page {
        let ascending = Ascending::new(row);
        Page { ascending, rows: OnceLock::new(), used: AtomicUsize::new(0) }
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        match self.rows.get() {
            Some(rows) => rows[at].load(Ordering::Acquire),
            None => self.ascending.get(at),
        }
    }

    /// Writer: changes what is at one place.
    fn set(&self, at: usize, row: u64) {
        let used = self.used.load(Ordering::Relaxed);
        if self.rows.get().is_none() && row < SEVERAL && self.ascending.extend(at, row, used) {
            return;
        }
        let all = || (0..PAGE_KEYS as usize).map(|at| AtomicU64::new(self.ascending.get(at)));
        self.rows.get_or_init(|| all().collect())[at].store(row, Ordering::Release);
    }

    fn memory(&self) -> usize {
        size_of::<Page>() + self.rows.get().map_or(0, |rows| size_of_val(&**rows))
    }
}

impl Window {
    fn new(first: u64, pages: usize) -> Window {
        let pages = (0..pages).map(|_| OnceLock::new()).collect();
        Window { first, pages, length: AtomicUsize::new(0) }
    }

    fn set(&self, number: u64, page: Arc<Page>) {
        let at = (number - self.first) as usize;
        let _ = self.pages[at].set(page);
        self.length.fetch_max(at + 1, Ordering::Release);
    }

    #[inline]
    fn page(&self, number: u64) -> Option<&Arc<Page>> {
        self.pages.get(number.wrapping_sub(self.first) as usize)?.get()
    }

    /// What is at a key: a row, [`VACANT`] or [`SEVERAL`].
    #[inline]
    fn get(&self, key: u64) -> u64 {
        let page = self.page(key / PAGE_KEYS);
        page.map_or(VACANT, |page| page.get((key % PAGE_KEYS) as usize))
    }

    /// Numbers of the pages that exist.
    fn numbers(&self) -> impl DoubleEndedIterator<Item = u64> {
        let all = self.pages.iter().enumerate().filter(|(_, page)| page.get().is_some());
        all.map(|(at, _)| self.first + at as u64)
    }

    /// The same pages, where `keep` says so, in a window from `first` on.
    fn copied(&self, first: u64, pages: usize, keep: impl Fn(u64) -> bool) -> Window {
        let window = Window::new(first, pages);
        for number in self.numbers() {
            if let Some(page) = self.page(number).filter(|_| keep(number)) {
                window.set(number, page.clone());
            }
        }
        window
    }

    /// A window that has room for page `number`, and as much again in that direction.
    fn grown(&self, number: u64) -> Window {
        if self.pages.is_empty() {
            return Window::new(number, 4);
        }
        let last = self.first + self.pages.len() as u64 - 1;
        let spare = self.pages.len() as u64;
        let (first, last) = match number < self.first {
            true => (number.saturating_sub(spare), last),
            false => (self.first, number.saturating_add(spare)),
        };
        self.copied(first, (last - first + 1) as usize, |_| true)
    }
}

impl DenseKeys {
    /// No keys.
    pub fn new() -> DenseKeys {
        DenseKeys {
            active: AtomicBool::new(true),
            window: ArcSwap::from_pointee(Window::new(0, 0)),
            several: RwLock::default(),
            entries: AtomicUsize::new(0),
            pages: AtomicUsize::new(0),
            vacant_pages: AtomicUsize::new(0),
        }
    }

    /// Whether keys are still kept here. A reader asks after it has read an entry: what it read
    /// before the keys moved stays as it was.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// Writer: adds an entry; `false`, and nothing done, if the key lies too far from the others,
    /// or is the one that no exclusive end of a range can name.
    pub fn insert(&self, key: u64, row: u64) -> bool {
        if key == u64::MAX {
            return false;
        }
        let window = self.window.load();
        if let Some(page) = window.page(key / PAGE_KEYS) {
            self.put(page, key, row);
            return true;
        }
        if !self.may_add_page(&window, key / PAGE_KEYS) {
            return false;
        }
        drop(window);
        self.add_page(key / PAGE_KEYS, Page::awaiting(row));
        self.insert(key, row)
    }

    fn put(&self, page: &Page, key: u64, row: u64) {
        let at = (key % PAGE_KEYS) as usize;
        match page.get(at) {
            VACANT => {
                page.set(at, row);
                if page.used.fetch_add(1, Ordering::Relaxed) == 0 {
                    self.vacant_pages.fetch_sub(1, Ordering::Relaxed);
                }
                self.entries.fetch_add(1, Ordering::Relaxed);
            }
            SEVERAL => {
                let mut several = self.several.write();
                let rows = several.get_mut(&key).expect("several rows are listed");
                if !rows.contains(&row) {
                    rows.push(row);
                }
            }
            present if present == row => {}
            present => {
                self.several.write().insert(key, vec![present, row]);
                page.set(at, SEVERAL);
            }
        }
    }

    fn may_add_page(&self, window: &Window, number: u64) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        let (entries, slots) = (self.entries.load(Ordering::Relaxed), pages * PAGE_KEYS as usize);
        let is_full_enough = pages < FREE_PAGES || slots <= SLOTS_PER_KEY * entries;
        let mut numbers = window.numbers();
        let first = numbers.next().unwrap_or(number);
        let last = numbers.next_back().unwrap_or(first);
        let gap = number.max(last) - number.min(first) - (last - first);
        is_full_enough && gap <= FREE_GAPS + GAPS_PER_PAGE * pages as u64
    }

    fn add_page(&self, number: u64, page: Page) {
        let window = self.window.load_full();
        let covered = number.wrapping_sub(window.first) < window.pages.len() as u64;
        let window = if covered { window } else { Arc::new(window.grown(number)) };
        window.set(number, Arc::new(page));
        self.pages.fetch_add(1, Ordering::Relaxed);
        self.vacant_pages.fetch_add(1, Ordering::Relaxed);
        self.window.store(window);
    }

    /// Writer: removes an entry, if it is there.
    pub fn remove(&self, key: u64, row: u64) {
        let window = self.window.load();
        let Some(page) = window.page(key / PAGE_KEYS) else { return };
        let at = (key % PAGE_KEYS) as usize;
        match page.get(at) {
            SEVERAL => {
                let mut several = self.several.write();
                let rows = several.get_mut(&key).expect("several rows are listed");
                rows.retain(|listed| *listed != row);
                if let [only] = rows[..] {
                    page.set(at, only);
                    several.remove(&key);
                }
            }
            present if present == row => {
                page.set(at, VACANT);
                self.entries.fetch_sub(1, Ordering::Relaxed);
                if page.used.fetch_sub(1, Ordering::Relaxed) == 1 {
                    let vacant = self.vacant_pages.fetch_add(1, Ordering::Relaxed) + 1;
                    self.prune(&window, vacant);
                }
            }
            _ => {}
        }
    }

    /// Drops pages without entries, if half of many pages are such. The last page stays: serial
    /// keys come there.
    fn prune(&self, window: &Window, vacant: usize) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < FREE_PAGES || vacant * 2 < pages {
            return;
        }
        let is_used = |number: &u64| {
            window.page(*number).is_some_and(|page| page.used.load(Ordering::Relaxed) > 0)
        };
        let Some(last) = window.numbers().next_back() else { return };
        let first = window.numbers().find(is_used).unwrap_or(last);
        let length = (last - first + 1) as usize;
        let kept = window.copied(first, length, |number| is_used(&number) || number == last);
        self.pages.store(kept.numbers().count(), Ordering::Relaxed);
        self.vacant_pages.store(usize::from(!is_used(&last)), Ordering::Relaxed);
        self.window.store(Arc::new(kept));
    }

    /// Visits the rows of a key. `None`, and nothing visited, if the keys have moved.
    #[inline]
    pub fn equal(
        &self,
        key: u64,
        visit: &mut impl FnMut(u64) -> ControlFlow<()>,
    ) -> Option<ControlFlow<()>> {
        let window = self.window.load();
        let row = window.get(key);
        if !self.is_active() {
            return None;
        }
        Some(match row {
            VACANT => ControlFlow::Continue(()),
            SEVERAL => self.visit_several(key, &window, &mut |row| visit(row)),
            row => visit(row),
        })
    }

    #[cold]
    fn visit_several(
        &self,
        key: u64,
        window: &Window,
        visit: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let listed = self.several.read().get(&key).cloned();
        match (listed, window.get(key)) {
            (Some(rows), _) => rows.into_iter().try_for_each(visit),
            (None, VACANT) => ControlFlow::Continue(()),
            // The list became a single row, and perhaps a list again, since the page was read.
            (None, SEVERAL) => self.visit_several(key, window, visit),
            (None, row) => visit(row),
        }
    }

    /// Visits keys in `keys` with their rows in order. `None`, and nothing visited, if the keys
    /// have moved.
    pub fn range(
        &self,
        keys: Range<u64>,
        descending: bool,
        visit: &mut impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Option<ControlFlow<()>> {
        let window = self.window.load();
        if !self.is_active() {
            return None;
        }
        let first = (keys.start / PAGE_KEYS).max(window.first);
        let length = window.length.load(Ordering::Acquire);
        let end = keys.end.div_ceil(PAGE_KEYS).min(window.first + length as u64);
        let mut page = |number: u64| self.visit_page(&window, number, &keys, descending, visit);
        Some(match descending {
            false => (first..end).try_for_each(&mut page),
            true => (first..end).rev().try_for_each(&mut page),
        })
    }

    fn visit_page(
        &self,
        window: &Window,
        number: u64,
        keys: &Range<u64>,
        descending: bool,
        visit: &mut impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(page) = window.page(number) else { return ControlFlow::Continue(()) };
        let base = number * PAGE_KEYS;
        let from = keys.start.max(base) - base;
        let to = keys.end.saturating_sub(base).min(PAGE_KEYS);
        let mut slot = |at: u64| match page.get(at as usize) {
            VACANT => ControlFlow::Continue(()),
            SEVERAL => self.visit_several(base + at, window, &mut |row| visit(base + at, row)),
            row => visit(base + at, row),
        };
        match descending {
            false => (from..to).try_for_each(&mut slot),
            true => (from..to).rev().try_for_each(&mut slot),
        }
    }

    /// Writer: hands out all entries in key order, for the tree that takes over.
    pub fn entries(&self) -> Vec<(u64, u64)> {
        let mut entries = Vec::with_capacity(self.entries.load(Ordering::Relaxed));
        let _ = self.range(0..u64::MAX, false, &mut |key, row| {
            entries.push((key, row));
            ControlFlow::Continue(())
        });
        entries
    }

    /// Writer: the tree has taken over and is published.
    pub fn retire(&self) {
        self.active.store(false, Ordering::Release);
        self.window.store(Arc::new(Window::new(0, 0)));
        self.several.write().clear();
    }

    /// Entries and bytes held.
    pub fn weigh(&self) -> (usize, usize) {
        if !self.is_active() {
            return (0, 0);
        }
        let several = self.several.read();
        let listed: usize = several.values().map(|rows| rows.len() - 1).sum();
        let window = self.window.load();
        let pages = window.pages.iter().filter_map(OnceLock::get).map(|page| page.memory());
        let places = window.pages.len() * size_of::<OnceLock<Arc<Page>>>();
        let bytes = pages.sum::<usize>() + places + listed * 64;
        (self.entries.load(Ordering::Relaxed) + listed, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::seeds;
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use std::collections::BTreeSet;

    fn range(dense: &DenseKeys, keys: Range<u64>, descending: bool) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        let _ = dense.range(keys, descending, &mut |key, row| {
            found.push((key, row));
            ControlFlow::Continue(())
        });
        found
    }

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn dense_keys_equal_a_sorted_set(
            changes in prop::collection::vec((0u64..60_000, 0u64..3, 0u8..5), 1..2_000),
            base in prop::sample::select(vec![0, 1 << 31, (1 << 63) - 30_000, u64::MAX - 60_000]),
            bounds in (0u64..60_000, 0u64..60_000),
        ) {
            let (dense, mut twin) = (DenseKeys::new(), BTreeSet::new());
            for (key, row, kind) in changes {
                let key = base + key;
                if kind < 3 && dense.insert(key, row) {
                    twin.insert((key, row));
                } else if kind >= 3 {
                    dense.remove(key, row);
                    twin.remove(&(key, row));
                }
            }
            prop_assert_eq!(dense.weigh().0, twin.len());
            let sort = |mut found: Vec<(u64, u64)>| {
                found.sort_unstable();
                found
            };
            let keys = base + bounds.0..base + bounds.1;
            let expected: Vec<_> =
                twin.iter().copied().filter(|(key, _)| keys.contains(key)).collect();
            let ascending = range(&dense, keys.clone(), false);
            prop_assert!(ascending.is_sorted_by_key(|(key, _)| *key));
            prop_assert_eq!(sort(ascending), expected.clone());
            let descending = range(&dense, keys, true);
            prop_assert!(descending.is_sorted_by_key(|(key, _)| u64::MAX - *key));
            prop_assert_eq!(sort(descending), expected);
            prop_assert_eq!(sort(dense.entries()), Vec::from_iter(twin.iter().copied()));
            for (key, _) in &twin {
                let mut rows = Vec::new();
                let _ = dense.equal(*key, &mut |row| {
                    rows.push((*key, row));
                    ControlFlow::Continue(())
                });
                let expected: Vec<_> = twin.range((*key, 0)..=(*key, 9)).copied().collect();
                prop_assert_eq!(sort(rows), expected);
            }
        }
    }

    /// Keys in stretches with gaps, rows mostly in their order, and single changes.
    #[test]
    fn loaded_keys_that_change_equal_a_sorted_set() {
        seeds("dense-keys").for_each(change_loaded_keys);
    }

    fn change_loaded_keys(seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let (dense, mut twin) = (DenseKeys::new(), BTreeSet::new());
        let (mut next_key, mut next_row) = (random.random_range(0..5_000), 0);
        for _ in 0..60 {
            let step = random.random_range(1..6);
            for _ in 0..random.random_range(1..3_000) {
                assert!(dense.insert(next_key, next_row));
                twin.insert((next_key, next_row));
                next_key += if random.random_bool(0.01) { 70 } else { step };
                next_row += if random.random_bool(0.001) { 2 } else { 1 };
            }
            for _ in 0..random.random_range(0..4) {
                let key = random.random_range(0..next_key);
                let first = twin.range((key, 0)..).next().copied();
                match (first, random.random_bool(0.5)) {
                    (Some((key, row)), true) => {
                        dense.remove(key, row);
                        twin.remove(&(key, row));
                    }
                    _ => {
                        assert!(dense.insert(key, next_row));
                        twin.insert((key, next_row));
                        next_row += 1;
                    }
                }
            }
        }
        assert_eq!(range(&dense, 0..u64::MAX, false), Vec::from_iter(twin.iter().copied()));
        for key in 0..next_key {
            let mut rows = Vec::new();
            let _ = dense.equal(key, &mut |row| {
                rows.push(row);
                ControlFlow::Continue(())
            });
            let expected: Vec<u64> =
                twin.range((key, 0)..(key + 1, 0)).map(|pair| pair.1).collect();
            assert_eq!(rows, expected, "key {key}");
        }
    }

    #[test]
    fn loaded_keys_take_little_room_and_are_found_while_they_change() {
        let dense = DenseKeys::new();
        (0..40_000).for_each(|key| assert!(dense.insert(key * 4, key)));
        let (_, bytes) = dense.weigh();
        assert!(bytes < 40_000 * 2, "{bytes}");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut seen = 0;
                    while seen < 40_000 {
                        seen = 0;
                        for key in 0..40_000 {
                            let _ = dense.equal(key * 4, &mut |row| {
                                assert!(row == key || row == key + 50_000, "{row} of {key}");
                                seen += u64::from(row == key + 50_000);
                                ControlFlow::Continue(())
                            });
                        }
                    }
                });
            }
            for key in (0..40_000).rev() {
                dense.insert(key * 4, key + 50_000);
                dense.remove(key * 4, key);
            }
        });
        assert_eq!(dense.weigh().0, 40_000);
    }

    #[test]
    fn distant_keys_are_refused_and_used_up_ones_freed() {
        let dense = DenseKeys::new();
        for key in 0..1_000_000 {
            assert!(dense.insert(key, key));
            if key >= 5_000 {
                dense.remove(key - 5_000, key - 5_000);
            }
        }
        let (entries, bytes) = dense.weigh();
        assert_eq!(entries, 5_000);
        assert!(bytes < 40 * 8 * 1024, "{bytes}");
        assert!(!dense.insert(1 << 60, 1));
        assert!(dense.insert(0, 7) && dense.insert(3_000_000, 8));
        let scattered = DenseKeys::new();
        let kept = (0..1_000).filter(|i| scattered.insert(i * 10_000, *i)).count();
        assert!(kept <= FREE_PAGES, "{kept}");
    }
}
