//! Predicates that say the same for slots with equal parameters: evaluated once per row and such class.

use hashbrown::HashMap;

use super::live::Live;
use super::{mask, one_slot_each};
use crate::operators::Batch;
use crate::operators::kernel::parameters_read;
use crate::query_set::{QuerySets, Renumbering, SetId, Tuples, words};
use crate::types::{Predicate, Scalar, Slot, Value};

/// Who wants each row, by this predicate and the rows' own sets; `None` where all parameters differ or an evaluation
/// fails: whose error that is shows slot by slot.
pub fn sets(
    predicate: &Predicate,
    slots: SetId,
    batch: &Batch<'_>,
    tuples: &Tuples,
) -> Option<QuerySets> {
    let classes = Classes::new(predicate, slots, batch)?;
    let sets = tuples.sets.renumber(tuples.rows, batch.sets, batch.sets, &classes.first);
    let (rows, pairs) = one_slot_each(tuples, &sets, batch);
    let mut pairs = Live::new(pairs);
    let mask = mask::try_pairs(predicate, batch, &pairs).ok()?;
    pairs.keep(&mask);
    let QuerySets::Single(kept) = &pairs.tuples().sets else { unreachable!("a slot per pair") };
    let width = batch.sets.word_count();
    let mut passed = vec![0; tuples.rows * width];
    for (position, slot) in pairs.positions().zip(kept) {
        let row = rows[position as usize] as usize;
        let members = batch.sets.words(classes.members[slot]);
        words::union_into(&mut passed[row * width..][..width], members);
    }
    let passed = QuerySets::Bitmaps { words_per_row: width, words: passed };
    Some(tuples.sets.intersect(&passed, tuples.rows, batch.sets))
}

/// Slots by equal parameters, as far as a predicate reads them.
struct Classes {
    /// The first slot of each one's class; slots outside stay as they are.
    first: Renumbering,
    members: HashMap<Slot, SetId>,
}

impl Classes {
    /// `None` where every slot is a class of its own.
    fn new(predicate: &Predicate, slots: SetId, batch: &Batch<'_>) -> Option<Classes> {
        let mut read = Vec::new();
        parameters_of(predicate, &mut read);
        // As text, values are equal bit for bit.
        let mut classes: HashMap<String, Vec<Slot>> = HashMap::new();
        batch.sets.for_each(slots, |slot| {
            let values = read.iter().map(|&i| &batch.parameters[slot.index()][i]);
            let key = format!("{:?}", values.collect::<Vec<&Value>>());
            classes.entry(key).or_default().push(slot);
        });
        if classes.len() == batch.sets.cardinality(slots) {
            return None;
        }
        let mut first: Vec<Slot> = (0..batch.sets.slots() as u32).map(Slot).collect();
        let mut members = HashMap::new();
        for class in classes.into_values() {
            class.iter().for_each(|slot| first[slot.index()] = class[0]);
            members.insert(class[0], batch.sets.intern_slots(class));
        }
        Some(Classes { first: Renumbering::onto(first), members })
    }
}

/// The parameters that a predicate reads.
pub fn parameters_of(predicate: &Predicate, read: &mut Vec<usize>) {
    let mut scalar = |scalar: &Scalar| read.extend_from_slice(parameters_read(scalar));
    match predicate {
        Predicate::Compare { value, .. } | Predicate::Like { pattern: value, .. } => scalar(value),
        Predicate::In { values, .. } => values.iter().for_each(scalar),
        Predicate::IsNull { .. } => {}
        Predicate::Or(arms) => arms.iter().flatten().for_each(|arm| parameters_of(arm, read)),
        Predicate::Expression(expression) => read.extend_from_slice(expression.parameters()),
    }
}
