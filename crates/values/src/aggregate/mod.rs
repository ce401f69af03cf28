//! What aggregates compute over many rows, by the names that the catalog gives their parts.
//!
//! Sums of whole numbers and numerics are exact; those of floating point are added in the order of the rows, as PostgreSQL does.

mod count;
mod fold;
mod joined;
mod moments;
mod regression;
mod sums;

use crate::datum::Datum;
use crate::error::Result;

/// The state of one aggregate over one group.
pub trait Accumulator {
    /// One more row: its arguments, NULLs among them.
    ///
    /// # Errors
    /// As the aggregate's transition function raises them.
    ///
    /// # Panics
    /// When the number or the types of the arguments are not those of the aggregate.
    fn add(&mut self, arguments: &[Datum]) -> Result<()>;

    /// The result over the rows so far.
    ///
    /// # Errors
    /// As the aggregate's final function raises them.
    fn finish(&self) -> Result<Datum>;
}

/// An empty state of the aggregate with these transition and final functions (`AggregateRow` has both), if it is one of ours.
pub fn accumulator(transition: &str, last: Option<&str>) -> Option<Box<dyn Accumulator>> {
    match last {
        Some(last) => sums::new(transition, last)
            .or_else(|| moments::new(transition, last))
            .or_else(|| regression::new(transition, last))
            .or_else(|| joined::new(transition)),
        None => count::new(transition).or_else(|| fold::new(transition)),
    }
}
