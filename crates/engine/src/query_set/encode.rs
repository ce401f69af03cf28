//! Choosing an encoding by density, joining columns of sets end to end, renumbering slots.

use super::one_word::{Recall, append_words};
use super::{QuerySets, SetId, SetTable, words};
use crate::types::Slot;

/// Rows whose sets are looked at before interning all of them: if nearly all differ, bitmaps stay.
const SAMPLE_ROWS: usize = 256;

impl QuerySets {
    /// The same sets in the cheapest encoding: one set for all rows, one slot per row, a word per row, interned
    /// where sets repeat, pairs where sets are small, else bitmaps.
    pub fn compact(self, rows: usize, table: &SetTable) -> QuerySets {
        match self {
            QuerySets::Uniform(_) | QuerySets::Single(_) => self,
            QuerySets::Interned(ids) => compact_ids(ids, table),
            _ if rows == 0 => QuerySets::none(),
            _ => compact_rows(self, rows, table),
        }
    }

    /// Columns end to end: each with its number of rows.
    pub fn concat(parts: &[(&QuerySets, usize)], table: &SetTable) -> QuerySets {
        let parts: Vec<_> = parts.iter().filter(|(_, rows)| *rows > 0).copied().collect();
        match parts.as_slice() {
            [] => QuerySets::none(),
            [(only, _)] => (*only).clone(),
            _ => concat_several(&parts, table),
        }
    }

    /// The same sets under the slot numbers of another table. Slots that `renumbering` leaves out vanish.
    pub fn renumber(
        &self,
        rows: usize,
        from: &SetTable,
        to: &SetTable,
        renumbering: &Renumbering,
    ) -> QuerySets {
        match self {
            QuerySets::Uniform(id) => QuerySets::Uniform(renumbering.set(*id, from, to)),
            QuerySets::Interned(ids) => {
                // Sets may be more than are remembered lately, and each takes the table's lock.
                let mut known = hashbrown::HashMap::new();
                let mut lately = Recall::new(0, SetId::EMPTY);
                let mut renumbered =
                    |id: SetId| *known.entry(id).or_insert_with(|| renumbering.set(id, from, to));
                let ids = ids.iter().map(|&id| lately.get(id.0.into(), || renumbered(id)));
                QuerySets::Interned(ids.collect())
            }
            QuerySets::Single(slots) => renumber_singles(slots, to, renumbering),
            QuerySets::Bitmaps { words_per_row: 1, words } => {
                renumber_words(words, to, renumbering)
            }
            _ => renumber_pairs(self, rows, from, renumbering),
        }
    }
}

/// New numbers for slots: an operator that few activations of a batch reach numbers just these, so that rows
/// there carry small sets.
#[derive(Clone, Debug)]
pub struct Renumbering {
    new: Vec<Option<Slot>>,
    old: Vec<Option<Slot>>,
}

impl Renumbering {
    /// Numbers the members of a set densely, in order.
    pub fn dense(members: SetId, table: &SetTable) -> Renumbering {
        let old: Vec<Option<Slot>> = table.members(members).map(Some).collect();
        let mut new = vec![None; table.slots()];
        for (number, slot) in old.iter().flatten().enumerate() {
            new[slot.index()] = Some(Slot(number as u32));
        }
        Renumbering { new, old }
    }

    /// Gives old slot `i` the number `targets[i]`; several may get the same, so there is no way back.
    pub fn onto(targets: impl IntoIterator<Item = Slot>) -> Renumbering {
        Renumbering { new: targets.into_iter().map(Some).collect(), old: Vec::new() }
    }

    /// How many new numbers a [dense](Self::dense) renumbering has given.
    pub fn slots(&self) -> usize {
        self.old.len()
    }

    /// The new number of a slot; `None` if it was left out.
    #[inline]
    pub fn new_slot(&self, old: Slot) -> Option<Slot> {
        self.new[old.index()]
    }

    /// The way back of a [dense](Self::dense) renumbering.
    pub fn inverse(&self) -> Renumbering {
        assert!(!self.old.is_empty() || self.new.iter().all(Option::is_none), "one to one");
        Renumbering { new: self.old.clone(), old: self.new.clone() }
    }

    fn set(&self, id: SetId, from: &SetTable, to: &SetTable) -> SetId {
        to.intern_slots(from.members(id).filter_map(|slot| self.new_slot(slot)))
    }
}

fn renumber_singles(slots: &[Slot], to: &SetTable, renumbering: &Renumbering) -> QuerySets {
    if slots.iter().all(|&slot| renumbering.new_slot(slot).is_some()) {
        return QuerySets::Single(slots.iter().filter_map(|&s| renumbering.new_slot(s)).collect());
    }
    let set = |&slot: &Slot| renumbering.new_slot(slot).map_or(SetId::EMPTY, |s| to.singleton(s));
    QuerySets::Interned(slots.iter().map(set).collect())
}

/// Sets that are a word each.
fn renumber_words(words: &[u64], to: &SetTable, renumbering: &Renumbering) -> QuerySets {
    let renumbered = |word: u64| {
        let mut slots = Vec::with_capacity(word.count_ones() as usize);
        words::for_each(&[word], |slot| slots.extend(renumbering.new_slot(slot)));
        slots
    };
    if to.word_count() == 1 {
        let mut known = Recall::new(0, 0);
        let set = |word| renumbered(word).iter().fold(0, |set, slot| set | 1 << slot.0);
        let words = words.iter().map(|&word| known.get(word, || set(word))).collect();
        return QuerySets::Bitmaps { words_per_row: 1, words };
    }
    let mut known = Recall::new(0, SetId::EMPTY);
    let set = |word| to.intern_slots(renumbered(word));
    QuerySets::Interned(words.iter().map(|&word| known.get(word, || set(word))).collect())
}

fn renumber_pairs(
    sets: &QuerySets,
    rows: usize,
    from: &SetTable,
    renumbering: &Renumbering,
) -> QuerySets {
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut slots = Vec::new();
    offsets.push(0);
    for row in 0..rows {
        let start = slots.len();
        sets.row(row).for_each(from, |slot| slots.extend(renumbering.new_slot(slot)));
        slots[start..].sort_unstable();
        let mut last = None;
        let mut kept = start;
        for at in start..slots.len() {
            if last.replace(slots[at]) != Some(slots[at]) {
                slots[kept] = slots[at];
                kept += 1;
            }
        }
        slots.truncate(kept);
        offsets.push(slots.len() as u32);
    }
    QuerySets::Pairs { offsets, slots }
}

fn compact_ids(ids: Vec<SetId>, table: &SetTable) -> QuerySets {
    let Some(&first) = ids.first() else { return QuerySets::none() };
    if ids.iter().all(|&id| id == first) {
        return QuerySets::Uniform(first);
    }
    match ids.iter().map(|&id| table.single(id)).collect() {
        Some(slots) => QuerySets::Single(slots),
        None => QuerySets::Interned(ids),
    }
}

fn compact_rows(sets: QuerySets, rows: usize, table: &SetTable) -> QuerySets {
    if let QuerySets::Bitmaps { words_per_row: 1, words } = sets {
        return compact_word(words, table);
    }
    let pairs = sets.pairs(rows, table);
    if pairs == 0 {
        return QuerySets::Uniform(SetId::EMPTY);
    }
    if pairs == rows && (0..rows).all(|row| !sets.row(row).is_empty()) {
        let mut slots = Vec::with_capacity(rows);
        (0..rows).for_each(|row| sets.row(row).for_each(table, |slot| slots.push(slot)));
        return compact_singles(slots, table);
    }
    if table.word_count() == 1 {
        return compact_word(sets.bitmaps(rows, table), table);
    }
    if !table.crowded() && repeats(&sets, rows, table) {
        return compact_ids(sets.ids(rows, table), table);
    }
    // A slot in a list takes half a word.
    match sets {
        QuerySets::Bitmaps { .. } if pairs < rows * table.word_count() => {
            to_pairs(&sets, rows, table)
        }
        QuerySets::Pairs { .. } if pairs > 2 * rows * table.word_count() => QuerySets::Bitmaps {
            words_per_row: table.word_count(),
            words: sets.bitmaps(rows, table),
        },
        _ => sets,
    }
}

fn compact_singles(slots: Vec<Slot>, table: &SetTable) -> QuerySets {
    let first = slots[0];
    match slots.iter().all(|&slot| slot == first) {
        true => QuerySets::Uniform(table.singleton(first)),
        false => QuerySets::Single(slots),
    }
}

fn compact_word(words: Vec<u64>, table: &SetTable) -> QuerySets {
    let first = words[0];
    if words.iter().all(|&word| word == first) {
        return QuerySets::Uniform(table.intern(&[first]));
    }
    match words.iter().all(|word| word.is_power_of_two()) {
        true => QuerySets::Single(words.iter().map(|word| Slot(word.trailing_zeros())).collect()),
        false => QuerySets::Bitmaps { words_per_row: 1, words },
    }
}

/// Whether a sample of rows has so few distinct sets that interning pays.
fn repeats(sets: &QuerySets, rows: usize, table: &SetTable) -> bool {
    let step = rows.div_ceil(SAMPLE_ROWS);
    let sample: Vec<usize> = (0..rows).step_by(step).collect();
    let mut hashes: Vec<u64> = sample.iter().map(|&row| fingerprint(sets, row, table)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.len() <= sample.len().div_ceil(2)
}

fn fingerprint(sets: &QuerySets, row: usize, table: &SetTable) -> u64 {
    let mut hash = 0u64;
    sets.row(row).for_each(table, |slot| {
        hash = (hash.rotate_left(5) ^ u64::from(slot.0)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    });
    hash
}

fn to_pairs(sets: &QuerySets, rows: usize, table: &SetTable) -> QuerySets {
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut slots = Vec::new();
    offsets.push(0);
    for row in 0..rows {
        sets.row(row).for_each(table, |slot| slots.push(slot));
        offsets.push(slots.len() as u32);
    }
    QuerySets::Pairs { offsets, slots }
}

fn concat_several(parts: &[(&QuerySets, usize)], table: &SetTable) -> QuerySets {
    let kind = |matches: fn(&QuerySets) -> bool| parts.iter().all(|(sets, _)| matches(sets));
    let rows = parts.iter().map(|(_, rows)| rows).sum();
    if let QuerySets::Uniform(first) = parts[0].0
        && parts.iter().all(|(sets, _)| matches!(sets, QuerySets::Uniform(id) if id == first))
    {
        return QuerySets::Uniform(*first);
    }
    if kind(|sets| matches!(sets, QuerySets::Single(_))) {
        let mut slots = Vec::with_capacity(rows);
        parts.iter().for_each(|(sets, rows)| slots.extend_from_slice(singles(sets, *rows)));
        return QuerySets::Single(slots);
    }
    if kind(|sets| matches!(sets, QuerySets::Pairs { .. })) {
        let pairs = parts.iter().flat_map(|&(sets, rows)| (0..rows).map(move |row| sets.row(row)));
        return collect_pairs(pairs, table);
    }
    if kind(|sets| !matches!(sets, QuerySets::Bitmaps { .. } | QuerySets::Pairs { .. })) {
        let ids = parts.iter().flat_map(|&(sets, rows)| (0..rows).map(move |row| sets.row(row)));
        return QuerySets::Interned(ids.map(|set| set.id(table)).collect());
    }
    let width = table.word_count();
    if width == 1 {
        let mut words = Vec::with_capacity(rows);
        parts.iter().for_each(|(sets, rows)| append_words(sets, *rows, table, &mut words));
        return QuerySets::Bitmaps { words_per_row: 1, words };
    }
    let mut words = vec![0; rows * width];
    let sets = parts.iter().flat_map(|&(sets, rows)| (0..rows).map(move |row| sets.row(row)));
    for (target, set) in words.chunks_exact_mut(width.max(1)).zip(sets) {
        set.union_into(target, table);
    }
    QuerySets::Bitmaps { words_per_row: width, words }
}

fn singles(sets: &QuerySets, rows: usize) -> &[Slot] {
    match sets {
        QuerySets::Single(slots) => &slots[..rows],
        _ => unreachable!("all parts were checked to be singles"),
    }
}

fn collect_pairs<'a>(rows: impl Iterator<Item = super::RowSet<'a>>, table: &SetTable) -> QuerySets {
    let (mut offsets, mut slots) = (vec![0], Vec::new());
    for set in rows {
        set.for_each(table, |slot| slots.push(slot));
        offsets.push(slots.len() as u32);
    }
    QuerySets::Pairs { offsets, slots }
}

impl QuerySets {
    /// Sets given as one bitmap per row, in the cheapest encoding.
    pub fn from_bitmaps(words: Vec<u64>, rows: usize, table: &SetTable) -> QuerySets {
        debug_assert_eq!(words.len(), rows * words::word_count(table.slots()));
        QuerySets::Bitmaps { words_per_row: table.word_count(), words }.compact(rows, table)
    }
}
