//! Arithmetic over whole numbers of many rows: one loop per step, without branches and in 64 bits, where bounds of the
//! inputs show that no step can come to its limit. In come columns as numbers, out goes a number per row, or nothing:
//! then the expression itself has to be asked, which knows of NULL, of wider numbers and of errors.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal64Type, Decimal128Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType as ArrowType;

use crate::types::{
    Arithmetic, ArithmeticCondition, ArithmeticOperator, ArithmeticStep, DataType, Value,
};

/// Results of this magnitude and more are left to the expression: so there is a bit to spare in each step.
const END: u64 = 1 << 62;
/// Digits of a decimal of 64 bits.
const DIGITS: u8 = 18;

/// A column of rows, none of which is NULL.
#[derive(Clone, Debug, Default)]
pub(in crate::operators) struct WholeColumn {
    numbers: Vec<i64>,
    /// No magnitude is larger.
    most: u64,
}

impl WholeColumn {
    pub fn new(numbers: Vec<i64>) -> WholeColumn {
        WholeColumn { most: most(&numbers), numbers }
    }

    /// With more rows, which `append` appends if it can.
    pub fn extended(
        mut self,
        append: impl FnOnce(&mut Vec<i64>) -> Option<()>,
    ) -> Option<WholeColumn> {
        let before = self.numbers.len();
        append(&mut self.numbers)?;
        self.most = self.most.max(most(&self.numbers[before..]));
        Some(self)
    }

    /// Without its rows, keeping their memory.
    pub fn cleared(mut self) -> WholeColumn {
        self.numbers.clear();
        WholeColumn { numbers: self.numbers, most: 0 }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn into_numbers(self) -> Vec<i64> {
        self.numbers
    }
}

/// A number than which no magnitude is larger.
fn most(numbers: &[i64]) -> u64 {
    // A negative number's complement is its magnitude less 1; all ones up to the highest bit are no less than any.
    let bits = numbers.iter().fold(0, |all, &number| all | (number ^ (number >> 63)) as u64);
    u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0).saturating_add(1)
}

/// A step's operand.
enum Operand<'a> {
    /// The same in all rows.
    Same(i64),
    Column(&'a WholeColumn),
    Computed(WholeColumn),
}

impl Operand<'_> {
    fn most(&self) -> u64 {
        match self {
            Operand::Same(number) => number.unsigned_abs(),
            Operand::Column(column) => column.most,
            Operand::Computed(column) => column.most,
        }
    }

    fn into_numbers(self, rows: usize) -> Vec<i64> {
        match self {
            Operand::Same(number) => vec![number; rows],
            Operand::Column(column) => column.numbers.clone(),
            Operand::Computed(column) => column.numbers,
        }
    }
}

/// What arithmetic is computed of.
pub(in crate::operators) struct WholeInputs<'a, 'b> {
    /// Those that the expression reads, in its order; `None` for columns of something else.
    pub columns: &'b [Option<&'a WholeColumn>],
    /// Those that the expression reads, in its order.
    pub parameters: &'b [&'b Value],
    /// In which rows a condition is true; `None` where it cannot tell.
    pub holds: &'b dyn Fn(&ArithmeticCondition) -> Option<BooleanBuffer>,
}

/// The value of each row; `None` where some row's may be none, or one that 64 bits do not hold.
pub(in crate::operators) fn whole_numbers(
    arithmetic: &Arithmetic,
    inputs: &WholeInputs<'_, '_>,
    rows: usize,
) -> Option<Vec<i64>> {
    operand(arithmetic, inputs).map(|operand| operand.into_numbers(rows))
}

fn operand<'a>(arithmetic: &Arithmetic, inputs: &WholeInputs<'a, '_>) -> Option<Operand<'a>> {
    Some(match arithmetic {
        Arithmetic::Column { position, .. } => Operand::Column(inputs.columns[*position]?),
        Arithmetic::Literal(number) => Operand::Same(*number),
        Arithmetic::Year { position } => Operand::Computed(years(inputs.columns[*position]?)?),
        Arithmetic::Parameter { position, scale, limit } => {
            let number = whole(inputs.parameters[*position], *scale)?;
            (number.unsigned_abs() < *limit).then_some(Operand::Same(number))?
        }
        Arithmetic::Step(step) => {
            let left = operand(&step.left, inputs)?;
            apply(step, left, operand(&step.right, inputs)?)?
        }
        Arithmetic::Case(case) => {
            let holds = (inputs.holds)(&case.condition)?;
            let then = operand(&case.then, inputs)?;
            Operand::Computed(choose(&holds, then, operand(&case.otherwise, inputs)?))
        }
    })
}

/// Row by row one of two.
fn choose(holds: &BooleanBuffer, then: Operand<'_>, otherwise: Operand<'_>) -> WholeColumn {
    let most = then.most().max(otherwise.most());
    let mut numbers = otherwise.into_numbers(holds.len());
    let rows = numbers.iter_mut().zip(holds);
    match then {
        Operand::Same(then) => {
            rows.for_each(|(number, holds)| *number = if holds { then } else { *number });
        }
        then => {
            let then = then.into_numbers(holds.len());
            let rows = rows.zip(then);
            rows.for_each(|((number, holds), then)| *number = if holds { then } else { *number });
        }
    }
    WholeColumn { numbers, most }
}

/// Days from the epoch, either way, whose years every implementation of calendars agrees on: 180,000 years.
const DAYS: u64 = 1 << 26;

/// The year of each day, counted from the epoch; `None` where one lies far away.
fn years(days: &WholeColumn) -> Option<WholeColumn> {
    let near = days.most < DAYS;
    near.then(|| WholeColumn::new(days.numbers.iter().map(|&day| year_of(day)).collect()))
}

/// The year of the Gregorian calendar that a day lies in.
fn year_of(day: i64) -> i64 {
    // Years that begin with March end with the day that some of them lack. Of 4 such years all but the last day,
    const FOUR: i64 = 4 * 365;
    // of 100 and of 400 all;
    const CENTURY: i64 = 100 * 365 + 24;
    const CYCLE: i64 = 400 * 365 + 97;
    // from March of year 0 to the epoch, and from March to the end of December.
    const EPOCH: i64 = 719_468;
    const MARCH_TO_DECEMBER: i64 = 306;
    let (cycle, day) = ((day + EPOCH).div_euclid(CYCLE), (day + EPOCH).rem_euclid(CYCLE));
    // The days that longer years have more are taken out, so that each has 365.
    let year = (day - day / FOUR + day / CENTURY - day / (CYCLE - 1)) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let year = 400 * cycle + year + i64::from(day_of_year >= MARCH_TO_DECEMBER);
    // Before the year 1 comes the year -1, as PostgreSQL counts.
    year - i64::from(year <= 0)
}

/// A value in whole numbers of so many digits after the point.
fn whole(value: &Value, scale: u8) -> Option<i64> {
    match *value {
        Value::SmallInt(number) if scale == 0 => Some(number.into()),
        Value::Integer(number) if scale == 0 => Some(number.into()),
        Value::BigInt(number) if scale == 0 => Some(number),
        Value::Numeric(digits, own) if own == scale => digits.try_into().ok(),
        _ => None,
    }
}

fn apply<'a>(step: &ArithmeticStep, left: Operand<'a>, right: Operand<'a>) -> Option<Operand<'a>> {
    let most = match step.operator {
        ArithmeticOperator::Add | ArithmeticOperator::Subtract => {
            left.most().checked_add(right.most())
        }
        ArithmeticOperator::Multiply => left.most().checked_mul(right.most()),
    };
    let most = most.filter(|&most| most < END)?;
    let result = match step.operator {
        ArithmeticOperator::Add => combine(left, right, most, i64::wrapping_add),
        ArithmeticOperator::Subtract => combine(left, right, most, i64::wrapping_sub),
        ArithmeticOperator::Multiply => combine(left, right, most, i64::wrapping_mul),
    };
    keep_below(result, step.limit)
}

/// The result, unless one of its numbers comes to the limit.
fn keep_below(result: Operand<'_>, limit: u64) -> Option<Operand<'_>> {
    if result.most() < limit {
        return Some(result);
    }
    let Operand::Computed(mut column) = result else { return None };
    let largest = column.numbers.iter().map(|number| number.unsigned_abs()).max();
    column.most = largest.unwrap_or(0);
    (column.most < limit).then_some(Operand::Computed(column))
}

/// Computes in the place of an operand that was itself computed.
fn combine<'a>(
    left: Operand<'a>,
    right: Operand<'a>,
    most: u64,
    of: impl Fn(i64, i64) -> i64,
) -> Operand<'a> {
    let numbers = match (left, right) {
        (Operand::Same(a), Operand::Same(b)) => return Operand::Same(of(a, b)),
        (Operand::Same(a), Operand::Column(b)) => b.numbers.iter().map(|&b| of(a, b)).collect(),
        (Operand::Column(a), Operand::Same(b)) => a.numbers.iter().map(|&a| of(a, b)).collect(),
        (Operand::Column(a), Operand::Column(b)) => {
            a.numbers.iter().zip(&b.numbers).map(|(&a, &b)| of(a, b)).collect()
        }
        (Operand::Computed(a), Operand::Same(b)) => each(a, |a| of(a, b)),
        (Operand::Same(a), Operand::Computed(b)) => each(b, |b| of(a, b)),
        (Operand::Computed(a), Operand::Column(b)) => pairs(a, b, of),
        (Operand::Computed(a), Operand::Computed(b)) => pairs(a, &b, of),
        (Operand::Column(a), Operand::Computed(b)) => pairs(b, a, |b, a| of(a, b)),
    };
    Operand::Computed(WholeColumn { numbers, most })
}

fn each(mut column: WholeColumn, of: impl Fn(i64) -> i64) -> Vec<i64> {
    column.numbers.iter_mut().for_each(|number| *number = of(*number));
    column.numbers
}

fn pairs(mut column: WholeColumn, other: &WholeColumn, of: impl Fn(i64, i64) -> i64) -> Vec<i64> {
    column.numbers.iter_mut().zip(&other.numbers).for_each(|(a, &b)| *a = of(*a, b));
    column.numbers
}

/// Whole numbers as values of a type.
pub(in crate::operators) fn whole_array(data_type: DataType, numbers: Vec<i64>) -> ArrayRef {
    match data_type {
        DataType::Numeric { .. } => {
            let digits = numbers.into_iter().map(i128::from);
            let array = PrimitiveArray::<Decimal128Type>::from_iter_values(digits);
            Arc::new(array.with_data_type(data_type.arrow()))
        }
        _ => narrow_array(data_type, numbers),
    }
}

/// The same, numerics in 64 bits: aggregates take them so.
pub(in crate::operators) fn narrow_array(data_type: DataType, numbers: Vec<i64>) -> ArrayRef {
    match data_type {
        DataType::SmallInt => {
            let numbers = numbers.into_iter().map(|number| number as i16);
            Arc::new(PrimitiveArray::<Int16Type>::from_iter_values(numbers))
        }
        DataType::Integer => {
            let numbers = numbers.into_iter().map(|number| number as i32);
            Arc::new(PrimitiveArray::<Int32Type>::from_iter_values(numbers))
        }
        DataType::Numeric { scale, .. } => {
            let array = PrimitiveArray::<Decimal64Type>::new(numbers.into(), None);
            let data_type = ArrowType::Decimal64(DIGITS, scale as i8);
            Arc::new(array.with_data_type(data_type))
        }
        DataType::BigInt => Arc::new(PrimitiveArray::<Int64Type>::new(numbers.into(), None)),
        other => unreachable!("{other:?} is no whole number"),
    }
}

/// Arguments end to end; digits become decimals where some of them took more than 64 bits.
pub(in crate::operators) fn concat_arguments(arrays: &[&ArrayRef]) -> ArrayRef {
    let is_wide = |array: &&&ArrayRef| matches!(array.data_type(), ArrowType::Decimal128(..));
    let wide = arrays.iter().find(is_wide).map(|array| array.data_type());
    let widened = arrays.iter().map(|array| match (array.as_primitive_opt(), wide) {
        (Some(digits), Some(wide)) => widened(digits, wide),
        _ => ArrayRef::clone(array),
    });
    let widened: Vec<ArrayRef> = widened.collect();
    let arrays: Vec<&dyn Array> = widened.iter().map(|array| &**array).collect();
    arrow_select::concat::concat(&arrays).expect("arguments have one type")
}

fn widened(digits: &PrimitiveArray<Decimal64Type>, wide: &ArrowType) -> ArrayRef {
    let decimals: PrimitiveArray<Decimal128Type> = digits.unary(i128::from);
    Arc::new(decimals.with_data_type(wide.clone()))
}

/// An array's values; `None` where it holds something else, NULL, or what 64 bits do not.
pub(in crate::operators) fn whole_numbers_of(array: &ArrayRef) -> Option<Vec<i64>> {
    if array.null_count() > 0 {
        return None;
    }
    Some(match array.data_type() {
        ArrowType::Int16 => {
            array.as_primitive::<Int16Type>().values().iter().map(|&n| n.into()).collect()
        }
        ArrowType::Int32 => {
            array.as_primitive::<Int32Type>().values().iter().map(|&n| n.into()).collect()
        }
        ArrowType::Date32 => {
            array.as_primitive::<Date32Type>().values().iter().map(|&n| n.into()).collect()
        }
        ArrowType::Int64 => array.as_primitive::<Int64Type>().values().to_vec(),
        ArrowType::Decimal128(..) => {
            let digits = array.as_primitive::<Decimal128Type>().values().iter();
            digits.map(|&digits| i64::try_from(digits).ok()).collect::<Option<_>>()?
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::ArithmeticCase;

    /// Arithmetic over two columns and a parameter, each step below its own limit.
    fn arithmetic() -> impl Strategy<Value = Arithmetic> {
        let leaf = prop_oneof![
            (0..2usize).prop_map(|position| Arithmetic::Column { position, scale: 0 }),
            any::<i8>().prop_map(|number| Arithmetic::Literal(number.into())),
            (1..1u64 << 40).prop_map(|limit| Arithmetic::Parameter {
                position: 0,
                scale: 2,
                limit
            }),
        ];
        let operators =
            [ArithmeticOperator::Add, ArithmeticOperator::Subtract, ArithmeticOperator::Multiply];
        leaf.prop_recursive(4, 12, 2, move |inner| {
            let limit = prop_oneof![Just(1 << 31), Just(u64::MAX), (0..60u32).prop_map(|b| 1 << b)];
            let operator = prop::sample::select(operators.to_vec());
            let step = (inner.clone(), inner.clone(), operator, limit).prop_map(
                |(left, right, operator, limit)| {
                    Arithmetic::Step(Box::new(ArithmeticStep { operator, left, right, limit }))
                },
            );
            let case = (inner.clone(), inner).prop_map(|(then, otherwise)| {
                let expression = Arc::new(EveryOther);
                let condition =
                    ArithmeticCondition { expression, columns: Vec::new(), parameters: Vec::new() };
                Arithmetic::Case(Box::new(ArithmeticCase { condition, then, otherwise }))
            });
            prop_oneof![3 => step, 1 => case]
        })
    }

    fn numbers() -> impl Strategy<Value = Vec<i64>> {
        let near = (0..63u32, -2i64..=2, any::<bool>()).prop_map(|(bits, step, is_negative)| {
            let number = (1i64 << bits).wrapping_add(step);
            if is_negative { number.wrapping_neg() } else { number }
        });
        let number = prop_oneof![4 => -100..100i64, 2 => near, 1 => any::<i64>()];
        prop::collection::vec(number, 3)
    }

    /// A condition that nobody has to be asked for: it is true in every other row.
    #[derive(Debug)]
    struct EveryOther;

    impl crate::types::Expression for EveryOther {
        fn columns(&self) -> &[usize] {
            &[]
        }

        fn parameters(&self) -> &[usize] {
            &[]
        }

        fn data_type(&self) -> DataType {
            DataType::Boolean
        }

        fn evaluate(
            &self,
            _columns: &[ArrayRef],
            _parameters: &[ArrayRef],
            _rows: usize,
        ) -> crate::types::Result<ArrayRef> {
            unreachable!("the test answers")
        }

        fn text(&self) -> &str {
            "every other"
        }
    }

    fn is_every_other(row: usize) -> bool {
        row % 2 == 1
    }

    fn computed(
        arithmetic: &Arithmetic,
        columns: &[&WholeColumn],
        parameters: &[&Value],
    ) -> Option<Vec<i64>> {
        let rows = columns[0].len();
        let columns: Vec<_> = columns.iter().copied().map(Some).collect();
        let holds =
            |_: &ArithmeticCondition| Some(BooleanBuffer::collect_bool(rows, is_every_other));
        whole_numbers(
            arithmetic,
            &WholeInputs { columns: &columns, parameters, holds: &holds },
            rows,
        )
    }

    /// The value of a row with all digits, if no step comes to its limit.
    fn twin(arithmetic: &Arithmetic, columns: &[i64], parameter: i64, row: usize) -> Option<i128> {
        Some(match arithmetic {
            Arithmetic::Column { position, .. } => columns[*position].into(),
            Arithmetic::Literal(number) => (*number).into(),
            Arithmetic::Year { .. } => unreachable!("tested by itself"),
            Arithmetic::Parameter { limit, .. } => {
                (parameter.unsigned_abs() < *limit).then_some(parameter.into())?
            }
            Arithmetic::Step(step) => {
                let left = twin(&step.left, columns, parameter, row)?;
                let right = twin(&step.right, columns, parameter, row)?;
                let result = match step.operator {
                    ArithmeticOperator::Add => left.checked_add(right)?,
                    ArithmeticOperator::Subtract => left.checked_sub(right)?,
                    ArithmeticOperator::Multiply => left.checked_mul(right)?,
                };
                (result.unsigned_abs() < step.limit.into()).then_some(result)?
            }
            Arithmetic::Case(case) => {
                let one = if is_every_other(row) { &case.then } else { &case.otherwise };
                twin(one, columns, parameter, row)?
            }
        })
    }

    proptest! {
        #![proptest_config(crate::properties::cases(20_000))]

        #[test]
        fn rows_are_as_with_all_digits(
            arithmetic in arithmetic(),
            a in numbers(),
            b in numbers(),
            parameter in any::<i16>(),
        ) {
            let value = Value::Numeric(parameter.into(), 2);
            let columns = [WholeColumn::new(a.clone()), WholeColumn::new(b.clone())];
            let given = computed(&arithmetic, &columns.each_ref(), &[&value]);
            let row = |row: usize| twin(&arithmetic, &[a[row], b[row]], parameter.into(), row);
            let wanted: Option<Vec<i128>> = (0..a.len()).map(row).collect();
            if let Some(given) = given {
                let given: Vec<i128> = given.into_iter().map(i128::from).collect();
                prop_assert_eq!(Some(given), wanted);
            }
        }
    }

    #[test]
    fn small_numbers_are_never_left_to_others() {
        let column = |position| Arithmetic::Column { position, scale: 2 };
        let step = |operator, left, right, limit| {
            Arithmetic::Step(Box::new(ArithmeticStep { operator, left, right, limit }))
        };
        // price * (1 - discount), numerics of 12 digits, two of them after the point
        let rest = step(ArithmeticOperator::Subtract, Arithmetic::Literal(100), column(1), 1000);
        let limit = 10u64.pow(15);
        let revenue = step(ArithmeticOperator::Multiply, column(0), rest, limit);
        let columns = [vec![10_494_950, 90_100], vec![10, 0]].map(WholeColumn::new);
        let given = computed(&revenue, &columns.each_ref(), &[]);
        assert_eq!(given, Some(vec![10_494_950 * 90, 90_100 * 100]));
        let narrow = step(ArithmeticOperator::Multiply, column(0), column(0), limit / 10);
        assert_eq!(computed(&narrow, &columns.each_ref(), &[]), None);
    }

    #[test]
    fn years_are_those_of_the_calendar() {
        let days_of = |year: i64| match (year % 4, year % 100, year % 400) {
            (0, 0, 0) => 366,
            (_, 0, _) | (1..=3 | -3..=-1, ..) => 365,
            _ => 366,
        };
        // From the first day of year -800 on.
        let (mut days, mut expected) = (Vec::new(), Vec::new());
        let before: i64 = (-800..1970).map(days_of).sum();
        for year in -800..2900 {
            let first = days.len() as i64 - before;
            days.extend(first..first + days_of(year));
            expected.resize(days.len(), if year > 0 { year } else { year - 1 });
        }
        let year = Arithmetic::Year { position: 0 };
        let given = computed(&year, &[&WholeColumn::new(days)], &[]);
        assert_eq!(given, Some(expected));
        let infinity = WholeColumn::new(vec![0, i32::MAX.into()]);
        assert_eq!(computed(&year, &[&infinity], &[]), None);
    }

    #[test]
    fn arguments_of_different_widths_are_put_together() {
        let digits = narrow_array(DataType::Numeric { precision: 15, scale: 2 }, vec![1, -2]);
        let wide = PrimitiveArray::<Decimal128Type>::from_iter_values([1i128 << 90]);
        let wide: ArrayRef = Arc::new(wide.with_data_type(ArrowType::Decimal128(38, 2)));
        let all = concat_arguments(&[&digits, &wide, &digits]);
        let values = all.as_primitive::<Decimal128Type>().values().to_vec();
        assert_eq!(values, [1, -2, 1 << 90, 1, -2]);
        assert!(
            concat_arguments(&[&digits, &digits]).as_primitive_opt::<Decimal64Type>().is_some()
        );
    }
}
