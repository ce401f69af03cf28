//! ANALYZE, and VACUUM ANALYZE: the values of tables' rows are counted anew.

use datafusion::sql::sqlparser::ast::{ObjectName, Statement};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use engine::types::{Error, Result, SqlState, TableId};

use super::naming::{in_public, undefined_table};
use super::rewrite::is_word;
use crate::session::Session;

/// What may stand before the tables.
const OPTIONS: [&str; 5] = ["full", "freeze", "verbose", "analyze", "analyse"];

/// Counts the tables that the statement names, or all, if it is ANALYZE or VACUUM ANALYZE; `text` is the client's. The
/// parser knows one table only.
pub async fn run(session: &mut Session, statement: &Statement, text: &str) -> Result<()> {
    if !matches!(statement, Statement::Analyze(_) | Statement::Vacuum(_)) {
        return Ok(());
    }
    let tokens = tokens(text);
    let (options, tables) = parts(&tokens);
    let is_asked = |token: &Token| is_word(token, &["analyze", "analyse"]);
    if !options.iter().any(is_asked) {
        return Ok(());
    }
    for table in named(session, tables)? {
        session.recount(table).await?;
    }
    session.database().engine().replan_stale();
    Ok(())
}

fn tokens(text: &str) -> Vec<Token> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().unwrap_or_default();
    let matters = |token: &Token| !matches!(token, Token::Whitespace(_) | Token::SemiColon);
    tokens.into_iter().filter(matters).collect()
}

/// The first word and the options, and the tables.
fn parts(tokens: &[Token]) -> (&[Token], &[Token]) {
    let mut end = tokens.len().min(1);
    if tokens.get(end) == Some(&Token::LParen) {
        let close = tokens.iter().position(|token| *token == Token::RParen);
        end = close.map_or(tokens.len(), |close| close + 1);
    }
    while tokens.get(end).is_some_and(|token| is_word(token, &OPTIONS)) {
        end += 1;
    }
    tokens.split_at(end)
}

/// The tables of a list, each perhaps with columns, of which all are counted anyway; views have no rows of their own.
fn named(session: &Session, list: &[Token]) -> Result<Vec<TableId>> {
    let catalog = session.catalog();
    if list.is_empty() {
        return Ok(catalog.tables().iter().map(|table| table.id).collect());
    }
    let mut tables = Vec::new();
    for name in names(list)? {
        let name = in_public(&name)?;
        if !catalog.has_relation(&name) {
            return Err(undefined_table(&name));
        }
        tables.extend(catalog.table(None, &name).map(|table| table.id));
    }
    Ok(tables)
}

fn names(list: &[Token]) -> Result<Vec<ObjectName>> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens(list.to_vec());
    let names = parser.parse_comma_separated(|parser| {
        let name = parser.parse_object_name(false)?;
        if parser.consume_token(&Token::LParen) {
            parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        Ok(name)
    });
    let next = parser.peek_token().token;
    match names {
        Ok(names) if next == Token::EOF => Ok(names),
        _ if next == Token::EOF => {
            Err(Error::new(SqlState::SyntaxError, "syntax error at end of input"))
        }
        _ => {
            let message = format!("syntax error at or near \"{next}\"");
            Err(Error::new(SqlState::SyntaxError, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> String {
        let tokens = tokens(text);
        let names = names(parts(&tokens).1).expect("a list of tables");
        names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tables_are_found_behind_options() {
        assert_eq!(listed("analyze a, public.b (x, y), \"C\""), "a public.b \"C\"");
        assert_eq!(listed("ANALYZE (verbose, skip_locked) t;"), "t");
        assert_eq!(listed("vacuum full analyze t(a)"), "t");
        assert!(parts(&tokens("analyze verbose")).1.is_empty());
        assert!(names(&tokens("a b")).is_err() && names(&tokens("a,")).is_err());
    }
}
