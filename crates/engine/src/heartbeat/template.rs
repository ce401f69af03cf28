//! A query in the global plan.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::read::{Lane, Paths, Program};
use crate::plan::{TemplatePlan, Weight};
use crate::types::{LaneId, TemplateId};

/// A query in the global plan. Its lane and its physical plan may change when templates or tables change.
#[derive(Debug)]
pub struct Template {
    /// Its number.
    pub id: TemplateId,
    /// As it came in.
    pub plan: Arc<TemplatePlan>,
    /// What its activations took by themselves.
    pub(super) paths: Paths,
    current: ArcSwap<Current>,
}

#[derive(Debug)]
struct Current {
    program: Arc<Program>,
    lane: Arc<Lane>,
}

impl Template {
    pub(crate) fn new(
        id: TemplateId,
        plan: Arc<TemplatePlan>,
        program: Arc<Program>,
        lane: Arc<Lane>,
    ) -> Template {
        let current = ArcSwap::from_pointee(Current { program, lane });
        Template { id, plan, paths: Paths::default(), current }
    }

    /// Its lane: what [`super::Engine::lead`] wants after a submit.
    pub fn lane(&self) -> LaneId {
        self.current.load().lane.id
    }

    /// The weight of its lane.
    pub fn weight(&self) -> Weight {
        self.current.load().lane.weight
    }

    pub(crate) fn lane_handle(&self) -> Arc<Lane> {
        self.current.load().lane.clone()
    }

    pub(crate) fn program(&self) -> Arc<Program> {
        self.current.load().program.clone()
    }

    pub(crate) fn replace(&self, program: Arc<Program>, lane: Arc<Lane>) {
        self.current.store(Arc::new(Current { program, lane }));
    }
}
