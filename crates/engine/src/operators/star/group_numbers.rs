//! The numbers of the groups that rows fall into: the sum of code × factor over a grouping's keys.

use super::by_place::{ByPlace, each_number};
use super::{ActiveGrouping, Star};

/// A key column of a grouping over the rows of a block.
#[derive(Clone, Copy)]
pub(super) struct KeyColumn<'a> {
    /// By row, what it refers to.
    references: &'a [u32],
    /// By that.
    codes: &'a ByPlace,
    factor: u32,
}

/// A grouping's key columns; `references` are those of a block's rows by root.
pub(super) fn key_columns<'a>(
    star: &'a Star,
    grouping: &ActiveGrouping,
    references: &'a [Vec<u32>],
) -> Vec<KeyColumn<'a>> {
    let key = |&(column, factor): &(usize, u32)| {
        let column = &star.columns[column];
        let root = star.roots.iter().position(|(_, root)| *root == column.root);
        let root = root.expect("a grouping joins the dimensions of its keys");
        let codes = column.by_kind.as_ref().unwrap_or(&column.codes);
        KeyColumn { references: &references[root], codes, factor }
    };
    grouping.keys.iter().map(key).collect()
}

/// Where the numbers of a grouping's rows come from.
pub(super) enum GroupNumbers<'a> {
    /// From the keys of each row asked for.
    Keys(Vec<KeyColumn<'a>>),
    /// By row of the block: they were computed once for all slots.
    Rows(Vec<u32>),
}

impl<'a> GroupNumbers<'a> {
    /// Those of a grouping whose slots want `pairs` rows in all out of the block's `rows`.
    pub fn new(keys: Vec<KeyColumn<'a>>, rows: usize, pairs: usize) -> GroupNumbers<'a> {
        // The numbers of all rows cost a key's look-ups each, and then one each pair: less from about two pairs a row on.
        if pairs < 2 * rows || keys.is_empty() {
            return GroupNumbers::Keys(keys);
        }
        let mut numbers = Vec::with_capacity(rows);
        append(&keys, 0..rows, &mut numbers);
        GroupNumbers::Rows(numbers)
    }

    /// Overwrites `numbers` with those of the groups of `rows`.
    pub fn look_up(&self, rows: &[u16], numbers: &mut Vec<u32>) {
        numbers.clear();
        let rows = rows.iter().map(|&row| usize::from(row));
        match self {
            GroupNumbers::Keys(keys) => append(keys, rows, numbers),
            GroupNumbers::Rows(known) => numbers.extend(rows.map(|row| known[row])),
        }
    }
}

/// One key after the other: look-ups of one key in many rows wait for memory together.
fn append(
    keys: &[KeyColumn<'_>],
    rows: impl ExactSizeIterator<Item = usize> + Clone,
    numbers: &mut Vec<u32>,
) {
    let first = numbers.len();
    let Some((key, others)) = keys.split_first() else {
        return numbers.resize(first + rows.len(), 0);
    };
    let KeyColumn { references, codes, factor } = key;
    each_number!(codes, code => {
        numbers.extend(rows.clone().map(|row| code(references[row]) * factor))
    });
    for KeyColumn { references, codes, factor } in others {
        let own = numbers[first..].iter_mut().zip(rows.clone());
        each_number!(codes, code => {
            own.for_each(|(number, row)| *number += code(references[row]) * factor)
        });
    }
}
