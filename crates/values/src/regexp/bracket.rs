//! What stands in brackets.

use super::class::{self, Class};
use super::fault::Fault;
use super::parse::Parser;
use super::set::Set;
use super::token::Token;

type Result<T> = std::result::Result<T, Fault>;

impl Parser<'_> {
    /// The characters that brackets list; the closing one is not taken.
    pub(super) fn bracket(&mut self) -> Result<Set> {
        let mut ranges = Vec::new();
        self.advance()?;
        while self.token != Token::BracketClose {
            self.bracket_part(&mut ranges)?;
        }
        Ok(Set::of_ranges(ranges))
    }

    fn bracket_part(&mut self, ranges: &mut Vec<(u32, u32)>) -> Result<()> {
        let first = match self.token {
            Token::Plain(code) => {
                self.advance()?;
                code
            }
            Token::NameOpen(b'.') => self.element()?,
            Token::NameOpen(b'=') => {
                let code = self.element()?;
                ranges.push((code, code));
                return Ok(());
            }
            Token::NameOpen(_) => {
                let name = self.name(Fault::Class)?;
                let class = Class::of_name(&name).ok_or(Fault::Class)?;
                ranges.extend_from_slice(class.set(self.flags.is_any_case).ranges());
                return Ok(());
            }
            Token::Class(class, is_complement) => {
                self.advance()?;
                let set = class.set(self.flags.is_any_case);
                let set = if is_complement { set.complement() } else { set };
                ranges.extend_from_slice(set.ranges());
                return Ok(());
            }
            // `a-b-c`.
            _ => return Err(Fault::Range),
        };
        let last = if self.token == Token::Range { self.range_end()? } else { first };
        if first > last {
            return Err(Fault::Range);
        }
        ranges.push((first, last));
        Ok(())
    }

    fn range_end(&mut self) -> Result<u32> {
        self.advance()?;
        match self.token {
            Token::Plain(code) => {
                self.advance()?;
                Ok(code)
            }
            Token::Range => {
                self.advance()?;
                Ok(u32::from('-'))
            }
            Token::NameOpen(b'.') => self.element(),
            _ => Err(Fault::Range),
        }
    }

    /// The character of `[.name.]` or `[=name=]`.
    fn element(&mut self) -> Result<u32> {
        let name = self.name(Fault::CollatingElement)?;
        class::of_name(&name).ok_or(Fault::CollatingElement)
    }

    /// The name up to what closes it, which is taken.
    fn name(&mut self, if_empty: Fault) -> Result<String> {
        let mut name = String::new();
        self.advance()?;
        while let Token::Plain(code) = self.token {
            name.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
            self.advance()?;
        }
        self.advance()?;
        if name.is_empty() { Err(if_empty) } else { Ok(name) }
    }
}
