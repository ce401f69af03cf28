//! ON CONFLICT.

use syntax::{InferClause, OnConflictAction, OnConflictClause};

use super::target::Written;
use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault, location};
use crate::from::relation::relation_columns;
use crate::names::NameItem;
use crate::place::Place;
use crate::tree::{Conflict, Entry, EntryKind};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn on_conflict(
        &mut self,
        clause: OnConflictClause<'t>,
        written: &Written,
    ) -> Result<Conflict> {
        let is_update = clause.action() == OnConflictAction::Update;
        let mut conflict = Conflict {
            arbiter: Vec::new(),
            arbiter_condition: None,
            constraint: None,
            update: None,
            condition: None,
            excluded: None,
        };
        if is_update && clause.infer().is_none() {
            let message =
                "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            return Err(fault("42601", location(clause.location()), message)
                .hint("For example, ON CONFLICT (column_name)."));
        }
        if let Some(infer) = clause.infer() {
            self.arbiter(infer, written, &mut conflict)?;
        }
        if is_update {
            let entry = Entry {
                name: "excluded".into(),
                columns: relation_columns(&written.relation),
                kind: EntryKind::Excluded,
                is_lateral: false,
            };
            let place = self.add_entry(entry);
            conflict.excluded = Some(place);
            let item = NameItem::of(place, "excluded".into());
            self.level().namespace.push(item);
            let values = self.assigned_values(clause.target_list())?;
            conflict.update = Some(self.assignments(written, clause.target_list(), values)?);
            conflict.condition = self.condition(clause.where_clause(), Place::Where, "WHERE")?;
        }
        Ok(conflict)
    }

    /// Which conflict is meant: columns of a unique index, or a constraint's name.
    fn arbiter(
        &mut self,
        infer: InferClause<'t>,
        written: &Written,
        conflict: &mut Conflict,
    ) -> Result<()> {
        if let Some(name) = infer.conname() {
            let indexes = &written.relation.unique_indexes;
            if !indexes.iter().any(|index| index.constraint.as_deref() == Some(name)) {
                let table = &written.relation.name;
                let message = format!("constraint \"{name}\" for table \"{table}\" does not exist");
                return Err(fault("42704", NOWHERE, message));
            }
            conflict.constraint = Some(name.into());
            return Ok(());
        }
        for element in infer.index_elems().iter() {
            let value = match element.name() {
                Some(name) => {
                    let at = location(infer.location());
                    let found = self.unqualified_column(name, true, at)?;
                    found.ok_or_else(|| self.no_column(None, name, at))?
                }
                None => {
                    let node = element.expr().expect("an element is a column or an expression");
                    self.in_place(Place::Other, |this| this.expression(node))?
                }
            };
            conflict.arbiter.push(value);
        }
        conflict.arbiter_condition = self.condition(infer.where_clause(), Place::Other, "WHERE")?;
        Ok(())
    }
}
