//! The computations of whole numbers by their names in the catalog.

use super::arithmetic::{
    absolute, add, divide, greatest_common_divisor, increment, least_common_multiple, multiply,
    narrow, negate, remainder, subtract,
};
use super::range::in_range;
use crate::argument::{kernels, relations};
use crate::kernel::Kernel;
use crate::numeric::{self, Numeric};

/// What every width has, and the width of the first operand of shifts.
macro_rules! width {
    ($name:literal, $type:ty, $shifted:ty) => {
        kernels! {
            concat!($name, "mod") => |a: $type, b: $type| remainder(a, b);
            concat!($name, "and") => |a: $type, b: $type| a & b;
            concat!($name, "or") => |a: $type, b: $type| a | b;
            concat!($name, "xor") => |a: $type, b: $type| a ^ b;
            concat!($name, "not") => |a: $type| !a;
            concat!($name, "shl") => |a: $type, b: i32| <$shifted>::from(a).wrapping_shl(b as u32) as $type;
            concat!($name, "shr") => |a: $type, b: i32| <$shifted>::from(a).wrapping_shr(b as u32) as $type;
            concat!($name, "um") => |a: $type| negate(a);
            concat!($name, "up") => |a: $type| a;
            concat!($name, "abs") => |a: $type| absolute(a);
            concat!($name, "larger") => |a: $type, b: $type| a.max(b);
            concat!($name, "smaller") => |a: $type, b: $type| a.min(b);
            concat!($name, "send") => |a: $type| a.to_be_bytes().to_vec();
        }
    };
}

/// The four operations of two widths, as the wider one.
macro_rules! operations {
    ($name:literal, $a:ty, $b:ty, $wide:ty) => {
        kernels! {
            concat!($name, "pl") => |a: $a, b: $b| add(<$wide>::from(a), <$wide>::from(b));
            concat!($name, "mi") => |a: $a, b: $b| subtract(<$wide>::from(a), <$wide>::from(b));
            concat!($name, "mul") => |a: $a, b: $b| multiply(<$wide>::from(a), <$wide>::from(b));
            concat!($name, "div") => |a: $a, b: $b| divide(<$wide>::from(a), <$wide>::from(b));
        }
    };
}

/// The comparisons of two widths, as the widest one.
macro_rules! compared {
    ($widths:literal, $a:ty, $b:ty) => {
        relations!(concat!("int", $widths), concat!("btint", $widths, "cmp"), $a, $b, |a, b| {
            i64::from(a).cmp(&i64::from(b))
        })
    };
}

pub(crate) const KERNELS: &[&[Kernel]] = &[
    width!("int2", i16, i32),
    width!("int4", i32, i32),
    width!("int8", i64, i64),
    operations!("int2", i16, i16, i16),
    operations!("int24", i16, i32, i32),
    operations!("int28", i16, i64, i64),
    operations!("int42", i32, i16, i32),
    operations!("int4", i32, i32, i32),
    operations!("int48", i32, i64, i64),
    operations!("int82", i64, i16, i64),
    operations!("int84", i64, i32, i64),
    operations!("int8", i64, i64, i64),
    compared!("2", i16, i16),
    compared!("24", i16, i32),
    compared!("28", i16, i64),
    compared!("42", i32, i16),
    compared!("4", i32, i32),
    compared!("48", i32, i64),
    compared!("82", i64, i16),
    compared!("84", i64, i32),
    compared!("8", i64, i64),
    OTHERS,
    FRAMES,
];

const OTHERS: &[Kernel] = kernels! {
    "int4gcd" => |a: i32, b: i32| greatest_common_divisor(a, b);
    "int8gcd" => |a: i64, b: i64| greatest_common_divisor(a, b);
    "int4lcm" => |a: i32, b: i32| least_common_multiple(a, b);
    "int8lcm" => |a: i64, b: i64| least_common_multiple(a, b);
    "int4inc" => |a: i32| increment(a);
    "int8inc" => |a: i64| increment(a);
    "int8inc_float8_float8" => |a: i64, _x: f64, _y: f64| increment(a);
    "int8dec" => |a: i64| subtract(a, 1);
    "i2toi4" => |a: i16| i32::from(a);
    "int28" => |a: i16| i64::from(a);
    "int48" => |a: i32| i64::from(a);
    "i4toi2" => |a: i32| narrow::<i16>(a.into());
    "int82" => |a: i64| narrow::<i16>(a);
    "int84" => |a: i64| narrow::<i32>(a);
    "to_hex32" => |a: i32| format!("{a:x}");
    "to_hex64" => |a: i64| format!("{a:x}");
    "int2_sum" => |sum: Option<i64>, a: Option<i16>| summed(sum, a.map(i64::from));
    "int4_sum" => |sum: Option<i64>, a: Option<i32>| summed(sum, a.map(i64::from));
    "int8_sum" => |sum: Option<&Numeric>, a: Option<i64>| match (sum, a.map(numeric::from_i64)) {
        (Some(sum), Some(a)) => numeric::add(sum, &a).map(Some),
        (sum, a) => Ok(sum.cloned().or(a)),
    };
};

/// One more addend, where NULL adds nothing.
fn summed(sum: Option<i64>, addend: Option<i64>) -> Option<i64> {
    match (sum, addend) {
        (Some(sum), Some(addend)) => Some(sum.wrapping_add(addend)),
        (sum, addend) => sum.or(addend),
    }
}

const FRAMES: &[Kernel] = kernels! {
    "in_range_int2_int2" => |a: i16, base: i16, distance: i16, is_down: bool, is_less: bool|
        in_range(a.into(), base.into(), distance.into(), is_down, is_less);
    "in_range_int2_int4" => |a: i16, base: i16, distance: i32, is_down: bool, is_less: bool|
        in_range(a.into(), base.into(), distance.into(), is_down, is_less);
    "in_range_int2_int8" => |a: i16, base: i16, distance: i64, is_down: bool, is_less: bool|
        in_range(a.into(), base.into(), distance, is_down, is_less);
    "in_range_int4_int2" => |a: i32, base: i32, distance: i16, is_down: bool, is_less: bool|
        in_range(a.into(), base.into(), distance.into(), is_down, is_less);
    "in_range_int4_int4" => |a: i32, base: i32, distance: i32, is_down: bool, is_less: bool|
        in_range(a.into(), base.into(), distance.into(), is_down, is_less);
    "in_range_int4_int8" => |a: i32, base: i32, distance: i64, is_down: bool, is_less: bool|
        in_range(a.into(), base.into(), distance, is_down, is_less);
    "in_range_int8_int8" => |a: i64, base: i64, distance: i64, is_down: bool, is_less: bool|
        in_range(a, base, distance, is_down, is_less);
};
