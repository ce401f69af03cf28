//! PostgreSQL's spellings that the parser does not know, in words that it does.
//!
//! Works on tokens, so that nothing inside a string or a comment is touched: COPY's switches `on`
//! and `off` and its `*`, and the options of sequences, which PostgreSQL takes in any order.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use engine::types::Result;

use super::constraint::unsupported;
use super::copy::ALL;

/// The statement in other words; `None` where nothing needs to change.
pub fn rewrite(text: &str) -> Option<String> {
    let apply = match first_word(text)?.as_str() {
        "copy" => switches,
        "create" | "alter" => sequence_options,
        _ => return None,
    };
    let changed = apply(&tokens(text)?)?;
    Some(changed.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}

/// 0A000 for what the parser would call a fault of syntax: SET NULL and SET DEFAULT of some of a foreign key's columns.
pub fn refuse(text: &str) -> Result<()> {
    if !matches!(first_word(text).as_deref(), Some("create" | "alter")) {
        return Ok(());
    }
    let tokens = tokens(text).unwrap_or_default();
    let is_refused = |part: &[Token]| {
        is_word(&part[0], &["delete"])
            && is_word(&part[1], &["set"])
            && is_word(&part[2], &["null", "default"])
            && part[3] == Token::LParen
    };
    match tokens.windows(4).any(is_refused) {
        true => {
            let message = "SET NULL and SET DEFAULT of some of a foreign key's columns";
            Err(unsupported(message).hint("Without the list of columns all of them are set."))
        }
        false => Ok(()),
    }
}

fn first_word(text: &str) -> Option<String> {
    let first = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next()?;
    Some(first.to_ascii_lowercase())
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().ok()?;
    Some(tokens.into_iter().filter(|t| !matches!(t, Token::Whitespace(_))).collect())
}

/// Whether a token is one of these words, unquoted.
pub fn is_word(token: &Token, words: &[&str]) -> bool {
    match token {
        Token::Word(word) if word.quote_style.is_none() => {
            words.iter().any(|w| word.value.eq_ignore_ascii_case(w))
        }
        _ => false,
    }
}

/// `freeze on` is `freeze true`, and `force_quote *` names the column that there cannot be.
fn switches(tokens: &[Token]) -> Option<Vec<Token>> {
    let mut changed = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let all = Token::make_word(ALL, Some('"'));
        match (&tokens[..at], token, tokens.get(at + 1)) {
            ([.., option], Token::Mul, Some(Token::Comma | Token::RParen))
                if is_word(option, &["force_quote"]) =>
            {
                changed.extend([Token::LParen, all, Token::RParen]);
            }
            ([.., force, quote], Token::Mul, _)
                if is_word(force, &["force"]) && is_word(quote, &["quote"]) =>
            {
                changed.push(all);
            }
            ([.., option], ..) if is_word(option, &["freeze", "header"]) => {
                changed.push(switched(token));
            }
            _ => changed.push(token.clone()),
        }
    }
    (changed != tokens).then_some(changed)
}

/// A switch's value in the parser's words.
fn switched(value: &Token) -> Token {
    match value {
        Token::Number(digits, _) if digits == "1" => Token::make_keyword("true"),
        Token::Number(digits, _) if digits == "0" => Token::make_keyword("false"),
        other if is_word(other, &["on"]) => Token::make_keyword("true"),
        other if is_word(other, &["off"]) => Token::make_keyword("false"),
        other => other.clone(),
    }
}

/// Runs of sequence options in the order that the parser wants.
fn sequence_options(tokens: &[Token]) -> Option<Vec<Token>> {
    let mut changed = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        // An identity column's sequence has its usual name here.
        at += named(&tokens[at..]).filter(|_| changed.last() == Some(&Token::LParen)).unwrap_or(0);
        let in_sequence = at > 0
            && (is_word(&tokens[1], &["sequence"])
                || matches!(changed.as_slice(), [.., identity, Token::LParen]
                    if is_word(identity, &["identity"])));
        let mut options = if in_sequence { options_at(&tokens[at..]) } else { Vec::new() };
        if options.is_empty() {
            changed.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += options.iter().map(|option| option.1.len()).sum::<usize>();
        options.sort_by_key(|option| option.0);
        changed.extend(options.into_iter().flat_map(|option| option.1.to_vec()));
    }
    (changed != tokens).then_some(changed)
}

/// The length of `SEQUENCE NAME schema.name`.
fn named(tokens: &[Token]) -> Option<usize> {
    match tokens {
        [a, b, rest @ ..] if is_word(a, &["sequence"]) && is_word(b, &["name"]) => {
            let qualified = rest.get(1) == Some(&Token::Period);
            Some(if qualified { 5 } else { 3 })
        }
        _ => None,
    }
}

/// The options that follow each other here: the place of each in the parser's order, and its
/// tokens.
fn options_at(tokens: &[Token]) -> Vec<(usize, &[Token])> {
    let mut found = Vec::new();
    let mut rest = tokens;
    while let Some((place, length)) = option_at(rest) {
        found.push((place, &rest[..length]));
        rest = &rest[length..];
    }
    found
}

fn option_at(tokens: &[Token]) -> Option<(usize, usize)> {
    const ORDER: [&str; 6] = ["increment", "minvalue", "maxvalue", "start", "cache", "cycle"];
    let first = tokens.first()?;
    if is_word(first, &["no"]) {
        let place = ORDER.iter().position(|word| is_word(&tokens[1], &[word]))?;
        return Some((place, 2));
    }
    let place = ORDER.iter().position(|word| is_word(first, &[word]))?;
    if place == 5 {
        return Some((place, 1));
    }
    let mut length = 1;
    if tokens.get(length).is_some_and(|token| is_word(token, &["by", "with"])) {
        length += 1;
    }
    if matches!(tokens.get(length), Some(Token::Minus | Token::Plus)) {
        length += 1;
    }
    Some((place, length + 1)).filter(|(_, length)| *length <= tokens.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_rewritten() {
        let rewritten = rewrite("copy t from stdin with (freeze on, header 0)");
        assert_eq!(
            rewritten.as_deref(),
            Some("copy t from stdin with ( freeze true , header false )")
        );
        assert_eq!(
            rewrite("copy t to stdout (format csv, force_quote *)").as_deref(),
            Some("copy t to stdout ( format csv , force_quote ( \"\" ) )")
        );
        assert_eq!(
            rewrite("copy t to stdout csv force quote *").as_deref(),
            Some("copy t to stdout csv force quote \"\"")
        );
        assert_eq!(rewrite("copy (select force_quote * 2, quote * 3 from t) to stdout"), None);
        assert_eq!(rewrite("copy t from stdin"), None);
        assert_eq!(rewrite("select 1"), None);
    }

    #[test]
    fn sequence_options_are_sorted() {
        let rewritten = rewrite("create sequence s start with 5 no cycle increment by -2");
        assert_eq!(
            rewritten.as_deref(),
            Some("create sequence s increment by - 2 start with 5 no cycle")
        );
        let rewritten = rewrite(
            "alter table t alter a add generated always as identity (sequence name p.s start 5 increment 2)",
        );
        assert_eq!(
            rewritten.as_deref(),
            Some("alter table t alter a add generated always as identity ( increment 2 start 5 )")
        );
        assert_eq!(rewrite("create sequence s increment 2 start 5"), None);
        assert_eq!(rewrite("create table t (start int, increment int)"), None);
    }
}
