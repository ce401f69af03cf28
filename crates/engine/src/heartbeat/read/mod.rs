//! The read side of the heartbeat: activations in, answers out.
//!
//! [`Reads::submit`] lets an activation wait in its template's lane; [`Reads::lead`] runs what waits. Whoever
//! leads a light lane runs its batches on its own thread (flat combining); a heavy lane is handed to a worker
//! unless its batch is so small that handing it over would cost more than running it. A batch becomes slots
//! ([`batch`]), goes through the lane's operators ([`run`], [`pipeline`]) or, where it is nothing but index
//! probes, straight through them ([`probe_chain`]), and each slot's rows go to whoever waits for them, equal activations
//! that came while it ran included ([`hosts`]). Batches of star
//! queries ride a [`ring`] over their fact table, which newcomers get on while it turns ([`generation`]). What runs and what waits
//! in a lane, and so when a newcomer would be answered, says its [`Course`]; `sql::promise` asks.
//! Absent here: what a template's plan is (`plan`), how an operator works (`operators`), writes.

mod audience;
mod batch;
mod course;
mod each;
mod explain;
mod figures;
mod generation;
mod held_back;
mod hosts;
mod lane;
mod lead;
mod least_share;
mod parts;
mod pass_times;
mod paths;
mod pipeline;
mod pool;
mod prepared;
mod probe_chain;
mod program;
mod ring;
mod run;
mod star;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

pub use course::{Ahead, Course, Running};
pub use figures::{Boarding, Figures, OperatorFigures};
pub use held_back::HeldBack;
pub(crate) use lane::Lane;
pub(crate) use paths::Paths;
pub use paths::{LoneRun, PathCost, PathCosts};
pub(crate) use program::Program;

use self::figures::History;
use self::pool::{Crew, Pool};
use self::prepared::PreparedLane;
use super::encodings::Room;
use super::heavy_work::HeavyWork;
use super::{Activation, EngineOptions, Sharing, Template};
use crate::env::Environment;
use crate::operators::Packing;
use crate::plan::{Catalog, GlobalPlan, Merged, TemplatePlan, Weight};
use crate::query_set::SetTable;
use crate::storage::Store;
use crate::types::{Error, LaneId, Result, SqlState, TemplateId};

/// Everything that reads.
pub struct Reads {
    store: Arc<Store>,
    environment: Environment,
    sharing: Sharing,
    packing: Packing,
    /// Star queries get on a pass that is under way.
    boarding: bool,
    queue_limit: usize,
    memory_limit: usize,
    registry: Mutex<Registry>,
    /// By [`LaneId`]; replaced under the registry's lock, read without.
    lanes: ArcSwap<Vec<Option<Arc<Lane>>>>,
    /// Workers of heavy lanes.
    pool: Arc<Pool>,
    /// Takes over light lanes from submitters who have led for long: it never waits for a heavy batch.
    relief: Arc<Pool>,
    history: History,
    heartbeats: AtomicU64,
    /// The query sets of every batch of one.
    one: SetTable,
    /// Bytes that receivers of the same rows share.
    encodings: Room,
}

#[derive(Default)]
struct Registry {
    global: GlobalPlan,
    templates: HashMap<TemplateId, Arc<Template>>,
}

impl std::fmt::Debug for Reads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reads").field("sharing", &self.sharing).finish_non_exhaustive()
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        self.pool.stop();
        self.relief.stop();
    }
}

impl Reads {
    /// Starts the workers; those of heavy lanes say in `heavy_work` when they lead one.
    pub fn start(
        store: Arc<Store>,
        environment: &Environment,
        options: &EngineOptions,
        heavy_work: Arc<HeavyWork>,
    ) -> Result<Arc<Reads>> {
        let mut failed = None;
        let reads = Arc::new_cyclic(|weak: &std::sync::Weak<Reads>| {
            let weak = weak.clone();
            let lead = Arc::new(move |lane: &Arc<Lane>| {
                if let Some(reads) = weak.upgrade() {
                    reads.serve(lane);
                }
            });
            let threads = &*environment.threads;
            let mut started = |pool: std::io::Result<Arc<Pool>>| {
                pool.unwrap_or_else(|error| {
                    failed = Some(error);
                    Arc::default()
                })
            };
            let pool = Pool::start(Crew::Heavy, options.workers, threads, lead.clone(), heavy_work);
            let relief = Pool::start(Crew::Light, 1, threads, lead, Arc::default());
            let (pool, relief) = (started(pool), started(relief));
            Reads {
                store,
                environment: environment.clone(),
                sharing: options.sharing,
                packing: options.packing,
                boarding: options.boarding,
                queue_limit: options.queue_limit,
                memory_limit: options.memory_limit,
                registry: Mutex::default(),
                lanes: ArcSwap::default(),
                pool,
                relief,
                history: History::default(),
                heartbeats: AtomicU64::new(0),
                one: SetTable::new(1),
                encodings: Room::default(),
            }
        });
        match failed {
            None => Ok(reads),
            Some(error) => {
                let message = format!("could not start worker threads: {error}");
                Err(Error::new(SqlState::InternalError, message))
            }
        }
    }

    /// Bytes that the intermediate results of one batch may take.
    pub fn memory_limit(&self) -> usize {
        self.memory_limit
    }

    /// The outside world.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Merges a template into the global plan.
    pub fn register(&self, plan: TemplatePlan) -> Result<Arc<Template>> {
        let catalog = Catalog::of(&self.store);
        let plan = Arc::new(plan);
        let mut registry = self.registry.lock();
        let merged = registry.global.merge(plan.clone(), &catalog)?;
        let made = self.prepare(&registry.global, &merged, &catalog);
        let (program, lane) = match made {
            Ok(made) => made,
            Err(error) => {
                registry.global.unmerge(merged.template, &catalog);
                return Err(error);
            }
        };
        let template = Arc::new(Template::new(merged.template, plan, program, lane));
        registry.templates.insert(merged.template, template.clone());
        Ok(template)
    }

    /// Makes a merged template and its lane ready.
    fn prepare(
        &self,
        global: &GlobalPlan,
        merged: &Merged,
        catalog: &Catalog,
    ) -> Result<(Arc<Program>, Arc<Lane>)> {
        let (template, compiled) = (merged.template, merged.compiled.clone());
        let weight = compiled.weight;
        let program = Arc::new(Program::new(template, compiled, catalog, &self.store)?);
        let lane = self.refresh_lane(global, merged.lane, weight)?;
        Ok((program, lane))
    }

    /// Gives a lane its newest plan; makes the lane where it is new.
    fn refresh_lane(&self, global: &GlobalPlan, id: LaneId, weight: Weight) -> Result<Arc<Lane>> {
        let plan = global.lane_plan(id).unwrap_or_default();
        let probes = weight == Weight::Light;
        let prepared = Arc::new(PreparedLane::new(plan, &self.store, probes)?);
        if let Some(lane) = self.lane(id)
            && lane.weight == weight
        {
            lane.plan.store(prepared);
            return Ok(lane);
        }
        let lane = Arc::new(Lane::new(id, weight, prepared));
        self.put_lane(id, Some(lane.clone()));
        Ok(lane)
    }

    fn put_lane(&self, id: LaneId, lane: Option<Arc<Lane>>) {
        let mut lanes = self.lanes.load().to_vec();
        if lanes.len() <= id.index() {
            lanes.resize(id.index() + 1, None);
        }
        lanes[id.index()] = lane;
        self.lanes.store(Arc::new(lanes));
    }

    fn lane(&self, id: LaneId) -> Option<Arc<Lane>> {
        self.lanes.load().get(id.index()).cloned().flatten()
    }

    /// Takes a template out. Activations that wait still run, alone.
    pub fn unregister(&self, template: TemplateId) {
        let catalog = Catalog::of(&self.store);
        let mut registry = self.registry.lock();
        registry.templates.remove(&template);
        let Some((lane, _)) = registry.global.unmerge(template, &catalog) else { return };
        let retired = self.leave_lane(&registry.global, lane);
        drop(registry);
        self.lead_retired(retired);
    }

    /// After a template has left a lane: gives those that stay a plan without it, or empties the lane and gives it back.
    fn leave_lane(&self, global: &GlobalPlan, id: LaneId) -> Option<Arc<Lane>> {
        let lane = self.lane(id)?;
        if global.lane_plan(id).is_some() {
            // It was prepared before with one template more; should a table be gone, the templates over it run alone and
            // say so themselves.
            let _ = self.refresh_lane(global, id, lane.weight);
            return None;
        }
        lane.plan.store(Arc::default());
        self.put_lane(id, None);
        Some(lane)
    }

    /// Runs what still waits in lanes that nobody is registered in; a late submitter still holds one and leads it. Nobody
    /// may hold the registry: a batch that is run here may plan others anew.
    fn lead_retired(&self, retired: impl IntoIterator<Item = Arc<Lane>>) {
        retired.into_iter().for_each(|lane| self.lead_lane(&lane));
    }

    /// Plans templates anew whose tables have changed much in size. Called when templates change and now and
    /// then by a lane's leader, never per query.
    pub fn replan_stale(&self) {
        let mut registry = self.registry.lock();
        let stale = registry.templates.values().filter(|t| t.program().is_stale(&self.store));
        let stale: Vec<Arc<Template>> = stale.cloned().collect();
        if stale.is_empty() {
            return;
        }
        let catalog = Catalog::of(&self.store);
        let mut retired = Vec::new();
        for template in stale {
            let Some(Ok(merged)) = registry.global.replan(template.id, &catalog) else { continue };
            let old = template.lane();
            let Ok((program, lane)) = self.prepare(&registry.global, &merged, &catalog) else {
                continue;
            };
            template.replace(program, lane);
            if old != template.lane() {
                retired.extend(self.leave_lane(&registry.global, old));
            }
        }
        drop(registry);
        self.lead_retired(retired);
    }

    /// All templates.
    pub fn templates(&self) -> HashMap<TemplateId, Arc<Template>> {
        self.registry.lock().templates.clone()
    }

    /// Looks at the global plan; nothing is registered meanwhile.
    pub fn with_plan<T>(&self, look: impl FnOnce(&GlobalPlan) -> T) -> T {
        look(&self.registry.lock().global)
    }

    /// All lanes.
    pub fn all_lanes(&self) -> Vec<Arc<Lane>> {
        self.lanes.load().iter().flatten().cloned().collect()
    }

    /// The last heartbeats.
    pub fn figures(&self) -> Vec<Figures> {
        self.history.all()
    }

    /// Whether activations share that do not ask for something else.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Lets an activation wait in its lane, or for the answer to an equal request under way.
    pub fn submit(&self, activation: Activation) {
        let lane = activation.template.lane_handle();
        let alone = match lane.weight {
            Weight::Light => Some(activation),
            Weight::Heavy if activation.sharing == Sharing::Never => Some(activation),
            Weight::Heavy => lane.hosts.follow(activation, &self.store, self.queue_limit),
        };
        if let Some(activation) = alone {
            if lane.weight == Weight::Heavy {
                lane.course.come(self.environment.clock.now());
            }
            lane.submit(activation, self.queue_limit);
        }
    }

    /// What who comes into a lane now meets; `None` where nothing of it was measured.
    pub fn ahead(&self, lane: LaneId) -> Option<Ahead> {
        self.lanes.load().get(lane.index()).and_then(Option::as_ref)?.course.ahead()
    }

    /// See [`super::Engine::note_answer`].
    pub fn note_answer(&self, lane: LaneId, is_late: bool) {
        if let Some(lane) = self.lanes.load().get(lane.index()).and_then(Option::as_ref) {
            lane.course.note(is_late);
        }
    }

    /// Runs what waits in a lane, or has a worker run it.
    pub fn lead(&self, lane: LaneId) {
        if let Some(lane) = self.lanes.load().get(lane.index()).and_then(Option::as_ref) {
            self.lead_lane(lane);
        }
    }
}
