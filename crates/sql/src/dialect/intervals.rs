//! Intervals: `age`, `justify_days`, `justify_hours`, `justify_interval`, `interval * number`, `interval / number`,
//! `timestamp - timestamp`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use engine::types::{Error, SqlState};

use super::by_row::no_function;
use super::moments::is_infinite;
use super::numbers::days_in;
use crate::text::civil_from_days;

/// `interval`.
pub const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

const MICROS_PER_DAY: i64 = 86_400_000_000;
const DAYS_PER_MONTH: i32 = 30;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// From one moment to another, in years, months and days.
    Age,
    /// From one moment to another, in days of 24 hours and time.
    Difference,
    /// 30 days are a month.
    JustifyDays,
    /// 24 hours are a day.
    JustifyHours,
    /// Both, with one sign.
    JustifyInterval,
    /// By a number.
    Multiply,
    /// By a number.
    Divide,
}

impl Operation {
    const ALL: [Operation; 7] = [
        Operation::Age,
        Operation::Difference,
        Operation::JustifyDays,
        Operation::JustifyHours,
        Operation::JustifyInterval,
        Operation::Multiply,
        Operation::Divide,
    ];

    fn name(self) -> &'static str {
        match self {
            Operation::Age => "age",
            Operation::Difference => "__difference",
            Operation::JustifyDays => "justify_days",
            Operation::JustifyHours => "justify_hours",
            Operation::JustifyInterval => "justify_interval",
            Operation::Multiply => "__multiply_interval",
            Operation::Divide => "__divide_interval",
        }
    }

    fn arguments(self) -> Vec<DataType> {
        match self {
            Operation::Age | Operation::Difference => vec![TIMESTAMP, TIMESTAMP],
            Operation::Multiply | Operation::Divide => vec![INTERVAL, DataType::Float64],
            _ => vec![INTERVAL],
        }
    }

    /// As a function.
    pub fn function(self) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(OfIntervals { operation: self, signature }))
    }
}

/// The functions.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    Operation::ALL.into_iter().map(Operation::function).collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfIntervals {
    operation: Operation,
    signature: Signature,
}

/// Functions whose values are intervals, by name.
pub fn gives_interval(name: &str) -> bool {
    Operation::ALL.iter().any(|operation| operation.name() == name)
}

/// Whether PostgreSQL would read an argument of one type as one of another by itself.
fn is_read_as(found: &DataType, wanted: &DataType) -> bool {
    use DataType::{Date32, Float64, Interval, Timestamp, Utf8};
    match (found, wanted) {
        // A literal whose type nobody has said yet.
        (Utf8 | DataType::Null, _) => true,
        (Date32 | Timestamp(..), Timestamp(..)) | (Interval(_), Interval(_)) => true,
        (found, Float64) => found.is_numeric(),
        _ => false,
    }
}

impl ScalarUDFImpl for OfIntervals {
    fn name(&self) -> &str {
        self.operation.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let mut wanted = self.operation.arguments();
        // Two instants differ by the same in all zones: they are not made local times first.
        if let (Operation::Difference, [zoned @ DataType::Timestamp(_, Some(_)), other]) =
            (self.operation, arguments)
            && zoned == other
        {
            wanted = vec![zoned.clone(), zoned.clone()];
        }
        let fits = arguments.len() == wanted.len()
            && arguments.iter().zip(&wanted).all(|(found, wanted)| is_read_as(found, wanted));
        if fits { Ok(wanted) } else { Err(no_function(self.name(), arguments)) }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = call.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { call.number_rows };
        let types = self.operation.arguments();
        let arrays = call.args.iter().zip(&types);
        let arrays = arrays.map(|(value, wanted)| Ok(cast(&value.to_array(rows)?, wanted)?));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let values = (0..rows).map(|row| match arrays.iter().any(|array| array.is_null(row)) {
            true => Ok(None),
            false => self.operation.compute(&arrays, row).map(Some),
        });
        let values = values.collect::<Result<IntervalMonthDayNanoArray, Error>>();
        let array = values.map_err(|error| DataFusionError::External(Box::new(error)))?;
        match constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(Arc::new(array))),
        }
    }
}

impl Operation {
    fn compute(self, arrays: &[ArrayRef], row: usize) -> Result<IntervalMonthDayNano, Error> {
        let interval = || arrays[0].as_primitive::<IntervalMonthDayNanoType>().value(row);
        let number = || arrays[1].as_primitive::<Float64Type>().value(row);
        let moment = |at: usize| arrays[at].as_primitive::<TimestampMicrosecondType>().value(row);
        match self {
            Operation::Age if [moment(0), moment(1)].iter().any(|at| is_infinite(*at)) => {
                Err(Error::new(SqlState::DatetimeOverflow, "timestamp out of range"))
            }
            Operation::Age => Ok(age(moment(0), moment(1))),
            Operation::Difference => difference(moment(0), moment(1)),
            Operation::JustifyDays => justify_days(interval()),
            Operation::JustifyHours => justify_hours(interval()),
            Operation::JustifyInterval => justify_interval(interval()),
            Operation::Multiply => scaled(interval(), |part| part * number()),
            Operation::Divide if number() == 0.0 => {
                Err(Error::new(SqlState::DivisionByZero, "division by zero"))
            }
            Operation::Divide => scaled(interval(), |part| part / number()),
        }
    }
}

/// PostgreSQL's `timestamp_mi`.
fn difference(later: i64, earlier: i64) -> Result<IntervalMonthDayNano, Error> {
    if is_infinite(later) || is_infinite(earlier) {
        let message = "cannot subtract infinite timestamps";
        return Err(Error::new(SqlState::DatetimeOverflow, message));
    }
    let micros = later.checked_sub(earlier).ok_or_else(out_of_range)?;
    let days = i32::try_from(micros / MICROS_PER_DAY).map_err(|_| out_of_range())?;
    of_parts(0, days, micros % MICROS_PER_DAY)
}

/// What an interval amounts to in microseconds, with months of 30 days and days of 24 hours: by this PostgreSQL compares.
pub fn span(interval: IntervalMonthDayNano) -> i128 {
    let days = i64::from(interval.months) * i64::from(DAYS_PER_MONTH) + i64::from(interval.days);
    i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(micros(interval))
}

pub(super) fn out_of_range() -> Error {
    Error::new(SqlState::DatetimeOverflow, "interval out of range")
}

pub(super) fn of_parts(months: i32, days: i32, micros: i64) -> Result<IntervalMonthDayNano, Error> {
    let nanos = micros.checked_mul(1_000).ok_or_else(out_of_range)?;
    Ok(IntervalMonthDayNano::new(months, days, nanos))
}

pub(super) fn micros(interval: IntervalMonthDayNano) -> i64 {
    interval.nanoseconds / 1_000
}

/// Moves whole multiples of `size` from the smaller part into the larger one.
fn carry(smaller: i64, larger: i32, size: i64) -> Result<(i64, i32), Error> {
    let whole = i32::try_from(smaller / size).map_err(|_| out_of_range())?;
    Ok((smaller % size, larger.checked_add(whole).ok_or_else(out_of_range)?))
}

/// Lets the smaller part have the sign of the larger one.
fn one_sign(smaller: i64, larger: i32, size: i64) -> (i64, i32) {
    match () {
        () if larger > 0 && smaller < 0 => (smaller + size, larger - 1),
        () if larger < 0 && smaller > 0 => (smaller - size, larger + 1),
        () => (smaller, larger),
    }
}

fn justify_days(interval: IntervalMonthDayNano) -> Result<IntervalMonthDayNano, Error> {
    let size = i64::from(DAYS_PER_MONTH);
    let (days, months) = carry(i64::from(interval.days), interval.months, size)?;
    let (days, months) = one_sign(days, months, size);
    of_parts(months, days as i32, micros(interval))
}

fn justify_hours(interval: IntervalMonthDayNano) -> Result<IntervalMonthDayNano, Error> {
    let (time, days) = carry(micros(interval), interval.days, MICROS_PER_DAY)?;
    let (time, days) = one_sign(time, days, MICROS_PER_DAY);
    of_parts(interval.months, days, time)
}

/// PostgreSQL's `interval_justify_interval`.
fn justify_interval(interval: IntervalMonthDayNano) -> Result<IntervalMonthDayNano, Error> {
    let size = i64::from(DAYS_PER_MONTH);
    let (time, days) = carry(micros(interval), interval.days, MICROS_PER_DAY)?;
    let (days, mut months) = carry(i64::from(days), interval.months, size)?;
    let (mut days, mut time) = (days as i32, time);
    if months > 0 && (days < 0 || days == 0 && time < 0) {
        days += DAYS_PER_MONTH;
        months -= 1;
    } else if months < 0 && (days > 0 || days == 0 && time > 0) {
        days -= DAYS_PER_MONTH;
        months += 1;
    }
    (time, days) = one_sign(time, days, MICROS_PER_DAY);
    of_parts(months, days, time)
}

/// Every part times the same; fractions of months become days of 30 to a month, fractions of days time.
pub(super) fn scaled(
    interval: IntervalMonthDayNano,
    by: impl Fn(f64) -> f64,
) -> Result<IntervalMonthDayNano, Error> {
    let whole = |part: f64| {
        let fits = part.is_finite() && part.abs() < f64::from(i32::MAX);
        fits.then_some(part as i32).ok_or_else(out_of_range)
    };
    // PostgreSQL rounds remainders to microseconds, so that 0.1 does not leave a trace.
    let rounded = |part: f64| (part * 1e6).round_ties_even() / 1e6;
    let (months, days) = (by(f64::from(interval.months)), by(f64::from(interval.days)));
    let (whole_months, whole_days) = (whole(months)?, whole(days)?);
    let days_left = rounded((months - f64::from(whole_months)) * f64::from(DAYS_PER_MONTH));
    let fraction = days - f64::from(whole_days) + days_left - days_left.trunc();
    let mut seconds_left = rounded(fraction * 86_400.0);
    let mut more_days = 0;
    if seconds_left.abs() >= 86_400.0 {
        more_days = (seconds_left / 86_400.0) as i32;
        seconds_left -= f64::from(more_days) * 86_400.0;
    }
    let days = whole(f64::from(whole_days) + days_left.trunc() + f64::from(more_days))?;
    let time = (by(micros(interval) as f64) + seconds_left * 1e6).round_ties_even();
    if !time.is_finite() || time.abs() >= i64::MAX as f64 {
        return Err(out_of_range());
    }
    of_parts(whole_months, days, time as i64)
}

/// A moment as a calendar has it.
struct Civil {
    year: i32,
    month: i32,
    day: i32,
    time: i64,
}

fn civil(micros: i64) -> Civil {
    let (year, month, day) = civil_from_days(micros.div_euclid(MICROS_PER_DAY) as i32);
    let time = micros.rem_euclid(MICROS_PER_DAY);
    Civil { year, month: month as i32, day: day as i32, time }
}

/// PostgreSQL's `timestamp_age`: the difference part by part, where days are borrowed from the earlier month.
fn age(later: i64, earlier: i64) -> IntervalMonthDayNano {
    if later < earlier {
        let age = age(earlier, later);
        return IntervalMonthDayNano::new(-age.months, -age.days, -age.nanoseconds);
    }
    let (to, from) = (civil(later), civil(earlier));
    let mut months = (to.year - from.year) * 12 + to.month - from.month;
    let (mut days, mut time) = (to.day - from.day, to.time - from.time);
    if time < 0 {
        time += MICROS_PER_DAY;
        days -= 1;
    }
    while days < 0 {
        days += days_in(from.year, from.month as u32);
        months -= 1;
    }
    IntervalMonthDayNano::new(months, days, time * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_timestamp;

    fn between(later: &str, earlier: &str) -> (i32, i32, i64) {
        let moment = |text| parse_timestamp(text, false).expect("a moment");
        let age = age(moment(later), moment(earlier));
        (age.months, age.days, age.nanoseconds / 1_000_000_000)
    }

    #[test]
    fn ages_are_counted_as_a_calendar_does() {
        assert_eq!(between("2001-04-10", "1957-06-13"), (43 * 12 + 9, 27, 0));
        assert_eq!(between("2024-03-01", "2024-02-29"), (0, 1, 0));
        assert_eq!(between("2024-02-29 10:00", "2024-03-01 12:00"), (0, -1, -7_200));
        assert_eq!(between("2024-03-31", "2024-02-29"), (1, 2, 0));
    }

    #[test]
    fn differences_have_days_and_time() {
        let between = |later, earlier| {
            let moment = |text| parse_timestamp(text, false).expect("a moment");
            let found = difference(moment(later), moment(earlier)).expect("in range");
            (found.months, found.days, found.nanoseconds / 1_000_000_000)
        };
        assert_eq!(between("2024-03-11 03:00", "2024-01-31"), (0, 40, 10_800));
        assert_eq!(between("2024-01-31", "2024-02-01 02:00"), (0, -1, -7_200));
        assert!(difference(i64::MAX, 0).is_err());
    }

    #[test]
    fn spans_are_as_long_as_postgresql_says() {
        let day = i128::from(MICROS_PER_DAY);
        assert_eq!(span(IntervalMonthDayNano::new(1, 0, 0)), 30 * day);
        assert_eq!(span(IntervalMonthDayNano::new(-1, 31, -1_000)), day - 1);
        assert_eq!(
            span(IntervalMonthDayNano::new(i32::MAX, 0, 0)),
            i128::from(i32::MAX) * 30 * day
        );
    }

    #[test]
    fn fractions_become_smaller_units() {
        let half = |months, days, seconds: i64| {
            let interval = IntervalMonthDayNano::new(months, days, seconds * 1_000_000_000);
            let scaled = scaled(interval, |part| part * 0.5).expect("in range");
            (scaled.months, scaled.days, scaled.nanoseconds / 1_000_000_000)
        };
        assert_eq!(half(3, 0, 0), (1, 15, 0));
        assert_eq!(half(1, 1, 0), (0, 15, 43_200));
        assert_eq!(half(0, 0, 10), (0, 0, 5));
    }

    #[test]
    fn justified_parts_have_one_sign() {
        let of = |months, days, hours: i64| {
            let interval = IntervalMonthDayNano::new(months, days, hours * 3_600_000_000_000);
            let justified = justify_interval(interval).expect("in range");
            (justified.months, justified.days, justified.nanoseconds / 3_600_000_000_000)
        };
        assert_eq!(of(1, 0, -1), (0, 29, 23));
        assert_eq!(of(0, 35, 27), (1, 6, 3));
        assert_eq!(of(-1, 40, 0), (0, 10, 0));
    }
}
