//! What rows must obey that change because others do: compiled for the engine.

use std::sync::Weak;

use engine::types::{DataType, Error, Result, RowCompiler, RowRules, SqlState, TableSchema, Value};

use super::{assignment, expression};
use crate::bounded::STACK_BYTES;
use crate::template::Planner;

/// Compiles what definitions say.
#[derive(Debug)]
pub struct RuleCompiler(pub Weak<Planner>);

impl RowCompiler for RuleCompiler {
    /// On a thread with the stack that it was planned on when it was defined.
    fn rules(&self, table: &TableSchema) -> Result<RowRules> {
        let gone = || Error::new(SqlState::InternalError, "nobody compiles conditions any more");
        let (planner, table) = (self.0.upgrade().ok_or_else(gone)?, table.clone());
        let (give, take) = std::sync::mpsc::sync_channel(1);
        let threads = planner.engine().environment().threads.clone();
        let body = move || {
            let _ = give.send(expression::rules(&planner, &planner.catalog(), &table));
        };
        let started = threads.spawn_with_stack("rules", STACK_BYTES, Box::new(body));
        started.map_err(|error| {
            let message = format!("could not start a thread to plan on: {error}");
            Error::new(SqlState::OutOfMemory, message)
        })?;
        take.recv().map_err(|_| gone())?
    }

    fn assigned(&self, value: Value, data_type: DataType) -> Result<Value> {
        assignment::cast(value, data_type)
    }
}
