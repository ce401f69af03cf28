//! What FROM brings into sight.

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, SelectItem, SetExpr, Statement, TableAlias, TableFactor,
    TableWithJoins,
};

use crate::catalog::{Catalog, HIDDEN_SCHEMA, ViewDefinition, column_number};
use crate::statement::naming::{fold, split};

/// Something in FROM.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name that columns are qualified with.
    pub alias: String,
    /// The need that its columns belong to; `None` for what is no relation.
    pub need: Option<usize>,
    /// Its columns with their numbers.
    pub columns: Vec<(String, i16)>,
    /// Whether these are all: a subquery's are not always known.
    pub complete: bool,
}

impl Source {
    /// The number of a column.
    pub fn column(&self, name: &str) -> Option<i16> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// Gives the first columns other names.
    pub fn rename(&mut self, alias: Option<&TableAlias>) {
        let Some(alias) = alias else { return };
        self.alias = fold(&alias.name);
        for (column, other) in self.columns.iter_mut().zip(&alias.columns) {
            column.0 = fold(&other.name);
        }
    }
}

/// A relation's name as FROM has it: `Ok` for one of `public`, `Err` for one of the system, with its schema.
pub fn relation_name(name: &ObjectName) -> Option<Result<String, (Option<String>, String)>> {
    let (schema, name) = split(name).ok()?;
    match schema.as_deref() {
        None | Some("public") => Some(Ok(name)),
        Some(HIDDEN_SCHEMA) => Some(Ok(name)),
        Some(_) => Some(Err((schema, name))),
    }
}

/// A relation's columns with their numbers; `None` for a view whose text does not tell all of them.
pub fn columns_of(catalog: &Catalog, relation: &str) -> Option<Vec<(String, i16)>> {
    if let Some(table) = catalog.table(None, relation) {
        let live = table.live_columns();
        let columns = live.map(|(id, column)| (column.name.to_string(), column_number(id)));
        return Some(columns.collect());
    }
    let Some(view) = catalog.view(relation) else { return Some(Vec::new()) };
    let known = catalog.view_columns().iter().find(|known| known.name == view.name);
    let names = match known {
        Some(known) => known.columns.iter().map(|(name, _)| name.clone()).collect(),
        None => view_columns(view)?,
    };
    Some(names.into_iter().zip(1..).collect())
}

/// A view's columns by its text.
fn view_columns(view: &ViewDefinition) -> Option<Vec<String>> {
    let Statement::Query(query) = crate::template::parse(&view.text).ok()?.pop()? else {
        return None;
    };
    let mut names = output_names(&query)?;
    for (own, name) in names.iter_mut().zip(&view.columns) {
        own.clone_from(name);
    }
    names.iter().all(|name| !name.is_empty()).then_some(names)
}

/// The names of a query's columns, as far as the text tells, empty where it does not; `None` where a `*` hides how many
/// there are.
pub fn output_names(query: &Query) -> Option<Vec<String>> {
    match &*query.body {
        SetExpr::Select(select) => of_select(select),
        SetExpr::Query(query) => output_names(query),
        SetExpr::SetOperation { left, .. } => match &**left {
            SetExpr::Select(select) => of_select(select),
            _ => None,
        },
        _ => None,
    }
}

fn of_select(select: &Select) -> Option<Vec<String>> {
    let name = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(fold(name)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => names.last().map(fold),
        SelectItem::UnnamedExpr(_) => Some(String::new()),
        _ => None,
    };
    select.projection.iter().map(name).collect()
}

/// All factors of FROM, those in parentheses too, with the constraints of their joins.
pub fn factors<'a>(from: &'a [TableWithJoins], take: &mut dyn FnMut(&'a TableFactor)) {
    for tree in from {
        factor(&tree.relation, take);
        tree.joins.iter().for_each(|join| factor(&join.relation, take));
    }
}

fn factor<'a>(found: &'a TableFactor, take: &mut dyn FnMut(&'a TableFactor)) {
    match found {
        TableFactor::NestedJoin { table_with_joins, .. } => {
            factors(std::slice::from_ref(table_with_joins), take)
        }
        TableFactor::Pivot { table, .. } | TableFactor::Unpivot { table, .. } => {
            factor(table, take)
        }
        other => take(other),
    }
}
