//! ALTER SEQUENCE, which the parser does not know: RESTART, OWNED BY, and the options of CREATE SEQUENCE.

use datafusion::sql::sqlparser::ast::{SequenceOptions, Statement};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Word};
use engine::transaction::Definition;
use engine::types::{Error, Result, SequenceSchema, SqlState};

use super::constraint::unsupported;
use super::expression::sequence;
use super::naming::{undefined_column, undefined_table};
use super::rewrite::is_word;
use super::sequence::{altered, outside};
use crate::session::Session;

/// The statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    /// The sequence.
    pub name: String,
    /// IF EXISTS
    pub if_exists: bool,
    /// What becomes of it.
    pub change: Change,
}

/// A change of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// RESTART WITH; `None`: where it started.
    Restart(Option<i64>),
    /// OWNED BY table.column; `None`: nobody.
    OwnedBy(Option<(String, String)>),
    /// Options of CREATE SEQUENCE, and RESTART beside them.
    Options(Vec<SequenceOptions>, Option<Option<i64>>),
}

/// ALTER SEQUENCE, or `None` for any other statement.
pub fn parse(text: &str) -> Result<Option<AlterSequence>> {
    if !text.trim_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("alter")) {
        return Ok(None);
    }
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize() else {
        return Ok(None);
    };
    let tokens: Vec<Token> = tokens
        .into_iter()
        .filter(|t| !matches!(t, Token::Whitespace(_) | Token::SemiColon))
        .collect();
    let [_, second, rest @ ..] = tokens.as_slice() else { return Ok(None) };
    if !is_word(second, &["sequence"]) {
        return Ok(None);
    }
    let (if_exists, rest) = match rest {
        [a, b, after @ ..] if is_word(a, &["if"]) && is_word(b, &["exists"]) => (true, after),
        _ => (false, rest),
    };
    let rest = unqualified(rest);
    let [Token::Word(name), rest @ ..] = rest else {
        return Err(Error::new(SqlState::SyntaxError, "syntax error at end of input"));
    };
    let name = folded(name);
    let change = match rest {
        [first, second, rest @ ..] if is_word(first, &["owned"]) && is_word(second, &["by"]) => {
            Change::OwnedBy(owner(rest)?)
        }
        [] => return Err(Error::new(SqlState::SyntaxError, "syntax error at end of input")),
        rest => options(rest)?,
    };
    Ok(Some(AlterSequence { name, if_exists, change }))
}

/// RESTART wherever it stands, and the rest as CREATE SEQUENCE has it.
fn options(tokens: &[Token]) -> Result<Change> {
    let (mut others, mut restart) = (Vec::new(), None);
    let mut rest = tokens;
    while let [first, after @ ..] = rest {
        if !is_word(first, &["restart"]) {
            others.push(first.to_string());
            rest = after;
            continue;
        }
        let (value, after) = restart_value(after)?;
        restart = Some(value);
        rest = after;
    }
    if others.is_empty() {
        return Ok(Change::Restart(restart.flatten()));
    }
    let text = format!("CREATE SEQUENCE s {}", others.join(" "));
    let text = super::rewrite::rewrite(&text).unwrap_or(text);
    match crate::template::parse(&text).map_err(Error::unplaced)?.as_slice() {
        [Statement::CreateSequence { sequence_options, data_type: None, owned_by: None, .. }] => {
            Ok(Change::Options(sequence_options.clone(), restart))
        }
        _ => Err(unsupported(&format!("ALTER SEQUENCE ... {}", others[0]))),
    }
}

/// What follows RESTART: nothing, or `[WITH] number`.
fn restart_value(tokens: &[Token]) -> Result<(Option<i64>, &[Token])> {
    let tokens = match tokens {
        [with, after @ ..] if is_word(with, &["with"]) => after,
        _ => tokens,
    };
    let (sign, tokens) = match tokens {
        [Token::Minus, after @ ..] => (-1, after),
        [Token::Plus, after @ ..] => (1, after),
        _ => (1, tokens),
    };
    let [Token::Number(digits, _), after @ ..] = tokens else { return Ok((None, tokens)) };
    let value = digits.parse::<i64>().map(|n| sign * n).map_err(|_| {
        Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{digits}\""))
    })?;
    Ok((Some(value), after))
}

fn folded(name: &Word) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}

/// Without `public.` in front.
fn unqualified(tokens: &[Token]) -> &[Token] {
    match tokens {
        [schema, Token::Period, rest @ ..] if is_word(schema, &["public"]) => rest,
        _ => tokens,
    }
}

/// `NONE`, or a table's column.
fn owner(tokens: &[Token]) -> Result<Option<(String, String)>> {
    match unqualified(tokens) {
        [none] if is_word(none, &["none"]) => Ok(None),
        [Token::Word(table), Token::Period, Token::Word(column)] => {
            Ok(Some((folded(table), folded(column))))
        }
        _ => {
            let message = "invalid OWNED BY option";
            let hint = "Specify OWNED BY table.column or OWNED BY NONE.";
            Err(Error::new(SqlState::SyntaxError, message).hint(hint))
        }
    }
}

/// Gives a sequence to a column, or to nobody.
async fn own(
    session: &mut Session,
    found: &SequenceSchema,
    owner: Option<&(String, String)>,
) -> Result<()> {
    let _defining = session.define_alone().await?;
    let catalog = session.catalog();
    let owner = match owner {
        None => None,
        Some((table, column)) => {
            let known = catalog.table(None, table).ok_or_else(|| undefined_table(table))?;
            let (id, _) = known.column(column).ok_or_else(|| undefined_column(table, column))?;
            Some((known.id, id))
        }
    };
    session.define(Definition::AlterSequence(SequenceSchema { owner, ..found.clone() })).await
}

/// Gives a sequence other bounds and steps; it must stand inside them.
async fn change(
    session: &mut Session,
    found: &SequenceSchema,
    options: &[SequenceOptions],
    restart: Option<Option<i64>>,
) -> Result<()> {
    let _defining = session.define_alone().await?;
    let changed = altered(found, options)?;
    let restart = restart.map(|value| value.unwrap_or(changed.start));
    let stored = session.database().engine().store().sequence(found.id);
    let last = restart.or_else(|| stored.map(|sequence| sequence.state().0));
    if let Some(fault) = last.and_then(|last| outside(&changed, last)) {
        return Err(fault);
    }
    session.define(Definition::AlterSequence(changed)).await?;
    match restart {
        Some(value) => session.set_sequence(found.id, value, false).await,
        None => Ok(()),
    }
}

/// Runs it.
pub async fn run(session: &mut Session, statement: &AlterSequence) -> Result<String> {
    session.refuse_read_only("ALTER SEQUENCE")?;
    let catalog = session.catalog();
    let quoted = super::returning::quoted(&statement.name).to_string();
    let found = match sequence(&catalog, &quoted) {
        Ok(found) => found,
        Err(_) if statement.if_exists => return Ok("ALTER SEQUENCE".to_owned()),
        Err(error) if error.state == SqlState::UndefinedTable => {
            return Err(undefined_table(&statement.name));
        }
        Err(error) => return Err(error),
    };
    let found = found.clone();
    session.demand_owner(&found.name)?;
    match &statement.change {
        Change::Restart(value) => {
            session.set_sequence(found.id, value.unwrap_or(found.start), false).await?;
        }
        Change::OwnedBy(owner) => {
            session.begin_definitions_in_block("ALTER SEQUENCE").await?;
            own(session, &found, owner.as_ref()).await?;
        }
        Change::Options(options, restart) => {
            session.begin_definitions_in_block("ALTER SEQUENCE").await?;
            change(session, &found, options, *restart).await?;
        }
    }
    Ok("ALTER SEQUENCE".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_understood() {
        let restart = |text: &str| {
            parse(text).expect("valid").map(|s| match s.change {
                Change::Restart(value) => (s.name, value),
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(restart("alter sequence S restart with 5;"), Some(("s".into(), Some(5))));
        assert_eq!(restart("ALTER SEQUENCE \"S\" RESTART"), Some(("S".into(), None)));
        assert_eq!(restart("alter sequence s restart -3"), Some(("s".into(), Some(-3))));
        assert_eq!(restart("alter table t add a int"), None);
        let owned = parse("alter sequence public.s owned by public.t.A").expect("valid");
        let owner = Change::OwnedBy(Some(("t".into(), "a".into())));
        assert_eq!(owned.map(|s| (s.name, s.change)), Some(("s".into(), owner)));
        let change = |text: &str| parse(text).expect("valid").map(|s| s.change);
        let cycle = vec![SequenceOptions::Cycle(false)];
        assert_eq!(change("alter sequence s cycle"), Some(Change::Options(cycle.clone(), None)));
        let both = Change::Options(cycle, Some(Some(-7)));
        assert_eq!(change("alter sequence s restart -7 cycle"), Some(both));
        assert_eq!(
            parse("alter sequence s nonsense").expect_err("no option").state.code(),
            "42601"
        );
    }
}
