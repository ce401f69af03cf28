//! Kinds of a dimension's rows: those that the same queries want and that have the same values of all columns by which
//! somebody groups.
//!
//! A fact row's key leads to a kind once, by a look-up that waits for memory where the dimension is large. What each
//! grouping makes of the row it then finds by kind, in a table that stays in the core's first cache: keys are many, kinds
//! are few, since queries ask by region, city or brand.
//! Called by `mod` when a batch's star is put together, before `bin_space`.

use super::Star;
use super::by_place::{ByPlace, each_number};

/// Pairs of a kind and a code that may be told apart: 8 MiB, of which those that are met are looked at.
const PAIRS: usize = 1 << 22;

/// No number yet.
const UNNUMBERED: u16 = u16::MAX;

/// The kinds of one root's dimension.
#[derive(Debug)]
pub(super) struct Kinds {
    pub by_place: ByPlace,
    /// By kind, a place that is of it.
    pub places: Vec<u32>,
    /// By kind, the number of its set.
    pub sets: Vec<u16>,
    /// Positions in [`Star::columns`] of what kinds tell apart.
    columns: Vec<usize>,
}

impl Kinds {
    /// Tells the rows of a root's dimension apart by their sets, and by as many columns as keep kinds few.
    pub fn new(star: &Star, root: usize) -> Kinds {
        let number = star.roots[root].1;
        let dimension = &star.dimensions[number];
        let places = 0..dimension.numbers.len() as u32;
        let mut kinds: Vec<u16> = each_number!(&dimension.numbers, number => {
            places.map(|place| number(place) as u16).collect()
        });
        let mut count = dimension.sets.len() / star.words.width();
        let own = |column: &usize| star.columns[*column].root == number;
        let mut columns: Vec<usize> = (0..star.columns.len()).filter(own).collect();
        columns.sort_by_key(|&column| star.columns[column].count());
        columns.retain(|&column| {
            let column = &star.columns[column];
            let finer = split(&kinds, count, &column.codes, column.count());
            let is_split = finer.is_some();
            if let Some(finer) = finer {
                (kinds, count) = finer;
            }
            is_split
        });
        let mut places = vec![0; count];
        (0..).zip(&kinds).for_each(|(place, &kind)| places[usize::from(kind)] = place);
        let sets = places.iter().map(|&place| dimension.numbers.get(place) as u16).collect();
        Kinds { by_place: ByPlace::new(&kinds), places, sets, columns }
    }

    /// Whether rows of a kind have the same value of a coded column.
    pub fn tells(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }
}

/// Kinds that tell codes apart as well, and how many there are; `None` where they would be too many.
fn split(
    kinds: &[u16],
    count: usize,
    codes: &ByPlace,
    code_count: usize,
) -> Option<(Vec<u16>, usize)> {
    let pairs = count.checked_mul(code_count).filter(|pairs| *pairs <= PAIRS)?;
    let mut numbers = vec![UNNUMBERED; pairs];
    let mut next = 0;
    let mut finer = Vec::with_capacity(kinds.len());
    each_number!(codes, code => {
        for (place, &kind) in (0..).zip(kinds) {
            let number = &mut numbers[usize::from(kind) * code_count + code(place) as usize];
            if *number == UNNUMBERED {
                *number = next;
                next = next.checked_add(1).filter(|next| *next != UNNUMBERED)?;
            }
            finer.push(*number);
        }
    });
    Some((finer, usize::from(next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_split_by_codes() {
        let (kinds, codes) = ([0, 1, 1, 0, 1, 0], ByPlace::new(&[0u32, 2, 2, 0, 0, 1]));
        let (finer, count) = split(&kinds, 2, &codes, 3).expect("four are few");
        assert_eq!((finer, count), (vec![0, 1, 1, 0, 2, 3], 4));
    }

    #[test]
    fn too_many_kinds_are_not_told_apart() {
        let kinds: Vec<u16> = (0..u16::MAX).collect();
        let codes = ByPlace::new(&(0..u32::from(u16::MAX)).map(|p| p % 2).collect::<Vec<_>>());
        assert!(split(&kinds, kinds.len(), &codes, 2).is_none());
        assert!(split(&kinds, kinds.len(), &codes, 1 << 12).is_none());
    }
}
