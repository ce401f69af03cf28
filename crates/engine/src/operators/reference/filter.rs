//! Filter's twin.

use super::random::Random;
use super::{Activations, Row, check};
use crate::operators::{Faults, FilterNode, Users, filter};
use crate::query_set::SetId;
use crate::transaction::{Evaluation, Parameters};
use crate::types::{DataType, Predicate, Result, Slot, SqlState, Value};

/// The rows that meet all predicates.
pub fn filtered(
    rows: Vec<Row>,
    types: &[DataType],
    predicates: &[Predicate],
    parameters: Parameters<'_>,
) -> Result<Vec<Row>> {
    let mut kept = Vec::new();
    for row in rows {
        if (Evaluation { row: row.as_slice(), types, parameters }).all(predicates)? {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// The slots in groups, one per variant.
pub fn users(random: &mut Random, activations: &Activations, variants: usize) -> Vec<Users> {
    let slots: Vec<Slot> = activations.slots().collect();
    let mut sets = vec![Vec::new(); variants];
    slots.iter().for_each(|&slot| sets[random.below(variants)].push(slot));
    let user = |(variant, slots): (usize, Vec<Slot>)| Users {
        variant,
        set: activations.sets.intern_slots(slots),
    };
    let users = sets.into_iter().enumerate().map(user);
    users.filter(|user| user.set != SetId::EMPTY).collect()
}

/// The variant that a slot uses.
pub fn variant(activations: &Activations, users: &[Users], slot: Slot) -> usize {
    let own = users.iter().find(|user| activations.sets.contains(user.set, slot));
    own.expect("every slot uses one").variant
}

/// The parameters of a slot.
pub fn parameters(activations: &Activations, slot: Slot) -> Parameters<'_> {
    let values: &[Value] = &activations.parameters[slot.index()];
    Parameters { values, types: &activations.types }
}

#[test]
fn shared_filter_equals_alone() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let types = [DataType::Integer, random.data_type(), DataType::Text, random.data_type()];
        let parameter_types = [DataType::Integer, types[1], DataType::Text];
        let activations = random.activations(slots, &parameter_types);
        let relation = random.relation(&types, 60, slots);
        let variants = 1 + random.below(3);
        let predicates = |random: &mut Random| random.predicates(3, &types, &parameter_types);
        let node =
            FilterNode { variants: (0..variants).map(|_| predicates(&mut random)).collect() };
        let users = users(&mut random, &activations, variants);
        let chunks = random.chunks(&relation, &activations.sets);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let run = |tuples| filter(&node, batch, &users, tuples, &mut faults);
            let output: Vec<_> = chunks.into_iter().map(run).collect();
            check_filter(seed, batch, &output, &mut faults, |slot| {
                let predicates = &node.variants[variant(&activations, &users, slot)];
                let rows = relation.of(slot);
                filtered(rows, &types, predicates, parameters(&activations, slot))
            });
        });
    }
}

/// SQL leaves the order of conjuncts open: where the twin meets an error that the operator's order avoids, or
/// the other way round, only the other slots are compared.
fn check_filter(
    seed: u64,
    batch: &crate::operators::Batch<'_>,
    output: &[crate::query_set::Tuples],
    faults: &mut Faults,
    alone: impl Fn(Slot) -> Result<Vec<Row>>,
) {
    let got = super::answers(batch, output);
    check(seed, batch, output, &Faults::default(), false, |slot| match alone(slot) {
        Ok(rows) if !faults.contains(slot) => Ok(rows),
        Ok(_) => {
            let error = faults.iter().find(|(faulted, _)| *faulted == slot).map(|(_, e)| e.state);
            assert_eq!(error, Some(SqlState::DivisionByZero), "seed {seed}, slot {slot}");
            Ok(got[slot.index()].clone())
        }
        Err(error) => {
            assert_eq!(error.state, SqlState::DivisionByZero, "seed {seed}, slot {slot}");
            Ok(got[slot.index()].clone())
        }
    });
}
