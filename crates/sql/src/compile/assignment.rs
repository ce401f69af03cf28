//! What INSERT and UPDATE do to a value on its way into a column: PostgreSQL's assignment casts.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::DataType as ArrowType;
use engine::types::{
    DataType, Error, Expression, Result, Scalar, SqlState, Value, array_cell, array_from_values,
};

use crate::text::{SessionZone, in_zone, session_zone};

/// Brings a value of type `from` into a column of type `target`; `unknown`: a string literal, which is read as
/// the target's input function would.
pub fn assign(scalar: Scalar, from: &ArrowType, target: DataType, unknown: bool) -> Result<Scalar> {
    if let Scalar::Literal(value) = &scalar {
        return assign_literal(value, target, unknown).map(Scalar::Literal);
    }
    let bounded = matches!(target, DataType::Varchar(_) | DataType::Char(_));
    if *from == target.arrow() && !bounded {
        return Ok(scalar);
    }
    if !allowed(from, target) {
        let from = crate::catalog::types::from_arrow(from);
        let message = format!("column is of type {target} but expression is of type {from}");
        return Err(Error::new(SqlState::DatatypeMismatch, message)
            .hint("You will need to rewrite or cast the expression."));
    }
    Ok(Scalar::Expression(Arc::new(Assigned::new(scalar, target))))
}

/// Assignment casts: among numbers, among times, anything to text.
fn allowed(from: &ArrowType, target: DataType) -> bool {
    let to = target.arrow();
    let timed = |t: &ArrowType| matches!(t, ArrowType::Date32 | ArrowType::Timestamp(..));
    from.is_null()
        || *from == to
        || target.is_string()
        || (from.is_numeric() && to.is_numeric())
        || (timed(from) && timed(&to))
}

fn assign_literal(value: &Value, target: DataType, unknown: bool) -> Result<Value> {
    let Value::Text(text) = value else {
        let Some(own) = value.borrow().data_type() else { return Ok(Value::Null) };
        if !allowed(&own.arrow(), target) {
            let message = format!("column is of type {target} but expression is of type {own}");
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        let array = array_from_values(own, std::iter::once(value.borrow()));
        let array = convert(&array, target)?;
        return Ok(array_cell(&array, 0).to_owned());
    };
    if unknown || target.is_string() {
        return crate::text::parse_value(text, target);
    }
    let message = format!("column is of type {target} but expression is of type text");
    Err(Error::new(SqlState::DatatypeMismatch, message))
}

/// A scalar brought into a column's type, row by row.
#[derive(Debug)]
struct Assigned {
    inner: Scalar,
    target: DataType,
    /// Of the session that it is made for.
    zone: SessionZone,
    columns: Vec<usize>,
    parameters: Vec<usize>,
    text: String,
}

impl Assigned {
    fn new(inner: Scalar, target: DataType) -> Assigned {
        let (columns, parameters, text) = match &inner {
            Scalar::Column(column) => (vec![*column], Vec::new(), format!("#{column}")),
            Scalar::Parameter(p) => (Vec::new(), vec![*p], format!("${}", p + 1)),
            Scalar::Literal(value) => (Vec::new(), Vec::new(), format!("{value:?}")),
            Scalar::Expression(inner) => {
                (inner.columns().to_vec(), inner.parameters().to_vec(), inner.text().to_owned())
            }
        };
        let zone = session_zone();
        let text = match zone.elsewhere() {
            Some(zone) => format!("{text}::{target} AT {}", zone.name()),
            None => format!("{text}::{target}"),
        };
        Assigned { inner, target, zone, columns, parameters, text }
    }
}

impl Expression for Assigned {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn data_type(&self) -> DataType {
        self.target
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef> {
        let array = match &self.inner {
            Scalar::Column(_) => columns[0].clone(),
            Scalar::Parameter(_) => parameters[0].clone(),
            Scalar::Literal(value) => {
                let values = std::iter::repeat_n(value.borrow(), rows);
                array_from_values(self.target, values)
            }
            Scalar::Expression(inner) => inner.evaluate(columns, parameters, rows)?,
        };
        in_zone(&self.zone, || convert(&array, self.target))
    }

    fn is_uneven(&self) -> bool {
        matches!(&self.inner, Scalar::Expression(inner) if inner.is_uneven())
    }

    fn text(&self) -> &str {
        &self.text
    }
}

fn convert(array: &ArrayRef, target: DataType) -> Result<ArrayRef> {
    let wanted = target.arrow();
    let converted = if *array.data_type() == wanted {
        array.clone()
    } else {
        crate::dialect::cast_array(array, &wanted).map_err(|e| crate::template::fault(&e))?
    };
    match target {
        DataType::Varchar(_) | DataType::Char(_) => fit(&converted, target),
        _ => Ok(converted),
    }
}

/// Too long is 22001 unless only blanks are cut; `char(n)` keeps no trailing blanks.
fn fit(array: &ArrayRef, target: DataType) -> Result<ArrayRef> {
    let strings = array.as_string_view();
    let mut changed = false;
    for text in strings.iter().flatten() {
        changed |= crate::text::fit_string(text, target)?.len() != text.len();
    }
    if !changed {
        return Ok(array.clone());
    }
    let values = strings.iter().map(|text| match text {
        Some(text) => crate::text::fit_string(text, target).map(Some),
        None => Ok(None),
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    let array: datafusion::arrow::array::StringViewArray = values.into_iter().collect();
    Ok(Arc::new(array))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(value: Value, target: DataType) -> Result<Value> {
        assign_literal(&value, target, false)
    }

    #[test]
    fn numbers_round_and_overflow() {
        let double = |v| assigned(Value::Double(v), DataType::Integer);
        assert_eq!(double(2.5).unwrap(), Value::Integer(2));
        assert_eq!(double(2.6).unwrap(), Value::Integer(3));
        assert_eq!(double(3e9).unwrap_err().state, SqlState::NumericOutOfRange);
        let numeric = assigned(Value::Numeric(25, 1), DataType::SmallInt);
        assert_eq!(numeric.unwrap(), Value::SmallInt(3));
    }

    #[test]
    fn strings_fit_or_fail() {
        let text = |t: &str| assigned(Value::Text(t.into()), DataType::Varchar(3));
        assert_eq!(text("abc").unwrap(), Value::Text("abc".into()));
        assert_eq!(text("abcd").unwrap_err().state, SqlState::StringTooLong);
        let number = assigned(Value::Text("5".into()), DataType::Integer);
        assert_eq!(number.unwrap_err().state, SqlState::DatatypeMismatch);
    }
}
