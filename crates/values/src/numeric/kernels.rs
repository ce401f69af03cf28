//! `numeric`'s computations by their names in the catalog.

use std::cmp::Ordering;

use super::{Numeric, ceil, compare, divide, floor, log, round, truncate};
use super::{add, cast, multiply, power, remainder, subtract, trim_scale};
use crate::argument::{kernels, relations};
use crate::kernel::Kernel;

pub(crate) const KERNELS: &[&[Kernel]] =
    &[relations!("numeric_", "numeric_cmp", &Numeric, &Numeric, compare), COMPUTATIONS, CASTS];

const COMPUTATIONS: &[Kernel] = kernels! {
    "in_range_numeric_numeric" =>
        |a: &Numeric, base: &Numeric, distance: &Numeric, is_down: bool, is_less: bool|
        super::in_range(a, base, distance, is_down, is_less);
    "numeric_larger" => |a: &Numeric, b: &Numeric| larger(a, b).clone();
    "numeric_smaller" => |a: &Numeric, b: &Numeric| smaller(a, b).clone();
    "numeric_add" => |a: &Numeric, b: &Numeric| add(a, b);
    "numeric_sub" => |a: &Numeric, b: &Numeric| subtract(a, b);
    "numeric_mul" => |a: &Numeric, b: &Numeric| multiply(a, b);
    "numeric_div" => |a: &Numeric, b: &Numeric| divide(a, b);
    "numeric_div_trunc" => |a: &Numeric, b: &Numeric| super::divide_whole(a, b);
    "numeric_mod" => |a: &Numeric, b: &Numeric| remainder(a, b);
    "numeric_power" => |a: &Numeric, b: &Numeric| power(a, b);
    "numeric_inc" => |a: &Numeric| add(a, &Numeric::whole(1));
    "numeric_uminus" => |a: &Numeric| a.negated();
    "numeric_uplus" => |a: &Numeric| a.clone();
    "numeric_abs" => |a: &Numeric| a.absolute();
    "numeric_sign" => |a: &Numeric| a.sign();
    "numeric_sqrt" => |a: &Numeric| super::square_root(a);
    "numeric_exp" => |a: &Numeric| super::exp(a);
    "numeric_ln" => |a: &Numeric| super::ln(a);
    "numeric_log" => |base: &Numeric, a: &Numeric| log(base, a);
    "log(numeric)" => |a: &Numeric| log(&Numeric::whole(10), a);
    "log10(numeric)" => |a: &Numeric| log(&Numeric::whole(10), a);
    "numeric_gcd" => |a: &Numeric, b: &Numeric| super::greatest_common_divisor(a, b);
    "numeric_lcm" => |a: &Numeric, b: &Numeric| super::least_common_multiple(a, b);
    "numeric_fac" => |n: i64| super::factorial(n);
    "numeric_ceil" => |a: &Numeric| ceil(a);
    "numeric_floor" => |a: &Numeric| floor(a);
    "numeric_round" => |a: &Numeric, places: i32| round(a, places);
    "round(numeric)" => |a: &Numeric| round(a, 0);
    "numeric_trunc" => |a: &Numeric, places: i32| truncate(a, places);
    "trunc(numeric)" => |a: &Numeric| truncate(a, 0);
    "numeric_scale" => |a: &Numeric| a.scale().map(|scale| scale as i32);
    "numeric_min_scale" => |a: &Numeric| least_scale(a);
    "numeric_trim_scale" => |a: &Numeric| trim_scale(a);
    "numeric" => |a: &Numeric, typmod: i32| super::apply_typmod(a, typmod);
    "width_bucket_numeric" => |a: &Numeric, low: &Numeric, high: &Numeric, count: i32|
        super::width_bucket(a, low, high, count);
};

const CASTS: &[Kernel] = kernels! {
    "numeric_int2" => |a: &Numeric| cast::to_i16(a);
    "numeric_int4" => |a: &Numeric| cast::to_i32(a);
    "numeric_int8" => |a: &Numeric| cast::to_i64(a);
    "numeric_float4" => |a: &Numeric| cast::to_f32(a);
    "numeric_float8" => |a: &Numeric| cast::to_f64(a);
    "int2_numeric" => |a: i16| cast::from_i64(a.into());
    "int4_numeric" => |a: i32| cast::from_i64(a.into());
    "int8_numeric" => |a: i64| cast::from_i64(a);
    "float4_numeric" => |a: f32| cast::from_f32(a);
    "float8_numeric" => |a: f64| cast::from_f64(a);
    "numrange_subdiff" => |a: &Numeric, b: &Numeric| subtract(a, b).and_then(|a| cast::to_f64(&a));
    "numeric_send" => |a: &Numeric| sent(a);
};

fn larger<'a>(a: &'a Numeric, b: &'a Numeric) -> &'a Numeric {
    if compare(a, b) == Ordering::Greater { a } else { b }
}

fn smaller<'a>(a: &'a Numeric, b: &'a Numeric) -> &'a Numeric {
    if compare(a, b) == Ordering::Less { a } else { b }
}

fn least_scale(value: &Numeric) -> Option<i32> {
    match value {
        Numeric::Finite(decimal) => Some(decimal.least_scale() as i32),
        _ => None,
    }
}

fn sent(value: &Numeric) -> Vec<u8> {
    let mut bytes = Vec::new();
    super::send(value, &mut bytes);
    bytes
}
