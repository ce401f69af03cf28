//! Rows of one chunk that are still of interest.

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

    /// Appends to `out` the offsets for which `keep` holds, without a branch per row.
    #[inline(always)]
    pub fn select(self, out: &mut Vec<u32>, mut keep: impl FnMut(usize) -> bool) {
        let start = out.len();
        out.resize(start + self.len(), 0);
        let target = &mut out[start..];
        let mut kept = 0;
        self.for_each(|row| {
            // `kept` never passes the number of rows visited, so it stays inside `target`.
            target[kept] = row as u32;
            kept += usize::from(keep(row));
        });
        out.truncate(start + kept);
    }
}
