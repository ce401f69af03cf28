//! `TABLE name`, which is `SELECT * FROM name` where a query may stand.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens that the parser gets.
pub fn spell_out(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut spelled = Vec::with_capacity(tokens.len() + 2);
    let mut begins = true;
    for token in tokens {
        let word = match &token.token {
            Token::Word(word) if word.quote_style.is_none() => word.keyword,
            _ => Keyword::NoKeyword,
        };
        if begins && word == Keyword::TABLE {
            let span = token.span;
            let at = |token| TokenWithSpan { token, span };
            let words = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
            spelled.extend(words.map(at));
            begins = false;
            continue;
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            begins = may_precede_query(&token.token, word);
        }
        spelled.push(token);
    }
    spelled
}

fn may_precede_query(token: &Token, word: Keyword) -> bool {
    use Keyword::{ALL, AS, DISTINCT, EXCEPT, INTERSECT, UNION};
    matches!(token, Token::LParen | Token::RParen | Token::SemiColon)
        || matches!(word, ALL | AS | DISTINCT | EXCEPT | INTERSECT | UNION)
}
