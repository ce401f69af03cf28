//! Columns of the fact table as whole numbers of rows that are left, read chunk by chunk, each once whatever the number of
//! aggregates that take it; and the arguments that are such columns or computed of them.

use super::Star;
use super::key_places::ChunkPart;
use crate::operators::grouping::Argument;
use crate::operators::kernel::{WholeColumn, WholeInputs, whole_numbers};
use crate::plan::Aggregate;
use crate::storage::TableView;
use crate::types::{Arithmetic, ColumnId, DataType, Scalar};

/// Columns of some rows, integers or numerics of 64 bits.
#[derive(Debug, Default)]
pub(super) struct FactNumbers {
    rows: usize,
    /// `None` for columns that hold something else, or NULL, in some of the rows.
    columns: Vec<(ColumnId, Option<WholeColumn>)>,
}

impl FactNumbers {
    /// Reads columns of more rows, those of a part; named twice a column is read once.
    pub fn add(
        &mut self,
        view: &TableView,
        part: &ChunkPart<'_>,
        columns: impl Iterator<Item = ColumnId>,
    ) {
        let before = self.rows;
        self.rows += part.rows.len();
        for column in columns {
            let all = self.rows;
            let known = self.column(column);
            match known.as_ref().map(WholeColumn::len) {
                Some(rows) if rows == all => {}
                Some(rows) if rows == before => {
                    let read =
                        |out: &mut _| view.append_whole_numbers(column, part.id, part.rows, out);
                    *known = known.take().and_then(|own| own.extended(read));
                }
                // It was not read of all rows before.
                _ => *known = None,
            }
        }
    }

    fn column(&mut self, column: ColumnId) -> &mut Option<WholeColumn> {
        let known = self.columns.iter().position(|(known, _)| *known == column);
        let at = known.unwrap_or_else(|| {
            self.columns.push((column, Some(WholeColumn::default())));
            self.columns.len() - 1
        });
        &mut self.columns[at].1
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.rows = 0;
        let columns = self.columns.iter_mut();
        columns.for_each(|(_, column)| {
            *column = Some(column.take().unwrap_or_default().cleared());
        });
    }

    /// An argument of all rows; `None` where it is something else, or not whole in all of them.
    pub fn argument(&self, view: &TableView, aggregate: &Aggregate) -> Option<Argument> {
        let columns = taken(view, aggregate)?;
        let columns = columns.into_iter().map(|column| self.get(column));
        let columns: Vec<Option<&WholeColumn>> = columns.collect();
        let (data_type, numbers) = match aggregate.argument.as_ref()? {
            Scalar::Expression(expression) => {
                let inputs = WholeInputs { columns: &columns, parameters: &[], holds: &|_| None };
                let numbers = whole_numbers(expression.arithmetic()?, &inputs, self.rows)?;
                (expression.data_type(), numbers)
            }
            Scalar::Column(column) => (type_of(view, *column), columns[0]?.clone().into_numbers()),
            Scalar::Literal(_) | Scalar::Parameter(_) => return None,
        };
        Some(Argument::whole(aggregate.function, data_type, numbers))
    }

    fn get(&self, column: ColumnId) -> Option<&WholeColumn> {
        let (_, known) = self.columns.iter().find(|(known, _)| *known == column)?;
        known.as_ref().filter(|known| known.len() == self.rows)
    }
}

impl Star {
    /// The columns from which groupings that have bins, or those that have none, take whole numbers.
    pub(super) fn whole_columns_of(&self, has_bins: bool) -> impl Iterator<Item = ColumnId> {
        let groupings = self.groupings_of(has_bins);
        groupings.flat_map(|(_, grouping)| grouping.whole.iter().copied())
    }
}

/// The columns from which arguments may be computed as whole numbers, each once.
pub(super) fn whole_columns(view: &TableView, aggregates: &[Aggregate]) -> Vec<ColumnId> {
    let taken = aggregates.iter().filter_map(|aggregate| taken(view, aggregate));
    let mut columns: Vec<ColumnId> = taken.flatten().collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The columns that an aggregate takes in whole numbers, in its order; `None` where it takes something else.
fn taken(view: &TableView, aggregate: &Aggregate) -> Option<Vec<ColumnId>> {
    let id = |column: &usize| ColumnId(*column as u32);
    match aggregate.argument.as_ref()? {
        Scalar::Column(column) => is_whole(type_of(view, *column)).then(|| vec![id(column)]),
        Scalar::Expression(expression) => {
            let columns = expression.columns();
            let data_type = |position: usize| type_of(view, columns[position]);
            let arithmetic = expression.arithmetic().filter(|known| !known.has_case())?;
            has_scales(arithmetic, data_type).then(|| columns.iter().map(id).collect())
        }
        Scalar::Literal(_) | Scalar::Parameter(_) => None,
    }
}

fn type_of(view: &TableView, column: usize) -> DataType {
    view.schema().columns[column].data_type
}

/// Whether aggregates take a type's values in whole numbers. Of no rows any column holds nothing else, whatever its type, and days
/// are whole numbers that no aggregate takes so.
fn is_whole(data_type: DataType) -> bool {
    use DataType::{BigInt, Integer, Numeric, SmallInt};
    matches!(data_type, SmallInt | Integer | BigInt | Numeric { .. })
}

/// Whether all columns have as many digits after the point as the arithmetic counts on.
fn has_scales(arithmetic: &Arithmetic, data_type: impl Fn(usize) -> DataType) -> bool {
    let mut all = true;
    arithmetic.for_each_column(&mut |position, scale| {
        all &= match data_type(position) {
            DataType::Numeric { scale: own, .. } => own == scale,
            other => scale == 0 && is_whole(other),
        };
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::reference::stored::table;
    use crate::plan::AggregateFunction;
    use crate::storage::Store;
    use crate::types::Value;

    /// Loaded in two chunks; the last row's second column is NULL.
    fn view() -> std::sync::Arc<TableView> {
        let row = |id: i32| match id {
            5 => vec![Value::Integer(5), Value::Null, Value::Integer(50)],
            id => vec![Value::Integer(id), Value::Integer(id + 100), Value::Integer(id * 10)],
        };
        let rows: Vec<Vec<Value>> = (0..6).map(row).collect();
        table(&Store::new(1), 1, &[DataType::Integer; 3], &rows)
    }

    #[test]
    fn what_is_no_number_is_not_whole_even_without_rows() {
        let types = [DataType::Real, DataType::Text, DataType::Date, DataType::Integer];
        let view = table(&Store::new(1), 1, &types, &[]);
        let aggregate = |column| Aggregate {
            function: AggregateFunction::Max,
            argument: Some(Scalar::Column(column)),
            distinct: false,
            filter: None,
            data_type: types[column],
        };
        let numbers = FactNumbers::default();
        for column in 0..3 {
            assert!(whole_columns(&view, &[aggregate(column)]).is_empty());
            assert!(numbers.argument(&view, &aggregate(column)).is_none());
        }
        assert_eq!(whole_columns(&view, &[aggregate(3)]), [ColumnId(3)]);
    }

    #[test]
    fn columns_are_whole_until_a_row_is_null_and_read_of_all_rows_or_of_none() {
        let view = view();
        let mut numbers = FactNumbers::default();
        for round in 0..2 {
            let chunks: Vec<_> = view.chunks().iter().collect();
            let mut add = |chunk: usize, rows: &[u32], columns: &[u32]| {
                let (id, chunk) = chunks[chunk];
                let part = ChunkPart { id: *id, chunk, rows };
                numbers.add(&view, &part, columns.iter().copied().map(ColumnId));
                let known = |column| Some(numbers.get(ColumnId(column))?.clone().into_numbers());
                [1, 2].map(known)
            };
            assert_eq!(chunks.len(), 2);
            let both = add(0, &[1], &[1, 2, 1]);
            assert_eq!(both, [Some(vec![101]), Some(vec![10])], "round {round}");
            let one = add(0, &[0], &[1]);
            assert_eq!(one, [Some(vec![101, 100]), None], "round {round}");
            let late = add(1, &[0], &[1, 2]);
            assert_eq!(late, [Some(vec![101, 100, 104]), None], "round {round}");
            let null = add(1, &[0, 1], &[1, 2]);
            assert_eq!(null, [None, None], "round {round}");
            numbers.clear();
        }
    }
}
