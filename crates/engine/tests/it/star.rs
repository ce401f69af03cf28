//! Star queries in a batch give what each gives alone, and go over their fact table once.

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};

use engine::heartbeat::{Activation, Answer, Sharing, Template};
use engine::types::{Result, Value};

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

#[test]
fn a_star_query_goes_over_its_fact_table_once() {
    let engine = engine(Sharing::Always, 2);
    fill(engine.store(), 60_000);
    let mut numbers = Numbers(1);
    // The first three ask so much of the fact table that so few of its rows are left: a hash join is cheaper at this size.
    for (plan, parameters) in queries().into_iter().skip(3) {
        let template = engine.register(plan.clone()).expect("it is shareable");
        let (sender, receiver) = channel();
        let figures = Arc::new(OnceLock::new());
        engine.submit(Activation {
            template: template.clone(),
            parameters: parameters(&mut numbers).into(),
            snapshot: None,
            cancelled: Arc::default(),
            figures: Some(figures.clone()),
            receiver: Box::new(move |answer: Result<Answer>| {
                sender.send(answer.is_ok()).expect("it is awaited");
            }),
        });
        engine.lead(template.lane());
        assert_eq!(receiver.recv(), Ok(true), "{}", plan.text);
        let text = engine.explain(&template, figures.get());
        assert!(text.contains("one pass of 1 groupings"), "{}: {text}", plan.text);
    }
}
