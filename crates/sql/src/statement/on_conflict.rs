//! ON CONFLICT.

use datafusion::sql::sqlparser::ast::{self, ConflictTarget, OnConflictAction};
use engine::plan::{ConflictAction, OnConflict};
use engine::types::{ColumnId, Error, IndexId, Result, SqlState, TableSchema};

use super::modify::assignments;
use super::naming::{fold, split};
use super::write::Subqueries;
use crate::compile::Scope;
use crate::template::Parameters;

/// Plans the clause; `scope` holds the table and `excluded`.
pub fn plan(
    clause: &ast::OnConflict,
    table: &TableSchema,
    scope: &Scope<'_>,
    subqueries: &mut Subqueries<'_>,
    parameters: &mut Parameters,
) -> Result<OnConflict> {
    let index = match &clause.conflict_target {
        None => None,
        Some(ConflictTarget::Columns(columns)) => Some(by_columns(table, columns)?),
        Some(ConflictTarget::OnConstraint(name)) => Some(by_name(table, &split(name)?.1)?),
    };
    let action = match &clause.action {
        OnConflictAction::DoNothing => ConflictAction::Nothing,
        OnConflictAction::DoUpdate(_) if index.is_none() => {
            let message =
                "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            let hint = "For example, ON CONFLICT (column_name).";
            return Err(Error::new(SqlState::SyntaxError, message).hint(hint));
        }
        OnConflictAction::DoUpdate(update) => {
            let assignments =
                assignments(&update.assignments, table, scope, subqueries, parameters)?;
            let predicates = match &update.selection {
                Some(selection) => scope.predicates(selection, parameters)?,
                None => Vec::new(),
            };
            ConflictAction::Update { assignments, predicates }
        }
    };
    Ok(OnConflict { index, action })
}

/// The unique index on exactly these columns, in any order.
fn by_columns(table: &TableSchema, names: &[ast::Ident]) -> Result<IndexId> {
    let mut wanted: Vec<ColumnId> = Vec::with_capacity(names.len());
    for name in names {
        let name = fold(name);
        let (id, _) = table.column(&name).ok_or_else(|| {
            let message = format!("column \"{name}\" does not exist");
            Error::new(SqlState::UndefinedColumn, message)
        })?;
        wanted.push(id);
    }
    wanted.sort();
    let matches = |columns: &[ColumnId]| {
        let mut columns = columns.to_vec();
        columns.sort();
        columns == wanted
    };
    let found = table.indexes.iter().find(|index| index.unique && matches(&index.columns));
    found.map(|index| index.id).ok_or_else(|| {
        let message =
            "there is no unique or exclusion constraint matching the ON CONFLICT specification";
        Error::new(SqlState::InvalidColumnReference, message)
    })
}

fn by_name(table: &TableSchema, name: &str) -> Result<IndexId> {
    let found = table.indexes.iter().find(|index| index.constraint && &*index.name == name);
    found.map(|index| index.id).ok_or_else(|| {
        let message = format!("constraint \"{name}\" for table \"{}\" does not exist", table.name);
        Error::new(SqlState::UndefinedObject, message)
    })
}
