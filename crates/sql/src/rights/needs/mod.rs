//! What a statement needs: relations with privileges, by column where columns are named.
//!
//! A parsed statement and a catalog come in, [`Needs`] go out; they are the same for every role, and kept with the plan.
//! Names are resolved as far as a grammar tree tells: a column that could be one of two tables' is asked of both, so that
//! more is refused than need be, never less, and only where somebody has privileges by column.

mod sources;
#[cfg(test)]
mod tests;
mod visitor;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Query, Statement, Visit};

use super::Privileges;
use crate::catalog::{Catalog, ViewDefinition};

pub use sources::columns_of;
use visitor::Visiting;

/// Views inside views at most; deeper ones do not plan either.
const VIEW_DEPTH: usize = 16;

/// With whose rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Those of the role that runs the statement.
    Invoker,
    /// Those of a view's owner.
    OwnerOf(String),
}

/// What is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// By whom.
    pub subject: Subject,
    /// On which table, view or sequence of `public`.
    pub relation: String,
    /// The schema was named: without it, a relation in a schema that cannot be used is not found.
    pub qualified: bool,
    /// These, ...
    pub privileges: Privileges,
    /// ... all of them, or any.
    pub any: bool,
    /// Columns that are read, written by INSERT and by UPDATE, and referred to, by number: the privilege may be the
    /// column's. Where none is named, that of some column will do.
    pub columns: [BTreeSet<i16>; 4],
}

/// The privileges that `Need::columns` stand for, in its order.
pub const COLUMN_PRIVILEGES: [Privileges; 4] =
    [Privileges::SELECT, Privileges::INSERT, Privileges::UPDATE, Privileges::REFERENCES];

impl Need {
    /// Privileges of the invoker on a whole relation.
    pub fn on(relation: &str, privileges: Privileges) -> Need {
        Need {
            subject: Subject::Invoker,
            relation: relation.to_owned(),
            qualified: false,
            privileges,
            any: false,
            columns: Default::default(),
        }
    }

    /// Any of several privileges.
    pub fn any_on(relation: &str, privileges: Privileges) -> Need {
        Need { any: true, ..Need::on(relation, privileges) }
    }

    /// The columns that a privilege is needed for.
    pub fn columns_mut(&mut self, privilege: Privileges) -> &mut BTreeSet<i16> {
        let place = COLUMN_PRIVILEGES.iter().position(|known| *known == privilege);
        &mut self.columns[place.expect("a privilege on columns")]
    }
}

/// What a statement needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Of user relations.
    pub relations: Vec<Need>,
    /// Of system relations that not everybody sees: their names.
    pub system: Vec<String>,
    /// Views of which it is not known what their owners need: only who may do everything may read them.
    pub unknown: Vec<String>,
}

impl Needs {
    /// Whether anybody may run it.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty() && self.system.is_empty() && self.unknown.is_empty()
    }

    /// Adds others.
    pub fn extend(&mut self, others: Needs) {
        self.relations.extend(others.relations);
        self.system.extend(others.system);
        self.unknown.extend(others.unknown);
    }
}

/// What a query, a write, or a statement around one needs.
pub fn needs_of(catalog: &Catalog, statement: &Statement) -> Needs {
    found(catalog, |visiting| statement.visit(visiting))
}

/// What a query needs.
pub fn query_needs(catalog: &Catalog, query: &Query) -> Needs {
    found(catalog, |visiting| query.visit(visiting))
}

fn found(catalog: &Catalog, visit: impl FnOnce(&mut Visiting<'_>) -> ControlFlow<()>) -> Needs {
    let mut visiting = Visiting::new(catalog);
    let ControlFlow::Continue(()) = visit(&mut visiting) else {
        unreachable!("the visitor goes to the end")
    };
    let mut needs = visiting.found();
    let direct = needs.relations.len();
    for at in 0..direct {
        if let Some(view) = catalog.view(&needs.relations[at].relation) {
            let inner = view_needs(catalog, view, 1);
            needs.extend(inner);
        }
    }
    needs
}

/// What a view's query needs, of the view's owner; and so on for views in it. What cannot be told, of a text that no longer parses
/// or behind too many views, nobody has: it fails closed.
pub fn view_needs(catalog: &Catalog, view: &ViewDefinition, depth: usize) -> Needs {
    let parsed = crate::template::parse(&view.text).ok();
    let statement = parsed.and_then(|mut statements| statements.pop());
    let Some(statement) = statement.filter(|_| depth <= VIEW_DEPTH) else {
        return Needs { unknown: vec![view.name.clone()], ..Needs::default() };
    };
    let mut visiting = Visiting::new(catalog);
    let _ = statement.visit(&mut visiting);
    let mut needs = visiting.found();
    for need in &mut needs.relations {
        need.subject = Subject::OwnerOf(view.name.clone());
    }
    // What the view's owner may see of the system is not handed on.
    let direct = needs.relations.len();
    for at in 0..direct {
        if let Some(inner) = catalog.view(&needs.relations[at].relation) {
            needs.extend(view_needs(catalog, inner, depth + 1));
        }
    }
    needs
}
