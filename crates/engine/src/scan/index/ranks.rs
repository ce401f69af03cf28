//! Few bounds: a loop per bound over a block of rows counts how many of them are not above each row's key, in the width that
//! the column is stored in and without branches, where a search would guess wrong at every other row.

use super::super::blocks::{BLOCK, Block};
use super::super::rows::Rows;
use crate::storage::{ColumnSlice, each_width};

/// Evaluates an expression for the integers that a column holds and what is to be added to each; `false` for columns of other
/// representations.
macro_rules! of_integers {
    ($column:expr, $base:ident, $values:ident => $body:expr) => {
        match *$column {
            ColumnSlice::Int16($values, _) => of_integers!(0, $base, $body),
            ColumnSlice::Int32($values, _) => of_integers!(0, $base, $body),
            ColumnSlice::Int64($values, _) => of_integers!(0, $base, $body),
            ColumnSlice::Framed(base, distances, _) => {
                each_width!(distances, $values => of_integers!(base, $base, $body))
            }
            _ => false,
        }
    };
    ($own:expr, $base:ident, $body:expr) => {{
        let $base: i64 = $own;
        $body;
        true
    }};
}
pub(super) use of_integers;

/// Narrows each row's set to that of its key's rank; `false` for columns of other representations. There are fewer bounds
/// than `sets`, and fewer of these than 256. No row is NULL.
pub fn narrow_by_ranks(
    column: &ColumnSlice<'_>,
    rows: Rows<'_>,
    bounds: &[i64],
    sets: &[u64],
    words: &mut [u64],
) -> bool {
    of_integers!(column, base, values => {
        let mut blocks = words.chunks_mut(BLOCK);
        for_each_block(values, rows, &in_width(bounds, base), |_, ranks| {
            let words = blocks.next().expect("a word for each row").iter_mut();
            words.zip(ranks).for_each(|(word, rank)| *word &= sets[usize::from(*rank)]);
        });
    })
}

/// Appends the rows whose key passes an odd number of bounds; `false` for columns of other representations. There are fewer
/// than 256 bounds. No row is NULL.
pub fn select_by_ranks(
    column: &ColumnSlice<'_>,
    rows: Rows<'_>,
    bounds: &[i64],
    out: &mut Vec<u32>,
) -> bool {
    of_integers!(column, base, values => {
        for_each_block(values, rows, &in_width(bounds, base), |block, ranks| {
            ranks.iter_mut().for_each(|rank| *rank &= 1);
            block.append_where(ranks, out);
        });
    })
}

/// Bounds as distances from `base`.
struct Bounds<T> {
    /// Bounds that no value lies below.
    passed: u8,
    /// Those that some value may lie below and some not.
    open: Vec<T>,
}

fn in_width<T: TryFrom<i128>>(bounds: &[i64], base: i64) -> Bounds<T> {
    let mut own = Bounds { passed: 0, open: Vec::with_capacity(bounds.len()) };
    for &bound in bounds {
        let distance = i128::from(bound) - i128::from(base);
        match T::try_from(distance) {
            Ok(distance) => own.open.push(distance),
            Err(_) if distance < 0 => own.passed += 1,
            // No value comes to it.
            Err(_) => {}
        }
    }
    own
}

fn for_each_block<T: Copy + Default + PartialOrd>(
    values: &[T],
    rows: Rows<'_>,
    bounds: &Bounds<T>,
    mut visit: impl FnMut(Block<'_>, &mut [u8]),
) {
    let (mut room, mut ranks) = ([T::default(); BLOCK], [0u8; BLOCK]);
    for block in rows.blocks() {
        let ranks = &mut ranks[..block.len()];
        let values = block.values(values, &mut room);
        ranks.fill(bounds.passed);
        bounds.open.iter().for_each(|&bound| count_passed(values, bound, ranks));
        visit(block, ranks);
    }
}

/// Adds one to the rank of each value that is not below the bound.
fn count_passed<T: Copy + PartialOrd>(values: &[T], bound: T, ranks: &mut [u8]) {
    values.iter().zip(ranks).for_each(|(&value, rank)| *rank += u8::from(value >= bound));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Nulls, Unsigned};

    /// Sets that tell the rank.
    const SETS: [u64; 5] = [1, 2, 4, 8, 16];

    fn check(column: &ColumnSlice<'_>, rows: Rows<'_>, bounds: &[i64], key: impl Fn(usize) -> i64) {
        let mut words = vec![u64::MAX; rows.len()];
        assert!(narrow_by_ranks(column, rows, bounds, &SETS, &mut words));
        for (index, word) in words.into_iter().enumerate() {
            let key = key(rows.offset(index));
            let rank = bounds.iter().filter(|&&bound| bound <= key).count();
            assert_eq!(word, 1 << rank, "{key} among {bounds:?}");
        }
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        assert!(select_by_ranks(column, rows, bounds, &mut found));
        rows.select(&mut expected, |row| {
            bounds.iter().filter(|&&bound| bound <= key(row)).count() % 2 == 1
        });
        assert_eq!(found, expected, "{bounds:?}");
    }

    #[test]
    fn ranks_in_every_width_equal_those_by_search() {
        let numbers: Vec<i64> = (0..3000).map(|row| row * 7919 % 251 - 100).collect();
        let some: Vec<u32> = (0..3000).filter(|row| row % 3 == 0).collect();
        let bounds = [
            vec![],
            vec![-90, 0, 5, 120],
            vec![i64::MIN, -1, i64::MAX],
            vec![-100, 150, 151, 1 << 40],
        ];
        let shorts: Vec<i16> = numbers.iter().map(|&n| n as i16).collect();
        let bytes: Vec<u8> = numbers.iter().map(|&n| (n + 100) as u8).collect();
        for bounds in &bounds {
            for rows in [Rows::All(3000), Rows::Some(&some)] {
                let key = |row: usize| numbers[row];
                check(&ColumnSlice::Int64(&numbers, Nulls::None), rows, bounds, key);
                check(&ColumnSlice::Int16(&shorts, Nulls::None), rows, bounds, key);
                let framed = ColumnSlice::Framed(-100, Unsigned::Bits8(&bytes), Nulls::None);
                check(&framed, rows, bounds, key);
            }
        }
    }
}
