//! LIKE and ILIKE.

use crate::error::{Result, ValueError};

/// Whether a text matches a pattern: `%` stands for any characters, `_` for one, and `\` takes the next one literally.
///
/// # Errors
/// 22025 when matching reaches a `\` that ends the pattern.
pub fn is_like(text: &str, pattern: &str) -> Result<bool> {
    is_like_text(text.as_bytes(), pattern.as_bytes())
}

/// As [`is_like`], of the bytes of both.
///
/// # Errors
/// As [`is_like`].
pub(super) fn is_like_text(text: &[u8], pattern: &[u8]) -> Result<bool> {
    let step = |text: &[u8]| match text[0] {
        0x00..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    };
    Match { text, pattern, retry: None }.run(step)
}

/// As [`is_like`], where `_` stands for one byte.
///
/// # Errors
/// 22025 when matching reaches a `\` that ends the pattern.
pub(crate) fn is_like_bytes(text: &[u8], pattern: &[u8]) -> Result<bool> {
    Match { text, pattern, retry: None }.run(|_| 1)
}

fn ends_with_escape() -> ValueError {
    ValueError::new("22025", "LIKE pattern must not end with escape character")
}

/// What is left of both, and where to go on when they differ.
struct Match<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    /// Text and pattern behind the last `%`: whatever was matched before it need not be looked at again.
    retry: Option<(&'a [u8], &'a [u8])>,
}

impl Match<'_> {
    /// `step` gives the bytes of the first character of a text that is not empty.
    fn run(mut self, step: impl Fn(&[u8]) -> usize) -> Result<bool> {
        loop {
            let (Some(first), [head, rest @ ..]) = (self.text.first(), self.pattern) else {
                match self.at_end() {
                    Some(answer) => return Ok(answer),
                    None if self.go_back(&step)? => continue,
                    None => return Ok(false),
                }
            };
            let matches = match head {
                b'%' => match self.behind_percent(&step)? {
                    Some(answer) => return Ok(answer),
                    None => continue,
                },
                b'_' => {
                    self.text = &self.text[step(self.text)..];
                    self.pattern = rest;
                    continue;
                }
                b'\\' => {
                    self.pattern = rest;
                    self.pattern.first().ok_or_else(ends_with_escape)? == first
                }
                literal => literal == first,
            };
            if matches {
                self.text = &self.text[1..];
                self.pattern = &self.pattern[1..];
            } else if !self.go_back(&step)? {
                return Ok(false);
            }
        }
    }

    /// The answer at the end of either; `None` where text is left.
    fn at_end(&self) -> Option<bool> {
        let is_text_left = !self.text.is_empty();
        (!is_text_left).then(|| self.pattern.iter().all(|byte| *byte == b'%'))
    }

    /// Moves behind wildcards that begin with `%`, and to the first place where the next letter occurs.
    fn behind_percent(&mut self, step: &impl Fn(&[u8]) -> usize) -> Result<Option<bool>> {
        while let [wildcard @ (b'%' | b'_'), rest @ ..] = self.pattern {
            if *wildcard == b'_' {
                if self.text.is_empty() {
                    return Ok(Some(false));
                }
                self.text = &self.text[step(self.text)..];
            }
            self.pattern = rest;
        }
        if self.pattern.is_empty() {
            return Ok(Some(true));
        }
        self.retry = Some((self.text, self.pattern));
        let is_found = self.seek(step)?;
        Ok((!is_found).then_some(false))
    }

    /// To the next place behind the last `%` where what follows it may match; false where there is none.
    fn go_back(&mut self, step: &impl Fn(&[u8]) -> usize) -> Result<bool> {
        let Some((text, pattern)) = self.retry else {
            return Ok(false);
        };
        self.retry = Some((&text[step(text)..], pattern));
        self.seek(step)
    }

    fn seek(&mut self, step: &impl Fn(&[u8]) -> usize) -> Result<bool> {
        let Some((mut text, pattern)) = self.retry else {
            return Ok(false);
        };
        let wanted = match pattern {
            [b'\\', literal, ..] => literal,
            [b'\\'] => return Err(ends_with_escape()),
            _ => &pattern[0],
        };
        while let Some(first) = text.first() {
            if first == wanted {
                (self.text, self.pattern, self.retry) = (text, pattern, Some((text, pattern)));
                return Ok(true);
            }
            text = &text[step(text)..];
        }
        Ok(false)
    }
}

/// A pattern with another escape character, or with none when `escape` is empty, as one whose escape character is `\`.
///
/// # Errors
/// 22025 for an escape of several characters.
pub fn like_escape(pattern: &str, escape: &str) -> Result<String> {
    let letter = only(escape.chars())?;
    Ok(escaped(pattern.chars(), letter, '\\'))
}

/// As [`like_escape`], where characters are bytes.
///
/// # Errors
/// 22025 for an escape of several bytes.
pub(crate) fn like_escape_bytes(pattern: &[u8], escape: &[u8]) -> Result<Vec<u8>> {
    let byte = only(escape.iter().copied())?;
    Ok(escaped(pattern.iter().copied(), byte, b'\\'))
}

fn only<T>(mut escape: impl Iterator<Item = T>) -> Result<Option<T>> {
    let (first, None) = (escape.next(), escape.next()) else {
        return Err(ValueError {
            hint: Some("Escape string must be empty or one character.".into()),
            ..ValueError::new("22025", "invalid escape string")
        });
    };
    Ok(first)
}

fn escaped<T: Copy + PartialEq, P: FromIterator<T>>(
    pattern: impl Iterator<Item = T>,
    escape: Option<T>,
    backslash: T,
) -> P {
    if escape == Some(backslash) {
        return pattern.collect();
    }
    let mut out = Vec::new();
    let mut is_escaped = false;
    for letter in pattern {
        if Some(letter) == escape && !is_escaped {
            out.push(backslash);
            is_escaped = true;
            continue;
        }
        if letter == backslash && !is_escaped {
            out.push(backslash);
        }
        out.push(letter);
        is_escaped = false;
    }
    out.into_iter().collect()
}
