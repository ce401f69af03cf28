//! INSERT, UPDATE and DELETE: what is assigned, and conditions.

use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, Insert, ObjectName, SelectItem, SetExpr,
    Statement, TableFactor, TableObject, TableWithJoins, Update, UpdateTableFromKind,
};
use engine::types::{DataType, Result, SqlState, TableSchema};

use super::Analysis;
use super::expression::Place;
use super::relations::{Columns, Scope};
use super::types::{Type, assignable, name};
use crate::statement::row_assignment::{NO_ROW, RowSource, WRONG_NUMBER, row_source};
use crate::template::fold;

impl Analysis<'_> {
    /// Analyzes INSERT, UPDATE or DELETE; nothing of other statements.
    pub(super) fn write(&self, statement: &Statement, outer: &Scope) -> Result<()> {
        match statement {
            Statement::Insert(insert) => self.insert(insert, outer),
            Statement::Update(update) => self.update(update, outer),
            Statement::Delete(delete) => self.delete(delete, outer),
            _ => Ok(()),
        }
    }

    fn insert(&self, insert: &Insert, outer: &Scope) -> Result<()> {
        let TableObject::TableName(table) = &insert.table else { return Ok(()) };
        let Some(table) = self.stored(table) else { return Ok(()) };
        let targets = targets(table, &insert.columns);
        if let Some(source) = &insert.source {
            let scope = match &source.with {
                Some(with) => self.with(with, outer)?,
                None => outer.clone(),
            };
            match source.body.as_ref() {
                SetExpr::Values(values) => {
                    for row in &values.rows {
                        self.row(table, &targets, &row.content, &scope)?;
                    }
                }
                body => {
                    let columns = self.query(source, outer)?;
                    self.selected(&targets, columns, body)?;
                }
            }
        }
        let mut scope = outer.clone();
        self.target_scope(table, insert.table_alias.as_ref().map(|a| fold(&a.alias)), &mut scope);
        self.returning(insert.returning.as_deref(), &scope)
    }

    /// A row of VALUES against the columns that it goes into.
    fn row(
        &self,
        table: &TableSchema,
        targets: &[(String, DataType)],
        row: &[Expr],
        scope: &Scope,
    ) -> Result<()> {
        if let Some(more) = row.get(targets.len()).filter(|_| !targets.is_empty()) {
            let message = "INSERT has more expressions than target columns";
            let at = self.words.start(more);
            return Err(self.words.fault(SqlState::SyntaxError, message, at));
        }
        for (i, expr) in row.iter().enumerate() {
            if let Expr::Identifier(column) = expr
                && scope.relations.is_empty()
                && column.quote_style.is_none()
                && let Some((known, _)) = table.column(&fold(column)).map(|(_, c)| (&c.name, c))
            {
                let message = format!("column \"{known}\" does not exist");
                let hint = format!(
                    "There is a column named \"{known}\" in table \"{}\", but it cannot be \
                     referenced from this part of the query.",
                    table.name
                );
                let at = self.words.start(expr);
                return Err(self.words.fault(SqlState::UndefinedColumn, message, at).hint(hint));
            }
            if is_default(expr) {
                continue;
            }
            let found = self.expression(expr, scope, Place::rows("VALUES"))?;
            if let Some((column, wanted)) = targets.get(i) {
                self.assign(column, *wanted, found, expr)?;
            }
        }
        Ok(())
    }

    fn selected(
        &self,
        targets: &[(String, DataType)],
        columns: Columns,
        body: &SetExpr,
    ) -> Result<()> {
        let SetExpr::Select(select) = body else { return Ok(()) };
        let Some(columns) = columns else { return Ok(()) };
        if columns.len() != select.projection.len() {
            return Ok(());
        }
        let pairs = targets.iter().zip(columns).zip(&select.projection);
        for (((column, wanted), (_, found)), item) in pairs {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                self.assign(column, *wanted, found, expr)?;
            }
        }
        Ok(())
    }

    /// 42804 where a column does not take a value.
    fn assign(&self, column: &str, wanted: DataType, found: Type, expr: &Expr) -> Result<()> {
        let Type::Known(found) = found else { return Ok(()) };
        if assignable(found, wanted) {
            return Ok(());
        }
        let (wanted, found) = (name(wanted), name(found));
        let message =
            format!("column \"{column}\" is of type {wanted} but expression is of type {found}");
        let at = self.words.start(expr);
        let hint = "You will need to rewrite or cast the expression.";
        Err(self.words.fault(SqlState::DatatypeMismatch, message, at).hint(hint))
    }

    fn update(&self, update: &Update, outer: &Scope) -> Result<()> {
        let mut scope = outer.clone();
        let Some(table) = self.target(&update.table, &mut scope) else { return Ok(()) };
        if let Some(UpdateTableFromKind::AfterSet(from)) = &update.from {
            self.from(from, &mut scope)?;
        }
        for assignment in &update.assignments {
            self.assignment(table, assignment, &scope)?;
        }
        self.condition(update.selection.as_ref(), &scope)?;
        self.returning(update.returning.as_deref(), &scope)
    }

    fn assignment(
        &self,
        table: &TableSchema,
        assignment: &Assignment,
        scope: &Scope,
    ) -> Result<()> {
        let target = match &assignment.target {
            AssignmentTarget::ColumnName(_) if is_default(&assignment.value) => return Ok(()),
            AssignmentTarget::ColumnName(target) => target,
            AssignmentTarget::Tuple(targets) => {
                return self.row_assignment(table, targets, &assignment.value, scope);
            }
        };
        let found = self.expression(&assignment.value, scope, Place::rows("UPDATE"))?;
        let Some(column) = self.target_column(table, target)? else { return Ok(()) };
        match table.column(&column) {
            Some((_, known)) => self.assign(&column, known.data_type, found, &assignment.value),
            None => Ok(()),
        }
    }

    /// The column that is assigned to, which has no name before it.
    fn target_column(&self, table: &TableSchema, target: &ObjectName) -> Result<Option<String>> {
        let Some(first) = target.0.first().and_then(|part| part.as_ident()) else {
            return Ok(None);
        };
        let column = fold(first);
        if target.0.len() > 1 {
            let message =
                format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
            let at = self.words.name(first);
            return Err(self.words.fault(SqlState::UndefinedColumn, message, at));
        }
        Ok(Some(column))
    }

    /// `(a, b) = ...`: as many values as columns, each of a type that its column takes.
    fn row_assignment(
        &self,
        table: &TableSchema,
        targets: &[ObjectName],
        value: &Expr,
        scope: &Scope,
    ) -> Result<()> {
        let fault =
            |state, message: &str| self.words.fault(state, message, self.words.start(value));
        for target in targets {
            self.target_column(table, target)?;
        }
        let columns = assigned(table, targets);
        match row_source(value) {
            None => Err(fault(SqlState::FeatureNotSupported, NO_ROW)),
            Some(RowSource::Values(values)) if values.len() != targets.len() => {
                Err(fault(SqlState::SyntaxError, WRONG_NUMBER))
            }
            Some(RowSource::Values(values)) => {
                for (number, value) in values.into_iter().enumerate() {
                    if is_default(value) {
                        continue;
                    }
                    let found = self.expression(value, scope, Place::rows("UPDATE"))?;
                    if let Some((column, wanted)) = columns.get(number) {
                        self.assign(column, *wanted, found, value)?;
                    }
                }
                Ok(())
            }
            Some(RowSource::Query(query)) => {
                let found = self.query(query, &scope.inner())?;
                if found.as_ref().is_some_and(|found| found.len() != targets.len()) {
                    return Err(fault(SqlState::SyntaxError, WRONG_NUMBER));
                }
                self.selected(&columns, found, &query.body)
            }
        }
    }

    fn delete(&self, delete: &Delete, outer: &Scope) -> Result<()> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let [table] = from.as_slice() else { return Ok(()) };
        let mut scope = outer.clone();
        if self.target(table, &mut scope).is_none() {
            return Ok(());
        }
        if let Some(using) = &delete.using {
            self.from(using, &mut scope)?;
        }
        self.condition(delete.selection.as_ref(), &scope)?;
        self.returning(delete.returning.as_deref(), &scope)
    }

    fn condition(&self, condition: Option<&Expr>, scope: &Scope) -> Result<()> {
        let Some(condition) = condition else { return Ok(()) };
        let found = self.expression(condition, scope, Place::rows("WHERE"))?;
        self.boolean("WHERE", condition, found).map(|_| ())
    }

    fn returning(&self, items: Option<&[SelectItem]>, scope: &Scope) -> Result<()> {
        for item in items.unwrap_or_default() {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                self.expression(expr, scope, Place::rows("RETURNING"))?;
            }
        }
        Ok(())
    }

    fn stored(&self, name: &ObjectName) -> Option<&TableSchema> {
        let parts: Vec<String> =
            name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
        let schema = (parts.len() == 2).then(|| parts[0].as_str());
        let table = self.catalog.table(schema, parts.last()?)?;
        (parts.len() <= 2).then_some(table)
    }

    /// The table that is written to, added to the scope.
    fn target(&self, table: &TableWithJoins, scope: &mut Scope) -> Option<&TableSchema> {
        let TableFactor::Table { name, alias, .. } = &table.relation else { return None };
        let stored = self.stored(name)?;
        self.target_scope(stored, alias.as_ref().map(|alias| fold(&alias.name)), scope);
        Some(stored)
    }

    pub(super) fn target_scope(
        &self,
        table: &TableSchema,
        alias: Option<String>,
        scope: &mut Scope,
    ) {
        let columns = table.live_columns();
        let columns = columns.map(|(_, c)| (c.name.to_string(), Type::Known(c.data_type)));
        let name = table.name.to_string();
        let hidden = alias.is_some().then(|| name.clone());
        let name = alias.unwrap_or(name);
        scope.relations.push(super::relations::Relation {
            name,
            hidden,
            columns: Some(columns.collect()),
        });
    }
}

/// The columns that an INSERT names, or all.
fn targets(table: &TableSchema, columns: &[ObjectName]) -> Vec<(String, DataType)> {
    if columns.is_empty() {
        let all = table.live_columns();
        return all.map(|(_, c)| (c.name.to_string(), c.data_type)).collect();
    }
    assigned(table, columns)
}

/// The columns of these names with their types; none where one is unknown.
fn assigned(table: &TableSchema, columns: &[ObjectName]) -> Vec<(String, DataType)> {
    let named = columns.iter().map(|column| {
        let name = fold(column.0.last()?.as_ident()?);
        let data_type = table.column(&name)?.1.data_type;
        Some((name, data_type))
    });
    named.collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}
