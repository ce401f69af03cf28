//! Star queries in a batch give what each gives alone, and go over their fact table once.

use std::sync::Arc;

use engine::heartbeat::{Sharing, Template};
use engine::types::Value;

use crate::bookstore::{engine, run};
use crate::star_schema::{Numbers, fill, queries};

#[test]
fn a_batch_of_star_queries_equals_each_alone() {
    let engine = engine(Sharing::Always, 2);
    fill(engine.store(), 60_000);
    let queries = queries();
    let templates: Vec<Arc<Template>> = queries
        .iter()
        .map(|(plan, _)| engine.register(plan.clone()).expect("it is shareable"))
        .collect();
    for seed in [1, 2] {
        let mut numbers = Numbers(seed);
        let request = |i: usize| {
            let place = i % queries.len();
            (templates[place].clone(), queries[place].1(&mut numbers))
        };
        let requests: Vec<(Arc<Template>, Vec<Value>)> = (0..200).map(request).collect();
        let together = run(&engine, requests.clone());
        let mut found = 0;
        for (request, together) in requests.iter().zip(together) {
            let together = together.expect("it succeeds");
            let alone = run(&engine, vec![request.clone()]).remove(0).expect("it succeeds");
            assert_eq!(together, alone, "seed {seed}: {:?}", request.1);
            found += together.len();
        }
        assert!(found > 1000, "seed {seed}: only {found} groups");
    }
}
