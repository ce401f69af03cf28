//! SELECT without set operations: its clauses in PostgreSQL's order.

use syntax::{Node, SelectStmt};

use super::sort::Standard;
use crate::analyzer::Analyzer;
use crate::error::{Result, fault};
use crate::place::Place;
use crate::tree::{Expression, Query, Target};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn plain_select(&mut self, select: SelectStmt<'t>) -> Result<Query> {
        let mut query = Query { ctes: Vec::new(), ..Query::default() };
        self.with_clause(select.with_clause())?;
        self.no_into(select)?;
        self.level().windows = select.window_clause().iter().collect();
        query.from = self.analyze_from(select.from_clause())?;
        let mut targets =
            self.in_place(Place::SelectTarget, |this| this.targets(select.target_list()))?;
        query.condition = self.condition(select.where_clause(), Place::Where, "WHERE")?;
        query.having = self.condition(select.having_clause(), Place::Having, "HAVING")?;
        query.order = self.in_place(Place::OrderBy, |this| {
            this.sort_clause(select.sort_clause(), &mut targets, Standard::Sql92)
        })?;
        self.group_clause(select, &mut targets, &mut query)?;
        self.distinct_clause(select.distinct_clause(), &mut targets, &mut query)?;
        query.offset = self.limit(select.limit_offset(), Place::Offset, select)?;
        query.limit = self.limit(select.limit_count(), Place::Limit, select)?;
        query.with_ties = select.limit_option() == syntax::LimitOption::WithTies;
        query.windows = self.windows(&mut targets)?;
        if self.here().resolves_unknown {
            self.resolve_unknown(&mut targets)?;
        }
        query.targets = targets;
        query.locks = self.locks(select, &query)?;
        self.finish(&mut query);
        self.check_grouped(&query)?;
        Ok(query)
    }

    /// WHERE, HAVING.
    pub(crate) fn condition(
        &mut self,
        node: Option<Node<'t>>,
        place: Place,
        clause: &str,
    ) -> Result<Option<Expression>> {
        let Some(node) = node else { return Ok(None) };
        self.in_place(place, |this| {
            let value = this.expression(node)?;
            this.boolean(value, clause).map(Some)
        })
    }

    /// Literals and parameters whose type nobody decided are texts.
    pub(crate) fn resolve_unknown(&mut self, targets: &mut [Target]) -> Result<()> {
        use crate::coerce::Wish;
        use crate::facts::oid;
        for target in targets {
            if target.expression.type_oid == oid::UNKNOWN {
                let taken = std::mem::replace(&mut target.expression, Expression::null(oid::TEXT));
                target.expression = self.coerce(taken, oid::TEXT, -1, Wish::IMPLICIT)?;
            }
        }
        Ok(())
    }

    /// # Errors
    /// 42601: a query within another makes no table.
    fn no_into(&self, select: SelectStmt<'t>) -> Result<()> {
        let Some(into) = select.into_clause() else { return Ok(()) };
        if self.levels.len() == 1 {
            return Ok(());
        }
        let at = into.rel().and_then(|relation| relation.location());
        let at = crate::error::location(at);
        Err(fault("42601", at, "SELECT ... INTO is not allowed here"))
    }

    /// What the level has gathered goes into the query.
    pub(crate) fn finish(&mut self, query: &mut Query) {
        let level = self.level();
        query.range_table = std::mem::take(&mut level.range_table);
        query.ctes = level.ctes.drain(..).filter_map(|state| state.cte).collect();
        query.has_aggregates = level.has_aggregates;
        query.has_sets = level.has_sets;
        query.assigned = std::mem::take(&mut level.assigned);
        query.target = level.target;
    }
}
