//! `format`: arguments put into a text.

use super::quote;
use crate::error::{Result, ValueError};
use crate::int;

/// A text with `%s`, `%I` and `%L` replaced by arguments: as they are, as identifiers and as literals. None is NULL.
///
/// # Errors
/// 22023 for a specifier that is none, and for too few arguments; 22004 for NULL as an identifier; 22003 for numbers out of range.
pub fn format(template: &str, arguments: &[Option<&str>]) -> Result<String> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    let mut next = 0;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let mut reader = Reader { rest: &rest[at..] };
        reader.advance()?;
        if reader.rest.starts_with('%') {
            out.push('%');
        } else {
            let specifier = reader.specifier()?;
            push(&mut out, &specifier, arguments, &mut next)?;
        }
        let letter = reader.rest.chars().next().map_or(0, char::len_utf8);
        rest = &reader.rest[letter..];
    }
    out.push_str(rest);
    Ok(out)
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> ValueError {
    ValueError::new("22023", message)
}

fn with_hint(error: ValueError) -> ValueError {
    ValueError { hint: Some("For a single \"%\" use \"%%\".".into()), ..error }
}

fn out_of_range() -> ValueError {
    ValueError::new("22003", "number is out of range")
}

/// How wide an argument is to be.
enum Width {
    None,
    Fixed(i32),
    /// Said by an argument: by its place, or the next.
    Argument(Option<usize>),
}

struct Specifier {
    /// The argument's place from 1; the next where it is not said.
    place: Option<usize>,
    width: Width,
    is_left: bool,
    kind: char,
}

/// What is left of a template, from a specifier on; never empty while it is read.
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn advance(&mut self) -> Result<()> {
        self.rest = &self.rest[1..];
        if self.rest.is_empty() {
            return Err(with_hint(invalid("unterminated format() type specifier")));
        }
        Ok(())
    }

    fn is_next(&self, letter: char) -> bool {
        self.rest.starts_with(letter)
    }

    fn number(&mut self) -> Result<Option<i32>> {
        let mut number = None;
        while let Some(digit) = self.rest.chars().next().and_then(|letter| letter.to_digit(10)) {
            let so_far: i32 = number.unwrap_or(0);
            let wider = so_far.checked_mul(10).and_then(|wide| wide.checked_add(digit as i32));
            number = Some(wider.ok_or_else(out_of_range)?);
            self.advance()?;
        }
        Ok(number)
    }

    fn place(&mut self, number: i32) -> Result<usize> {
        if number == 0 {
            let message = "format specifies argument 0, but arguments are numbered from 1";
            return Err(invalid(message));
        }
        self.advance()?;
        Ok(number as usize)
    }

    fn specifier(&mut self) -> Result<Specifier> {
        let mut specifier =
            Specifier { place: None, width: Width::None, is_left: false, kind: 's' };
        match self.number()? {
            Some(number) if self.is_next('$') => specifier.place = Some(self.place(number)?),
            Some(width) => {
                specifier.width = Width::Fixed(width);
                return self.with_kind(specifier);
            }
            None => {}
        }
        while self.is_next('-') {
            specifier.is_left = true;
            self.advance()?;
        }
        if self.is_next('*') {
            self.advance()?;
            let place = match self.number()? {
                Some(_) if !self.is_next('$') => {
                    return Err(invalid("width argument position must be ended by \"$\""));
                }
                Some(number) => Some(self.place(number)?),
                None => None,
            };
            specifier.width = Width::Argument(place);
        } else if let Some(width) = self.number()? {
            specifier.width = Width::Fixed(width);
        }
        self.with_kind(specifier)
    }

    fn with_kind(&self, specifier: Specifier) -> Result<Specifier> {
        let kind = self.rest.chars().next().expect("a specifier is not at the end");
        if !matches!(kind, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(with_hint(invalid(message)));
        }
        Ok(Specifier { kind, ..specifier })
    }
}

/// The argument of a place, or the next one.
fn argument<'a>(
    arguments: &[Option<&'a str>],
    place: Option<usize>,
    next: &mut usize,
) -> Result<Option<&'a str>> {
    let at = place.map_or(*next, |place| place - 1);
    *next = at + 1;
    arguments.get(at).copied().ok_or_else(|| invalid("too few arguments for format()"))
}

fn push(
    out: &mut String,
    specifier: &Specifier,
    arguments: &[Option<&str>],
    next: &mut usize,
) -> Result<()> {
    let width = match specifier.width {
        Width::None => 0,
        Width::Fixed(width) => width,
        Width::Argument(place) => match argument(arguments, place, next)? {
            Some(text) => int::parse(text)?,
            None => 0,
        },
    };
    let value = argument(arguments, specifier.place, next)?;
    let text = match (specifier.kind, value) {
        ('I', None) => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(ValueError::new("22004", message));
        }
        ('I', Some(value)) => quote::identifier(value),
        ('L', None) => "NULL".to_owned(),
        ('L', Some(value)) => quote::literal(value),
        (_, value) => value.unwrap_or_default().to_owned(),
    };
    let wanted = width.checked_abs().ok_or_else(out_of_range)? as usize;
    let spaces = " ".repeat(wanted.saturating_sub(super::length(&text)));
    let parts = if specifier.is_left || width < 0 { [&text, &spaces] } else { [&spaces, &text] };
    out.extend(parts.map(String::as_str));
    Ok(())
}
