//! Batches of star queries as generations: each rides the [`Ring`] once around, and newcomers get on while it turns.
//!
//! [`Reads::turn`] is for the worker that leads a lane. It begins a ring for a batch whose only work is the pass over one
//! fact table and what stands above it, turns it, lets on what comes to wait in the lane meanwhile, and runs the upper
//! operators of each generation that has gone around, while other workers turn on. So a star query takes about one pass,
//! not the rest of this one and the next.
//!
//! Getting on is not for free: dimensions are read, arrays merged. And those who are answered together come back together,
//! and should stay so. Hence newcomers wait
//! - until an eighth of a pass for each generation aboard has gone by since the last ones got on: rows are put into groups
//!   generation by generation, so that many of them cost more than the wait,
//! - until what they save, the rest of the pass, is more in sum than twice what they cost everybody: the time that it
//!   takes to let a generation on, for all who wait and all who are aboard,
//! - for the next batch, where a lap of two generations takes so much longer than one batch of all that the rest of the
//!   pass is not worth it ([`super::pass_times`]): else many clients fall apart into generations, and stay so,
//! - for those who were just answered, as between two heartbeats ([`Comeback`]),
//! - for the next batch, where less than a quarter of a pass is left to wait for, or [`WORTH`],
//! - for the next batch, where those aboard have taken nearly all memory,
//! - for the next batch, where another lane wants the worker, or one of those who wait cannot get on (it needs other
//!   tables, brings its own snapshot, has subqueries, never shares): then nobody gets on any more, until the ring stands still.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Reads;
use super::audience::Audience;
use super::batch::{self, Batch, Lone, Request};
use super::course::Running;
use super::figures::Boarding;
use super::lane::{Comeback, Lane};
use super::lead::{Account, Beat, GATHERED, Placed};
use super::pool::Loop;
use super::prepared::PreparedLane;
use super::ring::{Rider, Ring, StarPass};
use super::run::{Run, TableViews};
use crate::heartbeat::{Sharing, Template};
use crate::operators::Budget;
use crate::plan::Weight;
use crate::storage::Snapshot;
use crate::types::{TableId, TemplateId};

/// Generations that ride at the same time; [`SPACING`] leaves room for as many.
const MOST: usize = 4;
/// Share of a pass between two boardings, for each generation aboard.
const SPACING: f64 = 1.0 / 8.0;
/// Share of a pass that is worth not waiting for.
const REST: f64 = 1.0 / 4.0;
/// Time that is worth not waiting for.
const WORTH: Duration = GATHERED;
/// What newcomers save is worth so many times what they cost the others.
const MARGIN: f64 = 2.0;

/// So many times what a batch may take is there for all generations on a ring, of which nobody gets on while less than one
/// is left.
const BATCHES: usize = 2;

/// One batch.
struct Generation<'a> {
    snapshot: Snapshot,
    requests: Vec<Request>,
    activations: usize,
    predicted: Duration,
    began: Duration,
    boarding: Option<Boarding>,
    /// Until it is answered.
    running: Option<Running>,
    /// Others were aboard meanwhile.
    beside: bool,
    riding: Option<Riding<'a>>,
    rider: Option<Arc<Rider>>,
}

/// Its run, from the beginning of the pass on.
struct Riding<'a> {
    plan: Arc<PreparedLane>,
    placed: Placed,
    members: Vec<usize>,
    star: usize,
    run: Run<'a>,
}

/// A ring's owner.
struct Owner<'a> {
    reads: &'a Reads,
    lane: &'a Arc<Lane>,
    fact: TableId,
    /// Of all generations together.
    budget: Arc<Budget>,
    aboard: Vec<Generation<'a>>,
    /// Somebody could not get on.
    is_closed: bool,
    /// When the last ones got on, and how long it took to make them ready.
    boarded: (Duration, Duration),
    comeback: RefCell<Option<Comeback>>,
    last: Beat,
}

impl Reads {
    /// The table of the star that is all that these requests ask for, where a worker may turn a ring for them.
    pub(super) fn rides(&self, lane: &Lane, batch: &Batch) -> Option<TableId> {
        let shares = batch::sharing(batch.requests.iter()) != Sharing::Never;
        let may = self.boarding && shares && lane.weight == Weight::Heavy;
        let plan = lane.plan.load_full();
        let star = only_star(&plan, &batch.requests).filter(|_| may)?;
        Some(plan.stars.stars[star].fact)
    }

    /// Runs a batch on a ring, and all that get on meanwhile.
    pub(super) fn turn(&self, lane: &Arc<Lane>, fact: TableId, batch: Batch) -> Beat {
        let now = self.environment.clock.now();
        let mut owner = Owner {
            reads: self,
            lane,
            fact,
            budget: Arc::new(Budget::new(BATCHES * self.memory_limit)),
            aboard: vec![Generation::new(self, lane, batch)],
            is_closed: false,
            boarded: (now, Duration::ZERO),
            comeback: RefCell::default(),
            last: Beat::default(),
        };
        let plan = lane.plan.load_full();
        if catch_unwind(AssertUnwindSafe(|| owner.turn(&plan))).is_err() {
            owner.run_apart();
        }
        owner.last
    }

    /// The star that a template is, where no subquery has to run first.
    pub(super) fn star_of(plan: &PreparedLane, template: &Template) -> Option<usize> {
        let member = plan.plan.member(template.id)?;
        plan.stars.members[member].filter(|_| template.program().subqueries.is_empty())
    }
}

/// The star that is all that these requests ask for.
fn only_star(plan: &PreparedLane, requests: &[Request]) -> Option<usize> {
    let star = Reads::star_of(plan, &requests.first()?.template)?;
    let same = |request: &Request| Reads::star_of(plan, &request.template) == Some(star);
    requests.iter().all(same).then_some(star)
}

impl<'a> Generation<'a> {
    fn new(reads: &Reads, lane: &Lane, batch: Batch) -> Generation<'a> {
        let Batch { snapshot, requests } = batch;
        let templates: Vec<TemplateId> = batch::templates(&requests);
        let began = reads.environment.clock.now();
        Generation {
            predicted: lane.plan.load().plan.predict(&templates),
            activations: templates.len(),
            began,
            running: Some(lane.course.begin(templates.len(), began)),
            snapshot,
            requests,
            boarding: None,
            beside: false,
            riding: None,
            rider: None,
        }
    }

    fn has(&self, rider: &Arc<Rider>) -> bool {
        self.rider.as_ref().is_some_and(|own| Arc::ptr_eq(own, rider))
    }
}

impl Owner<'_> {
    fn turn(&mut self, plan: &Arc<PreparedLane>) {
        let began = self.boarded.0;
        let Some(pass) = self.begin(0, plan) else { return self.answer(0) };
        self.note_boarding(began);
        let (ring, rider) = Ring::new(pass);
        self.aboard[0].rider = Some(rider);
        self.reads.pool.lead(ring.clone(), || self.own(&ring));
    }

    /// Until nobody rides any more.
    fn own(&mut self, ring: &Ring) {
        while !self.aboard.is_empty() {
            ring.help(&|| ring.has_completed() || self.may_board(ring));
            ring.wait();
            for rider in ring.completed() {
                self.get_off(&rider);
            }
            if !self.aboard.is_empty() && self.may_board(ring) {
                self.let_on(ring);
            }
        }
    }

    /// Makes a generation ready for its pass; `None` where it takes none.
    fn begin(&mut self, number: usize, plan: &Arc<PreparedLane>) -> Option<StarPass> {
        let aboard: Vec<Arc<Rider>> =
            self.aboard.iter().filter_map(|generation| generation.rider.clone()).collect();
        let (reads, generation) = (self.reads, &mut self.aboard[number]);
        let star = only_star(plan, &generation.requests)?;
        let requests = &generation.requests;
        let mut views = TableViews::new(&reads.store, generation.snapshot.version());
        let (placed, slots) = reads.place(self.lane, plan, &mut views, requests);
        if slots.is_empty() {
            return None;
        }
        let members = slots.iter().map(|slot| slot.member).collect();
        let audience = Audience::of(requests.iter());
        let budget = Budget::within(&self.budget, reads.memory_limit);
        let limits = reads.limits(budget, batch::sharing(requests.iter()));
        let run = Run::new(plan.clone(), slots, views, &reads.pool, limits, audience);
        let riding = Riding { plan: plan.clone(), placed, members, star, run };
        // An error comes again when the star is asked for its groups.
        generation.riding.insert(riding).run.begin_star(star, &aboard).ok().flatten()
    }

    /// Whether newcomers may get on now.
    fn may_board(&self, ring: &Ring) -> bool {
        let waiting = self.lane.waiting();
        let has_memory = self.budget.used() <= (BATCHES - 1) * self.reads.memory_limit;
        let is_free = !self.is_closed && self.aboard.len() < MOST && self.reads.pool.is_free();
        if waiting == 0 || !is_free || !has_memory || !self.is_worth(waiting, ring.progress()) {
            return false;
        }
        let mut comeback = self.comeback.borrow_mut();
        comeback.as_mut().is_none_or(|comeback| comeback.is_over(waiting))
    }

    /// Whether it is time again, and not waiting is worth more to those who wait than it costs all.
    fn is_worth(&self, waiting: usize, progress: f64) -> bool {
        let spacing = SPACING * self.aboard.len() as f64;
        if progress < spacing || progress > 1.0 - REST {
            return false;
        }
        let (last, took) = self.boarded;
        let elapsed = self.reads.environment.clock.now().saturating_sub(last);
        let rest = elapsed.mul_f64((1.0 - progress) / progress);
        let aboard: usize = self.aboard.iter().map(|generation| generation.activations).sum();
        let cost = took.mul_f64(MARGIN) + self.lane.passes.lost_apart(aboard, waiting);
        rest >= WORTH && rest.mul_f64(waiting as f64) > cost.mul_f64((aboard + waiting) as f64)
    }

    /// Notes when a generation got on, and what that took.
    fn note_boarding(&mut self, began: Duration) {
        let now = self.reads.environment.clock.now();
        self.boarded = (now, now.saturating_sub(began));
    }

    /// All that waits gets on, or nobody any more.
    fn let_on(&mut self, ring: &Ring) {
        let plan = self.lane.plan.load_full();
        let fits = |activation: &crate::heartbeat::Activation| {
            let star = Reads::star_of(&plan, &activation.template);
            let fact = star.map(|star| plan.stars.stars[star].fact);
            let shares = activation.sharing != Sharing::Never;
            activation.snapshot.is_none() && fact == Some(self.fact) && shares
        };
        let Some(activations) = self.lane.next_if(fits) else {
            self.is_closed = true;
            return;
        };
        let began = self.reads.environment.clock.now();
        *self.comeback.borrow_mut() = None;
        for batch in self.reads.form(self.lane, activations) {
            self.board(ring, &plan, batch);
        }
        self.note_boarding(began);
    }

    fn board(&mut self, ring: &Ring, plan: &Arc<PreparedLane>, batch: Batch) {
        if self.reads.runs_apart(self.lane, &batch.requests) {
            self.reads.whole(self.lane, batch);
            return;
        }
        let (number, others) = (self.aboard.len(), self.aboard.len());
        self.aboard.push(Generation::new(self.reads, self.lane, batch));
        let pass = self.begin(number, plan);
        let same = |pass: &StarPass| Arc::ptr_eq(pass.fact.view().table(), ring.table());
        let Some(pass) = pass.filter(same) else { return self.answer(number) };
        let rider = ring.board(pass);
        self.aboard[number].boarding = Some(Boarding { at: rider.began_at(), others });
        self.aboard[number].rider = Some(rider);
        self.aboard.iter_mut().for_each(|generation| generation.beside = true);
    }

    /// A rider has gone around: what stands above its groups, then the answers.
    fn get_off(&mut self, rider: &Arc<Rider>) {
        let number = self.aboard.iter().position(|generation| generation.has(rider));
        let number = number.expect("a rider belongs to a generation");
        if let Some(riding) = &mut self.aboard[number].riding {
            riding.run.end_star(riding.star, rider);
        }
        self.answer(number);
    }

    fn answer(&mut self, number: usize) {
        let (reads, lane) = (self.reads, self.lane);
        let generation = &mut self.aboard[number];
        let answers = match generation.riding.take() {
            Some(riding) => {
                let Riding { plan, placed, members, run, .. } = riding;
                let requests = placed.riding(&generation.requests);
                let account = Account {
                    plan,
                    version: generation.snapshot.version(),
                    members,
                    began: generation.began,
                    boarding: generation.boarding,
                };
                let ran = reads.note(lane, &account, &requests, run.outcome());
                placed.complete(ran)
            }
            None => reads.answers(lane, &generation.snapshot, &generation.requests),
        };
        let done = self.aboard.remove(number);
        let Generation {
            snapshot, requests, activations, began, predicted, boarding, running, ..
        } = done;
        let is_lone = boarding.is_none() && reads.pool.is_undivided();
        let lone = Lone::of(&requests).filter(|_| is_lone);
        let followed = reads.settle(lane, &snapshot, requests, answers);
        let now = reads.environment.clock.now();
        let took = now.saturating_sub(began);
        running.into_iter().for_each(|running| lane.course.end(running, now));
        lone.iter().for_each(|lone| lone.note(took));
        lane.count(activations, took, predicted);
        if !done.beside {
            lane.passes.note(activations, took);
        }
        reads.maintain(lane);
        self.last = Beat { answered: activations + followed, took };
        if self.last.is_awaited() {
            let comeback = Comeback::new(lane.waiting(), self.last.answered, took);
            *self.comeback.borrow_mut() = Some(comeback);
        }
    }

    /// After a panic: each request by itself, so that it is traced to the one that causes it.
    fn run_apart(&mut self) {
        self.lane.totals.panics.fetch_add(1, Ordering::Relaxed);
        for generation in std::mem::take(&mut self.aboard) {
            let Generation { snapshot, requests, running, .. } = generation;
            let now = self.reads.environment.clock.now();
            running.into_iter().for_each(|running| self.lane.course.end(running, now));
            for request in requests {
                let requests = vec![request];
                self.last =
                    self.reads.whole(self.lane, Batch { snapshot: snapshot.clone(), requests });
            }
        }
    }
}
