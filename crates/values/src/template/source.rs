//! The text that a template reads, and what may be wrong with it.

use super::parse::{Field, is_space};
use crate::error::{Result, ValueError};

/// What is left of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    pub(super) whole: &'t str,
    pub(super) at: usize,
}

fn invalid(value: &str, field: &Field, detail: String) -> ValueError {
    let message = format!("invalid value \"{value}\" for \"{}\"", field.key.name);
    ValueError { detail: Some(detail.into()), ..ValueError::new("22007", message) }
}

fn with_hint(error: ValueError) -> ValueError {
    let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
    ValueError { hint: Some(hint.into()), ..error }
}

/// A sign and digits after spaces, as C's `strtol` takes them: the number and the bytes taken; none where there is no digit.
fn leading(text: &str) -> (Option<i64>, usize) {
    let spaces = text.len() - text.trim_start_matches(is_space).len();
    let unsigned = text[spaces..].strip_prefix(['+', '-']).unwrap_or(&text[spaces..]);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    if digits == 0 {
        return (Some(0), 0);
    }
    let taken = text.len() - unsigned.len() + digits;
    (text[spaces..taken].parse().ok(), taken)
}

impl<'t> Source<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.whole[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Passes over a character.
    pub(super) fn skip(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// Passes over spaces; how many.
    pub(super) fn skip_spaces(&mut self) -> i32 {
        let before = self.at;
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        (self.at - before) as i32
    }

    /// A number of a width, or, where what follows cannot be taken for its digits, of any width; and the bytes taken.
    ///
    /// # Errors
    /// 22007 where there is no number of the width, 22008 beyond 32 bits.
    pub(super) fn integer(
        &mut self,
        width: usize,
        field: &Field,
        is_open: bool,
    ) -> Result<(i32, usize)> {
        let before = self.at;
        let from = self.rest();
        self.skip_spaces();
        let copy = self.characters(width);
        let number = if is_open {
            let (number, taken) = leading(from);
            self.at = before + taken;
            number
        } else {
            let remain = self.rest().len();
            if remain < width {
                return Err(too_short(field, width, remain));
            }
            let (number, taken) = leading(copy);
            if taken > 0 && taken < width {
                let detail =
                    format!("Field requires {width} characters, but only {taken} could be parsed.");
                return Err(with_hint(invalid(copy, field, detail)));
            }
            self.at += taken;
            number
        };
        if self.at == before {
            return Err(invalid(copy, field, "Value must be an integer.".to_owned()));
        }
        let number = number.and_then(|number| i32::try_from(number).ok());
        match number {
            Some(number) => Ok((number, self.at - before)),
            None => Err(out_of_range(field)),
        }
    }

    /// So many bytes at most, in whole characters.
    fn characters(&self, bytes: usize) -> &'t str {
        let rest = self.rest();
        let mut end = bytes.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        &rest[..end]
    }

    /// Which of some names is next, in letters of any case.
    ///
    /// # Errors
    /// 22007 where none is.
    pub(super) fn name(&mut self, names: &[&str], field: &Field) -> Result<usize> {
        let rest = self.rest();
        let is_next = |name: &&str| {
            rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        match names.iter().position(is_next) {
            Some(found) => {
                self.at += names[found].len();
                Ok(found)
            }
            None => {
                let word = rest.split(|c: char| is_space(c) && c != '\u{b}').next();
                let detail =
                    "The given value did not match any of the allowed values for this field.";
                Err(invalid(word.unwrap_or_default(), field, detail.to_owned()))
            }
        }
    }
}

fn too_short(field: &Field, width: usize, remain: usize) -> ValueError {
    let message = format!("source string too short for \"{}\" formatting field", field.key.name);
    let detail = format!("Field requires {width} characters, but only {remain} remain.");
    with_hint(ValueError { detail: Some(detail.into()), ..ValueError::new("22007", message) })
}

fn out_of_range(field: &Field) -> ValueError {
    let message = format!("value for \"{}\" in source string is out of range", field.key.name);
    let detail = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
    ValueError { detail: Some(detail.into()), ..ValueError::new("22008", message) }
}
