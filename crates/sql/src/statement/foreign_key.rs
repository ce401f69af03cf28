//! FOREIGN KEY, of a column or of several.

use datafusion::sql::sqlparser::ast::{
    ConstraintReferenceMatchKind, ForeignKeyConstraint, Ident, ObjectName, ReferentialAction,
};
use engine::heartbeat::AnswerPart;
use engine::types::{
    ColumnDefault, ColumnId, DataType, Error, ForeignKey, ForeignKeyAction, IndexSchema, Result,
    SqlState, TableSchema,
};

use super::assignment::plain_name;
use super::constraint::{Draft, refuse_deferrable, unsupported};
use super::generated;
use super::naming::{fold, in_public, undefined_table};
use crate::text::write_value;

/// Columns of a key, as of an index.
const COLUMN_LIMIT: usize = 32;

impl Draft<'_> {
    /// Adds a foreign key.
    pub fn add_foreign_key(&mut self, key: &ForeignKeyConstraint) -> Result<()> {
        refuse_deferrable(key.characteristics.as_ref())?;
        let is_full = is_full(key.match_kind.as_ref())?;
        let columns = columns(&self.schema, &key.columns)?;
        let parent = self.parent(&key.foreign_table)?;
        let parent_columns = referenced_columns(parent, &key.referred_columns)?;
        let name = self.constraint_name(key.name.as_ref(), &columns, "fkey")?;
        check_pairs(&name, (&self.schema, &columns), (parent, &parent_columns))?;
        let key = ForeignKey {
            name,
            columns,
            parent: parent.id,
            parent_columns,
            is_full,
            on_delete: action(key.on_delete),
            on_update: action(key.on_update),
        };
        refuse_computed_default(&self.schema, &key)?;
        generated::refuse_actions(&self.schema, &key)?;
        self.schema.foreign_keys.push(key);
        Ok(())
    }

    fn parent(&self, name: &ObjectName) -> Result<&TableSchema> {
        let name = in_public(name)?;
        if name == *self.schema.name {
            return Ok(&self.schema);
        }
        let found = self.catalog.table(None, &name).map(|parent| &**parent);
        found.ok_or_else(|| match self.catalog.has_relation(&name) {
            true => {
                let message = format!("referenced relation \"{name}\" is not a table");
                Error::new(SqlState::WrongObjectType, message)
            }
            false => undefined_table(&name),
        })
    }
}

fn is_full(kind: Option<&ConstraintReferenceMatchKind>) -> Result<bool> {
    match kind {
        None | Some(ConstraintReferenceMatchKind::Simple) => Ok(false),
        Some(ConstraintReferenceMatchKind::Full) => Ok(true),
        Some(ConstraintReferenceMatchKind::Partial) => {
            let message = "MATCH PARTIAL not yet implemented";
            Err(Error::new(SqlState::FeatureNotSupported, message))
        }
    }
}

/// The columns of those names, on either side.
fn columns(table: &TableSchema, names: &[Ident]) -> Result<Vec<ColumnId>> {
    if names.len() > COLUMN_LIMIT {
        let message = format!("cannot have more than {COLUMN_LIMIT} keys in a foreign key");
        return Err(Error::new(SqlState::TooManyColumns, message));
    }
    let find = |name: &Ident| {
        let folded = fold(name);
        let found = table.column(&folded).map(|(id, _)| id);
        found.ok_or_else(|| {
            let message =
                format!("column \"{folded}\" referenced in foreign key constraint does not exist");
            Error::new(SqlState::UndefinedColumn, message)
        })
    };
    names.iter().map(find).collect()
}

/// The parent's columns: as named, else its primary key; a unique index must cover exactly them.
fn referenced_columns(parent: &TableSchema, names: &[Ident]) -> Result<Vec<ColumnId>> {
    if names.is_empty() {
        let key = parent.primary_key().ok_or_else(|| {
            let message =
                format!("there is no primary key for referenced table \"{}\"", parent.name);
            Error::new(SqlState::UndefinedObject, message)
        })?;
        return Ok(key.columns.clone());
    }
    let columns = columns(parent, names)?;
    let mut wanted = columns.clone();
    wanted.sort();
    if wanted.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = "foreign key referenced-columns list must not contain duplicates";
        return Err(Error::new(SqlState::InvalidForeignKey, message));
    }
    let covers = |index: &&IndexSchema| {
        let mut covered = index.columns.clone();
        covered.sort();
        index.unique && covered == wanted
    };
    if parent.indexes.iter().find(covers).is_none() {
        let message = format!(
            "there is no unique constraint matching given keys for referenced table \"{}\"",
            parent.name
        );
        return Err(Error::new(SqlState::InvalidForeignKey, message));
    }
    Ok(columns)
}

/// 42830 where the numbers of columns differ, 42804 where columns of a foreign key cannot be compared.
pub fn check_pairs(
    name: &str,
    (child, columns): (&TableSchema, &[ColumnId]),
    (parent, parent_columns): (&TableSchema, &[ColumnId]),
) -> Result<()> {
    if columns.len() != parent_columns.len() {
        let message = "number of referencing and referenced columns for foreign key disagree";
        return Err(Error::new(SqlState::InvalidForeignKey, message));
    }
    for (column, parent_column) in columns.iter().zip(parent_columns) {
        let own = &child.columns[column.index()];
        let other = &parent.columns[parent_column.index()];
        if !can_refer(own.data_type, other.data_type) {
            let detail = format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                own.name,
                other.name,
                plain_name(own.data_type),
                plain_name(other.data_type)
            );
            let message = format!("foreign key constraint \"{name}\" cannot be implemented");
            return Err(Error::new(SqlState::DatatypeMismatch, message).detail(detail));
        }
    }
    Ok(())
}

/// Whether the parent's type has an `=` for the child's, or the child's becomes the parent's by itself.
fn can_refer(child: DataType, parent: DataType) -> bool {
    match (breadth(child), breadth(parent)) {
        (Some(child), Some(parent)) => child <= parent,
        (None, None) => super::assignment::is_comparable(child, parent),
        _ => false,
    }
}

/// Integers become numerics, and these floats, by themselves.
fn breadth(data_type: DataType) -> Option<u8> {
    match data_type {
        DataType::SmallInt | DataType::Integer | DataType::BigInt => Some(0),
        DataType::Numeric { .. } => Some(1),
        DataType::Real | DataType::Double => Some(2),
        _ => None,
    }
}

fn action(action: Option<ReferentialAction>) -> ForeignKeyAction {
    match action {
        None | Some(ReferentialAction::NoAction) => ForeignKeyAction::NoAction,
        Some(ReferentialAction::Restrict) => ForeignKeyAction::Restrict,
        Some(ReferentialAction::Cascade) => ForeignKeyAction::Cascade,
        Some(ReferentialAction::SetNull) => ForeignKeyAction::SetNull,
        Some(ReferentialAction::SetDefault) => ForeignKeyAction::SetDefault,
    }
}

/// 0A000 where SET DEFAULT would set what has to be computed first.
pub fn refuse_computed_defaults(table: &TableSchema) -> Result<()> {
    table.foreign_keys.iter().try_for_each(|key| refuse_computed_default(table, key))
}

fn refuse_computed_default(table: &TableSchema, key: &ForeignKey) -> Result<()> {
    if ![key.on_delete, key.on_update].contains(&ForeignKeyAction::SetDefault) {
        return Ok(());
    }
    let columns = key.columns.iter().map(|column| &table.columns[column.index()].default);
    let is_computed = |default: &ColumnDefault| {
        matches!(default, ColumnDefault::Expression(_) | ColumnDefault::Sequence { .. })
    };
    match columns.into_iter().any(is_computed) {
        true => Err(unsupported("SET DEFAULT on a foreign key with a default that is computed")
            .hint("Make the column's default a constant.")),
        false => Ok(()),
    }
}

/// 23503 of a row that was there before the key, whose values in the key's columns are the first row of `part`.
pub fn violated(
    (child, key): (&TableSchema, &ForeignKey),
    parent: &TableSchema,
    part: &AnswerPart,
) -> Error {
    let values = (0..key.columns.len()).map(|column| part.cell(0, column));
    let detail = match values.clone().any(|value| value.is_null()) {
        true => "MATCH FULL does not allow mixing of null and nonnull key values.".to_owned(),
        false => {
            let names = key.columns.iter().map(|column| &*child.columns[column.index()].name);
            let names = names.collect::<Vec<_>>().join(", ");
            let mut shown = Vec::new();
            for (number, value) in values.enumerate() {
                shown.extend_from_slice(if number == 0 { b"" } else { b", " });
                write_value(value, &mut shown);
            }
            let shown = String::from_utf8_lossy(&shown);
            format!("Key ({names})=({shown}) is not present in table \"{}\".", parent.name)
        }
    };
    let (table, name) = (&child.name, &key.name);
    let message =
        format!("insert or update on table \"{table}\" violates foreign key constraint \"{name}\"");
    Error::new(SqlState::ForeignKeyViolation, message).detail(detail).constraint(&**table, &**name)
}
