//! `+ - * / %` of decimals: in 64 or 128 bits where a row's exact value fits, in 256 for the rows where it does not.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, Decimal128Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, DecimalType, i256};
use datafusion::common::{DataFusionError, Result};
use engine::types::SqlState;

use super::arithmetic::{Operation, fault};

/// The scales of the operands and of the result.
type Scales = (i8, i8, i8);

/// Computes row by row; one of the operands may be the same for all rows.
pub fn compute(
    operation: Operation,
    left: &dyn Datum,
    right: &dyn Datum,
    result: &DataType,
) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = *result else {
        return Err(DataFusionError::Internal("a numeric result was expected".to_owned()));
    };
    let (left, right) = (Operand::of(left), Operand::of(right));
    let rows = left.rows.or(right.rows).unwrap_or(1);
    if left.is_null_constant() || right.is_null_constant() {
        let array = Decimal128Array::new_null(rows);
        return Ok(Arc::new(array.with_precision_and_scale(precision, scale)?));
    }
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let scales = (left.array.scale(), right.array.scale(), scale);
    let exact = |a, b| fit(decimal(operation, a, b, scales)?, precision, scale);
    let rule = Rule { nulls: nulls.as_ref(), limit: 10u128.pow(precision.into()), exact: &exact };
    let values = match Factors::of(operation, scales) {
        Some(factors) => by_operation(operation, &factors, &left, &right, &rule)?,
        None => rule.over(&left, &right, |_, _| None)?,
    };
    let array = Decimal128Array::new(values.into(), nulls);
    Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
}

/// A column, or one value for all rows.
struct Operand<'a> {
    array: &'a Decimal128Array,
    /// None for one value for all rows.
    rows: Option<usize>,
}

impl<'a> Operand<'a> {
    fn of(datum: &'a dyn Datum) -> Operand<'a> {
        let (array, is_constant) = datum.get();
        Operand {
            array: array.as_primitive::<Decimal128Type>(),
            rows: (!is_constant).then_some(array.len()),
        }
    }

    fn is_null_constant(&self) -> bool {
        self.rows.is_none() && self.array.is_null(0)
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        self.rows.and(self.array.nulls())
    }
}

/// The powers of ten that bring the operands to a common scale, and the digits that a product drops; all at least 1.
struct Factors {
    left: i128,
    right: i128,
    dropped: i128,
}

impl Factors {
    /// None where one needs more than 128 bits.
    fn of(operation: Operation, (s1, s2, scale): Scales) -> Option<Factors> {
        let power = |exponent: i8| 10i128.checked_pow(exponent.max(0).unsigned_abs().into());
        let (left, right, dropped) = match operation {
            Operation::Multiply => (0, 0, s1 + s2 - scale),
            Operation::Divide => (scale + s2 - s1, 0, 0),
            _ => (s2 - s1, s1 - s2, 0),
        };
        Some(Factors { left: power(left)?, right: power(right)?, dropped: power(dropped)? })
    }
}

fn by_operation(
    operation: Operation,
    factors: &Factors,
    left: &Operand<'_>,
    right: &Operand<'_>,
    rule: &Rule<'_>,
) -> Result<Vec<i128>> {
    let &Factors { left: up, right: other, dropped } = factors;
    let aligned = up == 1 && other == 1;
    let both = |a, b| Some((multiply(a, up)?, multiply(b, other)?));
    let quick = match operation {
        Operation::Add if up.max(other) < FACTORS_END => {
            rule.quick(left, right, |a, b| i128::from(a) * up + i128::from(b) * other)
        }
        Operation::Subtract if up.max(other) < FACTORS_END => {
            rule.quick(left, right, |a, b| i128::from(a) * up - i128::from(b) * other)
        }
        Operation::Multiply if dropped == 1 => {
            rule.quick(left, right, |a, b| i128::from(a) * i128::from(b))
        }
        _ => None,
    };
    if let Some(values) = quick {
        return Ok(values);
    }
    match operation {
        Operation::Add if aligned => rule.over(left, right, i128::checked_add),
        Operation::Add => rule.over(left, right, |a, b| {
            let (a, b) = both(a, b)?;
            a.checked_add(b)
        }),
        Operation::Subtract if aligned => rule.over(left, right, i128::checked_sub),
        Operation::Subtract => rule.over(left, right, |a, b| {
            let (a, b) = both(a, b)?;
            a.checked_sub(b)
        }),
        Operation::Multiply if dropped == 1 => rule.over(left, right, multiply),
        Operation::Multiply => {
            rule.over(left, right, |a, b| divide_narrow(multiply(a, b)?, dropped))
        }
        Operation::Divide => rule.over(left, right, |a, b| divide_narrow(multiply(a, up)?, b)),
        Operation::Modulo => rule.over(left, right, |a, b| {
            let (a, b) = both(a, b)?;
            a.checked_rem(b)
        }),
    }
}

/// What holds for every row.
struct Rule<'a> {
    /// Where the result is NULL, whatever lies there.
    nulls: Option<&'a NullBuffer>,
    /// The first number with too many digits.
    limit: u128,
    /// The value in 256 bits, or the row's fault.
    exact: &'a dyn Fn(i128, i128) -> Result<i128>,
}

/// The first factor with which a product of 64 bits may come near 128.
const FACTORS_END: i128 = 1 << 61;

impl Rule<'_> {
    /// Every row in one loop without branches, `None` where one needs more than 64 bits or has too many digits.
    /// `exact` takes any numbers of 64 bits.
    fn quick(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        exact: impl Fn(i64, i64) -> i128,
    ) -> Option<Vec<i128>> {
        let (a, b) = (left.array.values(), right.array.values());
        let mut fits = true;
        let mut row = |a: i128, b: i128| {
            let (low_a, low_b) = (a as i64, b as i64);
            let value = exact(low_a, low_b);
            fits &= i128::from(low_a) == a && i128::from(low_b) == b;
            fits &= value.unsigned_abs() < self.limit;
            value
        };
        let values: Vec<i128> = match (left.rows, right.rows) {
            (Some(_), Some(_)) => a.iter().zip(b.iter()).map(|(a, b)| row(*a, *b)).collect(),
            (Some(_), None) => a.iter().map(|a| row(*a, b[0])).collect(),
            (None, _) => b.iter().map(|b| row(a[0], *b)).collect(),
        };
        fits.then_some(values)
    }

    /// `narrow` gives the exact value, or None where 128 bits do not do.
    fn over(
        &self,
        left: &Operand<'_>,
        right: &Operand<'_>,
        narrow: impl Fn(i128, i128) -> Option<i128>,
    ) -> Result<Vec<i128>> {
        let (a, b) = (left.array.values(), right.array.values());
        // A loop of its own for each, so that none asks in every row.
        match (left.rows, right.rows) {
            (Some(_), Some(_)) => self.rows(a.iter().zip(b.iter()).map(|(a, b)| (*a, *b)), narrow),
            (Some(_), None) => {
                let b = b[0];
                self.rows(a.iter().map(|a| (*a, b)), narrow)
            }
            (None, _) => {
                let a = a[0];
                self.rows(b.iter().map(|b| (a, *b)), narrow)
            }
        }
    }

    fn rows(
        &self,
        pairs: impl ExactSizeIterator<Item = (i128, i128)>,
        narrow: impl Fn(i128, i128) -> Option<i128>,
    ) -> Result<Vec<i128>> {
        let mut values = Vec::with_capacity(pairs.len());
        for (row, (a, b)) in pairs.enumerate() {
            values.push(match narrow(a, b) {
                Some(value) if value.unsigned_abs() < self.limit => value,
                _ => self.wide(row, a, b)?,
            });
        }
        Ok(values)
    }

    #[cold]
    fn wide(&self, row: usize, a: i128, b: i128) -> Result<i128> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(0);
        }
        (self.exact)(a, b)
    }
}

/// Checked products of 128 bits are dear, and most numbers are small.
fn multiply(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// Like [`divide`], None for what 128 bits do not hold and for a divisor of 0.
fn divide_narrow(a: i128, b: i128) -> Option<i128> {
    let (quotient, rest) = match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => (a.checked_div(b)?.into(), (a % b).into()),
        _ => (a.checked_div(b)?, a % b),
    };
    if rest.unsigned_abs() * 2 < b.unsigned_abs() {
        return Some(quotient);
    }
    Some(if (a < 0) != (b < 0) { quotient - 1 } else { quotient + 1 })
}

fn power(exponent: i8) -> i256 {
    (0..exponent).fold(i256::ONE, |value, _| value.wrapping_mul(i256::from(10)))
}

fn fit(value: i256, precision: u8, scale: i8) -> Result<i128> {
    let out_of_range = || fault(SqlState::NumericOutOfRange, "numeric field overflow");
    let value = value.to_i128().ok_or_else(out_of_range)?;
    Decimal128Type::validate_decimal_precision(value, precision, scale)
        .map_err(|_| out_of_range())?;
    Ok(value)
}

fn decimal(op: Operation, a: i128, b: i128, (s1, s2, scale): (i8, i8, i8)) -> Result<i256> {
    let (a, b) = (i256::from_i128(a), i256::from_i128(b));
    let common = s1.max(s2);
    let aligned = |value: i256, from: i8| value.wrapping_mul(power(common - from));
    if matches!(op, Operation::Divide | Operation::Modulo) && b == i256::ZERO {
        return Err(fault(SqlState::DivisionByZero, "division by zero"));
    }
    Ok(match op {
        Operation::Add => aligned(a, s1).wrapping_add(aligned(b, s2)),
        Operation::Subtract => aligned(a, s1).wrapping_sub(aligned(b, s2)),
        Operation::Modulo => aligned(a, s1).wrapping_rem(aligned(b, s2)),
        Operation::Multiply => divide(a.wrapping_mul(b), power(s1 + s2 - scale)),
        // 38 digits times 10^(16 + 38) stay below 10^76, the width of 256 bits.
        Operation::Divide => {
            let up = scale + s2 - s1;
            if up >= 0 { divide(a.wrapping_mul(power(up)), b) } else { divide(a, b) }
        }
    })
}

/// Half is rounded away from zero.
fn divide(a: i256, b: i256) -> i256 {
    let (quotient, rest) = (a.wrapping_div(b), a.wrapping_rem(b));
    let twice = rest.wrapping_abs().wrapping_mul(i256::from(2));
    if twice < b.wrapping_abs() {
        return quotient;
    }
    let negative = (a < i256::ZERO) != (b < i256::ZERO);
    let step = if negative { i256::MINUS_ONE } else { i256::ONE };
    quotient.wrapping_add(step)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::Scalar;
    use proptest::prelude::*;

    use super::super::arithmetic::decimal_result;
    use super::*;

    fn number(op: Operation, a: i128, b: i128, scales: (i8, i8, i8)) -> i128 {
        decimal(op, a, b, scales).unwrap().to_i128().unwrap()
    }

    #[test]
    fn numerics_round_half_away_from_zero() {
        // 1.00 / 3 with 16 digits, and 2 / 3 rounds up
        assert_eq!(number(Operation::Divide, 100, 3, (2, 0, 16)), 3_333_333_333_333_333);
        assert_eq!(number(Operation::Divide, -200, 3, (2, 0, 16)), -6_666_666_666_666_667);
        assert_eq!(number(Operation::Add, 150, 25, (2, 1, 2)), 400);
        assert!(decimal(Operation::Divide, 1, 0, (0, 0, 16)).is_err());
    }

    /// Every row in 256 bits.
    fn twin(
        operation: Operation,
        a: &Decimal128Array,
        b: &Decimal128Array,
        result: &DataType,
    ) -> Result<Vec<Option<i128>>> {
        let DataType::Decimal128(precision, scale) = *result else { unreachable!("of decimals") };
        let shift = (a.scale(), b.scale(), scale);
        let values = (0..a.len()).map(|row| {
            if a.is_null(row) || b.is_null(row) {
                return Ok(None);
            }
            let exact = decimal(operation, a.value(row), b.value(row), shift)?;
            fit(exact, precision, scale).map(Some)
        });
        values.collect()
    }

    fn assert_equal_to_twin(operation: Operation, a: &Decimal128Array, b: &Decimal128Array) {
        let result = decimal_result(operation, a.precision(), a.scale(), b.precision(), b.scale());
        let check = |left: &dyn Datum, right: &dyn Datum, a, b| {
            let given = compute(operation, left, right, &result).map(|array| {
                assert_eq!(*array.data_type(), result);
                array.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>()
            });
            let wanted = twin(operation, a, b, &result);
            let text = |error: DataFusionError| error.to_string();
            assert_eq!(given.map_err(text), wanted.map_err(text), "{operation:?} {a:?} {b:?}");
        };
        check(a, b, a, b);
        let repeated = |array: &Decimal128Array| {
            let values = vec![array.iter().next().flatten(); array.len()];
            let array = Decimal128Array::from(values).with_data_type(array.data_type().clone());
            (Scalar::new(array.slice(0, 1)), array)
        };
        let ((first, all_first), (second, all_second)) = (repeated(a), repeated(b));
        check(&first, b, &all_first, b);
        check(a, &second, a, &all_second);
    }

    fn decimals() -> impl Strategy<Value = Decimal128Array> {
        let typed = (1u8..=38).prop_flat_map(|precision| (Just(precision), 0..=precision as i8));
        let digits = prop_oneof![3 => 0..4u32, 3 => 0..20u32, 1 => 0..39u32];
        let near = (digits, -3i128..=3, any::<bool>()).prop_map(|(digits, step, is_negative)| {
            let value = 10i128.pow(digits) + step;
            if is_negative { -value } else { value }
        });
        let value = prop_oneof![
            4 => near,
            4 => any::<i32>().prop_map(i128::from),
            2 => any::<i64>().prop_map(i128::from),
            1 => any::<i128>(),
            1 => Just(i128::MIN),
        ];
        let values = prop::collection::vec(prop::option::weighted(0.8, value), 3);
        (typed, values).prop_map(|((precision, scale), values)| {
            let data_type = DataType::Decimal128(precision, scale);
            Decimal128Array::from(values).with_data_type(data_type)
        })
    }

    proptest! {
        #![proptest_config(crate::properties::cases(10_000))]

        #[test]
        fn rows_are_as_in_256_bits(
            operation in prop::sample::select(&Operation::ALL[..]),
            a in decimals(),
            b in decimals(),
        ) {
            assert_equal_to_twin(operation, &a, &b);
        }
    }

    #[test]
    fn what_lies_under_a_null_is_no_fault() {
        let of = |values, nulls: Vec<bool>| {
            Decimal128Array::new(values, Some(nulls.into()))
                .with_data_type(DataType::Decimal128(38, 0))
        };
        let a = of(vec![i128::MAX, 1, 7].into(), vec![false, true, true]);
        let b = of(vec![i128::MAX, 0, 2].into(), vec![true, false, true]);
        for operation in Operation::ALL {
            assert_equal_to_twin(operation, &a, &b);
        }
    }
}
