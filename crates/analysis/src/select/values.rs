//! VALUES.

use syntax::{Node, SelectStmt};

use super::sort::Standard;
use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault};
use crate::names::NameItem;
use crate::place::Place;
use crate::tree::{Entry, EntryColumn, EntryKind, Expression, FromItem, Query};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn values(&mut self, select: SelectStmt<'t>) -> Result<Query> {
        let mut query = Query::default();
        self.with_clause(select.with_clause())?;
        let rows = self.in_place(Place::Values, |this| this.value_rows(select))?;
        let (rows, columns) = self.common_columns(rows)?;
        let kind = EntryKind::Values(rows);
        let entry = Entry { name: "*VALUES*".into(), columns, kind, is_lateral: false };
        let place = self.add_entry(entry);
        let item = NameItem::of(place, "*VALUES*".into());
        self.level().namespace.push(item.clone());
        query.from.push(FromItem::Entry(place));
        let mut targets = self.item_columns(&item, 0, NOWHERE);
        query.order = self.in_place(Place::OrderBy, |this| {
            this.sort_clause(select.sort_clause(), &mut targets, Standard::Sql92)
        })?;
        query.offset = self.limit(select.limit_offset(), Place::Offset, select)?;
        query.limit = self.limit(select.limit_count(), Place::Limit, select)?;
        query.with_ties = select.limit_option() == syntax::LimitOption::WithTies;
        if let Some(lock) = select.locking_clause().first() {
            let name = super::lock::name(lock.strength());
            return Err(fault("0A000", NOWHERE, format!("{name} cannot be applied to VALUES")));
        }
        query.targets = targets;
        self.finish(&mut query);
        Ok(query)
    }

    fn value_rows(&mut self, select: SelectStmt<'t>) -> Result<Vec<Vec<Expression>>> {
        let mut rows: Vec<Vec<Expression>> = Vec::with_capacity(select.values_lists().len());
        for list in select.values_lists().iter() {
            let Node::List(list) = list else { panic!("a row of VALUES is a list") };
            let row = self.expression_list(list)?;
            if let Some(first) = rows.first()
                && first.len() != row.len()
            {
                let at = row.first().map_or(NOWHERE, |value| value.location);
                let message = "VALUES lists must all be the same length";
                return Err(fault("42601", at, message));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Rows with each column as its common type, and the columns.
    fn common_columns(
        &mut self,
        rows: Vec<Vec<Expression>>,
    ) -> Result<(Vec<Vec<Expression>>, Vec<EntryColumn>)> {
        let width = rows.first().map_or(0, Vec::len);
        let mut types = Vec::with_capacity(width);
        for place in 0..width {
            types.push(self.common_type(rows.iter().map(|row| &row[place]), "VALUES")?);
        }
        let mut done = Vec::with_capacity(rows.len());
        for row in rows {
            let cast = row
                .into_iter()
                .zip(&types)
                .map(|(value, common)| self.coerce_to_common(value, *common, "VALUES"));
            done.push(cast.collect::<Result<Vec<_>>>()?);
        }
        let column = |(place, type_oid): (usize, &crate::facts::Oid)| EntryColumn {
            name: format!("column{}", place + 1).into(),
            type_oid: *type_oid,
            typmod: self.common_typmod(done.iter().map(|row| &row[place]), *type_oid),
            collation: self.collation_of(*type_oid),
        };
        let columns = types.iter().enumerate().map(column).collect();
        Ok((done, columns))
    }
}
