//! FORCE_QUOTE, FORCE_NOT_NULL and FORCE_NULL: columns of a CSV whose fields are written or read otherwise.

use datafusion::sql::sqlparser::ast::Ident;
use engine::types::{Error, Result, SqlState, TableSchema};

use crate::statement::naming::{fold, undefined_column};

/// The name that stands for all columns: no column can have it.
pub const ALL: &str = "";

/// Which of a COPY's columns an option names; `exists` refuses names that nothing has.
pub fn flags<'a>(
    option: &str,
    named: &[Ident],
    columns: impl Iterator<Item = &'a str> + Clone,
    exists: impl Fn(&str) -> Result<()>,
) -> Result<Vec<bool>> {
    let mut flags = vec![false; columns.clone().count()];
    for name in named.iter().map(fold) {
        if name == ALL {
            flags.fill(true);
            continue;
        }
        let Some(position) = columns.clone().position(|column| column == name) else {
            exists(&name)?;
            let message = format!("{option} column \"{name}\" not referenced by COPY");
            return Err(Error::new(SqlState::InvalidColumnReference, message));
        };
        flags[position] = true;
    }
    Ok(flags)
}

/// 42703 for a name that no column of the table has.
pub fn exists_in(table: &TableSchema, name: &str) -> Result<()> {
    table.column(name).map(drop).ok_or_else(|| undefined_column(&table.name, name))
}

/// How the fields of some columns are read.
#[derive(Debug)]
pub struct ForcedFields {
    /// Never NULL: what stands for it is a text.
    pub not_null: Vec<bool>,
    /// NULL also where what stands for it is quoted.
    pub null: Vec<bool>,
    /// What stands for NULL.
    pub text: String,
}

impl ForcedFields {
    /// A field's text as its column wants it; `None` for NULL.
    pub fn read<'a>(&'a self, position: usize, text: Option<&'a str>) -> Option<&'a str> {
        match text {
            None if self.not_null[position] => Some(&self.text),
            Some(text) if self.null[position] && text == self.text => None,
            other => other,
        }
    }
}
