//! Sets as 64-bit words, slot 0 in the lowest bit of the first word: free functions over slices.

use crate::types::Slot;

/// Words that a set over `slots` slots takes.
#[inline]
pub fn word_count(slots: usize) -> usize {
    slots.div_ceil(64)
}

/// Whether `slot` is in the set.
#[inline]
pub fn contains(words: &[u64], slot: Slot) -> bool {
    words[slot.index() / 64] >> (slot.0 % 64) & 1 == 1
}

/// Adds `slot`.
#[inline]
pub fn insert(words: &mut [u64], slot: Slot) {
    words[slot.index() / 64] |= 1 << (slot.0 % 64);
}

/// Takes `slot` out.
#[inline]
pub fn remove(words: &mut [u64], slot: Slot) {
    words[slot.index() / 64] &= !(1 << (slot.0 % 64));
}

/// Members.
#[inline]
pub fn cardinality(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// Whether there is no member.
#[inline]
pub fn is_empty(words: &[u64]) -> bool {
    words.iter().all(|&word| word == 0)
}

/// `target &= other`
#[inline]
pub fn intersect_into(target: &mut [u64], other: &[u64]) {
    for (target, other) in target.iter_mut().zip(other) {
        *target &= other;
    }
}

/// `target |= other`
#[inline]
pub fn union_into(target: &mut [u64], other: &[u64]) {
    for (target, other) in target.iter_mut().zip(other) {
        *target |= other;
    }
}

/// `target &= !other`
#[inline]
pub fn subtract_into(target: &mut [u64], other: &[u64]) {
    for (target, other) in target.iter_mut().zip(other) {
        *target &= !other;
    }
}

/// Calls `visit` with every member, ascending.
#[inline]
pub fn for_each(words: &[u64], mut visit: impl FnMut(Slot)) {
    for (index, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            visit(Slot((index * 64) as u32 + rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
}

/// The members, ascending.
pub fn slots(words: &[u64]) -> impl Iterator<Item = Slot> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        std::iter::successors((word != 0).then_some(word), |rest| {
            let rest = rest & (rest - 1);
            (rest != 0).then_some(rest)
        })
        .map(move |rest| Slot((index * 64) as u32 + rest.trailing_zeros()))
    })
}

/// The smallest member.
#[inline]
pub fn first(words: &[u64]) -> Option<Slot> {
    let index = words.iter().position(|&word| word != 0)?;
    Some(Slot((index * 64) as u32 + words[index].trailing_zeros()))
}

/// All slots below `slots`.
pub fn full(slots: usize) -> Box<[u64]> {
    let mut words = vec![u64::MAX; word_count(slots)].into_boxed_slice();
    if let (Some(last), rest @ 1..) = (words.last_mut(), slots % 64) {
        *last = (1 << rest) - 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_sets_have_exactly_the_slots() {
        for slots in [0, 1, 63, 64, 65, 128, 130] {
            let words = full(slots);
            assert_eq!(cardinality(&words), slots);
            let expected: Vec<Slot> = (0..slots as u32).map(Slot).collect();
            assert_eq!(super::slots(&words).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn members_come_and_go() {
        let mut words = vec![0; 3];
        for slot in [Slot(0), Slot(63), Slot(64), Slot(150)] {
            insert(&mut words, slot);
            assert!(contains(&words, slot));
        }
        assert_eq!(first(&words), Some(Slot(0)));
        remove(&mut words, Slot(0));
        assert_eq!(first(&words), Some(Slot(63)));
        let mut seen = Vec::new();
        for_each(&words, |slot| seen.push(slot.0));
        assert_eq!(seen, [63, 64, 150]);
    }
}
