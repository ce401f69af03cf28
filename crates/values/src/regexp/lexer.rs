//! Patterns cut into tokens, which depend on where they stand.

use super::escape;
use super::fault::Fault;
use super::flags::Flags;
use super::token::{Anchor, Token};

type Result<T> = std::result::Result<T, Fault>;

/// Where a character stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Basic,
    Extended,
    Literal,
    /// Between braces, of a basic or an extended expression.
    Bound,
    Brackets,
    /// Within `[.`, `[=` or `[:`: the character that ends it.
    Name(u8),
}

/// What is left of a pattern.
pub(super) struct Lexer<'p> {
    pub(super) pattern: &'p [u32],
    pub(super) at: usize,
    pub(super) flags: Flags,
    place: Place,
    last: Token,
    /// Groups that were opened, on which the meaning of `\12` depends.
    pub(super) groups: usize,
}

impl<'p> Lexer<'p> {
    /// # Errors
    /// For a prefix that means nothing.
    pub(super) fn new(pattern: &'p [u32], flags: Flags) -> Result<Self> {
        let mut flags = flags;
        if flags.are_contradictory() {
            return Err(Fault::Argument);
        }
        let at = flags.take_prefix(pattern)?;
        let place = match flags {
            Flags { is_literal: true, .. } => Place::Literal,
            Flags { is_extended: true, .. } => Place::Extended,
            _ => Place::Basic,
        };
        Ok(Self { pattern, at, flags, place, last: Token::Start, groups: 0 })
    }

    /// The next token; [`Token::End`] for ever at the end.
    pub(super) fn next(&mut self) -> Result<Token> {
        let token = loop {
            if let Some(token) = self.token()? {
                break token;
            }
        };
        self.last = token;
        Ok(token)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.pattern.get(self.at).and_then(|code| char::from_u32(*code))
    }

    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let is_next = self.pattern[self.at..].iter().copied().take(wanted.len());
        if !is_next.eq(wanted.bytes().map(u32::from)) {
            return false;
        }
        self.at += wanted.len();
        true
    }

    /// Whether a quantifier takes as much as it can: a `?` behind it says no.
    fn is_greedy(&mut self) -> bool {
        !(self.flags.is_advanced && self.eat("?"))
    }

    /// White space and comments.
    fn skip(&mut self) {
        loop {
            while self.peek().is_some_and(|c| c.is_ascii_whitespace() || c == '\u{b}') {
                self.at += 1;
            }
            if self.peek() != Some('#') {
                return;
            }
            while self.peek_code().is_some_and(|code| code != u32::from('\n')) {
                self.at += 1;
            }
        }
    }

    fn peek_code(&self) -> Option<u32> {
        self.pattern.get(self.at).copied()
    }

    /// The next token; `None` for a comment.
    fn token(&mut self) -> Result<Option<Token>> {
        let is_skipped = matches!(self.place, Place::Basic | Place::Extended | Place::Bound);
        if self.flags.is_expanded && is_skipped {
            self.skip();
        }
        let Some(code) = self.peek_code() else {
            return match self.place {
                Place::Bound => Err(Fault::Braces),
                Place::Brackets | Place::Name(_) => Err(Fault::Brackets),
                _ => Ok(Some(Token::End)),
            };
        };
        self.at += 1;
        let letter = char::from_u32(code).unwrap_or('\u{FFFD}');
        let place = self.place;
        match place {
            Place::Literal => Ok(Some(Token::Plain(code))),
            Place::Basic => self.basic(letter, code).map(Some),
            Place::Extended => self.extended(letter, code),
            Place::Bound => self.bound(letter).map(Some),
            Place::Brackets => self.in_brackets(letter, code).map(Some),
            Place::Name(end) if letter == char::from(end) && self.eat("]") => {
                self.place = Place::Brackets;
                Ok(Some(Token::NameClose))
            }
            Place::Name(_) => Ok(Some(Token::Plain(code))),
        }
    }

    fn outside(&self) -> Place {
        if self.flags.is_extended { Place::Extended } else { Place::Basic }
    }

    fn bound(&mut self, letter: char) -> Result<Token> {
        match letter {
            '0'..='9' => Ok(Token::Digit(letter as u32 - '0' as u32)),
            ',' => Ok(Token::Comma),
            '}' if self.flags.is_extended => {
                self.place = Place::Extended;
                Ok(Token::BoundClose(self.is_greedy()))
            }
            '\\' if !self.flags.is_extended && self.eat("}") => {
                self.place = Place::Basic;
                Ok(Token::BoundClose(true))
            }
            _ => Err(Fault::Count),
        }
    }

    fn in_brackets(&mut self, letter: char, code: u32) -> Result<Token> {
        let is_first = matches!(self.last, Token::Bracket { .. });
        match letter {
            '\\' if self.flags.is_advanced => {
                if self.peek_code().is_none() {
                    return Err(Fault::Escape);
                }
                match escape::escape(self)? {
                    token @ (Token::Plain(_) | Token::Class(..)) => Ok(token),
                    _ => Err(Fault::Escape),
                }
            }
            '-' if !is_first && self.peek() != Some(']') => Ok(Token::Range),
            ']' if !is_first => {
                self.place = self.outside();
                Ok(Token::BracketClose)
            }
            '[' => match self.peek() {
                None => Err(Fault::Brackets),
                Some(kind @ ('.' | '=' | ':')) => {
                    self.at += 1;
                    self.place = Place::Name(kind as u8);
                    Ok(Token::NameOpen(kind as u8))
                }
                Some(_) => Ok(Token::Plain(code)),
            },
            _ => Ok(Token::Plain(code)),
        }
    }

    /// Behind a `[`: what it opens.
    fn bracket(&mut self) -> Token {
        if self.eat("[:<:]]") {
            return Token::Anchor(Anchor::WordStart);
        }
        if self.eat("[:>:]]") {
            return Token::Anchor(Anchor::WordEnd);
        }
        self.place = Place::Brackets;
        Token::Bracket { is_complement: self.eat("^") }
    }

    fn extended(&mut self, letter: char, code: u32) -> Result<Option<Token>> {
        Ok(Some(match letter {
            '|' => Token::Or,
            '*' => Token::Repeat(0, None, self.is_greedy()),
            '+' => Token::Repeat(1, None, self.is_greedy()),
            '?' => Token::Repeat(0, Some(1), self.is_greedy()),
            '{' => {
                if self.flags.is_expanded {
                    self.skip();
                }
                if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
                    return Ok(Some(Token::Plain(code)));
                }
                self.place = Place::Bound;
                Token::BoundOpen
            }
            '(' if self.flags.is_advanced && self.eat("?") => return self.parenthesis(),
            '(' => Token::Open { captures: true },
            ')' => Token::Close,
            '[' => self.bracket(),
            '.' => Token::Any,
            '^' => Token::Anchor(Anchor::Start),
            '$' => Token::Anchor(Anchor::End),
            '\\' => {
                let next = self.peek_code().ok_or(Fault::Escape)?;
                if !self.flags.is_advanced {
                    self.at += 1;
                    return Ok(Some(Token::Plain(next)));
                }
                escape::escape(self)?
            }
            _ => Token::Plain(code),
        }))
    }

    /// What `(?` begins; `None` for a comment.
    fn parenthesis(&mut self) -> Result<Option<Token>> {
        if self.eat("#") {
            while self.peek_code().is_some_and(|code| code != u32::from(')')) {
                self.at += 1;
            }
            self.eat(")");
            return Ok(None);
        }
        let forms = [
            (":", Token::Open { captures: false }),
            ("=", Token::Look { is_ahead: true, is_positive: true }),
            ("!", Token::Look { is_ahead: true, is_positive: false }),
            ("<=", Token::Look { is_ahead: false, is_positive: true }),
            ("<!", Token::Look { is_ahead: false, is_positive: false }),
        ];
        let found = forms.into_iter().find(|(text, _)| self.eat(text));
        found.map(|(_, token)| Some(token)).ok_or(Fault::Quantifier)
    }

    /// Whether an asterisk has nothing to repeat.
    fn is_at_start(&self) -> bool {
        let starts = |token| matches!(token, Token::Start | Token::Open { .. } | Token::Or);
        starts(self.last) || self.last == Token::Anchor(Anchor::Start)
    }

    fn basic(&mut self, letter: char, code: u32) -> Result<Token> {
        Ok(match letter {
            '*' if self.is_at_start() => Token::Plain(code),
            '*' => Token::Repeat(0, None, true),
            '[' => self.bracket(),
            '.' => Token::Any,
            '^' if matches!(self.last, Token::Start | Token::Open { .. }) => {
                Token::Anchor(Anchor::Start)
            }
            '$' => {
                if self.flags.is_expanded {
                    self.skip();
                }
                let is_before_close =
                    self.pattern[self.at..].starts_with(&[u32::from('\\'), u32::from(')')]);
                if self.peek_code().is_none() || is_before_close {
                    return Ok(Token::Anchor(Anchor::End));
                }
                Token::Plain(code)
            }
            '\\' => {
                let next = self.peek_code().ok_or(Fault::Escape)?;
                self.at += 1;
                self.basic_escape(next)
            }
            _ => Token::Plain(code),
        })
    }

    fn basic_escape(&mut self, code: u32) -> Token {
        match char::from_u32(code) {
            Some('{') => {
                self.place = Place::Bound;
                Token::BoundOpen
            }
            Some('(') => Token::Open { captures: true },
            Some(')') => Token::Close,
            Some('<') => Token::Anchor(Anchor::WordStart),
            Some('>') => Token::Anchor(Anchor::WordEnd),
            Some('1'..='9') => Token::BackReference(code - u32::from('0')),
            _ => Token::Plain(code),
        }
    }
}
