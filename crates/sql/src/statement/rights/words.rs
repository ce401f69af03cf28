//! The words of a statement, taken one after another.

use datafusion::sql::sqlparser::tokenizer::{Location, Token};
use engine::types::{Error, Result, SqlState};

use super::tree::{Name, RoleSpec};
use crate::statement::naming::fold_word;
use crate::statement::rewrite::is_word;
use crate::template::{byte_of, characters};

/// Tokens without white space, and how many of them are taken.
pub struct Words<'a> {
    /// The statement.
    pub text: &'a str,
    /// All tokens.
    pub tokens: &'a [Token],
    /// Where they begin.
    pub places: &'a [Location],
    /// Those that are taken.
    pub at: usize,
}

impl Words<'_> {
    pub fn granted_by(&mut self) -> Result<Option<RoleSpec>> {
        if self.take_all(&["granted", "by"]) { self.role().map(Some) } else { Ok(None) }
    }

    /// CASCADE or RESTRICT.
    pub fn behavior(&mut self) -> bool {
        let cascade = self.take("cascade");
        if !cascade {
            self.take("restrict");
        }
        cascade
    }

    pub fn roles(&mut self) -> Result<Vec<RoleSpec>> {
        self.list(Words::role)
    }

    pub fn grantees(&mut self) -> Result<Vec<RoleSpec>> {
        self.list(|words| {
            words.take("group");
            words.role()
        })
    }

    pub fn role(&mut self) -> Result<RoleSpec> {
        for (word, role) in [
            ("current_user", RoleSpec::Current),
            ("current_role", RoleSpec::Current),
            ("session_user", RoleSpec::Session),
        ] {
            if self.take(word) {
                return Ok(role);
            }
        }
        match self.name()?.as_str() {
            "public" => Ok(RoleSpec::Public),
            "none" => Err(Error::new(SqlState::InvalidRoleName, "role name \"none\" is reserved")),
            name => Ok(RoleSpec::Named(name.to_owned())),
        }
    }

    pub fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take_token(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub fn qualified(&mut self) -> Result<Name> {
        let mut parts = vec![self.name()?];
        while self.take_token(&Token::Period) {
            parts.push(self.name()?);
        }
        Ok(Name(parts))
    }

    pub fn name(&mut self) -> Result<String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(fold_word(word))
            }
            _ => Err(self.unexpected()),
        }
    }

    pub fn string(&mut self) -> Option<String> {
        let text = match self.tokens.get(self.at)? {
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text.clone(),
            Token::DollarQuotedString(text) => text.value.clone(),
            _ => return None,
        };
        self.at += 1;
        Some(text)
    }

    pub fn expect_string(&mut self) -> Result<String> {
        self.string().ok_or_else(|| self.unexpected())
    }

    pub fn integer(&mut self) -> Result<i32> {
        let sign = if self.take_token(&Token::Minus) { -1 } else { 1 };
        match self.tokens.get(self.at) {
            Some(Token::Number(digits, _)) if digits.parse::<i32>().is_ok() => {
                self.at += 1;
                Ok(sign * digits.parse::<i32>().unwrap_or_default())
            }
            _ => Err(self.unexpected()),
        }
    }

    pub fn peek(&self, word: &str) -> bool {
        self.peek_at(0, word)
    }

    pub fn peek_at(&self, ahead: usize, word: &str) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| is_word(token, &[word]))
    }

    pub fn take(&mut self, word: &str) -> bool {
        let found = self.peek(word);
        self.at += usize::from(found);
        found
    }

    /// All of these words, or none.
    pub fn take_all(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(ahead, word)| self.peek_at(ahead, word));
        self.at += if found { words.len() } else { 0 };
        found
    }

    pub fn take_token(&mut self, wanted: &Token) -> bool {
        let found = self.tokens.get(self.at) == Some(wanted);
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, word: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub fn expect_token(&mut self, wanted: &Token) -> Result<()> {
        if self.take_token(wanted) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub fn end(&self) -> Result<()> {
        if self.at == self.tokens.len() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// 42601, where the words stop making sense. A string is not repeated: it may be a password.
    pub fn unexpected(&self) -> Error {
        let place = self.places.get(self.at);
        let byte = place.map_or(self.text.len(), |at| byte_of(self.text, at.line, at.column));
        self.unexpected_word().position(characters(self.text, byte))
    }

    fn unexpected_word(&self) -> Error {
        match self.tokens.get(self.at) {
            None => syntax("syntax error at end of input".to_owned()),
            Some(Token::Word(word)) => {
                syntax(format!("syntax error at or near \"{}\"", word.value))
            }
            Some(Token::Number(digits, _)) => {
                syntax(format!("syntax error at or near \"{digits}\""))
            }
            Some(Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_)) => {
                syntax("syntax error at or near a string".to_owned())
            }
            Some(other) => syntax(format!("syntax error at or near \"{other}\"")),
        }
    }
}

/// 42601.
pub fn syntax(message: String) -> Error {
    Error::new(SqlState::SyntaxError, message)
}
