//! What a row alone must obey: lengths, precisions, generated columns, NOT NULL, CHECK.

use arrow_array::ArrayRef;

use super::display;
use super::{Evaluation, Parameters, Relation};
use crate::types::{
    BlockColumn, Check, ColumnId, ColumnSchema, DataType, Error, Expression, Result, RowBlock,
    RowRules, Scalar, SqlState, Value, ValueRef, array_cell, array_from_values,
};

/// Checks a new row, and brings its values into the form that storage keeps: blanks that a varchar(n) has too
/// many and all trailing ones of a char(n) go, numerics get the column's scale. Generated columns are computed
/// from these.
/// 55000 where the rules are not those that the table has now.
pub(crate) fn check_row(relation: &Relation, row: &mut [Value], rules: &RowRules) -> Result<()> {
    if !rules.are_of(&relation.schema) {
        return Err(outdated(relation));
    }
    for (value, column) in row.iter_mut().zip(&relation.schema.columns) {
        if !value.is_null() {
            conform(value, column.data_type)?;
        }
    }
    generate(relation, row, &rules.generated)?;
    for (value, column) in row.iter().zip(&relation.schema.columns) {
        if value.is_null() && column.not_null && !column.dropped {
            return Err(null_value(relation, row, &column.name));
        }
        check_type(value.borrow(), column)?;
    }
    for check in &rules.checks {
        let evaluation = Evaluation { row: &*row, types: &relation.types, parameters: NONE };
        if evaluation.condition(&*check.expression)? == Some(false) {
            return Err(check_violated(relation, row, check));
        }
    }
    Ok(())
}

const NONE: Parameters<'static> = Parameters { values: &[], types: &[] };

/// Gives generated columns their values, which depend on no generated ones.
fn generate(
    relation: &Relation,
    row: &mut [Value],
    generated: &[(ColumnId, Scalar)],
) -> Result<()> {
    for (column, value) in generated {
        let evaluation = Evaluation { row: &*row, types: &relation.types, parameters: NONE };
        row[column.index()] = conformed(evaluation.scalar(value)?, relation.types[column.index()])?;
    }
    Ok(())
}

/// Checks that storage can keep a row's values as they are: the last look before a row is logged and applied, at rows of
/// whatever origin. 23502, or XX000 for a value of another type, which is a fault of ours that must end no more than the
/// write.
pub(crate) fn check_stored_form(relation: &Relation, row: &[Value]) -> Result<()> {
    if row.len() != relation.schema.columns.len() {
        return Err(outdated(relation));
    }
    for (value, column) in row.iter().zip(&relation.schema.columns) {
        if value.is_null() && column.not_null && !column.dropped {
            return Err(null_value(relation, row, &column.name));
        }
        check_type(value.borrow(), column)?;
    }
    Ok(())
}

/// Checks that a column can keep a value.
pub(crate) fn check_type(value: ValueRef<'_>, column: &ColumnSchema) -> Result<()> {
    if value.is_of(column.data_type) {
        return Ok(());
    }
    let (name, wanted) = (&column.name, column.data_type);
    let found = value.data_type().map_or_else(String::new, |found| found.to_string());
    let message = format!("a value for column \"{name}\" is of type {found}, not {wanted}");
    Err(Error::new(SqlState::InternalError, message))
}

/// The statement was planned for another definition of the table.
pub(crate) fn outdated(relation: &Relation) -> Error {
    let message = format!("the definition of table \"{}\" has changed", relation.schema.name);
    Error::new(SqlState::OutdatedPlan, message)
}

/// Checks rows in bulk, whose values have the form that storage keeps, and fills in generated columns; gives the first row at
/// fault, and its fault.
pub(crate) fn check_block(
    relation: &Relation,
    block: &mut RowBlock,
    rules: &RowRules,
) -> Result<(), (usize, Error)> {
    if !rules.are_of(&relation.schema) {
        return Err((0, outdated(relation)));
    }
    for (column, value) in &rules.generated {
        match generated_column(relation, block, *column, value) {
            Ok(values) => *block.column_mut(column.index()) = values,
            Err(error) => return Err(first_not_generated(relation, block, rules, error)),
        }
    }
    let block = &*block;
    let numbered = relation.schema.columns.iter().zip(block.columns());
    let must_be = numbered.filter(|(column, _)| column.not_null && !column.dropped);
    let nulls = must_be.filter_map(|(column, values)| Some((values.first_null()?, column)));
    let null = nulls.min_by_key(|(row, _)| *row);
    let mut first =
        null.map(|(row, column)| (row, null_value(relation, &block.row(row), &column.name)));
    for check in &rules.checks {
        // Only a row before the one that is known to be at fault would be told instead.
        let rows = first.as_ref().map_or(block.rows(), |(row, _)| *row);
        first = first_violation(relation, block, rows, check).or(first);
    }
    first.map_or(Ok(()), Err)
}

/// Checks rows whose table is being redefined: the columns that may have no NULL, and CHECK constraints.
pub(crate) fn check_kept_rows(
    relation: &Relation,
    block: &RowBlock,
    filled: &[ColumnId],
    checks: &[Check],
) -> Result<()> {
    let table = &relation.schema.name;
    if let Some(id) = filled.iter().find(|id| block.columns()[id.index()].first_null().is_some()) {
        let column = &relation.schema.columns[id.index()].name;
        let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
        let error = Error::new(SqlState::NotNullViolation, message);
        return Err(error.column(&**table, &**column));
    }
    for check in checks {
        let holds = evaluated(relation, block, block.rows(), &*check.expression)?;
        if (0..block.rows()).any(|row| array_cell(&holds, row) == ValueRef::Boolean(false)) {
            let name = &check.name;
            let message = format!(
                "check constraint \"{name}\" of relation \"{table}\" is violated by some row"
            );
            let error = Error::new(SqlState::CheckViolation, message);
            return Err(error.constraint(&**table, &**name));
        }
    }
    Ok(())
}

/// A generated column of all rows.
fn generated_column(
    relation: &Relation,
    block: &RowBlock,
    column: ColumnId,
    value: &Scalar,
) -> Result<BlockColumn> {
    let data_type = relation.types[column.index()];
    let mut filled = BlockColumn::new(data_type, false);
    let mut push = |value: ValueRef<'_>| {
        filled.push(conformed(value.to_owned(), data_type)?.borrow());
        Ok(())
    };
    match value {
        Scalar::Expression(expression) => {
            let values = evaluated(relation, block, block.rows(), &**expression)?;
            (0..block.rows()).try_for_each(|row| push(array_cell(&values, row)))?;
        }
        Scalar::Literal(value) => {
            (0..block.rows()).try_for_each(|_| push(value.borrow()))?;
        }
        Scalar::Column(from) => {
            (0..block.rows()).try_for_each(|row| push(block.value(row, *from)))?;
        }
        Scalar::Parameter(_) => unreachable!("a definition has no parameters"),
    }
    Ok(filled)
}

/// The first row for which a generated column cannot be computed.
fn first_not_generated(
    relation: &Relation,
    block: &RowBlock,
    rules: &RowRules,
    error: Error,
) -> (usize, Error) {
    let fault = |row| generate(relation, &mut block.row(row), &rules.generated).err();
    let mut faults = (0..block.rows()).filter_map(|row| Some((row, fault(row)?)));
    faults.next().unwrap_or((0, error))
}

/// What an expression says of the first `rows` rows.
fn evaluated(
    relation: &Relation,
    block: &RowBlock,
    rows: usize,
    expression: &dyn Expression,
) -> Result<ArrayRef> {
    let columns = expression.columns().iter().map(|&column| {
        let values = (0..rows).map(|row| block.value(row, column));
        array_from_values(relation.types[column], values)
    });
    expression.evaluate(&columns.collect::<Vec<_>>(), &[], rows)
}

/// The first of the first `rows` rows that violates a check, or for which it cannot be evaluated.
fn first_violation(
    relation: &Relation,
    block: &RowBlock,
    rows: usize,
    check: &Check,
) -> Option<(usize, Error)> {
    match evaluated(relation, block, rows, &*check.expression) {
        Ok(holds) => {
            let row = (0..rows).find(|row| array_cell(&holds, *row) == ValueRef::Boolean(false))?;
            Some((row, check_violated(relation, &block.row(row), check)))
        }
        // Some row is at fault: whose turn it is decides.
        Err(_) => (0..rows).find_map(|row| {
            let values = block.row(row);
            let evaluation = Evaluation { row: &*values, types: &relation.types, parameters: NONE };
            match evaluation.condition(&*check.expression) {
                Ok(Some(false)) => Some((row, check_violated(relation, &values, check))),
                Ok(_) => None,
                Err(error) => Some((row, error)),
            }
        }),
    }
}

fn conformed(mut value: Value, data_type: DataType) -> Result<Value> {
    conform(&mut value, data_type).map(|()| value)
}

fn conform(value: &mut Value, data_type: DataType) -> Result<()> {
    match (&mut *value, data_type) {
        (Value::Text(text), DataType::Varchar(limit)) => fit(text, limit, "character varying"),
        (Value::Text(text), DataType::Char(limit)) => {
            fit(text, limit, "character")?;
            let kept = text.trim_end_matches(' ');
            if kept.len() < text.len() {
                *text = kept.into();
            }
            Ok(())
        }
        (Value::Numeric(digits, scale), DataType::Numeric { precision, scale: wanted }) => {
            *digits = rescale(*digits, *scale, precision, wanted)?;
            *scale = wanted;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Cuts blanks beyond the limit; 22001 where something else is beyond it. Lengths are in characters; a string
/// of no more bytes than that needs no counting.
fn fit(text: &mut Box<str>, limit: u32, type_name: &str) -> Result<()> {
    if text.len() <= limit as usize {
        return Ok(());
    }
    let Some((end, _)) = text.char_indices().nth(limit as usize) else { return Ok(()) };
    if text[end..].bytes().any(|byte| byte != b' ') {
        let message = format!("value too long for type {type_name}({limit})");
        return Err(Error::new(SqlState::StringTooLong, message));
    }
    *text = text[..end].into();
    Ok(())
}

/// Rounds half away from zero to the wanted scale, but of `numeric` without a precision; 22003 where the precision does not
/// suffice.
fn rescale(digits: i128, scale: u8, precision: u8, wanted: u8) -> Result<i128> {
    let overflow = || {
        let whole = precision.saturating_sub(wanted);
        Error::new(SqlState::NumericOutOfRange, "numeric field overflow").detail(format!(
            "A field with precision {precision}, scale {wanted} must round to an absolute value \
             less than 10^{whole}."
        ))
    };
    let scaled = if wanted >= scale {
        digits.checked_mul(10i128.pow(u32::from(wanted - scale))).ok_or_else(overflow)?
    } else {
        let divisor = 10i128.pow(u32::from(scale - wanted));
        let (whole, rest) = (digits / divisor, (digits % divisor).abs());
        let target = DataType::Numeric { precision, scale: wanted };
        if rest != 0 && target == DataType::PLAIN_NUMERIC {
            return Err(Error::lost_digits());
        }
        whole + if rest >= divisor - rest { digits.signum() } else { 0 }
    };
    let limit = 10u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
    if scaled.unsigned_abs() < limit { Ok(scaled) } else { Err(overflow()) }
}

fn failing_row(relation: &Relation, row: &[Value]) -> String {
    let live = relation.schema.live_columns().map(|(column, _)| row[column.index()].borrow());
    format!("Failing row contains ({}).", display::list(live))
}

fn null_value(relation: &Relation, row: &[Value], column: &str) -> Error {
    let table = &relation.schema.name;
    let message = format!(
        "null value in column \"{column}\" of relation \"{table}\" violates not-null constraint"
    );
    Error::new(SqlState::NotNullViolation, message)
        .detail(failing_row(relation, row))
        .column(&**table, column)
}

fn check_violated(relation: &Relation, row: &[Value], check: &Check) -> Error {
    let (table, name) = (&relation.schema.name, &check.name);
    let message = format!("new row for relation \"{table}\" violates check constraint \"{name}\"");
    Error::new(SqlState::CheckViolation, message)
        .detail(failing_row(relation, row))
        .constraint(&**table, &**name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_cut_of_blanks_only() {
        let text = |text: &str| Value::Text(text.into());
        assert_eq!(conformed(text("äöü"), DataType::Varchar(3)), Ok(text("äöü")));
        assert_eq!(conformed(text("ab   "), DataType::Varchar(3)), Ok(text("ab ")));
        assert_eq!(conformed(text("ab "), DataType::Char(3)), Ok(text("ab")));
        let error = conformed(text("abcd"), DataType::Varchar(3)).unwrap_err();
        assert_eq!(error.state, SqlState::StringTooLong);
        assert_eq!(error.message, "value too long for type character varying(3)");
    }

    #[test]
    fn numerics_round_half_away_from_zero() {
        let to = DataType::Numeric { precision: 4, scale: 2 };
        assert_eq!(conformed(Value::Numeric(12_345, 3), to), Ok(Value::Numeric(1235, 2)));
        assert_eq!(conformed(Value::Numeric(-12_345, 3), to), Ok(Value::Numeric(-1235, 2)));
        assert_eq!(conformed(Value::Numeric(7, 0), to), Ok(Value::Numeric(700, 2)));
        let error = conformed(Value::Numeric(99_995, 3), to).unwrap_err();
        assert_eq!(error.state, SqlState::NumericOutOfRange);
        let plain = DataType::PLAIN_NUMERIC;
        assert_eq!(conformed(Value::Numeric(5_000, 13), plain), Ok(Value::Numeric(5, 10)));
        let error = conformed(Value::Numeric(5_001, 13), plain).unwrap_err();
        assert_eq!(error.state, SqlState::NumericOutOfRange);
        let largest = DataType::Numeric { precision: 38, scale: 0 };
        assert!(conformed(Value::Numeric(i128::MAX, 0), largest).is_err());
    }
}
