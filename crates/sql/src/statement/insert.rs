//! INSERT.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Expr, SetExpr, TableObject, Values};
use engine::plan::{InsertPlan, InsertSource, OnConflict, WriteAction};
use engine::types::{
    ColumnDefault, ColumnId, ColumnSchema, DataType, Error, Result, RowRules, Scalar, SqlState,
    TableSchema, Value,
};

use super::constraint::unsupported;
use super::create_table::nextval_argument;
use super::generated::refuse_value;
use super::naming::{fold, table, undefined_column};
use super::write::{Parts, Subqueries, Write};
use super::{assignment, expression, on_conflict, returning};
use crate::catalog::Catalog;
use crate::compile::Relation;
use crate::session::prepared::{Plan, Prepared};
use crate::session::{ColumnDescription, Database};
use crate::template::{Lifted, Overriding, Parameters, QueryTemplate};

/// INSERT ... SELECT: a query, and what its rows become.
#[derive(Debug)]
pub struct InsertQuery {
    /// The rows.
    pub source: Arc<QueryTemplate>,
    /// The table.
    pub table: Arc<TableSchema>,
    /// For each column of the table: the query's column, or its default.
    pub sources: Vec<ColumnSource>,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// The scalar subqueries of it: each gives one more parameter, after all others.
    pub subqueries: Vec<Arc<QueryTemplate>>,
    /// What the table says of new rows.
    pub rules: RowRules,
    /// RETURNING.
    pub returning: returning::Returning,
    /// Types of all parameters.
    pub parameters: Vec<DataType>,
    /// Whether the last parameter is the transaction's start.
    pub now: bool,
    /// For EXPLAIN.
    pub text: Arc<str>,
}

/// Where a column of an inserted row comes from.
#[derive(Clone, Debug)]
pub enum ColumnSource {
    /// The query's column of that position.
    Query(usize),
    /// The default.
    Default(InsertSource),
}

/// Plans INSERT.
pub fn plan(
    database: &Database,
    catalog: &Arc<Catalog>,
    mut lifted: Lifted,
    insert: ast::Insert,
    mut parameters: Parameters,
) -> Result<(Prepared, Parameters)> {
    refuse_dialects(&insert)?;
    let TableObject::TableName(name) = &insert.table else {
        return Err(unsupported("INSERT into anything but a table"));
    };
    let table = table(catalog, name)?.clone();
    let targets = targets(&table, &insert.columns)?;
    if !lifted.now && defaults_read_clock(&table, &targets)? {
        lifted.now = true;
        parameters.add(DataType::TimestampTz);
    }
    let planner = Planning {
        database,
        catalog,
        table: &table,
        insert: &insert,
        now: lifted.now,
        clock: lifted.now.then(|| parameters.len()),
        parameters,
    };
    match insert.source.as_deref() {
        None => planner.rows(&lifted, &targets, vec![Vec::new()], true),
        Some(query) => match plain_values(query) {
            Some(values) => {
                let rows = values.rows.iter().map(|row| row.content.clone()).collect();
                planner.rows(&lifted, &targets, rows, insert.columns.is_empty())
            }
            None => planner.query(&lifted, &targets, query),
        },
    }
}

fn refuse_dialects(insert: &ast::Insert) -> Result<()> {
    let foreign = insert.or.is_some()
        || insert.ignore
        || insert.partitioned.is_some()
        || insert.replace_into
        || !insert.assignments.is_empty()
        || insert.insert_alias.is_some();
    if foreign {
        let message = "syntax error: this form of INSERT is not PostgreSQL's";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    Ok(())
}

/// `VALUES ...` without anything around it.
fn plain_values(query: &ast::Query) -> Option<&Values> {
    let bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match &*query.body {
        SetExpr::Values(values) if bare => Some(values),
        _ => None,
    }
}

/// The columns that the statement gives values for.
fn targets(table: &TableSchema, names: &[ast::ObjectName]) -> Result<Vec<ColumnId>> {
    if names.is_empty() {
        return Ok(table.live_columns().map(|(id, _)| id).collect());
    }
    let mut targets = Vec::with_capacity(names.len());
    for name in names {
        let ident = name.0.last().and_then(|part| part.as_ident());
        let name = ident.map(fold).unwrap_or_default();
        let (id, _) = table.column(&name).ok_or_else(|| undefined_column(&table.name, &name))?;
        if targets.contains(&id) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
        targets.push(id);
    }
    Ok(targets)
}

fn defaults_read_clock(table: &TableSchema, _targets: &[ColumnId]) -> Result<bool> {
    for (_, column) in table.live_columns() {
        if let ColumnDefault::Expression(text) = &column.default
            && expression::reads_clock(text)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

struct Planning<'a> {
    database: &'a Database,
    catalog: &'a Arc<Catalog>,
    table: &'a Arc<TableSchema>,
    insert: &'a ast::Insert,
    parameters: Parameters,
    now: bool,
    /// The number, counted from 1, of the parameter with the transaction's start.
    clock: Option<usize>,
}

impl Planning<'_> {
    fn alias(&self) -> String {
        match &self.insert.table_alias {
            Some(alias) => fold(&alias.alias),
            None => self.table.name.to_string(),
        }
    }

    /// INSERT ... VALUES and DEFAULT VALUES. Where no columns are named, a row may be short.
    fn rows(
        mut self,
        lifted: &Lifted,
        targets: &[ColumnId],
        rows: Vec<Vec<Expr>>,
        may_be_short: bool,
    ) -> Result<(Prepared, Parameters)> {
        let width = rows.first().map_or(0, Vec::len);
        check_width(targets.len(), &rows, width, may_be_short)?;
        for row in &rows {
            self.learn(&targets[..width], row);
        }
        let mut subqueries = Subqueries::new(self.database, self.catalog);
        let mut planned = Vec::with_capacity(rows.len());
        for row in rows {
            planned.push(self.row(&targets[..width], row, &mut subqueries)?);
        }
        let on_conflict = self.on_conflict(&mut subqueries)?;
        let returning = self.returning()?;
        let rules = expression::rules(&self.database.planner, self.catalog, self.table)?;
        let action = WriteAction::Insert(InsertPlan {
            table: self.table.id,
            rows: planned,
            on_conflict,
            rules,
        });
        let columns = returning.columns.clone();
        let parameters = self.parameters.clone();
        let parts = Parts { returning, parameters: self.parameters, subqueries: subqueries.found };
        let tag = "INSERT 0";
        let write = Write::new(action, self.table.id, parts, &lifted.text, self.now, tag);
        Ok((Prepared::template(self.catalog, &parameters, columns, Plan::Write(write)), parameters))
    }

    /// A bare parameter takes its column's type; known before any expression is planned.
    fn learn(&mut self, targets: &[ColumnId], row: &[Expr]) {
        for (target, expr) in targets.iter().zip(row) {
            if let Some(number) = placeholder(expr) {
                let data_type = self.table.columns[target.index()].data_type.arrow();
                self.parameters.learn(number, &data_type);
                self.parameters.adopt(number, &data_type);
            }
        }
    }

    fn row(
        &mut self,
        targets: &[ColumnId],
        row: Vec<Expr>,
        subqueries: &mut Subqueries<'_>,
    ) -> Result<Vec<InsertSource>> {
        let mut sources: Vec<Option<InsertSource>> = vec![None; self.table.columns.len()];
        for (target, expr) in targets.iter().zip(row) {
            let column = &self.table.columns[target.index()];
            let source = match is_default(&expr) || self.gives_itself(column) {
                true => self.default(column)?,
                false => {
                    self.refuse_value(column)?;
                    self.value(column, expr, subqueries)?
                }
            };
            sources[target.index()] = Some(source);
        }
        let columns = self.table.clone();
        let filled = sources.into_iter().zip(&columns.columns);
        filled.map(|(source, column)| source.map_or_else(|| self.default(column), Ok)).collect()
    }

    /// Whether the statement's values for a column do not count (OVERRIDING USER VALUE).
    fn gives_itself(&self, column: &ColumnSchema) -> bool {
        let is_identity = matches!(column.default, ColumnDefault::Sequence { identity: true, .. });
        is_identity && Overriding::of(self.insert) == Overriding::User
    }

    fn refuse_value(&self, column: &ColumnSchema) -> Result<()> {
        let is_identity = matches!(column.default, ColumnDefault::Sequence { .. });
        if is_identity && Overriding::of(self.insert) == Overriding::System {
            return Ok(());
        }
        let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
        let hint = "Use OVERRIDING SYSTEM VALUE to override.";
        let with_hint = |error: Error| if is_identity { error.hint(hint) } else { error };
        refuse_value(column, message).map_err(with_hint)
    }

    fn value(
        &mut self,
        column: &ColumnSchema,
        mut expr: Expr,
        subqueries: &mut Subqueries<'_>,
    ) -> Result<InsertSource> {
        if let Some(name) = nextval_argument(&expr) {
            let sequence = expression::sequence(self.catalog, &name)?;
            return Ok(InsertSource::NextValue(sequence.id));
        }
        if let Some(value) = literal(&expr, column)? {
            return Ok(InsertSource::Scalar(Scalar::Literal(value)));
        }
        if crate::template::has_subquery(&expr) && !subqueries.take(&mut expr, &mut self.parameters)
        {
            return Err(unsupported("this kind of subquery in VALUES"));
        }
        let scope = self.database.planner.scope(self.catalog, &[])?;
        let target = Some(column.data_type);
        scope
            .scalar(&expr, target, &mut self.parameters)
            .map(InsertSource::Scalar)
            .map_err(|error| mismatch_names_column(error, column))
    }

    fn default(&mut self, column: &ColumnSchema) -> Result<InsertSource> {
        if column.dropped {
            return Ok(InsertSource::Scalar(Scalar::Literal(Value::Null)));
        }
        Ok(match &column.default {
            ColumnDefault::None | ColumnDefault::Generated(_) => {
                InsertSource::Scalar(Scalar::Literal(Value::Null))
            }
            ColumnDefault::Constant(value) => InsertSource::Scalar(Scalar::Literal(value.clone())),
            ColumnDefault::Sequence { id, .. } => InsertSource::NextValue(*id),
            ColumnDefault::Expression(text) => InsertSource::Scalar(expression::default_scalar(
                &self.database.planner,
                self.catalog,
                text,
                column.data_type,
                &mut self.parameters,
                self.clock,
            )?),
        })
    }

    fn on_conflict(&mut self, subqueries: &mut Subqueries<'_>) -> Result<Option<OnConflict>> {
        match &self.insert.on {
            None => Ok(None),
            Some(ast::OnInsert::OnConflict(clause)) => {
                let alias = self.alias();
                let relations = [
                    Relation { alias: &alias, table: self.table },
                    Relation { alias: "excluded", table: self.table },
                ];
                let scope = self.database.planner.scope(self.catalog, &relations)?;
                let parameters = &mut self.parameters;
                on_conflict::plan(clause, self.table, &scope, subqueries, parameters).map(Some)
            }
            Some(_) => Err(unsupported("ON DUPLICATE KEY UPDATE")),
        }
    }

    fn returning(&mut self) -> Result<returning::Returning> {
        let alias = self.alias();
        let relations = [Relation { alias: &alias, table: self.table }];
        let scope = self.database.planner.scope(self.catalog, &relations)?;
        let clause = self.insert.returning.as_deref();
        returning::compile(clause, self.table, &alias, &scope, &mut self.parameters)
    }

    /// INSERT ... SELECT.
    fn query(
        mut self,
        lifted: &Lifted,
        targets: &[ColumnId],
        query: &ast::Query,
    ) -> Result<(Prepared, Parameters)> {
        let planner = &self.database.planner;
        let source =
            planner.query(self.catalog, query, &mut self.parameters, &query.to_string())?;
        let width = source.output.len();
        check_width(targets.len(), &[], width, self.insert.columns.is_empty())?;
        let mut sources = Vec::with_capacity(self.table.columns.len());
        for (position, column) in self.table.clone().columns.iter().enumerate() {
            let target = targets[..width].iter().position(|target| target.index() == position);
            sources.push(match target {
                Some(_) if self.gives_itself(column) => {
                    ColumnSource::Default(self.default(column)?)
                }
                Some(from) => {
                    self.refuse_value(column)?;
                    check_source(column, &source, from, query)?;
                    ColumnSource::Query(from)
                }
                None => ColumnSource::Default(self.default(column)?),
            });
        }
        let mut subqueries = Subqueries::new(self.database, self.catalog);
        let on_conflict = self.on_conflict(&mut subqueries)?;
        let returning = self.returning()?;
        let columns: Option<Arc<[ColumnDescription]>> = returning.columns.clone();
        let plan = Plan::InsertQuery(Arc::new(InsertQuery {
            source,
            table: self.table.clone(),
            sources,
            on_conflict,
            subqueries: subqueries.found,
            rules: expression::rules(planner, self.catalog, self.table)?,
            returning,
            parameters: self.parameters.types(),
            now: self.now,
            text: lifted.text.as_str().into(),
        }));
        let parameters = self.parameters;
        Ok((Prepared::template(self.catalog, &parameters, columns, plan), parameters))
    }
}

/// A query's column must have an assignment cast; a bare literal has no type of its own yet.
fn check_source(
    column: &ColumnSchema,
    source: &QueryTemplate,
    from: usize,
    query: &ast::Query,
) -> Result<()> {
    let data_type = source.output[from].data_type;
    let is_literal = data_type.is_string()
        && query.body.as_select().is_some_and(|select| {
            let item = select.projection.get(from);
            item.is_some_and(|item| match item {
                ast::SelectItem::UnnamedExpr(expr)
                | ast::SelectItem::ExprWithAlias { expr, .. } => {
                    matches!(expr, Expr::Value(_))
                }
                _ => false,
            })
        });
    let is_values = matches!(&*query.body, SetExpr::Values(_)) && data_type.is_string();
    if is_literal || is_values { Ok(()) } else { assignment::check(column, data_type) }
}

fn check_width(targets: usize, rows: &[Vec<Expr>], width: usize, may_be_short: bool) -> Result<()> {
    let refuse = |message| Err(Error::new(SqlState::SyntaxError, message));
    if rows.iter().any(|row| row.len() != width) {
        return refuse("VALUES lists must all be the same length");
    }
    if width > targets {
        return refuse("INSERT has more expressions than target columns");
    }
    if width < targets && !may_be_short {
        return refuse("INSERT has more target columns than expressions");
    }
    Ok(())
}

/// The keyword DEFAULT, which the parser takes for a name.
pub fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"))
}

/// The number of `$n`, counted from 0.
pub fn placeholder(expr: &Expr) -> Option<usize> {
    let Expr::Value(value) = expr else { return None };
    let ast::Value::Placeholder(name) = &value.value else { return None };
    crate::template::placeholder_index(name).ok()
}

/// A literal as the column keeps it; `None` for anything that needs planning.
pub fn literal(expr: &Expr, column: &ColumnSchema) -> Result<Option<Value>> {
    let (value, negative) = match expr {
        Expr::Value(value) => (&value.value, false),
        Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(value) => (&value.value, true),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(match value {
        ast::Value::Null => Value::Null,
        ast::Value::SingleQuotedString(text) if !negative => {
            crate::text::parse_value(text, column.data_type)?
        }
        ast::Value::Boolean(value) if !negative => {
            assignment::check(column, DataType::Boolean)?;
            assignment::cast(Value::Boolean(*value), column.data_type)?
        }
        ast::Value::Number(digits, _) => {
            let text = if negative { format!("-{digits}") } else { digits.to_string() };
            number(&text, column)?
        }
        _ => return Ok(None),
    }))
}

fn number(text: &str, column: &ColumnSchema) -> Result<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        assignment::check(column, DataType::Integer)?;
        return assignment::cast(Value::BigInt(whole), column.data_type);
    }
    let scale = text.split_once('.').map_or(0, |(_, fraction)| fraction.len().min(38)) as u8;
    let numeric = DataType::Numeric { precision: 38, scale };
    assignment::check(column, numeric)?;
    let exact = matches!(column.data_type, DataType::Real | DataType::Double);
    if exact || text.contains(['e', 'E']) {
        let double = crate::text::parse_value(text, DataType::Double)?;
        return assignment::cast(double, column.data_type);
    }
    assignment::cast(crate::text::parse_value(text, numeric)?, column.data_type)
}

/// The planner does not know which column an expression is for.
pub fn mismatch_names_column(error: Error, column: &ColumnSchema) -> Error {
    if error.state != SqlState::DatatypeMismatch || error.message.starts_with("column \"") {
        return error;
    }
    let message = match error.message.split_once("expression is of type ") {
        Some((_, found)) => format!(
            "column \"{}\" is of type {} but expression is of type {found}",
            column.name, column.data_type
        ),
        None => return error,
    };
    let hint = "You will need to rewrite or cast the expression.";
    Error::new(SqlState::DatatypeMismatch, message).hint(hint)
}
