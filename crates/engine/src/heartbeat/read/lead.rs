//! Leading a lane: batch after batch until nothing waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::audience::Audience;
use super::batch::{self, Batch, Followed, Lone, Request, Source, Waiting, cancelled};
use super::figures::{Boarding, Figures, OperatorFigures};
use super::hosts::Hosts;
use super::lane::Lane;
use super::pool::Pool;
use super::prepared::PreparedLane;
use super::program::{Point, Program, Subquery};
use super::run::{self, Outcome, Slotted, TableViews};
use super::{Reads, Sharing};
use crate::heartbeat::{Activation, Answer, AnswerPart, Witness};
use crate::operators::{Budget, Faults, PackOptions};
use crate::plan::Weight;
use crate::plan::cost::{self, Choice};
use crate::storage::Snapshot;
use crate::types::{Error, Result, Slot, SqlState, Value, Version};

/// A heavy batch that takes less than this is led by whoever submitted it. A hand-over costs two wake-ups and the
/// worker's low priority, on a busy machine several times the query itself; the light statements of the submitter's
/// thread wait this long at most.
const HAND_OVER: Duration = Duration::from_micros(500);

/// Batches that a submitter runs for others before it hands the lane to a worker and goes on with its own work.
const ROUNDS: usize = 32;

/// A lane asks once in so many heartbeats whether its tables have grown.
const REPLAN_EVERY: u64 = 256;

/// After a heartbeat of several activations that took this long, those answered are waited for: shorter ones cost less
/// than the wait.
pub(super) const GATHERED: Duration = Duration::from_millis(2);

/// The last batch that was answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beat {
    /// Activations.
    pub answered: usize,
    /// Until they were answered.
    pub took: Duration,
}

impl Beat {
    /// Whether those answered are waited for.
    pub fn is_awaited(self) -> bool {
        self.answered > 1 && self.took >= GATHERED
    }
}

/// Who leads a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leader {
    /// A thread with other work to do.
    Submitter,
    /// A worker: newcomers may get on its passes.
    Worker,
}

/// Requests of a batch that ride together, by slot, and answers to the others.
pub(super) struct Placed {
    answers: Vec<Option<Result<Answer>>>,
    places: Vec<usize>,
}

/// What the figures of a run say besides what came out.
pub(super) struct Account {
    pub plan: Arc<PreparedLane>,
    pub version: Version,
    /// By slot.
    pub members: Vec<usize>,
    pub began: Duration,
    pub boarding: Option<Boarding>,
}

impl Reads {
    /// Leads the lane if nobody does. Heavy batches go to a worker.
    pub(super) fn lead_lane(&self, lane: &Arc<Lane>) {
        if lane.take_lead() {
            self.run_waiting(lane);
        }
    }

    /// For the one who leads: batch after batch until nothing waits, heavy ones by a worker.
    pub(super) fn run_waiting(&self, lane: &Arc<Lane>) {
        for round in 0..ROUNDS {
            if self.belongs_to_worker(lane, round) {
                return self.pool.enqueue(lane.clone());
            }
            let Some(activations) = lane.next() else { return };
            self.heartbeat(lane, activations, Leader::Submitter);
        }
        self.hand_over(lane);
    }

    /// Whether what waits is worth a hand-over. Who submitted a heavy query runs one batch at most: the light statements
    /// of its thread wait meanwhile.
    fn belongs_to_worker(&self, lane: &Lane, round: usize) -> bool {
        if lane.weight == Weight::Light || self.pool.workers() == 0 {
            return false;
        }
        if lane.is_uneven() {
            return true;
        }
        if round > 0 {
            return lane.waiting() > 0;
        }
        lane.expected() > HAND_OVER
    }

    /// Gives the lead to a worker, or back where nothing waits.
    fn hand_over(&self, lane: &Arc<Lane>) {
        let crew = self.crew(lane);
        if crew.workers() > 0 {
            return crew.enqueue(lane.clone());
        }
        while let Some(activations) = lane.next() {
            self.heartbeat(lane, activations, Leader::Submitter);
        }
    }

    fn crew(&self, lane: &Lane) -> &Pool {
        match lane.weight {
            Weight::Light => &self.relief,
            Weight::Heavy => &self.pool,
        }
    }

    /// A worker's turn: one batch, a part of what waits where that would take long, with those who get on its pass, then
    /// the lane stands in line again.
    pub(super) fn serve(&self, lane: &Arc<Lane>) {
        let crew = self.crew(lane);
        let next = match lane.weight {
            Weight::Heavy => lane.next_part(crew.expected(), &crew.least_share),
            Weight::Light => lane.next().map(|all| (all, false)),
        };
        let Some((activations, others)) = next else { return };
        if others && crew.workers() > 1 && self.steps_aside(lane, &activations) {
            crew.enqueue(lane.clone());
            self.heartbeat(lane, activations, Leader::Worker);
            return lane.end_aside();
        }
        let beat = self.heartbeat(lane, activations, Leader::Worker);
        if beat.is_awaited() && !others {
            lane.gather(beat.answered, beat.took, &|| !crew.is_free());
        }
        if !lane.rest() {
            crew.enqueue(lane.clone());
        }
    }

    /// Whether a part runs beside the next one. Not a star's: newcomers get on its pass, and who leads lets them.
    fn steps_aside(&self, lane: &Lane, part: &[Activation]) -> bool {
        let plan = lane.plan.load();
        let is_of_star = |own: &Activation| Reads::star_of(&plan, &own.template).is_some();
        !part.iter().any(is_of_star) && lane.step_aside()
    }

    /// One heartbeat. What panics in answering a batch is traced to its request; should anything around that panic, whoever
    /// was not answered yet hears that nobody will, and the lane goes on.
    fn heartbeat(&self, lane: &Arc<Lane>, activations: Vec<Activation>, leader: Leader) -> Beat {
        let run = AssertUnwindSafe(|| self.answer_all(lane, activations, leader));
        catch_unwind(run).unwrap_or_else(|_| {
            lane.totals.panics.fetch_add(1, Ordering::Relaxed);
            Beat::default()
        })
    }

    /// Answers everything that waited.
    fn answer_all(&self, lane: &Arc<Lane>, activations: Vec<Activation>, leader: Leader) -> Beat {
        let began = self.environment.clock.now();
        let [only] = &activations[..] else {
            return self.batches(lane, activations, leader);
        };
        let program = only.template.program();
        match (&program.point, lane.weight) {
            (Some(point), Weight::Light) if only.figures.is_none() => {
                let only = activations.into_iter().next().expect("there is one");
                self.point(lane, &program, point, only);
                let took = self.environment.clock.now().saturating_sub(began);
                lane.count(1, took, Duration::ZERO);
                self.maintain(lane);
                Beat { answered: 1, took }
            }
            _ => self.batches(lane, activations, leader),
        }
    }

    /// The shortest way: one activation that is index probes and nothing else.
    fn point(&self, lane: &Lane, program: &Program, point: &Point, activation: Activation) {
        let Activation { template, parameters, snapshot, cancelled: flag, mut receiver, .. } =
            activation;
        if flag.load(Ordering::Relaxed) {
            return receiver.receive(Err(cancelled()));
        }
        let snapshot = snapshot.unwrap_or_else(|| self.store.snapshot());
        if receiver.is_witnessed() {
            let members = std::iter::once((&*template, &parameters));
            receiver.witness(&Witness::new(&snapshot, members));
        }
        let run = AssertUnwindSafe(|| {
            let values = program.parameters(&parameters)?;
            let mut views = TableViews::new(&self.store, snapshot.version());
            views.serve(&template.plan.definitions)?;
            let mut faults = Faults::default();
            let slots = std::iter::once(Slot(0));
            let values = [&values[..]];
            let mut tuples = point.chain.run(slots, &values, &self.one, &mut views, &mut faults)?;
            if let Some((_, error)) = faults.iter().next() {
                return Err(error.clone());
            }
            tuples.columns = point.columns.clone();
            let rows = (0..tuples.rows as u32).collect();
            let part = AnswerPart::Shared { tuples: Arc::new(tuples), rows };
            Ok(Answer::new(template.plan.output.clone(), vec![part]))
        });
        let answer = catch_unwind(run).unwrap_or_else(|_| Err(panicked(lane)));
        receiver.receive(answer);
    }

    fn batches(&self, lane: &Arc<Lane>, activations: Vec<Activation>, leader: Leader) -> Beat {
        let mut beat = Beat::default();
        for batch in self.form(lane, activations) {
            let apart = leader != Leader::Worker || self.runs_apart(lane, &batch.requests);
            beat = match self.rides(lane, &batch).filter(|_| !apart) {
                Some(fact) => self.turn(lane, fact, batch),
                None => self.whole(lane, batch),
            };
        }
        self.maintain(lane);
        beat
    }

    /// Batches of what waited, whose requests equal newcomers can follow.
    pub(super) fn form(&self, lane: &Arc<Lane>, activations: Vec<Activation>) -> Vec<Batch> {
        let mut batches = batch::form(activations, &self.store);
        if lane.weight == Weight::Heavy {
            let shared =
                |batch: &&mut Batch| batch::sharing(batch.requests.iter()) != Sharing::Never;
            let hosts = batches.iter_mut().filter(shared);
            hosts.for_each(|batch| Hosts::enter(lane, batch, &self.store));
        }
        batches
    }

    /// Runs and counts a batch by itself.
    pub(super) fn whole(&self, lane: &Arc<Lane>, batch: Batch) -> Beat {
        let began = self.environment.clock.now();
        let templates = batch::templates(&batch.requests);
        let predicted = lane.plan.load().plan.predict(&templates);
        let lone = Lone::of(&batch.requests).filter(|_| self.pool.is_undivided());
        let is_heavy = lane.weight == Weight::Heavy;
        let running = is_heavy.then(|| lane.course.begin(templates.len(), began));
        let followed = self.batch(lane, batch);
        let now = self.environment.clock.now();
        let took = now.saturating_sub(began);
        running.into_iter().for_each(|running| lane.course.end(running, now));
        lone.iter().filter(|_| self.pool.is_undivided()).for_each(|lone| lone.note(took));
        lane.count(templates.len(), took, predicted);
        Beat { answered: templates.len() + followed, took }
    }

    pub(super) fn maintain(&self, lane: &Lane) {
        let heartbeats = lane.totals.heartbeats.load(Ordering::Relaxed);
        if heartbeats.is_multiple_of(REPLAN_EVERY) {
            self.replan_stale();
        }
    }

    /// One snapshot's requests; a panic is traced to the request that causes it. How many satellites were answered.
    fn batch(&self, lane: &Arc<Lane>, batch: Batch) -> usize {
        let Batch { snapshot, requests } = batch;
        let one_by_one = |requests: Vec<Request>| {
            let one = |request| {
                self.batch(lane, Batch { snapshot: snapshot.clone(), requests: vec![request] })
            };
            requests.into_iter().map(one).sum()
        };
        if self.runs_apart(lane, &requests) {
            return one_by_one(requests);
        }
        let run = AssertUnwindSafe(|| self.answers(lane, &snapshot, &requests));
        match catch_unwind(run) {
            Ok(answers) => self.settle(lane, &snapshot, requests, answers),
            Err(_) if requests.len() > 1 => {
                lane.totals.panics.fetch_add(1, Ordering::Relaxed);
                one_by_one(requests)
            }
            Err(_) => {
                let source = Source::new(&snapshot, &requests);
                let answer = |request| self.answer(lane, request, Err(panicked(lane)), &source);
                requests.into_iter().map(answer).sum()
            }
        }
    }

    /// Answers a request; its satellites, where it has no answer for them, wait for the next batch. How many it had one
    /// for.
    fn answer(
        &self,
        lane: &Arc<Lane>,
        request: Request,
        answer: Result<Answer>,
        source: &Source<'_>,
    ) -> usize {
        let Followed { answered, unanswered } = request.answer(answer, source, &self.encodings);
        lane.totals.activations.fetch_add(answered as u64, Ordering::Relaxed);
        if !unanswered.is_empty() {
            // They were let in before, no more than the queue's limit of them.
            unanswered.into_iter().for_each(|one| lane.submit(one, usize::MAX));
            self.lead_lane(lane);
        }
        answered
    }

    /// Answers requests. Those that found no memory beside others run again in two halves, one after the other: what fits
    /// alone is answered, however many wait with it. How many satellites were answered.
    pub(super) fn settle(
        &self,
        lane: &Arc<Lane>,
        snapshot: &Snapshot,
        requests: Vec<Request>,
        answers: Vec<Result<Answer>>,
    ) -> usize {
        let source = Source::new(snapshot, &requests);
        let mut followed = 0;
        let is_alone = requests.len() == 1;
        let mut half: Vec<Request> = Vec::new();
        for (request, answer) in requests.into_iter().zip(answers) {
            match answer {
                Err(error) if error.state == SqlState::OutOfMemory && !is_alone => {
                    half.push(request);
                }
                answer => followed += self.answer(lane, request, answer, &source),
            }
        }
        let other = half.split_off(half.len() / 2);
        for requests in [half, other].into_iter().filter(|requests| !requests.is_empty()) {
            followed += self.batch(lane, Batch { snapshot: snapshot.clone(), requests });
        }
        followed
    }

    /// Whether each request runs by itself.
    pub(super) fn runs_apart(&self, lane: &Lane, requests: &[Request]) -> bool {
        match batch::sharing(requests.iter()) {
            Sharing::Never => requests.len() > 1,
            Sharing::Automatic => is_cheaper_alone(lane, requests),
            Sharing::Always => false,
        }
    }

    /// By request, in one run.
    pub(super) fn answers(
        &self,
        lane: &Arc<Lane>,
        snapshot: &Snapshot,
        requests: &[Request],
    ) -> Vec<Result<Answer>> {
        let plan = lane.plan.load_full();
        let mut views = TableViews::new(&self.store, snapshot.version());
        let (placed, slots) = self.place(lane, &plan, &mut views, requests);
        let riding = placed.riding(requests);
        let ran = match slots.is_empty() {
            true => Vec::new(),
            false => self.run_shared(lane, plan, views, slots, &riding),
        };
        placed.complete(ran)
    }

    /// Parameters completed, subqueries run; what cannot ride with the others runs at once.
    pub(super) fn place(
        &self,
        lane: &Arc<Lane>,
        plan: &PreparedLane,
        views: &mut TableViews<'_>,
        requests: &[Request],
    ) -> (Placed, Vec<Slotted>) {
        let programs: Vec<Arc<Program>> = requests.iter().map(|r| r.template.program()).collect();
        let mut values: Vec<Result<Vec<Value>>> = Vec::with_capacity(requests.len());
        for run in requests.chunk_by(|a, b| a.template.id == b.template.id) {
            let served = views.serve(&run[0].template.plan.definitions);
            let own = run.iter().zip(&programs[values.len()..]);
            let parameters = |(request, program): (&Request, &Arc<Program>)| {
                served.clone().and_then(|()| program.parameters(&request.parameters))
            };
            values.extend(own.map(parameters));
        }
        self.subqueries(views, requests, &programs, &mut values);
        let mut answers: Vec<Option<Result<Answer>>> = Vec::new();
        let mut joined: Vec<(usize, Slotted)> = Vec::new();
        for (i, value) in values.into_iter().enumerate() {
            let request = &requests[i];
            let placed = match value {
                _ if request.is_cancelled() => Err(cancelled()),
                value => value,
            };
            let (answer, slot) = match (placed, plan.plan.member(request.template.id)) {
                (Err(error), _) => (Some(Err(error)), None),
                (Ok(values), Some(member))
                    if requests.len() > 1 || lane.weight == Weight::Heavy =>
                {
                    (None, Some(Slotted { member, parameters: values.into() }))
                }
                // Alone, or meanwhile moved to another lane or taken out of the plan.
                (Ok(values), _) => {
                    let slots = vec![Slotted { member: 0, parameters: values.into() }];
                    let plan = programs[i].alone.clone();
                    let ran = self.run_shared(lane, plan, views.clone(), slots, &[request]);
                    (ran.into_iter().next(), None)
                }
            };
            answers.push(answer);
            joined.extend(slot.map(|slot| (i, slot)));
        }
        joined.sort_by_key(|(_, slot)| slot.member);
        let (places, slots) = joined.into_iter().unzip();
        (Placed { answers, places }, slots)
    }

    /// What a batch may take and do.
    pub(super) fn limits(&self, budget: Budget, sharing: Sharing) -> run::Limits {
        let narrow_all = sharing == Sharing::Always;
        let packs = PackOptions {
            packing: self.packing,
            cache: self.environment.second_cache,
            seed: self.environment.randomness.next(),
        };
        run::Limits { budget, narrow_all, packs }
    }

    /// Runs slots through a plan and notes the figures.
    fn run_shared(
        &self,
        lane: &Lane,
        plan: Arc<PreparedLane>,
        views: TableViews<'_>,
        slots: Vec<Slotted>,
        requests: &[&Request],
    ) -> Vec<Result<Answer>> {
        let account = Account {
            plan: plan.clone(),
            version: views.version(),
            members: slots.iter().map(|slot| slot.member).collect(),
            began: self.environment.clock.now(),
            boarding: None,
        };
        let audience = Audience::of(requests.iter().copied());
        let sharing = batch::sharing(requests.iter().copied());
        let limits = self.limits(Budget::new(self.memory_limit), sharing);
        let outcome = run::run(plan, slots, views, &self.pool, limits, audience);
        self.note(lane, &account, requests, outcome)
    }

    /// Notes the figures of a run; the answers to its requests.
    pub(super) fn note(
        &self,
        lane: &Lane,
        account: &Account,
        requests: &[&Request],
        outcome: Outcome,
    ) -> Vec<Result<Answer>> {
        let wanted = requests.iter().any(|r| r.waiting.iter().any(|w| w.figures.is_some()));
        if wanted || lane.weight == Weight::Heavy {
            let figures = self.figures_of(lane, account, requests, &outcome);
            let answers = (0..).zip(&outcome.answers).zip(requests);
            // Whoever fails beside others may run again with fewer.
            let noted = answers.filter(|((_, answer), _)| answer.is_ok() || requests.len() == 1);
            for ((slot, _), request) in noted {
                let awaited = request.waiting.iter().filter_map(|w: &Waiting| w.figures.as_ref());
                awaited.for_each(|place| {
                    let packed = outcome.packed.iter().find_map(|star| star.packed(Slot(slot)));
                    // Set once: a second run of the same activation (after a panic) keeps the first figures.
                    let _ = place.set(Figures { packed, ..figures.clone() });
                });
            }
            self.history.add(figures);
        }
        let answer = |(parts, request): (Result<Vec<AnswerPart>>, &&Request)| {
            let output = request.template.plan.output.clone();
            parts.map(|parts| Answer::new(output, parts))
        };
        outcome.answers.into_iter().zip(requests).map(answer).collect()
    }

    fn figures_of(
        &self,
        lane: &Lane,
        account: &Account,
        requests: &[&Request],
        outcome: &Outcome,
    ) -> Figures {
        let operators = operators(&account.plan, &account.members, outcome);
        Figures {
            number: self.heartbeats.fetch_add(1, Ordering::Relaxed),
            lane: lane.id,
            activations: requests.iter().map(|request| request.activations()).sum(),
            requests: requests.len(),
            version: account.version,
            began: account.began,
            took: self.environment.clock.now().saturating_sub(account.began),
            predicted: operators.iter().map(|o| o.predicted).sum(),
            sets: outcome.sets,
            boarding: account.boarding,
            packed: None,
            operators: operators.into(),
        }
    }

    /// Runs the scalar subqueries of all requests, stage by stage; their values become parameters.
    fn subqueries(
        &self,
        views: &TableViews<'_>,
        requests: &[Request],
        programs: &[Arc<Program>],
        values: &mut [Result<Vec<Value>>],
    ) {
        let mut first = 0;
        for run in programs.chunk_by(Arc::ptr_eq) {
            let own = &mut values[first..first + run.len()];
            for (stage, subquery) in run[0].subqueries.iter().enumerate() {
                self.subquery(views.clone(), requests, subquery, own);
                for value in own.iter_mut() {
                    let derived = match value {
                        Ok(values) => run[0].derive(values, stage + 1),
                        Err(_) => Ok(()),
                    };
                    if let Err(error) = derived {
                        *value = Err(error);
                    }
                }
            }
            first += run.len();
        }
    }

    /// One subquery for the requests of one template: those that agree on what it reads share one run.
    fn subquery(
        &self,
        views: TableViews<'_>,
        requests: &[Request],
        subquery: &Subquery,
        values: &mut [Result<Vec<Value>>],
    ) {
        let mut slots: Vec<Slotted> = Vec::new();
        let mut place: Vec<Option<usize>> = Vec::with_capacity(values.len());
        let mut known = hashbrown::HashMap::<Vec<u8>, usize>::new();
        for value in values.iter() {
            place.push(value.as_ref().ok().map(|values| {
                let key = batch::key(subquery.reads.iter().map(|p| &values[*p]));
                *known.entry(key).or_insert_with(|| {
                    slots.push(Slotted { member: 0, parameters: values[..].into() });
                    slots.len() - 1
                })
            }));
        }
        if slots.is_empty() {
            return;
        }
        let lane = subquery.lane.clone();
        let audience = Audience::of(requests.iter());
        let limits = self.limits(Budget::new(self.memory_limit), batch::sharing(requests.iter()));
        let outcome = run::run(lane, slots, views, &self.pool, limits, audience);
        let results: Vec<Result<Value>> = outcome.answers.into_iter().map(scalar).collect();
        for (value, place) in values.iter_mut().zip(place) {
            let Some(place) = place else { continue };
            match (&results[place], &mut *value) {
                (Ok(result), Ok(values)) => values[subquery.parameter] = result.clone(),
                (Err(error), _) => *value = Err(error.clone()),
                (Ok(_), Err(_)) => {}
            }
        }
    }
}

impl Placed {
    /// The requests that ride, by slot.
    pub fn riding<'a>(&self, requests: &'a [Request]) -> Vec<&'a Request> {
        self.places.iter().map(|place| &requests[*place]).collect()
    }

    /// All answers, with those of the slots.
    pub fn complete(mut self, ran: Vec<Result<Answer>>) -> Vec<Result<Answer>> {
        for (place, answer) in self.places.into_iter().zip(ran) {
            self.answers[place] = Some(answer);
        }
        let missing = || Err(Error::new(SqlState::InternalError, "an activation was lost"));
        self.answers.into_iter().map(|answer| answer.unwrap_or_else(missing)).collect()
    }
}

/// The value of a scalar subquery: NULL without a row, 21000 with several.
fn scalar(parts: Result<Vec<AnswerPart>>) -> Result<Value> {
    let parts = parts?;
    match parts.iter().map(AnswerPart::rows).sum::<usize>() {
        0 => Ok(Value::Null),
        1 => {
            let part = parts.iter().find(|part| part.rows() == 1);
            Ok(part.map_or(Value::Null, |part| part.cell(0, 0).to_owned()))
        }
        _ => Err(Error::new(
            SqlState::CardinalityViolation,
            "more than one row returned by a subquery used as an expression",
        )),
    }
}

fn panicked(lane: &Lane) -> Error {
    tracing::error!(lane = %lane.id, "a statement panicked; it is answered with XX000");
    Error::new(SqlState::InternalError, "internal error while running the statement")
        .hint("Please report the statement and the server's log.")
}

/// Whether the sum of the requests' costs is below the cost of their union.
fn is_cheaper_alone(lane: &Lane, requests: &[Request]) -> bool {
    if requests.len() < 2 || lane.weight == Weight::Light {
        return false;
    }
    let plan = lane.plan.load();
    let decisions = decisions(&plan, requests);
    let (mut shared, mut alone) = (0.0, 0.0);
    for decision in decisions.into_iter().flatten() {
        shared += decision.shared;
        alone += decision.alone;
    }
    alone < shared
}

/// Per node of the plan: shared or alone, for the requests that use it.
fn decisions(plan: &PreparedLane, requests: &[Request]) -> Vec<Option<cost::Decision>> {
    let members = requests.iter().filter_map(|request| plan.plan.member(request.template.id));
    plan.plan.decide(&members.collect::<Vec<_>>())
}

/// The figures of each operator that ran.
fn operators(plan: &PreparedLane, members: &[usize], outcome: &Outcome) -> Vec<OperatorFigures> {
    let mut users = vec![0; plan.nodes.len()];
    for member in members {
        plan.plan.members[*member].uses.iter().for_each(|used| users[used.node] += 1);
    }
    let decisions = plan.plan.decide(members);
    let nodes = plan.plan.nodes.iter().zip(&outcome.spent).zip(decisions).zip(users);
    let ran = nodes.filter_map(|(((node, spent), decision), activations)| {
        let decision = decision?;
        let predicted = match decision.choice {
            Choice::Shared => decision.shared,
            Choice::Alone => decision.alone,
        };
        Some(OperatorFigures {
            node: node.id,
            signature: node.signature.clone(),
            activations,
            rows: spent.rows,
            took: spent.took,
            choice: decision.choice,
            predicted: Duration::from_nanos(predicted as u64),
            alone: Duration::from_nanos(decision.alone as u64),
            access: spent.access.clone(),
        })
    });
    ran.collect()
}
