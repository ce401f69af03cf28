//! Linear regression and correlation of pairs of floating point, by Youngs and Cramer's recurrence.

use super::Accumulator;
use crate::datum::Datum;
use crate::error::Result;
use crate::float::overflow;

/// Number of pairs, sums, and sums of the products of distances from the means.
#[derive(Clone, Copy, Default)]
struct Pairs {
    count: f64,
    sum_x: f64,
    spread_x: f64,
    sum_y: f64,
    spread_y: f64,
    product: f64,
}

struct Regression {
    pairs: Pairs,
    /// Over at least one pair.
    result: fn(&Pairs) -> Option<f64>,
}

pub(super) fn new(transition: &str, last: &str) -> Option<Box<dyn Accumulator>> {
    if transition != "float8_regr_accum" {
        return None;
    }
    let result: fn(&Pairs) -> Option<f64> = match last {
        "float8_regr_sxx" => |it| Some(it.spread_x),
        "float8_regr_syy" => |it| Some(it.spread_y),
        "float8_regr_sxy" => |it| Some(it.product),
        "float8_regr_avgx" => |it| Some(it.sum_x / it.count),
        "float8_regr_avgy" => |it| Some(it.sum_y / it.count),
        "float8_covar_pop" => |it| Some(it.product / it.count),
        "float8_covar_samp" => |it| (it.count >= 2.0).then(|| it.product / (it.count - 1.0)),
        "float8_corr" => Pairs::correlation,
        "float8_regr_r2" => Pairs::determination,
        "float8_regr_slope" => |it| it.is_wide().then(|| it.product / it.spread_x),
        "float8_regr_intercept" => {
            |it| it.is_wide().then(|| (it.sum_y - it.sum_x * it.product / it.spread_x) / it.count)
        }
        _ => return None,
    };
    Some(Box::new(Regression { pairs: Pairs::default(), result }))
}

impl Pairs {
    /// Whether there is more than one x.
    fn is_wide(&self) -> bool {
        self.spread_x != 0.0
    }

    fn correlation(&self) -> Option<f64> {
        let is_defined = self.is_wide() && self.spread_y != 0.0;
        is_defined.then(|| self.product / (self.spread_x * self.spread_y).sqrt())
    }

    fn determination(&self) -> Option<f64> {
        if !self.is_wide() {
            return None;
        }
        if self.spread_y == 0.0 {
            return Some(1.0);
        }
        Some(self.product * self.product / (self.spread_x * self.spread_y))
    }

    fn add(&mut self, y: f64, x: f64) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        if before.count == 0.0 {
            let start = |is_finite: bool| if is_finite { 0.0 } else { f64::NAN };
            self.spread_x = start(x.is_finite());
            self.spread_y = start(y.is_finite());
            self.product = start(x.is_finite() && y.is_finite());
            return Ok(());
        }
        let distance_x = x * self.count - self.sum_x;
        let distance_y = y * self.count - self.sum_y;
        let scale = 1.0 / (self.count * before.count);
        self.spread_x += distance_x * distance_x * scale;
        self.spread_y += distance_y * distance_y * scale;
        self.product += distance_x * distance_y * scale;
        self.bound(before, y, x)
    }

    /// Infinities that come of finite numbers are errors, and others are no distances.
    fn bound(&mut self, before: Self, y: f64, x: f64) -> Result<()> {
        let is_x_finite = !before.sum_x.is_infinite() && !x.is_infinite();
        let is_y_finite = !before.sum_y.is_infinite() && !y.is_infinite();
        let has_infinite_x = self.sum_x.is_infinite() || self.spread_x.is_infinite();
        let has_infinite_y = self.sum_y.is_infinite() || self.spread_y.is_infinite();
        let has_infinite_product = self.product.is_infinite();
        if (has_infinite_x && is_x_finite)
            || (has_infinite_y && is_y_finite)
            || (has_infinite_product && is_x_finite && is_y_finite)
        {
            return Err(overflow());
        }
        for spread in [&mut self.spread_x, &mut self.spread_y, &mut self.product] {
            if spread.is_infinite() {
                *spread = f64::NAN;
            }
        }
        Ok(())
    }
}

impl Accumulator for Regression {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        match arguments {
            [Datum::Float8(y), Datum::Float8(x)] => self.pairs.add(*y, *x),
            [Datum::Null, _] | [_, Datum::Null] => Ok(()),
            other => panic!("a regression was given {other:?}"),
        }
    }

    fn finish(&self) -> Result<Datum> {
        let result = if self.pairs.count > 0.0 { (self.result)(&self.pairs) } else { None };
        Ok(result.map_or(Datum::Null, Datum::Float8))
    }
}
