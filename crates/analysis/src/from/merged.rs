//! Columns that USING or NATURAL merges.

use std::sync::Arc;

use syntax::{JoinExpr, StringValue};

use crate::analyzer::Analyzer;
use crate::call::OperatorName;
use crate::coerce::Wish;
use crate::error::{NOWHERE, Result, fault};
use crate::names::NameItem;
use crate::tree::{Expression, ExpressionKind, JoinKind};

/// What USING or NATURAL makes of two sides.
#[derive(Default)]
pub(super) struct Merged {
    /// The merged columns: names, and what they are.
    pub columns: Vec<(Arc<str>, Expression)>,
    /// That they are equal.
    pub condition: Option<Expression>,
}

impl<'t> Analyzer<'t, '_> {
    /// Places of the columns that are merged, on the left and on the right.
    pub(super) fn using_columns(
        &self,
        join: JoinExpr<'t>,
        left: &NameItem,
        right: &NameItem,
    ) -> Result<Vec<(usize, usize)>> {
        let table = &self.here().range_table;
        let columns = |item: &NameItem| {
            let columns = table[item.entry].columns.iter();
            columns.map(|column| column.name.clone()).collect::<Vec<_>>()
        };
        let (left, right) = (columns(left), columns(right));
        let names: Vec<Arc<str>> = if join.is_natural() {
            let is_shared = |name: &&Arc<str>| !name.is_empty() && right.contains(name);
            left.iter().filter(is_shared).cloned().collect()
        } else {
            join.using_clause().iter().filter_map(StringValue::value).map(Arc::from).collect()
        };
        let mut places = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                let message =
                    format!("column name \"{name}\" appears more than once in USING clause");
                return Err(fault("42701", NOWHERE, message));
            }
            places.push((found(name, &left, "left")?, found(name, &right, "right")?));
        }
        Ok(places)
    }

    /// Merged columns of a kind of join.
    pub(super) fn merge(
        &mut self,
        kind: JoinKind,
        using: &[(usize, usize)],
        left: &NameItem,
        right: &NameItem,
    ) -> Result<Merged> {
        let mut merged = Merged::default();
        let mut tests = Vec::new();
        for (left_place, right_place) in using {
            let a = self.item_column(left, 0, *left_place, NOWHERE);
            let b = self.item_column(right, 0, *right_place, NOWHERE);
            let equals = OperatorName::plain("=");
            let test = self.operate(equals, Some(a.clone()), b.clone(), NOWHERE)?;
            tests.push(self.boolean(test, "JOIN/USING")?);
            let name = self.here().range_table[left.entry].columns[*left_place].name.clone();
            merged.columns.push((name, self.merged_column(kind, a, b)?));
        }
        merged.condition =
            if tests.is_empty() { None } else { Some(Self::joined(tests, true, NOWHERE)) };
        Ok(merged)
    }

    fn merged_column(
        &mut self,
        kind: JoinKind,
        left: Expression,
        right: Expression,
    ) -> Result<Expression> {
        let common = self.common_type([&left, &right].into_iter(), "JOIN/USING")?;
        let typmod = self.common_typmod([&left, &right].into_iter(), common);
        let mut side = |value: Expression| -> Result<Expression> {
            if value.type_oid != common {
                let done = self.coerce(value, common, typmod, Wish::IMPLICIT)?;
                return self.coerce_typmod(done, common, typmod, Wish::IMPLICIT);
            }
            if value.typmod != typmod {
                return Ok(self.relabel(value, common, Wish::IMPLICIT).typmod(typmod));
            }
            Ok(value)
        };
        let (left, right) = (side(left)?, side(right)?);
        let is_column = |value: &Expression| matches!(value.kind, ExpressionKind::Column(_));
        Ok(match kind {
            JoinKind::Inner if !is_column(&left) && is_column(&right) => right,
            JoinKind::Inner | JoinKind::Left => left,
            JoinKind::Right => right,
            JoinKind::Full => {
                let collation = self.collation_of(common);
                let kind = ExpressionKind::Coalesce(vec![left, right]);
                Expression::new(kind, common, NOWHERE).typmod(typmod).collation(collation)
            }
        })
    }
}

/// The place of a column of a side.
fn found(name: &Arc<str>, columns: &[Arc<str>], side: &str) -> Result<usize> {
    let mut places = columns.iter().enumerate().filter(|(_, other)| *other == name);
    let Some((place, _)) = places.next() else {
        let message =
            format!("column \"{name}\" specified in USING clause does not exist in {side} table");
        return Err(fault("42703", NOWHERE, message));
    };
    if places.next().is_some() {
        let message =
            format!("common column name \"{name}\" appears more than once in {side} table");
        return Err(fault("42702", NOWHERE, message));
    }
    Ok(place)
}
