//! Means, variances and deviations of floating point, by Youngs and Cramer's recurrence.

use super::Accumulator;
use crate::datum::Datum;
use crate::error::Result;
use crate::float::overflow;

/// Number of values, their sum, and the sum of the squares of their distances from the mean.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: f64,
    spread: f64,
}

struct Measured {
    moments: Moments,
    result: fn(Moments) -> Option<f64>,
}

pub(super) fn new(transition: &str, last: &str) -> Option<Box<dyn Accumulator>> {
    if transition != "float4_accum" && transition != "float8_accum" {
        return None;
    }
    let result: fn(Moments) -> Option<f64> = match last {
        "float8_avg" => |it| (it.count > 0.0).then(|| it.sum / it.count),
        "float8_var_pop" => Moments::population,
        "float8_var_samp" => Moments::sample,
        "float8_stddev_pop" => |it| it.population().map(f64::sqrt),
        "float8_stddev_samp" => |it| it.sample().map(f64::sqrt),
        _ => return None,
    };
    Some(Box::new(Measured { moments: Moments::default(), result }))
}

impl Moments {
    fn population(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.spread / self.count)
    }

    fn sample(self) -> Option<f64> {
        (self.count > 1.0).then(|| self.spread / (self.count - 1.0))
    }

    fn add(&mut self, value: f64) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.sum += value;
        if before.count == 0.0 {
            self.spread = if value.is_finite() { 0.0 } else { f64::NAN };
            return Ok(());
        }
        let distance = value * self.count - self.sum;
        self.spread += distance * distance / (self.count * before.count);
        if self.sum.is_infinite() || self.spread.is_infinite() {
            if !before.sum.is_infinite() && !value.is_infinite() {
                return Err(overflow());
            }
            self.spread = f64::NAN;
        }
        Ok(())
    }
}

impl Accumulator for Measured {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        match arguments {
            [Datum::Null] => Ok(()),
            [Datum::Float4(value)] => self.moments.add((*value).into()),
            [Datum::Float8(value)] => self.moments.add(*value),
            other => panic!("a mean of floating point was given {other:?}"),
        }
    }

    fn finish(&self) -> Result<Datum> {
        Ok((self.result)(self.moments).map_or(Datum::Null, Datum::Float8))
    }
}
