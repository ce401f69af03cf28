//! The order of inner joins on the query-at-a-time path: left-deep, cheapest first, each by a hash table over its smaller
//! side.
//!
//! Called by `sql::alone`, which joins so, and by [`query_at_a_time`](super::query_at_a_time), which prices it. There are no
//! indexes and no batches there, so that all it takes is how many rows each relation gives and how selective the keys are.

/// Graphs of more relations than this are ordered greedily: the table of subsets would not pay.
const EXHAUSTIVE: usize = 10;
/// Relations that a set of them has a bit for.
const MOST: usize = 64;
/// The statement's order stays unless another one costs less than this share of it: estimates are not better than that.
const WORTH: f64 = 0.9;
/// The share of pairs that a condition other than equal keys leaves.
const CONDITION: f64 = 1.0 / 3.0;
/// Columns that are taken from one join to the next, where nobody has counted.
const CARRIED: f64 = 4.0;

/// Putting a row into a join's hash table.
const BUILD: f64 = 45.0;
/// Looking a row up there.
const LOOK_UP: f64 = 20.0;
/// Following one chain of a hash table to a partner.
const PARTNER: f64 = 20.0;
/// The same in a hash table that no cache holds.
const FAR_PARTNER: f64 = 250.0;
/// Rows of a hash table up to which a cache holds it.
pub(super) const NEAR: f64 = 250_000.0;
/// Copying a value of a row from one operator to the next.
pub(super) const CARRY: f64 = 3.0;

/// Relations in an inner join, by number; sets of them are bits.
#[derive(Debug)]
pub struct HashJoins {
    rows: Vec<f64>,
    /// The share of pairs that have equal keys, by the relations that these are of.
    keys: Vec<(u64, f64)>,
    conditions: Vec<u64>,
}

impl HashJoins {
    /// Relations of so many rows; keys of relations with how many values they have, on the side that has more; what else
    /// relations must meet together.
    pub fn new(rows: Vec<f64>, keys: &[(u64, f64)], conditions: Vec<u64>) -> HashJoins {
        let mut sets: Vec<u64> = keys.iter().map(|(relations, _)| *relations).collect();
        sets.sort_unstable();
        sets.dedup();
        let share = |set: u64| {
            let values = keys.iter().filter(|key| key.0 == set).map(|key| key.1);
            let (all, largest) = values.fold((1.0, 1.0f64), |(a, l), v| (a * v, l.max(v)));
            let fewest = members(set).map(|relation| rows[relation]).fold(f64::INFINITY, f64::min);
            // Keys of several columns have no more values than the smaller relation has rows.
            (set, 1.0 / f64::min(all, fewest.max(largest)))
        };
        let keys = sets.into_iter().map(share).collect();
        HashJoins { rows, keys, conditions }
    }

    /// The cheapest order, if it costs a good deal less than the statement's joins, each given by its sides.
    pub fn better_than(&self, statement: &[(u64, u64)]) -> Option<Vec<usize>> {
        let count = self.rows.len();
        if !(3..=MOST).contains(&count) {
            return None;
        }
        let order = if count <= EXHAUSTIVE { self.exhaustive() } else { self.greedy() };
        let cost = |joins: &[(u64, u64)]| -> f64 {
            joins.iter().map(|(left, right)| self.cost(*left, *right, CARRIED)).sum()
        };
        (cost(&left_deep(&order)) < WORTH * cost(statement)).then_some(order)
    }

    /// Rows of some relations joined.
    pub fn rows(&self, relations: u64) -> f64 {
        let within = |set: &u64| set & !relations == 0;
        let conditions = self.conditions.iter().filter(|set| within(set)).count();
        let keys = self.keys.iter().filter(|(set, _)| within(set)).map(|(_, share)| share);
        let rows: f64 = members(relations).map(|relation| self.rows[relation]).product();
        rows * keys.product::<f64>() * CONDITION.powi(conditions as i32)
    }

    /// Conditions that can be asked of this join's pairs and of no input's rows.
    pub fn asked(&self, left: u64, right: u64) -> impl Iterator<Item = usize> + '_ {
        let new =
            move |set: u64| set & !(left | right) == 0 && set & !left != 0 && set & !right != 0;
        (0..self.conditions.len()).filter(move |at| new(self.conditions[*at]))
    }

    /// Nanoseconds of one join that puts out so many columns.
    pub fn cost(&self, left: u64, right: u64, carried: f64) -> f64 {
        let asked = self.asked(left, right).count();
        let pairs = self.rows(left | right) / CONDITION.powi(asked as i32);
        match self.is_connected(left, right) {
            true => hash_join(self.rows(left), self.rows(right), pairs, carried),
            false => pairs * CARRY * carried,
        }
    }

    fn is_connected(&self, left: u64, right: u64) -> bool {
        let meets = |set: u64| set & !(left | right) == 0 && set & left != 0 && set & right != 0;
        self.keys.iter().any(|(set, _)| meets(*set))
    }

    /// Relations that have keys in common with those joined so far; all others where none has.
    fn next(&self, joined: u64) -> Vec<usize> {
        let others: Vec<usize> =
            (0..self.rows.len()).filter(|relation| joined >> relation & 1 == 0).collect();
        let near = |relation: &usize| self.is_connected(joined, 1 << relation);
        let near: Vec<usize> = others.iter().copied().filter(near).collect();
        if near.is_empty() { others } else { near }
    }

    fn exhaustive(&self) -> Vec<usize> {
        let count = self.rows.len();
        let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![None; 1 << count];
        (0..count).for_each(|relation| best[1 << relation] = Some((0.0, vec![relation])));
        for joined in 1..best.len() {
            let Some((cost, order)) = best[joined].clone() else { continue };
            for relation in self.next(joined as u64) {
                let cost = cost + self.cost(joined as u64, 1 << relation, CARRIED);
                let place = &mut best[joined | 1 << relation];
                if place.as_ref().is_none_or(|other| cost < other.0) {
                    let order = order.iter().copied().chain([relation]).collect();
                    *place = Some((cost, order));
                }
            }
        }
        best.pop().flatten().expect("some order joins all").1
    }

    fn greedy(&self) -> Vec<usize> {
        let fewest = |a: &usize, b: &usize| self.rows[*a].total_cmp(&self.rows[*b]);
        let mut order: Vec<usize> = (0..self.rows.len()).min_by(fewest).into_iter().collect();
        while order.len() < self.rows.len() {
            let joined = order.iter().fold(0, |set, relation| set | 1 << relation);
            let cost = |relation: &usize| self.cost(joined, 1 << relation, CARRIED);
            let next = self.next(joined).into_iter();
            order.extend(next.min_by(|a, b| cost(a).total_cmp(&cost(b))));
        }
        order
    }
}

/// Nanoseconds of a join of so many rows with so many by a hash table over the fewer.
pub(super) fn hash_join(left: f64, right: f64, pairs: f64, carried: f64) -> f64 {
    let (build, probe) = (left.min(right), left.max(right));
    let partner = if build > NEAR { FAR_PARTNER } else { PARTNER };
    build * BUILD + probe * LOOK_UP + pairs * (partner + CARRY * carried)
}

/// The joins of an order, each by its sides.
pub(super) fn left_deep(order: &[usize]) -> Vec<(u64, u64)> {
    let mut joined = 0;
    let mut joins = Vec::with_capacity(order.len());
    for relation in order {
        joins.push((joined, 1 << relation));
        joined |= 1 << relation;
    }
    joins.split_off(1.min(joins.len()))
}

fn members(relations: u64) -> impl Iterator<Item = usize> {
    (0..MOST).filter(move |relation| relations >> relation & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fact table and its dimensions, which have so many rows after their predicates, and values of the key.
    fn star(fact: f64, dimensions: &[(f64, f64)]) -> HashJoins {
        let rows = std::iter::once(fact).chain(dimensions.iter().map(|d| d.0)).collect();
        let keys = dimensions.iter().enumerate().map(|(i, d)| (1 | 2 << i, d.1));
        HashJoins::new(rows, &keys.collect::<Vec<_>>(), Vec::new())
    }

    #[test]
    fn the_most_selective_dimension_comes_first() {
        let joins = star(6e6, &[(1e4, 1e4), (25.0, 2e5), (2.5e3, 2.5e3)]);
        let order = joins.better_than(&left_deep(&[0, 1, 2, 3])).expect("a better one");
        assert_eq!(order[..2], [0, 2]);
    }

    #[test]
    fn a_good_order_stays() {
        let joins = star(6e6, &[(25.0, 2e5), (1e4, 1e4), (2.5e3, 2.5e3)]);
        assert_eq!(joins.better_than(&left_deep(&[0, 1, 3, 2])), None);
        assert_eq!(joins.better_than(&left_deep(&[1, 0, 3, 2])), None);
    }

    #[test]
    fn relations_without_a_common_key_are_not_joined_early() {
        let chain = HashJoins::new(vec![10.0, 1e6, 20.0], &[(3, 10.0), (6, 20.0)], Vec::new());
        let order = chain.better_than(&[(1, 4), (5, 2)]);
        assert_eq!(order, None, "the cross join of two small relations is cheap");
        let large = HashJoins::new(vec![1e4, 1e6, 2e4], &[(3, 1e4), (6, 2e4)], Vec::new());
        let order = large.better_than(&[(1, 4), (5, 2)]).expect("no cross join");
        assert_ne!((order[0], order[1]), (0, 2));
        assert_ne!((order[0], order[1]), (2, 0));
    }

    #[test]
    fn keys_of_two_columns_count_once() {
        let joins = HashJoins::new(vec![6e6, 8e5], &[(3, 2e5), (3, 1e4)], Vec::new());
        assert_eq!(joins.rows(3).round(), 6e6);
    }

    #[test]
    fn many_relations_are_ordered_greedily() {
        let dimensions: Vec<(f64, f64)> = (1..=11).map(|i| (f64::from(i) * 10.0, 1e3)).collect();
        let joins = star(1e6, &dimensions);
        let statement: Vec<usize> = std::iter::once(0).chain((1..=11).rev()).collect();
        let order = joins.better_than(&left_deep(&statement)).expect("a better one");
        let mut all = order.clone();
        all.sort_unstable();
        assert_eq!(all, (0..12).collect::<Vec<_>>());
        assert_eq!(order[..3], [1, 0, 2]);
    }
}
