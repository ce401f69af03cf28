//! The slow obvious twin: a set of slots per row. Random columns in every encoding must agree with it.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{QuerySets, Renumbering, SetTable, words};
use crate::types::Slot;

type Naive = Vec<BTreeSet<Slot>>;

fn naive(sets: &QuerySets, rows: usize, table: &SetTable) -> Naive {
    let members = |row: usize| {
        let mut slots = BTreeSet::new();
        sets.row(row).for_each(table, |slot| assert!(slots.insert(slot)));
        slots
    };
    (0..rows).map(members).collect()
}

/// Some rows in one of the encodings; what the encoding cannot say is bent to what it can.
fn encode(rows: &Naive, encoding: u8, table: &SetTable) -> QuerySets {
    let id = |set: &BTreeSet<Slot>| table.intern_slots(set.iter().copied());
    match encoding {
        0 => QuerySets::Uniform(rows.first().map_or(table.all(), id)),
        1 => QuerySets::Interned(rows.iter().map(id).collect()),
        2 => {
            let words = rows.iter().flat_map(|set| table.words(id(set)).to_vec()).collect();
            QuerySets::Bitmaps { words_per_row: table.word_count(), words }
        }
        3 => QuerySets::Single(
            rows.iter().map(|set| set.first().copied().unwrap_or(Slot(0))).collect(),
        ),
        _ => {
            let (mut offsets, mut slots) = (vec![0], Vec::new());
            for set in rows {
                slots.extend(set);
                offsets.push(slots.len() as u32);
            }
            QuerySets::Pairs { offsets, slots }
        }
    }
}

#[derive(Clone, Debug)]
struct Case {
    slots: usize,
    a: Naive,
    b: Naive,
    encodings: (u8, u8),
    picks: Vec<usize>,
}

fn rows(slots: usize, count: usize) -> impl Strategy<Value = Naive> {
    let sparse = prop::collection::btree_set((0..slots as u32).prop_map(Slot), 0..4);
    let dense = prop::collection::btree_set((0..slots as u32).prop_map(Slot), 0..=slots);
    let all = Just((0..slots as u32).map(Slot).collect::<BTreeSet<_>>());
    prop::collection::vec(prop_oneof![4 => sparse, 2 => dense, 1 => all], count)
}

fn cases() -> impl Strategy<Value = Case> {
    let slots = prop_oneof![Just(1usize), 2usize..10, 60usize..70, Just(200)];
    (slots, 0usize..40).prop_flat_map(|(slots, count)| {
        let picks = prop::collection::vec(0..count.max(1), if count == 0 { 0..1 } else { 0..50 });
        (rows(slots, count), rows(slots, count), (0u8..5, 0u8..5), picks).prop_map(
            move |(a, b, encodings, picks)| {
                let picks = if count == 0 { Vec::new() } else { picks };
                Case { slots, a, b, encodings, picks }
            },
        )
    })
}

fn zip(a: &Naive, b: &Naive, f: fn(&BTreeSet<Slot>, &BTreeSet<Slot>) -> BTreeSet<Slot>) -> Naive {
    a.iter().zip(b).map(|(a, b)| f(a, b)).collect()
}

proptest! {
    #![proptest_config(crate::properties::usual())]

    #[test]
    fn encodings_agree_with_the_naive_twin(case in cases()) {
        let table = SetTable::new(case.slots);
        let count = case.a.len();
        let a = encode(&case.a, case.encodings.0, &table);
        let b = encode(&case.b, case.encodings.1, &table);
        let (x, y) = (naive(&a, count, &table), naive(&b, count, &table));

        let intersected = a.intersect(&b, count, &table);
        prop_assert_eq!(naive(&intersected, count, &table), zip(&x, &y, |a, b| a & b));
        let ids = b.ids(count, &table);
        let by_id = a.intersect_ids(&ids, &table);
        prop_assert_eq!(naive(&by_id, count, &table), zip(&x, &y, |a, b| a & b));
        let (kept, met) = a.clone().meet(&ids, &table);
        let kept = kept.unwrap_or_else(|| (0..count as u32).collect());
        let meeting: Naive = zip(&x, &y, |a, b| a & b);
        let wanted: Vec<u32> =
            (0..count as u32).filter(|&row| !meeting[row as usize].is_empty()).collect();
        prop_assert_eq!(&kept, &wanted);
        let remaining: Naive = wanted.iter().map(|&row| meeting[row as usize].clone()).collect();
        prop_assert_eq!(naive(&met, kept.len(), &table), remaining);
        let united = a.union(&b, count, &table);
        prop_assert_eq!(naive(&united, count, &table), zip(&x, &y, |a, b| a | b));
        let left = a.difference(&b, count, &table);
        prop_assert_eq!(naive(&left, count, &table), zip(&x, &y, |a, b| a - b));

        for sets in [&a, &intersected, &united, &left] {
            let expected = naive(sets, count, &table);
            let compact = sets.clone().compact(count, &table);
            prop_assert_eq!(&naive(&compact, count, &table), &expected);
            check_reading(sets, &expected, &table);
        }

        let picks: Vec<u32> = case.picks.iter().map(|&row| row as u32).collect();
        let taken: Naive = case.picks.iter().map(|&row| x[row].clone()).collect();
        prop_assert_eq!(naive(&a.take(&picks), picks.len(), &table), taken);
        let tail = a.slice(count / 2..count);
        prop_assert_eq!(naive(&tail, count - count / 2, &table), x[count / 2..].to_vec());
        let both = QuerySets::concat(&[(&a, count), (&b, count)], &table);
        prop_assert_eq!(naive(&both, 2 * count, &table), [x.clone(), y.clone()].concat());

        check_groups(&a, &x, &table);
        check_renumbering(&a, &x, &table);
    }
}

/// So many different pairs of sets that a memo does not pay: both ways of intersecting agree.
#[test]
fn columns_of_many_distinct_sets_meet_word_by_word() {
    let table = SetTable::new(300);
    let set = |row: u32, step: u32| {
        table.intern_slots((row % step..300).step_by(step as usize).map(Slot))
    };
    let a: Vec<_> = (0..4000).map(|row| set(row * 7, 61)).collect();
    let b: Vec<_> = (0..4000).map(|row| set(row * 11, 59)).collect();
    let (kept, met) = QuerySets::Interned(a.clone()).meet(&b, &table);
    assert!(matches!(met, QuerySets::Pairs { .. }), "the memo was given up");
    let kept = kept.expect("most rows have nothing in common");
    let whole = QuerySets::Interned(a).intersect_ids(&b, &table);
    assert!(matches!(whole, QuerySets::Bitmaps { .. }), "the memo was given up");
    assert_eq!(Some(&kept), whole.wanted_rows(4000).as_ref());
    assert_eq!(naive(&met, kept.len(), &table), naive(&whole.take(&kept), kept.len(), &table));
}

fn check_reading(sets: &QuerySets, expected: &Naive, table: &SetTable) {
    let count = expected.len();
    assert_eq!(sets.pairs(count, table), expected.iter().map(BTreeSet::len).sum::<usize>());
    let wanted: Vec<u32> =
        (0..count as u32).filter(|&row| !expected[row as usize].is_empty()).collect();
    let all: Vec<u32> = (0..count as u32).collect();
    match sets.wanted_rows(count) {
        Some(rows) => assert_eq!(rows, wanted),
        None => assert_eq!(all, wanted),
    }
    let anybody: BTreeSet<Slot> = expected.iter().flatten().copied().collect();
    let members: BTreeSet<Slot> = table.members(sets.wanted(count, table)).collect();
    assert_eq!(members, anybody);
    let buckets = sets.expand(count, table);
    for slot in (0..table.slots() as u32).map(Slot) {
        let rows = all.iter().copied().filter(|&row| expected[row as usize].contains(&slot));
        assert_eq!(buckets.rows(slot), rows.collect::<Vec<_>>());
    }
    for (row, set) in expected.iter().enumerate() {
        let read = sets.row(row);
        assert_eq!(read.cardinality(table), set.len());
        assert_eq!(read.is_empty(), set.is_empty());
        let mut bitmap = vec![0; table.word_count()];
        read.union_into(&mut bitmap, table);
        assert_eq!(words::slots(&bitmap).collect::<BTreeSet<_>>(), *set);
        assert!(
            (0..table.slots() as u32)
                .all(|s| read.contains(Slot(s), table) == set.contains(&Slot(s)))
        );
    }
}

fn check_groups(sets: &QuerySets, expected: &Naive, table: &SetTable) {
    let groups: Vec<u32> = (0..expected.len() as u32).map(|row| row % 3).collect();
    let united = sets.union_by(&groups, 3, table);
    let mut naive_groups = vec![BTreeSet::new(); 3];
    for (row, set) in expected.iter().enumerate() {
        naive_groups[row % 3].extend(set);
    }
    assert_eq!(naive(&united, 3, table), naive_groups);
}

fn check_renumbering(sets: &QuerySets, expected: &Naive, table: &SetTable) {
    let some = table.intern_slots((0..table.slots() as u32).step_by(3).map(Slot));
    let renumbering = Renumbering::dense(some, table);
    let target = SetTable::new(renumbering.slots());
    let renumbered = sets.renumber(expected.len(), table, &target, &renumbering);
    let keep = |set: &BTreeSet<Slot>| -> BTreeSet<Slot> {
        set.iter().filter_map(|&slot| renumbering.new_slot(slot)).collect()
    };
    let kept: Naive = expected.iter().map(keep).collect();
    assert_eq!(naive(&renumbered, expected.len(), &target), kept);
    let halves = Renumbering::onto((0..table.slots() as u32).map(|slot| Slot(slot / 2)));
    let half_table = SetTable::new(table.slots().div_ceil(2));
    let halved = sets.renumber(expected.len(), table, &half_table, &halves);
    let half = |set: &BTreeSet<Slot>| set.iter().map(|slot| Slot(slot.0 / 2)).collect();
    let expected_halves: Naive = expected.iter().map(half).collect();
    assert_eq!(naive(&halved, expected.len(), &half_table), expected_halves);
    let back = renumbered.renumber(expected.len(), &target, table, &renumbering.inverse());
    let original = |set: &BTreeSet<Slot>| -> BTreeSet<Slot> {
        set.iter().copied().filter(|slot| slot.0 % 3 == 0).collect()
    };
    let originals: Naive = expected.iter().map(original).collect();
    assert_eq!(naive(&back, expected.len(), table), originals);
}
