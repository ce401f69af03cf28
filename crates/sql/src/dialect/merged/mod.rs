//! Columns that `JOIN .. USING` and `NATURAL JOIN` merge.
//!
//! In comes a query, out goes the same one with `JOIN .. ON`: a star over such a join lists its columns, the merged ones first
//! and once, and a bare name of a merged column is the left side's, the right side's (RIGHT JOIN) or the first of both that
//! is not NULL (FULL JOIN). DataFusion takes either side's for it and lists columns as they stand in the tables. Calls of
//! functions that take a whole row of a relation get its columns. Only what is planned is rewritten: texts of views stay as
//! they are.

mod from;
mod rows;
mod scope;
mod select;

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DataFusionError, Result};
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, JoinConstraint, JoinOperator, ObjectName, Query, Select, SetExpr, TableAlias,
    TableFactor, TableWithJoins, Values, Visit, VisitMut, Visitor, VisitorMut, With,
};
use engine::types::{Error, SqlState};

use crate::template::fold;
use scope::Scope;

/// A column that a query or a table gives: its name and, where that is known without planning, its type.
pub type Given = (String, Option<ArrowType>);

/// The columns of a table or view; `None` where it is none.
pub type Tables<'a> = &'a dyn Fn(&ObjectName) -> Option<Vec<Given>>;

/// Rewrites a query's joins that merge columns, and calls over whole rows.
pub fn spread_merged(query: &mut Query, tables: Tables<'_>) -> Result<()> {
    if merges(query) {
        Merging { tables, named: Vec::new() }.query(query, None)?;
    }
    Ok(())
}

fn merges(query: &Query) -> bool {
    /// With the names that relations have.
    #[derive(Default)]
    struct Finder(HashSet<String>);
    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            let factors = select.from.iter().flat_map(|item| {
                std::iter::once(&item.relation).chain(item.joins.iter().map(|join| &join.relation))
            });
            self.0.extend(factors.filter_map(from::name_of));
            match select.from.iter().any(has_merging) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match rows::may_take_row(expr).is_some_and(|name| self.0.contains(&fold(name))) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    query.visit(&mut Finder::default()).is_break()
}

fn has_merging(from: &TableWithJoins) -> bool {
    let nested = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => has_merging(table_with_joins),
        _ => false,
    };
    let joins = |operator: &JoinOperator| {
        use JoinOperator::{FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
        let (Join(how) | Inner(how) | Left(how) | LeftOuter(how) | Right(how) | RightOuter(how)
        | FullOuter(how)) = operator
        else {
            return false;
        };
        matches!(how, JoinConstraint::Using(_) | JoinConstraint::Natural)
    };
    let mut joined = from.joins.iter();
    nested(&from.relation)
        || joined.any(|join| joins(&join.join_operator) || nested(&join.relation))
}

/// Walks a query from the outside in, each SELECT once.
struct Merging<'a> {
    tables: Tables<'a>,
    /// What WITH named, the innermost last.
    named: Vec<(String, Option<Vec<Given>>)>,
}

impl Merging<'_> {
    /// The columns that a query gives; `None` where they are not known without planning.
    fn query(
        &mut self,
        query: &mut Query,
        outer: Option<&Scope<'_>>,
    ) -> Result<Option<Vec<Given>>> {
        let before = self.named.len();
        if let Some(with) = &mut query.with {
            self.with(with, outer)?;
        }
        let given = match query.body.as_mut() {
            SetExpr::Select(select) => self.select(select, query.order_by.as_mut(), outer),
            body => self.body(body, outer),
        };
        if let Some(limit) = &mut query.limit_clause {
            self.resolve(limit, &Scope::none(outer))?;
        }
        self.named.truncate(before);
        given
    }

    fn with(&mut self, with: &mut With, outer: Option<&Scope<'_>>) -> Result<()> {
        for cte in &mut with.cte_tables {
            let given = match with.recursive {
                true => self.recursive(cte, outer)?,
                false => self.query(&mut cte.query, outer)?,
            };
            self.named.push((fold(&cte.alias.name), renamed(&cte.alias, given)));
        }
        Ok(())
    }

    /// A query that may read itself: it has the columns of its first part.
    fn recursive(
        &mut self,
        cte: &mut Cte,
        outer: Option<&Scope<'_>>,
    ) -> Result<Option<Vec<Given>>> {
        let SetExpr::SetOperation { left, right, .. } = cte.query.body.as_mut() else {
            return self.query(&mut cte.query, outer);
        };
        let given = self.body(left, outer)?;
        self.named.push((fold(&cte.alias.name), renamed(&cte.alias, given.clone())));
        let second = self.body(right, outer);
        self.named.pop();
        second.map(|_| given)
    }

    fn body(
        &mut self,
        body: &mut SetExpr,
        outer: Option<&Scope<'_>>,
    ) -> Result<Option<Vec<Given>>> {
        match body {
            SetExpr::Select(select) => self.select(select, None, outer),
            SetExpr::Query(query) => self.query(query, outer),
            SetExpr::SetOperation { left, right, .. } => {
                let given = self.body(left, outer)?;
                self.body(right, outer)?;
                // Both sides have a say in the types.
                let untyped = |(name, _)| (name, None);
                Ok(given.map(|given| given.into_iter().map(untyped).collect()))
            }
            SetExpr::Values(values) => self.values(values, outer).map(Some),
            _ => Ok(None),
        }
    }

    fn values(&mut self, values: &mut Values, outer: Option<&Scope<'_>>) -> Result<Vec<Given>> {
        self.resolve(values, &Scope::none(outer))?;
        let width = values.rows.first().map_or(0, |row| row.content.len());
        Ok((1..=width).map(|number| (format!("column{number}"), None)).collect())
    }

    /// Puts what they stand for in the place of merged columns' bare names, in the queries inside, too.
    fn resolve<T: VisitMut>(&mut self, node: &mut T, scope: &Scope<'_>) -> Result<()> {
        match node.visit(&mut Resolver { merging: self, scope, depth: 0 }) {
            ControlFlow::Break(fault) => Err(fault),
            ControlFlow::Continue(()) => Ok(()),
        }
    }
}

/// Finds names and queries in an expression. What is inside a query is seen to where that is found.
struct Resolver<'m, 't, 's> {
    merging: &'m mut Merging<'t>,
    scope: &'s Scope<'s>,
    depth: usize,
}

impl VisitorMut for Resolver<'_, '_, '_> {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        self.depth += 1;
        if self.depth == 1
            && let Err(fault) = self.merging.query(query, Some(self.scope))
        {
            return ControlFlow::Break(fault);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<DataFusionError> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        if let Expr::Identifier(name) = expr
            && let Some(merged) = self.scope.merged(name)
        {
            *expr = merged;
        }
        rows::spread_row(expr, self.scope);
        ControlFlow::Continue(())
    }
}

/// Columns under the names that an alias gives them.
fn renamed(alias: &TableAlias, given: Option<Vec<Given>>) -> Option<Vec<Given>> {
    let mut given = given?;
    for (column, name) in given.iter_mut().zip(&alias.columns) {
        column.0 = fold(&name.name);
    }
    Some(given)
}

fn fault(state: SqlState, message: String) -> DataFusionError {
    DataFusionError::External(Box::new(Error::new(state, message)))
}
