//! Which columns of a batch's predicates get an index: Crescando's greedy optimizer (section 5.4).
//!
//! `gain(Q, a) = Σ 1 − selectivity(a, q)` is the number of activations that an index on `a` keeps from being
//! touched per row. Here indexes meet by intersection, so an activation that one index already covers still
//! gains from a second one, as far as the first lets it through: its term is weighted with the product of the
//! selectivities of what was picked before.

use super::conjunction::Conjunction;
use super::filter::KeyKind;
use super::selectivity::{filter_selectivity, kind, pattern_selectivity};
use crate::storage::TableStatistics;
use crate::types::Slot;

/// Nanoseconds to evaluate one predicate for one (row, slot) pair, with its way through the buckets.
const PAIR_COST: f64 = 6.0;

/// What an index can be over: a column's key sets or its patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attribute {
    /// The column.
    pub column: usize,
    /// Patterns rather than key sets.
    pub patterns: bool,
}

/// An attribute that was considered.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Which.
    pub attribute: Attribute,
    /// The slots with a predicate on it, and the share of rows that each lets through.
    pub slots: Vec<(Slot, f64)>,
    probe_cost: f64,
}

/// An attribute that gets an index, and why.
#[derive(Clone, Debug)]
pub struct Pick {
    /// Which.
    pub attribute: Attribute,
    /// Slots that have a predicate on it.
    pub slots: Vec<Slot>,
    /// Activations per row that need not be touched.
    pub gain: f64,
}

/// Nanoseconds to look up one row in an index over integers.
pub const INTEGER_PROBE: f64 = 2.0;

/// Nanoseconds to look up one row.
fn probe_cost(kind: Option<KeyKind>, dictionary: bool, integer_probe: f64) -> f64 {
    match kind {
        Some(KeyKind::Narrow) => integer_probe,
        Some(KeyKind::Wide) => 8.0,
        _ if dictionary => 2.0,
        Some(KeyKind::Bytes) => 12.0,
        None => 40.0,
    }
}

/// Everything that could be indexed. `dictionary` tells which columns hold codes; `integer_probe` is [`INTEGER_PROBE`], or
/// 0 where rows meet such indexes in any case.
pub fn candidates(
    slots: &[&Conjunction],
    statistics: &TableStatistics,
    dictionary: impl Fn(usize) -> bool,
    integer_probe: f64,
) -> Vec<Candidate> {
    let unknown = Default::default();
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut add = |attribute: Attribute, kind, slot, share| {
        let known = candidates.iter_mut().find(|candidate| candidate.attribute == attribute);
        match known {
            Some(candidate) => candidate.slots.push((slot, share)),
            None => candidates.push(Candidate {
                attribute,
                slots: vec![(slot, share)],
                probe_cost: probe_cost(kind, dictionary(attribute.column), integer_probe),
            }),
        }
    };
    for (slot, conjunction) in slots.iter().enumerate() {
        let slot = Slot(slot as u32);
        let statistics = |column: usize| statistics.columns.get(column).unwrap_or(&unknown);
        for (column, filter) in &conjunction.filters {
            let share = filter_selectivity(filter, statistics(*column));
            add(Attribute { column: *column, patterns: false }, Some(kind(filter)), slot, share);
        }
        let mut indexed: Vec<usize> = Vec::new();
        for (column, pattern) in &conjunction.patterns {
            // An index holds one pattern per slot; a second one on the column stays a residual.
            if !indexed.contains(column) {
                indexed.push(*column);
                let share = pattern_selectivity(pattern, statistics(*column));
                add(Attribute { column: *column, patterns: true }, None, slot, share);
            }
        }
    }
    candidates
}

/// Picks, best first, while an index saves more per row than looking it up costs.
pub fn pick(mut candidates: Vec<Candidate>, slots: usize) -> Vec<Pick> {
    let mut reach = vec![1.0f64; slots];
    let mut picks = Vec::new();
    while !candidates.is_empty() {
        let gains = candidates.iter().map(|candidate| gain(candidate, &reach)).enumerate();
        let Some((best, gain)) = gains.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        let candidate = candidates.swap_remove(best);
        let surviving = reach.iter().sum::<f64>().min(1.0);
        if gain * PAIR_COST <= surviving * candidate.probe_cost {
            continue;
        }
        for (slot, share) in &candidate.slots {
            reach[slot.index()] *= share;
        }
        let slots = candidate.slots.iter().map(|(slot, _)| *slot).collect();
        picks.push(Pick { attribute: candidate.attribute, slots, gain });
    }
    picks
}

fn gain(candidate: &Candidate, reach: &[f64]) -> f64 {
    candidate.slots.iter().map(|(slot, share)| reach[slot.index()] * (1.0 - share)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(column: usize, shares: &[(u32, f64)]) -> Candidate {
        Candidate {
            attribute: Attribute { column, patterns: false },
            slots: shares.iter().map(|&(slot, share)| (Slot(slot), share)).collect(),
            probe_cost: 2.0,
        }
    }

    #[test]
    fn the_column_that_spares_most_comes_first() {
        let candidates = vec![
            candidate(0, &[(0, 0.9), (1, 0.9)]),
            candidate(1, &[(0, 0.01), (1, 0.01), (2, 0.01)]),
        ];
        let picks = pick(candidates, 3);
        assert_eq!(picks.len(), 1, "the second column has nearly nothing left to spare");
        assert_eq!(picks[0].attribute.column, 1);
    }

    #[test]
    fn disjoint_queries_get_an_index_each() {
        let candidates =
            vec![candidate(0, &[(0, 0.1), (1, 0.1)]), candidate(1, &[(2, 0.1), (3, 0.1)])];
        assert_eq!(pick(candidates, 4).len(), 2);
    }
}
