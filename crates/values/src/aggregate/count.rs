//! Numbers of rows.

use super::Accumulator;
use crate::datum::Datum;
use crate::error::Result;

/// Counts the rows without NULL among the arguments.
struct Count(i64);

pub(super) fn new(transition: &str) -> Option<Box<dyn Accumulator>> {
    let is_count = ["int8inc", "int8inc_any", "int8inc_float8_float8"].contains(&transition);
    is_count.then(|| Box::new(Count(0)) as Box<dyn Accumulator>)
}

impl Accumulator for Count {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        self.0 += i64::from(!arguments.iter().any(Datum::is_null));
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(Datum::Int8(self.0))
    }
}
