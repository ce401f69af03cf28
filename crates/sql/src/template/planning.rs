//! DataFusion's part: a statement with parameters in, an analyzed and optimized logical plan out.

use std::ops::ControlFlow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use datafusion::catalog::SchemaProvider;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, Query, Statement, Value, ValueWithSpan, Visit, Visitor,
};

use super::infer::{infer, infer_expression};
use super::parameters::{Parameters, placeholder_index};
use super::zones;
use crate::bounded::{PlanningThreads, check_expression, check_plan};
use crate::catalog::{Catalog, Names};

/// Rounds of planning in which types of parameters may still be learnt.
const ROUNDS: usize = 6;

/// DataFusion, set up once for all statements.
#[derive(Debug)]
pub struct Planning {
    state: SessionState,
    /// The part of `pg_catalog` that is the same in every database.
    pg_catalog: Option<Arc<dyn SchemaProvider>>,
    current: Arc<ArcSwap<Catalog>>,
    threads: PlanningThreads,
}

/// What DataFusion's planner is told.
pub fn parser_options() -> ParserOptions {
    ParserOptions::new().with_parse_float_as_decimal(true).with_collect_spans(true)
}

impl Planning {
    /// Queries that run alone share `memory` bytes.
    pub fn new(memory: usize) -> Planning {
        let current = Arc::new(ArcSwap::default());
        let (state, pg_catalog) = crate::dialect::session_state(&current, memory);
        Planning { state, pg_catalog, current, threads: PlanningThreads::new() }
    }

    /// Where planning is done.
    pub fn threads(&self) -> &PlanningThreads {
        &self.threads
    }

    /// DataFusion's state.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Whether DataFusion, or we, have a function of that name.
    pub fn has_function(&self, name: &str) -> bool {
        self.state.scalar_functions().contains_key(name)
            || crate::dialect::kernel_function(name).is_some()
            || self.state.aggregate_functions().contains_key(name)
            || self.state.window_functions().contains_key(name)
            || self.state.higher_order_functions().contains_key(name)
    }

    /// The part of `pg_catalog` that is the same in every database.
    pub fn pg_catalog(&self) -> Option<&Arc<dyn SchemaProvider>> {
        self.pg_catalog.as_ref()
    }

    /// The catalog that functions like `pg_get_constraintdef` look into.
    pub fn set_current(&self, catalog: Arc<Catalog>) {
        self.current.store(catalog);
    }

    /// Plans a query; learns the types of its parameters on the way. Not analyzed yet.
    pub fn plan(
        &self,
        catalog: &Arc<Catalog>,
        query: &Query,
        parameters: &mut Parameters,
    ) -> Result<LogicalPlan> {
        let mut query = query.clone();
        let names = Names::new(catalog, self);
        crate::dialect::in_plain_words(&mut query, &self.state, &|table| names.columns_of(table))?;
        crate::dialect::qualify_outer_tables(&mut query);
        let counts_copies = crate::dialect::mark_bags(&mut query);
        crate::dialect::quantify(&mut query, &|index| parameters.declared_array(index));
        crate::dialect::shallow(&mut query, self.state.scalar_functions());
        let mut once = |parameters: &Parameters| {
            let names = Names::new(catalog, self);
            let planner = SqlToRel::new_with_options(&names, parser_options());
            let mut context = context(parameters);
            let statement = Statement::Query(Box::new(query.clone()));
            let plan = planner.sql_statement_to_plan_with_context(statement, &mut context)?;
            check_plan(&plan).map_err(|error| DataFusionError::External(Box::new(error)))?;
            if counts_copies { crate::dialect::number_bags(plan) } else { Ok(plan) }
        };
        let plan = settle(parameters, &mentioned(&query), &mut once, infer)?;
        let plan = crate::dialect::count_paddings(crate::dialect::rewrite_casts(plan)?)?;
        crate::dialect::without_repeated_keys(plan)
    }

    /// Plans an expression over a schema; `wanted` is the type that its context gives unknown parameters.
    pub fn expression(
        &self,
        catalog: &Arc<Catalog>,
        expr: &SqlExpr,
        schema: &DFSchema,
        wanted: Option<&datafusion::arrow::datatypes::DataType>,
        parameters: &mut Parameters,
    ) -> Result<Expr> {
        let mut expr = expr.clone();
        crate::dialect::spell_out(&mut expr);
        crate::dialect::quantify(&mut expr, &|index| parameters.declared_array(index));
        crate::dialect::shallow(&mut expr, self.state.scalar_functions());
        let mut once = |parameters: &Parameters| {
            let names = Names::new(catalog, self);
            let planner = SqlToRel::new_with_options(&names, parser_options());
            planner.sql_to_expr(expr.clone(), schema, &mut context(parameters))
        };
        let infer = |planned: &Expr, parameters: &mut Parameters| {
            infer_expression(planned, schema, wanted, parameters)
        };
        settle(parameters, &mentioned(&expr), &mut once, infer)
    }

    /// Coerces and simplifies an expression.
    pub fn analyze(&self, expr: Expr, schema: &Arc<DFSchema>) -> Result<Expr> {
        let refused = |error| DataFusionError::External(Box::new(error));
        check_expression(&expr).map_err(refused)?;
        let expr = crate::dialect::rewrite_expression(expr, schema)?.data;
        zones::check_expression(&expr, schema)?;
        let context = SimplifyContext::builder()
            .with_schema(schema.clone())
            .with_config_options(self.state.config_options().clone())
            .with_query_execution_start_time(Some(chrono::Utc::now()))
            .build();
        let simplifier = ExprSimplifier::new(context);
        let coerced = simplifier.coerce(expr, schema)?;
        zones::check_expression(&coerced, schema)?;
        let spanned = crate::dialect::by_span(coerced, schema)?.data;
        let kept = crate::dialect::keep_expression(spanned, schema)?.data;
        let simplified = crate::dialect::release_expression(simplifier.simplify(kept)?)?.data;
        crate::dialect::settle_expression(simplified, schema, self.state.config_options())
    }

    /// Analyzes and optimizes a plan.
    pub fn optimize(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        let by_span = crate::dialect::ordered_by_span(plan, &self.state)?;
        let plan = by_span.as_ref().unwrap_or(plan);
        crate::dialect::planned(|| crate::dialect::optimize(plan, &self.state))
    }
}

fn context(parameters: &Parameters) -> PlannerContext {
    PlannerContext::new().with_prepare_param_data_types(parameters.fields())
}

/// The parameters that a piece of a statement mentions, counted from 0.
fn mentioned<T: Visit>(node: &T) -> Vec<usize> {
    struct Finder(Vec<usize>);
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            if let Value::Placeholder(id) = &value.value
                && let Ok(index) = placeholder_index(id)
            {
                self.0.push(index);
            }
            ControlFlow::Continue(())
        }
    }
    let mut finder = Finder(Vec::new());
    let _ = node.visit(&mut finder);
    finder.0
}

/// Plans again and again until nothing new is learnt about the parameters; what stays unknown is text.
fn settle<P>(
    parameters: &mut Parameters,
    mentioned: &[usize],
    plan: &mut dyn FnMut(&Parameters) -> Result<P>,
    infer: impl Fn(&P, &mut Parameters) -> Result<bool>,
) -> Result<P> {
    for _ in 0..ROUNDS {
        let planned = match plan(parameters) {
            Ok(planned) => planned,
            // A parameter of unknown type may be what the planner stumbled over.
            Err(error) => {
                if !parameters.default_to_text(mentioned) {
                    return Err(error);
                }
                continue;
            }
        };
        // There is nothing to learn where there are no parameters.
        let is_settled = mentioned.is_empty() || !infer(&planned, parameters)?;
        if is_settled && !parameters.default_to_text(mentioned) {
            return Ok(planned);
        }
    }
    Err(DataFusionError::Plan("types of parameters contradict each other".to_owned()))
}
