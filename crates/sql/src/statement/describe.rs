//! What a statement that is no template answers with.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::Statement;
use engine::types::{DataType, Result, TableId};

use super::command::Command;
use super::setting::{SettingStatement, show_columns};
use crate::catalog::types::{id_of, modifier_of, size_of};
use crate::session::{ColumnDescription, Session};

/// A column as RowDescription tells it; `origin` is the table's column, counted from 0.
pub fn describe_column(
    name: &str,
    data_type: DataType,
    origin: Option<(TableId, usize)>,
) -> ColumnDescription {
    ColumnDescription {
        name: name.into(),
        type_id: id_of(data_type),
        type_size: size_of(data_type),
        type_modifier: modifier_of(data_type),
        table: origin.map_or(0, |(table, _)| table.0),
        column: origin.map_or(0, |(_, column)| column as i16 + 1),
    }
}

/// A column of text.
pub fn text_column(name: &str) -> ColumnDescription {
    describe_column(name, DataType::Text, None)
}

/// The columns of a command's answer; `None` where a tag is all.
pub fn of_command(session: &Session, command: &Command) -> Option<Arc<[ColumnDescription]>> {
    match command {
        Command::Setting(SettingStatement::Show(name)) => Some(show_columns(name)),
        Command::Fetch(fetch) if !fetch.silent => session.cursor_columns(&fetch.name),
        _ => None,
    }
}

/// The columns of the statement's answer; `None` where a tag is all.
pub fn columns(
    session: &mut Session,
    statement: &Statement,
) -> Result<Option<Arc<[ColumnDescription]>>> {
    Ok(match statement {
        Statement::Explain { .. } => Some(Arc::new([text_column("QUERY PLAN")])),
        Statement::Execute { name, .. } => super::prepare::columns(session, name.as_ref())?,
        _ => None,
    })
}
