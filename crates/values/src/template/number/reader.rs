//! Digits taken out of a text by a template.

use super::description::{Anchored, Description, Part};

/// A text that is being read.
struct Reader<'r> {
    description: &'r Description,
    text: &'r [u8],
    at: usize,
    sign: Option<u8>,
    digits: String,
    /// Digits before and behind the point.
    before: usize,
    behind: usize,
    has_point: bool,
}

/// The number that a text has in the places of a template, with a space where it has no sign, and how many of its digits are behind the
/// point.
pub(super) fn read(text: &str, description: &Description) -> (String, usize) {
    let mut reader = Reader {
        description,
        text: text.as_bytes(),
        at: 0,
        sign: None,
        digits: String::new(),
        before: 0,
        behind: 0,
        has_point: false,
    };
    for part in &description.parts {
        if reader.peek().is_none() {
            break;
        }
        reader.take(*part);
    }
    let digits = reader.digits.strip_suffix('.').unwrap_or(&reader.digits);
    let sign = char::from(reader.sign.unwrap_or(b' '));
    (format!("{sign}{digits}"), reader.behind)
}

/// The bytes of the character that a byte begins.
fn width(byte: u8) -> usize {
    match byte {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0.. => 4,
        _ => 1,
    }
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, part: Part) {
        match part {
            Part::Digit | Part::Zero | Part::Point => {
                self.take_place(part);
                self.at += 1;
            }
            Part::Comma | Part::Group => {
                if !self.description.is_filled && self.peek() == Some(b',') {
                    self.at += 1;
                }
            }
            Part::Currency => self.skip(1),
            Part::Ordinal(_) => {
                if !self.description.has_point {
                    self.skip(2);
                }
            }
            Part::Minus => self.take_sign(b"-"),
            Part::Plus => self.take_sign(b"+"),
            Part::Sign => self.take_sign(b"-+"),
            Part::Letter(_) => self.at += width(self.text[self.at]),
            Part::Roman(_) | Part::Mark(_) => {}
        }
    }

    fn take_sign(&mut self, signs: &[u8]) {
        match self.peek().filter(|byte| signs.contains(byte)) {
            Some(sign) => {
                self.sign = Some(sign);
                self.at += 1;
            }
            None => self.skip(1),
        }
    }

    /// Skips characters that are of no number.
    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            match self.peek() {
                Some(byte) if !b"0123456789.,+-".contains(&byte) => self.at += width(byte),
                _ => return,
            }
        }
    }

    /// Takes a digit or the point; the caller goes on by one.
    fn take_place(&mut self, part: Part) {
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        if self.peek().is_none() {
            return;
        }
        if self.sign.is_none() && part != Part::Point && self.before + self.behind == 0 {
            self.take_sign_before();
        }
        let Some(next) = self.peek() else { return };
        let mut is_read = false;
        if next.is_ascii_digit() {
            if self.has_point && self.behind == self.description.behind {
                return;
            }
            self.digits.push(char::from(next));
            *(if self.has_point { &mut self.behind } else { &mut self.before }) += 1;
            is_read = true;
        } else if self.description.has_point && !self.has_point && next == b'.' {
            self.digits.push('.');
            (self.has_point, is_read) = (true, true);
        }
        if self.sign.is_none() && self.before + self.behind > 0 {
            self.take_sign_behind(is_read);
        }
    }

    fn take_sign_before(&mut self) {
        let is_anchored = self.description.has_anchored_sign
            && self.description.anchored == Some(Anchored::Before);
        let sign = match self.peek() {
            Some(b'<') if self.description.has_brackets && !is_anchored => Some(b'-'),
            Some(sign @ (b'-' | b'+')) => Some(sign),
            _ => None,
        };
        if sign.is_some() {
            self.sign = sign;
            self.at += 1;
        }
    }

    fn take_sign_behind(&mut self, is_read: bool) {
        let Description { has_anchored_sign, has_plus, has_minus, .. } = self.description;
        let next = self.text.get(self.at + 1).copied();
        if *has_anchored_sign && is_read && next.is_some_and(|next| !next.is_ascii_digit()) {
            if let Some(sign @ (b'-' | b'+')) = next {
                self.sign = Some(sign);
                self.at += 1;
            }
        } else if !is_read && !has_anchored_sign && (*has_plus || *has_minus) {
            self.sign = self.peek().filter(|byte| matches!(byte, b'-' | b'+'));
        }
    }
}
