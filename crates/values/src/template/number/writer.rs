//! Digits put into a template.

use super::description::{Anchored, Description, Mark, Part};
use super::digits::Digits;
use super::roman;
use crate::error::Result;
use crate::template::ordinal;

/// A template that is being filled.
struct Writer<'w> {
    description: &'w Description,
    digits: &'w [u8],
    sign: char,
    spaces: usize,
    anchored: Option<Anchored>,
    has_brackets: bool,
    is_sign_written: bool,
    /// The last digit that is shown where zeros behind the point are not.
    last_relevant: Option<usize>,
    /// The place of the template after which a sign that stands behind is written.
    count: usize,
    /// The digit that is next.
    next: usize,
    /// The place of the template that is next.
    place: usize,
    /// Whether a digit was written at the last place.
    is_within: bool,
    out: String,
}

/// A template with digits in it.
///
/// # Errors
/// 22P02 where an ordinal has no number.
pub(super) fn write(description: &Description, digits: &Digits) -> Result<String> {
    if description.is_scientific {
        return Ok(digits.text.clone());
    }
    if description.is_roman {
        return Ok(write_roman(description, &digits.text));
    }
    let mut writer = Writer::new(description, digits);
    for part in &description.parts {
        writer.push(*part, &digits.text)?;
    }
    // A place behind the last digit ends the text.
    let end = writer.out.find('\0').unwrap_or(writer.out.len());
    writer.out.truncate(end);
    Ok(writer.out)
}

fn write_roman(description: &Description, number: &str) -> String {
    let mut out = String::new();
    for part in &description.parts {
        let is_filled = description.is_filled;
        match part {
            Part::Roman(is_upper) => {
                let number =
                    if *is_upper { number.to_owned() } else { number.to_ascii_lowercase() };
                let width = if is_filled { 0 } else { roman::WIDTH };
                out.push_str(&format!("{number:>width$}"));
            }
            Part::Comma | Part::Group | Part::Minus | Part::Plus if !is_filled => out.push(' '),
            Part::Currency => out.push(' '),
            // There is no sign: what would hold it ends the text.
            Part::Sign => return out,
            Part::Letter(letter) => out.push(*letter),
            _ => {}
        }
    }
    out
}

impl<'w> Writer<'w> {
    fn new(description: &'w Description, digits: &'w Digits) -> Self {
        let (sign, spaces) = (digits.sign, digits.spaces);
        let is_filled = description.is_filled;
        let mut anchored = description.anchored;
        let mut has_brackets = description.has_brackets;
        let is_sign_written = if description.has_plus || description.has_minus {
            description.has_minus
        } else {
            if sign != '-' && is_filled {
                has_brackets = false;
            }
            if anchored == Some(Anchored::Before)
                && description.before == description.before_anchored
            {
                anchored = Some(Anchored::Behind);
            }
            sign == '+' && is_filled && !description.has_anchored_sign
        };
        let count = (description.before + description.behind) as i64 - 1;
        let count = count + i64::from(!is_sign_written && spaces == 0);
        let extra = i64::from(spaces > 0) + i64::from(description.has_point);
        Self {
            description,
            digits: digits.text.as_bytes(),
            sign,
            spaces,
            anchored,
            has_brackets,
            is_sign_written,
            last_relevant: last_relevant(description, digits),
            count: (count + extra).max(0) as usize,
            next: 0,
            place: 0,
            is_within: false,
            out: String::new(),
        }
    }

    fn push(&mut self, part: Part, number: &str) -> Result<()> {
        let is_filled = self.description.is_filled;
        match part {
            Part::Digit | Part::Zero | Part::Point => self.push_place(part),
            Part::Comma | Part::Group if self.is_within => self.out.push(','),
            Part::Comma | Part::Group if !is_filled => self.out.push(' '),
            Part::Currency => self.out.push(' '),
            Part::Minus if self.sign == '-' => self.out.push('-'),
            Part::Plus if self.sign == '+' => self.out.push('+'),
            Part::Minus | Part::Plus if !is_filled => self.out.push(' '),
            Part::Sign => self.out.push(self.sign),
            Part::Ordinal(case) => {
                let has_none =
                    number.starts_with('#') || self.sign == '-' || self.description.has_point;
                if !has_none {
                    self.out.push_str(ordinal::ending(number, case)?);
                }
            }
            Part::Letter(letter) => self.out.push(letter),
            Part::Comma | Part::Group | Part::Minus | Part::Plus => {}
            Part::Roman(_) => unreachable!("Roman numbers are written elsewhere"),
            Part::Mark(Mark::Blank | Mark::Fill | Mark::Anchored | Mark::Brackets) => {}
            Part::Mark(Mark::Multiplied | Mark::Scientific | Mark::Nothing) => {}
        }
        Ok(())
    }

    fn last_is_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.digits[last] == b'.')
    }

    /// Whether the next digit is the zero before the point that `9.9` does not show.
    fn is_hidden_zero(&self) -> bool {
        self.description.zeros_from.is_none()
            && self.next == 0
            && self.digits.first() == Some(&b'0')
            && self.description.behind != 0
    }

    fn push_place(&mut self, part: Part) {
        self.is_within = false;
        let zeros_from = self.description.zeros_from;
        let is_reached = self.place >= self.spaces || zeros_from == Some(self.place);
        if !self.is_sign_written && is_reached && (!self.is_hidden_zero() || self.last_is_point()) {
            self.push_sign();
        }
        if self.place >= self.spaces {
            self.push_digit(part);
        } else if zeros_from.is_some_and(|from| from <= self.place) {
            self.out.push('0');
            self.is_within = true;
        } else if !self.description.is_filled {
            self.out.push(' ');
        }
        let is_last = if self.last_relevant == Some(self.next) {
            false
        } else {
            self.place + 1 == self.count
        };
        if is_last {
            self.push_sign_behind();
        }
        self.place += 1;
    }

    fn push_sign(&mut self) {
        let sign = self.sign;
        if self.description.has_anchored_sign {
            if self.anchored != Some(Anchored::Before) {
                return;
            }
            self.out.push(sign);
        } else if self.has_brackets {
            self.out.push(if sign == '+' { ' ' } else { '<' });
        } else if sign == '-' {
            self.out.push('-');
        } else if !self.description.is_filled {
            self.out.push(' ');
        }
        self.is_sign_written = true;
    }

    fn push_sign_behind(&mut self) {
        if self.is_sign_written && self.has_brackets {
            self.out.push(if self.sign == '+' { ' ' } else { '>' });
        } else if self.description.has_anchored_sign && self.anchored == Some(Anchored::Behind) {
            self.out.push(self.sign);
        }
    }

    fn push_digit(&mut self, part: Part) {
        let digit = self.digits.get(self.next).copied();
        let is_filled = self.description.is_filled;
        if digit == Some(b'.') {
            if !self.last_is_point() || is_filled {
                self.out.push('.');
            }
        } else if self.last_relevant.is_some_and(|last| self.next > last) && part != Part::Zero {
            // Zeros behind the point that are not shown.
        } else if self.is_hidden_zero() {
            if !is_filled {
                self.out.push(' ');
            } else if self.last_is_point() {
                self.out.push('0');
            }
        } else {
            self.out.push(char::from(digit.unwrap_or(0)));
            self.is_within = true;
        }
        if digit.is_some() {
            self.next += 1;
        }
    }
}

/// The last digit behind the point that is shown by `FM`, which leaves out zeros that the template does not ask for.
fn last_relevant(description: &Description, digits: &Digits) -> Option<usize> {
    if !description.is_filled || !description.has_point {
        return None;
    }
    let text = digits.text.as_bytes();
    let point = text.iter().position(|digit| *digit == b'.')?;
    let last = text[point + 1..].iter().rposition(|digit| *digit != b'0');
    let last = last.map_or(point, |last| point + 1 + last);
    let asked = description.zeros_to.checked_sub(digits.spaces).filter(|asked| *asked > 0);
    Some(asked.map_or(last, |asked| last.max(asked.min(text.len() - 1))))
}
