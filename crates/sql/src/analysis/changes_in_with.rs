//! INSERT, UPDATE and DELETE in WITH: only in the statement's own clause, and read only where they return something.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Cte, Ident, ObjectName, Query, SetExpr, Statement, Visit, Visitor, visit_relations,
};
use engine::types::{Result, SqlState};

use super::Analysis;
use crate::statement::locked_subqueries::names;
use crate::statement::modifying_queries::modifies;
use crate::statement::naming::split;
use crate::template::fold;

impl Analysis<'_> {
    /// Refuses what PostgreSQL does not take.
    pub(super) fn changes_in_with(&self, statement: &Statement) -> Result<()> {
        let refuse = |state, message: &str, name: &Ident| {
            Err(self.words.fault(state, message, self.words.name(name)))
        };
        if let ControlFlow::Break(name) = statement.visit(&mut Nested(0)) {
            let message =
                "WITH clause containing a data-modifying statement must be at the top level";
            return refuse(SqlState::FeatureNotSupported, message, &name);
        }
        let Statement::Query(query) = statement else { return Ok(()) };
        let Some(with) = &query.with else { return Ok(()) };
        for cte in with.cte_tables.iter().filter(|cte| modifies(&cte.query)) {
            let name = fold(&cte.alias.name);
            if with.recursive && names(&cte.query, cte) {
                let message = format!(
                    "recursive query \"{name}\" must not contain data-modifying statements"
                );
                return refuse(SqlState::InvalidRecursion, &message, &cte.alias.name);
            }
            if !returns(cte)
                && let ControlFlow::Break(place) = reading(statement, &name)
            {
                let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
                return refuse(SqlState::FeatureNotSupported, &message, &place);
            }
        }
        Ok(())
    }
}

/// Looks for queries that change rows in the WITH of a query inside the statement.
struct Nested(usize);

impl Visitor for Nested {
    type Break = Ident;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Ident> {
        let mut named = query.with.iter().flat_map(|with| &with.cte_tables);
        match named.find(|cte| self.0 > 0 && modifies(&cte.query)) {
            Some(cte) => ControlFlow::Break(cte.alias.name.clone()),
            None => {
                self.0 += 1;
                ControlFlow::Continue(())
            }
        }
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Ident> {
        self.0 -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Ident> {
        self.0 += usize::from(!matches!(statement, Statement::Query(_)));
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Ident> {
        self.0 -= usize::from(!matches!(statement, Statement::Query(_)));
        ControlFlow::Continue(())
    }
}

fn returns(cte: &Cte) -> bool {
    match &*cte.query.body {
        SetExpr::Insert(Statement::Insert(insert)) => insert.returning.is_some(),
        SetExpr::Update(Statement::Update(update)) => update.returning.is_some(),
        SetExpr::Delete(Statement::Delete(delete)) => delete.returning.is_some(),
        _ => true,
    }
}

/// Where a statement reads what has this name in WITH.
fn reading(statement: &Statement, name: &str) -> ControlFlow<Ident> {
    visit_relations(statement, |relation: &ObjectName| match split(relation) {
        Ok((None, other)) if other == name => {
            let place = relation.0.last().and_then(|part| part.as_ident()).cloned();
            place.map_or(ControlFlow::Continue(()), ControlFlow::Break)
        }
        _ => ControlFlow::Continue(()),
    })
}
