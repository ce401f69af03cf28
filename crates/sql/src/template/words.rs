//! The words of a text that is no SQL: where PostgreSQL's grammar would stop.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::parse::byte_of;
use super::pieces::{Kind, Pieces};

/// Words that begin a clause and name nothing.
const CLAUSES: [&str; 9] =
    ["from", "where", "group", "order", "having", "limit", "union", "on", "offset"];

/// Words after which the grammar wants a certain word: the fault is at what stands there instead.
const HALVES: [&str; 5] = ["order", "group", "partition", "primary", "not"];

/// The byte of the token at which PostgreSQL's grammar stops, given where ours did and what it said.
pub fn fault_at(text: &str, message: &str, found: usize) -> usize {
    let tokens = starts(text);
    if let Some(at) = clause_after_comma(text, &tokens).filter(|at| *at <= found) {
        return at;
    }
    let second = |first: &str| {
        let begins = word(text, *tokens.first()?).eq_ignore_ascii_case(first);
        begins.then(|| tokens.get(1).copied().unwrap_or(text.len()))
    };
    if let Some(at) = second("delete").filter(|at| !word(text, *at).eq_ignore_ascii_case("from")) {
        return at;
    }
    let half = HALVES.iter().any(|half| word(text, found).eq_ignore_ascii_case(half));
    let unexpected = message.contains("end of statement")
        || message.contains("after column definition")
        || message.contains("ROWS, RANGE");
    if half && unexpected {
        return tokens.iter().copied().find(|at| *at > found).unwrap_or(text.len());
    }
    found
}

/// `SELECT a, FROM t`: nothing stands between the comma and the clause.
fn clause_after_comma(text: &str, tokens: &[usize]) -> Option<usize> {
    let pairs = tokens.windows(2);
    let wrong = |pair: &&[usize]| {
        text[pair[0]..].starts_with(',')
            && CLAUSES.iter().any(|clause| word(text, pair[1]).eq_ignore_ascii_case(clause))
    };
    pairs.into_iter().find(wrong).map(|pair| pair[1])
}

/// The letters that start at a byte.
fn word(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}

/// Where the tokens start.
fn starts(text: &str) -> Vec<usize> {
    tokens(text).into_iter().map(|(start, _)| start).collect()
}

fn tokens(text: &str) -> Vec<(usize, usize)> {
    let tokenized = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location();
    let visible = tokenized.into_iter().flatten();
    let visible = visible.filter(|t| !matches!(t.token, Token::Whitespace(_)));
    let place =
        |at: datafusion::sql::sqlparser::tokenizer::Location| byte_of(text, at.line, at.column);
    visible.map(|t| (place(t.span.start), place(t.span.end))).collect()
}

/// Where the token after the one at a byte starts; the text's length at the end.
pub fn next_token(text: &str, at: usize) -> usize {
    starts(text).into_iter().find(|start| *start > at).unwrap_or(text.len())
}

/// Where a word stands after a byte; the text's length where it does not.
pub fn token_after(text: &str, from: usize, wanted: &str) -> usize {
    let found = starts(text).into_iter().filter(|start| *start >= from);
    let mut found = found.filter(|start| word(text, *start).eq_ignore_ascii_case(wanted));
    found.next().unwrap_or(text.len())
}

/// The token at a byte, as written; `None` at the end.
pub fn token_at(text: &str, byte: usize) -> Option<&str> {
    let (start, end) = tokens(text).into_iter().find(|(start, _)| *start >= byte)?;
    Some(&text[start..end.max(start + 1)])
}

/// Where the quotes or the comment start in which the text ends, and what they are.
pub fn unterminated(text: &str) -> Option<(usize, &'static str)> {
    let open = Pieces::of(text).find(|piece| !piece.closed)?;
    let kind = match open.kind {
        Kind::Name | Kind::UnicodeName => "quoted identifier",
        Kind::Dollar => "dollar-quoted string",
        Kind::Comment => "/* comment",
        _ => "quoted string",
    };
    Some((open.start, kind))
}
