//! A logical plan, operator by operator.

use std::any::Any;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{
    self as df, Expr, ExprSchemable, LogicalPlan, Projection, Subquery, TableScan,
};
use engine::plan::{PlanNode, ScalarSubquery, SortKey};
use engine::types::{DataType, Scalar, Value};

use super::guards::is_opaque;
use super::join::{exact_type, key_column};
use super::node::{Columns, Input};
use super::predicate::{predicates, predicates_of, scalar};
use super::{Result, aggregate, join, refuse, unalias};
use crate::catalog::TableRelation;
use crate::catalog::system::SystemRelation;
use crate::dialect::may_fail;

/// A query in the engine's form.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The tree; its output columns are the query's.
    pub root: PlanNode,
    /// Types of the output columns.
    pub types: Vec<DataType>,
    /// Types of all parameters, those of the subqueries at the end.
    pub parameters: Vec<DataType>,
    /// Uncorrelated scalar subqueries, in the order in which they have to run.
    pub subqueries: Vec<ScalarSubquery>,
}

/// Compiles an optimized plan whose parameters have these types.
pub fn compile(plan: &LogicalPlan, parameters: &[DataType]) -> Result<Compiled> {
    let mut compiler = Compiler::new(parameters);
    let root = compiler.node(plan)?.exact();
    Ok(Compiled {
        root: root.node,
        types: root.types,
        parameters: compiler.parameters,
        subqueries: compiler.subqueries,
    })
}

/// Parameters and subqueries met so far.
pub struct Compiler {
    parameters: Vec<DataType>,
    subqueries: Vec<ScalarSubquery>,
    known: Vec<(Subquery, usize, ArrowType)>,
}

impl Compiler {
    /// A compiler of plans over these parameters.
    pub fn new(parameters: &[DataType]) -> Compiler {
        Compiler { parameters: parameters.to_vec(), subqueries: Vec::new(), known: Vec::new() }
    }

    /// Compiles one operator and what is below it.
    pub fn node(&mut self, plan: &LogicalPlan) -> Result<Input> {
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Projection(projection) => self.projection(projection),
            LogicalPlan::Filter(filter) => self.filter(filter),
            LogicalPlan::Join(join) => join::join(self, join),
            LogicalPlan::Aggregate(aggregate) => aggregate::aggregate(self, aggregate),
            LogicalPlan::Sort(sort) => self.sort(sort),
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Distinct(df::Distinct::All(input)) => self.distinct(input),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Values(values) => self.values(values),
            LogicalPlan::EmptyRelation(empty) => self.empty(empty),
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.node(&alias.input)?;
                Ok(Input { schema: alias.schema.clone(), ..input })
            }
            LogicalPlan::Window(_) => refuse("window functions"),
            LogicalPlan::RecursiveQuery(_) => refuse("a recursive query"),
            LogicalPlan::Unnest(_) => refuse("unnest"),
            LogicalPlan::Distinct(df::Distinct::On(_)) => refuse("DISTINCT ON"),
            other => refuse(format!("{}", other.display())),
        }
    }

    fn scan(&mut self, scan: &TableScan) -> Result<Input> {
        let source = scan.source.as_ref() as &dyn Any;
        if source.is::<SystemRelation>() {
            return refuse(format!("{} is a system table", scan.table_name));
        }
        let Some(relation) = source.downcast_ref::<TableRelation>() else {
            return refuse(format!("{} is no stored table", scan.table_name));
        };
        if relation.is_hidden() {
            return refuse("row ids are read");
        }
        let whole =
            df::LogicalPlanBuilder::scan(scan.table_name.clone(), scan.source.clone(), None);
        let whole = whole.and_then(|builder| builder.build()).map_err(|e| e.to_string())?;
        let columns: Vec<usize> = relation.columns.iter().map(|id| id.index()).collect();
        let mut resolve = Columns::new(self, whole.schema().clone(), columns.clone());
        let found = predicates_of(&scan.filters, &mut resolve)?;
        let projected = match &scan.projection {
            Some(projection) => projection.iter().map(|field| columns[*field]).collect(),
            None => columns,
        };
        let types = relation.table.columns.iter().map(|column| column.data_type).collect();
        let node = PlanNode::Scan { table: relation.table.id, predicates: found };
        let schema = scan.projected_schema.clone();
        let mut input = Input { node, schema, columns: projected, types };
        if let Some(fetch) = scan.fetch {
            let fetch = Some(Scalar::Literal(Value::BigInt(fetch as i64)));
            input.node = PlanNode::Limit { input: Box::new(input.node), skip: None, fetch };
        }
        Ok(input)
    }

    fn projection(&mut self, projection: &Projection) -> Result<Input> {
        let input = self.node(&projection.input)?;
        let columns = projection.expr.iter().map(|expr| match unalias(expr) {
            Expr::Column(column) => input.position(column).map(Some),
            _ => Ok(None),
        });
        let columns: Vec<Option<usize>> = columns.collect::<Result<_>>()?;
        let schema = projection.schema.clone();
        if let Some(columns) = columns.iter().copied().collect::<Option<Vec<_>>>() {
            return Ok(Input { columns, schema, ..input });
        }
        let mut expressions = Vec::with_capacity(columns.len());
        let mut types = Vec::with_capacity(columns.len());
        for (expr, column) in projection.expr.iter().zip(columns) {
            if let Some(column) = column {
                expressions.push(Scalar::Column(column));
                types.push(input.types[column]);
                continue;
            }
            let data_type = expr.get_type(&*input.schema).map_err(|error| error.to_string())?;
            types.push(output_type(&data_type)?);
            expressions.push(scalar(expr, &mut Columns::of(self, &input))?);
        }
        let columns = (0..types.len()).collect();
        let input = Box::new(input.node);
        let node = PlanNode::Project { input, expressions, types: types.clone() };
        Ok(Input { node, schema, columns, types })
    }

    fn filter(&mut self, filter: &df::Filter) -> Result<Input> {
        let input = self.node(&filter.input)?;
        let found = predicates(&filter.predicate, &mut Columns::of(self, &input))?;
        // What the scan asks may guard it.
        let waits = may_fail(&filter.predicate, &input.schema)
            && matches!(&input.node, PlanNode::Scan { predicates, .. }
                if predicates.iter().any(is_opaque));
        let node = match input.node {
            PlanNode::Scan { table, mut predicates } if !waits => {
                predicates.extend(found);
                PlanNode::Scan { table, predicates }
            }
            node => PlanNode::Filter { input: Box::new(node), predicates: found },
        };
        Ok(Input { node, ..input })
    }

    fn sort(&mut self, sort: &df::Sort) -> Result<Input> {
        let mut input = self.node(&sort.input)?;
        let mut keys = Vec::with_capacity(sort.expr.len());
        for key in &sort.expr {
            let column = key_column(self, &mut input, &key.expr)?;
            keys.push(SortKey { column, descending: !key.asc, nulls_first: key.nulls_first });
        }
        let fetch = sort.fetch.map(|rows| Scalar::Literal(Value::BigInt(rows as i64)));
        let node = PlanNode::Sort { input: Box::new(input.node), keys, skip: None, fetch };
        Ok(Input { node, ..input })
    }

    fn limit(&mut self, limit: &df::Limit) -> Result<Input> {
        let input = self.node(&limit.input)?;
        let mut count = |expr: &Option<Box<Expr>>| match expr.as_deref() {
            None | Some(Expr::Literal(ScalarValue::Null, _)) => Ok(None),
            Some(expr) => scalar(expr, &mut Columns::of(self, &input)).map(Some),
        };
        let (skip, fetch) = (count(&limit.skip)?, count(&limit.fetch)?);
        Ok(Input { node: cut(input.node, skip, fetch), ..input })
    }

    fn distinct(&mut self, input: &LogicalPlan) -> Result<Input> {
        let input = self.node(input)?.exact();
        let node = PlanNode::Distinct { input: Box::new(input.node) };
        Ok(Input { node, ..input })
    }

    fn union(&mut self, union: &df::Union) -> Result<Input> {
        let inputs: Result<Vec<Input>> =
            union.inputs.iter().map(|input| Ok(self.node(input)?.exact())).collect();
        let inputs = inputs?;
        let types = union.schema.fields().iter().map(|field| output_type(field.data_type()));
        let types = types.collect::<Result<Vec<_>>>()?;
        let same =
            |input: &Input| input.types.iter().zip(&types).all(|(a, b)| a.arrow() == b.arrow());
        if !inputs.iter().all(same) {
            return refuse("UNION of different types");
        }
        let node = PlanNode::Union { inputs: inputs.into_iter().map(|input| input.node).collect() };
        let columns = (0..types.len()).collect();
        Ok(Input { node, schema: union.schema.clone(), columns, types })
    }

    fn values(&mut self, values: &df::Values) -> Result<Input> {
        let types = values.schema.fields().iter().map(|field| output_type(field.data_type()));
        let types = types.collect::<Result<Vec<_>>>()?;
        let mut rows = Vec::with_capacity(values.values.len());
        for row in &values.values {
            let mut resolve = Columns::new(self, values.schema.clone(), Vec::new());
            let row = row.iter().map(|expr| scalar(expr, &mut resolve));
            rows.push(row.collect::<Result<Vec<_>>>()?);
        }
        let node = PlanNode::Values { rows, types: types.clone() };
        let columns = (0..types.len()).collect();
        Ok(Input { node, schema: values.schema.clone(), columns, types })
    }

    fn empty(&mut self, empty: &df::EmptyRelation) -> Result<Input> {
        let types = empty.schema.fields().iter().map(|field| output_type(field.data_type()));
        let types = types.collect::<Result<Vec<_>>>()?;
        let rows = if empty.produce_one_row { vec![Vec::new()] } else { Vec::new() };
        if empty.produce_one_row && !types.is_empty() {
            return refuse("a row of unknown values");
        }
        let node = PlanNode::Values { rows, types: types.clone() };
        let columns = (0..types.len()).collect();
        Ok(Input { node, schema: empty.schema.clone(), columns, types })
    }

    /// The parameter that receives a subquery's value.
    pub fn subquery(&mut self, subquery: &Subquery) -> Result<(usize, ArrowType)> {
        if let Some((_, parameter, data_type)) = self.known.iter().find(|(s, ..)| s == subquery) {
            return Ok((*parameter, data_type.clone()));
        }
        if !subquery.outer_ref_columns.is_empty() {
            return refuse("a correlated subquery");
        }
        let input = self.node(&subquery.subquery)?.exact();
        let arrow = subquery.subquery.schema().field(0).data_type().clone();
        let parameter = self.parameters.len();
        self.parameters.push(exact_type(&arrow)?);
        self.subqueries.push(ScalarSubquery { parameter, root: input.node });
        self.known.push((subquery.clone(), parameter, arrow.clone()));
        Ok((parameter, arrow))
    }
}

/// NULL alone is text, as in PostgreSQL.
fn output_type(arrow: &ArrowType) -> Result<DataType> {
    if arrow.is_null() { Ok(DataType::Text) } else { exact_type(arrow) }
}

/// A cut goes into the sort below it, also through projections.
fn cut(node: PlanNode, skip: Option<Scalar>, fetch: Option<Scalar>) -> PlanNode {
    match node {
        PlanNode::Sort { input, keys, skip: None, fetch: own } if covers(&own, &skip, &fetch) => {
            PlanNode::Sort { input, keys, skip, fetch }
        }
        PlanNode::Project { input, expressions, types }
            if matches!(*input, PlanNode::Sort { .. }) =>
        {
            let input = Box::new(cut(*input, skip, fetch));
            PlanNode::Project { input, expressions, types }
        }
        node => PlanNode::Limit { input: Box::new(node), skip, fetch },
    }
}

/// Whether a sort's own cut is none, or what the optimizer made of the cut above it.
fn covers(own: &Option<Scalar>, skip: &Option<Scalar>, fetch: &Option<Scalar>) -> bool {
    let count = |scalar: &Option<Scalar>| match scalar {
        None => Some(0),
        Some(Scalar::Literal(Value::BigInt(rows))) => Some(*rows),
        _ => None,
    };
    own.is_none()
        || (fetch.is_some()
            && count(own).is_some()
            && count(own) == count(skip).zip(count(fetch)).map(|(s, f)| s + f))
}
