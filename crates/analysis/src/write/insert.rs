//! INSERT.

use syntax::{InsertStmt, Node, Nodes, SelectStmt};

use super::target::Written;
use crate::analyzer::Analyzer;
use crate::error::{Location, NOWHERE, Result, fault, location};
use crate::from::subquery::query_columns;
use crate::place::Place;
use crate::tree::{Command, Entry, EntryColumn, EntryKind, Expression, FromItem, Query, Target};

/// A column that is assigned.
struct Assigned<'t> {
    number: i16,
    /// Fields and subscripts behind its name; `None` where no column is named.
    steps: Option<Nodes<'t>>,
    at: Location,
}

impl<'t> Analyzer<'t, '_> {
    pub(crate) fn insert(&mut self, node: InsertStmt<'t>) -> Result<Query> {
        let mut query = Query { command: Command::Insert, ..Query::default() };
        self.with_clause(node.with_clause())?;
        let written = self.written(node.relation().expect("INSERT has a table"))?;
        let columns = self.assigned_columns(node, &written)?;
        let select = match node.select_stmt() {
            Some(Node::SelectStmt(select)) => Some(select),
            _ => None,
        };
        query.targets = match select {
            None => Vec::new(),
            Some(select) if is_rows(select) => {
                self.insert_rows(select, &written, &columns, &mut query)?
            }
            Some(select) => self.insert_query(select, &written, &columns, &mut query)?,
        };
        // ON CONFLICT and RETURNING see the table.
        self.level().namespace.clear();
        self.level().namespace.push(written.item.clone());
        if let Some(clause) = node.on_conflict_clause() {
            query.conflict = Some(Box::new(self.on_conflict(clause, &written)?));
            self.level().namespace.truncate(1);
        }
        self.returning(node.returning_clause(), &mut query)?;
        self.finish(&mut query);
        Ok(query)
    }

    fn assigned_columns(
        &mut self,
        node: InsertStmt<'t>,
        written: &Written,
    ) -> Result<Vec<Assigned<'t>>> {
        let relation = &written.relation;
        if node.cols().is_empty() {
            let there = relation.columns.iter().enumerate().filter(|(_, column)| column.is_some());
            let all = there.map(|(place, _)| Assigned {
                number: i16::try_from(place + 1).expect("a table has at most 1,600 columns"),
                steps: None,
                at: NOWHERE,
            });
            return Ok(all.collect());
        }
        let mut columns: Vec<Assigned<'t>> = Vec::with_capacity(node.cols().len());
        for target in node.cols().iter() {
            let at = location(target.location());
            let name = target.name().unwrap_or_default();
            let number = self.written_column(relation, name, at)?;
            let is_whole = target.indirection().is_empty();
            let is_twice = |other: &Assigned<'t>| {
                other.number == number && (is_whole || other.steps.is_none_or(Nodes::is_empty))
            };
            if columns.iter().any(is_twice) {
                let message = format!("column \"{name}\" specified more than once");
                return Err(fault("42701", at, message));
            }
            columns.push(Assigned { number, steps: Some(target.indirection()), at });
        }
        Ok(columns)
    }

    /// INSERT .. VALUES.
    fn insert_rows(
        &mut self,
        select: SelectStmt<'t>,
        written: &Written,
        columns: &[Assigned<'t>],
        query: &mut Query,
    ) -> Result<Vec<Target>> {
        let is_single = select.values_lists().len() == 1;
        let place = if is_single { Place::ValuesSingle } else { Place::Values };
        self.with_clause(select.with_clause())?;
        let mut rows = Vec::with_capacity(select.values_lists().len());
        let mut width = None;
        for list in select.values_lists().iter() {
            let Node::List(list) = list else { panic!("a row of VALUES is a list") };
            let values = self.in_place(place, |this| this.values_or_defaults(list))?;
            if *width.get_or_insert(values.len()) != values.len() {
                let at = values.first().map_or(NOWHERE, |value| value.location);
                let message = "VALUES lists must all be the same length";
                return Err(fault("42601", at, message));
            }
            rows.push(self.assign_row(values, written, columns)?);
        }
        if is_single {
            let row = rows.pop().expect("there is one");
            return Ok(self.insert_targets(row, written, columns));
        }
        let first = &rows[0];
        let column = |(place, value): (usize, &Expression)| EntryColumn {
            name: format!("column{}", place + 1).into(),
            type_oid: value.type_oid,
            typmod: self.common_typmod(rows.iter().map(|row| &row[place]), value.type_oid),
            collation: value.collation,
        };
        let entry_columns = first.iter().enumerate().map(column).collect();
        let kind = EntryKind::Values(rows);
        let entry =
            Entry { name: "*VALUES*".into(), columns: entry_columns, kind, is_lateral: false };
        self.insert_from(entry, written, columns, query)
    }

    pub(super) fn values_or_defaults(&mut self, list: Nodes<'t>) -> Result<Vec<Expression>> {
        let mut values = Vec::with_capacity(list.len());
        for node in list.iter() {
            match node {
                Node::SetToDefault(_) => values.push(self.value_or_default(node)?),
                node => values.extend(self.one_or_starred(node)?),
            }
        }
        Ok(values)
    }

    /// INSERT .. SELECT.
    fn insert_query(
        &mut self,
        select: SelectStmt<'t>,
        written: &Written,
        columns: &[Assigned<'t>],
        query: &mut Query,
    ) -> Result<Vec<Target>> {
        // The table that is written is not visible there; literals wait for their columns.
        let inner = self.in_level(|this| {
            this.level().resolves_unknown = false;
            this.query(Node::SelectStmt(select))
        })?;
        let entry_columns = query_columns(&inner);
        let values: Vec<Expression> =
            inner.columns().map(|target| target.expression.clone()).collect();
        let entry = Entry {
            name: "*SELECT*".into(),
            columns: entry_columns,
            kind: EntryKind::Subquery(Box::new(inner)),
            is_lateral: false,
        };
        let place = self.add_entry(entry);
        query.from.push(FromItem::Entry(place));
        let mut row = Vec::with_capacity(values.len());
        for (at, value) in values.into_iter().enumerate() {
            let number = i16::try_from(at + 1).expect("there are at most 1,664 columns");
            // A literal or a parameter stands for itself.
            let is_open = value.type_oid == crate::facts::oid::UNKNOWN;
            let location = value.location;
            row.push(if is_open { value } else { self.column(0, place, number, location) });
        }
        let row = self.assign_row(row, written, columns)?;
        self.settle_open(place)?;
        Ok(self.insert_targets(row, written, columns))
    }

    /// Literals that the select list left open are texts there.
    fn settle_open(&mut self, place: usize) -> Result<()> {
        let entry = &mut self.level().range_table[place];
        let EntryKind::Subquery(query) = &mut entry.kind else { return Ok(()) };
        let mut targets = std::mem::take(&mut query.targets);
        for target in &mut targets {
            let is_parameter =
                matches!(target.expression.kind, crate::tree::ExpressionKind::Parameter(_));
            if is_parameter && target.expression.type_oid == crate::facts::oid::UNKNOWN {
                // The column's cast decided it.
                target.expression = Expression::null(crate::facts::oid::TEXT);
            }
        }
        self.resolve_unknown(&mut targets)?;
        if let EntryKind::Subquery(query) = &mut self.level().range_table[place].kind {
            query.targets = targets;
        }
        Ok(())
    }

    fn insert_from(
        &mut self,
        entry: Entry,
        written: &Written,
        columns: &[Assigned<'t>],
        query: &mut Query,
    ) -> Result<Vec<Target>> {
        let count = entry.columns.len();
        let place = self.add_entry(entry);
        query.from.push(FromItem::Entry(place));
        let numbers = 1..=i16::try_from(count).expect("there are at most 1,664 columns");
        let row = numbers.map(|number| self.column(0, place, number, NOWHERE)).collect();
        Ok(self.insert_targets(row, written, columns))
    }

    /// Values as ones of their columns.
    fn assign_row(
        &mut self,
        values: Vec<Expression>,
        written: &Written,
        columns: &[Assigned<'t>],
    ) -> Result<Vec<Expression>> {
        if values.len() > columns.len() {
            let at = values[columns.len()].location;
            let message = "INSERT has more expressions than target columns";
            return Err(fault("42601", at, message));
        }
        let is_named = columns.first().is_some_and(|column| column.at >= 0);
        if is_named && values.len() < columns.len() {
            let at = columns[values.len()].at;
            let message = "INSERT has more target columns than expressions";
            let error = fault("42601", at, message);
            let is_row =
                values.len() == 1 && matches!(values[0].kind, crate::tree::ExpressionKind::Row(_));
            return Err(if is_row {
                error.hint("The insertion source is a row expression containing the same number of columns expected by the INSERT. Did you accidentally use extra parentheses?")
            } else {
                error
            });
        }
        self.in_place(Place::InsertTarget, |this| {
            let mut row = Vec::with_capacity(values.len());
            for (value, column) in values.into_iter().zip(columns) {
                let relation = &written.relation;
                let (number, at) = (column.number, column.at);
                row.push(this.assign(value, relation, number, column.steps, None, at)?);
            }
            Ok(row)
        })
    }

    fn insert_targets(
        &self,
        row: Vec<Expression>,
        written: &Written,
        columns: &[Assigned<'t>],
    ) -> Vec<Target> {
        let target = |(expression, column): (Expression, &Assigned<'t>)| {
            let place = usize::from(column.number.unsigned_abs()) - 1;
            let name = written.relation.columns[place].as_ref().map(|column| column.name.clone());
            Target {
                expression,
                name: name.unwrap_or_else(|| "".into()),
                is_junk: false,
                column: column.number,
            }
        };
        row.into_iter().zip(columns).map(target).collect()
    }
}

/// Whether INSERT has plain rows, which may have DEFAULT among them.
fn is_rows(select: SelectStmt<'_>) -> bool {
    !select.values_lists().is_empty()
        && select.sort_clause().is_empty()
        && select.limit_offset().is_none()
        && select.limit_count().is_none()
        && select.locking_clause().is_empty()
        && select.with_clause().is_none()
}
