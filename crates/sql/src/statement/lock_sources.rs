//! What stands in FROM of a query that locks rows: tables, whose rows have ids, and all else, which cannot be locked.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Ident, LockClause, ObjectName, Query, Select, TableAlias, TableFactor, TableWithJoins, Visit,
    Visitor, With,
};
use engine::types::{Error, Result, SqlState, TableSchema};

use super::locking::cannot_apply;
use super::naming::{fold, split};
use super::returning::quoted;
use crate::catalog::{Catalog, HIDDEN_SCHEMA};
use crate::template::lock_words;

/// A relation of FROM.
pub struct Source {
    /// The name that the query gives it.
    pub alias: Option<Ident>,
    /// What it is.
    pub kind: Kind,
}

/// What a relation of FROM is.
pub enum Kind {
    /// A table.
    Table(Arc<TableSchema>),
    /// Something that PostgreSQL does not lock either: it refuses a clause that names it.
    Nothing(&'static str),
    /// Something of which PostgreSQL would lock the rows below.
    Refused(&'static str),
}

impl Kind {
    /// 0A000 where a clause would lock its rows.
    pub fn check(&self, clause: &LockClause) -> Result<()> {
        match self {
            Kind::Table(_) => Ok(()),
            Kind::Nothing(what) => match lock_words::of(clause) {
                Some(_) => Err(cannot_apply(clause, what)),
                None => Ok(()),
            },
            Kind::Refused(what) => {
                let words = lock_words::words(clause);
                let message = format!("FOR {words} of {what} is not supported");
                let hint = format!(
                    "Name the tables to lock (FOR {words} OF ...), or put the clause into the query that reads them."
                );
                Err(Error::new(SqlState::FeatureNotSupported, message).hint(hint))
            }
        }
    }
}

/// The names of the queries of a WITH clause.
pub fn names(with: Option<&With>) -> Vec<String> {
    let named = with.iter().flat_map(|with| &with.cte_tables);
    named.map(|named| fold(&named.alias.name)).collect()
}

/// The relations of FROM; `with` names the queries that hide tables.
pub fn sources(catalog: &Catalog, with: &[String], select: &Select) -> Vec<Source> {
    let mut sources = Vec::new();
    for from in &select.from {
        add(catalog, with, from, &mut sources);
    }
    sources
}

fn add(catalog: &Catalog, with: &[String], from: &TableWithJoins, sources: &mut Vec<Source>) {
    let joined = from.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&from.relation).chain(joined) {
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                add(catalog, with, table_with_joins, sources);
            }
            factor => sources.push(source(catalog, with, factor)),
        }
    }
}

fn source(catalog: &Catalog, with: &[String], factor: &TableFactor) -> Source {
    let (kind, alias) = match factor {
        TableFactor::Table { name, alias, args: None, .. } => {
            let kind = named(catalog, with, name);
            let own = split(name).ok().map(|(_, name)| quoted(&name));
            return Source { alias: alias.as_ref().map(shown).or(own), kind };
        }
        TableFactor::Derived { subquery, alias, .. } => match names_relation(subquery) {
            true => (Kind::Refused("a subquery in FROM"), alias),
            // A series, for one, has become such a subquery by now.
            false => (Kind::Nothing("a function"), alias),
        },
        TableFactor::NestedJoin { alias, .. } => (Kind::Refused("a join with an alias"), alias),
        TableFactor::Table { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::UNNEST { alias, .. } => (Kind::Nothing("a function"), alias),
        _ => return Source { alias: None, kind: Kind::Refused("this relation") },
    };
    Source { alias: alias.as_ref().map(shown), kind }
}

/// Whether a query reads anything that has rows of its own.
fn names_relation(query: &Query) -> bool {
    struct Relations;
    impl Visitor for Relations {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            match factor {
                TableFactor::Table { args: None, .. } => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    query.visit(&mut Relations).is_break()
}

fn shown(alias: &TableAlias) -> Ident {
    quoted(&fold(&alias.name))
}

/// What a name is.
fn named(catalog: &Catalog, with: &[String], name: &ObjectName) -> Kind {
    let Ok((schema, bare)) = split(name) else { return Kind::Refused("this relation") };
    if schema.is_none() && with.contains(&bare) {
        return Kind::Nothing("a WITH query");
    }
    let is_public = schema.as_deref().is_none_or(|schema| schema == "public");
    match catalog.table(schema.as_deref(), &bare) {
        Some(table) => Kind::Table(table.clone()),
        None if is_public && catalog.view(&bare).is_some() => Kind::Refused("a view"),
        None => Kind::Refused("a system table"),
    }
}

/// Lets the tables of FROM show their row ids.
pub fn show_ids(catalog: &Catalog, with: &[String], select: &mut Select) {
    for from in &mut select.from {
        show(catalog, with, from);
    }
}

fn show(catalog: &Catalog, with: &[String], from: &mut TableWithJoins) {
    let joined = from.joins.iter_mut().map(|join| &mut join.relation);
    for factor in std::iter::once(&mut from.relation).chain(joined) {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
            show(catalog, with, table_with_joins);
            continue;
        }
        let Source { alias: Some(visible), kind: Kind::Table(table) } =
            source(catalog, with, factor)
        else {
            continue;
        };
        let TableFactor::Table { name, alias, .. } = factor else { continue };
        *name = ObjectName::from(vec![Ident::new(HIDDEN_SCHEMA), quoted(&table.name)]);
        alias.get_or_insert_with(|| TableAlias {
            explicit: true,
            name: visible,
            columns: Vec::new(),
            at: None,
        });
    }
}
