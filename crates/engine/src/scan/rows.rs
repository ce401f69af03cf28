//! Rows of one chunk that are still of interest.

use super::blocks::{BLOCK, Block};

/// Rows passed over per row of interest up to which a run is searched as a whole: starting a search in a text takes
/// about as long as passing four texts.
const DENSE: usize = 4;

/// Offsets inside a chunk, ascending.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// The first so many.
    All(usize),
    /// These.
    Some(&'a [u32]),
}

impl<'a> Rows<'a> {
    /// `some` of the first `count`, or all of these.
    pub fn of(some: Option<&'a [u32]>, count: usize) -> Rows<'a> {
        some.map_or(Rows::All(count), Rows::Some)
    }

    /// So many of them, or all.
    pub fn first(self, count: usize) -> Rows<'a> {
        match self {
            Rows::All(rows) => Rows::All(rows.min(count)),
            Rows::Some(rows) => Rows::Some(&rows[..rows.len().min(count)]),
        }
    }
}

impl Rows<'_> {
    /// How many.
    #[inline]
    pub fn len(self) -> usize {
        match self {
            Rows::All(rows) => rows,
            Rows::Some(rows) => rows.len(),
        }
    }

    /// The offset of the `index`-th.
    #[inline]
    pub fn offset(self, index: usize) -> usize {
        match self {
            Rows::All(_) => index,
            Rows::Some(rows) => rows[index] as usize,
        }
    }

    /// Whether one pass over everything between the first and the last of them costs less than a visit to each.
    pub fn is_dense(self) -> bool {
        match self {
            Rows::All(_) => true,
            Rows::Some([first, .., last]) => (last - first) as usize <= DENSE * self.len(),
            Rows::Some(_) => false,
        }
    }

    /// Calls `visit` with each offset. Two loops, so that each has nothing to decide per row.
    #[inline(always)]
    pub fn for_each(self, mut visit: impl FnMut(usize)) {
        match self {
            Rows::All(rows) => (0..rows).for_each(visit),
            Rows::Some(rows) => rows.iter().for_each(|&row| visit(row as usize)),
        }
    }

    /// Appends to `out` the offsets for which `keep` holds, without a branch per row. Asking and writing are loops of their
    /// own: where the target of a store waits for what is looked up, the look-ups of later rows do too.
    #[inline(always)]
    pub fn select(self, out: &mut Vec<u32>, mut keep: impl FnMut(usize) -> bool) {
        let start = out.len();
        out.resize(start + self.len(), 0);
        let target = &mut out[start..];
        let mut truths = [false; BLOCK];
        let mut kept = 0;
        for block in self.blocks() {
            let rows = block.len();
            match block {
                Block::Run { first, .. } => {
                    truths.iter_mut().zip(first..first + rows).for_each(|(t, row)| *t = keep(row));
                }
                Block::Some(offsets) => {
                    let own = truths.iter_mut().zip(offsets);
                    own.for_each(|(truth, &row)| *truth = keep(row as usize));
                }
            }
            for (place, &truth) in truths[..rows].iter().enumerate() {
                // `kept` never passes the number of rows visited, so it stays inside `target`.
                target[kept] = block.offset(place) as u32;
                kept += usize::from(truth);
            }
        }
        out.truncate(start + kept);
    }
}
