//! How wide a statement's rows are, before anything is planned for each of their columns.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Select, Statement, Visit, Visitor};
use engine::types::{Error, Result, SqlState};

/// Columns of an answer, as in PostgreSQL.
const TARGET_LIMIT: usize = 1_664;

/// Columns of a table, as in PostgreSQL.
const COLUMN_LIMIT: usize = 1_600;

/// 54011 for a statement that has too many columns as it is written.
pub fn check_widths(statement: &Statement) -> Result<()> {
    if let Statement::CreateTable(create) = statement
        && create.columns.len() > COLUMN_LIMIT
    {
        let message = format!("tables can have at most {COLUMN_LIMIT} columns");
        return Err(Error::new(SqlState::TooManyColumns, message));
    }
    match Visit::visit(statement, &mut Targets) {
        ControlFlow::Break(fault) => Err(fault),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// 54011 for an answer of so many columns.
pub(super) fn check_targets(columns: usize) -> Result<()> {
    if columns <= TARGET_LIMIT {
        return Ok(());
    }
    let message = format!("target lists can have at most {TARGET_LIMIT} entries");
    Err(Error::new(SqlState::TooManyColumns, message))
}

struct Targets;

impl Visitor for Targets {
    type Break = Error;

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        match check_targets(select.projection.len()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(fault) => ControlFlow::Break(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn rows_are_as_wide_as_postgresqls() {
        let check = |text: &str| {
            let parsed = Parser::parse_sql(&PostgreSqlDialect {}, text).expect("it parses");
            check_widths(&parsed[0])
        };
        let table =
            |columns: usize| format!("CREATE TABLE t ({}a int)", "b int, ".repeat(columns - 1));
        let query =
            |columns: usize| format!("SELECT 1 UNION SELECT {}1", "1, ".repeat(columns - 1));
        assert!(check(&table(COLUMN_LIMIT)).is_ok());
        assert!(check(&query(TARGET_LIMIT)).is_ok());
        for text in [table(COLUMN_LIMIT + 1), query(TARGET_LIMIT + 1)] {
            assert_eq!(check(&text).expect_err("too wide").state, SqlState::TooManyColumns);
        }
    }
}
