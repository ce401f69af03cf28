//! What the bare names of a SELECT stand for.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::sql::sqlparser::ast::{Expr, Ident};

use super::Given;
use crate::template::{fold, visible_name};

/// A column of what FROM joins.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it is.
    pub expr: Expr,
    /// Its type, where that is known.
    pub data_type: Option<ArrowType>,
    /// Whether it is several tables'.
    pub is_merged: bool,
}

/// What FROM joins.
#[derive(Clone, Debug)]
pub struct Joined {
    /// In the order of a star.
    pub columns: Vec<Column>,
    /// What each relation has by itself.
    pub relations: Vec<(Ident, Vec<Given>)>,
    /// Whether these are all.
    pub is_complete: bool,
}

impl Default for Joined {
    fn default() -> Joined {
        Joined { columns: Vec::new(), relations: Vec::new(), is_complete: true }
    }
}

impl Joined {
    /// A relation under a name.
    pub fn relation(name: &Ident, given: Option<Vec<Given>>) -> Joined {
        let Some(given) = given else { return Joined { is_complete: false, ..Joined::default() } };
        let column = |(column, data_type): &Given| Column {
            name: column.clone(),
            expr: qualified(name, column),
            data_type: data_type.clone(),
            is_merged: false,
        };
        let columns = given.iter().map(column).collect();
        Joined { columns, relations: vec![(name.clone(), given)], is_complete: true }
    }

    /// This beside something else.
    pub fn beside(mut self, other: Joined) -> Joined {
        self.columns.extend(other.columns);
        self.relations.extend(other.relations);
        self.is_complete &= other.is_complete;
        self
    }

    /// Whether columns were merged.
    pub fn merges(&self) -> bool {
        self.columns.iter().any(|column| column.is_merged)
    }

    /// The columns of that name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Column> {
        self.columns.iter().filter(move |column| visible_name(&column.name) == name)
    }
}

/// A relation's column.
pub fn qualified(relation: &Ident, column: &str) -> Expr {
    Expr::CompoundIdentifier(vec![relation.clone(), Ident::with_quote('"', column)])
}

/// The names of a SELECT and of those around it.
pub struct Scope<'a> {
    joined: Option<&'a Joined>,
    outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    /// Over what FROM joins.
    pub fn new(joined: &'a Joined, outer: Option<&'a Scope<'a>>) -> Scope<'a> {
        Scope { joined: Some(joined), outer }
    }

    /// Where there is no FROM.
    pub fn none(outer: Option<&'a Scope<'a>>) -> Scope<'a> {
        Scope { joined: None, outer }
    }

    /// What a bare name stands for where it is that of a merged column. A name that is another column's, too, is left to the
    /// planner, which says that it is ambiguous.
    pub fn merged(&self, name: &Ident) -> Option<Expr> {
        let folded = fold(name);
        if let Some(joined) = self.joined {
            let mut found = joined.named(&folded);
            match (found.next(), found.next()) {
                (Some(column), None) if column.is_merged => return Some(placed(column, name)),
                (None, _) if joined.is_complete => {}
                _ => return None,
            }
        }
        self.outer.and_then(|outer| outer.merged(name))
    }
}

impl<'a> Scope<'a> {
    /// Whether there is one relation alone.
    pub fn is_of_one(&self) -> bool {
        self.joined.is_some_and(|joined| joined.relations.len() == 1 && joined.is_complete)
    }

    /// The relation that a bare name stands for where there is no column of that name.
    pub fn relation(&self, name: &Ident) -> Option<&'a (Ident, Vec<Given>)> {
        let folded = fold(name);
        if let Some(joined) = self.joined {
            if joined.named(&folded).next().is_some() {
                return None;
            }
            if let Some(found) = joined.relations.iter().find(|(known, _)| fold(known) == folded) {
                return Some(found);
            }
        }
        self.outer.and_then(|outer| outer.relation(name))
    }
}

/// The column's expression, where the name stands.
fn placed(column: &Column, name: &Ident) -> Expr {
    let mut expr = column.expr.clone();
    if let Expr::CompoundIdentifier(parts) = &mut expr {
        parts.iter_mut().for_each(|part| part.span = name.span);
    }
    expr
}
