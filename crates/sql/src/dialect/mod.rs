//! Where PostgreSQL computes differently from DataFusion.
//!
//! In comes DataFusion's registry of functions and its planner; out goes one that adds like PostgreSQL (checked
//! integers, 22012 for floats too, `date + 1`), sums like PostgreSQL (`SUM(bigint)` is `numeric`) and casts like
//! PostgreSQL (floats round to integers). Called by `template::Planning` only.

mod ages;
mod aggregates;
mod apart;
mod applied;
mod arithmetic;
mod array_casts;
mod arrays;
mod bags;
mod bits;
mod by_row;
mod byte_lengths;
mod casts;
mod catalog_functions;
mod decimals;
mod dependencies;
mod deviations;
mod domains;
mod empty_sets;
mod escapes;
mod functions;
mod groups_of_nothing;
mod guards;
mod hoisted;
mod integer_series;
mod interval_aggregates;
mod interval_order;
mod intervals;
mod introspection;
mod json;
mod json_aggregates;
mod kernels;
mod laterals;
mod means;
mod memberships;
mod merged;
mod moments;
mod nested;
mod numbers;
mod operators;
mod optimizer;
mod ordered_sets;
mod outer_names;
mod paddings;
mod pinned;
mod quantified;
mod quoting;
mod repeated_keys;
mod rewritten;
mod rounding;
mod row_counts;
mod row_memberships;
mod shortened;
mod signs;
mod sizes;
mod spans;
mod subqueries;
mod subscripts;
mod taken;
mod type_names;
mod zoned;

use std::sync::Arc;

use arc_swap::ArcSwap;
use datafusion::catalog::SchemaProvider;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::sqlparser::ast::{Query, VisitMut};
use datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_pg_catalog::setup_pg_catalog;

use crate::catalog::Catalog;

pub use applied::{Applied, applied_plans};
pub use bags::{mark as mark_bags, number as number_bags};
pub use casts::{OWN_CAST, cast_array, rewrite_casts, rewrite_expression};
pub use dependencies::derived_tables;
pub use guards::{
    guarded, is_constant, keep_expression, lazy, lazy_conjunction, lazy_plan, may_fail,
    may_fail_anyhow, optimize, release_expression,
};
pub use interval_order::{by_span, ordered_by_span};
pub use intervals::interval;
pub use introspection::{mentions, rewrite as rewrite_statement};
pub use kernels::{find as kernel_function, spell_out};
pub use merged::Given;
pub use nested::{Branches, branches, is_lazy, settle_expression, shallow};
pub use outer_names::qualify_outer_tables;
pub use paddings::count_paddings;
pub use quantified::{array_beside, is_quantified, quantify};
pub use repeated_keys::without_repeated_keys;
#[cfg(test)]
pub use sizes::is_planned;
pub use sizes::planned;
pub use type_names::name_types;
pub use zoned::{crosses, is_instant};

/// A query in the planner's words, where no text of it is kept.
pub fn in_plain_words(
    query: &mut Query,
    state: &SessionState,
    tables: merged::Tables<'_>,
) -> Result<()> {
    spell_out(query);
    let _ = VisitMut::visit(query, &mut ordered_sets::OrderedSets);
    merged::spread_merged(query, tables)?;
    let _ = VisitMut::visit(query, &mut json_aggregates::JsonAggregates);
    let aggregates = state.aggregate_functions();
    let is_aggregate = |name: &str| aggregates.contains_key(name);
    empty_sets::make_groups(query, &is_aggregate);
    apart::set_apart(query, &is_aggregate);
    Ok(())
}

/// The name under which DataFusion files its own tables.
const CATALOG: &str = "datafusion";

/// DataFusion's state with PostgreSQL's rules, and the part of `pg_catalog` that is the same in every database. All
/// queries that run alone share `memory` bytes.
pub fn session_state(
    current: &Arc<ArcSwap<Catalog>>,
    memory: usize,
) -> (SessionState, Option<Arc<dyn SchemaProvider>>) {
    let state = SessionStateBuilder::new()
        .with_config(SessionConfig::from(options()))
        .with_runtime_env(runtime(memory))
        .with_default_features()
        .with_optimizer_rules(optimizer::rules())
        .with_physical_optimizer_rules(crate::alone::physical_rules())
        .build();
    let context = SessionContext::new_with_state(state);
    let set_up = setup_pg_catalog(&context, CATALOG, EmptyContextProvider);
    let pg_catalog = context.catalog(CATALOG).and_then(|catalog| catalog.schema("pg_catalog"));
    let mut state = context.state();
    let registered = "a fresh registry takes functions";
    let own = arithmetic::functions().into_iter().chain(bits::functions());
    let own = own.chain(functions::functions());
    let own = own.chain(arrays::functions()).chain([
        apart::function(),
        applied::collect_function(),
        escapes::function(),
    ]);
    let by_row =
        quoting::FUNCTIONS.into_iter().chain(numbers::FUNCTIONS).chain(row_counts::FUNCTIONS);
    let own = own.chain(by_row.map(by_row::ByRow::function));
    let own = own
        .chain(ordered_sets::functions())
        .chain(taken::functions())
        .chain(quantified::functions());
    let own = own
        .chain(json::functions())
        .chain(json_aggregates::functions())
        .chain(subscripts::functions());
    for function in own.chain(catalog_functions::functions(current)) {
        state.register_udf(function).expect(registered);
    }
    for function in domains::functions(&state) {
        state.register_udf(function).expect(registered);
    }
    for function in kernels::functions() {
        state.register_udf(function).expect(registered);
    }
    let over = rounding::functions(&state).into_iter().chain(sizes::functions(&state));
    let over = over.chain(integer_series::functions(&state));
    let over = over.chain(byte_lengths::functions(&state));
    for function in over.chain(nested::functions(&state)).collect::<Vec<_>>() {
        state.register_udf(function).expect(registered);
    }
    for (known, alias) in [("ceil", "ceiling"), ("signum", "sign"), ("__modulo", "mod")] {
        let function = state.scalar_functions().get(known).expect("it is there").clone();
        let named = function.as_ref().clone().with_aliases([alias]);
        state.register_udf(Arc::new(named)).expect(registered);
    }
    for function in aggregates::functions().into_iter().chain(deviations::functions()) {
        state.register_udaf(function).expect(registered);
    }
    let all = state.aggregate_functions().get("bool_and").expect("DataFusion has it").clone();
    let every = all.as_ref().clone().with_aliases(["every"]);
    state.register_udaf(Arc::new(every)).expect(registered);
    state.register_expr_planner(Arc::new(arithmetic::ArithmeticPlanner)).expect(registered);
    state.register_expr_planner(Arc::new(bits::BitsPlanner)).expect(registered);
    (state, set_up.ok().and(pg_catalog))
}

/// Joins, groupings and sorts that need more than `memory` fail with 53200; nothing is spilled to files.
fn runtime(memory: usize) -> Arc<RuntimeEnv> {
    let no_files = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let builder =
        RuntimeEnvBuilder::new().with_memory_pool(Arc::new(crate::alone::Memory::new(memory)));
    builder.with_disk_manager_builder(no_files).build_arc().expect("no file is needed")
}

fn options() -> ConfigOptions {
    let mut options = ConfigOptions::new();
    // One snapshot, one query at a time: parallelism is the shared engine's business.
    options.execution.target_partitions = 1;
    options.execution.collect_statistics = false;
    // Of a UNION over scalar subqueries the two plans differ in what may be NULL, and in nothing else.
    options.execution.skip_physical_aggregate_schema_check = true;
    options.execution.time_zone = Some("+00:00".to_owned());
    options.optimizer.max_passes = 3;
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.collect_spans = true;
    options
}
