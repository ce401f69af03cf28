//! The tokens of a text, for messages.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};

use super::parse::byte_of;

/// The token at a byte or behind it, as written; `None` at the end.
pub fn token_at(text: &str, byte: usize) -> Option<&str> {
    let tokenized = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location();
    let visible = tokenized.into_iter().flatten();
    let visible = visible.filter(|t| !matches!(t.token, Token::Whitespace(_)));
    let place = |at: Location| byte_of(text, at.line, at.column);
    let mut places = visible.map(|t| (place(t.span.start), place(t.span.end)));
    let (start, end) = places.find(|(start, _)| *start >= byte)?;
    Some(&text[start..end.max(start + 1)])
}
