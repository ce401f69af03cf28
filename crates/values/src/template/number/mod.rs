//! `to_char` of numbers and `to_number`: in come a number or a text and a template, out goes the other. `description` reads templates,
//! `digits` prepares a number's digits, `writer` puts them into the template and `reader` takes them out of a text.

mod description;
mod digits;
mod kernels;
mod reader;
mod roman;
mod writer;

pub(crate) use kernels::NUMBERS;

use description::Description;

use crate::error::{Result, ValueError};
use crate::numeric::{self, Numeric};

/// A number that a text is by a template; NULL for an empty template.
///
/// # Errors
/// 42601 for a template that contradicts itself, 0A000 for one that is for writing only, 22P02 where the text has no digits, 22003 where it
/// has more than the template.
pub fn to_number(text: &str, template: &str) -> Result<Option<Numeric>> {
    if template.is_empty() {
        return Ok(None);
    }
    let description = Description::of(template)?;
    let unsupported =
        |pattern: &str| ValueError::new("0A000", format!("\"{pattern}\" not supported for input"));
    if description.is_scientific {
        return Err(unsupported("EEEE"));
    }
    if description.is_roman {
        return Err(unsupported("RN"));
    }
    let (digits, scale) = reader::read(text, &description);
    let precision = description.before + description.multiplied + scale;
    let typmod = ((precision << 16) | (scale & 0x7FF)) + 4;
    let number = numeric::apply_typmod(&numeric::parse(&digits)?, typmod as i32)?;
    if !description.is_multiplied {
        return Ok(Some(number));
    }
    let power =
        |exponent: i64| numeric::power(&numeric::from_i64(10), &numeric::from_i64(exponent));
    numeric::multiply(&number, &power(-(description.multiplied as i64))?).map(Some)
}
