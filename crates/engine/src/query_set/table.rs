//! Interned query sets: a small number instead of a bitmap on every row.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use parking_lot::{Mutex, RwLock};

use super::words;
use crate::types::Slot;

/// A query set of one batch, by number. Meaningful only with the [`SetTable`] that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub u32);

impl SetId {
    /// The set that nobody is in; the same in every table.
    pub const EMPTY: SetId = SetId(0);
}

/// Beyond so many interned words (32 MiB) a table is [crowded](SetTable::crowded): operators then keep
/// bitmaps on the rows instead of interning further sets.
const CROWDED_WORDS: usize = 4 << 20;
/// Beyond so many distinct sets interning costs more cache misses than it saves.
const CROWDED_SETS: usize = 1 << 16;
/// Memoised results of set operations; more are computed again.
const MEMO_LIMIT: usize = 1 << 18;

/// The distinct query sets of one batch, and their memoised intersections. Shared by the batch's workers.
///
/// Ids below `slots + 2` are given in advance and cost nothing until somebody looks at their words: the
/// empty set, the set of each single slot, and the set of all slots. So a batch of one never interns.
/// Looking at a set takes no lock; interning a new one takes a short one.
#[derive(Debug)]
pub struct SetTable {
    slots: usize,
    entries: Entries,
    interner: Mutex<HashTable<(u64, SetId)>>,
    next: AtomicU32,
    memo: RwLock<HashMap<(Operation, SetId, SetId), SetId, FixedState>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    Intersect,
    Union,
    Subtract,
}

impl SetTable {
    /// A table for a batch of `slots` activations.
    pub fn new(slots: usize) -> SetTable {
        assert!(slots < u32::MAX as usize / 2, "slots are small numbers");
        SetTable {
            slots,
            entries: Entries::default(),
            interner: Mutex::new(HashTable::new()),
            next: AtomicU32::new(slots as u32 + 2),
            memo: RwLock::new(HashMap::with_hasher(FixedState::default())),
        }
    }

    /// Activations in the batch.
    #[inline]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Words of each set.
    #[inline]
    pub fn word_count(&self) -> usize {
        words::word_count(self.slots)
    }

    /// The set of all slots.
    #[inline]
    pub fn all(&self) -> SetId {
        if self.slots < 2 { SetId(self.slots as u32) } else { SetId(self.slots as u32 + 1) }
    }

    /// The set of one slot.
    #[inline]
    pub fn singleton(&self, slot: Slot) -> SetId {
        debug_assert!(slot.index() < self.slots);
        SetId(slot.0 + 1)
    }

    /// The only member, if `id` is a set of one.
    #[inline]
    pub fn single(&self, id: SetId) -> Option<Slot> {
        (id.0 != 0 && id.index() <= self.slots).then(|| Slot(id.0 - 1))
    }

    /// The id of a set given as words.
    pub fn intern(&self, set: &[u64]) -> SetId {
        debug_assert_eq!(set.len(), self.word_count());
        match words::cardinality(set) {
            0 => SetId::EMPTY,
            1 => self.singleton(words::first(set).expect("it has one member")),
            count if count == self.slots => self.all(),
            count => self.intern_large(set, count),
        }
    }

    fn intern_large(&self, set: &[u64], count: usize) -> SetId {
        let hash = FixedState::default().hash_one(set);
        let mut interner = self.interner.lock();
        let same = |&(other, id): &(u64, SetId)| other == hash && self.words(id) == set;
        if let Some(&(_, id)) = interner.find(hash, same) {
            return id;
        }
        let id = SetId(self.next.load(Ordering::Relaxed));
        let entry = Entry { words: set.into(), cardinality: count as u32 };
        self.entries.put(id.index(), entry);
        self.next.store(id.0 + 1, Ordering::Relaxed);
        interner.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        id
    }

    /// The id of the set of these slots.
    pub fn intern_slots(&self, slots: impl IntoIterator<Item = Slot>) -> SetId {
        let mut set = vec![0; self.word_count()];
        for slot in slots {
            words::insert(&mut set, slot);
        }
        self.intern(&set)
    }

    /// The members of a set, as words.
    #[inline]
    pub fn words(&self, id: SetId) -> &[u64] {
        &self.entry(id).words
    }

    fn entry(&self, id: SetId) -> &Entry {
        self.entries.get(id.index(), || self.entry_in_advance(id))
    }

    fn entry_in_advance(&self, id: SetId) -> Entry {
        if id.0 as usize == self.slots + 1 {
            return Entry { words: words::full(self.slots), cardinality: self.slots as u32 };
        }
        let mut set = vec![0; self.word_count()].into_boxed_slice();
        let single = self.single(id);
        assert!(single.is_some() || id == SetId::EMPTY, "{id:?} was never given");
        if let Some(slot) = single {
            words::insert(&mut set, slot);
        }
        Entry { words: set, cardinality: u32::from(single.is_some()) }
    }

    /// Members of a set.
    #[inline]
    pub fn cardinality(&self, id: SetId) -> usize {
        if id.index() <= self.slots {
            usize::from(id.0 != 0)
        } else {
            self.entry(id).cardinality as usize
        }
    }

    /// Whether a slot is in a set.
    #[inline]
    pub fn contains(&self, id: SetId, slot: Slot) -> bool {
        match self.single(id) {
            Some(single) => single == slot,
            None => id != SetId::EMPTY && words::contains(self.words(id), slot),
        }
    }

    /// Calls `visit` with every member of a set, ascending.
    #[inline]
    pub fn for_each(&self, id: SetId, mut visit: impl FnMut(Slot)) {
        match self.single(id) {
            Some(slot) => visit(slot),
            None if id == SetId::EMPTY => {}
            None => words::for_each(self.words(id), visit),
        }
    }

    /// The members of a set, ascending.
    pub fn members(&self, id: SetId) -> impl Iterator<Item = Slot> + '_ {
        words::slots(self.words(id))
    }

    /// Slots that are in both.
    #[inline]
    pub fn intersect(&self, a: SetId, b: SetId) -> SetId {
        if a == b || b == self.all() {
            a
        } else if a == SetId::EMPTY || b == SetId::EMPTY {
            SetId::EMPTY
        } else if a == self.all() {
            b
        } else if self.single(a).is_some_and(|slot| self.contains(b, slot)) {
            a
        } else if self.single(b).is_some_and(|slot| self.contains(a, slot)) {
            b
        } else if self.single(a).is_some() || self.single(b).is_some() {
            SetId::EMPTY
        } else {
            self.memoised(Operation::Intersect, a.min(b), a.max(b), words::intersect_into)
        }
    }

    /// Slots that are in either.
    #[inline]
    pub fn union(&self, a: SetId, b: SetId) -> SetId {
        if a == b || b == SetId::EMPTY || a == self.all() {
            a
        } else if a == SetId::EMPTY || b == self.all() {
            b
        } else {
            self.memoised(Operation::Union, a.min(b), a.max(b), words::union_into)
        }
    }

    /// Slots that are in `a` and not in `b`.
    #[inline]
    pub fn difference(&self, a: SetId, b: SetId) -> SetId {
        if a == b || a == SetId::EMPTY || b == self.all() {
            SetId::EMPTY
        } else if b == SetId::EMPTY {
            a
        } else if let Some(slot) = self.single(a) {
            if self.contains(b, slot) { SetId::EMPTY } else { a }
        } else {
            self.memoised(Operation::Subtract, a, b, words::subtract_into)
        }
    }

    fn memoised(
        &self,
        operation: Operation,
        a: SetId,
        b: SetId,
        apply: fn(&mut [u64], &[u64]),
    ) -> SetId {
        if let Some(&id) = self.memo.read().get(&(operation, a, b)) {
            return id;
        }
        let mut set = self.words(a).to_vec();
        apply(&mut set, self.words(b));
        let id = self.intern(&set);
        let mut memo = self.memo.write();
        if memo.len() < MEMO_LIMIT {
            memo.insert((operation, a, b), id);
        }
        id
    }

    /// Distinct sets interned so far, those given in advance not counted.
    pub fn interned(&self) -> usize {
        self.next.load(Ordering::Relaxed) as usize - self.slots - 2
    }

    /// Whether interning further sets costs more than it saves: rows should carry bitmaps or pairs instead.
    pub fn crowded(&self) -> bool {
        let sets = self.interned();
        sets > CROWDED_SETS || sets * self.word_count() > CROWDED_WORDS
    }
}

impl SetId {
    /// The id as an array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
struct Entry {
    words: Box<[u64]>,
    cardinality: u32,
}

/// Entries of the first segment; each further one has twice as many.
const FIRST_SEGMENT: usize = 32;

/// An append-only array that readers index without a lock: segments never move.
#[derive(Debug, Default)]
struct Entries {
    segments: [OnceLock<Box<[OnceLock<Entry>]>>; 28],
}

impl Entries {
    fn cell(&self, index: usize) -> &OnceLock<Entry> {
        let shifted = index + FIRST_SEGMENT;
        let segment = (shifted.ilog2() - FIRST_SEGMENT.ilog2()) as usize;
        let length = FIRST_SEGMENT << segment;
        let entries = self.segments[segment]
            .get_or_init(|| std::iter::repeat_with(OnceLock::new).take(length).collect());
        &entries[shifted - length]
    }

    #[inline]
    fn get(&self, index: usize, missing: impl FnOnce() -> Entry) -> &Entry {
        self.cell(index).get_or_init(missing)
    }

    fn put(&self, index: usize, entry: Entry) {
        let fresh = self.cell(index).set(entry).is_ok();
        assert!(fresh, "a set id is given once");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_given_in_advance_are_never_interned() {
        for slots in [1, 2, 64, 65, 300] {
            let table = SetTable::new(slots);
            assert_eq!(table.intern(&vec![0; table.word_count()]), SetId::EMPTY);
            assert_eq!(table.intern(&words::full(slots)), table.all());
            let last = Slot(slots as u32 - 1);
            assert_eq!(table.intern_slots([last]), table.singleton(last));
            assert_eq!(table.single(table.singleton(last)), Some(last));
            assert_eq!(table.cardinality(table.all()), slots);
            assert_eq!(table.interned(), 0);
        }
    }

    #[test]
    fn equal_sets_have_one_id() {
        let table = SetTable::new(130);
        let a = table.intern_slots([Slot(1), Slot(129)]);
        let b = table.intern_slots([Slot(129), Slot(1)]);
        assert_eq!(a, b);
        assert_eq!(table.interned(), 1);
        assert_eq!(table.members(a).collect::<Vec<_>>(), [Slot(1), Slot(129)]);
    }

    #[test]
    fn algebra_agrees_with_members() {
        let table = SetTable::new(70);
        let even = table.intern_slots((0..70).step_by(2).map(Slot));
        let third = table.intern_slots((0..70).step_by(3).map(Slot));
        let ids = [SetId::EMPTY, table.all(), even, third, table.singleton(Slot(6))];
        for a in ids {
            for b in ids {
                for slot in (0..70).map(Slot) {
                    let (x, y) = (table.contains(a, slot), table.contains(b, slot));
                    assert_eq!(table.contains(table.intersect(a, b), slot), x && y);
                    assert_eq!(table.contains(table.union(a, b), slot), x || y);
                    assert_eq!(table.contains(table.difference(a, b), slot), x && !y);
                }
            }
        }
    }

    #[test]
    fn threads_agree_on_ids() {
        let table = SetTable::new(200);
        let pick = |i: u32| table.intern_slots([Slot(i % 200), Slot((i * 7 + 3) % 200)]);
        let intern = || (0..2000).map(pick).collect::<Vec<_>>();
        let (a, b) = std::thread::scope(|scope| {
            let other = scope.spawn(intern);
            (intern(), other.join().expect("no panic"))
        });
        assert_eq!(a, b);
    }
}
