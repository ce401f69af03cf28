//! Finds which of many literals a text contains, by a small piece of each.
//!
//! Of each literal one piece of `N` bytes is filed, the one that fewest others have. The text is read once; at each
//! place a hash of the next `N` bytes asks a bitmap that fits the first cache, and only where that says *maybe* is
//! a literal compared. Unlike an automaton over thousands of states it costs the same per byte however many
//! literals there are, and next to nothing to build, which counts where each batch has patterns of its own.

/// Bits of the first filter: 8 KiB.
const FILTER_BITS: u32 = 16;

/// Literals of at least `N` bytes, `N` at most 8.
#[derive(Debug)]
pub struct GramTable<const N: usize> {
    filter: Box<[u64]>,
    /// By the hash of the filed piece: entries `heads[h]..heads[h + 1]`.
    heads: Vec<u32>,
    entries: Vec<Entry>,
    bits: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    literal: u32,
    /// Where in the literal the filed piece begins.
    offset: u32,
}

#[inline(always)]
fn hash(gram: u64, bits: u32) -> usize {
    (gram.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize
}

fn gram<const N: usize>(bytes: &[u8]) -> u64 {
    bytes[..N].iter().rev().fold(0, |gram, &byte| gram << 8 | u64::from(byte))
}

impl<const N: usize> GramTable<N> {
    /// A table over `literals`, of which those in `members` have at least `N` bytes and are filed.
    pub fn new(literals: &[Box<[u8]>], members: &[u32]) -> GramTable<N> {
        let bits = (members.len() * 4).next_power_of_two().ilog2().clamp(4, FILTER_BITS);
        let mut frequency = vec![0u32; 1 << FILTER_BITS];
        for &member in members {
            for piece in literals[member as usize].windows(N) {
                frequency[hash(gram::<N>(piece), FILTER_BITS)] += 1;
            }
        }
        let mut filter = vec![0u64; 1 << (FILTER_BITS - 6)].into_boxed_slice();
        let mut filed: Vec<(usize, Entry)> = Vec::with_capacity(members.len());
        for &member in members {
            let pieces = literals[member as usize].windows(N).map(gram::<N>).enumerate();
            let rarest = pieces.min_by_key(|&(_, gram)| frequency[hash(gram, FILTER_BITS)]);
            let (offset, gram) = rarest.expect("filed literals have at least N bytes");
            let bit = hash(gram, FILTER_BITS);
            filter[bit / 64] |= 1 << (bit % 64);
            filed.push((hash(gram, bits), Entry { literal: member, offset: offset as u32 }));
        }
        filed.sort_unstable_by_key(|&(hash, _)| hash);
        let mut heads = vec![0u32; (1 << bits) + 1];
        filed.iter().for_each(|&(hash, _)| heads[hash + 1] += 1);
        (1..heads.len()).for_each(|at| heads[at] += heads[at - 1]);
        let entries = filed.into_iter().map(|(_, entry)| entry).collect();
        GramTable { filter, heads, entries, bits }
    }

    /// Calls `visit` with every filed literal at every place where `text` contains it.
    #[inline]
    pub fn for_each(&self, literals: &[Box<[u8]>], text: &[u8], mut visit: impl FnMut(u32)) {
        if text.len() < N || self.entries.is_empty() {
            return;
        }
        let top = 8 * (N as u32 - 1);
        // Before each step the first N - 1 bytes of the next piece lie in the upper bytes.
        let mut gram = gram_before::<N>(text);
        for (at, &byte) in text[N - 1..].iter().enumerate() {
            gram = gram >> 8 | u64::from(byte) << top;
            let bit = hash(gram, FILTER_BITS);
            if self.filter[bit / 64] >> (bit % 64) & 1 == 1 {
                self.compare(literals, text, at, gram, &mut visit);
            }
        }
    }

    #[cold]
    fn compare(
        &self,
        literals: &[Box<[u8]>],
        text: &[u8],
        at: usize,
        gram: u64,
        visit: &mut impl FnMut(u32),
    ) {
        let hash = hash(gram, self.bits);
        let range = self.heads[hash] as usize..self.heads[hash + 1] as usize;
        for entry in &self.entries[range] {
            let start = at.wrapping_sub(entry.offset as usize);
            let literal = &*literals[entry.literal as usize];
            if text.get(start..).is_some_and(|rest| rest.starts_with(literal)) {
                visit(entry.literal);
            }
        }
    }
}

fn gram_before<const N: usize>(text: &[u8]) -> u64 {
    text[..N - 1].iter().rev().fold(0, |gram, &byte| gram << 8 | u64::from(byte)) << 8
}
