//! New entries of one index, brought into key order before they go in.

use std::cmp::Ordering;
use std::ops::Range;

use super::key::{KeyBuffer, KeyWidth};
use super::numbers::{Number, Numbers};
use super::tree::ByteKeys;
use super::tree_run::Sorted;
use crate::types::{Result, limit};

/// Entries that are sorted between two looks at whether somebody still wants them.
const SORTED_AT_ONCE: usize = 1 << 16;

/// Keys and rows, ascending once sorted.
#[derive(Debug)]
pub(super) struct Run {
    /// Whether keys are hashes.
    hashed: bool,
    pub entries: RunEntries,
}

#[derive(Debug)]
pub(super) enum RunEntries {
    Word(Vec<(u64, u64)>),
    Wide(Vec<(u128, u64)>),
    Bytes(ByteRun),
}

/// Keys of any length, one after the other, and where each lies.
#[derive(Debug, Default)]
pub(super) struct ByteRun {
    heap: Vec<u8>,
    entries: Vec<ByteEntry>,
}

#[derive(Clone, Copy, Debug)]
struct ByteEntry {
    /// The first eight bytes: most comparisons look no further.
    prefix: u64,
    start: usize,
    length: u32,
    row: u64,
}

impl Run {
    /// No entries, room for `capacity`.
    pub fn with_capacity(width: KeyWidth, capacity: usize) -> Run {
        let entries = match width {
            KeyWidth::Word | KeyWidth::Hash => RunEntries::Word(Vec::with_capacity(capacity)),
            KeyWidth::Wide => RunEntries::Wide(Vec::with_capacity(capacity)),
            KeyWidth::Bytes => RunEntries::Bytes(ByteRun::default()),
        };
        Run { hashed: width == KeyWidth::Hash, entries }
    }

    #[inline]
    pub fn push(&mut self, key: &KeyBuffer, row: u64) {
        match &mut self.entries {
            RunEntries::Word(entries) if self.hashed => entries.push((key.hash(), row)),
            RunEntries::Word(entries) => entries.push((key.word(), row)),
            RunEntries::Wide(entries) => entries.push((key.wide(), row)),
            RunEntries::Bytes(run) => run.push(key.bytes(), row),
        }
    }

    /// Brings the entries into order, each once.
    pub fn sort(&mut self) {
        match &mut self.entries {
            RunEntries::Word(entries) => {
                entries.sort_unstable();
                entries.dedup();
            }
            RunEntries::Wide(entries) => {
                entries.sort_unstable();
                entries.dedup();
            }
            RunEntries::Bytes(run) => run.sort(),
        }
    }

    /// The same, but it ends early where the work of this thread is to end.
    pub fn sort_step_by_step(&mut self) -> Result<()> {
        match &mut self.entries {
            RunEntries::Word(entries) => {
                merge_sort(entries, SORTED_AT_ONCE, Ord::cmp)?;
                entries.dedup();
            }
            RunEntries::Wide(entries) => {
                merge_sort(entries, SORTED_AT_ONCE, Ord::cmp)?;
                entries.dedup();
            }
            RunEntries::Bytes(run) => {
                let mut entries = std::mem::take(&mut run.entries);
                merge_sort(&mut entries, SORTED_AT_ONCE, |a, b| run.compare(a, b))?;
                run.entries = entries;
                run.forget_copies();
            }
        }
        Ok(())
    }

    /// Some of the entries.
    pub fn part(&self, range: Range<usize>) -> Run {
        let entries = match &self.entries {
            RunEntries::Word(entries) => RunEntries::Word(entries[range].to_vec()),
            RunEntries::Wide(entries) => RunEntries::Wide(entries[range].to_vec()),
            RunEntries::Bytes(run) => {
                let mut part = ByteRun::default();
                let entries = run.entries[range].iter();
                entries.for_each(|entry| part.push(run.bytes(entry), entry.row));
                RunEntries::Bytes(part)
            }
        };
        Run { hashed: self.hashed, entries }
    }

    pub fn len(&self) -> usize {
        match &self.entries {
            RunEntries::Word(entries) => entries.len(),
            RunEntries::Wide(entries) => entries.len(),
            RunEntries::Bytes(run) => run.entries.len(),
        }
    }

    #[inline]
    pub fn row(&self, at: usize) -> u64 {
        match &self.entries {
            RunEntries::Word(entries) => entries[at].1,
            RunEntries::Wide(entries) => entries[at].1,
            RunEntries::Bytes(run) => run.entries[at].row,
        }
    }

    /// The value of the key at `at`, if keys are one integer of `width` bytes; `None` for NULL.
    #[inline]
    pub fn integer(&self, at: usize, width: usize) -> Option<u64> {
        // Behind the marker byte the value's bytes are the next significant ones.
        let (marker, value) = match &self.entries {
            RunEntries::Word(entries) => (entries[at].0 >> 56, entries[at].0 << 8),
            RunEntries::Wide(entries) => {
                ((entries[at].0 >> 120) as u64, (entries[at].0 << 8 >> 64) as u64)
            }
            RunEntries::Bytes(_) => unreachable!("an integer has a fixed width"),
        };
        (marker == 0).then_some(value >> (64 - 8 * width))
    }

    /// Whether a key (its hash, where keys are hashed) is in this sorted run.
    pub fn has_key(&self, key: &KeyBuffer) -> bool {
        match &self.entries {
            RunEntries::Word(entries) => {
                let word = if self.hashed { key.hash() } else { key.word() };
                entries.binary_search_by(|entry| entry.0.cmp(&word)).is_ok()
            }
            RunEntries::Wide(entries) => {
                entries.binary_search_by(|entry| entry.0.cmp(&key.wide())).is_ok()
            }
            RunEntries::Bytes(run) => {
                let found = |entry: &ByteEntry| run.bytes(entry).cmp(key.bytes());
                run.entries.binary_search_by(found).is_ok()
            }
        }
    }

    /// Visits the runs of entries with equal keys (equal hashes, where keys are hashed) that are
    /// longer than one.
    pub fn equal_keys(&self, visit: impl FnMut(Range<usize>)) {
        match &self.entries {
            RunEntries::Word(entries) => {
                groups(entries.len(), |a, b| entries[a].0 == entries[b].0, visit);
            }
            RunEntries::Wide(entries) => {
                groups(entries.len(), |a, b| entries[a].0 == entries[b].0, visit);
            }
            RunEntries::Bytes(run) => {
                groups(run.entries.len(), |a, b| run.key(a) == run.key(b), visit);
            }
        }
    }
}

/// Sorts pieces, then merges neighbours until one is left; asks between them whether to go on.
fn merge_sort<E: Copy>(
    entries: &mut Vec<E>,
    piece: usize,
    order: impl Fn(&E, &E) -> Ordering,
) -> Result<()> {
    for piece in entries.chunks_mut(piece) {
        limit::check()?;
        piece.sort_unstable_by(&order);
    }
    let mut width = piece;
    while width < entries.len() {
        let mut merged = Vec::with_capacity(entries.len());
        for pair in entries.chunks(2 * width) {
            merge(pair.split_at(width.min(pair.len())), piece, &order, &mut merged)?;
        }
        *entries = merged;
        width *= 2;
    }
    Ok(())
}

/// Appends the entries of two sorted pieces in their order.
fn merge<E: Copy>(
    (mut left, mut right): (&[E], &[E]),
    at_once: usize,
    order: impl Fn(&E, &E) -> Ordering,
    merged: &mut Vec<E>,
) -> Result<()> {
    while let ([first, ..], [second, ..]) = (left, right) {
        if merged.len().is_multiple_of(at_once) {
            limit::check()?;
        }
        let taken = if order(second, first).is_lt() { &mut right } else { &mut left };
        merged.push(taken[0]);
        *taken = &taken[1..];
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

fn groups(length: usize, same: impl Fn(usize, usize) -> bool, mut visit: impl FnMut(Range<usize>)) {
    let mut first = 0;
    for at in 1..=length {
        if at < length && same(at - 1, at) {
            continue;
        }
        if at - first > 1 {
            visit(first..at);
        }
        first = at;
    }
}

impl ByteRun {
    pub fn push(&mut self, key: &[u8], row: u64) {
        let mut prefix = [0; 8];
        let length = key.len().min(8);
        prefix[..length].copy_from_slice(&key[..length]);
        self.entries.push(ByteEntry {
            prefix: u64::from_be_bytes(prefix),
            start: self.heap.len(),
            length: key.len() as u32,
            row,
        });
        self.heap.extend_from_slice(key);
    }

    pub fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|a, b| self.compare(a, b));
        self.entries = entries;
        self.forget_copies();
    }

    #[inline]
    fn compare(&self, a: &ByteEntry, b: &ByteEntry) -> Ordering {
        let first = a.prefix.cmp(&b.prefix);
        first.then_with(|| self.bytes(a).cmp(self.bytes(b))).then_with(|| a.row.cmp(&b.row))
    }

    /// Leaves each entry of a sorted run once.
    fn forget_copies(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.dedup_by(|a, b| a.row == b.row && self.bytes(a) == self.bytes(b));
        self.entries = entries;
    }

    #[inline]
    fn bytes(&self, entry: &ByteEntry) -> &[u8] {
        &self.heap[entry.start..entry.start + entry.length as usize]
    }

    #[inline]
    fn key(&self, at: usize) -> &[u8] {
        self.bytes(&self.entries[at])
    }
}

impl<T: Number> Sorted<Numbers<T>> for Vec<(T, u64)> {
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn key(&self, at: usize) -> T {
        self[at].0
    }

    #[inline]
    fn row(&self, at: usize) -> u64 {
        self[at].1
    }
}

impl Sorted<ByteKeys> for ByteRun {
    fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    fn key(&self, at: usize) -> &[u8] {
        self.key(at)
    }

    #[inline]
    fn row(&self, at: usize) -> u64 {
        self.entries[at].row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_in_pieces_as_at_once() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 54
        };
        for length in [0, 1, 7, 8, 9, 1_000] {
            let entries: Vec<(u64, u64)> = (0..length).map(|_| (random(), random())).collect();
            let (mut pieces, mut whole) = (entries.clone(), entries);
            merge_sort(&mut pieces, 8, Ord::cmp).expect("nobody ends it");
            whole.sort_unstable();
            assert_eq!(pieces, whole);
        }
    }

    #[test]
    fn runs_of_texts_are_sorted_once_each_and_divided() {
        let mut run = Run::with_capacity(KeyWidth::Bytes, 0);
        let RunEntries::Bytes(bytes) = &mut run.entries else { unreachable!("made so") };
        for (key, row) in [("long texts b", 1), ("a", 2), ("long texts a", 3), ("a", 2)] {
            bytes.push(key.as_bytes(), row);
        }
        run.sort_step_by_step().expect("nobody ends it");
        let rows = |run: &Run| (0..run.len()).map(|at| run.row(at)).collect::<Vec<_>>();
        assert_eq!(rows(&run), [2, 3, 1]);
        assert_eq!(rows(&run.part(1..3)), [3, 1]);
    }
}
