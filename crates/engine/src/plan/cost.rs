//! What an operator costs, in nanoseconds on one core, and whether a batch should share it.
//!
//! The constants are rounded from single measurements of storage and operators on a server core (a probe took 53 ns
//! in a warm cache and 870 ns in a cold one); only their proportions matter to plans. The prediction is kept beside the measured time of each heartbeat
//! (`shareddb.operators`), where a wrong constant shows.

use super::compiled::{Estimate, Operation, Operator};

/// Looking at a row in a scan.
pub const SCAN_ROW: f64 = 1.0;
/// Finding a key in an index.
pub const PROBE: f64 = 110.0;
/// Reading a row that an index named: a random access.
pub const FETCH: f64 = 40.0;
/// Numbering an inner row of an index join for the batch.
pub const REMEMBER: f64 = 10.0;
/// Finding an inner row that the batch has numbered.
pub const RECALL: f64 = 3.0;
/// A table is a star's dimension where the largest input of the joins has so many times its rows: only then numbering all
/// of its rows costs little beside the pass.
pub const DIMENSION_SHARE: f64 = 8.0;
/// Putting a row into a hash table.
pub const HASH_BUILD: f64 = 40.0;
/// Looking a row up in a hash table.
pub const HASH_PROBE: f64 = 20.0;
/// Comparing one pair of a join without keys.
pub const PAIR: f64 = 5.0;
/// Putting a row into its group.
pub const GROUP_ROW: f64 = 25.0;
/// One comparison of a sort.
pub const SORT_COMPARISON: f64 = 6.0;
/// Evaluating an expression on a row.
pub const EVALUATE: f64 = 5.0;
/// Handing a result row to one activation.
pub const ROUTE_ROW: f64 = 4.0;
/// Starting an operator: allocations, a task on a worker.
pub const START: f64 = 2_000.0;
/// What carrying query sets adds to the work on a row when several activations share an operator.
pub const SET_OVERHEAD: f64 = 1.1;

/// Whether an operator runs once for all activations of a batch or once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// f(union) is cheaper.
    Shared,
    /// The sum of f(nᵢ) is cheaper.
    Alone,
}

/// A choice and the two predictions behind it, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// What was chosen.
    pub choice: Choice,
    /// f(union) with the overhead of query sets.
    pub shared: f64,
    /// Σ f(nᵢ).
    pub alone: f64,
}

/// Nanoseconds to find `fetched` partners of `outer` rows, each by so many keys, in an index: each by a probe of its own,
/// or, where a key is unique, by numbering all `inner` rows first (a star's dimension).
pub fn index_join(outer: f64, keys: usize, inner: Option<f64>, fetched: f64) -> f64 {
    let probes = outer * keys as f64;
    let probed = probes * PROBE + fetched * FETCH;
    let recalled = |inner: f64| inner * REMEMBER + probes * RECALL + fetched * RECALL;
    inner.map_or(probed, |inner| probed.min(recalled(inner)))
}

/// Nanoseconds of one operator over so many input rows. `looked_at` are the rows of a
/// dimension that an index join reaches, 0 for other inner tables.
pub fn operator(operation: &Operation, input: f64, output: f64, looked_at: f64) -> f64 {
    let work = match operation {
        Operation::Scan { access: super::Access::Scan, .. } => input * SCAN_ROW,
        Operation::Scan { .. } => PROBE + input * FETCH,
        Operation::Values { .. } | Operation::Union | Operation::Reused { .. } => 0.0,
        Operation::Filter { .. } => input * EVALUATE,
        Operation::Project { expressions, .. } => {
            let moved = |s: &&crate::types::Scalar| !matches!(s, crate::types::Scalar::Column(_));
            input * EVALUATE * expressions.iter().filter(moved).count() as f64
        }
        Operation::IndexJoin { keys, .. } => {
            index_join(input, keys.len(), (looked_at > 0.0).then_some(looked_at), output)
        }
        Operation::HashJoin { .. } => input * HASH_PROBE + output * FETCH,
        Operation::Aggregate { aggregates, .. } => {
            input * (GROUP_ROW + EVALUATE * aggregates.len() as f64)
        }
        Operation::Distinct => input * GROUP_ROW,
        Operation::Sort { .. } => input * input.max(2.0).log2() * SORT_COMPARISON,
        Operation::Limit { .. } => output * ROUTE_ROW,
    };
    START + work
}

/// Shared or alone for a batch whose templates use a node, each with so many activations and with its own estimates of
/// one and of all of these; `None` of none.
pub fn decide(users: &[(&Operator, usize)]) -> Option<Decision> {
    let (node, _) = users.first()?;
    let activations: usize = users.iter().map(|(_, count)| count).sum();
    let one = |node: &Operator| {
        let input = node.input_estimate().rows;
        operator(&node.operation, input, node.estimate.rows, node.looked_at)
    };
    let alone = users.iter().map(|(node, count)| one(node) * *count as f64).sum();
    let input = union(users.iter().map(|(node, count)| (node.input_estimate(), *count)));
    let output = union(users.iter().map(|(node, count)| (node.estimate, *count)));
    let looked_at = users.iter().map(|(node, _)| node.looked_at).fold(0.0, f64::max);
    let all = operator(&node.operation, input, output, looked_at);
    let shared = if activations > 1 { all * SET_OVERHEAD } else { all };
    let choice = if activations > 1 && alone < shared { Choice::Alone } else { Choice::Shared };
    Some(Decision { choice, shared, alone })
}

/// Rows that somebody wants: what each template's activations want together, at most all there are.
fn union(templates: impl Iterator<Item = (Estimate, usize)>) -> f64 {
    let (rows, limit) = templates.fold((0.0, 0.0), |(rows, limit), (one, activations)| {
        let wanted = one.union(activations as f64);
        (rows + wanted, f64::max(limit, one.limit.max(wanted)))
    });
    f64::min(rows, limit)
}

impl Operator {
    /// Rows that come in: of the outer input for joins, those looked at for scans.
    pub fn input_estimate(&self) -> Estimate {
        match (&self.operation, self.inputs.first()) {
            (Operation::Union, _) | (_, None) => self.source_estimate(),
            (_, Some(first)) => first.estimate,
        }
    }

    fn source_estimate(&self) -> Estimate {
        match &self.operation {
            Operation::Scan { access: super::Access::Scan, .. } => {
                Estimate { rows: self.looked_at, limit: self.looked_at, cost: 0.0 }
            }
            _ => self.estimate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compiled::Operator;
    use super::*;
    use crate::types::NodeId;

    fn sort_over(rows: f64, limit: f64) -> Operator {
        let estimate = Estimate { rows, limit, cost: 0.0 };
        let input = Operator {
            operation: Operation::Union,
            inputs: vec![],
            types: vec![],
            estimate,
            looked_at: rows,
            node: NodeId(0),
        };
        Operator {
            operation: Operation::Sort { keys: vec![], skip: None, fetch: None },
            inputs: vec![input.clone()],
            ..input
        }
    }

    /// Sorts of so many rows, of at most so many in all, by so many activations each.
    fn decided(templates: &[(f64, f64, usize)]) -> Decision {
        let sorts: Vec<_> = templates.iter().map(|t| (sort_over(t.0, t.1), t.2)).collect();
        let users: Vec<_> = sorts.iter().map(|(sort, count)| (sort, *count)).collect();
        decide(&users).unwrap()
    }

    #[test]
    fn overlapping_inputs_are_sorted_once() {
        let decision = decided(&[(10_000.0, 12_000.0, 100)]);
        assert_eq!(decision.choice, Choice::Shared);
        assert!(decision.shared * 20.0 < decision.alone);
    }

    #[test]
    fn disjoint_inputs_are_sorted_one_by_one() {
        // n log n of the union of disjoint inputs is more than the sum (SharedDB paper, section 3.4).
        let decision = decided(&[(10_000.0, 1e9, 100)]);
        assert_eq!(decision.choice, Choice::Alone);
    }

    #[test]
    fn one_activation_shares_with_nobody() {
        let decision = decided(&[(1_000.0, 1e9, 1)]);
        assert_eq!((decision.choice, decision.shared), (Choice::Shared, decision.alone));
    }

    #[test]
    fn each_template_counts_with_what_it_wants_itself() {
        let (small, large) = ((10.0, 1e6, 50), (1e6, 1e6, 1));
        let both = decided(&[small, large]);
        assert!((both.alone - decided(&[small]).alone - decided(&[large]).alone).abs() < 1.0);
        // The large one's input has all rows of the others'.
        assert!((both.shared / decided(&[large]).shared - SET_OVERHEAD).abs() < 0.01);
        assert_eq!(decide(&[]), None);
    }
}
