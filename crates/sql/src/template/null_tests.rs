//! `value ISNULL` and `value NOTNULL`, which are `value IS NULL` and `value IS NOT NULL`.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::statement::rewrite::is_word;

/// The tokens that the parser gets. Behind AS and a point the words are names, before a bracket functions'.
pub fn spell_out(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut spelled = Vec::with_capacity(tokens.len() + 2);
    let mut may_follow = false;
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let is_called = rest.peek().is_some_and(|next| next.token == Token::LParen);
        let words: &[&str] = match &token.token {
            _ if !may_follow || is_called => &[],
            own if is_word(own, &["isnull"]) => &["IS", "NULL"],
            own if is_word(own, &["notnull"]) => &["IS", "NOT", "NULL"],
            _ => &[],
        };
        if !matches!(token.token, Token::Whitespace(_)) {
            may_follow = token.token != Token::Period && !is_word(&token.token, &["as"]);
        }
        match words {
            [] => spelled.push(token),
            words => {
                let span = token.span;
                let word = |word: &&str| TokenWithSpan { token: Token::make_keyword(word), span };
                spelled.extend(words.iter().map(word));
            }
        }
    }
    spelled
}
