//! Set algebra per chunk of 8,192 rows: few and many distinct sets, 64 and 1,024 activations.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use engine::query_set::{QuerySets, SetId, SetTable};
use engine::types::Slot;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ROWS: usize = 8192;

/// A column that draws from `distinct` sets, each with about `share` of the slots.
fn column(table: &SetTable, distinct: usize, share: f64, seed: u64) -> Vec<SetId> {
    let mut rng = StdRng::seed_from_u64(seed);
    let sets: Vec<SetId> = (0..distinct)
        .map(|_| {
            let slots = (0..table.slots() as u32).map(Slot);
            table.intern_slots(slots.filter(|_| rng.random_bool(share)).collect::<Vec<_>>())
        })
        .collect();
    (0..ROWS).map(|_| sets[rng.random_range(0..distinct)]).collect()
}

fn algebra(criterion: &mut Criterion) {
    for (slots, distinct, share) in [(64, 16, 0.5), (1024, 24, 0.04), (1024, 2000, 0.01)] {
        let table = SetTable::new(slots);
        let a = QuerySets::Interned(column(&table, distinct, share, 1));
        let b = column(&table, distinct, share, 2);
        let name = |what: &str| format!("{what}/{slots} slots, {distinct} sets");
        criterion.bench_function(&name("intersect_ids"), |bencher| {
            bencher.iter(|| black_box(a.intersect_ids(&b, &table)));
        });
        criterion.bench_function(&name("meet"), |bencher| {
            bencher.iter(|| black_box(a.clone().meet(&b, &table)));
        });
        criterion.bench_function(&name("expand"), |bencher| {
            bencher.iter(|| black_box(a.expand(ROWS, &table)));
        });
    }
}

criterion_group!(benches, algebra);
criterion_main!(benches);
