//! `smallint`, `integer` and `bigint`.

mod arithmetic;
mod kernels;
mod range;
mod text;

pub use arithmetic::Int;
pub(crate) use arithmetic::narrow;
pub(crate) use kernels::KERNELS;
pub use text::parse;
