//! Text to statements, for the parser that plans are made of. PostgreSQL's grammar has taken the text before: what is refused here
//! is what this parser does not know.

use datafusion::sql::sqlparser::ast::Statement;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{TokenWithSpan, Tokenizer};
use engine::types::{Error, Result, SqlState};

use super::{
    column_names, comparisons, lock_words, null_tests, overriding, symmetric, table_word, unnest,
    words,
};
use crate::bounded::{Counted, check_length, check_tokens, check_widths, checkpoint, flatten};

/// Calls of itself after which the parser gives up with 54001: more than [`check_tokens`] lets come about.
const DEPTH_LIMIT: usize = 50_000;

/// Parses a script; an empty text gives no statement.
pub fn parse(text: &str) -> Result<Vec<Statement>> {
    let statements = parse_plainly(text)?;
    statements.iter().try_for_each(unnest::check)?;
    let rewrite = |mut statement| {
        crate::dialect::name_types(&mut statement);
        comparisons::spell_out(&mut statement);
        crate::dialect::rewrite_statement(statement, text)
    };
    Ok(statements.into_iter().map(rewrite).collect())
}

fn parse_plainly(text: &str) -> Result<Vec<Statement>> {
    check_length(text)?;
    let faulty = |error| syntax_error(text, &error);
    let mut tokens = tokens(text).map_err(faulty)?;
    check_tokens(&tokens)?;
    checkpoint()?;
    let symmetric = crate::dialect::mentions(text, "symmetric");
    if symmetric {
        tokens = symmetric::mark(tokens);
    }
    if crate::dialect::mentions(text, "share") || crate::dialect::mentions(text, "update") {
        tokens = lock_words::mark(tokens);
    }
    if crate::dialect::mentions(text, "table") {
        tokens = column_names::give_types(table_word::spell_out(tokens));
    }
    if crate::dialect::mentions(text, "overriding") {
        tokens = overriding::mark(tokens);
    }
    if crate::dialect::mentions(text, "isnull") || crate::dialect::mentions(text, "notnull") {
        tokens = null_tests::spell_out(tokens);
    }
    let dialect = Counted::new(tokens.len());
    let parser = Parser::new(&dialect).with_recursion_limit(DEPTH_LIMIT);
    let parsed = parser.with_tokens_with_locations(tokens).parse_statements();
    let mut statements = parsed.map_err(faulty)?;
    statements.iter().try_for_each(check_widths)?;
    statements.iter_mut().for_each(flatten);
    if symmetric {
        statements.iter_mut().for_each(symmetric::spell_out);
    }
    Ok(statements)
}

fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, ParserError> {
    Ok(Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location()?)
}

fn syntax_error(text: &str, error: &ParserError) -> Error {
    let message = match error {
        ParserError::RecursionLimitExceeded => {
            return Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded");
        }
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
    };
    let position = match place_of(message) {
        Some((line, column)) => byte_of(text, line, column),
        None => text.len(),
    };
    if message.contains("found: ") {
        return near(text, position);
    }
    let plain = message.split(" at Line").next().unwrap_or(message);
    let said = format!("syntax error: {plain}");
    Error::new(SqlState::SyntaxError, said).position(characters(text, position))
}

/// PostgreSQL's grammar has taken the text: what this parser does not know of it is refused by name. Options of COPY are not of the
/// grammar.
pub fn not_known(text: &str, error: Error) -> Error {
    let is_copy = text.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"));
    if error.state != SqlState::SyntaxError || is_copy {
        return error;
    }
    let place = error.message.strip_prefix("syntax error at or near ");
    let place = place.map_or_else(String::new, |token| format!(", from {token} on"));
    let said = format!("this statement is not supported{place}");
    let hint = "PostgreSQL has it, SharedDB does not run it yet.";
    let refused = Error::new(SqlState::FeatureNotSupported, said).hint(hint);
    match error.position {
        Some(position) => refused.position(position),
        None => refused,
    }
}

/// A token at which the text stops being SQL.
pub fn near(text: &str, byte: usize) -> Error {
    let said = match words::token_at(text, byte) {
        Some(token) => format!("syntax error at or near \"{token}\""),
        None => "syntax error at end of input".to_owned(),
    };
    Error::new(SqlState::SyntaxError, said).position(characters(text, byte))
}

/// The line and the column at the end of a parser's message.
fn place_of(message: &str) -> Option<(u64, u64)> {
    let (_, rest) = message.rsplit_once("Line: ")?;
    let (line, column) = rest.split_once(", Column: ")?;
    let digits = column.find(|c: char| !c.is_ascii_digit()).unwrap_or(column.len());
    Some((line.parse().ok()?, column[..digits].parse().ok()?))
}

/// The byte where a line and a column, both counted from 1 in characters, lie.
pub fn byte_of(text: &str, line: u64, column: u64) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(length) => start += length + 1,
            None => return text.len(),
        }
    }
    let skip = column.saturating_sub(1) as usize;
    text[start..].char_indices().nth(skip).map_or(text.len(), |(byte, _)| start + byte)
}

/// The position, in characters counted from 1, of a byte.
pub fn characters(text: &str, byte: usize) -> u32 {
    text[..byte].chars().count() as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_errors_name_the_token_and_the_place() {
        let error = parse("SELECT a b\nFRM item").unwrap_err();
        assert_eq!(error.state, SqlState::SyntaxError);
        assert_eq!(error.message, "syntax error at or near \"FRM\"");
        assert_eq!(error.position, Some(12));
        let error = parse("SELECT 1 +").unwrap_err();
        assert_eq!(error.message, "syntax error at end of input");
        assert_eq!(error.position, Some(11));
    }

    #[test]
    fn deep_nesting() {
        let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
        assert_eq!(parse(&deep).unwrap_err().state, SqlState::StatementTooComplex);
    }

    #[test]
    fn places_count_characters() {
        assert_eq!(byte_of("äb\nçd", 2, 2), 6);
        assert_eq!(characters("äb", 2), 2);
    }
}
