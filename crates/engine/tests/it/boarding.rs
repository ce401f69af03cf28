//! Star queries get on a pass that is under way, and give what each gives alone at its snapshot: whatever is changed,
//! cancelled or fails meanwhile.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array};
use engine::heartbeat::{Activation, Answer, Engine, EngineOptions, Figures, Sharing, Template};
use engine::storage::{Snapshot, Store};
use engine::types::{DataType, Error, Expression, Location, Result, SqlState, Value, Version};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::bookstore::{options, rows};
use crate::clock::{self, SteppedClock};
use crate::hook::Hook;
use crate::star_schema::{
    LINEORDER, Numbers, Query, SUPPLIER, fill, queries, revenue_of_quantities, yearly,
};
use crate::waiting::HANG;

/// 25 chunks.
const FACTS: i32 = 200_000;

type Rows = Vec<Vec<Value>>;
/// Revenue for those who are lucky.
#[derive(Debug)]
struct Fails {
    panics: bool,
}

impl Expression for Fails {
    fn columns(&self) -> &[usize] {
        &[8]
    }

    fn parameters(&self) -> &[usize] {
        &[]
    }

    fn data_type(&self) -> DataType {
        DataType::Integer
    }

    fn evaluate(&self, columns: &[ArrayRef], _: &[ArrayRef], _: usize) -> Result<ArrayRef> {
        let values = columns[0].as_primitive::<Int32Type>().values();
        // Some block has such a row, most have.
        if values.iter().any(|value| value % 1000 == 7) {
            assert!(!self.panics, "a test's expression panics");
            return Err(Error::new(SqlState::DivisionByZero, "division by zero"));
        }
        Ok(Arc::new(Int32Array::from(values.to_vec())))
    }

    fn text(&self) -> &str {
        if self.panics { "panics(revenue)" } else { "fails(revenue)" }
    }
}

/// Queries that are stars at this size; the last one asks for quantities, by which alone it has no predicate index.
fn stars() -> Vec<Query> {
    let few = queries().into_iter().skip(3);
    few.chain([revenue_of_quantities()]).collect()
}

/// [`stars`].
const STARS: usize = 11;

/// An activation on its way.
struct Pending {
    template: Arc<Template>,
    parameters: Vec<Value>,
    cancelled: Arc<AtomicBool>,
    figures: Arc<OnceLock<Figures>>,
    answer: Receiver<Result<Rows>>,
}

/// Star queries over tables that change.
struct Shop {
    engine: Arc<Engine>,
    /// Passes take no time but what a test lets pass.
    clock: Arc<SteppedClock>,
    hook: Arc<Hook>,
    hooked: Arc<Template>,
    templates: Vec<Arc<Template>>,
    /// Every version from the first on, kept.
    snapshots: Mutex<HashMap<Version, Snapshot>>,
}

impl Shop {
    fn new(workers: usize) -> Arc<Shop> {
        Shop::of(options(Sharing::Always, workers))
    }

    fn of(options: EngineOptions) -> Arc<Shop> {
        let (engine, clock) = clock::engine(options);
        fill(engine.store(), FACTS);
        let hook = Arc::<Hook>::default();
        let register = |(plan, _)| engine.register(plan).expect("it is shareable");
        let shop = Shop {
            clock,
            hooked: engine.register(yearly(hook.clone())).expect("it is shareable"),
            templates: stars().into_iter().map(register).collect(),
            hook,
            snapshots: Mutex::default(),
            engine,
        };
        shop.keep();
        Arc::new(shop)
    }

    fn store(&self) -> &Arc<Store> {
        self.engine.store()
    }

    fn keep(&self) {
        let snapshot = self.store().snapshot();
        self.snapshots.lock().insert(snapshot.version(), snapshot);
    }

    fn submit(
        &self,
        template: &Arc<Template>,
        parameters: Vec<Value>,
        snapshot: Option<Snapshot>,
    ) -> Pending {
        let (sender, answer) = channel();
        let (cancelled, figures) = (Arc::<AtomicBool>::default(), Arc::default());
        self.engine.submit(Activation {
            template: template.clone(),
            parameters: parameters.clone().into(),
            snapshot,
            sharing: self.engine.sharing(),
            deadline: None,
            cancelled: cancelled.clone(),
            figures: Some(Arc::clone(&figures)),
            receiver: Box::new(move |answer: Result<Answer>| {
                // A client that has gone hears nothing.
                let _ = sender.send(answer.map(|answer| rows(&answer)));
            }),
        });
        self.engine.lead(template.lane());
        Pending { template: template.clone(), parameters, cancelled, figures, answer }
    }

    /// With one worker; whether newcomers get on, and what a batch may take.
    fn limited(boarding: bool, memory_limit: usize) -> Arc<Shop> {
        let limited = EngineOptions { boarding, memory_limit, ..options(Sharing::Always, 1) };
        Shop::of(limited)
    }

    /// So long as makes the rest of a pass worth not being waited for, and more than pays for those who got on before.
    fn dawdle(&self) {
        self.clock.pass(Duration::from_millis(400));
    }

    fn query(&self, number: usize, numbers: &mut Numbers) -> Pending {
        let place = number % self.templates.len();
        let parameters = stars()[place].1(numbers);
        self.submit(&self.templates[place], parameters, None)
    }

    /// One pass; the script is run each time when two chunks of all rows have been added up.
    fn pass(&self, mut script: Box<dyn FnMut(usize) + Send>) -> Pending {
        self.hook.run(Box::new(move |call| {
            script(call);
            Ok(())
        }));
        self.submit(&self.hooked, vec![], None)
    }

    /// Compares an answer with that of the same statement alone at the same snapshot.
    fn check(&self, pending: &Pending) -> Rows {
        let answer = pending.answer().expect("it succeeds");
        self.compare(pending, &answer);
        answer
    }

    fn compare(&self, pending: &Pending, answer: &Rows) {
        let version = pending.figures.get().expect("figures come before the answer").version;
        let snapshot = self.snapshots.lock()[&version].clone();
        self.hook.rest();
        let alone = self.submit(&pending.template, pending.parameters.clone(), Some(snapshot));
        assert_eq!(alone.answer().as_ref(), Ok(answer), "{:?}", pending.parameters);
        assert!(!alone.has_boarded());
    }

    /// Changes rows: of the fact table other revenues, and some rows less and some more; of a dimension the regions.
    fn change(&self, random: &mut StdRng, facts: usize, suppliers: usize) {
        let version = self.store().published().next();
        let newest = self.store().snapshot();
        let fact = self.store().table(LINEORDER).expect("it is there");
        let view = fact.view(newest.version());
        for _ in 0..facts {
            let (chunk, _) = view.chunks()[random.random_range(0..view.chunks().len())];
            let offset = random.random_range(0..view.chunk(chunk).rows() as u32);
            if !view.chunk(chunk).is_visible(newest.version(), offset) {
                continue;
            }
            let location = Location { chunk, offset };
            let (id, mut row) = (view.row_id(location), view.row(location));
            let lives = |newest: (Location, Version, Version)| {
                newest.0 == location && newest.2 == Version(u64::MAX)
            };
            if !fact.newest(id).is_some_and(lives) {
                continue;
            }
            row[8] = Value::Integer(random.random_range(0..1_000_000));
            match random.random_range(0..4) {
                0 => fact.delete(id, version),
                1 => drop(fact.insert(&row, version)),
                _ => fact.update(id, &row, version),
            }
        }
        let supplier = self.store().table(SUPPLIER).expect("it is there");
        let view = supplier.view(newest.version());
        for _ in 0..suppliers {
            let keys = supplier.live_rows() as i64;
            let key = Value::Integer(random.random_range(1..=keys) as i32);
            let mut found = Vec::new();
            view.probe(&supplier.indexes()[0], &[key.borrow()], &mut found);
            let id = view.row_id(found[0]);
            if supplier.newest(id).map(|n| n.0) == Some(found[0]) {
                let mut row = view.row(found[0]);
                row[3] = Value::Text(format!("REGION{}", random.random_range(0..5)).into());
                supplier.update(id, &row, version);
            }
        }
        drop(newest);
        self.store().publish(version);
        self.keep();
    }
}

impl Pending {
    fn answer(&self) -> Result<Rows> {
        self.answer.recv_timeout(HANG).expect("it answers")
    }

    fn state(&self) -> std::result::Result<Rows, SqlState> {
        self.answer().map_err(|error| error.state)
    }

    fn has_boarded(&self) -> bool {
        self.figures.get().is_some_and(|figures| figures.boarding.is_some())
    }
}

fn joined(pending: &Pending) -> (usize, usize) {
    let figures = pending.figures.get().expect("figures come before the answer");
    let boarding = figures.boarding.expect("it got on a pass under way");
    assert!(boarding.at > 0.0 && boarding.at < 1.0, "{}", boarding.at);
    (figures.requests, boarding.others)
}

#[test]
fn who_comes_in_the_middle_of_a_pass_gets_on_and_reads_its_own_snapshot() {
    let shop = Shop::new(1);
    let late = Arc::new(Mutex::new(Vec::new()));
    let (own, pending) = (shop.clone(), late.clone());
    let mut random = StdRng::seed_from_u64(5);
    let mut numbers = Numbers(5);
    let first = shop.pass(Box::new(move |call| {
        if call == 2 || call == 6 {
            own.change(&mut random, 3000, 20);
            let queries = (0..STARS).map(|query| own.query(query, &mut numbers));
            pending.lock().push(queries.collect::<Vec<_>>());
            own.dawdle();
        }
    }));
    let sums = shop.check(&first);
    assert!(!first.has_boarded());
    let late = std::mem::take(&mut *late.lock());
    let mut found = 0;
    for (others, queries) in [1, 2].into_iter().zip(&late) {
        for pending in queries {
            found += shop.check(pending).len();
            assert_eq!(joined(pending), (STARS, others));
        }
    }
    assert!(found > 100, "only {found} groups");
    // What was changed meanwhile matters, and the first one did not see it.
    let again = shop.submit(&shop.hooked, vec![], None);
    assert_ne!(shop.check(&again), sums);
}

/// How many dimensions a pass has taken over.
fn taken_over(pending: &Pending) -> usize {
    let figures = pending.figures.get().expect("figures come before the answer");
    let accesses = figures.operators.iter().filter_map(|own| own.access.as_deref());
    let mut said = accesses.flat_map(|access| access.split("; "));
    let count = said.find_map(|said| said.strip_suffix(" dimensions as batches aboard have them"));
    count.map_or(0, |count| count.parse().expect("a number"))
}

/// Two generations that get on one after the other with the same questions, the second one after so many changes of
/// suppliers and with fewer queries, so that its slots have other numbers.
fn alike(shop: &Arc<Shop>, suppliers: usize) -> Vec<Vec<Pending>> {
    let late = Arc::new(Mutex::new(Vec::new()));
    let (own, pending) = (shop.clone(), late.clone());
    let mut random = StdRng::seed_from_u64(suppliers as u64);
    let first = shop.pass(Box::new(move |call| {
        if call == 2 || call == 6 {
            let is_second = call == 6;
            own.change(&mut random, 1000, if is_second { suppliers } else { 0 });
            let mut numbers = Numbers(5);
            let queries = stars().into_iter().zip(&own.templates);
            let asked = queries.map(|((_, parameters), own)| (own, parameters(&mut numbers)));
            let asked: Vec<_> = asked.skip(usize::from(is_second)).collect();
            let submit = |(template, parameters)| own.submit(template, parameters, None);
            pending.lock().push(asked.into_iter().map(submit).collect());
            own.dawdle();
        }
    }));
    shop.check(&first);
    std::mem::take(&mut *late.lock())
}

#[test]
fn who_asks_of_dimensions_what_others_aboard_ask_takes_theirs_over() {
    let shop = Shop::new(1);
    // A change of the fact table leaves all four dimensions as they were, one of the suppliers three.
    for (suppliers, expected) in [(0, 4), (20, 3)] {
        // On a busy machine getting on may take so long that it does not pay.
        let found = (0..5).find_map(|_| {
            let generations = alike(&shop, suppliers);
            let queries = generations.iter().flatten();
            assert!(queries.map(|pending| shop.check(pending).len()).sum::<usize>() > 100);
            let figures = generations[1][0].figures.get().expect("it was answered");
            let got_on = figures.boarding.is_some_and(|boarding| boarding.others == 2);
            got_on.then(|| [taken_over(&generations[0][0]), taken_over(&generations[1][0])])
        });
        assert_eq!(found, Some([0, expected]));
    }
}

#[test]
fn a_lone_query_gets_on_with_predicates_of_its_own_on_the_fact_table() {
    let shop = Shop::new(1);
    for query in 0..STARS {
        let late = Arc::new(Mutex::new(None));
        let (own, pending) = (shop.clone(), late.clone());
        let first = shop.pass(Box::new(move |call| {
            if call == 3 {
                *pending.lock() = Some(own.query(query, &mut Numbers(query as u64)));
                own.dawdle();
            }
        }));
        shop.check(&first);
        let pending = late.lock().take().expect("the script was run");
        shop.check(&pending);
        assert_eq!(joined(&pending), (1, 1));
    }
}

#[test]
fn cancels_and_faults_on_a_shared_pass_are_their_own() {
    let shop = Shop::new(1);
    let fails = shop.engine.register(yearly(Arc::new(Fails { panics: false })));
    let fails = fails.expect("it is shareable");
    let late = Arc::new(Mutex::new(Vec::new()));
    let (own, pending) = (shop.clone(), late.clone());
    let mut numbers = Numbers(11);
    let first = shop.pass(Box::new(move |call| match call {
        2 => {
            // Alone in its generation, and cancelled on the way.
            pending.lock().push(own.query(7, &mut numbers));
            own.dawdle();
        }
        6 => {
            pending.lock()[0].cancelled.store(true, Ordering::Relaxed);
            let queries = (0..STARS).map(|query| own.query(query, &mut numbers));
            pending.lock().extend(queries.collect::<Vec<_>>());
            pending.lock().push(own.submit(&fails, vec![], None));
            own.dawdle();
        }
        8 => pending.lock()[4].cancelled.store(true, Ordering::Relaxed),
        _ => {}
    }));
    shop.check(&first);
    let late = std::mem::take(&mut *late.lock());
    assert_eq!(late[0].state(), Err(SqlState::QueryCanceled));
    assert_eq!(late[4].state(), Err(SqlState::QueryCanceled));
    assert_eq!(late[STARS + 1].state(), Err(SqlState::DivisionByZero));
    for pending in
        late[1..=STARS].iter().filter(|pending| !pending.cancelled.load(Ordering::Relaxed))
    {
        shop.check(pending);
        assert_eq!(joined(pending), (STARS + 1, 2));
    }
}

#[test]
fn the_pass_goes_on_for_others_when_who_began_it_is_cancelled() {
    let shop = Shop::new(1);
    let late = Arc::new(Mutex::new(Vec::new()));
    let flag = Arc::new(OnceLock::<Arc<AtomicBool>>::new());
    let (own, pending, first_flag) = (shop.clone(), late.clone(), flag.clone());
    let first = shop.pass(Box::new(move |call| match call {
        3 => {
            let queries = (0..STARS).map(|query| own.query(query, &mut Numbers(3)));
            pending.lock().extend(queries);
            own.dawdle();
        }
        5 => first_flag.wait().store(true, Ordering::Relaxed),
        _ => assert!(call < 8, "nobody waits for the sums any more"),
    }));
    flag.set(first.cancelled.clone()).expect("it is set once");
    assert_eq!(first.state(), Err(SqlState::QueryCanceled));
    for pending in late.lock().iter() {
        shop.check(pending);
        assert_eq!(joined(pending), (STARS, 1));
    }
}

#[test]
fn a_panic_on_a_shared_pass_is_traced_to_who_causes_it() {
    let shop = Shop::new(2);
    let panics = shop.engine.register(yearly(Arc::new(Fails { panics: true })));
    let panics = panics.expect("it is shareable");
    let late = Arc::new(Mutex::new(Vec::new()));
    let (own, pending) = (shop.clone(), late.clone());
    let first = shop.pass(Box::new(move |call| {
        if call == 3 {
            let queries = (0..5).map(|query| own.query(query, &mut Numbers(3)));
            pending.lock().extend(queries);
            pending.lock().push(own.submit(&panics, vec![], None));
            own.dawdle();
        }
    }));
    shop.check(&first);
    let guilty = late.lock().pop().expect("the script was run");
    assert_eq!(guilty.state(), Err(SqlState::InternalError));
    for pending in late.lock().iter() {
        shop.check(pending);
    }
}

#[test]
fn who_cannot_get_on_is_answered_by_the_next_pass() {
    let shop = Shop::new(1);
    let late = Arc::new(Mutex::new(Vec::new()));
    let (own, pending) = (shop.clone(), late.clone());
    let mut random = StdRng::seed_from_u64(9);
    let first = shop.pass(Box::new(move |call| {
        if call == 3 {
            let old = own.store().snapshot();
            own.change(&mut random, 1000, 5);
            // It brings its own snapshot; the other one waits with it.
            let parameters = stars()[6].1(&mut Numbers(4));
            pending.lock().push(own.submit(&own.templates[6], parameters, Some(old)));
            pending.lock().push(own.query(6, &mut Numbers(4)));
            own.dawdle();
        }
    }));
    shop.check(&first);
    for pending in late.lock().iter() {
        shop.check(pending);
        assert!(!pending.has_boarded());
    }
}

#[test]
fn without_boarding_everybody_waits_for_the_next_pass() {
    let shop = Shop::limited(false, 1 << 30);
    let late = Arc::new(Mutex::new(Vec::new()));
    let (own, pending) = (shop.clone(), late.clone());
    let first = shop.pass(Box::new(move |call| {
        if call == 3 {
            pending.lock().push(own.query(6, &mut Numbers(4)));
            own.dawdle();
        }
    }));
    shop.check(&first);
    for pending in late.lock().iter() {
        shop.check(pending);
        assert!(!pending.has_boarded());
    }
}

#[test]
fn newcomers_without_memory_for_all_are_answered_in_halves() {
    let shop = Shop::limited(true, 5 << 19);
    let late = Arc::new(Mutex::new(Vec::new()));
    let (own, pending) = (shop.clone(), late.clone());
    let mut numbers = Numbers(4);
    let first = shop.pass(Box::new(move |call| {
        if call == 3 {
            let queries = (0..400).map(|_| own.query(0, &mut numbers));
            pending.lock().extend(queries.collect::<Vec<_>>());
            own.dawdle();
        }
    }));
    shop.check(&first);
    let late = std::mem::take(&mut *late.lock());
    for pending in &late {
        shop.check(pending);
        let figures = pending.figures.get().expect("figures come before the answer");
        assert!(figures.requests < late.len(), "all of them together need more");
    }
    // All of it was given back.
    let again = shop.submit(&shop.hooked, vec![], None);
    shop.check(&again);
}

/// Queries, changes and cancels at random moments of passes that never end.
#[test]
fn random_interleavings_give_what_each_gives_alone() {
    let (mut boarded, mut most) = (0, 0);
    for seed in 0..3 {
        println!("seed {seed}");
        let shop = Shop::new(2);
        let all = Arc::new(Mutex::new(Vec::new()));
        let (own, pending) = (shop.clone(), all.clone());
        let mut random = StdRng::seed_from_u64(seed);
        let mut numbers = Numbers(seed);
        let first = shop.pass(Box::new(move |call| {
            if call > 60 {
                return;
            }
            if random.random_bool(0.4) {
                let suppliers = if random.random_bool(0.5) { 3 } else { 0 };
                own.change(&mut random, 200, suppliers);
            }
            for _ in 0..random.random_range(0..4) {
                let query = random.random_range(0..STARS);
                pending.lock().push(own.query(query, &mut numbers));
            }
            if random.random_bool(0.3) {
                pending.lock().push(own.submit(&own.hooked, vec![], None));
            }
            if random.random_bool(0.2) {
                let all = pending.lock();
                let some = random.random_range(0..all.len().max(1));
                all.get(some).inspect(|one| one.cancelled.store(true, Ordering::Relaxed));
            }
            own.clock.pass(Duration::from_millis(random.random_range(0..10)));
        }));
        all.lock().push(first);
        let mut answers: Vec<(Pending, Result<Rows>)> = Vec::new();
        // While one is waited for, others come.
        while let Some(pending) = { all.lock().pop() } {
            let answer = pending.answer();
            answers.push((pending, answer));
        }
        for (pending, answer) in &answers {
            if let Some(boarding) = pending.figures.get().and_then(|figures| figures.boarding) {
                boarded += 1;
                most = most.max(boarding.others);
            }
            match answer {
                Ok(answer) => shop.compare(pending, answer),
                Err(error) => {
                    assert!(pending.cancelled.load(Ordering::Relaxed), "{error:?}");
                    assert_eq!(error.state, SqlState::QueryCanceled);
                }
            }
        }
    }
    assert!(boarded > 30 && most > 1, "{boarded} got on, at most {most} others were aboard");
}

/// A batch is what waits together, also where it gets on a pass: nobody is taken alone while others come with it.
#[test]
fn equal_requests_of_newcomers_are_one_request() {
    let shop = Shop::new(1);
    let late = Arc::new(Mutex::new(Vec::new()));
    let (own, pending) = (shop.clone(), late.clone());
    let first = shop.pass(Box::new(move |call| {
        if call == 3 {
            let queries = (0..10).map(|_| own.query(6, &mut Numbers(4)));
            pending.lock().extend(queries);
            own.dawdle();
        }
    }));
    shop.check(&first);
    for pending in late.lock().iter() {
        shop.check(pending);
        assert_eq!(joined(pending), (1, 1));
        assert_eq!(pending.figures.get().map(|figures| figures.activations), Some(10));
    }
}
