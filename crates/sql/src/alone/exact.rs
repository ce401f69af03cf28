//! Arrow arrays of any type as arrays of the engine's types.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast_with_options;
use datafusion::arrow::compute::kernels::cast::CastOptions;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, DurationMicrosecondType, IntervalDayTimeType, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, TimeUnit,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::Result;
use engine::types::array_cell;
use values::interval::to_text;
use values::kernel::Context;

use crate::catalog::types::{from_arrow, is_string, is_vector};

/// The array as one of type `wanted`, which is what [`from_arrow`] says of its own type.
pub fn to_exact(array: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef> {
    if array.data_type() == wanted {
        return Ok(array.clone());
    }
    if is_string(wanted) && !is_string(array.data_type()) {
        return as_text(array, wanted);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, wanted, &options)?)
}

fn as_text(array: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef> {
    let mut builder = StringViewBuilder::with_capacity(array.len());
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) || array.data_type().is_null() {
            builder.append_null();
            continue;
        }
        text.clear();
        write_cell(array, row, &mut text)?;
        builder.append_value(&text);
    }
    let array: ArrayRef = Arc::new(builder.finish());
    if array.data_type() == wanted { Ok(array) } else { to_exact(&array, wanted) }
}

/// One value as PostgreSQL writes it.
fn write_cell(array: &ArrayRef, row: usize, out: &mut String) -> Result<()> {
    match array.data_type() {
        ArrowType::Interval(unit) => write_interval(&interval(array, row, *unit), out),
        ArrowType::Duration(TimeUnit::Microsecond) => {
            let micros = array.as_primitive::<DurationMicrosecondType>().value(row);
            let day = 86_400_000_000;
            let days = (micros / day) as i32;
            let parts = IntervalMonthDayNano::new(0, days, (micros % day) * 1000);
            write_interval(&parts, out);
        }
        ArrowType::List(_) | ArrowType::LargeList(_) | ArrowType::FixedSizeList(..) => {
            write_list(array, row, out)?;
        }
        other if from_arrow(other).arrow() == *other => {
            let mut bytes = Vec::new();
            let zone = crate::text::session_zone();
            crate::text::write_value_in(&zone, array_cell(array, row), &mut bytes);
            out.push_str(&String::from_utf8_lossy(&bytes));
        }
        _ => {
            let options = FormatOptions::default();
            let formatter = ArrayFormatter::try_new(array, &options)?;
            let _ = write!(out, "{}", formatter.value(row));
        }
    }
    Ok(())
}

fn interval(array: &ArrayRef, row: usize, unit: IntervalUnit) -> IntervalMonthDayNano {
    match unit {
        IntervalUnit::YearMonth => {
            let months = array.as_primitive::<IntervalYearMonthType>().value(row);
            IntervalMonthDayNano::new(months, 0, 0)
        }
        IntervalUnit::DayTime => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            let nanos = i64::from(value.milliseconds) * 1_000_000;
            IntervalMonthDayNano::new(0, value.days, nanos)
        }
        IntervalUnit::MonthDayNano => array.as_primitive::<IntervalMonthDayNanoType>().value(row),
    }
}

/// `1 year 2 mons 3 days 04:05:06.7`
fn write_interval(value: &IntervalMonthDayNano, out: &mut String) {
    out.push_str(&to_text(&Context::default(), &crate::dialect::interval(*value)));
}

/// `{a,b,NULL}`; a vector as `1 2`
fn write_list(array: &ArrayRef, row: usize, out: &mut String) -> Result<()> {
    let items = match array.data_type() {
        ArrowType::List(_) => array.as_list::<i32>().value(row),
        ArrowType::LargeList(_) => array.as_list::<i64>().value(row),
        _ => array.as_fixed_size_list().value(row),
    };
    let is_vector = matches!(array.data_type(), ArrowType::List(item) if is_vector(item));
    let (open, between, close) = if is_vector { ("", ' ', "") } else { ("{", ',', "}") };
    out.push_str(open);
    for item in 0..items.len() {
        if item > 0 {
            out.push(between);
        }
        if items.is_null(item) {
            out.push_str("NULL");
            continue;
        }
        if items.data_type().is_nested() {
            write_cell(&items, item, out)?;
            continue;
        }
        let mut text = String::new();
        write_cell(&items, item, &mut text)?;
        crate::text::write_element(&text, out);
    }
    out.push_str(close);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(months: i32, days: i32, nanos: i64) -> String {
        let mut out = String::new();
        write_interval(&IntervalMonthDayNano::new(months, days, nanos), &mut out);
        out
    }

    #[test]
    fn intervals_are_written_as_postgresql_does() {
        assert_eq!(written(14, 3, 0), "1 year 2 mons 3 days");
        assert_eq!(written(0, 1, 3_600_000_000_000), "1 day 01:00:00");
        assert_eq!(written(0, 0, -1_500_000_000), "-00:00:01.5");
        assert_eq!(written(0, 0, 0), "00:00:00");
    }
}
