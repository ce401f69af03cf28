//! UPDATE and DELETE whose rows a query finds: FROM, USING, subqueries that look at the row.
//!
//! The statement becomes a query over hidden row ids, run on one snapshot and the transaction's own
//! changes; what it finds is locked, found again where it has changed meanwhile, and goes into a write set.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, SelectItem, TableWithJoins, VisitMut, VisitorMut,
};
use engine::plan::OutputColumn;
use engine::types::{Check, ColumnDefault, ColumnId, DataType, Result, TableSchema};

use super::alter_type::literal;
use super::constraint::unsupported;
use super::insert::is_default;
use super::modify::Target;
use super::naming::fold;
use super::returning::{self, quoted};
use super::write::output_column;
use super::{assignment, describe, expression};
use crate::catalog::Catalog;
use crate::session::prepared::{Plan, Prepared};
use crate::session::{ColumnDescription, Database};
use crate::template::{Lifted, Parameters, QueryTemplate};

/// A change whose rows a query finds.
#[derive(Debug)]
pub struct ComplexWrite {
    /// Row id, then new values, then RETURNING.
    pub query: Arc<QueryTemplate>,
    /// The changed table.
    pub table: Arc<TableSchema>,
    /// UPDATE: the columns that get the query's columns from 1 on. DELETE: `None`.
    pub assigned: Option<Vec<ColumnId>>,
    /// CHECK.
    pub checks: Vec<Check>,
    /// RETURNING's columns, the last ones of the query; `None` without the clause.
    pub output: Option<Arc<[OutputColumn]>>,
    /// Whether the last parameter is the transaction's start.
    pub now: bool,
    /// The statement, literals lifted.
    pub text: Arc<str>,
}

/// UPDATE or DELETE, taken apart.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    /// The changed table.
    pub target: &'a Target,
    /// WITH
    pub with: Option<&'a ast::With>,
    /// SET; `None` for DELETE.
    pub pairs: Option<&'a [(ColumnId, Expr)]>,
    /// FROM or USING.
    pub from: &'a [TableWithJoins],
    /// WHERE
    pub selection: Option<&'a Expr>,
    /// RETURNING
    pub returning: Option<&'a [SelectItem]>,
}

/// Plans the change as a query.
pub fn plan(
    database: &Database,
    catalog: &Arc<Catalog>,
    lifted: &Lifted,
    change: Change<'_>,
    mut parameters: Parameters,
) -> Result<(Prepared, Parameters)> {
    let table = &change.target.table;
    let mut pairs = change.pairs.map(|pairs| without_defaults(pairs, table)).transpose()?;
    if let Some(pairs) = &mut pairs {
        pairs.extend(generated_values(change.target, pairs)?);
    }
    let change = Change { pairs: pairs.as_deref(), ..change };
    let items = match change.returning {
        Some(clause) => returning::items(clause, table, &change.target.alias)?,
        None => Vec::new(),
    };
    let text = query_text(&change, &items)?;
    let mut statements = crate::template::parse(&text)?;
    let ast::Statement::Query(query) = statements.remove(0) else {
        unreachable!("the text is a query");
    };
    let planner = &database.planner;
    let query = planner.query(catalog, &query, &mut parameters, &text)?;
    let assigned: Option<Vec<ColumnId>> =
        change.pairs.map(|pairs| pairs.iter().map(|(column, _)| *column).collect());
    for (position, (column, expr)) in change.pairs.unwrap_or_default().iter().enumerate() {
        if !matches!(expr, Expr::Value(_)) {
            let found = query.output[position + 1].data_type;
            assignment::check(&table.columns[column.index()], found)?;
        }
    }
    let first = 1 + assigned.as_ref().map_or(0, Vec::len);
    let output: Option<Arc<[OutputColumn]>> = change.returning.map(|_| {
        let typed = items.iter().zip(&query.output[first..]);
        typed.map(|(item, column)| output_column(&item.name, column.data_type)).collect()
    });
    let columns: Option<Arc<[ColumnDescription]>> = output.as_ref().map(|output| {
        let described = output.iter();
        described.map(|c| describe::describe_column(&c.name, c.data_type, None)).collect()
    });
    let plan = Plan::Complex(Arc::new(ComplexWrite {
        query,
        table: table.clone(),
        assigned,
        checks: expression::checks(planner, catalog, table)?,
        output,
        now: lifted.now,
        text: lifted.text.as_str().into(),
    }));
    Ok((Prepared::template(catalog, &parameters, columns, plan), parameters))
}

/// `SELECT row id, new values, RETURNING FROM table, others WHERE ...`
fn query_text(change: &Change<'_>, items: &[returning::Item]) -> Result<String> {
    use std::fmt::Write;
    let alias = quoted(&change.target.alias);
    let table = &change.target.table;
    let mut text = String::new();
    if let Some(with) = change.with {
        write!(text, "{with} ").expect("strings take all");
    }
    write!(text, "SELECT {alias}.{} AS c0", crate::catalog::ROW_ID).expect("strings take all");
    let mut number = 1;
    let mut add = |expr: &dyn std::fmt::Display| {
        write!(text, ", {expr} AS c{number}").expect("strings take all");
        number += 1;
    };
    for (_, expr) in change.pairs.unwrap_or_default() {
        add(expr);
    }
    for expr in returned(change, items) {
        add(&expr);
    }
    let hidden = crate::catalog::HIDDEN_SCHEMA;
    write!(text, " FROM {hidden}.{} AS {alias}", quoted(&table.name)).expect("strings take all");
    for from in change.from {
        write!(text, ", {from}").expect("strings take all");
    }
    if let Some(selection) = change.selection {
        write!(text, " WHERE {selection}").expect("strings take all");
    }
    Ok(text)
}

/// A SET clause with what DEFAULT stands for.
fn without_defaults(
    pairs: &[(ColumnId, Expr)],
    table: &TableSchema,
) -> Result<Vec<(ColumnId, Expr)>> {
    let value = |(id, expr): &(ColumnId, Expr)| {
        let column = &table.columns[id.index()];
        let value = match (is_default(expr), &column.default) {
            (false, _) => expr.clone(),
            (true, ColumnDefault::None) => expression::parse("NULL")?,
            (true, ColumnDefault::Constant(value)) => {
                expression::parse(&literal(value, column.data_type))?
            }
            (true, _) => {
                return Err(unsupported("SET ... = DEFAULT where the default is computed"));
            }
        };
        Ok((*id, value))
    };
    pairs.iter().map(value).collect()
}

/// What generated columns become, over the row as it was found.
pub fn generated_values(
    target: &Target,
    pairs: &[(ColumnId, Expr)],
) -> Result<Vec<(ColumnId, Expr)>> {
    let value = |(id, text): (ColumnId, &Arc<str>)| {
        let mut expr = expression::parse(text)?;
        let _ = expr.visit(&mut OfTarget(target));
        let _ = expr.visit(&mut NewValues { target, pairs });
        Ok((id, Expr::Nested(Box::new(expr))))
    };
    target.table.generated_columns().map(value).collect()
}

/// Columns of the changed table by their full names: others' may have the same.
struct OfTarget<'a>(&'a Target);

impl VisitorMut for OfTarget<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Identifier(name) => name,
            Expr::CompoundIdentifier(parts) => match parts.last() {
                Some(name) => name,
                None => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        if self.0.table.column(&fold(name)).is_some() {
            *expr = Expr::CompoundIdentifier(vec![quoted(&self.0.alias), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// What RETURNING's items compute, over the row as it was found.
pub fn returned(change: &Change<'_>, items: &[returning::Item]) -> Vec<Expr> {
    let new = |item: &returning::Item| {
        let mut expr = item.expr.clone();
        if let Some(pairs) = change.pairs {
            let _ = expr.visit(&mut NewValues { target: change.target, pairs });
        }
        expr
    };
    items.iter().map(new).collect()
}

/// RETURNING of an UPDATE sees the new row: assigned columns become what is assigned to them.
struct NewValues<'a> {
    target: &'a Target,
    pairs: &'a [(ColumnId, Expr)],
}

impl NewValues<'_> {
    fn replacement(&self, expr: &Expr) -> Option<Expr> {
        let name: &Ident = match expr {
            Expr::Identifier(name) => name,
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [relation, name] if fold(relation) == self.target.alias => name,
                _ => return None,
            },
            _ => return None,
        };
        let (column, schema) = self.target.table.column(&fold(name))?;
        let (_, value) = self.pairs.iter().find(|(assigned, _)| *assigned == column)?;
        Some(Expr::Nested(Box::new(cast(value.clone(), schema.data_type))))
    }
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    let text = format!("CAST(({expr}) AS {data_type})");
    expression::parse(&text).unwrap_or(expr)
}

impl VisitorMut for NewValues<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(replacement) = self.replacement(expr) {
            *expr = replacement;
        }
        ControlFlow::Continue(())
    }
}
