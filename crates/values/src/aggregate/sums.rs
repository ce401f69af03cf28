//! Sums, means, variances and deviations of whole numbers and numerics, over exact sums.

use super::Accumulator;
use crate::datum::Datum;
use crate::error::Result;
use crate::numeric::{self, Numeric, Sums};

struct Summed {
    sums: Sums,
    result: fn(&Sums) -> Result<Option<Numeric>>,
}

pub(super) fn new(transition: &str, last: &str) -> Option<Box<dyn Accumulator>> {
    let result: fn(&Sums) -> Result<Option<Numeric>> = match last {
        "numeric_sum" | "numeric_poly_sum" => Sums::sum,
        "numeric_avg" | "numeric_poly_avg" | "int8_avg" => Sums::mean,
        "numeric_var_pop" | "numeric_poly_var_pop" => |sums| sums.variance(false),
        "numeric_var_samp" | "numeric_poly_var_samp" => |sums| sums.variance(true),
        "numeric_stddev_pop" | "numeric_poly_stddev_pop" => |sums| sums.deviation(false),
        "numeric_stddev_samp" | "numeric_poly_stddev_samp" => |sums| sums.deviation(true),
        _ => return None,
    };
    let has_squares = !transition.ends_with("_avg_accum");
    Some(Box::new(Summed { sums: Sums::new(has_squares), result }))
}

impl Accumulator for Summed {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        match arguments {
            [Datum::Null] => {}
            [Datum::Int2(value)] => self.sums.add(&numeric::from_i64((*value).into())),
            [Datum::Int4(value)] => self.sums.add(&numeric::from_i64((*value).into())),
            [Datum::Int8(value)] => self.sums.add(&numeric::from_i64(*value)),
            [Datum::Numeric(value)] => self.sums.add(value),
            other => panic!("a sum of numbers was given {other:?}"),
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok((self.result)(&self.sums)?.map_or(Datum::Null, Datum::Numeric))
    }
}
