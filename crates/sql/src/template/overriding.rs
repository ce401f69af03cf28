//! `OVERRIDING SYSTEM VALUE` and `OVERRIDING USER VALUE`, which the parser does not know.
//!
//! It knows `INSERT OVERWRITE INTO` and `INSERT OVERWRITE`, which are not PostgreSQL's: its grammar has refused them. They stand for
//! the two, so that the texts of templates tell them apart.

use datafusion::sql::sqlparser::ast::Insert;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::statement::rewrite::is_word;

/// Whose values identity columns get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// Those of the statement, if the column takes any.
    Nothing,
    /// OVERRIDING SYSTEM VALUE: those of the statement.
    System,
    /// OVERRIDING USER VALUE: those of the sequence.
    User,
}

impl Overriding {
    /// As the parser gives it, once the clause is marked.
    pub fn of(insert: &Insert) -> Overriding {
        match (insert.overwrite, insert.into) {
            (false, _) => Overriding::Nothing,
            (true, true) => Overriding::System,
            (true, false) => Overriding::User,
        }
    }
}

/// The tokens that the parser gets.
pub fn mark(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let found = clauses(&tokens);
    let mut marked = Vec::with_capacity(tokens.len() + found.len());
    for (at, token) in tokens.into_iter().enumerate() {
        if found.iter().any(|clause| clause.leaves_out(at)) {
            continue;
        }
        let span = token.span;
        marked.push(token);
        if found.iter().any(|clause| clause.insert == at) {
            marked.push(TokenWithSpan { token: Token::make_keyword("OVERWRITE"), span });
        }
    }
    marked
}

/// A clause, by the places of tokens.
struct Clause {
    /// Its statement's first word, ...
    insert: usize,
    /// ... and the second.
    into: usize,
    words: [usize; 3],
    is_user: bool,
}

impl Clause {
    fn leaves_out(&self, at: usize) -> bool {
        self.words.contains(&at) || self.is_user && self.into == at
    }
}

fn clauses(tokens: &[TokenWithSpan]) -> Vec<Clause> {
    let is_blank = |at: &usize| matches!(tokens[*at].token, Token::Whitespace(_));
    let places: Vec<usize> = (0..tokens.len()).filter(|at| !is_blank(at)).collect();
    let is = |at: usize, wanted: &str| is_word(&tokens[at].token, &[wanted]);
    let (mut found, mut statement) = (Vec::new(), None);
    for window in places.windows(3) {
        let &[first, second, third] = window else { unreachable!("windows are of three") };
        if is(first, "insert") && is(second, "into") {
            statement = Some((first, second));
        }
        let is_user = is(second, "user");
        if is(first, "overriding") && (is_user || is(second, "system")) && is(third, "value") {
            let clause = statement.take().map(|(insert, into)| {
                let words = [first, second, third];
                Clause { insert, into, words, is_user }
            });
            found.extend(clause);
        }
    }
    found
}
