//! UPDATE and DELETE.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr, FromTable, ObjectName, TableFactor, TableWithJoins,
    UpdateTableFromKind,
};
use engine::plan::{DeletePlan, UpdatePlan, WriteAction};
use engine::types::{ColumnDefault, ColumnId, Error, Result, Scalar, SqlState, TableSchema, Value};

use super::constraint::unsupported;
use super::generated::{is_generated, refuse_value};
use super::insert::{is_default, literal, mismatch_names_column, placeholder};
use super::naming::{fold, table, undefined_column};
use super::write::{Parts, Subqueries, Write};
use super::{complex, expression, returning, row_assignment};
use crate::catalog::Catalog;
use crate::compile::{Relation, Scope};
use crate::session::Database;
use crate::session::prepared::{Plan, Prepared};
use crate::template::{Lifted, Parameters};

/// The table that a statement changes, as the statement names it.
pub struct Target {
    /// Its definition.
    pub table: Arc<TableSchema>,
    /// The name that the statement's expressions use.
    pub alias: String,
}

/// The one plain table of an UPDATE's or DELETE's first clause.
pub fn target(catalog: &Catalog, from: &TableWithJoins) -> Result<Target> {
    let TableFactor::Table { name, alias, args: None, .. } = &from.relation else {
        return Err(unsupported("changing anything but a table"));
    };
    if !from.joins.is_empty() {
        let message = "syntax error: the changed table cannot be joined here";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    let table = table(catalog, name)?.clone();
    let alias = match alias {
        Some(alias) => fold(&alias.name),
        None => table.name.to_string(),
    };
    Ok(Target { table, alias })
}

/// FROM of an UPDATE.
pub fn update_from(update: &ast::Update) -> &[TableWithJoins] {
    match &update.from {
        None => &[],
        Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from,
    }
}

/// Plans UPDATE, perhaps with queries named before it.
pub fn plan_update(
    database: &Database,
    catalog: &Arc<Catalog>,
    lifted: Lifted,
    update: ast::Update,
    with: Option<ast::With>,
    mut parameters: Parameters,
) -> Result<(Prepared, Parameters)> {
    refuse_limit(&update.order_by, update.limit.as_ref())?;
    let target = target(catalog, &update.table)?;
    let pairs = pairs(&update.assignments, &target.table)?;
    let from = update_from(&update);
    learn(&mut parameters, &pairs, &target.table);
    let change = complex::Change {
        target: &target,
        with: with.as_ref(),
        pairs: Some(&pairs),
        from,
        selection: update.selection.as_ref(),
        returning: update.returning.as_deref(),
    };
    if !from.is_empty() || with.is_some() {
        return complex::plan(database, catalog, &lifted, change, parameters);
    }
    let before = parameters.clone();
    let mut subqueries = Subqueries::new(database, catalog);
    let mut selection = update.selection.clone();
    let mut taken = pairs.clone();
    let exprs = selection.iter_mut().chain(taken.iter_mut().map(|(_, expr)| expr));
    if !take_all(&mut subqueries, exprs, &mut parameters) {
        return complex::plan(database, catalog, &lifted, change, before);
    }
    let relations = [Relation { alias: &target.alias, table: &target.table }];
    let scope = database.planner.scope(catalog, &relations)?;
    let predicates = predicates(selection.as_ref(), &scope, &mut parameters)?;
    let assignments = values(&taken, &target.table, &scope, &mut parameters)?;
    let returning = returning::compile(
        update.returning.as_deref(),
        &target.table,
        &target.alias,
        &scope,
        &mut parameters,
    )?;
    let rules = expression::rules(&database.planner, catalog, &target.table)?;
    let table = target.table.id;
    let action = WriteAction::Update(UpdatePlan { table, predicates, assignments, rules });
    let parts = Parts { returning, parameters, subqueries: subqueries.found };
    Ok(finish(catalog, &lifted, action, &target, parts, "UPDATE"))
}

/// Plans DELETE, perhaps with queries named before it.
pub fn plan_delete(
    database: &Database,
    catalog: &Arc<Catalog>,
    lifted: Lifted,
    delete: ast::Delete,
    with: Option<ast::With>,
    mut parameters: Parameters,
) -> Result<(Prepared, Parameters)> {
    refuse_limit(&delete.order_by, delete.limit.as_ref())?;
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [first] = from.as_slice() else {
        return Err(unsupported("DELETE from several tables"));
    };
    let target = target(catalog, first)?;
    let using = delete.using.clone().unwrap_or_default();
    let change = complex::Change {
        target: &target,
        with: with.as_ref(),
        pairs: None,
        from: &using,
        selection: delete.selection.as_ref(),
        returning: delete.returning.as_deref(),
    };
    if !using.is_empty() || with.is_some() {
        return complex::plan(database, catalog, &lifted, change, parameters);
    }
    let before = parameters.clone();
    let mut subqueries = Subqueries::new(database, catalog);
    let mut selection = delete.selection.clone();
    if !take_all(&mut subqueries, selection.iter_mut(), &mut parameters) {
        return complex::plan(database, catalog, &lifted, change, before);
    }
    let relations = [Relation { alias: &target.alias, table: &target.table }];
    let scope = database.planner.scope(catalog, &relations)?;
    let predicates = predicates(selection.as_ref(), &scope, &mut parameters)?;
    let returning = returning::compile(
        delete.returning.as_deref(),
        &target.table,
        &target.alias,
        &scope,
        &mut parameters,
    )?;
    let action = WriteAction::Delete(DeletePlan { table: target.table.id, predicates });
    let parts = Parts { returning, parameters, subqueries: subqueries.found };
    Ok(finish(catalog, &lifted, action, &target, parts, "DELETE"))
}

fn finish(
    catalog: &Catalog,
    lifted: &Lifted,
    action: WriteAction,
    target: &Target,
    parts: Parts,
    tag: &'static str,
) -> (Prepared, Parameters) {
    let columns = parts.returning.columns.clone();
    let parameters = parts.parameters.clone();
    let write = Write::new(action, target.table.id, parts, &lifted.text, lifted.now, tag);
    (Prepared::template(catalog, &parameters, columns, Plan::Write(write)), parameters)
}

fn take_all<'e>(
    subqueries: &mut Subqueries<'_>,
    exprs: impl Iterator<Item = &'e mut Expr>,
    parameters: &mut Parameters,
) -> bool {
    let mut all = true;
    for expr in exprs {
        all &= !crate::template::has_subquery(expr) || subqueries.take(expr, parameters);
    }
    all
}

fn predicates(
    selection: Option<&Expr>,
    scope: &Scope<'_>,
    parameters: &mut Parameters,
) -> Result<Vec<engine::types::Predicate>> {
    selection.map_or(Ok(Vec::new()), |selection| scope.predicates(selection, parameters))
}

fn refuse_limit(order_by: &[ast::OrderByExpr], limit: Option<&Expr>) -> Result<()> {
    if order_by.is_empty() && limit.is_none() {
        return Ok(());
    }
    let word = if order_by.is_empty() { "LIMIT" } else { "ORDER" };
    Err(Error::new(SqlState::SyntaxError, format!("syntax error at or near \"{word}\"")))
}

/// A SET clause as pairs of column and expression, tuples taken apart.
pub fn pairs(assignments: &[Assignment], table: &TableSchema) -> Result<Vec<(ColumnId, Expr)>> {
    let mut pairs: Vec<(ColumnId, Expr)> = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let new = match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(name), value) => {
                vec![(column(name, table)?, value.clone())]
            }
            (AssignmentTarget::Tuple(names), value) => {
                let columns = names.iter().map(|name| column(name, table));
                let columns = columns.collect::<Result<Vec<_>>>()?;
                let values = row_assignment::expressions(value, columns.len())?;
                columns.into_iter().zip(values).collect()
            }
        };
        for (column, expr) in new {
            let name = &table.columns[column.index()].name;
            if pairs.iter().any(|(other, _)| *other == column) {
                let message = format!("multiple assignments to same column \"{name}\"");
                return Err(Error::new(SqlState::SyntaxError, message));
            }
            let target = &table.columns[column.index()];
            if !is_default(&expr) {
                let message = format!("column \"{name}\" can only be updated to DEFAULT");
                refuse_value(target, message)?;
            } else if is_generated(target) {
                continue;
            }
            pairs.push((column, expr));
        }
    }
    Ok(pairs)
}

fn column(name: &ObjectName, table: &TableSchema) -> Result<ColumnId> {
    let ident = name.0.last().and_then(|part| part.as_ident());
    let folded = ident.map(fold).unwrap_or_default();
    let found = table.column(&folded).map(|(id, _)| id);
    found.ok_or_else(|| undefined_column(&table.name, &folded))
}

/// Bare parameters take their columns' types before any expression is planned.
pub fn learn(parameters: &mut Parameters, pairs: &[(ColumnId, Expr)], table: &TableSchema) {
    for (column, expr) in pairs {
        if let Some(number) = placeholder(expr) {
            let data_type = table.columns[column.index()].data_type.arrow();
            parameters.learn(number, &data_type);
            parameters.adopt(number, &data_type);
        }
    }
}

/// The SET clause of ON CONFLICT, compiled.
pub fn assignments(
    assignments: &[Assignment],
    table: &TableSchema,
    scope: &Scope<'_>,
    subqueries: &mut Subqueries<'_>,
    parameters: &mut Parameters,
) -> Result<Vec<(ColumnId, Scalar)>> {
    let mut pairs = pairs(assignments, table)?;
    learn(parameters, &pairs, table);
    if !take_all(subqueries, pairs.iter_mut().map(|(_, expr)| expr), parameters) {
        return Err(unsupported("this kind of subquery in ON CONFLICT"));
    }
    values(&pairs, table, scope, parameters)
}

fn values(
    pairs: &[(ColumnId, Expr)],
    table: &TableSchema,
    scope: &Scope<'_>,
    parameters: &mut Parameters,
) -> Result<Vec<(ColumnId, Scalar)>> {
    let mut compiled = Vec::with_capacity(pairs.len());
    for (id, expr) in pairs {
        let column = &table.columns[id.index()];
        let scalar = if is_default(expr) {
            default(column)?
        } else if let Some(value) = literal(expr, column)? {
            Scalar::Literal(value)
        } else {
            scope
                .scalar(expr, Some(column.data_type), parameters)
                .map_err(|error| mismatch_names_column(error, column))?
        };
        compiled.push((*id, scalar));
    }
    Ok(compiled)
}

fn default(column: &engine::types::ColumnSchema) -> Result<Scalar> {
    match &column.default {
        ColumnDefault::None => Ok(Scalar::Literal(Value::Null)),
        ColumnDefault::Constant(value) => Ok(Scalar::Literal(value.clone())),
        _ => Err(unsupported("SET ... = DEFAULT where the default is computed")),
    }
}
