//! A grouping column of a dimension as small numbers, by the place of the fact row's reference.

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;

use super::{Dimension, StarKey, StarNode};
use crate::operators::kernel::KeyTable;
use crate::storage::TableView;
use crate::types::{ColumnId, Location};

/// Numbers in place of values.
#[derive(Debug)]
pub(super) struct CodedColumn {
    pub key: StarKey,
    /// The referring column of the fact table, and the dimension that it leads to.
    pub outer: ColumnId,
    pub root: usize,
    /// By place in the root dimension.
    pub codes: Vec<u32>,
    /// By code, a row of the column's dimension that has the value.
    pub representatives: Vec<Location>,
    pub view: Arc<TableView>,
}

impl CodedColumn {
    /// Numbers the values of the wanted rows.
    pub fn new(node: &StarNode, dimensions: &[Dimension], key: StarKey) -> CodedColumn {
        let own = &dimensions[key.dimension];
        let array = own.view.gather(key.column, &own.locations);
        let scale = match array.data_type() {
            ArrowType::Decimal128(_, scale) => *scale as u8,
            _ => 0,
        };
        let numbers = KeyTable::new([scale]).insert(&[array]);
        let mut codes = vec![0; own.numbers.len()];
        let mut representatives = Vec::new();
        for ((&place, &location), &number) in own.places.iter().zip(&own.locations).zip(&numbers) {
            codes[place as usize] = number;
            if number as usize == representatives.len() {
                representatives.push(location);
            }
        }
        let (mut root, mut outer) = (key.dimension, node.dimensions[key.dimension].outer);
        while let Some(parent) = node.dimensions[root].parent {
            codes = raise(&codes, &dimensions[parent], root);
            (root, outer) = (parent, node.dimensions[parent].outer);
        }
        CodedColumn { key, outer, root, codes, representatives, view: own.view.clone() }
    }
}

/// From places in a child to places in its parent.
fn raise(codes: &[u32], parent: &Dimension, child: usize) -> Vec<u32> {
    let mut raised = vec![0; parent.numbers.len()];
    let references = parent.children.iter().find(|(number, _)| *number == child);
    let references = &references.expect("a parent knows its children").1;
    for (&place, &reference) in parent.places.iter().zip(references) {
        raised[place as usize] = codes[reference as usize];
    }
    raised
}
