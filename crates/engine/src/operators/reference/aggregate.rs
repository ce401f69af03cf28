//! The twin of grouping and distinct.

use std::slice::from_ref;

use super::filter::parameters;
use super::product::product;
use super::random::Random;
use super::{Activations, Row, check, fault, same};
use crate::operators::{Faults, GroupBuild, GroupNode, Groups};
use crate::plan::{Aggregate, AggregateFunction};
use crate::transaction::Evaluation;
use crate::types::{DataType, Result, Scalar, Slot, SqlState, Value};

pub fn grouped(
    rows: &[Row],
    types: &[DataType],
    node: &GroupNode,
    activations: &Activations,
    slot: Slot,
) -> Result<Vec<Row>> {
    let mut groups: Vec<(Row, Vec<Row>)> = Vec::new();
    if node.keys.is_empty() {
        groups.push((Vec::new(), Vec::new()));
    }
    for row in rows {
        let key: Row = node.keys.iter().map(|&key| row[key].clone()).collect();
        match groups.iter_mut().find(|(other, _)| same(other, &key)) {
            Some((_, members)) => members.push(row.clone()),
            None => groups.push((key, vec![row.clone()])),
        }
    }
    let mut output = Vec::new();
    for (mut key, members) in groups {
        for aggregate in &node.aggregates {
            key.push(aggregated(aggregate, &members, types, activations, slot)?);
        }
        output.push(key);
    }
    Ok(output)
}

fn aggregated(
    aggregate: &Aggregate,
    rows: &[Row],
    types: &[DataType],
    activations: &Activations,
    slot: Slot,
) -> Result<Value> {
    let parameters = parameters(activations, slot);
    let mut values: Vec<Value> = Vec::new();
    for row in rows {
        let evaluation = Evaluation { row: row.as_slice(), types, parameters };
        if let Some(filter) = &aggregate.filter
            && evaluation.condition(&**filter)? != Some(true)
        {
            continue;
        }
        let value = match &aggregate.argument {
            Some(argument) => evaluation.scalar(argument)?,
            None => Value::Boolean(true),
        };
        let known = values.iter().any(|other| same(from_ref(other), from_ref(&value)));
        if !(value.is_null() || aggregate.distinct && known) {
            values.push(value);
        }
    }
    let order = |a: &&Value, b: &&Value| a.borrow().compare(b.borrow());
    match aggregate.function {
        AggregateFunction::Count => Ok(Value::BigInt(values.len() as i64)),
        _ if values.is_empty() => Ok(Value::Null),
        AggregateFunction::Min => Ok(values.iter().min_by(order).expect("some").clone()),
        AggregateFunction::Max => Ok(values.iter().max_by(order).expect("some").clone()),
        AggregateFunction::Sum => sum(&values, aggregate.data_type, 1),
        AggregateFunction::Average => sum(&values, aggregate.data_type, values.len() as i128),
    }
}

fn sum(values: &[Value], data_type: DataType, divisor: i128) -> Result<Value> {
    let float = |value: &Value| match value {
        Value::Real(v) => f64::from(*v),
        Value::Double(v) => *v,
        other => unreachable!("{other:?}"),
    };
    let digits = |value: &Value| match value {
        Value::SmallInt(v) => (i128::from(*v), 0),
        Value::Integer(v) => (i128::from(*v), 0),
        Value::BigInt(v) => (i128::from(*v), 0),
        Value::Numeric(v, scale) => (*v, *scale),
        other => unreachable!("{other:?}"),
    };
    match data_type {
        DataType::Double => {
            Ok(Value::Double(values.iter().map(float).sum::<f64>() / divisor as f64))
        }
        DataType::Real => {
            Ok(Value::Real((values.iter().map(float).sum::<f64>() / divisor as f64) as f32))
        }
        DataType::BigInt => {
            let sum: i128 = values.iter().map(|v| digits(v).0).sum();
            let sum = i64::try_from(sum).map_err(|_| fault(SqlState::NumericOutOfRange))?;
            Ok(Value::BigInt(sum))
        }
        DataType::Numeric { scale, .. } => {
            let sum: i128 =
                values.iter().map(digits).map(|(v, s)| v * 10i128.pow(u32::from(scale - s))).sum();
            let (quotient, rest) = (sum / divisor, (sum % divisor).abs());
            let away = if 2 * rest >= divisor { sum.signum() } else { 0 };
            Ok(Value::Numeric(quotient + away, scale))
        }
        other => unreachable!("no sum is {other}"),
    }
}

/// A random aggregate over a column of `types`, or over a product of all that are integers.
pub fn aggregate(random: &mut Random, types: &[DataType], parameters: &[DataType]) -> Aggregate {
    use AggregateFunction::*;
    let column = random.below(types.len());
    let own = if random.chance(50) { parameters } else { &[] };
    let (argument, argument_type) = match random.chance(20) {
        true => (Scalar::Expression(product(random, types, own)), DataType::Integer),
        false => (Scalar::Column(column), types[column]),
    };
    let function = [Count, Sum, Min, Max, Average][random.below(5)];
    let (function, data_type) = match (function, argument_type) {
        (Count, _) => (Count, DataType::BigInt),
        (Min | Max, data_type) => (function, data_type),
        (Sum, DataType::SmallInt | DataType::Integer) => (Sum, DataType::BigInt),
        (Sum, DataType::BigInt) => (Sum, DataType::Numeric { precision: 38, scale: 0 }),
        (Sum, DataType::Numeric { scale, .. }) => (Sum, DataType::Numeric { precision: 38, scale }),
        (Sum, DataType::Real) => (Sum, DataType::Real),
        (Sum | Average, DataType::Double) => (function, DataType::Double),
        (Average, DataType::Real) => (Average, DataType::Double),
        (
            Average,
            DataType::SmallInt | DataType::Integer | DataType::BigInt | DataType::Numeric { .. },
        ) => (Average, DataType::Numeric { precision: 38, scale: 6 }),
        (Sum | Average, data_type) => (Max, data_type),
    };
    let argument = match function {
        Count if random.chance(40) => None,
        _ => Some(argument),
    };
    let filter = random.chance(25);
    Aggregate {
        function,
        distinct: argument.is_some() && random.chance(25),
        argument,
        filter: filter.then(|| random.quotient(types, own, DataType::Boolean)),
        data_type,
    }
}

/// The workers' parts of each partition; without keys there is only one.
fn by_partition(
    node: &GroupNode,
    builds: Vec<GroupBuild>,
    partitions: usize,
) -> Vec<Vec<GroupBuild>> {
    if partitions == 1 {
        return vec![builds];
    }
    let cut: Vec<_> = builds.into_iter().map(|build| build.partition(node, partitions)).collect();
    let mut by_partition: Vec<Vec<GroupBuild>> = (0..partitions).map(|_| Vec::new()).collect();
    for own in cut {
        by_partition.iter_mut().zip(own).for_each(|(all, own)| all.push(own));
    }
    by_partition
}

#[test]
fn shared_grouping_equals_alone() {
    let mut folds = 0;
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let types = [random.data_type(), random.data_type(), DataType::Integer, random.data_type()];
        let parameter_types = [DataType::Integer];
        let activations = random.activations(slots, &parameter_types);
        let size = [5, 60, 300][random.below(3)];
        let relation = random.relation(&types, size, slots);
        let keys = [vec![], vec![2], vec![0], vec![0, 1], vec![3, 2, 1]][random.below(5)].clone();
        let aggregates = 0..random.below(4) + usize::from(keys.is_empty());
        let aggregates =
            aggregates.map(|_| aggregate(&mut random, &types, &parameter_types)).collect();
        let node = GroupNode { keys, determinants: Vec::new(), aggregates };
        let chunks = random.chunks(&relation, &activations.sets);
        let (workers, parts) = (1 + random.below(3), 1 + random.below(3));
        let hold = [0, 3, 20, usize::MAX][random.below(4)];
        let partitions = 1 + random.below(3);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let build = |_| GroupBuild::holding(hold);
            let mut builds: Vec<GroupBuild> = (0..workers).map(build).collect();
            for (i, chunk) in chunks.into_iter().enumerate() {
                builds[i % workers].add(&node, batch, chunk, &mut faults);
            }
            folds += builds.iter().filter(|build| build.is_folded()).count();
            let partitions = if node.keys.is_empty() { 1 } else { partitions };
            let all = batch.sets.all();
            let mut output = Vec::new();
            for builds in by_partition(&node, builds, partitions) {
                let groups = Groups::merge(&node, batch, builds, &mut faults);
                let part = |part| groups.finish(&node, batch, all, (part, parts), &mut faults);
                output.extend((0..parts).map(part));
            }
            check(seed, batch, &output, &faults, false, |slot| {
                grouped(&relation.of(slot), &types, &node, &activations, slot)
            });
        });
    }
    assert!(folds > 20, "{folds} parts were folded");
}

#[test]
fn shared_distinct_equals_alone() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let types = [random.data_type(), random.data_type()];
        let activations = random.activations(slots, &[]);
        let relation = random.relation(&types, 100, slots);
        let node = GroupNode::distinct(types.len());
        let chunks = random.chunks(&relation, &activations.sets);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let mut build = GroupBuild::default();
            chunks.into_iter().for_each(|chunk| build.add(&node, batch, chunk, &mut faults));
            let groups = Groups::merge(&node, batch, vec![build], &mut faults);
            let output = groups.finish(&node, batch, batch.sets.all(), (0, 1), &mut faults);
            check(seed, batch, &[output], &faults, false, |slot| {
                grouped(&relation.of(slot), &types, &node, &activations, slot)
            });
        });
    }
}
