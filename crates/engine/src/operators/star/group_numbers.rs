//! The numbers of the groups that rows fall into: the sum of code × factor over a grouping's keys.

use super::{ActiveGrouping, Star};

/// A key column of a grouping over the rows of a block.
#[derive(Clone, Copy)]
pub(super) struct KeyColumn<'a> {
    /// By row, the place that it refers to.
    places: &'a [u32],
    /// By place.
    codes: &'a [u32],
    factor: u32,
}

/// A grouping's key columns; `places` are those of a block's rows by root.
pub(super) fn key_columns<'a>(
    star: &'a Star,
    grouping: &ActiveGrouping,
    places: &'a [Vec<u32>],
) -> Vec<KeyColumn<'a>> {
    let key = |&(column, factor): &(usize, u32)| {
        let column = &star.columns[column];
        let root = star.roots.iter().position(|(_, root)| *root == column.root);
        let places = &places[root.expect("a grouping joins the dimensions of its keys")][..];
        KeyColumn { places, codes: &column.codes, factor }
    };
    grouping.keys.iter().map(key).collect()
}

/// Overwrites `numbers` with those of the groups of `rows`.
pub(super) fn group_numbers(keys: &[KeyColumn<'_>], rows: &[u16], numbers: &mut Vec<u32>) {
    numbers.clear();
    match *keys {
        [] => numbers.resize(rows.len(), 0),
        [a] => sum([a], rows, numbers),
        [a, b] => sum([a, b], rows, numbers),
        [a, b, c] => sum([a, b, c], rows, numbers),
        _ => {
            let number = |row: &u16| keys.iter().map(|key| key.part(*row)).sum::<u32>();
            numbers.extend(rows.iter().map(number));
        }
    }
}

fn sum<const KEYS: usize>(keys: [KeyColumn<'_>; KEYS], rows: &[u16], numbers: &mut Vec<u32>) {
    numbers.extend(rows.iter().map(|&row| keys.iter().map(|key| key.part(row)).sum::<u32>()));
}

impl KeyColumn<'_> {
    #[inline(always)]
    fn part(&self, row: u16) -> u32 {
        self.codes[self.places[usize::from(row)] as usize] * self.factor
    }
}
