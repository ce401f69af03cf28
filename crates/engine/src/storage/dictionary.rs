//! Distinct strings of a column, numbered in order of arrival.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use arrow_buffer::Buffer;
use parking_lot::{Mutex, MutexGuard};

use super::append_buffer::{Appended, Appender, append_buffer};

/// Codes of the first page; each further page holds twice as many.
const FIRST_PAGE: usize = 256;
/// Bytes of the first heap page; each further page holds at least twice as many.
const FIRST_HEAP: usize = 4096;
/// Pages enough for 2^32 codes.
const PAGES: usize = 25;
/// An empty slot of the hash table.
const VACANT: u32 = u32::MAX;
/// Strings up to this length lie inside the view.
const INLINE: usize = 12;

/// An Arrow string view: length, then the bytes or a prefix, the heap page and the offset there.
type View = [u8; 16];

/// Append-only; a code once given stays. Writers take turns, readers take no lock. Code 0 is always the
/// empty string, so that NULL positions have a code that exists.
pub struct Dictionary {
    length: AtomicUsize,
    views: [OnceLock<Appended<View>>; PAGES],
    heaps: [OnceLock<Appended<u8>>; PAGES],
    /// Hash to code: open addressing, at most half full, insert only; a full table is replaced.
    table: ArcSwap<Box<[AtomicU32]>>,
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    views: Appender<View>,
    view_page: usize,
    heap: Appender<u8>,
    heap_page: usize,
}

/// Gives codes to strings of one dictionary.
pub(super) struct Interner<'a> {
    dictionary: &'a Dictionary,
    writer: MutexGuard<'a, Writer>,
}

impl Interner<'_> {
    /// The code of a string, given now if it is new.
    #[inline]
    pub fn intern(&mut self, value: &str) -> u32 {
        let dictionary = self.dictionary;
        let table = dictionary.table.load();
        match dictionary.find(&table, value.as_bytes()) {
            Ok(code) => code,
            Err(slot) => {
                let code = dictionary.append(&mut self.writer, value.as_bytes());
                table[slot].store(code, Ordering::Release);
                if (code as usize + 1) * 2 > table.len() {
                    dictionary.grow(table.len() * 2);
                }
                code
            }
        }
    }
}

/// The page of a code and its place there.
#[inline]
fn place(code: u32) -> (usize, usize) {
    let shifted = code as usize + FIRST_PAGE;
    let page = shifted.ilog2() as usize - FIRST_PAGE.ilog2() as usize;
    (page, shifted - (FIRST_PAGE << page))
}

fn hash(value: &[u8]) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::fast::FixedState::with_seed(17).build_hasher();
    hasher.write(value);
    hasher.finish()
}

fn vacant_table(slots: usize) -> Box<[AtomicU32]> {
    (0..slots).map(|_| AtomicU32::new(VACANT)).collect()
}

impl Dictionary {
    /// A dictionary with the empty string as code 0.
    pub(super) fn new() -> Dictionary {
        let (views, views_appended) = append_buffer(FIRST_PAGE);
        let (heap, heap_appended) = append_buffer(FIRST_HEAP);
        let dictionary = Dictionary {
            length: AtomicUsize::new(0),
            views: Default::default(),
            heaps: Default::default(),
            table: ArcSwap::from_pointee(vacant_table(64)),
            writer: Mutex::new(Writer { views, view_page: 0, heap, heap_page: 0 }),
        };
        let _ = dictionary.views[0].set(views_appended);
        let _ = dictionary.heaps[0].set(heap_appended);
        dictionary.interner().intern("");
        dictionary
    }

    /// Codes given so far.
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Whether no code was given yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string of a code.
    #[inline]
    pub fn get(&self, code: u32) -> &str {
        // SAFETY: views and heaps hold only what `append` copied from a `&str`, whole.
        unsafe { std::str::from_utf8_unchecked(self.bytes(code)) }
    }

    #[inline]
    fn bytes(&self, code: u32) -> &[u8] {
        let view = self.view(code);
        let length = u32_at(view, 0);
        if length <= INLINE {
            return &view[4..4 + length];
        }
        let heap = self.heaps[u32_at(view, 8)].get().expect("a view names a heap page that exists");
        let offset = u32_at(view, 12);
        &heap.values()[offset..offset + length]
    }

    /// Calls `visit` with each of the first `codes` codes whose string contains a literal of `length` bytes that `search`
    /// finds the first of. Heap pages hold their strings one behind the other in the order of codes, so that each page is
    /// searched in one run: the search is set up per match and not per string.
    pub fn for_each_containing(
        &self,
        codes: usize,
        length: usize,
        search: impl Fn(&[u8]) -> Option<usize>,
        mut visit: impl FnMut(u32),
    ) {
        let mut page = usize::MAX;
        let mut heap: &[u8] = &[];
        let mut next = None;
        let search_from = |heap: &[u8], at: usize| search(&heap[at..]).map(|found| at + found);
        for code in 0..codes as u32 {
            let view = self.view(code);
            let size = u32_at(view, 0);
            if size <= INLINE {
                if search(&view[4..4 + size]).is_some() {
                    visit(code);
                }
                continue;
            }
            let (own_page, start) = (u32_at(view, 8), u32_at(view, 12));
            if own_page != page {
                page = own_page;
                heap =
                    self.heaps[page].get().expect("a view names a heap page that exists").values();
                next = search_from(heap, start);
            }
            // Matches across the end of a string are none.
            while let Some(at) = next.filter(|at| *at < start) {
                next = search_from(heap, at + 1);
            }
            if next.is_some_and(|at| at + length <= start + size) {
                visit(code);
                next = search_from(heap, start + size);
            }
        }
    }

    /// The Arrow view of a code, over [`Self::buffers`].
    #[inline]
    pub(super) fn view(&self, code: u32) -> &View {
        let (page, at) = place(code);
        &self.views[page].get().expect("a code that was given").values()[at]
    }

    /// The heap pages that views name.
    pub(super) fn buffers(&self) -> Vec<Buffer> {
        let pages = self.heaps.iter().map_while(OnceLock::get);
        pages.map(|heap| heap.arrow(heap.values().len())).collect()
    }

    /// The code of a string, if any row ever had it.
    pub fn code(&self, value: &str) -> Option<u32> {
        self.find(&self.table.load(), value.as_bytes()).ok()
    }

    /// The code, or the slot where it belongs.
    fn find(&self, table: &[AtomicU32], value: &[u8]) -> Result<u32, usize> {
        let mask = table.len() - 1;
        let mut slot = hash(value) as usize & mask;
        loop {
            match table[slot].load(Ordering::Acquire) {
                VACANT => return Err(slot),
                code if self.bytes(code) == value => return Ok(code),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// The code of a string, given now if it is new.
    #[cfg(test)]
    pub(super) fn intern(&self, value: &str) -> u32 {
        self.interner().intern(value)
    }

    /// The right to give codes; one at a time has it.
    pub(super) fn interner(&self) -> Interner<'_> {
        Interner { dictionary: self, writer: self.writer.lock() }
    }

    fn append(&self, writer: &mut Writer, value: &[u8]) -> u32 {
        let code = u32::try_from(self.len()).expect("fewer than 2^32 distinct strings");
        let view = self.place_bytes(writer, value);
        if writer.views.remaining() == 0 {
            writer.view_page += 1;
            let (appender, appended) = append_buffer(FIRST_PAGE << writer.view_page);
            let _ = self.views[writer.view_page].set(appended);
            writer.views = appender;
        }
        writer.views.push(view);
        self.length.store(code as usize + 1, Ordering::Release);
        code
    }

    fn place_bytes(&self, writer: &mut Writer, value: &[u8]) -> View {
        let mut view = [0; 16];
        view[..4].copy_from_slice(&(value.len() as u32).to_le_bytes());
        if value.len() <= INLINE {
            view[4..4 + value.len()].copy_from_slice(value);
            return view;
        }
        if writer.heap.remaining() < value.len() {
            writer.heap_page += 1;
            let size = (FIRST_HEAP << writer.heap_page).max(value.len());
            let (appender, appended) = append_buffer(size);
            let _ = self.heaps[writer.heap_page].set(appended);
            writer.heap = appender;
        }
        let offset = writer.heap.len();
        writer.heap.extend(value);
        view[4..8].copy_from_slice(&value[..4]);
        view[8..12].copy_from_slice(&(writer.heap_page as u32).to_le_bytes());
        view[12..].copy_from_slice(&(offset as u32).to_le_bytes());
        view
    }

    fn grow(&self, slots: usize) {
        let table = vacant_table(slots);
        for code in 0..self.len() as u32 {
            if let Err(slot) = self.find(&table, self.bytes(code)) {
                table[slot].store(code, Ordering::Relaxed);
            }
        }
        self.table.store(std::sync::Arc::new(table));
    }

    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        let views: usize = self.views.iter().filter_map(OnceLock::get).map(Appended::memory).sum();
        let heaps: usize = self.heaps.iter().filter_map(OnceLock::get).map(Appended::memory).sum();
        views + heaps + self.table.load().len() * size_of::<AtomicU32>()
    }
}

#[inline]
fn u32_at(view: &View, at: usize) -> usize {
    u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dictionary({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stay_and_strings_come_back() {
        let dictionary = Dictionary::new();
        let text = |i: usize| format!("{i}{}", "x".repeat(i % 40));
        for i in 0..5_000 {
            assert_eq!(dictionary.intern(&text(i)), i as u32 + 1);
        }
        assert_eq!(dictionary.intern(&text(77)), 78);
        assert_eq!(dictionary.len(), 5_001);
        for i in 0..5_000 {
            assert_eq!(dictionary.get(i as u32 + 1), text(i));
            assert_eq!(dictionary.code(&text(i)), Some(i as u32 + 1));
        }
        assert_eq!(dictionary.code("never"), None);
        assert_eq!(dictionary.get(0), "");
    }

    #[test]
    fn a_search_in_one_run_finds_what_searches_in_each_find() {
        let dictionary = Dictionary::new();
        for i in 0..3_000 {
            dictionary.intern(&format!("{}{}", "ab".repeat(i % 13), i % 700));
        }
        for literal in ["a", "ba", "abab", "b12", "99", "babababab", "never", "6ab"] {
            let mut found = Vec::new();
            let search = |text: &[u8]| std::str::from_utf8(text).ok()?.find(literal);
            dictionary.for_each_containing(dictionary.len(), literal.len(), search, |code| {
                found.push(code);
            });
            let codes = 0..dictionary.len() as u32;
            let each: Vec<u32> = codes.filter(|c| dictionary.get(*c).contains(literal)).collect();
            assert_eq!(found, each, "{literal}");
        }
    }

    #[test]
    fn a_string_longer_than_a_heap_page_fits() {
        let dictionary = Dictionary::new();
        let long = "é".repeat(100_000);
        let code = dictionary.intern(&long);
        assert_eq!(dictionary.get(code), long);
    }
}
