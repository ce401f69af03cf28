//! Rows in blocks: what a test says of a block's values is a byte each, written by a loop without branches that the compiler
//! makes vectors of; eight bytes become eight bits at once, and of the bits only those that are set are looked at.

use super::rows::Rows;

/// Rows of a block: their values and what is said of them stay in the core's first cache.
pub const BLOCK: usize = 1024;

/// Some of the rows of a chunk, at most [`BLOCK`].
#[derive(Clone, Copy, Debug)]
pub enum Block<'a> {
    /// So many, one after another.
    Run {
        /// The offset of the first.
        first: usize,
        /// How many.
        rows: usize,
    },
    /// These.
    Some(&'a [u32]),
}

impl<'a> Rows<'a> {
    /// All of them, block by block.
    pub fn blocks(self) -> impl Iterator<Item = Block<'a>> {
        (0..self.len()).step_by(BLOCK).map(move |first| {
            let rows = BLOCK.min(self.len() - first);
            match self {
                Rows::All(_) => Block::Run { first, rows },
                Rows::Some(offsets) => Block::Some(&offsets[first..first + rows]),
            }
        })
    }
}

impl Block<'_> {
    /// How many.
    pub fn len(self) -> usize {
        match self {
            Block::Run { rows, .. } => rows,
            Block::Some(offsets) => offsets.len(),
        }
    }

    /// The offset of the `index`-th.
    #[inline(always)]
    pub fn offset(self, index: usize) -> usize {
        match self {
            Block::Run { first, .. } => first + index,
            Block::Some(offsets) => offsets[index] as usize,
        }
    }

    /// Their values in a column; values of single rows are put side by side in `room`.
    #[inline(always)]
    pub fn values<'v, T: Copy>(self, column: &'v [T], room: &'v mut [T; BLOCK]) -> &'v [T] {
        match self {
            Block::Run { first, rows } => &column[first..first + rows],
            Block::Some(offsets) => {
                let places = room.iter_mut().zip(offsets);
                places.for_each(|(value, &row)| *value = column[row as usize]);
                &room[..offsets.len()]
            }
        }
    }

    /// Appends the offsets of the rows whose byte is 1; the others' are 0.
    pub fn append_where(self, truths: &[u8], out: &mut Vec<u32>) {
        match self {
            Block::Run { first, .. } => append_set(truths, |place| (first + place) as u32, out),
            Block::Some(offsets) => append_set(truths, |place| offsets[place], out),
        }
    }
}

/// Bytes of 64 that are 1 beyond which all places are written down, those of the others to be overwritten: a bit that is
/// found takes about three times as long as a place.
const MANY: u32 = 20;

/// Appends what `of` makes of the places of bytes that are 1; the others are 0.
#[inline(always)]
pub fn append_set(truths: &[u8], of: impl Fn(usize) -> u32, out: &mut Vec<u32>) {
    let start = out.len();
    out.resize(start + truths.len(), 0);
    let target = &mut out[start..];
    let mut count = 0;
    for (word, truths) in truths.chunks(64).enumerate() {
        let first = word * 64;
        let mut bits = bits_of(truths);
        if bits.count_ones() > MANY {
            for (place, &truth) in truths.iter().enumerate() {
                // `count` never passes the number of places seen.
                target[count] = of(first + place);
                count += usize::from(truth);
            }
            continue;
        }
        while bits != 0 {
            target[count] = of(first + bits.trailing_zeros() as usize);
            count += 1;
            bits &= bits - 1;
        }
    }
    out.truncate(start + count);
}

/// A bit for each of up to 64 bytes, which are 0 or 1.
#[inline(always)]
fn bits_of(truths: &[u8]) -> u64 {
    // Byte i stands at bit 8i; the factor has bits 7, 14, .. 56, which bring it to bit 56 + i, and no two sums meet.
    const TOGETHER: u64 = 0x0102_0408_1020_4080;
    let eight_bits = |bytes: [u8; 8]| u64::from_le_bytes(bytes).wrapping_mul(TOGETHER) >> 56;
    let (eights, rest) = truths.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(byte, truth)| *byte = *truth);
    let mut bits = match rest.is_empty() {
        true => 0,
        false => eight_bits(last) << (eights.len() * 8),
    };
    for (place, &eight) in eights.iter().enumerate() {
        bits |= eight_bits(eight) << (place * 8);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_true_of_a_block_is_found_in_order() {
        let truth = |row: usize| u8::from(row * row % 7 < 3);
        let some: Vec<u32> = (0..5000).filter(|row| row % 3 != 1).collect();
        for rows in [Rows::All(0), Rows::All(63), Rows::All(5000), Rows::Some(&some)] {
            let (mut found, mut places) = (Vec::new(), Vec::new());
            for block in rows.blocks() {
                let truths: Vec<u8> = (0..block.len()).map(|i| truth(block.offset(i))).collect();
                block.append_where(&truths, &mut found);
                append_set(&truths, |place| block.offset(place) as u32, &mut places);
            }
            let mut expected = Vec::new();
            rows.select(&mut expected, |row| truth(row) == 1);
            assert_eq!(found, expected);
            assert_eq!(places, expected);
        }
    }

    #[test]
    fn values_of_a_block_are_those_of_its_rows() {
        let column: Vec<u16> = (0..3000).map(|row| row * 7).collect();
        let some: Vec<u32> = (0..3000).step_by(2).collect();
        for rows in [Rows::All(3000), Rows::Some(&some)] {
            for block in rows.blocks() {
                let mut room = [0; BLOCK];
                let values = block.values(&column, &mut room);
                let expected: Vec<u16> =
                    (0..block.len()).map(|i| column[block.offset(i)]).collect();
                assert_eq!(values, expected);
            }
        }
    }
}
