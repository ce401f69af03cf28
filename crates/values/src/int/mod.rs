//! `smallint`, `integer` and `bigint`.

mod arithmetic;
mod kernels;
mod range;
mod text;

pub use arithmetic::Int;
pub(crate) use arithmetic::narrow;
pub(crate) use kernels::KERNELS;
pub(crate) use range::invalid_distance;
pub use text::parse;
