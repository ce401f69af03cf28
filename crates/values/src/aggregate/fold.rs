//! Aggregates whose state is a value that a kernel combines with the next one: least, greatest, sums of floating point, bits.

use super::Accumulator;
use crate::datum::Datum;
use crate::error::Result;
use crate::kernel::{Context, Kernel, kernel};

struct Fold {
    kernel: &'static Kernel,
    state: Datum,
}

pub(super) fn new(transition: &str) -> Option<Box<dyn Accumulator>> {
    let kernel = kernel(transition)?;
    Some(Box::new(Fold { kernel, state: Datum::Null }))
}

/// The transition functions that take a sum of another type, and NULL for none.
fn starts_from_null(source: &str) -> bool {
    ["int2_sum", "int4_sum"].contains(&source)
}

impl Accumulator for Fold {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let [value] = arguments else {
            panic!("{} combines one argument with the state", self.kernel.source)
        };
        if value.is_null() {
            return Ok(());
        }
        self.state = if self.state.is_null() && !starts_from_null(self.kernel.source) {
            value.clone()
        } else {
            (self.kernel.compute)(&Context::default(), &[self.state.clone(), value.clone()])?
        };
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(self.state.clone())
    }
}
