//! What FROM adds to a namespace.

use std::sync::Arc;

use crate::analyzer::Analyzer;
use crate::catalog::RelationKind;
use crate::error::{Location, Result, fault};
use crate::tree::{Column, Entry, EntryKind, Expression, ExpressionKind};

/// A relation, a subquery, a join, ... that names see.
#[derive(Clone, Debug)]
pub(crate) struct NameItem {
    /// By which its columns are qualified.
    pub name: Arc<str>,
    /// Its entry in the range table.
    pub entry: usize,
    /// Whether its relation stands under its own name.
    pub is_without_alias: bool,
    /// Of a join, what its columns are: entry and number.
    pub mapped: Option<Vec<(usize, i16)>>,
    /// Whether qualified names see it.
    pub is_relation_visible: bool,
    /// Whether names without qualifier see its columns.
    pub are_columns_visible: bool,
    /// Whether only what follows LATERAL sees it.
    pub is_lateral_only: bool,
    /// Whether the kind of join lets what follows LATERAL see it.
    pub is_lateral_possible: bool,
}

impl NameItem {
    /// An item that everything sees.
    pub fn of(entry: usize, name: Arc<str>) -> Self {
        Self {
            name,
            entry,
            is_without_alias: false,
            mapped: None,
            is_relation_visible: true,
            are_columns_visible: true,
            is_lateral_only: false,
            is_lateral_possible: true,
        }
    }

    /// The entry and number of a column by its place among the item's.
    pub fn source(&self, place: usize) -> (usize, i16) {
        let own =
            || (self.entry, i16::try_from(place + 1).expect("there are at most 1,664 columns"));
        self.mapped.as_ref().map_or_else(own, |mapped| mapped[place])
    }
}

impl Analyzer<'_, '_> {
    /// The item of an entry, as far as names see it.
    pub(crate) fn item_of_entry(&self, levels: usize, entry: usize) -> Option<NameItem> {
        let level = self.outer(levels);
        level.namespace.iter().find(|item| item.entry == entry).cloned()
    }

    /// A column of an item by its place.
    pub(crate) fn item_column(
        &self,
        item: &NameItem,
        levels: usize,
        place: usize,
        at: Location,
    ) -> Expression {
        let (entry, number) = item.source(place);
        self.column(levels, entry, number, at)
    }

    /// A column of an entry by its number.
    pub(crate) fn column(
        &self,
        levels: usize,
        entry: usize,
        number: i16,
        at: Location,
    ) -> Expression {
        let place = usize::try_from(number - 1).expect("it is a column");
        let column = &self.outer(levels).range_table[entry].columns[place];
        let kind = ExpressionKind::Column(Column { levels, entry, number });
        Expression::new(kind, column.type_oid, at).typmod(column.typmod).collation(column.collation)
    }

    /// The column of an item that has a name; `None` where none has.
    ///
    /// # Errors
    /// 42702 where two have; 42P10 where the join hides it from LATERAL.
    pub(crate) fn column_of_item(
        &self,
        item: &NameItem,
        levels: usize,
        name: &str,
        at: Location,
    ) -> Result<Option<Expression>> {
        let entry = &self.outer(levels).range_table[item.entry];
        let mut places = (0..entry.columns.len()).filter(|place| {
            let column = &entry.columns[*place];
            &*column.name == name && column.type_oid != 0
        });
        let found = places.next();
        if found.is_some() && places.next().is_some() {
            return Err(ambiguous(name, at));
        }
        let found = match found {
            Some(place) => self.item_column(item, levels, place, at),
            None => match system_column(entry, item.entry, levels, name, at) {
                Some(column) => column,
                None => return Ok(None),
            },
        };
        self.check_lateral(item, levels, at)?;
        Ok(Some(found))
    }

    /// # Errors
    /// 42P10 where LATERAL may not see the item.
    pub(super) fn check_lateral(&self, item: &NameItem, levels: usize, at: Location) -> Result<()> {
        if !item.is_lateral_only || item.is_lateral_possible {
            return Ok(());
        }
        let name = &item.name;
        let message = format!("invalid reference to FROM-clause entry for table \"{name}\"");
        let is_target = self.outer(levels).target == Some(item.entry);
        let detail = if is_target {
            format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            )
        } else {
            "The combining JOIN type must be INNER or LEFT for a LATERAL reference.".to_owned()
        };
        Err(fault("42P10", at, message).detail(detail))
    }
}

/// The fault of a name that two columns have.
pub(super) fn ambiguous(name: &str, at: Location) -> Box<crate::error::AnalysisError> {
    fault("42702", at, format!("column reference \"{name}\" is ambiguous"))
}

/// A column that every table has.
fn system_column(
    entry: &Entry,
    place: usize,
    levels: usize,
    name: &str,
    at: Location,
) -> Option<Expression> {
    let EntryKind::Relation(relation) = &entry.kind else { return None };
    if matches!(relation.0.kind, RelationKind::View | RelationKind::Composite) {
        return None;
    }
    let (number, type_oid) = super::system::system_column(name)?;
    let kind = ExpressionKind::Column(Column { levels, entry: place, number });
    Some(Expression::new(kind, type_oid, at))
}
