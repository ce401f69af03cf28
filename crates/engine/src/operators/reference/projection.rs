//! The twins of project, values, restrict.

use super::filter::parameters;
use super::product::product;
use super::random::Random;
use super::{Activations, Row, check};
use crate::operators::{Faults, ProjectNode, ValuesNode, project, restrict, values};
use crate::transaction::Evaluation;
use crate::types::{DataType, Result, Scalar, Slot};

fn projected(
    rows: &[Row],
    types: &[DataType],
    scalars: &[Scalar],
    activations: &Activations,
    slot: Slot,
) -> Result<Vec<Row>> {
    let parameters = parameters(activations, slot);
    let compute = |row: &Row| {
        let evaluation = Evaluation { row: row.as_slice(), types, parameters };
        scalars.iter().map(|scalar| evaluation.scalar(scalar)).collect()
    };
    rows.iter().map(compute).collect()
}

fn scalar(
    random: &mut Random,
    types: &[DataType],
    parameters: &[DataType],
    own: bool,
) -> (Scalar, DataType) {
    match random.below(4) {
        0 if own => {
            let parameter = random.below(parameters.len());
            (Scalar::Parameter(parameter), parameters[parameter])
        }
        1 => {
            let data_type = random.data_type();
            (Scalar::Literal(random.value(data_type)), data_type)
        }
        2 => {
            let parameters = if own { parameters } else { &[] };
            let expression = match random.chance(50) {
                true => random.quotient(types, parameters, DataType::Integer),
                false => product(random, types, parameters),
            };
            (Scalar::Expression(expression), DataType::Integer)
        }
        _ if types.is_empty() => (Scalar::Literal(random.value(DataType::Text)), DataType::Text),
        _ => {
            let column = random.below(types.len());
            (Scalar::Column(column), types[column])
        }
    }
}

#[test]
fn shared_projection_equals_alone() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let types = [DataType::Integer, random.data_type(), random.data_type()];
        let parameter_types = [DataType::Integer, random.data_type()];
        let activations = random.activations(slots, &parameter_types);
        let relation = random.relation(&types, 50, slots);
        let own = random.chance(50);
        let scalars = 0..1 + random.below(4);
        let (expressions, output_types) =
            scalars.map(|_| scalar(&mut random, &types, &parameter_types, own)).unzip();
        let node = ProjectNode { expressions, types: output_types };
        let chunks = random.chunks(&relation, &activations.sets);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let run = |tuples| project(&node, batch, tuples, &mut faults);
            let output: Vec<_> = chunks.into_iter().map(run).collect();
            check(seed, batch, &output, &faults, false, |slot| {
                projected(&relation.of(slot), &types, &node.expressions, &activations, slot)
            });
        });
    }
}

#[test]
fn shared_values_equal_alone() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let parameter_types = [DataType::Integer, random.data_type()];
        let activations = random.activations(slots, &parameter_types);
        let own = random.chance(60);
        let columns = random.below(3);
        let literal = |random: &mut Random, data_type| match own && random.chance(50) {
            true => Scalar::Expression(random.quotient(&[], &parameter_types, data_type)),
            false => Scalar::Literal(random.value(data_type)),
        };
        let row = |random: &mut Random| {
            (0..columns).map(|_| literal(random, DataType::Integer)).collect()
        };
        let rows: Vec<Vec<Scalar>> = (0..random.below(4)).map(|_| row(&mut random)).collect();
        let node = ValuesNode { rows, types: vec![DataType::Integer; columns] };
        activations.with(|batch| {
            let mut faults = Faults::default();
            let output = values(&node, batch, batch.sets.all(), &mut faults);
            check(seed, batch, &[output], &faults, true, |slot| {
                let nothing = [Row::new()];
                let bind = |row: &Vec<Scalar>| projected(&nothing, &[], row, &activations, slot);
                let rows: Result<Vec<Vec<Row>>> = node.rows.iter().map(bind).collect();
                Ok(rows?.into_iter().flatten().collect())
            });
        });
    }
}

#[test]
fn restriction_takes_the_other_slots_away() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let activations = random.activations(slots, &[]);
        let relation = random.relation(&[DataType::Integer], 40, slots);
        let kept: Vec<Slot> = activations.slots().filter(|_| random.chance(50)).collect();
        let chunks = random.chunks(&relation, &activations.sets);
        activations.with(|batch| {
            let set = batch.sets.intern_slots(kept.iter().copied());
            let output: Vec<_> = chunks.into_iter().map(|t| restrict(batch, set, t)).collect();
            let some = |tuples: &crate::query_set::Tuples| {
                (0..tuples.rows).all(|row| !tuples.sets.row(row).is_empty())
            };
            assert!(output.iter().all(some), "seed {seed}");
            check(seed, batch, &output, &Faults::default(), true, |slot| {
                Ok(if kept.contains(&slot) { relation.of(slot) } else { Vec::new() })
            });
        });
    }
}
