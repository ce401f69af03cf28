//! A write that the engine runs from a plan.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, Expr, Query, VisitMut, VisitorMut};
use engine::plan::{OutputColumn, WriteAction, WritePlan};
use engine::types::{DataType, Error, Result, Scalar, SqlState, TableId};

use super::returning::Returning;
use crate::catalog::Catalog;
use crate::session::Database;
use crate::template::{Parameters, QueryTemplate};

/// A write and the values that it needs first.
#[derive(Debug)]
pub struct Write {
    /// What the engine runs.
    pub plan: Arc<WritePlan>,
    /// The table that it changes.
    pub table: TableId,
    /// Whether the parameter after the literals is the transaction's start.
    pub now: bool,
    /// Scalar subqueries: each gives one more parameter, after all others.
    pub subqueries: Vec<Arc<QueryTemplate>>,
    /// The tag's words before the number of rows.
    pub tag: &'static str,
}

impl Write {
    /// A write from its parts; parameters are complete by now.
    pub fn new(
        action: WriteAction,
        table: TableId,
        parts: Parts,
        text: &str,
        now: bool,
        tag: &'static str,
    ) -> Write {
        let plan = WritePlan {
            action,
            returning: parts.returning.scalars,
            output: parts.returning.output,
            parameters: parts.parameters.types(),
            text: text.into(),
        };
        Write { plan: Arc::new(plan), table, now, subqueries: parts.subqueries, tag }
    }
}

/// What planning a write collects.
pub struct Parts {
    /// RETURNING.
    pub returning: Returning,
    /// All parameters.
    pub parameters: Parameters,
    /// Scalar subqueries.
    pub subqueries: Vec<Arc<QueryTemplate>>,
}

/// Takes uncorrelated scalar subqueries out of expressions.
pub struct Subqueries<'a> {
    /// The database.
    pub database: &'a Database,
    /// Its catalog.
    pub catalog: &'a Arc<Catalog>,
    /// Those taken out, in the order of their parameters.
    pub found: Vec<Arc<QueryTemplate>>,
}

impl<'a> Subqueries<'a> {
    /// None yet.
    pub fn new(database: &'a Database, catalog: &'a Arc<Catalog>) -> Subqueries<'a> {
        Subqueries { database, catalog, found: Vec::new() }
    }

    /// Replaces each scalar subquery by a parameter. `false` where one depends on the row around
    /// it, or where there is another kind of subquery: then the statement goes the long way.
    pub fn take(&mut self, expr: &mut Expr, parameters: &mut Parameters) -> bool {
        let mut taker = Taker { subqueries: self, parameters };
        expr.visit(&mut taker).is_continue()
    }

    fn plan(&mut self, query: &Query, parameters: &mut Parameters) -> Result<Expr> {
        let mut statement = ast::Statement::Query(Box::new(query.clone()));
        crate::template::name_columns(&mut statement);
        let ast::Statement::Query(query) = statement else { unreachable!("made above") };
        let text = query.to_string();
        let template = self.database.planner.query(self.catalog, &query, parameters, &text)?;
        let [column] = &*template.output else {
            let message = "subquery must return only one column";
            return Err(Error::new(SqlState::SyntaxError, message));
        };
        let number = parameters.add(column.data_type) + 1;
        self.found.push(template);
        Ok(Expr::value(ast::Value::Placeholder(format!("${number}"))))
    }
}

struct Taker<'a, 'b> {
    subqueries: &'a mut Subqueries<'b>,
    parameters: &'a mut Parameters,
}

impl VisitorMut for Taker<'_, '_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Subquery(query) => match self.subqueries.plan(query, self.parameters) {
                Ok(parameter) => {
                    *expr = parameter;
                    ControlFlow::Continue(())
                }
                Err(_) => ControlFlow::Break(()),
            },
            Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. }
                if matches!(**right, Expr::Subquery(_)) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The type of a compiled scalar's values.
pub fn scalar_type(scalar: &Scalar, columns: &[DataType], parameters: &[DataType]) -> DataType {
    match scalar {
        Scalar::Column(column) => columns[*column],
        Scalar::Parameter(number) => parameters[*number],
        Scalar::Literal(value) => value.borrow().data_type().unwrap_or(DataType::Text),
        Scalar::Expression(expression) => expression.data_type(),
    }
}

/// An output column by name and type.
pub fn output_column(name: &str, data_type: DataType) -> OutputColumn {
    OutputColumn { name: name.into(), data_type }
}
