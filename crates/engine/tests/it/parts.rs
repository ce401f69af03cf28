//! Long batches of one lane's templates: each template's activations run together, apart from the others'.

use std::sync::{Arc, OnceLock};

use engine::heartbeat::{Activation, Answer, Engine, Figures, Sharing, Template};
use engine::plan::{AggregateFunction, PlanNode, TemplatePlan};
use engine::types::{Comparison, DataType, Result, Value};

use crate::bookstore::{self, ITEM, aggregate, ascending, compare, project, scan, sort, template};
use crate::waiting::HANG;

/// Enough for a sort of a third of them, eight times, to be a long batch.
const ITEMS: i32 = 150_000;

const TITLE: DataType = DataType::Varchar(60);

fn items_from() -> PlanNode {
    scan(ITEM, vec![compare(6, Comparison::Greater, 0)])
}

fn first_titles() -> TemplatePlan {
    let root = sort(items_from(), vec![ascending(1), ascending(0)], Some(20));
    let root = project(root, &[(0, DataType::Integer), (1, TITLE)]);
    let output = [("i_id", DataType::Integer), ("i_title", TITLE)];
    template(root, &output, &[DataType::Integer], "the first titles of related items from $1 on")
}

fn items_by_subject() -> TemplatePlan {
    let root = PlanNode::Aggregate {
        input: Box::new(items_from()),
        keys: vec![3],
        aggregates: vec![aggregate(AggregateFunction::Count, None, DataType::BigInt)],
    };
    let root = sort(root, vec![ascending(0)], None);
    let output = [("i_subject", TITLE), ("count", DataType::BigInt)];
    template(root, &output, &[DataType::Integer], "items by subject of related items from $1 on")
}

type Asked = (Arc<Template>, i32, Sharing);
type Answered = (Result<Vec<Vec<Value>>>, usize);

/// What each gets, and with how many requests it ran.
fn run(engine: &Engine, asked: &[Asked]) -> Vec<Answered> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut places: Vec<Arc<OnceLock<Figures>>> = Vec::new();
    for (position, (template, from, sharing)) in asked.iter().enumerate() {
        let (place, sender) = (Arc::new(OnceLock::new()), sender.clone());
        places.push(place.clone());
        engine.submit(Activation {
            template: template.clone(),
            parameters: vec![Value::Integer(*from)].into(),
            snapshot: None,
            sharing: *sharing,
            deadline: None,
            cancelled: Arc::default(),
            figures: Some(place),
            receiver: Box::new(move |answer: Result<Answer>| {
                let rows = answer.map(|answer| bookstore::rows(&answer));
                sender.send((position, rows)).expect("it is awaited");
            }),
        });
    }
    engine.lead(asked[0].0.lane());
    let mut answers: Vec<Option<Answered>> = vec![None; asked.len()];
    for _ in asked {
        let (position, rows) = receiver.recv_timeout(HANG).expect("every one answers");
        let figures = places[position].get().expect("they come before the answer");
        answers[position] = Some((rows, figures.requests));
    }
    answers.into_iter().map(|answer| answer.expect("each answered once")).collect()
}

fn asked(engine: &Engine) -> Vec<Asked> {
    let plans = [first_titles(), items_by_subject()];
    let templates = plans.map(|plan| engine.register(plan).expect("it is shareable"));
    assert_eq!(templates[0].lane(), templates[1].lane(), "they share a scan");
    (0..8).map(|i| (templates[i % 2].clone(), i as i32 * 1_000, engine.sharing())).collect()
}

#[test]
fn long_batches_are_of_one_template_and_answer_as_alone() {
    let [parts, alone] = [Sharing::Automatic, Sharing::Never].map(|sharing| {
        let engine = bookstore::engine(sharing, 2);
        bookstore::fill(engine.store(), ITEMS, 10);
        engine
    });
    let got = run(&parts, &asked(&parts));
    let expected = run(&alone, &asked(&alone));
    for (number, ((rows, requests), (expected, _))) in got.iter().zip(&expected).enumerate() {
        assert_eq!(rows, expected, "activation {number}");
        assert_eq!(*requests, 4, "activation {number}");
    }
}

#[test]
fn short_batches_are_of_all_templates() {
    let engine = bookstore::engine(Sharing::Automatic, 2);
    bookstore::fill(engine.store(), 2_000, 10);
    let got = run(&engine, &asked(&engine));
    assert!(got.iter().all(|(_, requests)| *requests == 8), "{got:?}");
}

/// Whoever waits with somebody who shares in another way shares as if that one were not there.
fn share_as_they_ask_to(items: i32) {
    // Workers that have answered one run may still stand by the lane and take the next one's first before all are there.
    let [engine, other] = [(); 2].map(|()| {
        let engine = bookstore::engine(Sharing::Automatic, 2);
        bookstore::fill(engine.store(), items, 10);
        engine
    });
    let mut asked = asked(&engine);
    let expected = run(&other, &self::asked(&other));
    let ways = [Sharing::Never, Sharing::Always, Sharing::Always, Sharing::Automatic];
    asked.iter_mut().zip(ways.iter().cycle()).for_each(|(asked, way)| asked.2 = *way);
    let got = run(&engine, &asked);
    for (number, ((rows, requests), (expected, _))) in got.iter().zip(&expected).enumerate() {
        assert_eq!(rows, expected, "activation {number}");
        let together = [1, 4, 4, 2][number % 4];
        assert_eq!(*requests, together, "activation {number}");
    }
}

#[test]
fn each_shares_as_it_asks_to() {
    share_as_they_ask_to(2_000);
}

#[test]
fn each_shares_as_it_asks_to_in_long_batches() {
    share_as_they_ask_to(ITEMS);
}
