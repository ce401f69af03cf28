//! A text in the words that all readers of texts agree on.
//!
//! PostgreSQL's lexer, the parser's and the cache's differ in comments, in literals with prefixes and in those that go on in
//! another line; each difference is a statement that means something else. So whoever reads a client's text reads it plain:
//! comments and odd white space are blanks, `U&'..'` and literals in several pieces are one literal without a prefix, and
//! what the parser would cut otherwise is refused; names that are too long are cut. As many characters lie before each token as in the
//! client's text, so that positions stay right. PostgreSQL's grammar has taken the text before.

use std::borrow::Cow;

use engine::types::{Error, Result, SqlState};

use super::long_names::shortened;
use super::parse::{characters, near};
use super::pieces::{Kind, Piece, Pieces};

/// The text, plain.
pub fn plain(text: &str) -> Result<Cow<'_, str>> {
    let mut made = String::new();
    let mut at = 0;
    while let Some(piece) = Pieces::from(text, at).next() {
        let (written, end) = match rewritten(text, piece)? {
            Some((written, end)) => (written, end),
            None if made.is_empty() => {
                at = piece.end;
                continue;
            }
            None => (piece.of(text).to_owned(), piece.end),
        };
        if made.is_empty() {
            made = text[..at].to_owned();
        }
        made.push_str(&padded(written, &text[at..end]));
        at = end;
    }
    Ok(if made.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(made) })
}

/// What stands for a piece, and where what it stands for ends; `None` where it stays as it is.
fn rewritten(text: &str, piece: Piece) -> Result<Option<(String, usize)>> {
    if !piece.closed {
        return Ok(None);
    }
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    match piece.kind {
        Kind::Comment => Ok(Some((piece.of(text).chars().map(blank).collect(), piece.end))),
        Kind::Blank if piece.of(text).contains(['\r', '\x0c']) => {
            Ok(Some((piece.of(text).replace(['\r', '\x0c'], " "), piece.end)))
        }
        Kind::String | Kind::Escaped | Kind::Bits | Kind::National => joined(text, piece),
        Kind::Unicode => decoded(text, piece),
        Kind::UnicodeName => {
            let decoded = decoded(text, piece)?;
            Ok(decoded.map(|(name, end)| (short(name), end)))
        }
        _ => {
            agrees(text, piece)?;
            Ok(shortened(text, piece).map(|name| (name, piece.end)))
        }
    }
}

/// A name in quotes, cut where it is too long.
fn short(name: String) -> String {
    let piece = Pieces::of(&name).find(|piece| piece.kind == Kind::Name);
    piece.and_then(|piece| shortened(&name, piece)).unwrap_or(name)
}

fn has_odd_tag(quoted: &str) -> bool {
    !quoted.split('$').nth(1).unwrap_or_default().is_ascii()
}

/// As many characters as in what it stands for.
fn padded(mut written: String, stood: &str) -> String {
    let missing = stood.chars().count().saturating_sub(written.chars().count());
    written.extend(std::iter::repeat_n(' ', missing));
    written
}

/// 42601 for what the parser would take for something that PostgreSQL's lexer does not see in it.
fn agrees(text: &str, piece: Piece) -> Result<()> {
    let next = text.as_bytes().get(piece.end).copied().unwrap_or(b' ');
    match piece.kind {
        // `b".."` would be a literal.
        Kind::Word if next == b'"' && piece.of(text).eq_ignore_ascii_case("b") => {
            Err(near(text, piece.end))
        }
        // A tag of other letters would be no tag.
        Kind::Dollar if has_odd_tag(piece.of(text)) => Err(near(text, piece.start)),
        Kind::Symbol if text.as_bytes()[piece.start].is_ascii_control() => {
            Err(near(text, piece.start))
        }
        _ => Ok(()),
    }
}

/// A literal that goes on after a line's end, in one piece.
fn joined(text: &str, first: Piece) -> Result<Option<(String, usize)>> {
    let mut end = first.end;
    let mut written = first.of(text).to_owned();
    while let Some(next) = continuation(text, end, first.kind == Kind::Escaped) {
        written.pop();
        written.push_str(&text[next.open + 1..next.end]);
        end = next.end;
    }
    // The parser would take a backslash there for an escape.
    if first.kind == Kind::Bits && written.contains('\\') {
        let message = "\"\\\" is not a valid digit";
        let fault = Error::new(SqlState::InvalidTextRepresentation, message);
        return Err(fault.position(characters(text, first.start)));
    }
    Ok((end > first.end).then_some((written, end)))
}

/// The piece of a literal that follows one which ends at a byte: between them lies the end of a line.
fn continuation(text: &str, from: usize, escapes: bool) -> Option<Piece> {
    let mut lines = false;
    for piece in Pieces::from(text, from) {
        match piece.kind {
            Kind::Comment if piece.of(text).starts_with("--") => {}
            Kind::Blank => lines |= piece.of(text).contains(['\n', '\r']),
            Kind::String if lines => {
                let piece = if escapes { Pieces::escaped(text, piece) } else { piece };
                return piece.closed.then_some(piece);
            }
            _ => return None,
        }
    }
    None
}

/// `U&'..'` without prefix and escapes, which PostgreSQL's scanner has checked.
fn decoded(text: &str, first: Piece) -> Result<Option<(String, usize)>> {
    let (mut written, mut end) = match first.kind {
        Kind::Unicode => {
            joined(text, first)?.unwrap_or_else(|| (first.of(text).to_owned(), first.end))
        }
        _ => (first.of(text).to_owned(), first.end),
    };
    written.drain(..first.open - first.start);
    let quote = written.remove(0);
    written.pop();
    let mut escape = '\\';
    if let Some((given, after)) = uescape(text, end) {
        (escape, end) = (given, after);
    }
    // Nor is it a prefix's behind `u&`.
    let apart = if text[..first.start].ends_with('&') { " " } else { "" };
    let value = unescaped(&written, quote, escape);
    Ok(value.map(|value| (format!("{apart}{quote}{value}{quote}"), end)))
}

/// `UESCAPE '!'` behind a byte: the character, and where the clause ends.
fn uescape(text: &str, from: usize) -> Option<(char, usize)> {
    let mut visible = Pieces::from(text, from).filter(Piece::is_visible);
    visible.next().filter(|word| word.of(text).eq_ignore_ascii_case("uescape"))?;
    let given = visible.next()?;
    Some((text[given.start + 1..].chars().next()?, given.end))
}

/// What lies between the quotes, its escapes replaced; doubled quotes stay doubled, an escaped one becomes so.
fn unescaped(inside: &str, quote: char, escape: char) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != escape {
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        if let Some(after) = rest.strip_prefix(escape) {
            rest = after;
            units.extend(escape.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        let (from, digits) = if rest.starts_with('+') { (1, 6) } else { (0, 4) };
        let hexadecimal = rest.get(from..from + digits)?;
        let code = hexadecimal.chars().try_fold(0, |code, c| Some(code * 16 + c.to_digit(16)?))?;
        rest = &rest[from + digits..];
        match code {
            0 => return None,
            // Two of these make one character.
            0xd800..=0xdfff => units.push(code as u16),
            _ if code == quote as u32 => units.extend([code as u16, code as u16]),
            _ => units.extend(char::from_u32(code)?.encode_utf16(&mut [0; 2]).iter()),
        }
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let plain = plain(text).expect("it is plain");
        assert_eq!(plain.chars().count(), text.chars().count(), "{text:?}");
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn plain_texts_stay() {
        let texts = ["", "select 'a', \"B\", $1, 1.5e3, $$x$$ where a->'b' = E'\\''\n", "'open"];
        for text in texts {
            assert!(matches!(plain(text), Ok(Cow::Borrowed(same)) if same == text), "{text}");
        }
    }

    #[test]
    fn comments_end_at_a_carriage_return() {
        assert_eq!(of("delete from t -- c\r where a = 1"), "delete from t where a = 1");
        assert_eq!(of("delete from t -- c\n where a = 1"), "delete from t where a = 1");
        assert_eq!(of("select/* ä /* */ */1\x0c+--\n2"), "select 1 + 2");
    }

    #[test]
    fn literals_become_one_without_prefix() {
        assert_eq!(of("select U&'d\\0061t\\+000061''\\0027'"), "select 'data'''''");
        assert_eq!(of("select U&'d!0061' uescape '!', 1"), "select 'da' , 1");
        assert_eq!(of("select U&\"d\\0061\\0027\" from u&'x'"), "select \"da'\" from 'x'");
        assert_eq!(of("select U&'\\d83d\\de00'"), "select '😀'");
        assert_eq!(of("select u&U&\"a\""), "select u& \"a\"");
        assert_eq!(of("select 'a'\n  'b' -- c\n'c', 'd' 'e'"), "select 'abc' , 'd' 'e'");
        assert_eq!(of("select E'a\\''\n'\\'b' where c = 1"), "select E'a\\'\\'b' where c = 1");
    }

    #[test]
    fn what_the_parser_would_cut_otherwise_is_refused() {
        for text in ["select b\"a\"", "select X'\\', 'a'", "a \x0b b", "select $\u{e4}$ $\u{e4}$"] {
            assert!(plain(text).is_err(), "{text}");
        }
    }
}
