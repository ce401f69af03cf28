//! A simple Query's text into statements.

use std::sync::Arc;

use engine::types::{Error, Result};

use super::Session;
use super::prepared::is_checkpoint;
use crate::statement::{alter_sequence, cursor, rewrite};
use crate::template::{characters, parse};

impl Session {
    /// Splits a simple Query's text and plans what can be planned now. Later statements may need
    /// the effects of earlier ones: those are planned when their turn comes. 42601 with a position
    /// before anything runs if any of it does not parse.
    pub fn parse_script(&mut self, text: &str) -> Result<Vec<Arc<str>>> {
        let parts = split(text);
        // A lone statement is parsed when it is prepared, with the same positions.
        if let [(0, part)] = parts.as_slice() {
            return Ok(vec![Arc::from(*part)]);
        }
        for (start, part) in &parts {
            let at = |error| moved(error, characters(text, *start) - 1);
            if is_checkpoint(part)
                || alter_sequence::parse(part)?.is_some()
                || cursor::parse(part).map_err(at)?.is_some()
            {
                continue;
            }
            let rewritten = rewrite::rewrite(part);
            parse(rewritten.as_deref().unwrap_or(part))
                .map_err(|error| moved(error, characters(text, *start) - 1))?;
        }
        Ok(parts.into_iter().map(|(_, part)| Arc::from(part)).collect())
    }
}

/// An error whose position counts from an earlier start.
fn moved(error: Error, by: u32) -> Error {
    match error.position {
        Some(position) => error.position(position + by),
        None => error,
    }
}

/// The statements between semicolons, with the byte where each starts; empty ones are left out.
fn split(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b';' {
            push(&mut parts, text, start, at);
            start = at + 1;
            at += 1;
        } else {
            at = skip(bytes, at);
        }
    }
    push(&mut parts, text, start, bytes.len());
    parts
}

fn push<'a>(parts: &mut Vec<(usize, &'a str)>, text: &'a str, start: usize, end: usize) {
    let part = &text[start..end];
    if !is_blank(part.as_bytes()) {
        parts.push((start, part));
    }
}

/// White space and comments only.
fn is_blank(bytes: &[u8]) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        let is_comment = bytes[at..].starts_with(b"--") || bytes[at..].starts_with(b"/*");
        if !bytes[at].is_ascii_whitespace() && !is_comment {
            return false;
        }
        at = skip(bytes, at);
    }
    true
}

/// The byte after the token, quoted text or comment that starts at `at`.
pub(crate) fn skip(bytes: &[u8], at: usize) -> usize {
    match bytes[at] {
        b'\'' => {
            let escapes = at > 0
                && matches!(bytes[at - 1], b'e' | b'E')
                && (at < 2 || !is_word(bytes[at - 2]));
            quoted(bytes, at, b'\'', escapes)
        }
        b'"' => quoted(bytes, at, b'"', false),
        b'-' if bytes[at..].starts_with(b"--") => {
            bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n + 1)
        }
        b'/' if bytes[at..].starts_with(b"/*") => comment(bytes, at),
        b'$' if at == 0 || !is_word(bytes[at - 1]) => dollar_quoted(bytes, at),
        _ => at + 1,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn quoted(bytes: &[u8], start: usize, quote: u8, escapes: bool) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote => return at + 1, // a doubled quote starts anew
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Comments nest.
fn comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if bytes[at..].starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn dollar_quoted(bytes: &[u8], start: usize) -> usize {
    let tag = bytes[start + 1..].iter().position(|byte| !is_word(*byte));
    let Some(length) = tag.filter(|n| bytes[start + 1 + n] == b'$') else { return start + 1 };
    if length > 0 && bytes[start + 1].is_ascii_digit() {
        return start + 1; // `$1$` is a parameter
    }
    let tag = &bytes[start..start + length + 2];
    let body = start + tag.len();
    let end = bytes[body..].windows(tag.len()).position(|window| window == tag);
    end.map_or(bytes.len(), |n| body + n + tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        split(text).into_iter().map(|(_, part)| part.trim()).collect()
    }

    #[test]
    fn semicolons_inside_quotes_and_comments_do_not_split() {
        assert_eq!(parts("a; b;"), ["a", "b"]);
        assert_eq!(parts("select ';' ; select \";\""), ["select ';'", "select \";\""]);
        assert_eq!(parts("a -- ; \n b; c /* ; /* ; */ */"), ["a -- ; \n b", "c /* ; /* ; */ */"]);
        assert_eq!(parts("select $$;$$; select $x$;$$;$x$"), ["select $$;$$", "select $x$;$$;$x$"]);
        assert_eq!(parts("select E'\\';'; b"), ["select E'\\';'", "b"]);
        assert_eq!(parts(" ; -- nothing\n ;"), Vec::<&str>::new());
        assert_eq!(parts("select $1; select 'it''s;'"), ["select $1", "select 'it''s;'"]);
    }
}
