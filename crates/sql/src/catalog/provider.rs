//! The catalog as DataFusion's planner asks for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, IntervalUnit, SchemaRef, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, DataFusionError, Result, TableReference};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{
    ContextProvider, ExprPlanner, RelationPlanner, TypePlanner,
};
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, LogicalPlanBuilder, ScalarUDF, TableSource,
    WindowUDF,
};
use datafusion::sql::planner::SqlToRel;
use datafusion::sql::sqlparser::ast::{ObjectName, Statement};
use engine::types::{DataType, Error, SqlState};

use crate::bounded::name_relation;
use crate::dialect::Given;
use crate::template::{Planning, lock_words};

use super::{
    Catalog, FOUND_SCHEMA, HIDDEN_SCHEMA, TableRelation, ViewDefinition, ViewRelation, system,
};

/// Views inside views at most.
const VIEW_DEPTH: usize = 16;

/// Names of one catalog and DataFusion's functions.
pub struct Names<'a> {
    catalog: &'a Arc<Catalog>,
    planning: &'a Planning,
    state: &'a SessionState,
    depth: usize,
    /// Views that have been planned: a query that merges columns asks for each twice.
    views: Rc<RefCell<HashMap<String, Arc<dyn TableSource>>>>,
}

impl<'a> Names<'a> {
    /// The names of `catalog`.
    pub fn new(catalog: &'a Arc<Catalog>, planning: &'a Planning) -> Names<'a> {
        Names { catalog, planning, state: planning.state(), depth: 0, views: Rc::default() }
    }

    /// Names and types of a table's or view's columns; `None` where it is not known by that name.
    pub fn columns_of(&self, table: &ObjectName) -> Option<Vec<Given>> {
        let (schema, name) = crate::statement::naming::split(table).ok()?;
        let reference = match schema {
            Some(schema) => TableReference::partial(schema, name),
            None => TableReference::bare(name),
        };
        let schema = self.get_table_source(reference).ok()?.schema();
        let fields = schema.fields().iter();
        Some(fields.map(|field| (field.name().clone(), Some(field.data_type().clone()))).collect())
    }

    /// A system table: ours, or one that is the same in every PostgreSQL database.
    fn system(&self, schema: &str, name: &str) -> Result<Option<Arc<dyn TableSource>>> {
        if matches!(name, "pg_class" | "pg_attribute" | "columns") {
            self.catalog.learn_views(|view| self.columns(view));
        }
        let own = system::relation(self.catalog, schema, name);
        let (None, "pg_catalog", Some(provider)) = (&own, schema, self.planning.pg_catalog())
        else {
            return Ok(own);
        };
        // These tables lie in memory: the future is ready at once.
        let found = futures::executor::block_on(provider.table(name))?;
        Ok(found.map(provider_as_source))
    }

    fn columns(&self, view: &ViewDefinition) -> Option<Vec<(String, DataType)>> {
        let planned = self.view_plan(view).ok()?;
        let (_, columns) = crate::template::describe(&planned, planned.schema());
        Some(columns.iter().map(|column| (column.name.to_string(), column.data_type)).collect())
    }

    fn view(&self, view: &ViewDefinition) -> Result<Arc<dyn TableSource>> {
        if let Some(known) = self.views.borrow().get(&view.name) {
            return Ok(known.clone());
        }
        let planned: Arc<dyn TableSource> = Arc::new(ViewRelation { plan: self.view_plan(view)? });
        self.views.borrow_mut().insert(view.name.clone(), planned.clone());
        Ok(planned)
    }

    fn view_plan(&self, view: &ViewDefinition) -> Result<LogicalPlan> {
        if self.depth >= VIEW_DEPTH {
            let message = "views are nested too deeply";
            return Err(external(Error::new(SqlState::StatementTooComplex, message)));
        }
        let inner = Names { depth: self.depth + 1, views: self.views.clone(), ..*self };
        let mut statements = crate::template::parse(&view.text).map_err(external)?;
        let mut statement = statements.pop().ok_or_else(|| unknown(&view.name))?;
        lock_words::refuse_locks(&statement).map_err(external)?;
        crate::template::name_columns(&mut statement);
        if let Statement::Query(query) = &mut statement {
            let tables = |table: &ObjectName| inner.columns_of(table);
            crate::dialect::in_plain_words(query, self.state, &tables)?;
        }
        crate::dialect::shallow(&mut statement, self.state.scalar_functions());
        let planner = SqlToRel::new_with_options(&inner, crate::template::parser_options());
        let plan = planner.sql_statement_to_plan(statement)?;
        let fields = plan.schema().columns();
        let names = fields.iter().enumerate().map(|(i, column)| {
            let own = crate::template::visible_name(&column.name).to_owned();
            let name = view.columns.get(i).cloned().unwrap_or(own);
            Expr::Column(column.clone()).alias(name)
        });
        let names: Vec<Expr> = names.collect();
        LogicalPlanBuilder::from(plan).project(names)?.build()
    }

    /// The arguments of a table function, computed as far as they are constant. The ends of a series of times take
    /// the type that DataFusion's wants, its step is an interval.
    fn constants(&self, function: &str, args: Vec<Expr>) -> Result<Vec<Expr>> {
        let empty = Arc::new(DFSchema::empty());
        let computed = args.into_iter().map(|arg| self.planning.analyze(arg, &empty));
        let mut computed = computed.collect::<Result<Vec<Expr>>>()?;
        let timed = matches!(
            computed.first(),
            Some(Expr::Literal(first, _)) if matches!(first.data_type(), ArrowType::Timestamp(..) | ArrowType::Date32)
        );
        if function == "generate_series" {
            let end = ArrowType::Timestamp(TimeUnit::Nanosecond, None);
            let step = ArrowType::Interval(IntervalUnit::MonthDayNano);
            for (i, arg) in computed.iter_mut().enumerate() {
                let Expr::Literal(value, _) = arg else { continue };
                let wanted = match (timed, i) {
                    (true, 0 | 1) => &end,
                    (true, _) => &step,
                    (false, _) => &ArrowType::Int64,
                };
                if value.data_type() != *wanted && !value.is_null() {
                    *arg = Expr::Literal(value.cast_to(wanted)?, None);
                }
            }
        }
        Ok(computed)
    }

    fn public(&self, name: &str, hidden: bool) -> Result<Option<Arc<dyn TableSource>>> {
        name_relation().map_err(external)?;
        if let Some(table) = self.catalog.table(None, name) {
            return Ok(Some(Arc::new(TableRelation::new(table, hidden))));
        }
        self.catalog.view(name).map(|view| self.view(view)).transpose()
    }
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn unknown(name: &str) -> DataFusionError {
    let message = format!("relation \"{name}\" does not exist");
    external(Error::new(SqlState::UndefinedTable, message))
}

impl ContextProvider for Names<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let table = name.table();
        let found = match name.schema() {
            None => match self.public(table, false)? {
                Some(found) => Some(found),
                None => self.system("pg_catalog", table)?,
            },
            Some("public") => self.public(table, false)?,
            Some(HIDDEN_SCHEMA) => self.public(table, true)?,
            Some(FOUND_SCHEMA) => {
                self.catalog.found(table).map(|found| found.clone() as Arc<dyn TableSource>)
            }
            Some(schema) => self.system(schema, table)?,
        };
        found.ok_or_else(|| unknown(&name.to_string()))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> Result<Arc<dyn TableSource>> {
        use datafusion::catalog::TableFunctionArgs;
        let Some(function) = self.state.table_functions().get(name) else {
            let message = format!("function {name} does not exist");
            return Err(external(Error::new(SqlState::UndefinedFunction, message)));
        };
        let args = self.constants(name, args)?;
        let arguments = TableFunctionArgs::new(&args, self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(arguments)?))
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        crate::dialect::derived_tables()
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(super::types::PostgresTypes))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        let known = self.state.scalar_functions().get(name).cloned();
        known.or_else(|| crate::dialect::kernel_function(name))
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        self.state.aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<ArrowType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}
