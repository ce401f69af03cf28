//! A statement's text, cut into a normalised key and its literals, in one pass over the bytes.
//!
//! This is what an unprepared statement pays on a cache hit, so there is no AST and no allocation beyond the
//! caller's [`Scratch`]. White space becomes one blank, unquoted words become lower case, numbers and strings a byte
//! that says of what kind they are and stands for nothing else. Equal keys must mean equal statements: comments, prefixed
//! and dollar-quoted literals, literals that go on in another line and control characters get no key. Such texts
//! take the parser (comments and most literals only where [`plain`](super::plain) leaves them).

use super::pieces::is_word_start;

/// What kind of literal a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// Digits only, an `integer`.
    Integer,
    /// Digits only, too many for an `integer`: a `bigint`.
    BigInteger,
    /// Digits only, too many for a `bigint`: a `numeric`.
    HugeInteger,
    /// With a point or an exponent.
    Decimal,
    /// `'...'`
    String,
}

impl LiteralKind {
    /// Whether it is a number without point and exponent.
    pub fn is_whole(self) -> bool {
        matches!(self, LiteralKind::Integer | LiteralKind::BigInteger | LiteralKind::HugeInteger)
    }

    /// What stands for it in the key.
    fn mark(self) -> u8 {
        match self {
            LiteralKind::Integer => 1,
            LiteralKind::BigInteger => 2,
            LiteralKind::HugeInteger => 3,
            LiteralKind::Decimal => 4,
            LiteralKind::String => STRING,
        }
    }

    fn of_digits(digits: &[u8]) -> LiteralKind {
        const INTEGER: &[u8] = b"2147483647";
        const BIG: &[u8] = b"9223372036854775807";
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let digits = &digits[zeros..];
        let fits = |largest: &[u8]| (digits.len(), digits) <= (largest.len(), largest);
        match () {
            () if fits(INTEGER) => LiteralKind::Integer,
            () if fits(BIG) => LiteralKind::BigInteger,
            () => LiteralKind::HugeInteger,
        }
    }
}

/// Stands for a string in the key.
const STRING: u8 = 5;

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

/// Cuts `text` into `scratch`; `false` where it has no key.
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
        b'\'' | b'"' | b'.' | ..=STRING => Class::Word,
        _ if is_word(byte) => Class::Word,
        _ => Class::Operator,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
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
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c) {
            self.blank = true;
            self.at += 1;
            return true;
        }
        self.separate(byte);
        match byte {
            b'-' if self.peek(1) == b'-' => false,
            b'/' if self.peek(1) == b'*' => false,
            b'\'' => self.string(),
            b'"' => self.quoted(),
            b'$' => self.parameter(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            _ if is_word_start(byte) => self.word(),
            _ => {
                self.scratch.key.push(byte);
                self.at += 1;
                !byte.is_ascii_control()
            }
        }
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

    fn string(&mut self) -> bool {
        // It may go on with the string before it.
        let follows = matches!(self.scratch.key.as_slice(), [.., STRING] | [.., STRING, b' ']);
        let start = self.at;
        if follows || !self.skip_quoted(b'\'') {
            return false;
        }
        self.literal(LiteralKind::String, start);
        true
    }

    fn literal(&mut self, kind: LiteralKind, start: usize) {
        self.scratch.literals.push(LiteralToken { kind, start, end: self.at });
        self.scratch.key.push(kind.mark());
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

    /// Keeps a quoted name as it is.
    fn quoted(&mut self) -> bool {
        let start = self.at;
        let closed = self.skip_quoted(b'"');
        self.scratch.key.extend_from_slice(&self.bytes[start..self.at]);
        closed
    }

    /// `$1`
    fn parameter(&mut self) -> bool {
        let start = self.at;
        self.at += 1;
        self.digits();
        self.scratch.key.extend_from_slice(&self.bytes[start..self.at]);
        self.at > start + 1 && !is_word(self.peek(0))
    }

    fn number(&mut self) -> bool {
        let start = self.at;
        self.digits();
        let mut kind = LiteralKind::of_digits(&self.bytes[start..self.at]);
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
        self.literal(kind, start);
        !is_word(self.peek(0))
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// A word, unless it is the prefix of a literal or a name.
    fn word(&mut self) -> bool {
        let start = self.at;
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        self.scratch.key.extend(word.iter().map(u8::to_ascii_lowercase));
        let quoted = |byte: u8| matches!(byte, b'\'' | b'"');
        !(quoted(self.peek(0)) || word.len() == 1 && self.peek(0) == b'&' && quoted(self.peek(1)))
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
    fn literals_case_and_blanks_do_not_count() {
        let (a, literals) = key("SELECT  i_title FROM Item \r\n WHERE i_id=42 ;");
        let (b, _) = key("select i_title from item where i_id=7");
        assert_eq!(a, b);
        assert_eq!(literals, ["42"]);
    }

    #[test]
    fn strings_lose_quotes_and_quoted_names_keep_case() {
        let (text, literals) = key("select \"Na\"\"me\" from t where a = 'it''s' and b like '%x%'");
        assert_eq!(text, "select \"Na\"\"me\" from t where a=\u{5} and b like \u{5}");
        assert_eq!(literals, ["it's", "%x%"]);
    }

    #[test]
    fn what_others_may_cut_otherwise_has_no_key() {
        let texts = [
            "delete from t -- c\r where a = 1",
            "select 1 /* 2 */",
            "select E'a'",
            "select u&'3'",
            "select U&\"a\"",
            "select b\"a\"",
            "select $$a$$",
            "select $1a",
            "select 1a",
            "select 'a'\n'b'",
            "select 'a' 'b'",
            "select 1 \u{1}",
        ];
        for text in texts {
            assert!(!scan(text, &mut Scratch::default()), "{text}");
        }
    }

    #[test]
    fn operators_do_not_run_into_literals() {
        assert_ne!(key("select 5 # 3").0, key("select # 5 3").0);
        assert_eq!(key("select u & '3'").0, key("select u &'4'").0);
    }

    #[test]
    fn whole_numbers_are_of_the_type_that_holds_them() {
        let kind = |digits: &str| LiteralKind::of_digits(digits.as_bytes());
        assert_eq!(kind("0002147483647"), LiteralKind::Integer);
        assert_eq!(kind("2147483648"), LiteralKind::BigInteger);
        assert_eq!(kind("9223372036854775807"), LiteralKind::BigInteger);
        assert_eq!(kind("9223372036854775808"), LiteralKind::HugeInteger);
    }

    #[test]
    fn numbers_of_every_spelling() {
        let (text, literals) = key("select 1, 1.5, .5, 1e3, 1.5e-3, 2.");
        assert_eq!(text, "select \u{1},\u{4},\u{4},\u{4},\u{4},\u{4}");
        assert_eq!(literals, ["1", "1.5", ".5", "1e3", "1.5e-3", "2."]);
    }

    #[test]
    fn unfinished_tokens_are_refused() {
        for text in ["select 'a", "select \"a"] {
            assert!(!scan(text, &mut Scratch::default()), "{text}");
        }
    }
}
