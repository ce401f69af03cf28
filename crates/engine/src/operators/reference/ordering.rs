//! The twins of sort, Top-N, limit.

use std::cmp::Ordering;

use super::random::Random;
use super::{Row, check};
use crate::operators::{
    Batch, Cut, DividedSort, Faults, LimitState, SortBuild, SortNode, SortRun, sort, sort_run,
};
use crate::plan::SortKey;
use crate::query_set::Tuples;
use crate::types::DataType;

fn compare(a: &Row, b: &Row, keys: &[SortKey]) -> Ordering {
    for key in keys {
        let (x, y) = (a[key.column].borrow(), b[key.column].borrow());
        let order = match (x.is_null(), y.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if key.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if key.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if key.descending => x.compare(y).reverse(),
            (false, false) => x.compare(y),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

fn cut(rows: Vec<Row>, cut: Cut) -> Vec<Row> {
    let fetch = usize::try_from(cut.fetch).unwrap_or(usize::MAX);
    rows.into_iter().skip(cut.skip as usize).take(fetch).collect()
}

fn cuts(random: &mut Random, slots: usize) -> Vec<Cut> {
    let mode = random.below(3);
    let one = |random: &mut Random| match mode {
        0 => Cut::ALL,
        1 => Cut { skip: 0, fetch: random.below(6) as u64 },
        _ => {
            let fetch = [0, 1, 3, 20, u64::MAX][random.below(5)];
            Cut { skip: random.below(4) as u64, fetch }
        }
    };
    (0..slots).map(|_| one(random)).collect()
}

#[test]
fn shared_sort_equals_alone() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let types = [random.data_type(), random.data_type(), DataType::Integer];
        let activations = random.activations(slots, &[]);
        let size = [10, 80, 400][random.below(3)];
        let relation = random.relation(&types, size, slots);
        let key = |random: &mut Random| SortKey {
            column: random.below(3),
            descending: random.chance(50),
            nulls_first: random.chance(50),
        };
        let node = SortNode { keys: (0..random.below(4)).map(|_| key(&mut random)).collect() };
        let cuts = cuts(&mut random, slots);
        let mut chunks = random.chunks(&relation, &activations.sets);
        let later = chunks.split_off(chunks.len() / 2);
        let manner = random.below(3);
        activations.with(|batch| {
            let mut faults = Faults::default();
            let mut build = |chunks: Vec<Tuples>| {
                let mut build = SortBuild::default();
                chunks.into_iter().for_each(|chunk| build.add(&node, batch, chunk, &mut faults));
                match manner {
                    0 => sort_run(&node, batch, &cuts, build, &mut faults),
                    _ => build,
                }
            };
            let builds = vec![build(chunks), build(later)];
            let output = match manner {
                2 => divided(&node, batch, &cuts, builds, &mut faults),
                _ => vec![sort(&node, batch, &cuts, builds, &mut faults)],
            };
            check(seed, batch, &output, &faults, true, |slot| {
                let mut rows = relation.of(slot);
                rows.sort_by(|a, b| compare(a, b, &node.keys));
                Ok(cut(rows, cuts[slot.index()]))
            });
        });
    }
}

/// What workers do side by side, one after the other.
fn divided(
    node: &SortNode,
    batch: &Batch<'_>,
    cuts: &[Cut],
    builds: Vec<SortBuild>,
    faults: &mut Faults,
) -> Vec<Tuples> {
    let runs = builds.into_iter().filter_map(|build| SortRun::of(node, build.chunks, batch.sets));
    let runs: Vec<SortRun> = runs.collect();
    if runs.is_empty() {
        return Vec::new();
    }
    let sort = DividedSort::new(node, batch, cuts, runs, 2, faults);
    let sort = sort.expect("there is memory");
    let stretches = sort.stretches().into_iter().map(|rows| sort.divide(rows)).collect();
    let parts = sort.parts(stretches).into_iter().map(|part| sort.sorted(cuts, part));
    let sorted = sort.cut(batch, cuts, parts.collect());
    let chunks = sorted.into_iter().map(|part| sort.take(part)).collect();
    sort.release(batch);
    chunks
}

#[test]
fn shared_limit_equals_alone() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let slots = random.slots();
        let activations = random.activations(slots, &[]);
        let relation = random.relation(&[DataType::Integer, DataType::Text], 60, slots);
        let cuts = cuts(&mut random, slots);
        let chunks = random.chunks(&relation, &activations.sets);
        activations.with(|batch| {
            let mut state = LimitState::new(cuts.clone());
            let mut output = Vec::new();
            for chunk in chunks {
                if !state.done() {
                    output.push(state.limit(batch, chunk));
                }
            }
            check(seed, batch, &output, &Faults::default(), true, |slot| {
                Ok(cut(relation.of(slot), cuts[slot.index()]))
            });
        });
    }
}
