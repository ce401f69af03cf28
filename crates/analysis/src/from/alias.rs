//! Aliases of relations and of their columns.

use std::sync::Arc;

use syntax::Alias;

use crate::error::{NOWHERE, Result, fault};
use crate::tree::EntryColumn;

/// The name of what has an alias or has none.
pub(super) fn name_of(alias: Option<Alias<'_>>, own: &str) -> Arc<str> {
    alias.and_then(Alias::aliasname).unwrap_or(own).into()
}

/// Columns with the names that an alias gives them.
///
/// # Errors
/// 42P10 where it has more names than there are columns.
pub(super) fn rename(
    columns: &mut [EntryColumn],
    alias: Option<Alias<'_>>,
    table: &str,
) -> Result<()> {
    let Some(alias) = alias else { return Ok(()) };
    let names = alias.colnames();
    let mut there = columns.iter_mut().filter(|column| column.type_oid != 0);
    for (available, name) in names.iter().enumerate() {
        let Some(column) = there.next() else {
            let count = names.len();
            let message = format!(
                "table \"{table}\" has {available} columns available but {count} columns specified"
            );
            return Err(fault("42P10", NOWHERE, message));
        };
        column.name = name.value().unwrap_or_default().into();
    }
    Ok(())
}
