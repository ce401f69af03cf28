//! ALTER SEQUENCE ... RESTART, which the parser does not know.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use engine::types::{Error, Result, SqlState};

use super::constraint::unsupported;
use super::expression::sequence;
use super::rewrite::is_word;
use crate::session::Session;

/// The statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    /// The sequence.
    pub name: String,
    /// IF EXISTS
    pub if_exists: bool,
    /// RESTART WITH; `None`: where it started.
    pub restart: Option<i64>,
}

/// ALTER SEQUENCE, or `None` for any other statement.
pub fn parse(text: &str) -> Result<Option<AlterSequence>> {
    if !text.trim_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("alter")) {
        return Ok(None);
    }
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize() else {
        return Ok(None);
    };
    let tokens: Vec<Token> = tokens
        .into_iter()
        .filter(|t| !matches!(t, Token::Whitespace(_) | Token::SemiColon))
        .collect();
    let [_, second, rest @ ..] = tokens.as_slice() else { return Ok(None) };
    if !is_word(second, &["sequence"]) {
        return Ok(None);
    }
    let (if_exists, rest) = match rest {
        [a, b, after @ ..] if is_word(a, &["if"]) && is_word(b, &["exists"]) => (true, after),
        _ => (false, rest),
    };
    let [Token::Word(name), rest @ ..] = rest else {
        return Err(Error::new(SqlState::SyntaxError, "syntax error at end of input"));
    };
    let name = match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    };
    let number = |digits: &str, sign: i64| {
        digits.parse::<i64>().map(|n| sign * n).map_err(|_| {
            Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{digits}\""))
        })
    };
    let restart = match rest {
        [first] if is_word(first, &["restart"]) => None,
        [first, middle @ .., Token::Number(digits, _)] if is_word(first, &["restart"]) => {
            let sign = if middle.last() == Some(&Token::Minus) { -1 } else { 1 };
            Some(number(digits, sign)?)
        }
        [first, ..] => return Err(unsupported(&format!("ALTER SEQUENCE ... {first}"))),
        [] => return Err(Error::new(SqlState::SyntaxError, "syntax error at end of input")),
    };
    Ok(Some(AlterSequence { name, if_exists, restart }))
}

/// Runs it.
pub async fn run(session: &mut Session, statement: &AlterSequence) -> Result<String> {
    session.refuse_read_only("ALTER SEQUENCE")?;
    let catalog = session.catalog();
    let quoted = super::returning::quoted(&statement.name).to_string();
    let found = match sequence(&catalog, &quoted) {
        Ok(found) => found,
        Err(_) if statement.if_exists => return Ok("ALTER SEQUENCE".to_owned()),
        Err(error) => return Err(error),
    };
    let value = statement.restart.unwrap_or(found.start);
    session.set_sequence(found.id, value, false).await?;
    Ok("ALTER SEQUENCE".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_understood() {
        let restart = |text: &str| parse(text).expect("valid").map(|s| (s.name, s.restart));
        assert_eq!(restart("alter sequence S restart with 5;"), Some(("s".into(), Some(5))));
        assert_eq!(restart("ALTER SEQUENCE \"S\" RESTART"), Some(("S".into(), None)));
        assert_eq!(restart("alter sequence s restart -3"), Some(("s".into(), Some(-3))));
        assert_eq!(restart("alter table t add a int"), None);
        assert_eq!(
            parse("alter sequence s owned by t.a").expect_err("refused").state.code(),
            "0A000"
        );
    }
}
