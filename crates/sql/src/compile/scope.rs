//! Expressions over one or two tables, for INSERT, UPDATE, DELETE, CHECK and DEFAULT.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::{Column, DFSchema, ExprSchema, TableReference};
use datafusion::logical_expr::{Expr, ExprSchemable, Subquery};
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;
use engine::types::{
    DataType, Error, Expression, Predicate, Result, Scalar, SqlState, TableSchema, Value,
    array_cell,
};

use super::expression::{Evaluated, Resolve};
use super::{Refusal, assign, predicate};
use crate::catalog::Catalog;
use crate::template::{Parameters, Planning, bound_compared, fault};

/// A table under a name.
#[derive(Clone, Copy, Debug)]
pub struct Relation<'a> {
    /// What expressions call it.
    pub alias: &'a str,
    /// The table.
    pub table: &'a TableSchema,
}

/// Columns of one or several tables; compiled expressions number them by column id, table after table.
pub struct Scope<'a> {
    planning: &'a Planning,
    catalog: &'a Arc<Catalog>,
    schema: Arc<DFSchema>,
    columns: Vec<usize>,
    /// Which of them are `char(n)`.
    blank_padded: Vec<bool>,
}

impl<'a> Scope<'a> {
    /// A scope over these tables.
    pub fn new(
        planning: &'a Planning,
        catalog: &'a Arc<Catalog>,
        relations: &[Relation<'_>],
    ) -> Result<Scope<'a>> {
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        let mut blank_padded = Vec::new();
        let mut offset = 0;
        for relation in relations {
            for (id, column) in relation.table.live_columns() {
                let field = Field::new(&*column.name, column.data_type.arrow(), !column.not_null);
                fields.push((Some(TableReference::bare(relation.alias)), Arc::new(field)));
                columns.push(offset + id.index());
                blank_padded.push(matches!(column.data_type, DataType::Char(_)));
            }
            offset += relation.table.columns.len();
        }
        let schema = DFSchema::new_with_metadata(fields, Default::default())
            .map_err(|error| fault(&error))?;
        Ok(Scope { planning, catalog, schema: Arc::new(schema), columns, blank_padded })
    }

    fn plan(
        &self,
        sql: &SqlExpr,
        wanted: Option<DataType>,
        parameters: &mut Parameters,
    ) -> Result<Expr> {
        let wanted = wanted.map(DataType::arrow);
        let planned =
            self.planning.expression(self.catalog, sql, &self.schema, wanted.as_ref(), parameters);
        let analyzed = planned.and_then(|expr| self.planning.analyze(expr, &self.schema));
        analyzed.map_err(|error| fault(&error))
    }

    /// An expression as a scalar; with a target, brought into that type as INSERT and UPDATE do.
    pub fn scalar(
        &self,
        sql: &SqlExpr,
        target: Option<DataType>,
        parameters: &mut Parameters,
    ) -> Result<Scalar> {
        let expr = self.plan(sql, target, parameters)?;
        let scalar = predicate::scalar(&expr, &mut self.resolve()).map_err(refused)?;
        let Some(target) = target else { return Ok(scalar) };
        let from = expr.get_type(&*self.schema).map_err(|error| fault(&error))?;
        if let Scalar::Parameter(parameter) = scalar
            && parameters.bound_literal(parameter, target)
        {
            return Ok(scalar);
        }
        assign(scalar, &from, target, is_unknown(sql))
    }

    /// The type of an expression.
    pub fn data_type(&self, sql: &SqlExpr, parameters: &mut Parameters) -> Result<DataType> {
        let expr = self.plan(sql, None, parameters)?;
        let arrow = expr.get_type(&*self.schema).map_err(|error| fault(&error))?;
        Ok(crate::catalog::types::from_arrow(&arrow))
    }

    /// The conjuncts of a WHERE clause.
    pub fn predicates(&self, sql: &SqlExpr, parameters: &mut Parameters) -> Result<Vec<Predicate>> {
        let expr = self.condition(sql, parameters)?;
        let is_char = |column: &Column| {
            self.schema.maybe_index_of_column(column).is_some_and(|index| self.blank_padded[index])
        };
        bound_compared(&expr, &is_char, parameters).map_err(|error| fault(&error))?;
        predicate::predicates(&expr, &mut self.resolve()).map_err(refused)
    }

    /// A condition as an expression, for CHECK.
    pub fn boolean(
        &self,
        sql: &SqlExpr,
        parameters: &mut Parameters,
    ) -> Result<Arc<dyn Expression>> {
        let expr = self.condition(sql, parameters)?;
        let compiled = Evaluated::compile(&expr, &mut self.resolve()).map_err(refused)?;
        Ok(Arc::new(compiled.with_type(DataType::Boolean)))
    }

    fn condition(&self, sql: &SqlExpr, parameters: &mut Parameters) -> Result<Expr> {
        let expr = self.plan(sql, Some(DataType::Boolean), parameters)?;
        let arrow = expr.get_type(&*self.schema).map_err(|error| fault(&error))?;
        if !matches!(arrow, ArrowType::Boolean | ArrowType::Null) {
            let own = crate::catalog::types::from_arrow(&arrow);
            let message = format!("argument of WHERE must be type boolean, not type {own}");
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        Ok(expr)
    }

    /// The value of an expression without columns.
    pub fn constant(&self, sql: &SqlExpr, target: Option<DataType>) -> Result<Value> {
        match self.scalar(sql, target, &mut Parameters::none())? {
            Scalar::Literal(value) => Ok(value),
            Scalar::Expression(expression) if expression.columns().is_empty() => {
                let array = expression.evaluate(&[], &[], 1)?;
                Ok(array_cell(&array, 0).to_owned())
            }
            _ => Err(Error::new(
                SqlState::InvalidColumnReference,
                "cannot use column reference in a constant expression",
            )),
        }
    }

    fn resolve(&self) -> ScopeColumns<'_> {
        ScopeColumns { schema: &self.schema, columns: &self.columns }
    }
}

/// A string literal has no type of its own.
fn is_unknown(sql: &SqlExpr) -> bool {
    match sql {
        SqlExpr::Nested(inner) => is_unknown(inner),
        SqlExpr::Value(_) => true,
        _ => false,
    }
}

fn refused(reason: Refusal) -> Error {
    Error::new(SqlState::FeatureNotSupported, format!("not supported here: {reason}"))
}

struct ScopeColumns<'a> {
    schema: &'a DFSchema,
    columns: &'a [usize],
}

impl Resolve for ScopeColumns<'_> {
    fn column(&mut self, column: &Column) -> Result<(usize, ArrowType), Refusal> {
        let index = self.schema.maybe_index_of_column(column);
        let index = index.ok_or_else(|| format!("the unknown column {column}"))?;
        Ok((self.columns[index], self.schema.field(index).data_type().clone()))
    }

    fn subquery(&mut self, _: &Subquery) -> Result<(usize, ArrowType), Refusal> {
        Err("a subquery".to_owned())
    }

    fn schema(&self) -> &dyn ExprSchema {
        self.schema
    }
}
