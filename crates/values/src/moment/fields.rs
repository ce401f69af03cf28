//! The text of a date, time or interval cut into its fields.

use super::Fault;
use super::words;

/// What a field looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Digits, perhaps with a point.
    Number,
    /// Letters.
    Word,
    /// Parts with `-`, `/` or `.` between, or a zone's name.
    Date,
    /// Digits with `:`.
    Time,
    /// A sign and digits.
    Offset,
    /// A sign and letters.
    Signed,
}

/// A field in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) kind: FieldKind,
    pub(crate) text: String,
}

/// More fields are none of a date's.
const MOST_FIELDS: usize = 25;
/// Characters of all fields together, each with an end.
const MOST_TEXT: usize = 128;

struct Cutter<'t> {
    bytes: &'t [u8],
    at: usize,
    text: String,
}

/// The fields of a text; other punctuation separates as spaces do.
pub(crate) fn split(text: &str) -> Result<Vec<Field>, Fault> {
    let mut cutter = Cutter { bytes: text.as_bytes(), at: 0, text: String::new() };
    let mut fields = Vec::new();
    let mut length = 0;
    while let Some(first) = cutter.peek() {
        if is_space(first) || (first.is_ascii_punctuation() && !b".+-".contains(&first)) {
            cutter.at += 1;
            continue;
        }
        let kind = cutter.field(first)?;
        let text = std::mem::take(&mut cutter.text);
        length += text.len() + 1;
        if fields.len() == MOST_FIELDS || length > MOST_TEXT + 1 {
            return Err(Fault::Format);
        }
        fields.push(Field { kind, text });
    }
    Ok(fields)
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

impl Cutter<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn is_next(&self, wanted: impl Fn(u8) -> bool) -> bool {
        self.peek().is_some_and(wanted)
    }

    fn take(&mut self) {
        self.text.push(self.bytes[self.at].to_ascii_lowercase() as char);
        self.at += 1;
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.is_next(&wanted) {
            self.take();
        }
    }

    fn field(&mut self, first: u8) -> Result<FieldKind, Fault> {
        match first {
            b'0'..=b'9' => Ok(self.number_time_or_date()),
            b'.' => {
                self.take();
                self.take_while(|byte| byte.is_ascii_digit());
                Ok(FieldKind::Number)
            }
            b'+' | b'-' => self.signed(),
            _ if first.is_ascii_alphabetic() => Ok(self.word_or_date()),
            _ => Err(Fault::Format),
        }
    }

    fn number_time_or_date(&mut self) -> FieldKind {
        self.take_while(|byte| byte.is_ascii_digit());
        match self.peek() {
            Some(b':') => {
                self.take_while(|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.');
                FieldKind::Time
            }
            Some(between @ (b'-' | b'/' | b'.')) => self.parts(between),
            _ => FieldKind::Number,
        }
    }

    /// After the digits of a first part.
    fn parts(&mut self, between: u8) -> FieldKind {
        self.take();
        if !self.is_next(|byte| byte.is_ascii_digit()) {
            self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == between);
            return FieldKind::Date;
        }
        self.take_while(|byte| byte.is_ascii_digit());
        if self.is_next(|byte| byte == between) {
            self.take_while(|byte| byte.is_ascii_digit() || byte == between);
            return FieldKind::Date;
        }
        if between == b'.' { FieldKind::Number } else { FieldKind::Date }
    }

    fn word_or_date(&mut self) -> FieldKind {
        self.take_while(|byte| byte.is_ascii_alphabetic());
        let is_date = match self.peek() {
            Some(b'-' | b'/' | b'.') => true,
            // A zone as `EST5EDT`, but not `t040506`.
            Some(b'+' | b'0'..=b'9') => words::word(&self.text).is_none(),
            _ => false,
        };
        if !is_date {
            return FieldKind::Word;
        }
        self.take();
        self.take_while(|byte| byte.is_ascii_alphanumeric() || b"+-/_.:".contains(&byte));
        FieldKind::Date
    }

    fn signed(&mut self) -> Result<FieldKind, Fault> {
        self.take();
        while self.is_next(is_space) {
            self.at += 1;
        }
        match self.peek() {
            Some(byte) if byte.is_ascii_digit() => {
                self.take_while(|byte| byte.is_ascii_digit() || b":.-".contains(&byte));
                Ok(FieldKind::Offset)
            }
            Some(byte) if byte.is_ascii_alphabetic() => {
                self.take_while(|byte| byte.is_ascii_alphabetic());
                Ok(FieldKind::Signed)
            }
            _ => Err(Fault::Format),
        }
    }
}
