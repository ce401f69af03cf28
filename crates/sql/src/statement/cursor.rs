//! DECLARE, FETCH, MOVE and CLOSE, as the client writes them.
//!
//! Works on tokens: the parser knows only parts of these. The query of a DECLARE is planned as any other.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use engine::types::{Error, Result, SqlState};

use super::constraint::unsupported;
use super::naming::fold_word;
use super::rewrite::is_word;
use crate::template::byte_of;

/// A statement about cursors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorStatement {
    /// DECLARE
    Declare(Declare),
    /// FETCH, or MOVE, which gives no rows.
    Fetch {
        /// The cursor.
        name: String,
        /// Which rows.
        direction: Direction,
        /// Whether it is a MOVE.
        silent: bool,
    },
    /// CLOSE; `None`: all.
    Close(Option<String>),
}

/// DECLARE name CURSOR FOR query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declare {
    /// The cursor.
    pub name: String,
    /// SCROLL: it can go back.
    pub scroll: bool,
    /// WITH HOLD: it outlives the transaction.
    pub hold: bool,
    /// Where in the statement's text the query starts.
    pub query: usize,
}

/// Which rows of a cursor, seen from where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The next so many; `None`: all that follow.
    Forward(Option<u64>),
    /// The so many before, backwards; `None`: all.
    Backward(Option<u64>),
    /// The one with that number, from the end where it is below zero.
    Absolute(i64),
    /// The one so many further on.
    Relative(i64),
}

/// A statement about cursors, or `None` for any other.
pub fn parse(text: &str) -> Result<Option<CursorStatement>> {
    let first = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
    let first = first.unwrap_or_default().to_ascii_lowercase();
    if !matches!(first.as_str(), "declare" | "fetch" | "move" | "close") {
        return Ok(None);
    }
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location() else {
        return Ok(None);
    };
    let significant = |t: &TokenWithSpan| !matches!(t.token, Token::Whitespace(_));
    let tokens: Vec<TokenWithSpan> = tokens.into_iter().filter(significant).collect();
    let mut reader = Reader { text, tokens: &tokens[1..] };
    let statement = match first.as_str() {
        "declare" => reader.declare()?,
        "close" => reader.close()?,
        word => reader.fetch(word == "move")?,
    };
    Ok(Some(statement))
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [TokenWithSpan],
}

impl Reader<'_> {
    fn syntax_error(&self) -> Error {
        match self.tokens.first() {
            Some(found) if found.token != Token::SemiColon => {
                let at = byte_of(self.text, found.span.start.line, found.span.start.column);
                let message = format!("syntax error at or near \"{}\"", found.token);
                let position = crate::template::characters(self.text, at);
                Error::new(SqlState::SyntaxError, message).position(position)
            }
            _ => Error::new(SqlState::SyntaxError, "syntax error at end of input"),
        }
    }

    /// Whether the next token is one of these words; takes it then.
    fn word(&mut self, words: &[&str]) -> bool {
        let found = self.tokens.first().is_some_and(|found| is_word(&found.token, words));
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.word(&[word]) { Ok(()) } else { Err(self.syntax_error()) }
    }

    fn name(&mut self) -> Result<String> {
        let Some(TokenWithSpan { token: Token::Word(word), .. }) = self.tokens.first() else {
            return Err(self.syntax_error());
        };
        self.tokens = &self.tokens[1..];
        Ok(fold_word(word))
    }

    fn end(&self) -> Result<()> {
        let rest = self.tokens.iter().any(|found| found.token != Token::SemiColon);
        if rest { Err(self.syntax_error()) } else { Ok(()) }
    }

    fn declare(&mut self) -> Result<CursorStatement> {
        let name = self.name()?;
        let (mut scroll, mut refused) = (false, None);
        loop {
            if self.word(&["binary"]) {
                refused = Some(unsupported("DECLARE BINARY CURSOR"));
            } else if self.word(&["scroll"]) {
                scroll = true;
            } else if self.word(&["no"]) {
                self.expect("scroll")?;
            } else if !self.word(&["insensitive", "asensitive"]) {
                break;
            }
        }
        self.expect("cursor")?;
        let hold = self.word(&["with"]);
        if hold || self.word(&["without"]) {
            self.expect("hold")?;
        }
        self.expect("for")?;
        let Some(first) = self.tokens.first() else { return Err(self.syntax_error()) };
        let query = byte_of(self.text, first.span.start.line, first.span.start.column);
        match refused {
            Some(refused) => Err(refused),
            None => Ok(CursorStatement::Declare(Declare { name, scroll, hold, query })),
        }
    }

    fn close(&mut self) -> Result<CursorStatement> {
        let name = if self.word(&["all"]) { None } else { Some(self.name()?) };
        self.end()?;
        Ok(CursorStatement::Close(name))
    }

    fn fetch(&mut self, silent: bool) -> Result<CursorStatement> {
        let before = self.tokens;
        let mut direction = self.direction()?;
        // A cursor may be called as a direction is.
        if direction.is_some() && !self.more() {
            self.tokens = before;
            direction = None;
        }
        if direction.is_some() || self.tokens.len() > 1 {
            self.word(&["from", "in"]);
        }
        let name = self.name()?;
        self.end()?;
        let direction = direction.unwrap_or(Direction::Forward(Some(1)));
        Ok(CursorStatement::Fetch { name, direction, silent })
    }

    fn more(&self) -> bool {
        self.tokens.first().is_some_and(|found| found.token != Token::SemiColon)
    }

    fn direction(&mut self) -> Result<Option<Direction>> {
        Ok(Some(if self.word(&["next"]) {
            Direction::Forward(Some(1))
        } else if self.word(&["prior"]) {
            Direction::Backward(Some(1))
        } else if self.word(&["first"]) {
            Direction::Absolute(1)
        } else if self.word(&["last"]) {
            Direction::Absolute(-1)
        } else if self.word(&["absolute"]) {
            Direction::Absolute(self.number()?.ok_or_else(|| self.syntax_error())?)
        } else if self.word(&["relative"]) {
            Direction::Relative(self.number()?.ok_or_else(|| self.syntax_error())?)
        } else if self.word(&["all"]) {
            Direction::Forward(None)
        } else if self.word(&["forward"]) {
            self.counted(1)?
        } else if self.word(&["backward"]) {
            self.counted(-1)?
        } else {
            match self.number()? {
                Some(count) => towards(count),
                None => return Ok(None),
            }
        }))
    }

    /// What follows FORWARD (`sign` 1) or BACKWARD (-1): ALL, a number, or nothing.
    fn counted(&mut self, sign: i64) -> Result<Direction> {
        if self.word(&["all"]) {
            return Ok(if sign > 0 { Direction::Forward(None) } else { Direction::Backward(None) });
        }
        Ok(towards(self.number()?.unwrap_or(1).saturating_mul(sign)))
    }

    fn number(&mut self) -> Result<Option<i64>> {
        let negative = matches!(self.tokens.first(), Some(t) if t.token == Token::Minus);
        let signed = negative || matches!(self.tokens.first(), Some(t) if t.token == Token::Plus);
        let rest = if signed { &self.tokens[1..] } else { self.tokens };
        let Some(TokenWithSpan { token: Token::Number(digits, _), .. }) = rest.first() else {
            return if signed { Err(self.syntax_error()) } else { Ok(None) };
        };
        let number: i64 = digits.parse().map_err(|_| self.syntax_error())?;
        self.tokens = &rest[1..];
        Ok(Some(if negative { -number } else { number }))
    }
}

fn towards(count: i64) -> Direction {
    match count {
        0.. => Direction::Forward(Some(count.unsigned_abs())),
        _ => Direction::Backward(Some(count.unsigned_abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(text: &str) -> (String, Direction) {
        match parse(text) {
            Ok(Some(CursorStatement::Fetch { name, direction, .. })) => (name, direction),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn directions_are_postgresqls() {
        let one = Direction::Forward(Some(1));
        assert_eq!(fetch("FETCH c"), ("c".into(), one));
        assert_eq!(fetch("fetch from \"C\";"), ("C".into(), one));
        assert_eq!(fetch("FETCH 5 IN c"), ("c".into(), Direction::Forward(Some(5))));
        assert_eq!(fetch("FETCH -2 c"), ("c".into(), Direction::Backward(Some(2))));
        assert_eq!(fetch("MOVE BACKWARD ALL FROM c"), ("c".into(), Direction::Backward(None)));
        assert_eq!(fetch("FETCH FORWARD c"), ("c".into(), one));
        assert_eq!(fetch("FETCH LAST c"), ("c".into(), Direction::Absolute(-1)));
        assert_eq!(fetch("FETCH RELATIVE -1 FROM c"), ("c".into(), Direction::Relative(-1)));
        assert_eq!(fetch("FETCH next"), ("next".into(), one));
    }

    #[test]
    fn declarations_say_where_the_query_is() {
        let text = "DECLARE c NO SCROLL CURSOR WITH HOLD FOR\n SELECT 1";
        let Ok(Some(CursorStatement::Declare(declare))) = parse(text) else { panic!("it is one") };
        assert!(declare.hold && !declare.scroll);
        assert_eq!(&text[declare.query..], "SELECT 1");
        let error = parse("DECLARE c CURSOR SELECT 1").expect_err("no FOR");
        assert_eq!((error.state, error.position), (SqlState::SyntaxError, Some(18)));
        assert_eq!(parse("SELECT 1"), Ok(None));
    }
}
