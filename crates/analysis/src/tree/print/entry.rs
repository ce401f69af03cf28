//! What stands in FROM.

use super::super::{Entry, EntryKind, FromItem, JoinKind};
use super::{Printer, columns_text};

impl<'a> Printer<'a> {
    /// The range table.
    pub(super) fn entries(&mut self, entries: &'a [Entry]) {
        for (place, entry) in entries.iter().enumerate() {
            let lateral = if entry.is_lateral { "lateral " } else { "" };
            let kind = kind_text(&entry.kind);
            let columns = columns_text(&entry.columns);
            self.line(&format!("entry {place} {}: {lateral}{kind} ({columns})", entry.name));
            self.below(|this| this.inside(&entry.kind));
        }
    }

    fn inside(&mut self, kind: &'a EntryKind) {
        match kind {
            EntryKind::Subquery(query) => self.query(query),
            EntryKind::Join(columns) => self.expressions("is", columns),
            EntryKind::Functions { calls, .. } => {
                for (call, columns) in calls {
                    self.expressions(&format!("{columns} columns of"), std::slice::from_ref(call));
                }
            }
            EntryKind::Values(rows) => rows.iter().for_each(|row| self.expressions("row", row)),
            EntryKind::XmlTable(arguments) => self.expressions("of", arguments),
            EntryKind::Relation(_)
            | EntryKind::Cte(..)
            | EntryKind::Excluded
            | EntryKind::Recursive(..) => {}
        }
    }

    /// What FROM says.
    pub(super) fn source(&mut self, item: &'a FromItem) {
        match item {
            FromItem::Entry(place) => self.line(&format!("from {place}")),
            FromItem::Sample { entry, method, arguments, seed } => {
                self.line(&format!("from {entry} sampled by {}", method.0.name));
                self.below(|this| {
                    this.expressions("of", arguments);
                    this.optional("repeatable", seed.as_ref());
                });
            }
            FromItem::Join { kind, left, right, condition, entry } => {
                self.line(&format!("from {entry}: {} join", join_text(*kind)));
                self.below(|this| {
                    this.source(left);
                    this.source(right);
                    this.optional("on", condition.as_ref());
                });
            }
        }
    }
}

fn join_text(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner",
        JoinKind::Left => "left",
        JoinKind::Right => "right",
        JoinKind::Full => "full",
    }
}

fn kind_text(kind: &EntryKind) -> String {
    match kind {
        EntryKind::Relation(_) => "relation".to_owned(),
        EntryKind::Subquery(_) => "subquery".to_owned(),
        EntryKind::Join(_) => "join".to_owned(),
        EntryKind::Functions { has_ordinality: false, .. } => "functions".to_owned(),
        EntryKind::Functions { .. } => "functions with ordinality".to_owned(),
        EntryKind::Values(_) => "values".to_owned(),
        EntryKind::Cte(name, levels) => format!("with {}{name}", "^".repeat(*levels)),
        EntryKind::Excluded => "excluded".to_owned(),
        EntryKind::Recursive(name, levels) => format!("recursive {}{name}", "^".repeat(*levels)),
        EntryKind::XmlTable(_) => "xmltable".to_owned(),
    }
}
