//! ALTER SEQUENCE: RESTART, OWNED BY, and the options of CREATE SEQUENCE.

use datafusion::sql::sqlparser::ast::{Expr, ObjectName, SequenceOptions, Value};
use engine::transaction::Definition;
use engine::types::{Error, Result, SequenceSchema, SqlState};
use syntax::{AlterSeqStmt, DefElem, StringValue};

use super::constraint::unsupported;
use super::naming::{in_public, object_name, undefined_column, undefined_table};
use super::option;
use super::sequence::{altered, outside};
use crate::session::Session;

/// The statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    /// The sequence.
    pub name: ObjectName,
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

/// The statement of its node.
pub fn read(alter: AlterSeqStmt<'_>, text: &str) -> Result<AlterSequence> {
    option::check_distinct(alter.options().iter(), text)?;
    let name = object_name(alter.sequence().map(option::parts).unwrap_or_default());
    let mut options = alter.options().iter();
    let only = options.next().filter(|_| options.next().is_none());
    let change = match only.and_then(|only| Some((only, only.defname()?))) {
        Some((owner, "owned_by")) => Change::OwnedBy(owned_by(owner)?),
        Some((restart, "restart")) => Change::Restart(bigint(restart)?),
        _ => change_of(alter)?,
    };
    Ok(AlterSequence { name, if_exists: alter.missing_ok(), change })
}

fn change_of(alter: AlterSeqStmt<'_>) -> Result<Change> {
    let (mut options, mut restart) = (Vec::new(), None);
    for given in alter.options().iter() {
        let number =
            || option::number(given).map(|digits| Expr::Value(Value::Number(digits, false).into()));
        let wanted = || number().expect("the grammar takes a number alone");
        options.push(match given.defname().unwrap_or_default() {
            "restart" => {
                restart = Some(bigint(given)?);
                continue;
            }
            "increment" => SequenceOptions::IncrementBy(wanted(), true),
            "minvalue" => SequenceOptions::MinValue(number()),
            "maxvalue" => SequenceOptions::MaxValue(number()),
            "start" => SequenceOptions::StartWith(wanted(), true),
            "cache" => SequenceOptions::Cache(wanted()),
            "cycle" => SequenceOptions::Cycle(!option::flag(given)),
            other => {
                let other = other.replace('_', " ").to_uppercase();
                return Err(unsupported(&format!("ALTER SEQUENCE ... {other}")));
            }
        });
    }
    Ok(Change::Options(options, restart))
}

/// An option's number, if it has one.
fn bigint(given: DefElem<'_>) -> Result<Option<i64>> {
    let fault = |digits: &str| match digits.contains(['.', 'e', 'E']) {
        true => Error::new(
            SqlState::InvalidTextRepresentation,
            format!("invalid input syntax for type bigint: \"{digits}\""),
        ),
        false => Error::new(
            SqlState::NumericOutOfRange,
            format!("value \"{digits}\" is out of range for type bigint"),
        ),
    };
    let digits = option::number(given);
    digits.map(|digits| digits.parse().map_err(|_| fault(&digits))).transpose()
}

/// `NONE`, or a table's column.
fn owned_by(given: DefElem<'_>) -> Result<Option<(String, String)>> {
    let names = option::list::<StringValue<'_>>(given).into_iter().filter_map(StringValue::value);
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    let column = names.pop().unwrap_or_default();
    if names.is_empty() && column == "none" {
        return Ok(None);
    }
    if names.is_empty() {
        let hint = "Specify OWNED BY table.column or OWNED BY NONE.";
        return Err(Error::new(SqlState::SyntaxError, "invalid OWNED BY option").hint(hint));
    }
    Ok(Some((in_public(&object_name(names))?, column)))
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
    let name = in_public(&statement.name)?;
    let Some(found) = catalog.sequence(&name) else {
        return absent(session, &name, statement.if_exists);
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

/// There is no sequence of that name.
fn absent(session: &mut Session, name: &str, if_exists: bool) -> Result<String> {
    if session.catalog().has_relation(name) {
        let message = format!("\"{name}\" is not a sequence");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    if !if_exists {
        return Err(undefined_table(name));
    }
    let message = format!("relation \"{name}\" does not exist, skipping");
    session.notice(Error::new(SqlState::SuccessfulCompletion, message));
    Ok("ALTER SEQUENCE".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::command::{Command, command};

    fn of(text: &str) -> Result<AlterSequence> {
        command(text).map(|found| match found {
            Command::AlterSequence(alter) => alter,
            other => panic!("{text}: {other:?}"),
        })
    }

    fn change(text: &str) -> Change {
        of(text).expect(text).change
    }

    #[test]
    fn restarts_and_owners_are_read() {
        assert_eq!(change("alter sequence S restart with 5;"), Change::Restart(Some(5)));
        assert_eq!(change("ALTER SEQUENCE s RESTART"), Change::Restart(None));
        assert_eq!(change("alter sequence s restart -3"), Change::Restart(Some(-3)));
        let owned = of("alter sequence if exists public.s owned by public.t.A").expect("valid");
        assert_eq!((owned.name.to_string().as_str(), owned.if_exists), ("public.s", true));
        assert_eq!(owned.change, Change::OwnedBy(Some(("t".into(), "a".into()))));
        assert_eq!(change("alter sequence s owned by none"), Change::OwnedBy(None));
    }

    #[test]
    fn options_are_read() {
        let cycle = vec![SequenceOptions::Cycle(false)];
        assert_eq!(change("alter sequence s cycle"), Change::Options(cycle.clone(), None));
        let both = Change::Options(cycle, Some(Some(-7)));
        assert_eq!(change("alter sequence s restart -7 cycle"), both);
        let none = Change::Options(vec![SequenceOptions::MaxValue(None)], Some(None));
        assert_eq!(change("alter sequence s no maxvalue restart"), none);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, state) in [
            ("alter sequence s nonsense", "42601"),
            ("alter sequence s cycle no cycle", "42601"),
            ("alter sequence s owned by t", "42601"),
            ("alter sequence s restart 1.5", "22P02"),
            ("alter sequence s restart 9223372036854775808", "22003"),
            ("alter sequence s as bigint", "0A000"),
        ] {
            assert_eq!(of(text).expect_err(text).state.code(), state, "{text}");
        }
    }
}
