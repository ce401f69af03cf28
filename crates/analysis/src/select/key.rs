//! Which target an expression of ORDER BY, GROUP BY or DISTINCT ON means.

use syntax::{Literal, Node};

use crate::analyzer::Analyzer;
use crate::error::{Result, fault, location};
use crate::place::Place;
use crate::tree::{CastForm, Expression, ExpressionKind, Target};

/// Without the casts at its top that came by themselves.
fn without_implicit(value: &Expression) -> &Expression {
    match &value.kind {
        ExpressionKind::Cast { form: CastForm::Implicit, operand, .. } => without_implicit(operand),
        _ => value,
    }
}

impl<'t> Analyzer<'t, '_> {
    /// The place of the target that an expression means: by name, by position or as an expression.
    pub(super) fn key_by_name(
        &mut self,
        node: Node<'t>,
        targets: &mut Vec<Target>,
    ) -> Result<usize> {
        let place = self.here().place;
        if let Node::ColumnRef(column) = node
            && column.fields().len() == 1
            && let Some(Node::StringValue(name)) = column.fields().first()
        {
            let name = name.value().unwrap_or_default();
            let at = location(column.location());
            // GROUP BY names a column of FROM first.
            let is_input =
                place == Place::GroupBy && self.unqualified_column(name, true, at)?.is_some();
            if !is_input && let Some(found) = self.target_named(name, targets, at)? {
                self.check_key(&targets[found], at)?;
                return Ok(found);
            }
        }
        if let Node::AConst(constant) = node {
            let at = location(constant.location());
            let Literal::Integer(position) = constant.value() else {
                let message = format!("non-integer constant in {}", place.name());
                return Err(fault("42601", at, message));
            };
            let mut shown = (0..targets.len()).filter(|place| !targets[*place].is_junk);
            let wanted = usize::try_from(position).ok().and_then(|place| place.checked_sub(1));
            let Some(found) = wanted.and_then(|wanted| shown.nth(wanted)) else {
                let name = place.name();
                let message = format!("{name} position {position} is not in select list");
                return Err(fault("42P10", at, message));
            };
            self.check_key(&targets[found], at)?;
            return Ok(found);
        }
        self.key_by_expression(node, targets)
    }

    /// The place of the target that is the same expression; it is added where there is none.
    pub(super) fn key_by_expression(
        &mut self,
        node: Node<'t>,
        targets: &mut Vec<Target>,
    ) -> Result<usize> {
        let value = self.expression(node)?;
        let is_same = |target: &Target| *without_implicit(&target.expression) == value;
        if let Some(found) = targets.iter().position(is_same) {
            return Ok(found);
        }
        targets.push(Target { expression: value, name: "".into(), is_junk: true, column: 0 });
        Ok(targets.len() - 1)
    }

    fn target_named(&self, name: &str, targets: &[Target], at: i32) -> Result<Option<usize>> {
        let mut found: Option<usize> = None;
        for (place, target) in targets.iter().enumerate() {
            if target.is_junk || *target.name != *name {
                continue;
            }
            match found {
                Some(other) if targets[other].expression != target.expression => {
                    let clause = self.here().place.name();
                    return Err(fault("42702", at, format!("{clause} \"{name}\" is ambiguous")));
                }
                Some(_) => {}
                None => found = Some(place),
            }
        }
        Ok(found)
    }

    /// # Errors
    /// 42803, 42P20 where a target that GROUP BY names has aggregates or window functions.
    fn check_key(&self, target: &Target, at: i32) -> Result<()> {
        if self.here().place != Place::GroupBy {
            return Ok(());
        }
        if let Some(found) = Self::aggregate_within(&target.expression) {
            let at = if found >= 0 { found } else { at };
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(fault("42803", at, message));
        }
        if let Some(found) = Self::window_within(&[&target.expression]) {
            let message = "window functions are not allowed in GROUP BY";
            return Err(fault("42P20", found, message));
        }
        Ok(())
    }
}
