//! The computations of floating point by their names in the catalog.

use super::arithmetic::{add, divide, multiply, subtract};
use super::cast::{to_f32, to_int};
use super::trigonometry::{self, DEGREE, of_finite, of_unit};
use super::{compare, degrees, function, in_range, width};
use crate::argument::{kernels, relations};
use crate::datum::Datum;
use crate::kernel::{Kernel, entry};

/// The comparisons of two widths, as the wider one.
macro_rules! compared {
    ($widths:literal, $a:ty, $b:ty, $wide:ty) => {
        relations!(concat!("float", $widths), concat!("btfloat", $widths, "cmp"), $a, $b, |a, b| {
            compare(<$wide>::from(a), <$wide>::from(b))
        })
    };
}

pub(crate) const KERNELS: &[&[Kernel]] = &[
    ARITHMETIC,
    compared!("4", f32, f32, f32),
    compared!("8", f64, f64, f64),
    compared!("48", f32, f64, f64),
    compared!("84", f64, f32, f64),
    CASTS,
    FUNCTIONS,
    ANGLES,
    CONSTANTS,
];

const ARITHMETIC: &[Kernel] = kernels! {
    "float4pl" => |a: f32, b: f32| add(a, b);
    "float4mi" => |a: f32, b: f32| subtract(a, b);
    "float4mul" => |a: f32, b: f32| multiply(a, b);
    "float4div" => |a: f32, b: f32| divide(a, b);
    "float8pl" => |a: f64, b: f64| add(a, b);
    "float8mi" => |a: f64, b: f64| subtract(a, b);
    "float8mul" => |a: f64, b: f64| multiply(a, b);
    "float8div" => |a: f64, b: f64| divide(a, b);
    "float48pl" => |a: f32, b: f64| add(a.into(), b);
    "float48mi" => |a: f32, b: f64| subtract(a.into(), b);
    "float48mul" => |a: f32, b: f64| multiply(a.into(), b);
    "float48div" => |a: f32, b: f64| divide(a.into(), b);
    "float84pl" => |a: f64, b: f32| add(a, b.into());
    "float84mi" => |a: f64, b: f32| subtract(a, b.into());
    "float84mul" => |a: f64, b: f32| multiply(a, b.into());
    "float84div" => |a: f64, b: f32| divide(a, b.into());
    "float4um" => |a: f32| -a;
    "float4up" => |a: f32| a;
    "float4abs" => |a: f32| a.abs();
    "float8um" => |a: f64| -a;
    "float8up" => |a: f64| a;
    "float8abs" => |a: f64| a.abs();
};

const CASTS: &[Kernel] = kernels! {
    "ftod" => |a: f32| f64::from(a);
    "dtof" => |a: f64| to_f32(a);
    "ftoi2" => |a: f32| to_int::<i16>(a.into());
    "ftoi4" => |a: f32| to_int::<i32>(a.into());
    "ftoi8" => |a: f32| to_int::<i64>(a.into());
    "dtoi2" => |a: f64| to_int::<i16>(a);
    "dtoi4" => |a: f64| to_int::<i32>(a);
    "dtoi8" => |a: f64| to_int::<i64>(a);
    "i2tof" => |a: i16| f32::from(a);
    "i4tof" => |a: i32| a as f32;
    "i8tof" => |a: i64| a as f32;
    "i2tod" => |a: i16| f64::from(a);
    "i4tod" => |a: i32| f64::from(a);
    "i8tod" => |a: i64| a as f64;
    "float4send" => |a: f32| a.to_be_bytes().to_vec();
    "float8send" => |a: f64| a.to_be_bytes().to_vec();
};

const FUNCTIONS: &[Kernel] = kernels! {
    "float4larger" => |a: f32, b: f32| if compare(a, b).is_gt() { a } else { b };
    "float4smaller" => |a: f32, b: f32| if compare(a, b).is_lt() { a } else { b };
    "float8larger" => |a: f64, b: f64| if compare(a, b).is_gt() { a } else { b };
    "float8smaller" => |a: f64, b: f64| if compare(a, b).is_lt() { a } else { b };
    "dround" => |a: f64| a.round_ties_even();
    "dceil" => |a: f64| a.ceil();
    "dfloor" => |a: f64| a.floor();
    "dtrunc" => |a: f64| a.trunc();
    "dsign" => |a: f64| function::sign(a);
    "dsqrt" => |a: f64| function::square_root(a);
    "dcbrt" => |a: f64| a.cbrt();
    "dpow" => |a: f64, b: f64| function::power(a, b);
    "dexp" => |a: f64| function::exp(a);
    "dlog1" => |a: f64| function::ln(a);
    "dlog10" => |a: f64| function::log10(a);
    "width_bucket_float8" => |a: f64, low: f64, high: f64, count: i32|
        width::width_bucket(a, low, high, count);
    "in_range_float8_float8" => |a: f64, base: f64, distance: f64, is_down: bool, is_less: bool|
        in_range(a, base, distance, is_down, is_less);
    "in_range_float4_float8" => |a: f32, base: f32, distance: f64, is_down: bool, is_less: bool|
        in_range(a.into(), base.into(), distance, is_down, is_less);
    "int4range_subdiff" => |a: i32, b: i32| f64::from(a) - f64::from(b);
    "int8range_subdiff" => |a: i64, b: i64| a as f64 - b as f64;
};

const CONSTANTS: &[Kernel] = &[entry("dpi", |_, _| Ok(Datum::Float8(std::f64::consts::PI)))];

const ANGLES: &[Kernel] = kernels! {
    "degrees" => |a: f64| divide(a, DEGREE);
    "radians" => |a: f64| multiply(a, DEGREE);
    "dsin" => |a: f64| of_finite(a, f64::sin);
    "dcos" => |a: f64| of_finite(a, f64::cos);
    "dtan" => |a: f64| of_finite(a, f64::tan);
    "dcot" => |a: f64| of_finite(a, trigonometry::cotangent);
    "dasin" => |a: f64| of_unit(a, f64::asin);
    "dacos" => |a: f64| of_unit(a, f64::acos);
    "datan" => |a: f64| a.atan();
    "datan2" => |a: f64, b: f64| a.atan2(b);
    "dsinh" => |a: f64| a.sinh();
    "dcosh" => |a: f64| a.cosh();
    "dtanh" => |a: f64| a.tanh();
    "dasinh" => |a: f64| trigonometry::area_sine(a);
    "dacosh" => |a: f64| trigonometry::area_cosine(a);
    "datanh" => |a: f64| trigonometry::area_tangent(a);
    "dsind" => |a: f64| degrees::sine(a);
    "dcosd" => |a: f64| degrees::cosine(a);
    "dtand" => |a: f64| degrees::tangent(a);
    "dcotd" => |a: f64| degrees::cotangent(a);
    "dasind" => |a: f64| degrees::arc_sine(a);
    "dacosd" => |a: f64| degrees::arc_cosine(a);
    "datand" => |a: f64| degrees::arc_tangent(a);
    "datan2d" => |a: f64, b: f64| degrees::arc_tangent_of_two(a, b);
};
