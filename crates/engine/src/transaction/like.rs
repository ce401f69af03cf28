//! `LIKE` and `ILIKE` on one string.

use crate::types::{Error, Result, SqlState};

/// Whether `text` matches `pattern`: `%` any run of characters, `_` one character, `\` takes the next one
/// literally; 22025 where it has no next. Case-insensitive matching folds both sides to lower case.
pub fn like(text: &str, pattern: &str, case_insensitive: bool) -> Result<bool> {
    if case_insensitive {
        return matches(text.to_lowercase().as_bytes(), pattern.to_lowercase().as_bytes());
    }
    matches(text.as_bytes(), pattern.as_bytes())
}

/// Greedy matching with one point of return, the last `%`: a later `%` makes an earlier one irrelevant, so the
/// work is at most text × pattern.
fn matches(text: &[u8], pattern: &[u8]) -> Result<bool> {
    let (mut at, mut next) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if pattern.get(next) == Some(&b'%') {
            retry = Some((at, next + 1));
            next += 1;
            continue;
        }
        let step = match (at < text.len(), next < pattern.len()) {
            (false, false) => return Ok(true),
            (false, true) => return rest_is_wild(&pattern[next..]),
            (true, false) => None,
            (true, true) => one_character(&text[at..], &pattern[next..])?,
        };
        match (step, &mut retry) {
            (Some((text_step, pattern_step)), _) => {
                at += text_step;
                next += pattern_step;
            }
            (None, Some((from, after))) => {
                *from += character_length(text[*from]);
                (at, next) = (*from, *after);
            }
            (None, None) => return Ok(false),
        }
    }
}

/// The text is used up and the pattern goes on: with something other than `%`, so there is no match, but a
/// dangling escape is still an error.
fn rest_is_wild(pattern: &[u8]) -> Result<bool> {
    if pattern == b"\\" { Err(dangling_escape()) } else { Ok(false) }
}

/// Matches one character of the text with one element of the pattern: the bytes that both take.
fn one_character(text: &[u8], pattern: &[u8]) -> Result<Option<(usize, usize)>> {
    match pattern[0] {
        b'_' => Ok(Some((character_length(text[0]), 1))),
        b'\\' => match pattern.get(1) {
            Some(literal) => Ok((*literal == text[0]).then_some((1, 2))),
            None => Err(dangling_escape()),
        },
        literal => Ok((literal == text[0]).then_some((1, 1))),
    }
}

fn dangling_escape() -> Error {
    Error::new(SqlState::InvalidEscape, "LIKE pattern must not end with escape character")
}

fn character_length(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_postgres() {
        let cases = [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "_b_", true),
            ("abc", "_", false),
            ("äöü", "_ö_", true),
            ("äöü", "___", true),
            ("", "%", true),
            ("", "", true),
            ("", "_", false),
            ("a%c", r"a\%c", true),
            ("abc", r"a\%c", false),
            (r"a\c", r"a\\c", true),
            ("aaaaab", "%a%ab", true),
            ("mississippi", "%iss%ip_i", true),
            ("mississippi", "%iss%ip_", false),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(like(text, pattern, false), Ok(expected), "{text} LIKE {pattern}");
        }
        assert_eq!(like("ÄBC", "äb%", true), Ok(true));
    }

    #[test]
    fn a_dangling_escape_is_an_error() {
        assert_eq!(like("a", "a\\", false).unwrap_err().state, SqlState::InvalidEscape);
        assert_eq!(like("ab", "a\\", false).unwrap_err().state, SqlState::InvalidEscape);
    }
}
