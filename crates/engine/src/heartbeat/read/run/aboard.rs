//! Dimensions that newcomers on a ring take over from a generation aboard: where each of them asks of a dimension what somebody
//! aboard asks, and no commit between the two snapshots touched it, its rows are not read again.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;

use super::super::probe_chain::Views;
use super::super::ring::{Rider, StarPass};
use super::super::star::PreparedDimension;
use super::{Run, Shared};
use crate::operators::Dimension;
use crate::query_set::SetId;
use crate::scan::TableAccess;
use crate::types::{Predicate, Result, Scalar, Slot, Value};

/// What a dimension's rows are asked for.
pub(super) struct Asking<'a> {
    /// The star's position in its lane.
    pub star: usize,
    /// The dimension's position in the star, which leads to no other.
    pub position: usize,
    /// Who asks.
    pub users: SetId,
    /// Who takes part in the star and does not join the dimension.
    pub passing: SetId,
    /// Who rides already.
    pub aboard: &'a [Arc<Rider>],
}

impl Run<'_> {
    /// The dimension as some generation aboard has it; `None` where none has all that is asked.
    pub(super) fn taken_over(&mut self, asking: &Asking<'_>) -> Result<Option<Dimension>> {
        if asking.aboard.is_empty() || asking.users == SetId::EMPTY {
            return Ok(None);
        }
        let shared = self.shared.clone();
        let prepared = &shared.lane.stars.stars[asking.star].dimensions[asking.position];
        let Some(asked) = asked(&shared, prepared, asking.users) else { return Ok(None) };
        let view = self.views.view(prepared.table)?;
        let Some(changed) = view.table().last_change(view.version()) else { return Ok(None) };
        let parameters = shared.parameters();
        let batch = shared.batch(&parameters);
        let passes = asking.aboard.iter().map(|rider| rider.pass());
        let dimension = passes.filter(|pass| pass.is_of(&shared, asking.star)).find_map(|pass| {
            let dimension = pass.star.dimension(asking.position);
            if dimension.last_change() != Some(changed) {
                return None;
            }
            let slots = matched(pass, prepared, &asked)?;
            dimension.translated(&pass.shared.sets, &batch, &slots, asking.passing)
        });
        Ok(dimension)
    }
}

impl StarPass {
    /// Whether it is the same star of the same lane.
    fn is_of(&self, shared: &Shared, star: usize) -> bool {
        Arc::ptr_eq(&self.shared.lane, &shared.lane) && self.number == star
    }
}

/// Pairs of a slot aboard and one that asks the same; `None` where a slot finds nobody.
fn matched(
    pass: &StarPass,
    prepared: &PreparedDimension,
    asked_here: &BTreeMap<Slot, String>,
) -> Option<Vec<(Slot, Slot)>> {
    let there = asked(&pass.shared, prepared, pass.shared.sets.all())?;
    let there: HashMap<&str, Slot> = there.iter().map(|(slot, text)| (&text[..], *slot)).collect();
    asked_here.iter().map(|(slot, text)| Some((*there.get(&text[..])?, *slot))).collect()
}

/// What each of `users` asks of a dimension, with its parameters' values: equal texts want the same rows. `None` where
/// somebody asks what has no such text.
fn asked(
    shared: &Shared,
    dimension: &PreparedDimension,
    users: SetId,
) -> Option<BTreeMap<Slot, String>> {
    let mut texts = BTreeMap::<Slot, String>::new();
    for (node, variants) in &dimension.joins {
        for own in &shared.users[*node] {
            for slot in shared.sets.members(shared.sets.intersect(own.set, users)) {
                let text = texts.entry(slot).or_default();
                write_access(text, &variants[own.variant], &shared.slots[slot.index()].parameters)?;
            }
        }
    }
    Some(texts)
}

fn write_access(text: &mut String, access: &TableAccess, parameters: &[Value]) -> Option<()> {
    text.push(';');
    access.predicates.iter().try_for_each(|predicate| write_predicate(text, predicate, parameters))
}

fn write_predicate(text: &mut String, predicate: &Predicate, parameters: &[Value]) -> Option<()> {
    let value = |scalar: &'_ Scalar| match scalar {
        Scalar::Parameter(position) => Some(format!("{:?}", parameters[*position])),
        Scalar::Literal(value) => Some(format!("{value:?}")),
        Scalar::Column(_) | Scalar::Expression(_) => None,
    };
    let written = match predicate {
        Predicate::Compare { column, comparison, value: own } => {
            write!(text, "{column} {comparison:?} {},", value(own)?)
        }
        Predicate::In { column, values, negated } => {
            let values: Option<Vec<String>> = values.iter().map(value).collect();
            write!(text, "{column} in {negated} {:?},", values?)
        }
        Predicate::IsNull { column, negated } => write!(text, "{column} null {negated},"),
        Predicate::Or(arms) => {
            for arm in arms {
                text.push('(');
                arm.iter().try_for_each(|own| write_predicate(text, own, parameters))?;
                text.push(')');
            }
            Ok(())
        }
        Predicate::Like { .. } | Predicate::Expression(_) => return None,
    };
    written.expect("a string takes any text");
    Some(())
}
