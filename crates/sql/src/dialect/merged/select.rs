//! SELECT: its stars over merged columns, and the names in it.

use std::collections::HashSet;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::Result;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, OrderBy, OrderByKind, Select, SelectItem, SelectItemQualifiedWildcardKind,
};
use engine::types::SqlState;

use super::scope::{Column, Joined, Scope, qualified};
use super::{Given, Merging, fault};
use crate::template::{fold, name_item, output_name, visible_name};

impl Merging<'_> {
    /// A SELECT with the ORDER BY behind it: the columns that it gives.
    pub fn select(
        &mut self,
        select: &mut Select,
        order_by: Option<&mut OrderBy>,
        outer: Option<&Scope<'_>>,
    ) -> Result<Option<Vec<Given>>> {
        let mut joined = Joined::default();
        for item in &mut select.from {
            let beside = self.item(item, &joined, outer)?;
            joined = joined.beside(beside);
        }
        if joined.merges() {
            select.projection = spread(std::mem::take(&mut select.projection), &joined)?;
        }
        let scope = Scope::new(&joined, outer);
        for item in &mut select.projection {
            self.named_item(item, &scope)?;
        }
        self.resolve(&mut select.selection, &scope)?;
        self.resolve(&mut select.group_by, &scope)?;
        self.resolve(&mut select.having, &scope)?;
        self.resolve(&mut select.named_window, &scope)?;
        self.resolve(&mut select.qualify, &scope)?;
        let given = given(&select.projection, &joined);
        let is_given = |name: &Ident| {
            let name = fold(name);
            given.iter().flatten().any(|(given, _)| visible_name(given) == name)
        };
        if let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = order_by {
            for key in keys {
                match &key.expr {
                    Expr::Identifier(name) if is_given(name) => {}
                    _ => self.resolve(key, &scope)?,
                }
            }
        }
        self.resolve(&mut select.distinct, &scope)?;
        Ok(given)
    }

    /// An item keeps its name, whatever stands for it.
    fn named_item(&mut self, item: &mut SelectItem, scope: &Scope<'_>) -> Result<()> {
        let name = match &*item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.clone()),
            _ => None,
        };
        self.resolve(item, scope)?;
        if let (Some(name), SelectItem::UnnamedExpr(expr)) = (name, &*item)
            && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: name };
        }
        Ok(())
    }
}

/// The items with the columns that stars stand for, each under a name of its own.
fn spread(items: Vec<SelectItem>, joined: &Joined) -> Result<Vec<SelectItem>> {
    let mut spread = Vec::with_capacity(items.len() + joined.columns.len());
    for item in items {
        match &item {
            SelectItem::Wildcard(_) if !joined.is_complete => {
                let message = "* over merged columns and a function whose columns are not known is not supported";
                return Err(fault(SqlState::FeatureNotSupported, message.to_owned()));
            }
            SelectItem::Wildcard(_) => {
                let column = |column: &Column| item_of(&column.name, &column.expr);
                spread.extend(joined.columns.iter().map(column));
            }
            SelectItem::QualifiedWildcard(kind, _) => match relation(kind, joined) {
                Some((name, given)) => spread.extend(
                    given.iter().map(|(column, _)| item_of(column, &qualified(name, column))),
                ),
                None => spread.push(item),
            },
            _ => spread.push(item),
        }
    }
    let mut used = HashSet::new();
    spread.iter_mut().for_each(|item| name_item(item, &mut used));
    Ok(spread)
}

fn item_of(name: &str, expr: &Expr) -> SelectItem {
    match expr {
        Expr::CompoundIdentifier(_) => SelectItem::UnnamedExpr(expr.clone()),
        _ => SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', name) },
    }
}

/// The relation whose columns a star behind a name stands for.
fn relation<'a>(
    kind: &SelectItemQualifiedWildcardKind,
    joined: &'a Joined,
) -> Option<&'a (Ident, Vec<Given>)> {
    let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else { return None };
    let name = fold(name.0.last()?.as_ident()?);
    joined.relations.iter().find(|(known, _)| fold(known) == name)
}

/// The columns that a select list gives.
fn given(items: &[SelectItem], joined: &Joined) -> Option<Vec<Given>> {
    let mut given = Vec::with_capacity(items.len());
    for item in items {
        match item {
            SelectItem::UnnamedExpr(expr) => given.push((output_name(expr), type_of(expr, joined))),
            SelectItem::ExprWithAlias { expr, alias } => {
                given.push((fold(alias), type_of(expr, joined)));
            }
            SelectItem::Wildcard(_) if joined.is_complete => {
                let columns = joined.columns.iter();
                given.extend(columns.map(|column| (column.name.clone(), column.data_type.clone())));
            }
            SelectItem::QualifiedWildcard(kind, _) => {
                given.extend(relation(kind, joined)?.1.iter().cloned());
            }
            _ => return None,
        }
    }
    Some(given)
}

/// The type of a column.
fn type_of(expr: &Expr, joined: &Joined) -> Option<ArrowType> {
    match expr {
        Expr::Identifier(name) => {
            let name = fold(name);
            let mut found = joined.named(&name);
            found.next().filter(|_| found.next().is_none())?.data_type.clone()
        }
        Expr::CompoundIdentifier(parts) => {
            let [relation, column] = parts.as_slice() else { return None };
            let (relation, column) = (fold(relation), fold(column));
            let (_, given) = joined.relations.iter().find(|(known, _)| fold(known) == relation)?;
            given.iter().find(|(known, _)| *known == column)?.1.clone()
        }
        _ => None,
    }
}
