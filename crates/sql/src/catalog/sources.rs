//! What a statement reads of the catalog while it is planned: a statement comes in, the names of relations go out.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, ObjectName, ObjectNamePart, Query, SetExpr, Statement, Visit, Visitor,
};

use super::Catalog;
use crate::statement::naming::fold;

/// Relations of one statement at most; with more it counts as reading everything.
const LIMIT: usize = 100;

/// What a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Perhaps on any definition.
    Everything,
    /// On tables and views of `public`, by their names as stored, and what tables themselves depend on.
    Relations(Box<[Box<str>]>),
}

impl Sources {
    /// What a statement reads, views and what they read included.
    pub fn of(catalog: &Catalog, statement: &Statement) -> Sources {
        let mut finding = Finding { catalog, found: BTreeSet::new(), defined: BTreeSet::new() };
        match statement.visit(&mut finding) {
            ControlFlow::Break(()) => Sources::Everything,
            ControlFlow::Continue(()) => {
                Sources::Relations(finding.found.into_iter().map(String::into_boxed_str).collect())
            }
        }
    }
}

/// Collects names; breaks off where something may depend on everything.
struct Finding<'a> {
    catalog: &'a Catalog,
    found: BTreeSet<String>,
    /// Names that WITH clauses have defined so far.
    defined: BTreeSet<String>,
}

impl Finding<'_> {
    fn add(&mut self, name: &str) -> ControlFlow<()> {
        if self.found.contains(name) {
            return ControlFlow::Continue(());
        }
        let view = self.catalog.view(name);
        let is_known = view.is_some() || self.catalog.table(None, name).is_some();
        let is_own = self.defined.contains(name);
        if !is_known && !is_own || self.found.len() >= LIMIT {
            return ControlFlow::Break(());
        }
        // Also where a WITH clause hides it: more than is read is no harm.
        self.found.insert(name.to_owned());
        match view {
            Some(view) => self.add_text(&view.text),
            None => ControlFlow::Continue(()),
        }
    }

    fn add_text(&mut self, text: &str) -> ControlFlow<()> {
        match crate::template::parse(text) {
            Ok(statements) => statements.visit(self),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

impl Visitor for Finding<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let defined = query.with.iter().flat_map(|with| &with.cte_tables);
        self.defined.extend(defined.map(|table| fold(&table.alias.name)));
        match names_a_table(&query.body) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        match &name.0[..] {
            [ObjectNamePart::Identifier(name)] => self.add(&fold(name)),
            [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(name)]
                if fold(schema) == "public" =>
            {
                self.add(&fold(name))
            }
            _ => ControlFlow::Break(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_free = match expr {
            Expr::Function(function) => match function.name.0.last() {
                Some(ObjectNamePart::Identifier(name)) => !reads_catalog(&fold(name)),
                _ => false,
            },
            // `'t'::regclass`
            Expr::Cast { data_type, .. } => {
                !matches!(data_type, DataType::Regclass | DataType::Custom(..))
            }
            _ => true,
        };
        if is_free { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Whether a query's body is `TABLE t` or has it as an operand: no walk over the grammar tree tells of that name.
fn names_a_table(body: &SetExpr) -> bool {
    match body {
        SetExpr::Table(_) => true,
        SetExpr::SetOperation { left, right, .. } => names_a_table(left) || names_a_table(right),
        _ => false,
    }
}

/// Whether a function of that name may look into the catalog, or at a sequence.
pub fn reads_catalog(name: &str) -> bool {
    let begins = ["pg_", "__", "has_", "to_reg", "current_"];
    let ends = ["_description", "val"];
    begins.iter().any(|begin| name.starts_with(begin))
        || ends.iter().any(|end| name.ends_with(end))
        || name == "format_type"
}
