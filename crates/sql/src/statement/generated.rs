//! Generated columns: GENERATED ALWAYS AS (expression) STORED.
//!
//! A definition keeps the expression as SQL ([`ColumnDefault::Generated`]). It reads columns of its row that are not generated, and gives
//! the same for the same values, whoever asks and whenever: the engine computes it for each new row, whatever statement or foreign key's
//! action makes it (`engine::types::RowRules`).

use std::sync::Arc;

use analysis::analyze;
use analysis::catalog::{
    Catalog as Names, Generated, Missing, Relation, RelationColumn, RelationKind,
};
use analysis::facts::{Oid, TypeRow, type_row};
use analysis::tree::Query;
use datafusion::sql::sqlparser::ast::Expr;
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, Error, ForeignKey, ForeignKeyAction, Result,
    Scalar, SqlState, TableSchema,
};

use super::assignment::{is_assignable, plain_name};
use super::constraint::columns_in_order;
use super::returning::quoted;
use super::{describe, expression};
use crate::analysis::check_of_row;
use crate::catalog::Catalog;
use crate::compile;
use crate::session::has_function;
use crate::template::{Parameters, Planner, tree};
use crate::text::present;

const CLAUSE: &str = "column generation expressions";

/// Whether a column is generated.
pub fn is_generated(column: &ColumnSchema) -> bool {
    matches!(column.default, ColumnDefault::Generated(_))
}

/// The values of a table's generated columns, compiled.
pub fn values(
    planner: &Planner,
    catalog: &Arc<Catalog>,
    table: &TableSchema,
) -> Result<Vec<(ColumnId, Scalar)>> {
    let mut values = Vec::new();
    for (id, text) in table.generated_columns() {
        let column = &table.columns[id.index()];
        values.push((id, value(planner, catalog, (table, column), text)?));
    }
    Ok(values)
}

fn value(
    planner: &Planner,
    catalog: &Arc<Catalog>,
    (table, column): (&TableSchema, &ColumnSchema),
    text: &str,
) -> Result<Scalar> {
    let expr = expression::parse(text)?;
    let relation = compile::Relation { alias: &table.name, table };
    let scope = planner.scope(catalog, &[relation])?;
    scope.scalar(&expr, Some(column.data_type), &mut Parameters::none())
}

/// What it reads, and of which type it is.
fn check(
    planner: &Planner,
    catalog: &Arc<Catalog>,
    (table, column): (&TableSchema, &ColumnSchema),
    expr: &Expr,
) -> Result<()> {
    let known = |name: &str| has_function(planner, name);
    let found = check_of_row(expr, Some(table), catalog, CLAUSE, &known)?;
    match found.filter(|found| !is_assignable(*found, column.data_type)) {
        Some(found) => Err(not_assignable(column, found)),
        None => Ok(()),
    }
}

fn not_assignable(column: &ColumnSchema, found: DataType) -> Error {
    let message = format!(
        "column \"{}\" is of type {} but default expression is of type {}",
        column.name,
        column.data_type,
        plain_name(found)
    );
    let hint = "You will need to rewrite or cast the expression.";
    Error::new(SqlState::DatatypeMismatch, message).hint(hint)
}

/// Looks at the expressions of a new definition: 42P17 where one reads a generated column, or may give another value for the same row.
pub fn validate(planner: &Planner, catalog: &Arc<Catalog>, table: &TableSchema) -> Result<()> {
    for (id, text) in table.generated_columns() {
        let expr = expression::parse(text)?;
        if let Some(read) = reads(table, &expr).into_iter().find(|read| is_generated(read)) {
            let name = &read.name;
            let message =
                format!("cannot use generated column \"{name}\" in column generation expression");
            let detail = "A generated column cannot reference another generated column.";
            return Err(Error::new(SqlState::InvalidObjectDefinition, message).detail(detail));
        }
        check(planner, catalog, (table, &table.columns[id.index()]), &expr)?;
        let Some(query) = analysed(table, &expr) else { continue };
        let column = &table.columns[id.index()];
        if is_text(&query) && !column.data_type.is_string() {
            return Err(not_assignable(column, DataType::Text));
        }
        if !query.is_immutable() {
            let message = "generation expression is not immutable";
            return Err(Error::new(SqlState::InvalidObjectDefinition, message));
        }
    }
    Ok(())
}

fn reads<'t>(table: &'t TableSchema, expr: &Expr) -> Vec<&'t ColumnSchema> {
    let columns = columns_in_order(table, expr).into_iter();
    columns.map(|id| &table.columns[id.index()]).collect()
}

/// The generated column that is computed from a column, if there is one.
pub fn reader(table: &TableSchema, column: ColumnId) -> Option<&ColumnSchema> {
    let reads = |text: &str| {
        expression::parse(text).is_ok_and(|expr| columns_in_order(table, &expr).contains(&column))
    };
    let found = table.generated_columns().find(|(_, text)| reads(text));
    found.map(|(id, _)| &table.columns[id.index()])
}

/// By PostgreSQL's analysis; what that does not know has been refused before, or is ours.
fn analysed(table: &TableSchema, expr: &Expr) -> Option<Query> {
    let text = format!("SELECT {expr} FROM {}", quoted(&table.name));
    let tree = tree(&text).ok()?;
    let names = OneTable(Arc::new(relation(table)));
    let statement = tree.statements().next()?;
    let analysed = analyze(&text, statement.node, &names, &present(), &[]);
    analysed.ok().map(|analysis| analysis.query)
}

fn is_text(query: &Query) -> bool {
    const STRINGS: char = 'S';
    let types = query.columns().filter_map(|target| type_row(target.expression.type_oid));
    types.into_iter().all(|row| row.category == STRINGS)
}

/// A relation of that definition, which nobody else knows yet.
fn relation(table: &TableSchema) -> Relation {
    let column = |column: &ColumnSchema| {
        let described = describe::describe_column(&column.name, column.data_type, None);
        (!column.dropped).then(|| RelationColumn {
            name: column.name.clone(),
            type_oid: described.type_id,
            typmod: described.type_modifier,
            collation: type_row(described.type_id).map_or(0, |row| row.collation),
            is_not_null: column.not_null,
            generated: Generated::No,
        })
    };
    Relation {
        oid: 0,
        name: table.name.clone(),
        kind: RelationKind::Table,
        row_type: 0,
        columns: table.columns.iter().map(column).collect(),
        primary_key: Vec::new(),
        unique_indexes: Vec::new(),
    }
}

/// A catalog of one table.
struct OneTable(Arc<Relation>);

impl Names for OneTable {
    fn relation(&self, _: Option<&str>, name: &str) -> Result<Arc<Relation>, Missing> {
        if *self.0.name == *name { Ok(self.0.clone()) } else { Err(Missing::Relation) }
    }

    fn relation_by_oid(&self, _: Oid) -> Option<Arc<Relation>> {
        None
    }

    fn type_named(&self, _: Option<&str>, _: &str) -> Option<&'static TypeRow> {
        None
    }

    fn type_row(&self, _: Oid) -> Option<&'static TypeRow> {
        None
    }

    fn has_label(&self, _: Oid, _: &str) -> bool {
        false
    }

    fn has_schema(&self, _: &str) -> bool {
        false
    }

    fn database(&self) -> &str {
        ""
    }
}

/// 428C9 for a value that a statement gives to a generated column, or to one that is always an identity; `done` says what was tried.
pub fn refuse_value(column: &ColumnSchema, message: String) -> Result<()> {
    let name = &column.name;
    let detail = match column.default {
        ColumnDefault::Generated(_) => format!("Column \"{name}\" is a generated column."),
        ColumnDefault::Sequence { always: true, .. } => {
            format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS.")
        }
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::GeneratedAlways, message).detail(detail))
}

/// 42601 where a foreign key's action would set a generated column.
pub fn refuse_actions(table: &TableSchema, key: &ForeignKey) -> Result<()> {
    use ForeignKeyAction::{Cascade, SetDefault, SetNull};
    if !key.columns.iter().any(|id| is_generated(&table.columns[id.index()])) {
        return Ok(());
    }
    let event = match (key.on_update, key.on_delete) {
        (SetNull | SetDefault | Cascade, _) => "UPDATE",
        (_, SetNull | SetDefault) => "DELETE",
        _ => return Ok(()),
    };
    let message =
        format!("invalid ON {event} action for foreign key constraint containing generated column");
    Err(Error::new(SqlState::SyntaxError, message))
}
