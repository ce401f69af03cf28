//! `CREATE TABLE name (column, ..) AS query`: the parser wants types there, which PostgreSQL's grammar refuses. Each gets one.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::statement::rewrite::is_word;

/// The tokens that the parser gets.
pub fn give_types(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let Some(names) = names(&tokens) else { return tokens };
    let mut typed = Vec::with_capacity(tokens.len() + names.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        typed.push(token);
        if names.contains(&at) {
            typed.push(TokenWithSpan { token: Token::make_keyword("TEXT"), span });
        }
    }
    typed
}

/// The places of the names, where the first brackets have nothing else in them and AS follows.
fn names(tokens: &[TokenWithSpan]) -> Option<Vec<usize>> {
    let is_blank = |at: &usize| matches!(tokens[*at].token, Token::Whitespace(_));
    let mut places = (0..tokens.len()).filter(|at| !is_blank(at));
    let is = |at: usize, wanted: &str| is_word(&tokens[at].token, &[wanted]);
    places.next().filter(|first| is(*first, "create"))?;
    places.find(|at| is(*at, "table"))?;
    places.find(|at| tokens[*at].token == Token::LParen)?;
    let mut names = Vec::new();
    loop {
        names.push(places.next().filter(|at| matches!(tokens[*at].token, Token::Word(_)))?);
        match &tokens[places.next()?].token {
            Token::Comma => {}
            Token::RParen => break,
            _ => return None,
        }
    }
    places.next().filter(|at| is(*at, "as")).map(|_| names)
}
