//! A grouping column of a dimension as small numbers, by the place of the fact row's reference.

use arrow_schema::DataType as ArrowType;

use super::by_place::ByPlace;
use super::{Dimension, StarKey, StarNode};
use crate::operators::kernel::KeyTable;
use crate::types::Location;

/// Numbers in place of values.
#[derive(Debug)]
pub(super) struct CodedColumn {
    pub key: StarKey,
    /// The dimension that the fact table's reference leads to.
    pub root: usize,
    /// By place in the root dimension.
    pub codes: ByPlace,
    /// By kind of the root dimension's rows, where rows are known by their kinds.
    pub by_kind: Option<ByPlace>,
    /// By code, a row of the column's dimension that has the value: its position among the wanted ones.
    pub representatives: Vec<u32>,
}

impl CodedColumn {
    /// Numbers the values of the wanted rows.
    pub fn new(node: &StarNode, dimensions: &[Dimension], key: StarKey) -> CodedColumn {
        let own = &dimensions[key.dimension];
        let numbers = numbers(own, key);
        let mut codes = vec![0; own.numbers.len()];
        let mut representatives = Vec::new();
        for ((row, &place), &number) in (0..).zip(&own.places).zip(&numbers) {
            codes[place as usize] = number;
            if number as usize == representatives.len() {
                representatives.push(row);
            }
        }
        let mut root = key.dimension;
        while let Some(parent) = node.dimensions[root].parent {
            codes = raise(&codes, &dimensions[parent], root);
            root = parent;
        }
        CodedColumn { key, root, codes: ByPlace::new(&codes), by_kind: None, representatives }
    }

    /// Codes in all.
    pub fn count(&self) -> usize {
        self.representatives.len().max(1)
    }

    /// By code, the row of a dimension that the representative is or leads to.
    pub fn locations(
        &self,
        node: &StarNode,
        dimensions: &[Dimension],
        dimension: usize,
    ) -> Vec<Location> {
        let own = &dimensions[self.key.dimension];
        if dimension == self.key.dimension {
            return self.representatives.iter().map(|&row| own.locations[row as usize]).collect();
        }
        let mut way = vec![dimension];
        while let Some(&last) = way.last().filter(|last| **last != self.key.dimension) {
            let parent = node.dimensions[last].parent;
            way.push(
                parent.expect("a key determines columns of its own row and of what that leads to"),
            );
        }
        let place = |&row: &u32| own.places[row as usize];
        let mut places: Vec<u32> = self.representatives.iter().map(place).collect();
        for pair in way.windows(2).rev() {
            let references = dimensions[pair[1]].references(pair[0]);
            places.iter_mut().for_each(|place| *place = references[*place as usize]);
        }
        let by_place = dimensions[dimension].locations_by_place();
        places.iter().map(|&place| by_place[place as usize]).collect()
    }
}

/// The numbers of the wanted rows' values, in the order in which these are met.
fn numbers(dimension: &Dimension, key: StarKey) -> Vec<u32> {
    let Dimension { view, locations, .. } = dimension;
    // More strings than rows would be looked at for nothing.
    if let Some((codes, count)) = view.dictionary_codes(key.column, locations, locations.len()) {
        return renumbered(codes, count);
    }
    let array = view.gather(key.column, locations);
    let scale = match array.data_type() {
        ArrowType::Decimal128(_, scale) => *scale as u8,
        _ => 0,
    };
    KeyTable::new([scale]).insert(&[array])
}

/// Numbers codes below `count` in the order in which they are met.
fn renumbered(mut codes: Vec<u32>, count: usize) -> Vec<u32> {
    let mut numbers = vec![u32::MAX; count];
    let mut next = 0;
    for code in &mut codes {
        let number = &mut numbers[*code as usize];
        if *number == u32::MAX {
            *number = next;
            next += 1;
        }
        *code = *number;
    }
    codes
}

/// From places in a child to places in its parent.
fn raise(codes: &[u32], parent: &Dimension, child: usize) -> Vec<u32> {
    let references = parent.references(child);
    references.into_iter().map(|reference| codes[reference as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_numbered_as_they_are_met() {
        assert_eq!(renumbered(vec![7, 2, 7, 0, 2, 9], 10), [0, 1, 0, 2, 1, 3]);
        assert!(renumbered(Vec::new(), 0).is_empty());
    }
}
