//! The joins' twin: nested loops.

use std::sync::Arc;

use super::filter::{filtered, parameters, users, variant};
use super::random::Random;
use super::{Row, check};
use crate::operators::{
    Batch, CutRows, Division, Faults, HashJoinNode, JoinBuild, JoinProbe, JoinRun, JoinTable,
    Partition,
};
use crate::plan::JoinKind;
use crate::query_set::Tuples;
use crate::types::{DataType, Result, Value};

const KINDS: [JoinKind; 6] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::Semi,
    JoinKind::Anti,
];

/// All pairs that `matches` says yes to, and what the kind keeps besides.
pub fn joined(
    kind: JoinKind,
    left: &[Row],
    right: &[Row],
    widths: (usize, usize),
    matches: &dyn Fn(&Row) -> Result<bool>,
) -> Result<Vec<Row>> {
    let nulls = |width: usize| vec![Value::Null; width];
    let (mut output, mut found_right) = (Vec::new(), vec![false; right.len()]);
    for l in left {
        let mut found = false;
        for (r, found_right) in right.iter().zip(&mut found_right) {
            let pair: Row = l.iter().chain(r).cloned().collect();
            if matches(&pair)? {
                (found, *found_right) = (true, true);
                if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    output.push(pair);
                }
            }
        }
        match kind {
            JoinKind::Left | JoinKind::Full if !found => {
                output.push(l.iter().cloned().chain(nulls(widths.1)).collect());
            }
            JoinKind::Semi if found => output.push(l.clone()),
            JoinKind::Anti if !found => output.push(l.clone()),
            _ => {}
        }
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        let lonely = right.iter().zip(found_right).filter(|(_, found)| !found);
        output.extend(lonely.map(|(r, _)| nulls(widths.0).into_iter().chain(r.clone()).collect()));
    }
    Ok(output)
}

/// What the heartbeat does with many rows, on one thread.
fn by_partitions(
    node: &HashJoinNode,
    batch: &Batch<'_>,
    builds: Vec<JoinBuild>,
    faults: &mut Faults,
) -> JoinTable {
    if node.keys.is_empty() {
        return JoinTable::merge(node, batch, builds, faults);
    }
    let runs =
        builds.into_iter().map(|build| node.rows(build.into_chunks(node, batch), batch.sets));
    let runs: Vec<Tuples> = runs.collect();
    let keys: Vec<JoinRun> = runs.iter().map(|rows| JoinRun::of(node, rows)).collect();
    let rows = Arc::new(node.rows(runs, batch.sets));
    let partitions = Division::of(&keys, 2).into_iter().find_map(|division| {
        let runs = keys.iter().map(|run| run.cut(&division)).collect();
        let cut = CutRows { division, rows: rows.clone(), runs };
        let of = |number| Partition::of(node, &cut, number, batch.sets.slots());
        (0..cut.division.partitions()).map(of).collect::<Option<Vec<Partition>>>()
    });
    let partitions = partitions.expect("any keys can be cut by their hashes");
    JoinTable::of_partitions(node, batch, rows, partitions, faults)
}

#[test]
fn shared_hash_join_equals_alone() {
    for seed in 0..800 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let key = random.data_type();
        // Keys of two integers go their own way.
        let second = [DataType::Text, DataType::Integer][random.below(2)];
        let key = if second == DataType::Integer { DataType::BigInt } else { key };
        let left_types = [key, second, DataType::Integer];
        let right_types = [second, key];
        let types: Vec<DataType> = left_types.iter().chain(&right_types).copied().collect();
        let parameter_types = [second, key];
        let activations = random.activations(slots, &parameter_types);
        let left = random.relation(&left_types, 40, slots);
        let right = random.relation(&right_types, 40, slots);
        let keys = [vec![(0, 1)], vec![(0, 1), (1, 0)], vec![]][random.below(3)].clone();
        let variants = 1 + random.below(2);
        // No expressions: which pairs they see, and so who fails, is each plan's own affair.
        let residual = |random: &mut Random| {
            let predicates = random.predicates(2, &types, &parameter_types);
            predicates.into_iter().filter(|p| !super::random::may_fail(p)).collect()
        };
        let residuals = (0..variants).map(|_| residual(&mut random)).collect();
        let node = HashJoinNode {
            kind: KINDS[random.below(6)],
            residuals,
            keys,
            left_types: left_types.to_vec(),
            right_types: right_types.to_vec(),
        };
        let users = users(&mut random, &activations, variants);
        let most = [0, 7, 100, usize::MAX][random.below(4)];
        let left_chunks = random.chunks(&left, &activations.sets);
        let right_chunks = random.chunks(&right, &activations.sets);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let mut builds = vec![JoinBuild::default(), JoinBuild::default()];
            for (i, chunk) in right_chunks.into_iter().enumerate() {
                builds[i % 2].add(&node, batch, chunk, &mut faults);
            }
            let table = match random.below(2) {
                0 => JoinTable::merge(&node, batch, builds, &mut faults),
                _ => by_partitions(&node, batch, builds, &mut faults),
            };
            let mut probes = vec![JoinProbe::default(), JoinProbe::default()];
            let mut output = Vec::new();
            for (i, chunk) in left_chunks.into_iter().enumerate() {
                let probe = &mut probes[i % 2];
                let all = std::iter::once(0..chunk.rows as u32).collect();
                let pieces = table.pieces(&node, batch, &users, &chunk, most).unwrap_or(all);
                for piece in pieces {
                    let piece = chunk.take(&piece.collect::<Vec<_>>());
                    output.push(table.probe(&node, batch, &users, probe, piece, &mut faults));
                }
            }
            output.extend(table.unmatched(&node, batch, probes));
            check(seed, batch, &output, &faults, false, |slot| {
                let residual = &node.residuals[variant(&activations, &users, slot)];
                let matches = |pair: &Row| {
                    let equal = node.keys.iter().all(|&(l, r)| {
                        let (l, r) = (&pair[l], &pair[left_types.len() + r]);
                        !l.is_null() && !r.is_null() && l.borrow().compare(r.borrow()).is_eq()
                    });
                    let parameters = parameters(&activations, slot);
                    let kept = filtered(vec![pair.clone()], &types, residual, parameters)?;
                    Ok(equal && !kept.is_empty())
                };
                let widths = (left_types.len(), right_types.len());
                joined(node.kind, &left.of(slot), &right.of(slot), widths, &matches)
            });
        });
    }
}
