//! ALTER TABLE ... ALTER COLUMN ... TYPE.
//!
//! Where stored values are values of the new type as they are, only the definition changes. Otherwise the engine
//! stores all rows anew (`engine::heartbeat::TableRewrite`): every new value is computed from the old row by the USING
//! expression or the assignment cast, in one step for all columns that one statement changes, as PostgreSQL does.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation as Operation, Expr, Ident,
};
use engine::heartbeat::TableRewrite;
use engine::types::{
    Check, ColumnDefault, ColumnId, ColumnSchema, DataType, Definition, Error, ForeignKey, Result,
    Scalar, SequenceSchema, SqlState, TableId, TableSchema, Value,
};

use super::alter_table::column;
use super::constraint::{Draft, unsupported};
use super::foreign_key::{check_pairs, refuse_computed_defaults};
use super::naming::quote_identifier;
use super::{assignment, data_type, expression, generated, sequence, view};
use crate::analysis::check_of_row;
use crate::analysis::types::{assignable, name};
use crate::catalog::Catalog;
use crate::compile::Relation;
use crate::session::{Session, has_function};
use crate::template::Parameters;

/// One column's new type.
pub struct TypeChange<'a> {
    column: &'a Ident,
    wanted: &'a ast::DataType,
    using: Option<&'a Expr>,
}

/// Whether an operation changes a column's type.
pub fn is_change(operation: &Operation) -> bool {
    change(operation).is_some()
}

fn change(operation: &Operation) -> Option<TypeChange<'_>> {
    match operation {
        Operation::AlterColumn {
            column_name: column,
            op: AlterColumnOperation::SetDataType { data_type: wanted, using, .. },
        } => Some(TypeChange { column, wanted, using: using.as_ref() }),
        _ => None,
    }
}

/// The changes of types among a statement's operations.
pub fn changes(operations: &[Operation]) -> Vec<TypeChange<'_>> {
    operations.iter().filter_map(change).collect()
}

/// Runs the changes of one statement; gives the table's id from now on.
pub async fn alter(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    changes: &[TypeChange<'_>],
) -> Result<TableId> {
    let mut rewriting =
        Rewriting { session, catalog, table, changed: table.clone(), ids: Vec::new() };
    let mut conversions = Vec::new();
    let mut in_place = true;
    for change in changes {
        let (id, wanted) = rewriting.target(change)?;
        in_place &= change.using.is_none() && is_wider(table.columns[id.index()].data_type, wanted);
        conversions.push((id, rewriting.conversion(id, change)?));
        rewriting.redefine(id, wanted)?;
    }
    rewriting.check_foreign_keys()?;
    let Rewriting { changed, ids, .. } = rewriting;
    if in_place {
        session.define(Definition::AlterTable(changed)).await?;
        return Ok(table.id);
    }
    store_anew(session, catalog, table, (changed, &ids), conversions).await
}

/// Stores all rows anew, with a generated column more; gives the table's id from now on.
pub async fn add_generated(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    mut changed: TableSchema,
    column: ColumnId,
) -> Result<TableId> {
    lack_nothing(&mut changed);
    let planner = session.database().planner.clone();
    let mut conversions = generated::values(&planner, catalog, &changed)?;
    conversions.retain(|(id, _)| *id == column);
    store_anew(session, catalog, table, (changed, &[column]), conversions).await
}

async fn store_anew(
    session: &mut Session,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
    (mut changed, ids): (TableSchema, &[ColumnId]),
    conversions: Vec<(ColumnId, Scalar)>,
) -> Result<TableId> {
    let checks = checks_of(session, catalog, &changed, ids)?;
    let id = session.database().ids.table(catalog);
    changed.id = id;
    changed.repoint_keys(table.id, id);
    let sequences = wider_identities(catalog, table, &changed, ids)?;
    let rewrite = TableRewrite { table: table.id, by: changed, conversions, checks };
    session.rewrite(rewrite, sequences).await?;
    Ok(id)
}

/// Rows stored anew have a value of each column.
fn lack_nothing(table: &mut TableSchema) {
    table.columns.iter_mut().for_each(|column| column.missing = Value::Null);
}

struct Rewriting<'a> {
    session: &'a mut Session,
    catalog: &'a Arc<Catalog>,
    table: &'a TableSchema,
    /// The definition as it shall be.
    changed: TableSchema,
    /// The columns that change.
    ids: Vec<ColumnId>,
}

impl Rewriting<'_> {
    fn old(&self, id: ColumnId) -> &ColumnSchema {
        &self.table.columns[id.index()]
    }

    /// The column and the type that it shall have.
    fn target(&mut self, change: &TypeChange<'_>) -> Result<(ColumnId, DataType)> {
        let id = column(self.table, change.column)?;
        let wanted = data_type::data_type(change.wanted)?;
        let name = &self.old(id).name;
        if self.ids.contains(&id) {
            let message = format!("cannot alter type of column \"{name}\" twice");
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        if let Some(view) = view::reading(self.catalog, &self.table.name, name) {
            let message = "cannot alter type of a column used by a view or rule";
            let detail = format!("rule _RETURN on view {view} depends on column \"{name}\"");
            return Err(Error::new(SqlState::FeatureNotSupported, message).detail(detail));
        }
        if generated::is_generated(self.old(id)) {
            return Err(unsupported("another type of a generated column")
                .hint("Drop the column and add it again."));
        }
        if let Some(reader) = generated::reader(self.table, id) {
            let message = "cannot alter type of a column used by a generated column";
            let detail =
                format!("Column \"{name}\" is used by generated column \"{}\".", reader.name);
            return Err(Error::new(SqlState::FeatureNotSupported, message).detail(detail));
        }
        self.ids.push(id);
        Ok((id, wanted))
    }

    /// What computes the new values from the old row.
    fn conversion(&mut self, id: ColumnId, change: &TypeChange<'_>) -> Result<Scalar> {
        let wanted = data_type::data_type(change.wanted)?;
        let old = self.old(id).data_type;
        let expr = match change.using {
            None if !assignable(old, wanted) => return Err(self.not_automatic(id, wanted)),
            None => Expr::Identifier(super::returning::quoted(&self.old(id).name)),
            Some(using) => self.using(id, using, wanted)?,
        };
        let planner = self.session.database().planner.clone();
        let relation = Relation { alias: &self.table.name, table: self.table };
        let scope = planner.scope(self.catalog, &[relation])?;
        scope.scalar(&expr, Some(wanted), &mut Parameters::none())
    }

    fn not_automatic(&self, id: ColumnId, wanted: DataType) -> Error {
        let column = &self.old(id).name;
        let message =
            format!("column \"{column}\" cannot be cast automatically to type {}", name(wanted));
        let quoted = quote_identifier(column);
        let hint = format!("You might need to specify \"USING {quoted}::{}\".", spelled(wanted));
        Error::new(SqlState::DatatypeMismatch, message).hint(hint)
    }

    /// The USING expression, with the transaction's clock in it.
    fn using(&mut self, id: ColumnId, using: &Expr, wanted: DataType) -> Result<Expr> {
        let database = self.session.database().clone();
        let known = |name: &str| has_function(&database.planner, name);
        let table = Some(self.table);
        let clause = "transform expressions";
        let found = check_of_row(using, table, self.catalog, clause, &known)?;
        if found.is_some_and(|found| !assignable(found, wanted)) {
            let column = &self.old(id).name;
            let message = format!(
                "result of USING clause for column \"{column}\" cannot be cast automatically to \
                 type {}",
                name(wanted)
            );
            let hint = "You might need to add an explicit cast.";
            return Err(Error::new(SqlState::DatatypeMismatch, message).hint(hint));
        }
        let text = using.to_string();
        match expression::reads_clock(&text)? {
            true => expression::at_time(&text, self.session.started()),
            false => Ok(using.clone()),
        }
    }

    /// Gives the column its new type and brings its default into it.
    fn redefine(&mut self, id: ColumnId, wanted: DataType) -> Result<()> {
        let default = self.default(id, wanted)?;
        lack_nothing(&mut self.changed);
        let column = &mut self.changed.columns[id.index()];
        column.data_type = wanted;
        column.default = default;
        Ok(())
    }

    fn default(&self, id: ColumnId, wanted: DataType) -> Result<ColumnDefault> {
        let old = self.old(id);
        let from = match &old.default {
            ColumnDefault::None | ColumnDefault::Generated(_) => return Ok(old.default.clone()),
            ColumnDefault::Sequence { identity, .. } => {
                refuse_sequence(old, wanted, *identity)?;
                return Ok(old.default.clone());
            }
            ColumnDefault::Constant(_) => old.data_type,
            ColumnDefault::Expression(text) => {
                let scope = self.session.database().planner.clone();
                let scope = scope.scope(self.catalog, &[])?;
                scope.data_type(&expression::parse(text)?, &mut Parameters::none())?
            }
        };
        if !assignable(from, wanted) {
            let message = format!(
                "default for column \"{}\" cannot be cast automatically to type {}",
                old.name,
                name(wanted)
            );
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        match &old.default {
            ColumnDefault::Constant(value) => Ok(match assignment::cast(value.clone(), wanted) {
                Ok(value) => ColumnDefault::Constant(value),
                // Who asks for it will be told.
                Err(_) => ColumnDefault::Expression(literal(value, old.data_type).into()),
            }),
            other => Ok(other.clone()),
        }
    }

    /// 42804 where a foreign key could not compare its columns any more.
    fn check_foreign_keys(&self) -> Result<()> {
        let of_own = self.changed.foreign_keys.iter().map(|key| (&self.changed, key));
        let others = self.catalog.tables().into_iter().filter(|other| other.id != self.table.id);
        let on_own =
            others.flat_map(|other| other.foreign_keys.iter().map(move |key| (&**other, key)));
        for (child, key) in of_own.chain(on_own.filter(|(_, key)| key.parent == self.table.id)) {
            self.check_foreign_key(child, key)?;
        }
        refuse_computed_defaults(&self.changed)
    }

    fn check_foreign_key(&self, child: &TableSchema, key: &ForeignKey) -> Result<()> {
        let parent = match key.parent == self.table.id {
            true => &self.changed,
            false => self.catalog.table_by_id(key.parent).map_or(&self.changed, |parent| parent),
        };
        check_pairs(&key.name, (child, &key.columns), (parent, &key.parent_columns))
    }
}

/// A value as SQL.
pub fn literal(value: &Value, data_type: DataType) -> String {
    let mut bytes = Vec::new();
    crate::text::write_value(value.borrow(), &mut bytes);
    let text = String::from_utf8_lossy(&bytes).replace('\'', "''");
    format!("'{text}'::{}", spelled(data_type))
}

/// A sequence gives integers.
fn refuse_sequence(column: &ColumnSchema, wanted: DataType, identity: bool) -> Result<()> {
    if matches!(wanted, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
        return Ok(());
    }
    if identity {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    Err(unsupported(&format!("a sequence's value as default of {} {wanted}", column.name)))
}

/// The type as one writes it in a cast.
fn spelled(data_type: DataType) -> String {
    match data_type {
        DataType::Numeric { precision: 38, scale: 10 } => "numeric".to_owned(),
        other => other.to_string(),
    }
}

/// CHECK constraints over columns that change.
fn checks_of(
    session: &Session,
    catalog: &Arc<Catalog>,
    changed: &TableSchema,
    ids: &[ColumnId],
) -> Result<Vec<Check>> {
    let database = session.database();
    let draft = Draft { schema: changed.clone(), catalog, ids: &database.ids };
    let concerned = |text: &str| {
        let columns = expression::parse(text).map(|expr| draft.mentioned(&expr));
        columns.is_ok_and(|columns| columns.iter().any(|column| ids.contains(column)))
    };
    let mut asked = changed.clone();
    asked.checks.retain(|check| concerned(&check.expression));
    expression::checks(&database.planner, catalog, &asked)
}

/// Identity columns' sequences that reached to the end of the old type reach to that of the new one.
fn wider_identities(
    catalog: &Catalog,
    table: &TableSchema,
    changed: &TableSchema,
    ids: &[ColumnId],
) -> Result<Vec<Definition>> {
    let sequences = catalog.sequences();
    let of_column = ids.iter().filter_map(|id| {
        let column = &changed.columns[id.index()];
        let ColumnDefault::Sequence { id: own, identity: true, .. } = column.default else {
            return None;
        };
        let sequence = sequences.iter().find(|sequence| sequence.id == own)?;
        let old = sequence::limits(table.columns[id.index()].data_type);
        let new = sequence::limits(column.data_type);
        let mut wider = SequenceSchema::clone(sequence);
        wider.min = if wider.min == old.0 { new.0 } else { wider.min };
        wider.max = if wider.max == old.1 { new.1 } else { wider.max };
        wider.owner = wider.owner.map(|(_, column)| (changed.id, column));
        Some(wider)
    });
    let checked = of_column.map(|sequence| match beyond(catalog, &sequence) {
        Some(fault) => Err(fault),
        None => Ok(Definition::AlterSequence(sequence)),
    });
    checked.collect()
}

/// A sequence that stands beyond its new end.
fn beyond(catalog: &Catalog, sequence: &SequenceSchema) -> Option<Error> {
    let stored = catalog.engine()?.store().sequence(sequence.id)?;
    sequence::outside(sequence, stored.state().0)
}

/// Whether every stored value is one of the wider type as it is.
fn is_wider(old: DataType, new: DataType) -> bool {
    match (old, new) {
        (DataType::Varchar(old), DataType::Varchar(new)) => new >= old,
        (DataType::Varchar(_), DataType::Text) => true,
        (old, new) => old == new,
    }
}
