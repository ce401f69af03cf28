//! What our parser takes and PostgreSQL's grammar does not.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Insert, ObjectName,
    Query, SetExpr, Statement, TableFactor, TableObject, Visit, Visitor,
};
use engine::types::{Error, Result, SqlState};

use super::parse::{byte_of, near};
use super::pieces::{Kind, Piece, Pieces};
use super::words::{next_token, token_after};

/// Words that name nothing unless they are quoted.
const RESERVED: [&str; 58] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "as",
    "asc",
    "asymmetric",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "intersect",
    "into",
    "lateral",
    "leading",
    "limit",
    "not",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "select",
    "some",
    "symmetric",
    "table",
    "then",
    "to",
    "trailing",
    "union",
    "unique",
    "using",
    "where",
];

/// 42601 where the text is no SQL of PostgreSQL's.
pub fn check(text: &str, statement: &Statement) -> Result<()> {
    match statement {
        Statement::LISTEN { channel } | Statement::UNLISTEN { channel } => {
            is_channel(text, channel)?
        }
        Statement::NOTIFY { channel, .. } => {
            is_channel(text, channel)?;
            payload(text)?;
        }
        Statement::Insert(insert) => insert_into(text, insert)?,
        Statement::CreateTable(create) => {
            let bare = create.columns.is_empty() && create.constraints.is_empty();
            let copied = create.query.is_some() || create.like.is_some();
            if bare && !copied && !text.contains('(') {
                return Err(near(text, text.len()));
            }
        }
        Statement::Query(_) | Statement::Update(_) | Statement::Delete(_) => {}
        _ => return Ok(()),
    }
    match statement.visit(&mut Names { text }) {
        ControlFlow::Break(fault) => Err(fault),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A channel is a name, no string.
fn is_channel(text: &str, channel: &Ident) -> Result<()> {
    match channel.quote_style {
        Some('\'') => Err(near(text, place(text, channel))),
        _ => Ok(()),
    }
}

/// NOTIFY's payload is a string, no name.
fn payload(text: &str) -> Result<()> {
    let mut pieces = Pieces::of(text).filter(Piece::is_visible);
    let is_notify = |piece: &Piece| piece.of(text).eq_ignore_ascii_case("notify");
    // Of several statements in a text each is read again by itself.
    if !pieces.next().as_ref().is_some_and(is_notify) {
        return Ok(());
    }
    let payload = pieces.skip_while(|piece| piece.of(text) != ",").nth(1);
    match payload {
        Some(piece) if matches!(piece.kind, Kind::Word | Kind::Name) => {
            Err(near(text, piece.start))
        }
        _ => Ok(()),
    }
}

/// `INSERT t`, `VALUE (1)`
fn insert_into(text: &str, insert: &Insert) -> Result<()> {
    if let TableObject::TableName(name) = &insert.table
        && !insert.into
        && let Some(first) = name.0.first().and_then(|part| part.as_ident())
    {
        return Err(near(text, place(text, first)));
    }
    match insert.source.as_ref().map(|source| source.body.as_ref()) {
        Some(SetExpr::Values(values)) if values.value_keyword => {
            Err(near(text, token_after(text, 0, "value")))
        }
        _ => Ok(()),
    }
}

fn is_unnest(name: &ObjectName) -> bool {
    is_called(name, "unnest")
}

/// psql numbers the tables that a table is a part of; here it is a part of none.
fn has_no_rows(name: &ObjectName) -> bool {
    is_called(name, "pg_partition_ancestors")
}

fn is_called(name: &ObjectName, function: &str) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|name| name.value.eq_ignore_ascii_case(function))
}

fn argument(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// 0A000 for rows out of an array that comes as text, which a parameter's does: it would be one row.
fn rows_of_text(arrays: &[&Expr]) -> ControlFlow<Error> {
    let is_text = |expr: &&Expr| match expr {
        Expr::Cast { expr, .. } => matches!(**expr, Expr::Value(_)),
        other => matches!(other, Expr::Value(_)),
    };
    match arrays.iter().any(is_text) {
        true => {
            let message = "unnest of a parameter or a literal is not supported";
            ControlFlow::Break(Error::new(SqlState::FeatureNotSupported, message))
        }
        false => ControlFlow::Continue(()),
    }
}

fn place(text: &str, name: &Ident) -> usize {
    byte_of(text, name.span.start.line, name.span.start.column)
}

struct Names<'a> {
    text: &'a str,
}

impl Names<'_> {
    fn check(&self, name: &Ident) -> ControlFlow<Error> {
        let reserved = name.quote_style.is_none()
            && name.span.start.line > 0
            && RESERVED.iter().any(|word| name.value.eq_ignore_ascii_case(word));
        if !reserved {
            return ControlFlow::Continue(());
        }
        let at = place(self.text, name);
        // Words that begin an expression are right where they stand: what follows is not.
        let begins = ["not", "case"].iter().any(|word| name.value.eq_ignore_ascii_case(word));
        ControlFlow::Break(near(self.text, if begins { next_token(self.text, at) } else { at }))
    }
}

impl Visitor for Names<'_> {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        match expr {
            Expr::Identifier(name) => self.check(name),
            Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
                if is_unnest(name) =>
            {
                rows_of_text(&list.args.iter().filter_map(argument).collect::<Vec<_>>())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<Error> {
        match name.0.first().and_then(|part| part.as_ident()) {
            Some(first) => self.check(first),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        let unnested: Vec<&Expr> = match factor {
            TableFactor::UNNEST { array_exprs, .. } => array_exprs.iter().collect(),
            TableFactor::Table { name, args: Some(args), .. } if is_unnest(name) => {
                args.args.iter().filter_map(argument).collect()
            }
            TableFactor::Function { name, args, .. } if is_unnest(name) => {
                args.iter().filter_map(argument).collect()
            }
            _ => Vec::new(),
        };
        if let TableFactor::Table { name, with_ordinality: true, .. } = factor
            && !is_unnest(name)
            && !has_no_rows(name)
        {
            let message = format!("WITH ORDINALITY of {name} is not supported");
            let error = Error::new(SqlState::FeatureNotSupported, message);
            return ControlFlow::Break(error.hint("Number its rows by row_number() OVER ()."));
        }
        rows_of_text(&unnested)
    }

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Error> {
        ControlFlow::Continue(())
    }
}
