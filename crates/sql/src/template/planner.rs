//! The door for sessions: queries in, templates out; one per database.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, Query, Visit, Visitor};
use engine::heartbeat::Engine;
use engine::plan::{OutputColumn, TemplatePlan};
use engine::types::{DataType, Result, TableId, TableSchema};
use parking_lot::Mutex;

use super::origin::origin;
use super::{
    Parameters, Path, Planning, QueryTemplate, fault, json_items, lock_words, visible_name, zones,
};
use crate::bounded;
use crate::catalog::{Catalog, TableRelation, types};
use crate::compile::{Relation, Scope, compile};
use crate::session::ColumnDescription;
use crate::text::session_zone;

/// Equal shape, equal parameter types, equal catalog: equal template. Arrays are texts by their types: those that the client
/// declares are told apart by their ids.
type Shape = (String, Vec<DataType>, Vec<(usize, u32)>, u64, String);

/// Plans queries and expressions over the newest catalog.
pub struct Planner {
    engine: Arc<Engine>,
    planning: Arc<Planning>,
    catalog: ArcSwap<Catalog>,
    version: AtomicU64,
    shapes: Mutex<HashMap<Shape, Weak<QueryTemplate>>>,
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Planner {
    /// A planner over what the engine holds.
    pub fn new(engine: Arc<Engine>) -> Planner {
        let catalog = Arc::new(Catalog::read(&engine, 1));
        let planning = Planning::new(engine.memory_limit());
        planning.set_current(catalog.clone());
        Planner {
            engine,
            planning: Arc::new(planning),
            catalog: ArcSwap::new(catalog),
            version: AtomicU64::new(1),
            shapes: Mutex::default(),
        }
    }

    /// The engine below.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// DataFusion's part.
    pub fn planning(&self) -> &Arc<Planning> {
        &self.planning
    }

    /// What is defined now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// A version for a catalog that only one session sees.
    pub fn next_version(&self) -> u64 {
        self.version.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Reads the engine's definitions again, after each change of one.
    pub fn refresh(&self) -> Arc<Catalog> {
        let mut shapes = self.shapes.lock();
        let version = self.version.fetch_add(1, Ordering::Relaxed) + 1;
        let catalog = Catalog::read_after(&self.catalog.load(), &self.engine, version);
        let catalog = Arc::new(catalog);
        self.catalog.store(catalog.clone());
        self.planning.set_current(catalog.clone());
        shapes.retain(|_, template| template.strong_count() > 0);
        catalog
    }

    /// Expressions over tables.
    pub fn scope<'a>(
        &'a self,
        catalog: &'a Arc<Catalog>,
        relations: &[Relation<'_>],
    ) -> Result<Scope<'a>> {
        Scope::new(&self.planning, catalog, relations)
    }

    /// Plans a query, whose locking clauses were taken out before. `shape` is its text with literals lifted.
    pub fn query(
        &self,
        catalog: &Arc<Catalog>,
        query: &Query,
        parameters: &mut Parameters,
        shape: &str,
    ) -> Result<Arc<QueryTemplate>> {
        lock_words::refuse_locks(query)?;
        let faulty = |error| fault(&error);
        let plan = self.planning.plan(catalog, query, parameters).map_err(faulty)?;
        let (arrays, zone) = (parameters.declared_arrays(), session_zone().name().to_owned());
        let key = (shape.to_owned(), parameters.types(), arrays, catalog.version, zone);
        zones::check_plan(&plan).map_err(faulty)?;
        if let Some(known) = self.shapes.lock().get(&key).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let optimized = self.planning.optimize(&plan).map_err(faulty)?;
        zones::check_plan(&optimized).map_err(faulty)?;
        bounded::checkpoint()?;
        let (columns, output) = describe(&plan, optimized.schema());
        let columns = json_items::marked(query, columns);
        let types = parameters.types();
        let tables = tables(&optimized);
        let definitions = tables.iter().filter_map(|id| catalog.table_by_id(*id).cloned());
        let path = self.path(&optimized, parameters, &output, definitions.collect(), shape);
        let template = Arc::new(QueryTemplate {
            text: shape.into(),
            parameters: types,
            columns,
            output,
            path,
            tables,
            version: catalog.version,
            plan: optimized,
            planning: self.planning.clone(),
            engine: Arc::downgrade(&self.engine),
        });
        self.remember(key, &template);
        Ok(template)
    }

    fn remember(&self, key: Shape, template: &Arc<QueryTemplate>) {
        let mut shapes = self.shapes.lock();
        if shapes.len() == shapes.capacity() {
            shapes.retain(|_, template| template.strong_count() > 0);
        }
        shapes.insert(key, Arc::downgrade(template));
    }

    /// Through the global plan where it can run there.
    fn path(
        &self,
        plan: &LogicalPlan,
        parameters: &Parameters,
        output: &Arc<[OutputColumn]>,
        definitions: Vec<Arc<TableSchema>>,
        shape: &str,
    ) -> Path {
        if let Some(reason) = bounded::too_large_to_share(plan) {
            return Path::Alone(reason);
        }
        let compiled = match compile(plan, &parameters.types()) {
            Ok(compiled) => compiled,
            Err(reason) => return Path::Alone(reason),
        };
        let registered = self.engine.register(TemplatePlan {
            root: compiled.root,
            output: output.clone(),
            parameters: compiled.parameters,
            peeked: parameters.peeked(),
            scalar_subqueries: compiled.subqueries,
            definitions,
            text: shape.into(),
        });
        match registered {
            Ok(template) => Path::Shared(template),
            Err(error) => Path::Alone(error.message.clone()),
        }
    }
}

/// What the client sees of a plan's columns, whose `analyzed` schema tells which numbers they are: before, a CASE or a UNION is
/// of the type of its first branch, or of none where that is NULL.
pub fn describe(
    plan: &LogicalPlan,
    analyzed: &DFSchema,
) -> (Arc<[ColumnDescription]>, Arc<[OutputColumn]>) {
    let fields = plan.schema().fields().iter().enumerate();
    let described = fields.map(|(i, field)| {
        let name: Arc<str> = visible_name(field.name()).into();
        let origin = origin(plan, i);
        let arrow = match (field.data_type(), analyzed.field(i).data_type()) {
            (planned, exact) if planned.is_numeric() && exact.is_numeric() => exact,
            (ArrowType::Null, exact) => exact,
            (planned, _) => planned,
        };
        let data_type = origin.as_ref().map_or_else(|| types::from_arrow(arrow), |o| o.data_type);
        let computed = origin.is_none();
        let description = ColumnDescription {
            name: name.clone(),
            type_id: if computed { types::id_of_arrow(arrow) } else { types::id_of(data_type) },
            type_size: types::size_of(data_type),
            type_modifier: if computed { -1 } else { types::modifier_of(data_type) },
            table: origin.as_ref().map_or(0, |o| crate::catalog::table_oid(o.table)),
            column: origin.map_or(0, |o| crate::catalog::column_number(o.column)),
        };
        (description, OutputColumn { name, data_type })
    });
    let (columns, output): (Vec<_>, Vec<_>) = described.unzip();
    (columns.into(), output.into())
}

fn tables(plan: &LogicalPlan) -> Vec<TableId> {
    let mut tables = Vec::new();
    add_tables(plan, &mut tables);
    tables.sort();
    tables.dedup();
    tables
}

fn add_tables(plan: &LogicalPlan, tables: &mut Vec<TableId>) {
    let _ = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Some(relation) =
                (scan.source.as_ref() as &dyn std::any::Any).downcast_ref::<TableRelation>()
        {
            tables.push(relation.table.id);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    for inner in crate::dialect::applied_plans(plan) {
        add_tables(&inner, tables);
    }
}

/// Whether an expression asks another query.
pub fn has_subquery(expr: &SqlExpr) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.visit(&mut Finder).is_break()
}
