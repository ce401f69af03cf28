//! Rows that meet all predicates: disjunctions, HAVING, residuals of joins, any expression.
//!
//! A predicate that says the same for all activations, since it reads no parameters or they are all equal, is evaluated
//! once per row. A comparison of a column, or of an
//! expression over columns, with each activation's own constant is a look-up of the row's value among the sorted
//! constants, which gives the set of slots that want it: rows × log slots. What is left (a pattern, an expression that
//! mixes columns with parameters) is evaluated once per row and *class*, the slots with equal parameters: "query =
//! tuple". Expressions see only rows that the cheaper predicates have left, and an error is that of the slots which
//! want the row.

mod classes;
mod constants;
mod live;
mod mask;

use live::Live;

use super::kernel::agree;
use super::{Batch, Faults, Users};
use crate::query_set::{QuerySets, SetId, Tuples};
use crate::types::Predicate;

/// Rows that meet all predicates; templates that share the node bring their own.
#[derive(Clone, Debug, Default)]
pub struct FilterNode {
    /// One conjunction per variant, over the input's output columns.
    pub variants: Vec<Vec<Predicate>>,
}

/// Keeps for every slot the rows that meet its variant's predicates.
pub fn filter(
    node: &FilterNode,
    batch: &Batch<'_>,
    users: &[Users],
    tuples: Tuples,
    faults: &mut Faults,
) -> Tuples {
    if tuples.rows == 0 {
        return tuples;
    }
    if let [user] = users {
        let mut live = Live::new(tuples);
        live.restrict(user.set, batch);
        conjunction(&node.variants[user.variant], user.set, batch, &mut live, faults);
        return live.into_tuples(batch);
    }
    let sets = qualify(&node.variants, batch, users, &tuples, faults);
    tuples.with_sets(sets, batch.sets)
}

/// The slots of each row whose variant's predicates it meets, row by row: some may be empty.
pub(super) fn qualify(
    variants: &[Vec<Predicate>],
    batch: &Batch<'_>,
    users: &[Users],
    tuples: &Tuples,
    faults: &mut Faults,
) -> QuerySets {
    let mut qualified = QuerySets::Uniform(SetId::EMPTY);
    for user in users {
        let mut live = Live::new(tuples.clone());
        live.restrict(user.set, batch);
        conjunction(&variants[user.variant], user.set, batch, &mut live, faults);
        let sets = live.into_sets(tuples.rows, batch);
        qualified = match users.len() {
            1 => sets,
            _ => qualified.union(&sets, tuples.rows, batch.sets),
        };
    }
    qualified
}

/// Whether some variant has predicates at all.
pub(super) fn any_predicate(variants: &[Vec<Predicate>], users: &[Users]) -> bool {
    users.iter().any(|user| !variants[user.variant].is_empty())
}

/// Keeps the rows and slots that meet all of `predicates`, those that cannot fail first. `slots` are the
/// activations whose predicates these are.
fn conjunction(
    predicates: &[Predicate],
    slots: SetId,
    batch: &Batch<'_>,
    live: &mut Live,
    faults: &mut Faults,
) {
    let (last, first): (Vec<_>, Vec<_>) = predicates.iter().partition(|p| p.may_fail());
    for predicate in first.into_iter().chain(last) {
        if live.rows() == 0 {
            return;
        }
        one(predicate, slots, batch, live, faults);
    }
}

fn one(
    predicate: &Predicate,
    slots: SetId,
    batch: &Batch<'_>,
    live: &mut Live,
    faults: &mut Faults,
) {
    live.simplify(slots, batch);
    if let Predicate::Or(arms) = predicate {
        return disjunction(arms, slots, batch, live, faults);
    }
    let mut read = Vec::new();
    classes::parameters_of(predicate, &mut read);
    if agree(&read, slots, batch) {
        let slot = batch.sets.members(slots).next();
        if let Some(mask) = slot.map(|slot| mask::rows(predicate, slot, batch, live, faults)) {
            live.keep(&mask);
        }
        return;
    }
    if let Some(sets) = constants::sets(predicate, slots, batch, live.tuples(), faults) {
        return live.intersect(&sets, batch);
    }
    match classes::sets(predicate, slots, batch, live.tuples()) {
        Some(sets) => live.set(sets),
        None => pairs(predicate, batch, live, faults),
    }
}

/// The rows and slots that meet any arm. An arm sees only what none before it has taken.
fn disjunction(
    arms: &[Vec<Predicate>],
    slots: SetId,
    batch: &Batch<'_>,
    live: &mut Live,
    faults: &mut Faults,
) {
    let tuples = live.tuples().clone();
    let mut taken = QuerySets::Uniform(SetId::EMPTY);
    for arm in arms {
        let mut rest = Live::new(tuples.clone());
        rest.set(tuples.sets.difference(&taken, tuples.rows, batch.sets));
        conjunction(arm, slots, batch, &mut rest, faults);
        let sets = rest.into_sets(tuples.rows, batch);
        taken = taken.union(&sets, tuples.rows, batch.sets);
    }
    live.set(taken);
}

/// A predicate evaluated for every pair of a row and a slot that wants it.
fn pairs(predicate: &Predicate, batch: &Batch<'_>, live: &mut Live, faults: &mut Faults) {
    let (rows, tuples) = one_slot_each(live.tuples(), &live.tuples().sets, batch);
    let mut pairs = Live::new(tuples);
    let mask = mask::pairs(predicate, batch, &pairs, faults);
    pairs.keep(&mask);
    let kept = pairs.positions().map(|position| rows[position as usize]);
    let kept: Vec<u32> = kept.collect();
    let sets = pairs.tuples().sets.union_by(&kept, live.rows(), batch.sets);
    live.set(sets);
}

/// The rows as often as there are slots in `sets`, slot after slot: where each lies, and the rows.
fn one_slot_each(tuples: &Tuples, sets: &QuerySets, batch: &Batch<'_>) -> (Vec<u32>, Tuples) {
    let buckets = sets.expand(tuples.rows, batch.sets);
    let mut slots = Vec::with_capacity(buckets.rows.len());
    for (slot, rows) in buckets.iter() {
        slots.extend(std::iter::repeat_n(slot, rows.len()));
    }
    let nobody = Tuples { sets: QuerySets::Uniform(SetId::EMPTY), ..tuples.clone() };
    let pairs = Tuples { sets: QuerySets::Single(slots), ..nobody.take(&buckets.rows) };
    (buckets.rows, pairs)
}
