//! Where PostgreSQL computes differently from DataFusion.
//!
//! In comes DataFusion's registry of functions and its planner; out goes one that adds like PostgreSQL (checked
//! integers, 22012 for floats too, `date + 1`), sums like PostgreSQL (`SUM(bigint)` is `numeric`) and casts like
//! PostgreSQL (floats round to integers). Called by `template::Planning` only.

mod aggregates;
mod arithmetic;
mod casts;
mod functions;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;

pub use casts::{cast_array, rewrite_casts, rewrite_expression};

/// DataFusion's state with PostgreSQL's rules.
pub fn session_state() -> SessionState {
    let mut state = SessionStateBuilder::new()
        .with_config(SessionConfig::from(options()))
        .with_default_features()
        .build();
    let registered = "a fresh registry takes functions";
    for function in arithmetic::functions() {
        state.register_udf(function).expect(registered);
    }
    for function in functions::functions() {
        state.register_udf(function).expect(registered);
    }
    for function in aggregates::functions() {
        state.register_udaf(function).expect(registered);
    }
    state.register_expr_planner(Arc::new(arithmetic::ArithmeticPlanner)).expect(registered);
    state
}

fn options() -> ConfigOptions {
    let mut options = ConfigOptions::new();
    // One snapshot, one query at a time: parallelism is the shared engine's business.
    options.execution.target_partitions = 1;
    options.execution.collect_statistics = false;
    options.execution.time_zone = Some("+00:00".to_owned());
    options.optimizer.max_passes = 3;
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.collect_spans = true;
    options
}
