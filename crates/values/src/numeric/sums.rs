//! Exact sums of many numbers, and of their squares.

use super::arithmetic::aligned;
use super::divide::{chosen_scale, quotient};
use super::power::square_root_at;
use super::{Decimal, Integer, Numeric, divide};
use crate::error::Result;

/// What sums, means, variances and deviations are computed from. The largest scale of the numbers is kept.
#[derive(Clone, Debug)]
pub struct Sums {
    /// All numbers.
    count: i64,
    sum: Decimal,
    /// `None` where nobody asks for a variance.
    squares: Option<Decimal>,
    has_nan: bool,
    has_infinity: bool,
    has_negative_infinity: bool,
}

impl Sums {
    /// Of no numbers; with the sum of their squares, or without.
    pub fn new(has_squares: bool) -> Self {
        Self {
            count: 0,
            sum: Decimal::zero(0),
            squares: has_squares.then(|| Decimal::zero(0)),
            has_nan: false,
            has_infinity: false,
            has_negative_infinity: false,
        }
    }

    /// One more number.
    pub fn add(&mut self, value: &Numeric) {
        self.count += 1;
        match value {
            Numeric::NaN => self.has_nan = true,
            Numeric::Infinity => self.has_infinity = true,
            Numeric::NegativeInfinity => self.has_negative_infinity = true,
            Numeric::Finite(decimal) => self.change(decimal, Integer::plus),
        }
    }

    /// One of the numbers less, which is finite: a window's frame has left it behind.
    pub fn remove(&mut self, value: &Numeric) {
        if let Numeric::Finite(decimal) = value {
            self.count -= 1;
            self.change(decimal, Integer::minus);
        }
    }

    /// What was added, of finite numbers: how many, their sum, that of their squares.
    pub fn parts(&self) -> (i64, Numeric, Option<Numeric>) {
        let squares = self.squares.clone().map(Numeric::Finite);
        (self.count, Numeric::Finite(self.sum.clone()), squares)
    }

    /// What was added elsewhere, by its parts.
    pub fn merge(&mut self, (count, sum, squares): (i64, &Numeric, Option<&Numeric>)) {
        self.count += count;
        if let Numeric::Finite(sum) = sum {
            self.sum = aligned(&self.sum, sum, Integer::plus);
        }
        if let (Some(own), Some(Numeric::Finite(squares))) = (&mut self.squares, squares) {
            *own = aligned(own, squares, Integer::plus);
        }
    }

    fn change(&mut self, number: &Decimal, by: fn(&Integer, &Integer) -> Integer) {
        self.sum = aligned(&self.sum, number, by);
        if let Some(squares) = &mut self.squares {
            *squares = aligned(squares, &number.times(number), by);
        }
    }

    /// The sum; `None` of no numbers.
    ///
    /// # Errors
    /// 22003 beyond the type.
    pub fn sum(&self) -> Result<Option<Numeric>> {
        match (self.count, self.special()) {
            (0, _) => Ok(None),
            (_, Some(special)) => Ok(Some(special)),
            _ => self.sum.clone().checked().map(Some),
        }
    }

    /// The mean; `None` of no numbers.
    ///
    /// # Errors
    /// 22003 beyond the type.
    pub fn mean(&self) -> Result<Option<Numeric>> {
        match (self.count, self.special()) {
            (0, _) => Ok(None),
            (_, Some(special)) => Ok(Some(special)),
            _ => {
                let sum = self.sum.clone().checked()?;
                divide(&sum, &super::from_i64(self.count)).map(Some)
            }
        }
    }

    /// The variance of a population, or of a sample; `None` of too few numbers.
    ///
    /// # Errors
    /// 22003 beyond the type.
    pub fn variance(&self, is_sample: bool) -> Result<Option<Numeric>> {
        self.of_spread(is_sample, |variance, _| variance)
    }

    /// The standard deviation of a population, or of a sample; `None` of too few numbers.
    ///
    /// # Errors
    /// 22003 beyond the type.
    pub fn deviation(&self, is_sample: bool) -> Result<Option<Numeric>> {
        self.of_spread(is_sample, |variance, scale| square_root_at(&variance, scale))
    }

    fn of_spread(
        &self,
        is_sample: bool,
        result: impl Fn(Decimal, u32) -> Decimal,
    ) -> Result<Option<Numeric>> {
        if self.count <= i64::from(is_sample) {
            return Ok(None);
        }
        if self.special().is_some() {
            return Ok(Some(Numeric::NaN));
        }
        let count = |value: i64| Decimal::new(Integer::Small(value.into()), 0);
        let squares = self.squares.as_ref().expect("variances are asked of sums with squares");
        let spread =
            aligned(&count(self.count).times(squares), &self.sum.times(&self.sum), Integer::minus);
        if spread.coefficient.signum() <= 0 {
            return Ok(Some(Numeric::ZERO));
        }
        let divisor = count(self.count).times(&count(self.count - i64::from(is_sample)));
        let scale = chosen_scale(&spread, &divisor);
        result(quotient(&spread, &divisor, scale), scale).checked().map(Some)
    }

    /// The sum where NaN or infinities are in it.
    fn special(&self) -> Option<Numeric> {
        match (self.has_nan, self.has_infinity, self.has_negative_infinity) {
            (false, false, false) => None,
            (false, true, false) => Some(Numeric::Infinity),
            (false, false, true) => Some(Numeric::NegativeInfinity),
            _ => Some(Numeric::NaN),
        }
    }
}
