//! The global plan: every template, the lane it belongs to, the nodes that templates share.
//!
//! Lanes are given when a template is merged, never per query: each light template has a lane of its own (its
//! probes share nothing with other templates' probes); heavy templates go where they share most, among templates
//! of similar cost, so that no short one waits for a long one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::TemplatePlan;
use super::catalog::Catalog;
use super::compile::compile;
use super::compiled::{CompiledTemplate, Operation, Operator, Weight};
use super::lane_plan::LanePlan;
use super::signature::Signatures;
use crate::types::{LaneId, NodeId, Result, TemplateId};

/// Heavy templates share a lane only while the dearest costs at most this many times the cheapest: an activation
/// may wait for one heartbeat of its neighbours.
const COST_SPREAD: f64 = 16.0;

/// Heavy lanes at most; beyond it a template goes to the lane with the nearest cost, shared or not.
const HEAVY_LANES: usize = 32;

/// All templates and lanes. Changed under a lock by registration; what runs is [`LanePlan`]s taken from it.
#[derive(Debug, Default)]
pub struct GlobalPlan {
    templates: BTreeMap<TemplateId, Entry>,
    lanes: BTreeMap<LaneId, Lane>,
    nodes: Numbers,
    next_template: u32,
    next_lane: u16,
}

#[derive(Debug)]
struct Entry {
    plan: Arc<TemplatePlan>,
    compiled: Arc<CompiledTemplate>,
    lane: LaneId,
}

#[derive(Debug)]
struct Lane {
    weight: Weight,
    plan: Arc<LanePlan>,
}

/// What merging a template gave.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Its number.
    pub template: TemplateId,
    /// Its lane.
    pub lane: LaneId,
    /// Its plan.
    pub compiled: Arc<CompiledTemplate>,
}

/// A template in the global plan.
#[derive(Clone, Copy, Debug)]
pub struct Registered<'a> {
    /// Its number.
    pub template: TemplateId,
    /// As it came in.
    pub plan: &'a TemplatePlan,
    /// Its operators.
    pub compiled: &'a CompiledTemplate,
    /// Its lane.
    pub lane: LaneId,
}

impl GlobalPlan {
    /// Merges a template.
    pub fn merge(&mut self, plan: Arc<TemplatePlan>, catalog: &Catalog) -> Result<Merged> {
        let compiled = Arc::new(compile(&plan, catalog)?);
        let template = TemplateId(self.next_template);
        self.next_template += 1;
        let lane = self.place(&compiled, catalog);
        self.add_to_lane(template, &compiled, lane, catalog);
        self.templates.insert(template, Entry { plan, compiled: compiled.clone(), lane });
        Ok(Merged { template, lane, compiled })
    }

    /// Takes a template out; returns its lane, and whether that is empty now and gone.
    pub fn unmerge(&mut self, template: TemplateId, catalog: &Catalog) -> Option<(LaneId, bool)> {
        let entry = self.templates.remove(&template)?;
        self.rebuild(entry.lane, catalog);
        Some((entry.lane, !self.lanes.contains_key(&entry.lane)))
    }

    /// Plans a template anew, after its tables have grown; its lane may change. `None` where it is unknown.
    pub fn replan(&mut self, template: TemplateId, catalog: &Catalog) -> Option<Result<Merged>> {
        let entry = self.templates.get(&template)?;
        let (plan, old) = (entry.plan.clone(), entry.lane);
        let compiled = match compile(&plan, catalog) {
            Ok(compiled) => Arc::new(compiled),
            Err(error) => return Some(Err(error)),
        };
        self.templates.remove(&template);
        self.rebuild(old, catalog);
        let lane = self.place(&compiled, catalog);
        self.add_to_lane(template, &compiled, lane, catalog);
        self.templates.insert(template, Entry { plan, compiled: compiled.clone(), lane });
        Some(Ok(Merged { template, lane, compiled }))
    }

    /// A lane's shared nodes.
    pub fn lane_plan(&self, lane: LaneId) -> Option<Arc<LanePlan>> {
        self.lanes.get(&lane).map(|lane| lane.plan.clone())
    }

    /// All lanes with their weights and plans.
    pub fn lanes(&self) -> impl Iterator<Item = (LaneId, Weight, &Arc<LanePlan>)> {
        self.lanes.iter().map(|(id, lane)| (*id, lane.weight, &lane.plan))
    }

    /// All templates.
    pub fn templates(&self) -> impl Iterator<Item = Registered<'_>> {
        self.templates.iter().map(|(template, entry)| Registered {
            template: *template,
            plan: &entry.plan,
            compiled: &entry.compiled,
            lane: entry.lane,
        })
    }

    fn add_to_lane(
        &mut self,
        template: TemplateId,
        compiled: &Arc<CompiledTemplate>,
        lane: LaneId,
        catalog: &Catalog,
    ) {
        let weight = compiled.weight;
        let plan = Arc::default();
        let lane = self.lanes.entry(lane).or_insert(Lane { weight, plan });
        let number = &mut |signature: &str| self.nodes.number(signature);
        Arc::make_mut(&mut lane.plan).add(template, compiled.clone(), catalog, number);
    }

    /// Builds a lane's plan again from the templates that are still in it.
    fn rebuild(&mut self, lane: LaneId, catalog: &Catalog) {
        let mut plan = LanePlan::default();
        for (id, entry) in self.templates.iter().filter(|(_, entry)| entry.lane == lane) {
            let number = &mut |signature: &str| self.nodes.number(signature);
            plan.add(*id, entry.compiled.clone(), catalog, number);
        }
        match plan.members.is_empty() {
            true => drop(self.lanes.remove(&lane)),
            false => {
                if let Some(place) = self.lanes.get_mut(&lane) {
                    place.plan = Arc::new(plan);
                }
            }
        }
        self.forget_numbers();
    }

    /// Drops the numbers of nodes that no lane has, once they are the larger part: ad-hoc statements come and go.
    fn forget_numbers(&mut self) {
        let live: usize = self.lanes.values().map(|lane| lane.plan.nodes.len()).sum();
        if self.nodes.known.len() <= 2 * live + 64 {
            return;
        }
        let nodes = self.lanes.values().flat_map(|lane| &lane.plan.nodes);
        let used: HashSet<NodeId> = nodes.map(|node| node.id).collect();
        self.nodes.known.retain(|_, number| used.contains(number));
    }

    /// The lane for a new template.
    fn place(&mut self, compiled: &CompiledTemplate, catalog: &Catalog) -> LaneId {
        if compiled.weight == Weight::Heavy {
            let heavy = self.lanes.iter().filter(|(_, lane)| lane.weight == Weight::Heavy);
            let crowded = heavy.clone().count() >= HEAVY_LANES;
            let cost = compiled.root.total_cost();
            let signatures = signatures(&compiled.root, catalog);
            let scored = heavy.filter_map(|(id, lane)| {
                let spread = spread(&lane.plan, cost);
                let shared = shared_cost(&lane.plan, &signatures);
                let fits = shared > 0.0 && spread <= COST_SPREAD;
                (fits || crowded).then_some((*id, shared, spread))
            });
            let best = scored.max_by(|a, b| a.1.total_cmp(&b.1).then(b.2.total_cmp(&a.2)));
            if let Some((lane, ..)) = best {
                return lane;
            }
        }
        self.fresh_lane()
    }

    /// A number that no lane has: numbers wrap around after 65,536 lanes.
    fn fresh_lane(&mut self) -> LaneId {
        loop {
            let lane = LaneId(self.next_lane);
            self.next_lane = self.next_lane.wrapping_add(1);
            if !self.lanes.contains_key(&lane) {
                return lane;
            }
        }
    }
}

/// The numbers of nodes by signature, across lanes.
#[derive(Debug, Default)]
struct Numbers {
    known: HashMap<Arc<str>, NodeId>,
    next: u32,
}

impl Numbers {
    fn number(&mut self, signature: &str) -> NodeId {
        if let Some(number) = self.known.get(signature) {
            return *number;
        }
        let number = NodeId(self.next);
        self.next = self.next.wrapping_add(1);
        self.known.insert(signature.into(), number);
        number
    }
}

/// The signatures of the operators that are worth sharing, with one activation's cost of each.
fn signatures(root: &Operator, catalog: &Catalog) -> HashSet<String> {
    fn visit(
        operator: &Operator,
        signatures: &mut Signatures<'_>,
        found: &mut Vec<(String, bool)>,
    ) -> String {
        if let Operation::Reused { first, .. } = operator.operation {
            return found[first].0.clone();
        }
        let inputs: Vec<String> =
            operator.inputs.iter().map(|input| visit(input, signatures, found)).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let signature = signatures.sign(operator, &inputs);
        let is_little =
            matches!(operator.operation, Operation::Project { .. } | Operation::Values { .. });
        found.push((signature.clone(), !is_little));
        signature
    }
    let mut found = Vec::new();
    visit(root, &mut Signatures::new(catalog), &mut found);
    found.into_iter().filter(|own| own.1).map(|own| own.0).collect()
}

/// What the lane's nodes with these signatures cost one activation.
fn shared_cost(plan: &LanePlan, signatures: &HashSet<String>) -> f64 {
    let shared = plan.nodes.iter().filter(|node| signatures.contains(&*node.signature));
    shared.filter_map(|node| node.estimates.first()).map(|o| o.estimate.cost).sum()
}

/// How many times dearer the dearest of the lane's templates and a new one is than the cheapest.
fn spread(plan: &LanePlan, cost: f64) -> f64 {
    let costs = plan.members.iter().map(|member| member.compiled.root.total_cost());
    let (least, most) = costs.fold((cost, cost), |(l, m), c| (l.min(c), m.max(c)));
    most / least.max(1.0)
}
