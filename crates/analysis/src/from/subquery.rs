//! Queries in FROM.

use syntax::RangeSubselect;

use super::Added;
use super::alias::{name_of, rename};
use crate::analyzer::Analyzer;
use crate::error::Result;
use crate::place::Place;
use crate::tree::{Entry, EntryColumn, EntryKind, Query};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn subquery_in_from(&mut self, node: RangeSubselect<'t>) -> Result<Added> {
        let inner = node.subquery().expect("it has its text");
        let is_lateral = node.lateral();
        let alias = name_of(node.alias(), "unnamed_subquery");
        let before = std::mem::replace(&mut self.level().is_lateral, is_lateral);
        let query = self.in_place(Place::FromSubselect, |this| this.subquery(inner));
        self.level().is_lateral = before;
        let query = query?;
        let mut columns = query_columns(&query);
        rename(&mut columns, node.alias(), &alias)?;
        let kind = EntryKind::Subquery(Box::new(query));
        Ok(self.added(Entry { name: alias, columns, kind, is_lateral }, false))
    }
}

/// The columns that a query gives.
pub(crate) fn query_columns(query: &Query) -> Vec<EntryColumn> {
    let column = |target: &crate::tree::Target| EntryColumn {
        name: target.name.clone(),
        type_oid: target.expression.type_oid,
        typmod: target.expression.typmod,
        collation: target.expression.collation,
    };
    query.columns().map(column).collect()
}
