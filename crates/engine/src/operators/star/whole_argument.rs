//! Arguments of aggregates that are integers or numerics of 64 bits, or computed of such.

use super::Star;
use crate::operators::grouping::Argument;
use crate::operators::kernel::{WholeColumn, whole_numbers};
use crate::plan::Aggregate;
use crate::types::{Arithmetic, ColumnId, DataType, Scalar};

/// An argument of `rows` rows of the fact table, whose columns `read` gives in whole numbers; `None` where it is something
/// else, or not whole in all rows.
pub(super) fn whole_argument(
    star: &Star,
    aggregate: &Aggregate,
    rows: usize,
    read: impl Fn(ColumnId) -> Option<Vec<i64>>,
) -> Option<Argument> {
    let id = |column: usize| ColumnId(column as u32);
    let type_of = |column: usize| star.fact.schema().columns[column].data_type;
    let (data_type, numbers) = match aggregate.argument.as_ref()? {
        // Days are whole numbers, but no aggregate takes them so.
        Scalar::Column(column) if type_of(*column) == DataType::Date => return None,
        Scalar::Column(column) => (type_of(*column), read(id(*column))?),
        Scalar::Expression(expression) => {
            let (arithmetic, columns) = (expression.arithmetic()?, expression.columns());
            if !has_scales(arithmetic, |position| type_of(columns[position])) {
                return None;
            }
            let columns = columns.iter().map(|&column| read(id(column)).map(WholeColumn::new));
            let columns: Vec<WholeColumn> = columns.collect::<Option<_>>()?;
            let columns: Vec<&WholeColumn> = columns.iter().collect();
            (expression.data_type(), whole_numbers(arithmetic, &columns, &[], rows)?)
        }
        Scalar::Literal(_) | Scalar::Parameter(_) => return None,
    };
    Some(Argument::whole(aggregate.function, data_type, numbers))
}

/// Whether all columns have as many digits after the point as the arithmetic counts on.
fn has_scales(arithmetic: &Arithmetic, data_type: impl Fn(usize) -> DataType) -> bool {
    let mut all = true;
    arithmetic.for_each_column(&mut |position, scale| {
        all &= match data_type(position) {
            DataType::Numeric { scale: own, .. } => own == scale,
            _ => scale == 0,
        };
    });
    all
}
