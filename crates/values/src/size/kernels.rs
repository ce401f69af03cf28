//! Sizes by their names in the catalog.

use crate::argument::kernels;
use crate::kernel::Kernel;
use crate::numeric::Numeric;

pub(crate) const KERNELS: &[&[Kernel]] = &[SIZES];

const SIZES: &[Kernel] = kernels! {
    "pg_size_pretty" => |a: i64| super::pretty(a);
    "pg_size_pretty_numeric" => |a: &Numeric| super::pretty_numeric(a);
    "pg_size_bytes" => |a: &str| super::bytes(a);
};
