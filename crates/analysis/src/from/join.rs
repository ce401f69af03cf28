//! Joins, with ON, USING or NATURAL.

use std::sync::Arc;

use syntax::{JoinExpr, JoinType, Node};

use super::merged::Merged;
use super::{Added, set_lateral};
use crate::analyzer::{Analyzer, CHAIN, too_deep};
use crate::error::{NOWHERE, Result, fault};
use crate::names::NameItem;
use crate::place::Place;
use crate::tree::{Entry, EntryColumn, EntryKind, Expression, ExpressionKind, FromItem, JoinKind};

/// The columns of a join as they are gathered.
#[derive(Default)]
struct Gathered {
    columns: Vec<EntryColumn>,
    /// What each is.
    values: Vec<Expression>,
}

impl<'t> Analyzer<'t, '_> {
    /// Joins that grow to the left.
    pub(super) fn join_chain(&mut self, join: JoinExpr<'t>) -> Result<Added> {
        let mut joins = vec![join];
        let mut left = join.larg().expect("a join has a left side");
        while let Node::JoinExpr(inner) = left {
            if joins.len() >= CHAIN {
                return Err(too_deep());
            }
            joins.push(inner);
            left = inner.larg().expect("a join has a left side");
        }
        let mut added = self.add_item(left)?;
        for join in joins.into_iter().rev() {
            added = self.within(|this| this.join(join, added))?;
        }
        Ok(added)
    }

    fn join(&mut self, join: JoinExpr<'t>, mut left: Added) -> Result<Added> {
        let kind = match join.jointype() {
            JoinType::Left => JoinKind::Left,
            JoinType::Right => JoinKind::Right,
            JoinType::Full => JoinKind::Full,
            _ => JoinKind::Inner,
        };
        // The right side sees the left by LATERAL, where the kind of join lets it.
        set_lateral(&mut left.names, true, matches!(kind, JoinKind::Inner | JoinKind::Left));
        let before = self.here().namespace.len();
        let shown = left.names.clone();
        self.level().namespace.extend(shown);
        let right = self.add_item(join.rarg().expect("a join has a right side"));
        self.level().namespace.truncate(before);
        let right = right?;
        self.no_conflict(&left.names, &right.names)?;
        let using = self.using_columns(join, &left.whole, &right.whole)?;
        let merged = self.merge(kind, &using, &left.whole, &right.whole)?;
        let mut names: Vec<NameItem> = left.names;
        names.extend(right.names);
        let condition = if join.is_natural() || !join.using_clause().is_empty() {
            merged.condition.clone()
        } else {
            self.join_condition(join, &mut names)?
        };
        let gathered = self.gather(&merged, &using, &left.whole, &right.whole);
        self.finish_join(join, kind, [left.item, right.item], condition, gathered, &merged, names)
    }

    /// ON sees the two sides and nothing else of this level.
    fn join_condition(
        &mut self,
        join: JoinExpr<'t>,
        names: &mut Vec<NameItem>,
    ) -> Result<Option<Expression>> {
        let Some(on) = join.quals() else { return Ok(None) };
        set_lateral(names, false, true);
        let shown = std::mem::take(names);
        let before = std::mem::replace(&mut self.level().namespace, shown);
        let value = self.in_place(Place::JoinOn, |this| {
            let value = this.expression(on)?;
            this.boolean(value, "JOIN/ON")
        });
        *names = std::mem::replace(&mut self.level().namespace, before);
        value.map(Some)
    }

    /// The columns: those merged, then the left side's, then the right side's.
    fn gather(
        &self,
        merged: &Merged,
        using: &[(usize, usize)],
        left: &NameItem,
        right: &NameItem,
    ) -> Gathered {
        let mut gathered = Gathered::default();
        for (name, value) in &merged.columns {
            gathered.push(name.clone(), value.clone());
        }
        let sides = [(left, using.iter().map(|pair| pair.0).collect::<Vec<_>>())];
        let sides = sides.into_iter().chain([(right, using.iter().map(|pair| pair.1).collect())]);
        for (item, used) in sides {
            let entry = &self.here().range_table[item.entry];
            for (place, column) in entry.columns.iter().enumerate() {
                if column.type_oid != 0 && !used.contains(&place) {
                    let value = self.item_column(item, 0, place, NOWHERE);
                    gathered.push(column.name.clone(), value);
                }
            }
        }
        gathered
    }

    #[allow(clippy::too_many_arguments, reason = "a join's parts, once")]
    fn finish_join(
        &mut self,
        join: JoinExpr<'t>,
        kind: JoinKind,
        [left, right]: [FromItem; 2],
        condition: Option<Expression>,
        gathered: Gathered,
        merged: &Merged,
        mut names: Vec<NameItem>,
    ) -> Result<Added> {
        let Gathered { mut columns, values } = gathered;
        let alias = join.alias();
        let name: Arc<str> =
            alias.and_then(|alias| alias.aliasname()).unwrap_or("unnamed_join").into();
        if let Some(alias) = alias {
            if alias.colnames().len() > columns.len() {
                let message = format!("column alias list for \"{name}\" has too many entries");
                return Err(fault("42P10", NOWHERE, message));
            }
            for (column, alias) in columns.iter_mut().zip(alias.colnames().iter()) {
                column.name = alias.value().unwrap_or_default().into();
            }
        }
        let place = self.here().range_table.len();
        // A column that is one of a side's is that; what is computed is the join's.
        let mapped = values.iter().enumerate().map(|(at, value)| match value.kind {
            ExpressionKind::Column(column) if column.levels == 0 => (column.entry, column.number),
            _ => (place, i16::try_from(at + 1).expect("there are at most 1,664 columns")),
        });
        let mapped: Vec<(usize, i16)> = mapped.collect();
        let kind_of_entry = EntryKind::Join(values);
        self.add_entry(Entry {
            name: name.clone(),
            columns,
            kind: kind_of_entry,
            is_lateral: false,
        });
        let whole = NameItem {
            mapped: Some(mapped),
            is_relation_visible: alias.is_some(),
            ..NameItem::of(place, name)
        };
        if let Some(using_alias) = join.join_using_alias() {
            let item = self.using_alias(using_alias, merged, &whole);
            self.no_conflict(&names, std::slice::from_ref(&item))?;
            names.push(item);
        }
        if alias.is_some() {
            names.clear();
        } else {
            names.iter_mut().for_each(|item| item.are_columns_visible = false);
        }
        names.push(whole.clone());
        let item = FromItem::Join {
            kind,
            left: Box::new(left),
            right: Box::new(right),
            condition,
            entry: place,
        };
        Ok(Added { item, names, whole })
    }

    /// `USING (..) AS alias`: the merged columns alone.
    fn using_alias(
        &mut self,
        alias: syntax::Alias<'t>,
        merged: &Merged,
        whole: &NameItem,
    ) -> NameItem {
        let count = merged.columns.len();
        let mapped = whole.mapped.as_ref().map(|mapped| mapped[..count].to_vec());
        let join = &self.here().range_table[whole.entry];
        let entry = Entry {
            name: alias.aliasname().unwrap_or_default().into(),
            columns: join.columns[..count].to_vec(),
            kind: EntryKind::Join(merged.columns.iter().map(|(_, value)| value.clone()).collect()),
            is_lateral: false,
        };
        let name = entry.name.clone();
        let place = self.add_entry(entry);
        NameItem { mapped, are_columns_visible: false, ..NameItem::of(place, name) }
    }
}

impl Gathered {
    fn push(&mut self, name: Arc<str>, value: Expression) {
        let (type_oid, typmod, collation) = (value.type_oid, value.typmod, value.collation);
        self.columns.push(EntryColumn { name, type_oid, typmod, collation });
        self.values.push(value);
    }
}
