//! Rows on their way between two operators: where they lie, what was computed, who wants them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};

use super::{QuerySets, SetTable};
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
    /// Rows of one table, all of whose columns are put out by [`ColumnId`].
    pub fn of_table(view: Arc<TableView>, locations: Vec<Location>, sets: QuerySets) -> Tuples {
        let columns = (0..view.schema().columns.len() as u32)
            .map(|column| ColumnOrigin::Source { source: 0, column: ColumnId(column) })
            .collect();
        Tuples::of_source(Source { view, locations }, columns, sets)
    }

    /// Rows of one table with given output columns.
    pub fn of_source(source: Source, columns: Arc<[ColumnOrigin]>, sets: QuerySets) -> Tuples {
        let rows = source.locations.len();
        debug_assert!(sets.rows().is_none_or(|known| known == rows));
        Tuples { rows, sources: vec![source], computed: Vec::new(), columns, sets }
    }

    /// About the bytes that its rows take.
    pub fn memory(&self) -> usize {
        let of_row = self.sources.len() * size_of::<Location>() + size_of::<u32>();
        let of_array = |array: &ArrayRef| match array.data_type().primitive_width() {
            Some(width) => width * self.rows,
            None => array.to_data().get_slice_memory_size().unwrap_or(0),
        };
        self.rows * of_row + self.computed.iter().map(of_array).sum::<usize>()
    }

    /// The same output columns, no row.
    pub fn emptied(&self) -> Tuples {
        self.take(&[])
    }

    /// The rows named, in that order; a row may come several times.
    pub fn take(&self, rows: &[u32]) -> Tuples {
        self.take_as(rows, self.sets.take(rows))
    }

    /// The rows named, each with another set.
    pub fn take_as(&self, rows: &[u32], sets: QuerySets) -> Tuples {
        Tuples {
            rows: rows.len(),
            sources: self.sources.iter().map(|source| source.take(rows)).collect(),
            computed: take_arrays(&self.computed, rows),
            columns: self.columns.clone(),
            sets,
        }
    }

    /// The rows of a range.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Tuples {
        let sources = self.sources.iter().map(|source| Source {
            view: source.view.clone(),
            locations: source.locations[range.clone()].to_vec(),
        });
        let computed = self.computed.iter().map(|array| array.slice(range.start, range.len()));
        Tuples {
            rows: range.len(),
            sources: sources.collect(),
            computed: computed.collect(),
            columns: self.columns.clone(),
            sets: self.sets.slice(range),
        }
    }

    /// The rows that somebody wants; their sets in the cheapest encoding.
    pub fn wanted(self, table: &SetTable) -> Tuples {
        let mut tuples = match self.sets.wanted_rows(self.rows) {
            Some(rows) => self.take(&rows),
            None => self,
        };
        tuples.sets = tuples.sets.compact(tuples.rows, table);
        tuples
    }

    /// The same rows with other sets; drops rows that nobody wants.
    pub fn with_sets(mut self, sets: QuerySets, table: &SetTable) -> Tuples {
        self.sets = sets;
        self.wanted(table)
    }

    /// Runs of rows with the same output columns end to end. `None` for no run at all.
    pub fn concat(mut parts: Vec<Tuples>, table: &SetTable) -> Option<Tuples> {
        if parts.len() > 1 && parts.iter().any(|part| part.rows > 0) {
            parts.retain(|part| part.rows > 0);
        }
        if parts.len() < 2 {
            return parts.pop();
        }
        let first = &parts[0];
        assert!(parts.iter().all(|part| part.columns == first.columns), "runs of one operator");
        let sets: Vec<_> = parts.iter().map(|part| (&part.sets, part.rows)).collect();
        let sources = 0..first.sources.len();
        let computed = 0..first.computed.len();
        Some(Tuples {
            rows: parts.iter().map(|part| part.rows).sum(),
            sources: sources.map(|source| concat_source(&parts, source)).collect(),
            computed: computed.map(|column| concat_computed(&parts, column)).collect(),
            columns: first.columns.clone(),
            sets: QuerySets::concat(&sets, table),
        })
    }

    /// Pairs of rows, `self` left and `other` right, row by row: a join's output after both sides were taken.
    /// Output columns are left ++ right.
    pub fn zip(self, other: Tuples, sets: QuerySets) -> Tuples {
        assert_eq!(self.rows, other.rows, "pairs of rows");
        let (sources, computed) = (self.sources.len(), self.computed.len());
        let shifted = other.columns.iter().map(|origin| match *origin {
            ColumnOrigin::Source { source, column } => {
                ColumnOrigin::Source { source: source + sources, column }
            }
            ColumnOrigin::Computed(i) => ColumnOrigin::Computed(i + computed),
        });
        Tuples {
            rows: self.rows,
            columns: self.columns.iter().copied().chain(shifted).collect(),
            sources: self.sources.into_iter().chain(other.sources).collect(),
            computed: self.computed.into_iter().chain(other.computed).collect(),
            sets,
        }
    }

    /// Adds a joined table's rows on the right, one location per row; output columns are left ++ right.
    pub fn append_source(mut self, source: Source, right: &[ColumnId]) -> Tuples {
        assert_eq!(self.rows, source.locations.len(), "one location per row");
        let number = self.sources.len();
        let appended = right.iter().map(|&column| ColumnOrigin::Source { source: number, column });
        self.columns = self.columns.iter().copied().chain(appended).collect();
        self.sources.push(source);
        self
    }

    /// Adds a computed output column on the right.
    pub fn append_computed(mut self, array: ArrayRef) -> Tuples {
        assert_eq!(self.rows, array.len(), "one value per row");
        let origin = ColumnOrigin::Computed(self.computed.len());
        self.columns = self.columns.iter().copied().chain([origin]).collect();
        self.computed.push(array);
        self
    }

    /// Keeps these output columns, in that order.
    pub fn project(mut self, columns: &[usize]) -> Tuples {
        self.columns = columns.iter().map(|&column| self.columns[column]).collect();
        self
    }

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

impl Source {
    fn take(&self, rows: &[u32]) -> Source {
        let locations = rows.iter().map(|&row| self.locations[row as usize]).collect();
        Source { view: self.view.clone(), locations }
    }
}

fn take_arrays(arrays: &[ArrayRef], rows: &[u32]) -> Vec<ArrayRef> {
    if arrays.is_empty() {
        return Vec::new();
    }
    let indices = UInt32Array::from(rows.to_vec());
    let take = |array: &ArrayRef| arrow_select::take::take(array, &indices, None);
    arrays.iter().map(|array| take(array).expect("rows lie inside the array")).collect()
}

fn concat_source(parts: &[Tuples], source: usize) -> Source {
    let runs: Vec<&[Location]> =
        parts.iter().map(|part| &part.sources[source].locations[..]).collect();
    Source { view: parts[0].sources[source].view.clone(), locations: runs.concat() }
}

fn concat_computed(parts: &[Tuples], column: usize) -> ArrayRef {
    let arrays: Vec<&dyn Array> = parts.iter().map(|part| &*part.computed[column]).collect();
    arrow_select::concat::concat(&arrays).expect("runs of one operator have equal types")
}
