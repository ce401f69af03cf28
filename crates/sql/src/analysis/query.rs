//! Queries: FROM, SELECT, set operations, WITH, ORDER BY, LIMIT.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Cte, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, LimitClause, ObjectName,
    OrderByKind, Query, Select, SelectItem, SetExpr, SetOperator, TableAlias, TableFactor,
    TableWithJoins, UnaryOperator, Value, Values, Visit, Visitor, With,
};
use engine::types::{DataType, Result, SqlState};

use super::Analysis;
use super::expression::Place;
use super::relations::{Columns, Relation, Scope};
use super::types::Type;
use crate::template::{fold, lock_words, output_name};

impl Analysis<'_> {
    /// The columns of a query inside `outer`.
    pub(super) fn query(&self, query: &Query, outer: &Scope) -> Result<Columns> {
        let scope = match &query.with {
            Some(with) => self.with(with, outer)?,
            None => outer.clone(),
        };
        let columns = self.body(&query.body, &scope)?;
        if let SetExpr::Select(select) = query.body.as_ref() {
            self.order(query, select)?;
            self.locks(query, select, &scope)?;
        }
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            let counts = limit.iter().map(|limit| ("LIMIT", limit));
            let counts = counts.chain(offset.iter().map(|offset| ("OFFSET", &offset.value)));
            for (clause, count) in counts {
                self.row_count(clause, count, &scope)?;
            }
        }
        Ok(columns)
    }

    /// FOR UPDATE: rows that an aggregate has folded cannot be locked, nor those of a table that is not read.
    fn locks(&self, query: &Query, select: &Select, outer: &Scope) -> Result<()> {
        let Some(lock) = query.locks.first() else { return Ok(()) };
        if aggregate_of(select).is_some() {
            let words = lock_words::words(lock);
            let message = format!("FOR {words} is not allowed with aggregate functions");
            return Err(self.words.fault(SqlState::FeatureNotSupported, message, None));
        }
        let mut scope = outer.beside();
        self.from(&select.from, &mut scope)?;
        for lock in &query.locks {
            let Some(name) = lock_words::of(lock) else { continue };
            let folded = fold(name);
            if !scope.relations.iter().any(|relation| relation.name == folded) {
                let message = format!(
                    "relation \"{folded}\" in FOR {} clause not found in FROM clause",
                    lock_words::words(lock)
                );
                let at = self.words.name(name);
                return Err(self.words.fault(SqlState::UndefinedTable, message, at));
            }
        }
        Ok(())
    }

    /// The scope in which the queries of a WITH clause have names.
    pub(super) fn with(&self, with: &With, outer: &Scope) -> Result<Scope> {
        let mut scope = outer.clone();
        let before = scope.named.len();
        for cte in &with.cte_tables {
            let name = fold(&cte.alias.name);
            if scope.named[before..].iter().any(|(known, _)| *known == name) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                let at = self.words.name(&cte.alias.name);
                return Err(self.words.fault(SqlState::DuplicateAlias, message, at));
            }
            let columns = match with.recursive {
                true => self.recursive(cte, &name, &scope)?,
                false => self.query(&cte.query, &scope)?,
            };
            let columns = self.renamed(&cte.alias, columns);
            scope.named.push((name, columns));
        }
        Ok(scope)
    }

    /// A query that may name itself: an aggregate over its own rows never comes to an end.
    fn recursive(&self, cte: &Cte, name: &str, scope: &Scope) -> Result<Columns> {
        let SetExpr::SetOperation { left, right, .. } = cte.query.body.as_ref() else {
            return Ok(None);
        };
        let mut scope = scope.clone();
        scope.named.push((name.to_owned(), None));
        let columns = self.body(left, &scope)?;
        let known = self.renamed(&cte.alias, columns.clone());
        scope.named.push((name.to_owned(), known));
        if let SetExpr::Select(select) = right.as_ref()
            && select.from.iter().any(|from| reads(&from.relation, name))
            && let Some(call) = aggregate_of(select)
        {
            let message =
                "aggregate functions are not allowed in a recursive query's recursive term";
            let at = self.words.start_of(&call);
            return Err(self.words.fault(SqlState::InvalidRecursion, message, at));
        }
        self.body(right, &scope)?;
        Ok(columns)
    }

    fn body(&self, body: &SetExpr, scope: &Scope) -> Result<Columns> {
        match body {
            SetExpr::Select(select) => self.select(select, scope),
            SetExpr::Query(query) => self.query(query, scope),
            SetExpr::Values(values) => self.values(values, scope),
            SetExpr::SetOperation { left, op, right, .. } => {
                let first = self.body(left, scope)?;
                let second = self.body(right, scope)?;
                self.set_operation(*op, first, second, right)
            }
            SetExpr::Insert(write) | SetExpr::Update(write) | SetExpr::Delete(write) => {
                self.write(write, scope).map(|()| None)
            }
            _ => Ok(None),
        }
    }

    fn set_operation(
        &self,
        op: SetOperator,
        left: Columns,
        right: Columns,
        second: &SetExpr,
    ) -> Result<Columns> {
        let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
        let targets = targets(second);
        let at = |i: usize| targets.get(i).and_then(|target| self.words.start(target));
        if left.len() != right.len() {
            let message = format!("each {op} query must have the same number of columns");
            return Err(self.words.fault(SqlState::SyntaxError, message, at(0)));
        }
        let pairs = left.into_iter().zip(right).enumerate();
        let merged = pairs.map(|(i, ((name, first), (_, second)))| {
            let common = self.common(&op.to_string(), [(first, None), (second, at(i))])?;
            // What has no type on both sides is text for whoever comes behind.
            Ok((name, if common == Type::Literal { Type::Known(DataType::Text) } else { common }))
        });
        merged.collect::<Result<Vec<_>>>().map(Some)
    }

    pub(super) fn values(&self, values: &Values, scope: &Scope) -> Result<Columns> {
        let rows: Vec<&Vec<Expr>> = values.rows.iter().map(|row| &row.content).collect();
        let width = rows.first().map_or(0, |row| row.len());
        if let Some(other) = rows.iter().find(|row| row.len() != width) {
            let message = "VALUES lists must all be the same length";
            let at = other.first().and_then(|expr| self.words.start(expr));
            return Err(self.words.fault(SqlState::SyntaxError, message, at));
        }
        let place = Place::rows("VALUES");
        let mut columns = Vec::with_capacity(width);
        for i in 0..width {
            let items = rows.iter().map(|row| {
                let expr = &row[i];
                Ok((self.expression(expr, scope, place)?, self.words.start(expr)))
            });
            let common = self.common("VALUES", items.collect::<Result<Vec<_>>>()?)?;
            columns.push((format!("column{}", i + 1), common));
        }
        Ok(Some(columns))
    }

    fn select(&self, select: &Select, outer: &Scope) -> Result<Columns> {
        let mut scope = outer.beside();
        self.from(&select.from, &mut scope)?;
        self.named_windows(&select.named_window)?;
        scope.windows = select.named_window.as_slice().into();
        let mut columns = Some(Vec::with_capacity(select.projection.len()));
        for item in &select.projection {
            self.item(item, &scope, &mut columns)?;
        }
        if let Some(condition) = &select.selection {
            let found = self.expression(condition, &scope, Place::rows("WHERE"))?;
            self.boolean("WHERE", condition, found)?;
        }
        if let GroupByExpr::Expressions(keys, _) = &select.group_by {
            self.grouping_sets(keys)?;
            for key in keys {
                self.group_key(key, select, &scope)?;
            }
        }
        if let Some(condition) = &select.having {
            let place = Place { no_windows: Some("HAVING"), ..Place::default() };
            let found = self.expression(condition, &scope, place)?;
            self.boolean("HAVING", condition, found)?;
        }
        Ok(columns)
    }

    fn item(&self, item: &SelectItem, scope: &Scope, columns: &mut Columns) -> Result<()> {
        let (name, found) = match item {
            SelectItem::UnnamedExpr(expr) => {
                (output_name(expr), self.expression(expr, scope, Place::default())?)
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                (fold(alias), self.expression(expr, scope, Place::default())?)
            }
            SelectItem::Wildcard(_) if !scope.merges => {
                let all = scope.relations.iter().map(|relation| relation.columns.clone());
                let all: Option<Vec<_>> = all.collect();
                match (columns.as_mut(), all) {
                    (Some(columns), Some(all)) => columns.extend(all.into_iter().flatten()),
                    _ => *columns = None,
                }
                return Ok(());
            }
            _ => {
                *columns = None;
                return Ok(());
            }
        };
        if let Some(columns) = columns {
            columns.push((name, found));
        }
        Ok(())
    }

    fn group_key(&self, key: &Expr, select: &Select, scope: &Scope) -> Result<()> {
        let place = Place::rows("GROUP BY");
        match key {
            Expr::Value(value) => {
                let Some(expr) = self.numbered("GROUP BY", &value.value, key, select)? else {
                    return Ok(());
                };
                self.expression(expr, scope, place).map(|_| ())
            }
            // An output column's name stands for its expression.
            Expr::Identifier(name) if scope.column(&fold(name)) == Type::Opaque => Ok(()),
            other => self.expression(other, scope, place).map(|_| ()),
        }
    }

    fn order(&self, query: &Query, select: &Select) -> Result<()> {
        let Some(order) = &query.order_by else { return Ok(()) };
        let OrderByKind::Expressions(keys) = &order.kind else { return Ok(()) };
        for key in keys {
            match &key.expr {
                Expr::Value(value) => {
                    self.numbered("ORDER BY", &value.value, &key.expr, select)?;
                }
                Expr::Identifier(name) => self.given_once(name, &key.expr, select)?,
                Expr::UnaryOp { op: UnaryOperator::Minus, expr: number }
                    if matches!(**number, Expr::Value(_)) =>
                {
                    let message = format!("ORDER BY position -{number} is not in select list");
                    let at = self.words.start(&key.expr);
                    return Err(self.words.fault(SqlState::InvalidColumnReference, message, at));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A name of two items that are not the same is no key to sort by.
    fn given_once(&self, name: &Ident, key: &Expr, select: &Select) -> Result<()> {
        let name = fold(name);
        let mut given = select.projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) if output_name(expr) == name => Some(expr),
            SelectItem::ExprWithAlias { expr, alias } if fold(alias) == name => Some(expr),
            _ => None,
        });
        let Some(first) = given.next() else { return Ok(()) };
        match given.any(|other| are_others(first, other)) {
            true => {
                let message = format!("ORDER BY \"{name}\" is ambiguous");
                Err(self.words.fault(SqlState::AmbiguousColumn, message, self.words.start(key)))
            }
            false => Ok(()),
        }
    }

    /// The output column that a number names; a constant of another kind is refused.
    fn numbered<'s>(
        &self,
        clause: &str,
        value: &Value,
        key: &Expr,
        select: &'s Select,
    ) -> Result<Option<&'s Expr>> {
        let at = || self.words.start(key);
        let number = match value {
            Value::Number(text, _) => text.parse::<usize>().ok(),
            Value::Placeholder(_) | Value::Null => return Ok(None),
            _ => None,
        };
        let Some(number) = number else {
            let message = format!("non-integer constant in {clause}");
            return Err(self.words.fault(SqlState::SyntaxError, message, at()));
        };
        let plain = |item: &SelectItem| {
            matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
        };
        if !select.projection.iter().all(plain) {
            return Ok(None);
        }
        match number.checked_sub(1).and_then(|i| select.projection.get(i)) {
            Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => {
                Ok(Some(expr))
            }
            _ => {
                let message = format!("{clause} position {number} is not in select list");
                Err(self.words.fault(SqlState::InvalidColumnReference, message, at()))
            }
        }
    }

    fn row_count(&self, clause: &'static str, count: &Expr, scope: &Scope) -> Result<()> {
        if matches!(count, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            let message = format!("argument of {clause} must not contain variables");
            let at = self.words.start(count);
            return Err(self.words.fault(SqlState::InvalidColumnReference, message, at));
        }
        match self.expression(count, scope, Place::rows(clause))? {
            Type::Known(found @ DataType::Boolean) => {
                let message = format!("argument of {clause} must be type bigint, not type {found}");
                let at = self.words.start(count);
                Err(self.words.fault(SqlState::DatatypeMismatch, message, at))
            }
            _ => Ok(()),
        }
    }

    /// Adds what FROM names to the scope.
    pub(super) fn from(&self, from: &[TableWithJoins], scope: &mut Scope) -> Result<()> {
        for item in from {
            self.joined(item, scope)?;
        }
        let named = |relation: &Relation| relation.name.clone();
        let mut names: Vec<String> = scope.relations.iter().map(named).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1] && !pair[0].is_empty())
        {
            let message = format!("table name \"{}\" specified more than once", twice[0]);
            return Err(self.words.fault(SqlState::DuplicateAlias, message, None));
        }
        Ok(())
    }

    fn joined(&self, item: &TableWithJoins, scope: &mut Scope) -> Result<()> {
        self.relation(&item.relation, scope)?;
        for join in &item.joins {
            let left: Vec<Relation> = scope.relations.clone();
            self.relation(&join.relation, scope)?;
            match constraint(&join.join_operator) {
                Some(JoinConstraint::On(condition)) => {
                    let found =
                        self.expression(condition, scope, Place::rows("JOIN conditions"))?;
                    self.boolean("JOIN/ON", condition, found)?;
                }
                Some(JoinConstraint::Using(columns)) => {
                    self.using(columns, &left, &scope.relations[left.len()..])?;
                    merge(columns, left.len(), scope);
                    scope.merges = true;
                }
                Some(JoinConstraint::Natural) => {
                    // Columns of one name are one column: nothing is known of them here.
                    scope.relations.iter_mut().for_each(|relation| relation.columns = None);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn using(&self, columns: &[ObjectName], left: &[Relation], right: &[Relation]) -> Result<()> {
        let has = |relations: &[Relation], name: &str| {
            relations.iter().any(|relation| match &relation.columns {
                Some(columns) => columns.iter().any(|(column, _)| column == name),
                None => true,
            })
        };
        for column in columns {
            let Some(name) = column.0.last().and_then(|part| part.as_ident()).map(fold) else {
                continue;
            };
            let side = match (has(left, &name), has(right, &name)) {
                (false, _) => "left",
                (_, false) => "right",
                _ => continue,
            };
            let message = format!(
                "column \"{name}\" specified in USING clause does not exist in {side} table"
            );
            return Err(self.words.fault(SqlState::UndefinedColumn, message, None));
        }
        Ok(())
    }

    fn relation(&self, factor: &TableFactor, scope: &mut Scope) -> Result<()> {
        let relation = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                self.table(name, alias.as_ref(), scope)
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let inner = if *lateral { scope.inner() } else { scope.beside() };
                let columns = self.query(subquery, &inner)?;
                let Some(alias) = alias else {
                    scope.relations.push(Relation { name: String::new(), hidden: None, columns });
                    return Ok(());
                };
                self.alias_width(alias, &columns)?;
                let columns = self.renamed(alias, columns);
                Relation { name: fold(&alias.name), hidden: None, columns }
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                return self.joined(table_with_joins, scope);
            }
            other => Relation { name: alias_of(other), hidden: None, columns: None },
        };
        scope.relations.push(relation);
        Ok(())
    }

    fn alias_width(&self, alias: &TableAlias, columns: &Columns) -> Result<()> {
        let Some(available) = columns.as_ref().map(Vec::len) else { return Ok(()) };
        let specified = alias.columns.len();
        if specified <= available {
            return Ok(());
        }
        let name = fold(&alias.name);
        let message = format!(
            "table \"{name}\" has {available} columns available but {specified} columns specified"
        );
        Err(self.words.fault(SqlState::InvalidColumnReference, message, None))
    }

    /// A table, view or WITH query; of tables outside `public` nothing is known here.
    fn table(&self, name: &ObjectName, alias: Option<&TableAlias>, scope: &Scope) -> Relation {
        let parts: Vec<String> =
            name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
        let bare = parts.last().cloned().unwrap_or_default();
        let schema = (parts.len() == 2).then(|| parts[0].as_str());
        let columns = match scope.with_query(&bare) {
            Some(columns) if parts.len() == 1 => columns.clone(),
            _ if parts.len() > 2 => None,
            _ => self.catalog.table(schema, &bare).map(|table| {
                let columns = table.live_columns();
                columns.map(|(_, c)| (c.name.to_string(), Type::Known(c.data_type))).collect()
            }),
        };
        match alias {
            Some(alias) => {
                let columns = self.renamed(alias, columns);
                Relation { name: fold(&alias.name), hidden: Some(bare), columns }
            }
            None => Relation { name: bare, hidden: None, columns },
        }
    }

    /// Columns under the names that an alias gives them.
    fn renamed(&self, alias: &TableAlias, columns: Columns) -> Columns {
        let mut columns = columns?;
        for (column, given) in columns.iter_mut().zip(&alias.columns) {
            column.0 = fold(&given.name);
        }
        Some(columns)
    }
}

/// Columns that USING merged are the left side's.
fn merge(columns: &[ObjectName], left: usize, scope: &mut Scope) {
    let names: Vec<String> =
        columns.iter().filter_map(|c| c.0.last()?.as_ident()).map(fold).collect();
    for relation in &mut scope.relations[left..] {
        for column in relation.columns.iter_mut().flatten() {
            if names.contains(&column.0) {
                column.1 = Type::Opaque;
            }
        }
    }
}

/// Whether two expressions are not the same: a bare name may be that of a qualified one.
fn are_others(one: &Expr, other: &Expr) -> bool {
    match (one, other) {
        (Expr::Identifier(_), Expr::CompoundIdentifier(_))
        | (Expr::CompoundIdentifier(_), Expr::Identifier(_)) => false,
        _ => one.to_string() != other.to_string(),
    }
}

fn alias_of(factor: &TableFactor) -> String {
    let alias = match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::TableFunction { alias, .. } => alias.as_ref(),
        _ => None,
    };
    alias.map_or_else(String::new, |alias| fold(&alias.name))
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

/// The output expressions of a set operation's side.
fn targets(body: &SetExpr) -> Vec<&Expr> {
    match body {
        SetExpr::Select(select) => {
            let items = select.projection.iter().filter_map(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    Some(expr)
                }
                _ => None,
            });
            items.collect()
        }
        SetExpr::SetOperation { left, .. } => targets(left),
        SetExpr::Query(query) => targets(&query.body),
        _ => Vec::new(),
    }
}

fn reads(factor: &TableFactor, name: &str) -> bool {
    matches!(factor, TableFactor::Table { name: table, .. } if table.to_string().eq_ignore_ascii_case(name))
}

/// The first aggregate that a SELECT calls itself.
fn aggregate_of(select: &Select) -> Option<ObjectName> {
    struct Finder;
    impl Visitor for Finder {
        type Break = Option<ObjectName>;

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Option<ObjectName>> {
            ControlFlow::Break(None)
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Option<ObjectName>> {
            match expr {
                Expr::Function(call) if call.over.is_none() => {
                    let name = call.name.to_string().to_lowercase();
                    match ["count", "sum", "avg", "min", "max"].contains(&name.as_str()) {
                        true => ControlFlow::Break(Some(call.name.clone())),
                        false => ControlFlow::Continue(()),
                    }
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match select.projection.visit(&mut Finder) {
        ControlFlow::Break(found) => found,
        ControlFlow::Continue(()) => None,
    }
}
