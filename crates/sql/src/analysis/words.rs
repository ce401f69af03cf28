//! Where things stand in a statement's text.

use std::cell::OnceCell;

use datafusion::sql::sqlparser::ast::{CastKind, Expr, Ident, Query, SetExpr, Spanned};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};
use engine::types::{Error, SqlState};

use crate::template::{byte_of, characters};

/// The text, and its tokens where somebody asks for them: only a fault does.
pub struct Words<'a> {
    text: &'a str,
    tokens: OnceCell<Vec<(usize, String)>>,
}

impl<'a> Words<'a> {
    /// Over a text.
    pub fn new(text: &'a str) -> Words<'a> {
        Words { text, tokens: OnceCell::new() }
    }

    /// Tokens with the bytes where they start, in lower case.
    fn tokens(&self) -> &[(usize, String)] {
        self.tokens.get_or_init(|| {
            let dialect = PostgreSqlDialect {};
            let tokens = Tokenizer::new(&dialect, self.text).tokenize_with_location();
            let tokens = tokens.into_iter().flatten();
            let visible = tokens.filter(|t| !matches!(t.token, Token::Whitespace(_)));
            visible.map(|t| (self.byte(t.span.start), t.token.to_string().to_lowercase())).collect()
        })
    }

    fn byte(&self, at: Location) -> usize {
        byte_of(self.text, at.line, at.column)
    }

    /// A fault at a place; without one where the place is not known.
    pub fn fault(&self, state: SqlState, message: impl Into<String>, at: Option<usize>) -> Error {
        let fault = Error::new(state, message);
        match at {
            Some(byte) => fault.position(characters(self.text, byte)),
            None => fault,
        }
    }

    /// Where something with a place of its own starts.
    pub fn start_of(&self, node: &impl Spanned) -> Option<usize> {
        let start = node.span().start;
        (start.line > 0).then(|| self.byte(start))
    }

    /// Where a name stands.
    pub fn name(&self, name: &Ident) -> Option<usize> {
        let start = name.span.start;
        (start.line > 0).then(|| self.byte(start))
    }

    fn end_of(&self, node: &impl Spanned) -> Option<usize> {
        let end = node.span().end;
        (end.line > 0).then(|| self.byte(end))
    }

    /// The token before a byte.
    pub fn before(&self, byte: usize) -> Option<usize> {
        let tokens = self.tokens();
        let at = tokens.partition_point(|(start, _)| *start < byte);
        Some(tokens.get(at.checked_sub(1)?)?.0)
    }

    /// Where PostgreSQL says that an expression lies: at its leftmost token, parentheses aside.
    pub fn start(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Nested(inner) => self.start(inner),
            Expr::Tuple(items) => self.before(self.start(items.first()?)?),
            Expr::BinaryOp { left, .. } => self.start(left),
            Expr::UnaryOp { expr, .. } => self.before(self.start(expr)?),
            Expr::Cast { kind: CastKind::DoubleColon, expr, .. } => self.start(expr),
            Expr::Cast { expr, .. } => self.before(self.before(self.start(expr)?)?),
            Expr::Subquery(query) => self.before(self.query_start(query)?),
            Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner) => self.start(inner),
            Expr::InList { expr, .. }
            | Expr::InSubquery { expr, .. }
            | Expr::Between { expr, .. }
            | Expr::Like { expr, .. }
            | Expr::ILike { expr, .. } => self.start(expr),
            Expr::Case { case_token, .. } => Some(self.byte(case_token.0.span.start)),
            Expr::TypedString(typed) => self.start_of(&typed.value),
            other => self.start_of(other),
        }
    }

    /// The name of the type that an expression is cast to; of `float(54)` the number.
    pub fn cast_type(&self, expr: &Expr, kind: &CastKind) -> Option<usize> {
        let spelled = if *kind == CastKind::DoubleColon { "::" } else { "as" };
        let from = self.end_of(expr).or_else(|| self.start(expr))?;
        let tokens = self.tokens();
        let at = tokens.iter().position(|(start, token)| *start >= from && token == spelled)? + 1;
        let is_float = tokens.get(at)?.1 == "float";
        Some(tokens.get(if is_float { at + 2 } else { at })?.0)
    }

    /// The CAST whose parenthesis stands before a byte.
    pub fn opening(&self, byte: usize) -> Option<usize> {
        self.before(self.before(byte)?)
    }

    fn query_start(&self, query: &Query) -> Option<usize> {
        match query.body.as_ref() {
            SetExpr::Select(select) => Some(self.byte(select.select_token.0.span.start)),
            _ => self.start_of(query),
        }
    }

    /// The first token among `spelled` between two expressions.
    pub fn between(&self, left: &Expr, spelled: &[&str]) -> Option<usize> {
        let from = self.end_of(left).or_else(|| self.start(left))?;
        self.after(from, spelled)
    }

    /// The first token among `spelled` at or after a byte; a NOT before it belongs to it.
    pub fn after(&self, from: usize, spelled: &[&str]) -> Option<usize> {
        let tokens = self.tokens();
        let wanted =
            |(start, token): &(usize, String)| *start >= from && spelled.contains(&token.as_str());
        let at = tokens.iter().position(wanted)?;
        let negated = at > 0 && tokens[at - 1].1 == "not" && tokens[at - 1].0 >= from;
        Some(tokens[if negated { at - 1 } else { at }].0)
    }
}
