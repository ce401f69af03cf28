//! VACUUM and ANALYZE: rows are reclaimed anyway, and the values of tables' rows are counted anew where that is asked for.

use datafusion::sql::sqlparser::ast::ObjectName;
use engine::types::{Error, Result, SqlState, TableId};
use syntax::{DefElem, VacuumStmt};

use super::naming::{in_public, object_name, undefined_column, undefined_table};
use super::option;
use crate::session::Session;
use crate::template::characters;

/// What PostgreSQL's VACUUM knows beside what its ANALYZE does.
const OF_VACUUM: [&str; 8] = [
    "analyze",
    "freeze",
    "full",
    "disable_page_skipping",
    "index_cleanup",
    "process_toast",
    "truncate",
    "parallel",
];

/// One of them, taken apart.
#[derive(Clone, Debug)]
pub struct Maintenance {
    /// Whether it is VACUUM.
    pub vacuum: bool,
    /// Whether values are counted.
    pub analyze: bool,
    /// The tables, each perhaps with columns; none: all.
    pub tables: Vec<(ObjectName, Vec<String>)>,
}

/// The statement of its node; 42601 for an option that PostgreSQL does not know.
pub fn read(statement: VacuumStmt<'_>, text: &str) -> Result<Maintenance> {
    let vacuum = statement.is_vacuumcmd();
    let mut analyze = !vacuum;
    for given in statement.options().iter() {
        match given.defname().unwrap_or_default() {
            "verbose" | "skip_locked" => {}
            "analyze" if vacuum => analyze = option::flag(given),
            name if vacuum && OF_VACUUM.contains(&name) => {}
            name => return Err(unrecognized(given, name, vacuum, text)),
        }
    }
    let tables = statement.rels().iter().map(|named| {
        let name = object_name(named.relation().map(option::parts).unwrap_or_default());
        (name, option::names(named.va_cols()))
    });
    let tables: Vec<(ObjectName, Vec<String>)> = tables.collect();
    if !analyze && tables.iter().any(|(_, columns)| !columns.is_empty()) {
        let message = "ANALYZE option must be specified when a column list is provided";
        return Err(Error::new(SqlState::FeatureNotSupported, message));
    }
    Ok(Maintenance { vacuum, analyze, tables })
}

fn unrecognized(given: DefElem<'_>, name: &str, vacuum: bool, text: &str) -> Error {
    let statement = if vacuum { "VACUUM" } else { "ANALYZE" };
    let message = format!("unrecognized {statement} option \"{name}\"");
    let error = Error::new(SqlState::SyntaxError, message);
    match given.location() {
        Some(at) => error.position(characters(text, at)),
        None => error,
    }
}

/// Runs it. What it names must be there.
pub async fn run(session: &mut Session, statement: &Maintenance) -> Result<String> {
    if statement.vacuum {
        session.refuse_in_block("VACUUM")?;
    }
    let tables = named(session, &statement.tables)?;
    if statement.analyze {
        for table in tables {
            session.recount(table).await?;
        }
        session.database().engine().replan_stale();
    }
    Ok(if statement.vacuum { "VACUUM" } else { "ANALYZE" }.to_owned())
}

/// The tables of a list, of which all columns are counted anyway; views have no rows of their own.
fn named(session: &Session, list: &[(ObjectName, Vec<String>)]) -> Result<Vec<TableId>> {
    let catalog = session.catalog();
    if list.is_empty() {
        return Ok(catalog.tables().iter().map(|table| table.id).collect());
    }
    let mut tables = Vec::new();
    for (name, columns) in list {
        let name = in_public(name)?;
        if !catalog.has_relation(&name) {
            return Err(undefined_table(&name));
        }
        let Some(table) = catalog.table(None, &name) else { continue };
        if let Some(unknown) = columns.iter().find(|column| table.column(column).is_none()) {
            return Err(undefined_column(&name, unknown));
        }
        tables.push(table.id);
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::command::{Command, command};

    fn of(text: &str) -> Result<Maintenance> {
        command(text).map(|found| match found {
            Command::Maintenance(statement) => statement,
            other => panic!("{text}: {other:?}"),
        })
    }

    fn listed(text: &str) -> (bool, String) {
        let found = of(text).expect(text);
        let names = found.tables.iter().map(|(name, columns)| format!("{name}({})", columns.len()));
        (found.analyze, names.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn tables_and_options_are_read() {
        let of_three = "a(0) public.b(2) \"C\"(0)".to_owned();
        assert_eq!(listed("analyze a, public.b (x, y), \"C\""), (true, of_three));
        assert_eq!(listed("ANALYZE (verbose, skip_locked) t;"), (true, "t(0)".to_owned()));
        assert_eq!(listed("vacuum full analyze t(a)"), (true, "t(1)".to_owned()));
        assert_eq!(listed("VACUUM (ANALYZE off, FULL) t"), (false, "t(0)".to_owned()));
        assert_eq!(listed("vacuum"), (false, String::new()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let fault = of("VACUUM (nonsense) t").expect_err("no option");
        assert_eq!((fault.state.code(), fault.position), ("42601", Some(9)));
        let fault = of("VACUUM t (a)").expect_err("nothing is counted");
        assert_eq!(fault.state.code(), "0A000");
    }
}
