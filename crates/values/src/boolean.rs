//! `boolean`.

use crate::argument::{kernels, relations};
use crate::error::{Result, ValueError};
use crate::kernel::Kernel;
use crate::spaces::trimmed;

/// Reads a word for true or false, or the beginning of one, in any case.
///
/// # Errors
/// 22P02 for anything else.
pub fn parse(text: &str) -> Result<bool> {
    let word = trimmed(text).to_ascii_lowercase();
    let begins = |whole: &str| !word.is_empty() && whole.starts_with(&word);
    if begins("true") || begins("yes") || word == "on" || word == "1" {
        Ok(true)
    } else if begins("false") || begins("no") || word == "of" || word == "off" || word == "0" {
        Ok(false)
    } else {
        let message = format!("invalid input syntax for type boolean: \"{text}\"");
        Err(ValueError::new("22P02", message))
    }
}

/// `t` or `f`.
pub fn letter(value: bool) -> &'static str {
    if value { "t" } else { "f" }
}

pub(crate) const KERNELS: &[&[Kernel]] =
    &[relations!("bool", "btboolcmp", bool, bool, |a: bool, b: bool| a.cmp(&b)), OTHERS];

const OTHERS: &[Kernel] = kernels! {
    "booland_statefunc" => |a: bool, b: bool| a && b;
    "boolor_statefunc" => |a: bool, b: bool| a || b;
    "bool_int4" => |a: bool| i32::from(a);
    "int4_bool" => |a: i32| a != 0;
    "booltext" => |a: bool| if a { "true" } else { "false" };
    "boolsend" => |a: bool| vec![u8::from(a)];
};
