//! Numbers of a tree node: one by one while they change, packed where a bulk load has put them.
//!
//! What comes in key order lies close together: packed are the differences from the smallest, in
//! the fewest bytes that hold the largest of them without its trailing zeros; numbers that are
//! equally far apart (row ids of a load) take no bytes at all. The first change unpacks.

use std::fmt::Debug;

use super::tree::LEAF_PAIRS;

/// A number that can be packed.
pub(super) trait Number: Copy + Ord + Debug + Send + Sync + 'static {
    /// Many of them, packed.
    type Packed: Clone + Debug + Send + Sync;
    fn pack(numbers: &[Self]) -> Self::Packed;
    fn get(packed: &Self::Packed, at: usize) -> Self;
    fn length(packed: &Self::Packed) -> usize;
    /// Bytes allocated.
    fn memory(packed: &Self::Packed) -> usize;
}

/// A run of numbers.
#[derive(Clone, Debug)]
pub(super) enum Numbers<T: Number> {
    Plain(Vec<T>),
    Packed(T::Packed),
}

/// Number `i` is `base + i * step + (code << shift)`; codes have `width` bytes, and there are none
/// where there is a step.
#[derive(Clone, Debug)]
pub(super) struct PackedWords {
    base: u64,
    step: u64,
    codes: Box<[u8]>,
    length: u32,
    shift: u8,
    width: u8,
}

impl PackedWords {
    fn new(words: impl Iterator<Item = u64> + Clone) -> PackedWords {
        let length = words.clone().count() as u32;
        let first = words.clone().next().unwrap_or(0);
        let step = words.clone().nth(1).unwrap_or(first).wrapping_sub(first);
        let at = |i: u64| first.wrapping_add(step.wrapping_mul(i));
        if words.clone().zip(0..).all(|(word, i)| word == at(i)) {
            return PackedWords { base: first, step, codes: [].into(), length, shift: 0, width: 0 };
        }
        let base = words.clone().min().unwrap_or(0);
        let used = words.clone().fold(0, |used, word| used | (word - base));
        let shift = used.trailing_zeros() as u8;
        let width = match used >> shift {
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            0x1_0000..=0xFFFF_FFFF => 4,
            _ => 8,
        };
        let code = |word: u64| ((word - base) >> shift).to_le_bytes().into_iter().take(width);
        let codes = words.flat_map(code).collect();
        PackedWords { base, step: 0, codes, length, shift, width: width as u8 }
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        let code = match self.width {
            0 => return self.base.wrapping_add(self.step.wrapping_mul(at as u64)),
            1 => u64::from(self.codes[at]),
            2 => u64::from(u16::from_le_bytes(self.codes.as_chunks().0[at])),
            4 => u64::from(u32::from_le_bytes(self.codes.as_chunks().0[at])),
            _ => u64::from_le_bytes(self.codes.as_chunks().0[at]),
        };
        self.base + (code << self.shift)
    }
}

impl Number for u64 {
    type Packed = PackedWords;

    fn pack(numbers: &[u64]) -> PackedWords {
        PackedWords::new(numbers.iter().copied())
    }

    #[inline]
    fn get(packed: &PackedWords, at: usize) -> u64 {
        packed.get(at)
    }

    fn length(packed: &PackedWords) -> usize {
        packed.length as usize
    }

    fn memory(packed: &PackedWords) -> usize {
        packed.codes.len()
    }
}

/// The upper and the lower half are packed apart: in a key of two columns each has its own range.
impl Number for u128 {
    type Packed = [PackedWords; 2];

    fn pack(numbers: &[u128]) -> [PackedWords; 2] {
        let half = |shift: u32| numbers.iter().map(move |number| (number >> shift) as u64);
        [PackedWords::new(half(64)), PackedWords::new(half(0))]
    }

    #[inline]
    fn get([upper, lower]: &[PackedWords; 2], at: usize) -> u128 {
        u128::from(upper.get(at)) << 64 | u128::from(lower.get(at))
    }

    fn length([upper, _]: &[PackedWords; 2]) -> usize {
        upper.length as usize
    }

    fn memory(halves: &[PackedWords; 2]) -> usize {
        halves.iter().map(|half| half.codes.len()).sum()
    }
}

impl<T: Number> Numbers<T> {
    /// No numbers, room for `capacity`.
    pub fn with_capacity(capacity: usize) -> Numbers<T> {
        Numbers::Plain(Vec::with_capacity(capacity))
    }

    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Numbers::Plain(numbers) => numbers.len(),
            Numbers::Packed(packed) => T::length(packed),
        }
    }

    /// One number.
    #[inline]
    pub fn get(&self, at: usize) -> T {
        match self {
            Numbers::Plain(numbers) => numbers[at],
            Numbers::Packed(packed) => T::get(packed, at),
        }
    }

    /// The numbers, to be changed.
    #[inline]
    pub fn plain(&mut self) -> &mut Vec<T> {
        if let Numbers::Packed(packed) = self {
            let length = T::length(packed);
            let mut numbers = Vec::with_capacity(length.max(LEAF_PAIRS + 1));
            numbers.extend((0..length).map(|at| T::get(packed, at)));
            *self = Numbers::Plain(numbers);
        }
        match self {
            Numbers::Plain(numbers) => numbers,
            Numbers::Packed(_) => unreachable!("unpacked above"),
        }
    }

    /// Appends `other[from..to]`.
    pub fn extend(&mut self, other: &Numbers<T>, from: usize, to: usize) {
        match other {
            Numbers::Plain(numbers) => self.plain().extend_from_slice(&numbers[from..to]),
            Numbers::Packed(packed) => {
                self.plain().extend((from..to).map(|at| T::get(packed, at)));
            }
        }
    }

    /// Takes as little room as possible until the next change.
    pub fn pack(&mut self) {
        if let Numbers::Plain(numbers) = self {
            *self = Numbers::Packed(T::pack(numbers));
        }
    }

    /// Bytes allocated.
    pub fn memory(&self) -> usize {
        match self {
            Numbers::Plain(numbers) => numbers.capacity() * size_of::<T>(),
            Numbers::Packed(packed) => T::memory(packed),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<T: Number>(numbers: &[T]) -> usize {
        let mut packed = Numbers::Plain(numbers.to_vec());
        packed.pack();
        assert_eq!(packed.len(), numbers.len());
        let found: Vec<T> = (0..numbers.len()).map(|at| packed.get(at)).collect();
        assert_eq!(found, numbers);
        let memory = packed.memory();
        let mut part = Numbers::with_capacity(0);
        part.extend(&packed, numbers.len() / 3, numbers.len());
        assert_eq!(part.plain(), &numbers[numbers.len() / 3..]);
        assert_eq!(packed.plain(), numbers);
        memory
    }

    proptest! {
        #![proptest_config(crate::properties::usual())]

        #[test]
        fn packed_numbers_are_the_same(
            base: u64,
            range in prop::sample::select(vec![0u64, 1, 255, 256, 65_535, 65_536, u32::MAX as u64, u64::MAX]),
            shift in 0u32..64,
            seeds in prop::collection::vec(any::<u64>(), 0..200),
        ) {
            let word = |seed: &u64| base.wrapping_add((seed % range.max(1)).wrapping_shl(shift));
            let words: Vec<u64> = seeds.iter().map(word).collect();
            check(&words);
            let wide = |(at, seed): (usize, &u64)| (u128::from(word(seed)) << 64) | (at as u128 % 7);
            check(&seeds.iter().enumerate().map(wide).collect::<Vec<u128>>());
        }
    }

    #[test]
    fn numbers_that_lie_close_take_few_bytes() {
        assert_eq!(check(&(7..127).collect::<Vec<u64>>()), 0);
        assert_eq!(check(&(0..120).map(|i| u64::MAX - 9 * i).collect::<Vec<u64>>()), 0);
        assert_eq!(check(&[5u64; 120]), 0);
        assert_eq!(check(&(0..120).map(|i| (i * i % 200) << 40).collect::<Vec<u64>>()), 120);
        assert_eq!(check(&[0, u64::MAX, 1]), 24);
        // Order numbers and line numbers.
        let key = |i: u128| (1_000_000 + i / 4 * 4) << 88 | (i % 4) << 48;
        assert_eq!(check(&(0..120).map(key).collect::<Vec<u128>>()), 240);
    }
}
