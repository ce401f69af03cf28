//! Templates of numbers by their names in the catalog.

use super::description::Description;
use super::digits::{Digits, of_f32, of_f64, of_i32, of_i64, of_numeric};
use super::{to_number, writer};
use crate::argument::kernels;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::numeric::Numeric;

pub(crate) const NUMBERS: &[Kernel] = kernels! {
    "numeric_to_char" => |a: &Numeric, template: &str| to_char(a, template, of_numeric);
    "int4_to_char" => |a: i32, template: &str| to_char(a, template, of_i32);
    "int8_to_char" => |a: i64, template: &str| to_char(a, template, of_i64);
    "float4_to_char" => |a: f32, template: &str| to_char(a, template, of_f32);
    "float8_to_char" => |a: f64, template: &str| to_char(a, template, of_f64);
    "numeric_to_number" => |a: &str, template: &str| to_number(a, template);
};

fn to_char<T>(
    value: T,
    template: &str,
    digits: impl FnOnce(T, &mut Description) -> Result<Digits>,
) -> Result<String> {
    let mut description = Description::of(template)?;
    if template.is_empty() {
        return Ok(String::new());
    }
    let digits = digits(value, &mut description)?;
    writer::write(&description, &digits)
}
