//! WITH.

use std::sync::Arc;

use syntax::{CommonTableExpr, Node, WithClause};

use super::recursion::order;
use crate::analyzer::{Analyzer, CteState};
use crate::error::{NOWHERE, Result, fault, location};
use crate::facts::oid;
use crate::from::subquery::query_columns;
use crate::tree::{Command, Cte, EntryColumn, Query};

impl<'t> Analyzer<'t, '_> {
    /// Analyses the queries of WITH, one after another; those of a recursive WITH in the order in which they name each other.
    pub(crate) fn with_clause(&mut self, with: Option<WithClause<'t>>) -> Result<()> {
        let Some(with) = with else { return Ok(()) };
        let items: Vec<CommonTableExpr<'t>> = with.ctes().iter().collect();
        for (place, item) in items.iter().enumerate() {
            let name = item.ctename().unwrap_or_default();
            if items[..place].iter().any(|other| other.ctename() == Some(name)) {
                let at = location(item.location());
                let message = format!("WITH query name \"{name}\" specified more than once");
                return Err(fault("42712", at, message));
            }
            if self.levels.len() > 1 && !matches!(item.ctequery(), Some(Node::SelectStmt(_))) {
                let at = location(item.location());
                let message =
                    "WITH clause containing a data-modifying statement must be at the top level";
                return Err(fault("0A000", at, message));
            }
        }
        if with.recursive() {
            for (place, refers) in order(&items)? {
                self.cte(items[place], refers)?;
            }
            return Ok(());
        }
        let later = |item: &CommonTableExpr<'t>| item.ctename();
        for (place, item) in items.iter().enumerate() {
            self.level().future_ctes = items[place..].iter().filter_map(later).collect();
            self.cte(*item, false)?;
        }
        self.level().future_ctes.clear();
        Ok(())
    }

    fn cte(&mut self, item: CommonTableExpr<'t>, is_recursive: bool) -> Result<()> {
        let name: Arc<str> = item.ctename().unwrap_or_default().into();
        let node = item.ctequery().expect("a query of WITH has its text");
        if is_recursive {
            self.check_recursive(item)?;
            self.level().ctes.push(CteState {
                name: name.clone(),
                cte: None,
                columns: None,
                gives_rows: true,
                self_references: 0,
            });
        }
        let place = self.here().ctes.len();
        let query = self.in_level(|this| this.query(node))?;
        let mut columns = self.cte_columns(item, &query, &name)?;
        if is_recursive {
            self.check_recursive_types(&query, &columns, &name, item)?;
        }
        self.search_and_cycle(item, &mut columns)?;
        let gives_rows = query.command == Command::Select || query.has_returning;
        let cte = Cte { name: name.clone(), query, columns, is_recursive };
        if is_recursive {
            self.level().ctes[place - 1].cte = Some(cte);
            return Ok(());
        }
        self.level().ctes.push(CteState {
            name,
            cte: Some(cte),
            columns: None,
            gives_rows,
            self_references: 0,
        });
        Ok(())
    }

    /// The columns of a query of WITH, with the names that it gives them.
    fn cte_columns(
        &self,
        item: CommonTableExpr<'t>,
        query: &Query,
        name: &str,
    ) -> Result<Vec<EntryColumn>> {
        let mut columns = query_columns(query);
        name_columns(item, &mut columns, name)?;
        Ok(columns)
    }

    /// The columns of a recursive query are those of its first member.
    pub(super) fn recursive_columns(&mut self, columns: &[EntryColumn]) {
        if self.levels.len() < 2 {
            return;
        }
        let text = |column: &EntryColumn| {
            let mut column = column.clone();
            if column.type_oid == oid::UNKNOWN {
                column.type_oid = oid::TEXT;
                column.collation = oid::DEFAULT_COLLATION;
            }
            column
        };
        let mut columns: Vec<EntryColumn> = columns.iter().map(text).collect();
        let names = self.outer(1).recursive_names.clone();
        for (column, name) in columns.iter_mut().zip(names) {
            column.name = name;
        }
        if let Some(state) = self.outer_mut(1).ctes.last_mut()
            && state.cte.is_none()
            && state.columns.is_none()
        {
            state.columns = Some(columns);
        }
    }

    /// # Errors
    /// 42804 where the whole has other types than the first member.
    fn check_recursive_types(
        &self,
        query: &Query,
        columns: &[EntryColumn],
        name: &str,
        item: CommonTableExpr<'t>,
    ) -> Result<()> {
        let state = self.here().ctes.last().expect("the query is there");
        let Some(first) = &state.columns else { return Ok(()) };
        for (place, (own, whole)) in first.iter().zip(columns).enumerate() {
            if own.type_oid == whole.type_oid && own.typmod == whole.typmod {
                continue;
            }
            let at = query.targets.get(place).map_or(NOWHERE, |target| target.expression.location);
            let words = |column: &EntryColumn| self.type_words_with(column.type_oid, column.typmod);
            let (own, whole) = (words(own), words(whole));
            let number = place + 1;
            let message = format!(
                "recursive query \"{name}\" column {number} has type {own} in non-recursive term but type {whole} overall"
            );
            let _ = item;
            return Err(fault("42804", at, message)
                .hint("Cast the output of the non-recursive term to the correct type."));
        }
        Ok(())
    }

    /// The columns that SEARCH and CYCLE add.
    fn search_and_cycle(
        &mut self,
        item: CommonTableExpr<'t>,
        columns: &mut Vec<EntryColumn>,
    ) -> Result<()> {
        let mut add = |name: Option<&str>, type_oid| {
            let name = name.unwrap_or_default().into();
            columns.push(EntryColumn { name, type_oid, typmod: -1, collation: 0 });
        };
        if let Some(search) = item.search_clause() {
            let is_breadth = search.search_breadth_first();
            let type_oid = if is_breadth { oid::RECORD } else { oid::RECORD_ARRAY };
            add(search.search_seq_column(), type_oid);
        }
        if let Some(cycle) = item.cycle_clause() {
            let mark = match (cycle.cycle_mark_value(), cycle.cycle_mark_default()) {
                (Some(value), Some(default)) => {
                    let value = self.expression(value)?;
                    let default = self.expression(default)?;
                    self.common_type([&value, &default].into_iter(), "CYCLE")?
                }
                _ => oid::BOOL,
            };
            add(cycle.cycle_mark_column(), mark);
            add(cycle.cycle_path_column(), oid::RECORD_ARRAY);
        }
        Ok(())
    }
}

/// Names that WITH gives the columns of a query.
fn name_columns(item: CommonTableExpr<'_>, columns: &mut [EntryColumn], name: &str) -> Result<()> {
    let names = item.aliascolnames();
    if names.len() > columns.len() {
        let at = location(item.location());
        let (has, wants) = (columns.len(), names.len());
        let message = format!(
            "WITH query \"{name}\" has {has} columns available but {wants} columns specified"
        );
        return Err(fault("42P10", at, message));
    }
    for (column, name) in columns.iter_mut().zip(names.iter()) {
        column.name = name.value().unwrap_or_default().into();
    }
    Ok(())
}
