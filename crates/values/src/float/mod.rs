//! `real` and `double precision`: binary floating point, with PostgreSQL's errors where IEEE gives infinities.

mod arithmetic;
mod cast;
mod compare;
mod degrees;
mod function;
mod kernels;
mod range;
mod shortest;
mod text;
mod trigonometry;
mod width;

pub use arithmetic::Float;
pub use compare::compare;
pub(crate) use compare::key;
pub(crate) use kernels::KERNELS;
pub use range::in_range;
pub use text::{parse_f32, parse_f64, write};

use crate::error::ValueError;

pub(crate) fn overflow() -> ValueError {
    ValueError::new("22003", "value out of range: overflow")
}

pub(crate) fn underflow() -> ValueError {
    ValueError::new("22003", "value out of range: underflow")
}

/// An argument outside of what a function is defined for.
pub(crate) fn out_of_range() -> ValueError {
    ValueError::new("22003", "input is out of range")
}
