//! One snapshot for all queries of a statement: its scalar subqueries, what it changes in WITH.

use std::sync::Arc;

use engine::storage::Snapshot;
use engine::types::{Result, Value};

use super::Session;
use super::modifying::Own;
use super::read::single_value;
use crate::template::QueryTemplate;

/// What all queries of a statement see.
#[derive(Debug, Clone)]
pub(super) struct Pinned {
    /// What is stored.
    pub snapshot: Snapshot,
    /// What its transaction had changed before it, where it changes rows more than once.
    pub own: Option<Own>,
}

impl Session {
    /// What follows in the statement sees the same.
    pub(super) fn pin(&mut self) {
        if self.pinned.is_none() {
            self.pinned = Some(Pinned { snapshot: self.statement_snapshot(), own: None });
        }
    }

    /// What the statement's queries see, where it has more than one.
    pub(super) fn pinned_snapshot(&self) -> Option<Snapshot> {
        self.pinned.as_ref().map(|pinned| pinned.snapshot.clone())
    }

    /// Adds what a write's scalar subqueries give, all of one snapshot, to its parameters.
    pub(super) async fn add_subqueries(
        &mut self,
        subqueries: &[Arc<QueryTemplate>],
        values: &mut Vec<Value>,
    ) -> Result<()> {
        let before = self.pinned.clone();
        if subqueries.len() > 1 {
            self.pin();
        }
        let added = self.read_subqueries(subqueries, values).await;
        self.pinned = before;
        added
    }

    /// The same, whatever they see.
    pub(super) async fn read_subqueries(
        &mut self,
        subqueries: &[Arc<QueryTemplate>],
        values: &mut Vec<Value>,
    ) -> Result<()> {
        for subquery in subqueries {
            let known = values[..subquery.parameters.len().min(values.len())].to_vec();
            let answer = Box::pin(self.read_all(subquery, known)).await?;
            values.push(single_value(&answer)?);
        }
        Ok(())
    }
}
