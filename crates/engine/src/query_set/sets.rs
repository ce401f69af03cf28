//! One logical column, several encodings, chosen by density.

use super::one_word::{Recall, append_words, ids_of_words};
use super::{SetId, SetTable, words};
use crate::types::Slot;

/// Which activations want which row.
#[derive(Clone, Debug)]
pub enum QuerySets {
    /// All rows have the same set. A batch of one is this case and costs nothing per row.
    Uniform(SetId),
    /// One interned set per row.
    Interned(Vec<SetId>),
    /// A bitmap per row: `words_per_row` words each.
    Bitmaps {
        /// Words of each row.
        words_per_row: usize,
        /// Row after row, slot 0 in the lowest bit of the first word.
        words: Vec<u64>,
    },
    /// Every row is wanted by exactly one activation: what index probes of a batch give.
    Single(Vec<Slot>),
    /// (row, slot) pairs by row: few activations per row out of many, in too many combinations to intern.
    Pairs {
        /// Row `i` is wanted by `slots[offsets[i]..offsets[i + 1]]`.
        offsets: Vec<u32>,
        /// Ascending within a row.
        slots: Vec<Slot>,
    },
}

/// The set of one row, in whatever encoding its column has.
#[derive(Clone, Copy, Debug)]
pub enum RowSet<'a> {
    /// An interned set.
    Id(SetId),
    /// A bitmap.
    Words(&'a [u64]),
    /// Exactly one activation.
    One(Slot),
    /// A list, ascending.
    List(&'a [Slot]),
}

impl RowSet<'_> {
    /// Whether `slot` is in the set.
    #[inline]
    pub fn contains(self, slot: Slot, table: &SetTable) -> bool {
        match self {
            RowSet::Id(id) => table.contains(id, slot),
            RowSet::Words(set) => words::contains(set, slot),
            RowSet::One(only) => only == slot,
            RowSet::List(slots) => slots.binary_search(&slot).is_ok(),
        }
    }

    /// Members.
    #[inline]
    pub fn cardinality(self, table: &SetTable) -> usize {
        match self {
            RowSet::Id(id) => table.cardinality(id),
            RowSet::Words(set) => words::cardinality(set),
            RowSet::One(_) => 1,
            RowSet::List(slots) => slots.len(),
        }
    }

    /// Whether nobody wants the row.
    #[inline]
    pub fn is_empty(self) -> bool {
        match self {
            RowSet::Id(id) => id == SetId::EMPTY,
            RowSet::Words(set) => words::is_empty(set),
            RowSet::One(_) => false,
            RowSet::List(slots) => slots.is_empty(),
        }
    }

    /// Calls `visit` with every member, ascending.
    #[inline]
    pub fn for_each(self, table: &SetTable, mut visit: impl FnMut(Slot)) {
        match self {
            RowSet::Id(id) => table.for_each(id, visit),
            RowSet::Words(set) => words::for_each(set, visit),
            RowSet::One(slot) => visit(slot),
            RowSet::List(slots) => slots.iter().for_each(|&slot| visit(slot)),
        }
    }

    /// `target |= self`
    #[inline]
    pub fn union_into(self, target: &mut [u64], table: &SetTable) {
        match self {
            RowSet::Id(SetId::EMPTY) => {}
            RowSet::Id(id) => match table.single(id) {
                Some(slot) => words::insert(target, slot),
                None => words::union_into(target, table.words(id)),
            },
            RowSet::Words(set) => words::union_into(target, set),
            RowSet::One(slot) => words::insert(target, slot),
            RowSet::List(slots) => slots.iter().for_each(|&slot| words::insert(target, slot)),
        }
    }

    /// The interned id.
    #[inline]
    pub fn id(self, table: &SetTable) -> SetId {
        match self {
            RowSet::Id(id) => id,
            RowSet::Words(set) => table.intern(set),
            RowSet::One(slot) => table.singleton(slot),
            RowSet::List([]) => SetId::EMPTY,
            RowSet::List([slot]) => table.singleton(*slot),
            RowSet::List(slots) => table.intern_slots(slots.iter().copied()),
        }
    }
}

impl QuerySets {
    /// Sets of no rows.
    pub fn none() -> QuerySets {
        QuerySets::Single(Vec::new())
    }

    /// The set of row `row`.
    #[inline]
    pub fn row(&self, row: usize) -> RowSet<'_> {
        match self {
            QuerySets::Uniform(id) => RowSet::Id(*id),
            QuerySets::Interned(ids) => RowSet::Id(ids[row]),
            QuerySets::Bitmaps { words_per_row, words } => {
                RowSet::Words(&words[row * words_per_row..(row + 1) * words_per_row])
            }
            QuerySets::Single(slots) => RowSet::One(slots[row]),
            QuerySets::Pairs { offsets, slots } => {
                RowSet::List(&slots[offsets[row] as usize..offsets[row + 1] as usize])
            }
        }
    }

    /// Rows that the encoding knows of; `None` for [`QuerySets::Uniform`], which fits any number.
    pub fn rows(&self) -> Option<usize> {
        match self {
            QuerySets::Uniform(_) => None,
            QuerySets::Interned(ids) => Some(ids.len()),
            QuerySets::Bitmaps { words_per_row: 0, .. } => None,
            QuerySets::Bitmaps { words_per_row, words } => Some(words.len() / words_per_row),
            QuerySets::Single(slots) => Some(slots.len()),
            QuerySets::Pairs { offsets, .. } => Some(offsets.len() - 1),
        }
    }

    /// All (row, slot) pairs.
    pub fn pairs(&self, rows: usize, table: &SetTable) -> usize {
        match self {
            QuerySets::Uniform(id) => rows * table.cardinality(*id),
            QuerySets::Interned(ids) => ids.iter().map(|&id| table.cardinality(id)).sum(),
            QuerySets::Bitmaps { words, .. } => words::cardinality(words),
            QuerySets::Single(slots) => slots.len(),
            QuerySets::Pairs { slots, .. } => slots.len(),
        }
    }

    /// The union of the sets of all rows: who wants anything here.
    pub fn wanted(&self, rows: usize, table: &SetTable) -> SetId {
        match self {
            QuerySets::Uniform(id) if rows > 0 => *id,
            QuerySets::Uniform(_) => SetId::EMPTY,
            QuerySets::Single(slots) => {
                let mut all = vec![0; table.word_count()];
                slots.iter().for_each(|&slot| words::insert(&mut all, slot));
                table.intern(&all)
            }
            QuerySets::Bitmaps { words_per_row: 1, words } => {
                table.intern(&[words.iter().fold(0, |all, word| all | word)])
            }
            QuerySets::Interned(ids) => {
                let mut all = vec![0; table.word_count()];
                let mut known = Recall::new(0, ());
                let mut add = |id| words::union_into(&mut all, table.words(id));
                ids.iter().for_each(|&id| known.get(id.0.into(), || add(id)));
                table.intern(&all)
            }
            _ => {
                let mut all = vec![0; table.word_count()];
                (0..rows).for_each(|row| self.row(row).union_into(&mut all, table));
                table.intern(&all)
            }
        }
    }

    /// Rows that somebody wants, ascending; `None` where that is all of them.
    pub fn wanted_rows(&self, rows: usize) -> Option<Vec<u32>> {
        match self {
            QuerySets::Uniform(SetId::EMPTY) => Some(Vec::new()),
            QuerySets::Uniform(_) | QuerySets::Single(_) => None,
            QuerySets::Interned(ids) => rows_where(rows, |row| ids[row] != SetId::EMPTY),
            QuerySets::Bitmaps { words_per_row: 1, words } => {
                // Mostly so, and a vector of rows is counted at once.
                let unwanted = words.iter().map(|&word| usize::from(word == 0)).sum::<usize>();
                (unwanted > 0).then(|| rows_where(rows, |row| words[row] != 0)).flatten()
            }
            _ => rows_where(rows, |row| !self.row(row).is_empty()),
        }
    }

    /// Drops the rows that nobody wants: the positions of those that stay (`None` for all of them) and their sets.
    pub(super) fn only_wanted(self, rows: usize) -> (Option<Vec<u32>>, QuerySets) {
        match self.wanted_rows(rows) {
            Some(kept) => {
                let sets = self.take(&kept);
                (Some(kept), sets)
            }
            None => (None, self),
        }
    }

    /// The sets of `rows`, in that order; a row may come several times.
    pub fn take(&self, rows: &[u32]) -> QuerySets {
        match self {
            QuerySets::Uniform(id) => QuerySets::Uniform(*id),
            QuerySets::Interned(ids) => {
                QuerySets::Interned(rows.iter().map(|&row| ids[row as usize]).collect())
            }
            QuerySets::Bitmaps { words_per_row: 1, words } => {
                let words = rows.iter().map(|&row| words[row as usize]).collect();
                QuerySets::Bitmaps { words_per_row: 1, words }
            }
            QuerySets::Bitmaps { words_per_row, words } => {
                let width = *words_per_row;
                let mut taken = Vec::with_capacity(rows.len() * width);
                for &row in rows {
                    taken.extend_from_slice(&words[row as usize * width..][..width]);
                }
                QuerySets::Bitmaps { words_per_row: width, words: taken }
            }
            QuerySets::Single(slots) => {
                QuerySets::Single(rows.iter().map(|&row| slots[row as usize]).collect())
            }
            QuerySets::Pairs { offsets, slots } => take_pairs(offsets, slots, rows),
        }
    }

    /// The sets of rows `range`.
    pub fn slice(&self, range: std::ops::Range<usize>) -> QuerySets {
        match self {
            QuerySets::Uniform(id) => QuerySets::Uniform(*id),
            QuerySets::Interned(ids) => QuerySets::Interned(ids[range].to_vec()),
            QuerySets::Bitmaps { words_per_row, words } => {
                let words = words[range.start * words_per_row..range.end * words_per_row].to_vec();
                QuerySets::Bitmaps { words_per_row: *words_per_row, words }
            }
            QuerySets::Single(slots) => QuerySets::Single(slots[range].to_vec()),
            QuerySets::Pairs { offsets, slots } => {
                let (first, last) = (offsets[range.start], offsets[range.end]);
                let offsets = offsets[range.start..=range.end].iter().map(|o| o - first).collect();
                QuerySets::Pairs { offsets, slots: slots[first as usize..last as usize].to_vec() }
            }
        }
    }

    /// The interned id of every row.
    pub fn ids(&self, rows: usize, table: &SetTable) -> Vec<SetId> {
        match self {
            QuerySets::Interned(ids) => ids.clone(),
            QuerySets::Bitmaps { words_per_row: 1, words } => ids_of_words(words, table),
            _ => (0..rows).map(|row| self.row(row).id(table)).collect(),
        }
    }

    /// Like [`Self::bitmaps`], without a copy where these are what there is.
    pub fn into_bitmaps(self, rows: usize, table: &SetTable) -> Vec<u64> {
        match self {
            QuerySets::Bitmaps { words, .. } => words,
            _ => self.bitmaps(rows, table),
        }
    }

    /// A bitmap of every row, `table.word_count()` words each.
    pub fn bitmaps(&self, rows: usize, table: &SetTable) -> Vec<u64> {
        if let QuerySets::Bitmaps { words, .. } = self {
            return words.clone();
        }
        let width = table.word_count();
        if width == 1 {
            let mut words = Vec::with_capacity(rows);
            append_words(self, rows, table, &mut words);
            return words;
        }
        let mut bitmaps = vec![0; rows * width];
        if width > 0 {
            for (row, bitmap) in bitmaps.chunks_exact_mut(width).enumerate() {
                self.row(row).union_into(bitmap, table);
            }
        }
        bitmaps
    }
}

/// The rows for which a condition holds, without a branch per row; `None` for all.
#[inline(always)]
fn rows_where(rows: usize, holds: impl Fn(usize) -> bool) -> Option<Vec<u32>> {
    let mut kept = vec![0u32; rows];
    let mut count = 0;
    for row in 0..rows {
        // `count` never passes the number of rows looked at.
        kept[count] = row as u32;
        count += usize::from(holds(row));
    }
    kept.truncate(count);
    (count < rows).then_some(kept)
}

fn take_pairs(offsets: &[u32], slots: &[Slot], rows: &[u32]) -> QuerySets {
    let mut taken_offsets = Vec::with_capacity(rows.len() + 1);
    let mut taken = Vec::new();
    taken_offsets.push(0);
    for &row in rows {
        let range = offsets[row as usize] as usize..offsets[row as usize + 1] as usize;
        taken.extend_from_slice(&slots[range]);
        taken_offsets.push(taken.len() as u32);
    }
    QuerySets::Pairs { offsets: taken_offsets, slots: taken }
}
