//! A text, cut where PostgreSQL's lexer (`scan.l` of 15) cuts it.
//!
//! The one place that knows where strings, names and comments begin and end. What splits a script at its semicolons,
//! names an unterminated string or makes a text [`plain`](super::plain) goes by it.

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// White space.
    Blank,
    /// `-- ..` to the end of its line, `/* .. */`
    Comment,
    /// A name or a key word, without quotes.
    Word,
    /// `".."`
    Name,
    /// `U&".."`
    UnicodeName,
    /// `'..'`
    String,
    /// `E'..'`
    Escaped,
    /// `U&'..'`
    Unicode,
    /// `B'..'`, `X'..'`
    Bits,
    /// `N'..'`
    National,
    /// `$$..$$`, `$tag$..$tag$`
    Dollar,
    /// A number.
    Number,
    /// `$1`
    Parameter,
    /// One byte of anything else.
    Symbol,
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: Kind,
    /// Its first byte.
    pub start: usize,
    /// The opening quote of what is quoted, else its first byte.
    pub open: usize,
    /// One past its last byte.
    pub end: usize,
    /// Whether it ends before the text does, where it has an end of its own.
    pub closed: bool,
}

impl Piece {
    /// As written.
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }

    /// Neither white space nor a comment.
    pub fn is_visible(&self) -> bool {
        !matches!(self.kind, Kind::Blank | Kind::Comment)
    }
}

/// The pieces of a text, one behind the other, from its first byte to its last.
pub struct Pieces<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Pieces<'a> {
    /// Over a text.
    pub fn of(text: &'a str) -> Pieces<'a> {
        Pieces { bytes: text.as_bytes(), at: 0 }
    }

    /// Over a text from a byte on at which a piece starts.
    pub fn from(text: &'a str, at: usize) -> Pieces<'a> {
        Pieces { bytes: text.as_bytes(), at }
    }

    /// A string, read as one in which backslashes escape.
    pub fn escaped(text: &'a str, piece: Piece) -> Piece {
        let mut pieces = Pieces::from(text, piece.open);
        let closed = pieces.quoted(b'\'', true);
        Piece { end: pieces.at, closed, ..piece }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|byte| belongs(*byte)) {
            self.at += 1;
        }
    }

    /// Steps over a piece: its kind, where its quotes open, and whether it is whole.
    fn step(&mut self) -> (Kind, usize, bool) {
        let start = self.at;
        match (self.bytes[start], self.peek(1)) {
            (byte, _) if is_blank(byte) => {
                self.skip(is_blank);
                (Kind::Blank, start, true)
            }
            (b'-', b'-') => {
                self.skip(|byte| byte != b'\n' && byte != b'\r');
                (Kind::Comment, start, true)
            }
            (b'/', b'*') => (Kind::Comment, start, self.comment()),
            (b'\'', _) => (Kind::String, start, self.quoted(b'\'', false)),
            (b'"', _) => (Kind::Name, start, self.quoted(b'"', false)),
            (b'$', _) => self.dollar(),
            (b'0'..=b'9', _) | (b'.', b'0'..=b'9') => {
                self.number();
                (Kind::Number, start, true)
            }
            (byte, _) if is_word_start(byte) => self.word(),
            _ => {
                self.at += 1;
                (Kind::Symbol, start, true)
            }
        }
    }

    /// Comments nest.
    fn comment(&mut self) -> bool {
        let mut depth = 0;
        while self.at < self.bytes.len() {
            match (self.bytes[self.at], self.peek(1)) {
                (b'/', b'*') => (self.at, depth) = (self.at + 2, depth + 1),
                (b'*', b'/') => (self.at, depth) = (self.at + 2, depth - 1),
                _ => self.at += 1,
            }
            if depth == 0 {
                return true;
            }
        }
        false
    }

    /// From the opening quote to the closing one, doubled quotes inside.
    fn quoted(&mut self, quote: u8, escapes: bool) -> bool {
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'\\' if escapes => self.at += 2,
                byte if byte == quote && self.peek(1) == quote => self.at += 2,
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return true;
                    }
                }
            }
        }
        self.at = self.bytes.len();
        false
    }

    fn dollar(&mut self) -> (Kind, usize, bool) {
        let start = self.at;
        self.at += 1;
        if self.peek(0).is_ascii_digit() {
            self.skip(|byte| byte.is_ascii_digit());
            return (Kind::Parameter, start, true);
        }
        if is_word_start(self.peek(0)) {
            self.skip(|byte| is_word(byte) && byte != b'$');
        }
        if self.peek(0) != b'$' {
            self.at = start + 1;
            return (Kind::Symbol, start, true);
        }
        self.at += 1;
        let tag = &self.bytes[start..self.at];
        let end = self.bytes[self.at..].windows(tag.len()).position(|window| window == tag);
        self.at = end.map_or(self.bytes.len(), |length| self.at + length + tag.len());
        (Kind::Dollar, start, end.is_some())
    }

    fn number(&mut self) {
        let digit = |byte: u8| byte.is_ascii_digit();
        self.skip(digit);
        if self.peek(0) == b'.' {
            self.at += 1;
            self.skip(digit);
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
            self.at += 1 + sign;
            self.skip(digit);
        }
    }

    /// A word, or the literal or name whose prefix it is.
    fn word(&mut self) -> (Kind, usize, bool) {
        let start = self.at;
        self.skip(is_word);
        let lone = (self.at == start + 1).then(|| self.bytes[start].to_ascii_lowercase());
        let kind = match (lone, self.peek(0), self.peek(1)) {
            (Some(b'e'), b'\'', _) => Kind::Escaped,
            (Some(b'b' | b'x'), b'\'', _) => Kind::Bits,
            (Some(b'n'), b'\'', _) => Kind::National,
            (Some(b'u'), b'&', b'\'') => Kind::Unicode,
            (Some(b'u'), b'&', b'"') => Kind::UnicodeName,
            _ => return (Kind::Word, start, true),
        };
        self.at += usize::from(self.peek(0) == b'&');
        let open = self.at;
        let closed = self.quoted(self.bytes[open], kind == Kind::Escaped);
        (kind, open, closed)
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let (kind, open, closed) = self.step();
        Some(Piece { kind, start, open, end: self.at, closed })
    }
}

/// Where in a text that has it what follows the first such word starts: for words that no name before them can be.
pub fn behind(text: &str, word: &str) -> usize {
    let mut pieces = Pieces::of(text).filter(Piece::is_visible);
    let first = pieces.find(|piece| piece.of(text).eq_ignore_ascii_case(word));
    first.and_then(|_| pieces.next()).map_or(text.len(), |next| next.start)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Whether a word may start with that byte.
pub fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_word(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(Kind, &str)> {
        Pieces::of(text)
            .filter(Piece::is_visible)
            .map(|piece| (piece.kind, piece.of(text)))
            .collect()
    }

    #[test]
    fn prefixes_belong_to_what_they_stand_before() {
        use Kind::*;
        assert_eq!(
            pieces("e'\\'' xe'\\' u&'a' u & 'a' U&\"b\" n'' x'f' b'0'"),
            [
                (Escaped, "e'\\''"),
                (Word, "xe"),
                (String, "'\\'"),
                (Unicode, "u&'a'"),
                (Word, "u"),
                (Symbol, "&"),
                (String, "'a'"),
                (UnicodeName, "U&\"b\""),
                (National, "n''"),
                (Bits, "x'f'"),
                (Bits, "b'0'"),
            ]
        );
    }

    #[test]
    fn comments_end_with_their_line_and_nest() {
        use Kind::*;
        assert_eq!(pieces("a -- b\rc"), [(Word, "a"), (Word, "c")]);
        assert_eq!(pieces("a/* /* */ ; */b"), [(Word, "a"), (Word, "b")]);
        assert_eq!(
            pieces("1-/*/**/*/-2"),
            [(Number, "1"), (Symbol, "-"), (Symbol, "-"), (Number, "2")]
        );
    }

    #[test]
    fn dollars() {
        use Kind::*;
        assert_eq!(
            pieces("a$$b $1 $$'$$ $x$ $$ $x$ $"),
            [
                (Word, "a$$b"),
                (Parameter, "$1"),
                (Dollar, "$$'$$"),
                (Dollar, "$x$ $$ $x$"),
                (Symbol, "$"),
            ]
        );
    }
}
