//! Rows on their way between two operators: where they lie, what was computed, who wants them.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::QuerySets;
use crate::storage::TableView;
use crate::types::{ColumnId, Location, ValueRef};

/// A run of rows between two operators. Base-table columns are not copied: a row is a location per joined
/// table, and a column is read when somebody needs it (late materialisation).
#[derive(Clone, Debug)]
pub struct Tuples {
    /// Number of rows.
    pub rows: usize,
    /// One entry per base table joined so far.
    pub sources: Vec<Source>,
    /// Columns that an operator made; each has `rows` values.
    pub computed: Vec<ArrayRef>,
    /// Where output column `i` comes from.
    pub columns: Arc<[ColumnOrigin]>,
    /// Which activations want which row.
    pub sets: QuerySets,
}

/// One base table's part of the rows.
#[derive(Clone, Debug)]
pub struct Source {
    /// The table at the batch's snapshot.
    pub view: Arc<TableView>,
    /// One per row; [`Location::NONE`] where an outer join found no partner.
    pub locations: Vec<Location>,
}

/// Where an output column comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnOrigin {
    /// A column of `sources[source]`.
    Source {
        /// Position in `sources`.
        source: usize,
        /// The table's column.
        column: ColumnId,
    },
    /// `computed[i]`
    Computed(usize),
}

impl Tuples {
    /// Output column `column` of all rows, gathered.
    pub fn column(&self, column: usize) -> ArrayRef {
        match self.columns[column] {
            ColumnOrigin::Source { source, column } => {
                let source = &self.sources[source];
                source.view.gather(column, &source.locations)
            }
            ColumnOrigin::Computed(i) => self.computed[i].clone(),
        }
    }

    /// Output column `column` of row `row`.
    pub fn cell(&self, row: usize, column: usize) -> ValueRef<'_> {
        match self.columns[column] {
            ColumnOrigin::Source { source, column } => {
                let source = &self.sources[source];
                source.view.cell(column, source.locations[row])
            }
            ColumnOrigin::Computed(i) => crate::types::array_cell(&self.computed[i], row),
        }
    }
}
