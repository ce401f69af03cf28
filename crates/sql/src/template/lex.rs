//! A statement's text, cut into a normalised key and its literals, in one pass over the bytes.
//!
//! This is what an unprepared statement pays on a cache hit, so there is no AST and no allocation beyond the
//! caller's [`Scratch`]. White space and comments become one blank, unquoted words become lower case, numbers
//! become `#` and plain strings `'`. Every other kind of literal (`E'..'`, `$$..$$`, `B'..'`) stays in the key.

/// What kind of literal a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// Digits only.
    Integer,
    /// With a point or an exponent.
    Decimal,
    /// `'...'`
    String,
}

/// A literal of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiteralToken {
    /// Its kind.
    pub kind: LiteralKind,
    /// Its first byte in the text; for strings the opening quote.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

impl LiteralToken {
    /// The literal's value as text: quotes removed, doubled quotes halved.
    pub fn value<'a>(&self, text: &'a str) -> std::borrow::Cow<'a, str> {
        let raw = &text[self.start..self.end];
        if self.kind != LiteralKind::String {
            return raw.into();
        }
        let inner = &raw[1..raw.len() - 1];
        if inner.contains('\'') { inner.replace("''", "'").into() } else { inner.into() }
    }
}

/// Buffers to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The normalised text.
    pub key: Vec<u8>,
    /// The literals, in order.
    pub literals: Vec<LiteralToken>,
}

/// Cuts `text` into `scratch`; `false` where the text is not well formed (the parser will say why).
pub fn scan(text: &str, scratch: &mut Scratch) -> bool {
    scratch.key.clear();
    scratch.literals.clear();
    let mut lexer = Lexer { bytes: text.as_bytes(), at: 0, blank: false, scratch };
    lexer.run()
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// White space was met since the last token.
    blank: bool,
    scratch: &'a mut Scratch,
}

/// What may stand beside what without a blank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Operator,
    Separator,
}

fn class(byte: u8) -> Class {
    match byte {
        b'(' | b')' | b',' | b';' | b'[' | b']' => Class::Separator,
        b'\'' | b'"' | b'#' | b'.' => Class::Word,
        _ if is_word(byte) => Class::Word,
        _ => Class::Operator,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

impl Lexer<'_> {
    fn run(&mut self) -> bool {
        while self.at < self.bytes.len() {
            if !self.token() {
                return false;
            }
        }
        self.trim();
        true
    }

    /// A trailing blank or semicolon does not change what a statement means.
    fn trim(&mut self) {
        while matches!(self.scratch.key.last(), Some(b' ' | b';')) {
            self.scratch.key.pop();
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn token(&mut self) -> bool {
        let byte = self.bytes[self.at];
        let white = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c);
        let comment = matches!((byte, self.peek(1)), (b'-', b'-') | (b'/', b'*'));
        if !white && !comment {
            self.separate(byte);
        }
        match byte {
            _ if white => self.blank(),
            b'-' if self.peek(1) == b'-' => self.line_comment(),
            b'/' if self.peek(1) == b'*' => return self.block_comment(),
            b'\'' => return self.string(),
            b'"' => return self.quoted(b'"'),
            b'$' => return self.dollar(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            _ if is_word_start(byte) => return self.word(),
            _ => {
                self.scratch.key.push(byte);
                self.at += 1;
            }
        }
        true
    }

    fn blank(&mut self) {
        self.blank = true;
        self.at += 1;
    }

    /// Between two tokens a blank stays only where they would run together without it.
    fn separate(&mut self, next: u8) {
        let before = self.scratch.key.last().copied();
        if std::mem::take(&mut self.blank)
            && let Some(before) = before
            && class(before) == class(next)
            && class(next) != Class::Separator
        {
            self.scratch.key.push(b' ');
        }
    }

    fn line_comment(&mut self) {
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.at += 1;
        }
        self.at -= 1; // `blank` steps over one byte
        self.blank();
    }

    fn block_comment(&mut self) -> bool {
        let mut depth = 0;
        while self.at < self.bytes.len() {
            match (self.bytes[self.at], self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
            if depth == 0 {
                self.at -= 1;
                self.blank();
                return true;
            }
        }
        false
    }

    fn string(&mut self) -> bool {
        let start = self.at;
        if !self.skip_quoted(b'\'') {
            return false;
        }
        let literal = LiteralToken { kind: LiteralKind::String, start, end: self.at };
        self.scratch.literals.push(literal);
        self.scratch.key.push(b'\'');
        true
    }

    /// Steps over `'...'` or `"..."` with doubled quotes inside.
    fn skip_quoted(&mut self, quote: u8) -> bool {
        self.at += 1;
        loop {
            let Some(length) = self.bytes[self.at..].iter().position(|b| *b == quote) else {
                return false;
            };
            self.at += length + 1;
            if self.peek(0) != quote {
                return true;
            }
            self.at += 1;
        }
    }

    /// Keeps a quoted token as it is.
    fn quoted(&mut self, quote: u8) -> bool {
        let start = self.at;
        let closed = self.skip_quoted(quote);
        self.scratch.key.extend_from_slice(&self.bytes[start..self.at]);
        closed
    }

    /// `$1`, or a dollar-quoted string, which stays in the key.
    fn dollar(&mut self) -> bool {
        let start = self.at;
        self.at += 1;
        if self.peek(0).is_ascii_digit() {
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
            self.scratch.key.extend_from_slice(&self.bytes[start..self.at]);
            return true;
        }
        while is_word(self.peek(0)) && self.peek(0) != b'$' {
            self.at += 1;
        }
        if self.peek(0) != b'$' {
            return false;
        }
        self.at += 1;
        let tag = &self.bytes[start..self.at];
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.windows(tag.len()).position(|window| window == tag) else {
            return false;
        };
        self.at += end + tag.len();
        self.scratch.key.extend_from_slice(&self.bytes[start..self.at]);
        true
    }

    fn number(&mut self) {
        let start = self.at;
        let mut kind = LiteralKind::Integer;
        self.digits();
        if self.peek(0) == b'.' {
            kind = LiteralKind::Decimal;
            self.at += 1;
            self.digits();
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
            kind = LiteralKind::Decimal;
            self.at += 1 + sign;
            self.digits();
        }
        self.scratch.literals.push(LiteralToken { kind, start, end: self.at });
        self.scratch.key.push(b'#');
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn word(&mut self) -> bool {
        let start = self.at;
        while is_word(self.peek(0)) && self.at < self.bytes.len() {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        self.scratch.key.extend(word.iter().map(u8::to_ascii_lowercase));
        let prefix = matches!(word, [b'e' | b'E' | b'b' | b'B' | b'x' | b'X' | b'n' | b'N']);
        if prefix && self.peek(0) == b'\'' {
            return self.prefixed_string(word);
        }
        true
    }

    /// `E'..'` knows backslash escapes; these strings stay in the key.
    fn prefixed_string(&mut self, prefix: &[u8]) -> bool {
        let escapes = matches!(prefix, [b'e' | b'E']);
        let start = self.at;
        if !escapes {
            return self.quoted(b'\'');
        }
        self.at += 1;
        while self.at < self.bytes.len() {
            match (self.bytes[self.at], self.peek(1)) {
                (b'\\', _) | (b'\'', b'\'') => self.at += 2,
                (b'\'', _) => {
                    self.at += 1;
                    self.scratch.key.extend_from_slice(&self.bytes[start..self.at]);
                    return true;
                }
                _ => self.at += 1,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> (String, Vec<String>) {
        let mut scratch = Scratch::default();
        assert!(scan(text, &mut scratch), "{text}");
        let literals = scratch.literals.iter().map(|l| l.value(text).into_owned()).collect();
        (String::from_utf8(scratch.key).unwrap(), literals)
    }

    #[test]
    fn literals_case_blanks_and_comments_do_not_count() {
        let (a, literals) =
            key("SELECT  i_title FROM Item -- all\n WHERE i_id=42 /* x /* y */ */ ;");
        let (b, _) = key("select i_title from item where i_id=7");
        assert_eq!(a, b);
        assert_eq!(literals, ["42"]);
    }

    #[test]
    fn strings_lose_quotes_and_quoted_names_keep_case() {
        let (text, literals) = key("select \"Na\"\"me\" from t where a = 'it''s' and b like '%x%'");
        assert_eq!(text, "select \"Na\"\"me\" from t where a=' and b like '");
        assert_eq!(literals, ["it's", "%x%"]);
    }

    #[test]
    fn other_literals_stay_in_the_key() {
        let (text, literals) = key("select E'a\\'b', $$x'y$$, $tag$ z $tag$, t1.c2, $3");
        assert_eq!(text, "select e'a\\'b',$$x'y$$,$tag$ z $tag$,t1.c2,$3");
        assert!(literals.is_empty());
    }

    #[test]
    fn numbers_of_every_spelling() {
        let (text, literals) = key("select 1, 1.5, .5, 1e3, 1.5e-3, 2.");
        assert_eq!(text, "select #,#,#,#,#,#");
        assert_eq!(literals, ["1", "1.5", ".5", "1e3", "1.5e-3", "2."]);
    }

    #[test]
    fn unfinished_tokens_are_refused() {
        for text in ["select 'a", "select \"a", "select $$a", "/* a", "select E'a\\'"] {
            assert!(!scan(text, &mut Scratch::default()), "{text}");
        }
    }
}
