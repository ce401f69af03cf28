//! Names of outer tables that are also names of inner columns.
//!
//! In `SELECT 1 FROM fact WHERE fact.dim = dim.id` inside a query over `dim`, PostgreSQL takes `dim.id` for the outer
//! table's column: there are no composite types. DataFusion would first take it for the field `id` of `fact`'s column
//! `dim`. With a schema in front the name can only be that of a table, and `public` fits whatever was named without one.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query, Select, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};

use crate::template::fold;

/// Gives the names of outer tables their schemas, where the query inside has no table of that name.
pub fn qualify_outer_tables(query: &mut Query) {
    let _ = VisitMut::visit(query, &mut Outer { around: Vec::new() });
}

/// A table as FROM names it.
struct Named {
    schema: Ident,
    name: String,
}

struct Outer {
    /// The tables of each SELECT around, the innermost last.
    around: Vec<Vec<Named>>,
}

impl Outer {
    /// The schema of a table that an outer SELECT has, and the innermost has not.
    fn schema(&self, table: &str) -> Option<Ident> {
        let of = |tables: &Vec<Named>| {
            tables.iter().find(|known| known.name == table).map(|known| known.schema.clone())
        };
        let (innermost, outer) = self.around.split_last()?;
        if of(innermost).is_some() {
            return None;
        }
        outer.iter().rev().find_map(of)
    }
}

impl VisitorMut for Outer {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut tables = Vec::new();
        select.from.iter().for_each(|from| name_tables(from, &mut tables));
        self.around.push(tables);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.around.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, _] = parts.as_slice()
            && let Some(mut schema) = self.schema(&fold(table))
        {
            schema.span = table.span;
            parts.insert(0, schema);
        }
        ControlFlow::Continue(())
    }
}

fn name_tables(from: &TableWithJoins, named: &mut Vec<Named>) {
    let joined = from.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&from.relation).chain(joined) {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
            name_tables(table_with_joins, named);
        }
        named.extend(table(factor));
    }
}

fn table(factor: &TableFactor) -> Option<Named> {
    let public = || Ident::new("public");
    let (name, alias) = match factor {
        TableFactor::Table { name, alias, .. } => (name.0.as_slice(), alias),
        TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => (&[][..], alias),
        _ => return None,
    };
    if let Some(alias) = alias {
        return Some(Named { schema: public(), name: fold(&alias.name) });
    }
    let ident = |part: &ObjectNamePart| part.as_ident().cloned();
    let schema = name.iter().rev().nth(1).and_then(ident).unwrap_or_else(public);
    Some(Named { schema, name: fold(&ident(name.last()?)?) })
}
