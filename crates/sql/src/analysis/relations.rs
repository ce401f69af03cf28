//! The names that an expression may use.

use std::rc::Rc;

use datafusion::sql::sqlparser::ast::NamedWindowDefinition;

use super::types::Type;

/// Names and types of columns; `None` where they are not known here.
pub type Columns = Option<Vec<(String, Type)>>;

/// A table, view or subquery under its alias.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its alias, or its name.
    pub name: String,
    /// The table's name where an alias hides it.
    pub hidden: Option<String>,
    /// What it has.
    pub columns: Columns,
}

/// The relations in FROM, those of the queries around, and what WITH named.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// In FROM.
    pub relations: Vec<Relation>,
    /// Whether joins have merged columns of theirs: what a star stands for is not known here then.
    pub merges: bool,
    /// What the WINDOW clause names.
    pub windows: Rc<[NamedWindowDefinition]>,
    /// Of WITH clauses; the last of a name counts.
    pub named: Vec<(String, Columns)>,
    /// Of the query around.
    pub outer: Option<Rc<Scope>>,
}

impl Scope {
    /// A scope inside this one, which sees the same WITH queries.
    pub fn inner(&self) -> Scope {
        let named = self.named.clone();
        Scope { named, outer: Some(Rc::new(self.clone())), ..Scope::default() }
    }

    /// A scope for a subquery in FROM: it sees WITH queries, not its neighbours.
    pub fn beside(&self) -> Scope {
        Scope { named: self.named.clone(), outer: self.outer.clone(), ..Scope::default() }
    }

    /// What WITH named so.
    pub fn with_query(&self, name: &str) -> Option<&Columns> {
        self.named.iter().rev().find(|(known, _)| known == name).map(|(_, columns)| columns)
    }

    /// The type of a column by its bare name.
    pub fn column(&self, name: &str) -> Type {
        let known = self.relations.iter().filter_map(|relation| relation.columns.as_ref());
        let mut found = known.flatten().filter(|(column, _)| column == name);
        if let Some((_, data_type)) = found.next() {
            // Ambiguous where USING did not merge them: the planner says so.
            return if found.next().is_some() { Type::Opaque } else { *data_type };
        }
        match &self.outer {
            Some(outer) if self.relations.iter().all(|r| r.columns.is_some()) => outer.column(name),
            _ => Type::Opaque,
        }
    }

    /// The type of a column of a relation.
    pub fn qualified(&self, relation: &str, column: &str) -> Type {
        let found = self.relations.iter().find(|known| known.name == relation);
        match (found, &self.outer) {
            (Some(relation), _) => {
                let columns = relation.columns.iter().flatten();
                let mut named = columns.filter(|(name, _)| name == column);
                named.next().map_or(Type::Opaque, |(_, data_type)| *data_type)
            }
            (None, Some(outer)) => outer.qualified(relation, column),
            (None, None) => Type::Opaque,
        }
    }

    /// Whether a relation, all of whose columns are known, is one of a query around this one and has no such column.
    /// Of the query itself the planner says so.
    pub fn lacks(&self, relation: &str, column: &str) -> bool {
        if self.relations.iter().any(|known| known.name == relation) {
            return false;
        }
        let Some(outer) = &self.outer else { return false };
        match outer.relations.iter().find(|known| known.name == relation) {
            Some(Relation { columns: Some(columns), .. }) => {
                columns.iter().all(|(name, _)| name != column)
            }
            Some(_) => false,
            None => outer.lacks(relation, column),
        }
    }

    /// The alias that hides a table's name here.
    pub fn hiding(&self, table: &str) -> Option<&str> {
        let visible = self.relations.iter().any(|relation| relation.name == table);
        let hides = |relation: &&Relation| relation.hidden.as_deref() == Some(table);
        let alias = self.relations.iter().find(hides).map(|relation| relation.name.as_str());
        alias.filter(|_| !visible && self.outer.is_none())
    }
}
