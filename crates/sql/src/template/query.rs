//! A planned query: how it runs, what it answers.

use std::sync::{Arc, Weak};

use datafusion::logical_expr::LogicalPlan;
use engine::heartbeat::{Engine, Template};
use engine::plan::OutputColumn;
use engine::types::{DataType, TableId};

use super::Planning;
use crate::session::ColumnDescription;

/// How a query runs.
#[derive(Clone, Debug)]
pub enum Path {
    /// Through the global plan.
    Shared(Arc<Template>),
    /// Alone on its snapshot, through DataFusion; why.
    Alone(String),
}

/// A query, planned once.
#[derive(Debug)]
pub struct QueryTemplate {
    /// With its literals lifted.
    pub text: Arc<str>,
    /// Types of its parameters: the client's, the literals', the clock.
    pub parameters: Vec<DataType>,
    /// What the client sees.
    pub columns: Arc<[ColumnDescription]>,
    /// The same as the engine's answers say it.
    pub output: Arc<[OutputColumn]>,
    /// How it runs.
    pub path: Path,
    /// The tables that it reads.
    pub tables: Vec<TableId>,
    /// The catalog that it was planned over.
    pub version: u64,
    /// Optimized, over parameters: what runs alone.
    pub plan: LogicalPlan,
    /// DataFusion.
    pub planning: Arc<Planning>,
    /// Where the template is registered.
    pub engine: Weak<Engine>,
}

impl QueryTemplate {
    /// The template in the global plan, if it is there.
    pub fn shared(&self) -> Option<&Arc<Template>> {
        match &self.path {
            Path::Shared(template) => Some(template),
            Path::Alone(_) => None,
        }
    }
}

impl Drop for QueryTemplate {
    fn drop(&mut self) {
        if let Path::Shared(template) = &self.path
            && let Some(engine) = self.engine.upgrade()
        {
            engine.unregister(template.id);
        }
    }
}
