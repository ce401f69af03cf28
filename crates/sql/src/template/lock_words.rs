//! `FOR NO KEY UPDATE`, `FOR KEY SHARE`, `OF a, b` and what stands before LIMIT, which the parser does not know.
//!
//! In front of the parser `FOR NO KEY UPDATE OF a, b NOWAIT` becomes `FOR UPDATE OF "no key".a NOWAIT FOR UPDATE OF "no key".b NOWAIT`,
//! all with the places of the words that they stand for, and goes behind LIMIT; whoever reads the clauses asks [`of`] and [`mode`].

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Ident, LockClause, LockType, Query, Visit, Visitor};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use engine::transaction::LockMode;
use engine::types::{Error, Result, SqlState};

const NO_KEY: &str = "no key";
const KEY: &str = "key";
/// Where the clause names no table.
const ALL: &str = "every table";

/// How strongly a clause locks.
pub fn mode(lock: &LockClause) -> LockMode {
    let first = lock.of.as_ref().and_then(|of| of.0.first()?.as_ident());
    let is_marked = |mark| first.is_some_and(|name| is_mark(name, mark));
    match lock.lock_type {
        LockType::Update if is_marked(NO_KEY) => LockMode::NoKeyUpdate,
        LockType::Update => LockMode::Update,
        LockType::Share if is_marked(KEY) => LockMode::KeyShare,
        LockType::Share => LockMode::Share,
    }
}

/// The words of a clause, for messages.
pub fn words(lock: &LockClause) -> &'static str {
    of_mode(mode(lock))
}

/// The words for a mode.
pub fn of_mode(mode: LockMode) -> &'static str {
    match mode {
        LockMode::KeyShare => "KEY SHARE",
        LockMode::Share => "SHARE",
        LockMode::NoKeyUpdate => "NO KEY UPDATE",
        LockMode::Update => "UPDATE",
    }
}

/// The table that a clause names; `None` for all of FROM.
pub fn of(lock: &LockClause) -> Option<&Ident> {
    let name = lock.of.as_ref()?.0.last()?.as_ident()?;
    (!is_mark(name, ALL)).then_some(name)
}

/// The first locking clause of a query or of one inside.
pub fn first_lock<T: Visit>(node: &T) -> Option<LockClause> {
    struct Finder;
    impl Visitor for Finder {
        type Break = LockClause;

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<LockClause> {
            match query.locks.first() {
                Some(lock) => ControlFlow::Break(lock.clone()),
                None => ControlFlow::Continue(()),
            }
        }
    }
    node.visit(&mut Finder).break_value()
}

/// 0A000 for a query that would lock rows where nobody locks them: no locking clause is passed over in silence.
pub fn refuse_locks<T: Visit>(node: &T) -> Result<()> {
    let Some(lock) = first_lock(node) else { return Ok(()) };
    let message = format!("FOR {} is not supported here", words(&lock));
    let hint = "Lock the rows first, by a SELECT of their own in the same transaction block.";
    Err(Error::new(SqlState::FeatureNotSupported, message).hint(hint))
}

fn is_mark(name: &Ident, mark: &str) -> bool {
    name.quote_style == Some('"') && name.value == mark
}

/// The tokens that the parser gets.
pub fn mark(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut marked = Vec::with_capacity(tokens.len() + 8);
    // Clauses that stand before LIMIT, each with the depth of its query.
    let mut held: Vec<(usize, Vec<TokenWithSpan>)> = Vec::new();
    let (mut at, mut depth) = (0, 0_usize);
    while at < tokens.len() {
        if let Some(clause) = Clause::at(&tokens, at) {
            let mut spelled_out = Vec::new();
            clause.spell_out(&tokens, &mut spelled_out);
            at = clause.end;
            match clause.is_before_limit(&tokens) {
                true => held.push((depth, spelled_out)),
                false => marked.append(&mut spelled_out),
            }
            continue;
        }
        match &tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen | Token::SemiColon => {
                put_back(&mut held, depth, &mut marked);
                depth = depth.saturating_sub(usize::from(tokens[at].token == Token::RParen));
            }
            Token::EOF => put_back(&mut held, 0, &mut marked),
            _ => {}
        }
        marked.push(tokens[at].clone());
        at += 1;
    }
    put_back(&mut held, 0, &mut marked);
    marked
}

/// Clauses of queries that end here.
fn put_back(
    held: &mut Vec<(usize, Vec<TokenWithSpan>)>,
    depth: usize,
    marked: &mut Vec<TokenWithSpan>,
) {
    let ends = held.iter().position(|(of, _)| *of >= depth).unwrap_or(held.len());
    for (_, mut clause) in held.drain(ends..) {
        let span = clause[0].span;
        marked.push(TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span });
        marked.append(&mut clause);
    }
}

/// A locking clause among tokens.
struct Clause {
    /// FOR.
    start: usize,
    /// UPDATE or SHARE.
    strength: usize,
    mark: Option<&'static str>,
    /// The names behind OF, as they stand.
    tables: Vec<std::ops::Range<usize>>,
    /// NOWAIT or SKIP LOCKED.
    waiting: std::ops::Range<usize>,
    end: usize,
}

fn is_word(tokens: &[TokenWithSpan], at: usize, word: &str) -> bool {
    matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(found))
        if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

fn skip_space(tokens: &[TokenWithSpan], mut at: usize) -> usize {
    while matches!(tokens.get(at).map(|token| &token.token), Some(Token::Whitespace(_))) {
        at += 1;
    }
    at
}

/// Where the token after some words stands, if they come here.
fn after(tokens: &[TokenWithSpan], mut at: usize, words: &[&str]) -> Option<usize> {
    for word in words {
        at = skip_space(tokens, at);
        if !is_word(tokens, at, word) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

impl Clause {
    /// The clause that begins here.
    fn at(tokens: &[TokenWithSpan], start: usize) -> Option<Clause> {
        let forms: [(&[&str], Option<&'static str>); 4] = [
            (&["for", "no", "key", "update"], Some(NO_KEY)),
            (&["for", "key", "share"], Some(KEY)),
            (&["for", "update"], None),
            (&["for", "share"], None),
        ];
        if !is_word(tokens, start, "for") {
            return None;
        }
        let form = |(words, mark): (&[&str], _)| Some((after(tokens, start, words)?, mark));
        let (mut end, mark) = forms.into_iter().find_map(form)?;
        let (strength, mut tables) = (end - 1, Vec::new());
        if let Some(mut at) = after(tokens, end, &["of"]) {
            loop {
                let (from, to) = name(tokens, at)?;
                tables.push(from..to);
                end = to;
                let next = skip_space(tokens, to);
                if tokens.get(next).map(|token| &token.token) != Some(&Token::Comma) {
                    break;
                }
                at = next + 1;
            }
        }
        let waits =
            after(tokens, end, &["nowait"]).or_else(|| after(tokens, end, &["skip", "locked"]));
        let waiting = end..waits.unwrap_or(end);
        Some(Clause { start, strength, mark, tables, end: waiting.end, waiting })
    }

    /// The parser knows no clause there.
    fn is_before_limit(&self, tokens: &[TokenWithSpan]) -> bool {
        let mut next = skip_space(tokens, self.end);
        while let Some(another) = Clause::at(tokens, next) {
            next = skip_space(tokens, another.end);
        }
        ["limit", "offset", "fetch"].iter().any(|word| is_word(tokens, next, word))
    }

    fn spell_out(&self, tokens: &[TokenWithSpan], marked: &mut Vec<TokenWithSpan>) {
        if self.mark.is_none() && self.tables.len() < 2 {
            return marked.extend_from_slice(&tokens[self.start..self.end]);
        }
        let span = tokens[self.strength].span;
        let at = |token| TokenWithSpan { token, span };
        let keyword = |text: &str| at(Token::make_keyword(text));
        let quoted = |text: &str| {
            let word = Word {
                value: text.to_owned(),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            };
            at(Token::Word(word))
        };
        let names = match self.tables.is_empty() {
            true => vec![vec![quoted(ALL)]],
            false => self.tables.iter().map(|table| tokens[table.clone()].to_vec()).collect(),
        };
        for name in names {
            marked.extend([
                tokens[self.start].clone(),
                tokens[self.strength].clone(),
                keyword("OF"),
            ]);
            if let Some(mark) = self.mark {
                marked.extend([quoted(mark), at(Token::Period)]);
            }
            marked.extend(name);
            marked.extend_from_slice(&tokens[self.waiting.clone()]);
        }
    }
}

/// A name, perhaps with a schema: where it stands.
fn name(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, usize)> {
    let is_name =
        |at: usize| matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(_)));
    let from = skip_space(tokens, at);
    let mut to = is_name(from).then_some(from + 1)?;
    while tokens.get(to).map(|token| &token.token) == Some(&Token::Period) && is_name(to + 1) {
        to += 2;
    }
    Some((from, to))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::Statement;

    use super::*;
    use crate::template::parse;

    fn clauses(text: &str) -> Vec<(LockMode, Option<String>, bool)> {
        let Statement::Query(query) = parse(text).expect("parses").remove(0) else {
            panic!("a query")
        };
        let clause = |lock: &LockClause| {
            (mode(lock), of(lock).map(|name| name.value.clone()), lock.nonblock.is_some())
        };
        query.locks.iter().map(clause).collect()
    }

    #[test]
    fn all_strengths_are_told_apart() {
        use LockMode::{KeyShare, NoKeyUpdate, Share, Update};
        let one = |words: &str| clauses(&format!("SELECT * FROM t {words}"));
        assert_eq!(one("FOR UPDATE"), [(Update, None, false)]);
        assert_eq!(one("for no key update skip locked"), [(NoKeyUpdate, None, true)]);
        assert_eq!(one("FOR SHARE OF t NOWAIT"), [(Share, Some("t".to_owned()), true)]);
        assert_eq!(one("FOR KEY SHARE"), [(KeyShare, None, false)]);
        let (a, b) = (Some("a".to_owned()), Some("b".to_owned()));
        let both = clauses("SELECT * FROM a, b FOR UPDATE OF a, b NOWAIT");
        assert_eq!(both, [(Update, a.clone(), true), (Update, b.clone(), true)]);
        assert_eq!(one("ORDER BY 1 FOR UPDATE SKIP LOCKED LIMIT 1;"), [(Update, None, true)]);
        let both = clauses("SELECT * FROM a, b FOR NO KEY UPDATE OF a FOR KEY SHARE OF b LIMIT 1");
        assert_eq!(both, [(NoKeyUpdate, a, false), (KeyShare, b, false)]);
    }
}
