//! `smallint`, `integer` and `bigint`.

mod arithmetic;
mod kernels;
mod range;
mod text;

pub(crate) use arithmetic::narrow;
pub use arithmetic::{Int, add, divide, multiply, remainder, subtract};
pub(crate) use kernels::KERNELS;
pub(crate) use range::invalid_distance;
pub use text::parse;
