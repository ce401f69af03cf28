//! DISTINCT and DISTINCT ON.

use syntax::{Node, Nodes};

use crate::analyzer::Analyzer;
use crate::error::{NOWHERE, Result, fault};
use crate::place::Place;
use crate::tree::{Query, SortKey, Target};

impl<'t> Analyzer<'t, '_> {
    pub(super) fn distinct_clause(
        &mut self,
        nodes: Nodes<'t>,
        targets: &mut Vec<Target>,
        query: &mut Query,
    ) -> Result<()> {
        let Some(first) = nodes.first() else { return Ok(()) };
        // DISTINCT without ON is a list with nothing in it.
        if matches!(first, Node::List(list) if list.is_empty()) {
            query.distinct = self.distinct(targets, &query.order)?;
            return Ok(());
        }
        query.is_distinct_on = true;
        query.distinct = self.distinct_on(nodes, targets, &query.order)?;
        Ok(())
    }

    fn distinct(&mut self, targets: &mut [Target], order: &[SortKey]) -> Result<Vec<SortKey>> {
        for key in order {
            if targets[key.target].is_junk {
                let at = targets[key.target].expression.location;
                let message =
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return Err(fault("42P10", at, message));
            }
        }
        let mut keys = order.to_vec();
        for place in 0..targets.len() {
            if !targets[place].is_junk {
                let at = targets[place].expression.location;
                self.add_group_key(place, targets, &mut keys, at)?;
            }
        }
        if keys.is_empty() {
            let message = "SELECT DISTINCT must have at least one column";
            return Err(fault("42601", NOWHERE, message));
        }
        Ok(keys)
    }

    fn distinct_on(
        &mut self,
        nodes: Nodes<'t>,
        targets: &mut Vec<Target>,
        order: &[SortKey],
    ) -> Result<Vec<SortKey>> {
        let mut places = Vec::new();
        for node in nodes.iter() {
            places.push(self.in_place(Place::DistinctOn, |this| this.key_by_name(node, targets))?);
        }
        let mismatch = |place: usize, targets: &[Target]| {
            let at = targets[place].expression.location;
            let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
            Err(fault("42P10", at, message))
        };
        let mut keys: Vec<SortKey> = Vec::new();
        let mut is_skipped = false;
        for key in order {
            if !places.contains(&key.target) {
                is_skipped = true;
            } else if is_skipped {
                return mismatch(key.target, targets);
            } else {
                keys.push(*key);
            }
        }
        for place in places {
            if keys.iter().any(|key| key.target == place) {
                continue;
            }
            if is_skipped {
                return mismatch(place, targets);
            }
            let at = targets[place].expression.location;
            self.add_group_key(place, targets, &mut keys, at)?;
        }
        Ok(keys)
    }

    /// DISTINCT of an aggregate: the order of its arguments.
    pub(crate) fn distinct_arguments(
        &mut self,
        targets: &[Target],
        count: usize,
        order: Vec<SortKey>,
    ) -> Result<Vec<SortKey>> {
        for key in &order {
            if key.target >= count {
                let at = targets[key.target].expression.location;
                let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                return Err(fault("42P10", at, message));
            }
        }
        let mut keys = order;
        for (place, target) in targets.iter().enumerate() {
            if keys.iter().any(|key| key.target == place) {
                continue;
            }
            let value = &target.expression;
            let key = self.equality_key(place, value.type_oid, value.location)?;
            if key.order == 0 {
                return Err(self
                    .no_order(value.type_oid, value.location)
                    .detail("Aggregates with DISTINCT must be able to sort their inputs."));
            }
            keys.push(key);
        }
        if keys.is_empty() {
            let message = "an aggregate with DISTINCT must have at least one argument";
            return Err(fault("42601", NOWHERE, message));
        }
        Ok(keys)
    }
}
