//! Constraints of a table, as CREATE TABLE and ALTER TABLE add them.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, IndexColumn, TableConstraint, Visit, Visitor,
};
use engine::types::{
    CheckConstraint, ColumnId, Error, IndexKind, IndexSchema, Result, SqlState, TableSchema,
};

use super::naming::{choose, fold};
use crate::catalog::Catalog;
use crate::session::Ids;

/// A table definition under construction.
pub struct Draft<'a> {
    /// The definition so far.
    pub schema: TableSchema,
    /// What else is defined.
    pub catalog: &'a Arc<Catalog>,
    /// New ids.
    pub ids: &'a Ids,
}

/// A column's constraint has no column list of its own.
pub fn of_column(option: &ast::ColumnOption, column: &Ident) -> Option<TableConstraint> {
    let only = || vec![IndexColumn::from(column.clone())];
    Some(match option {
        ast::ColumnOption::PrimaryKey(key) => {
            TableConstraint::PrimaryKey(ast::PrimaryKeyConstraint {
                columns: only(),
                ..key.clone()
            })
        }
        ast::ColumnOption::Unique(unique) => {
            TableConstraint::Unique(ast::UniqueConstraint { columns: only(), ..unique.clone() })
        }
        ast::ColumnOption::ForeignKey(key) => {
            TableConstraint::ForeignKey(ast::ForeignKeyConstraint {
                columns: vec![column.clone()],
                ..key.clone()
            })
        }
        ast::ColumnOption::Check(check) => TableConstraint::Check(check.clone()),
        _ => return None,
    })
}

impl Draft<'_> {
    /// Adds a constraint. Indexes are appended to the definition's list.
    pub fn add(&mut self, constraint: &TableConstraint, column: Option<&Ident>) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                refuse_deferrable(key.characteristics.as_ref())?;
                self.add_key(key.name.as_ref(), &key.columns, true)
            }
            TableConstraint::Unique(unique) => {
                refuse_deferrable(unique.characteristics.as_ref())?;
                if unique.nulls_distinct == ast::NullsDistinctOption::NotDistinct {
                    return Err(unsupported("UNIQUE NULLS NOT DISTINCT"));
                }
                self.add_key(unique.name.as_ref(), &unique.columns, false)
            }
            TableConstraint::ForeignKey(key) => self.add_foreign_key(key),
            TableConstraint::Check(check) => {
                self.add_check(check.name.as_ref(), &check.expr, column)
            }
            other => Err(unsupported(&format!("the constraint {other}"))),
        }
    }

    /// The column of that name.
    pub fn column(&self, name: &Ident) -> Result<ColumnId> {
        let folded = fold(name);
        let found = self.schema.column(&folded).map(|(id, _)| id);
        found.ok_or_else(|| {
            let message = format!("column \"{folded}\" named in key does not exist");
            Error::new(SqlState::UndefinedColumn, message)
        })
    }

    fn columns(&self, names: &[Ident]) -> Result<Vec<ColumnId>> {
        names.iter().map(|name| self.column(name)).collect()
    }

    /// The constraint's name, or one that is made of the table's and its columns'.
    pub fn constraint_name(
        &self,
        name: Option<&Ident>,
        columns: &[ColumnId],
        label: &str,
    ) -> Result<Arc<str>> {
        if let Some(name) = name {
            let name = fold(name);
            if self.has_constraint(&name) {
                let message = format!(
                    "constraint \"{name}\" for relation \"{}\" already exists",
                    self.schema.name
                );
                return Err(Error::new(SqlState::DuplicateObject, message));
            }
            return Ok(name.into());
        }
        let mut parts = vec![&*self.schema.name];
        if label != "pkey" {
            parts.extend(columns.iter().map(|id| &*self.schema.columns[id.index()].name));
        }
        let taken = |name: &str| self.has_constraint(name) || self.catalog.has_relation(name);
        Ok(choose(&parts, label, taken).into())
    }

    fn has_constraint(&self, name: &str) -> bool {
        self.schema.indexes.iter().any(|index| &*index.name == name)
            || self.schema.checks.iter().any(|check| &*check.name == name)
            || self.schema.foreign_keys.iter().any(|key| &*key.name == name)
    }

    fn add_key(
        &mut self,
        name: Option<&Ident>,
        columns: &[IndexColumn],
        primary: bool,
    ) -> Result<()> {
        if primary && self.schema.primary_key().is_some() {
            let message =
                format!("multiple primary keys for table \"{}\" are not allowed", self.schema.name);
            return Err(Error::new(SqlState::InvalidTableDefinition, message));
        }
        let names = columns.iter().map(key_column).collect::<Result<Vec<_>>>()?;
        let columns = self.columns(&names)?;
        refuse_twice(&self.schema, &columns)?;
        let label = if primary { "pkey" } else { "key" };
        let name = self.constraint_name(name, &columns, label)?;
        if self.catalog.has_relation(&name) {
            return Err(super::naming::duplicate_relation(&name));
        }
        if primary {
            for column in &columns {
                self.schema.columns[column.index()].not_null = true;
            }
        }
        self.schema.indexes.push(IndexSchema {
            id: self.ids.index(self.catalog),
            name,
            columns,
            kind: IndexKind::Ordered,
            unique: true,
            primary,
            constraint: true,
        });
        Ok(())
    }

    fn add_check(
        &mut self,
        name: Option<&Ident>,
        expr: &Expr,
        column: Option<&Ident>,
    ) -> Result<()> {
        let mentioned = self.mentioned(expr);
        let columns = match (column, mentioned.as_slice()) {
            (Some(column), _) => vec![self.column(column)?],
            (None, [only]) => vec![*only],
            (None, _) => Vec::new(),
        };
        let name = self.constraint_name(name, &columns, "check")?;
        self.schema.checks.push(CheckConstraint { name, expression: expr.to_string().into() });
        Ok(())
    }

    /// The distinct columns that an expression names.
    pub fn mentioned(&self, expr: &Expr) -> Vec<ColumnId> {
        let mut columns = columns_in_order(&self.schema, expr);
        columns.sort();
        columns
    }
}

/// The plain column of an index; expressions, collations and operator classes are refused.
pub fn key_column(column: &IndexColumn) -> Result<Ident> {
    match (&column.column.expr, &column.operator_class) {
        (Expr::Identifier(name), None) => Ok(name.clone()),
        (Expr::Identifier(_), Some(class)) => Err(unsupported(&format!("operator class {class}"))),
        _ => Err(unsupported("an index on an expression")),
    }
}

fn refuse_twice(table: &TableSchema, columns: &[ColumnId]) -> Result<()> {
    for (position, column) in columns.iter().enumerate() {
        if columns[..position].contains(column) {
            let name = &table.columns[column.index()].name;
            let message = format!("column \"{name}\" appears twice in key");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
    }
    Ok(())
}

/// 0A000 for a constraint that is not checked at once.
pub fn refuse_deferrable(characteristics: Option<&ast::ConstraintCharacteristics>) -> Result<()> {
    match characteristics {
        Some(c) if c.deferrable == Some(true) => Err(unsupported("DEFERRABLE constraints")),
        _ => Ok(()),
    }
}

/// 0A000.
pub fn unsupported(what: &str) -> Error {
    Error::new(SqlState::FeatureNotSupported, format!("{what} is not supported"))
}

/// The distinct columns of a table that an expression names, in the order in which it first does.
pub fn columns_in_order(table: &TableSchema, expr: &Expr) -> Vec<ColumnId> {
    struct Names(Vec<String>);
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(name) => self.0.push(fold(name)),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().map(fold)),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    let _ = expr.visit(&mut names);
    let mut columns = Vec::new();
    for (id, _) in names.0.iter().filter_map(|name| table.column(name)) {
        if !columns.contains(&id) {
            columns.push(id);
        }
    }
    columns
}
