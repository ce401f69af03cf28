//! LIMIT, OFFSET, FETCH.

use syntax::{LimitOption, Node, SelectStmt};

use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault};
use crate::expression::distinct::is_null;
use crate::facts::oid;
use crate::place::Place;
use crate::tree::{Expression, ExpressionKind, Part};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn limit(
        &mut self,
        node: Option<Node<'t>>,
        place: Place,
        select: SelectStmt<'t>,
    ) -> Result<Option<Expression>> {
        let Some(node) = node else { return Ok(None) };
        let value = self.in_place(place, |this| this.expression(node))?;
        let value = self.of_type(value, oid::INT8, place.name())?;
        self.no_columns(&value, place.name())?;
        if place == Place::Limit && select.limit_option() == LimitOption::WithTies && is_null(node)
        {
            let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            return Err(fault("2201W", NOWHERE, message));
        }
        Ok(Some(value))
    }

    /// # Errors
    /// 42P10 where a column of this query stands in a value.
    pub(super) fn no_columns(&self, value: &Expression, clause: &str) -> Result<()> {
        match column_place(Part::Expression(value), 0) {
            Some(at) => {
                let message = format!("argument of {clause} must not contain variables");
                Err(fault("42P10", at, message))
            }
            None => Ok(()),
        }
    }
}

/// Where a column of the query stands.
fn column_place(part: Part<'_>, depth: usize) -> Option<i32> {
    let mut found = None;
    let mut look = |part: Part<'_>, depth| {
        if found.is_none() {
            found = column_place(part, depth);
        }
    };
    match part {
        Part::Expression(value) => {
            if let ExpressionKind::Column(column) = value.kind
                && column.levels == depth
            {
                return Some(value.location);
            }
            value.parts(&mut |part| look(part, depth));
        }
        Part::Query(query) => query.parts(&mut |part| look(part, depth + 1)),
    }
    found
}
