//! Subqueries that DataFusion cannot turn into joins.
//!
//! An optimized plan that still holds one (or a plan that DataFusion refuses to optimize for it) comes in; out goes a
//! plan in which each is a function of the outer columns that it reads. The function runs the subquery once per
//! distinct row of outer values, as PostgreSQL's SubPlan does, and remembers the answers while one statement runs.
//! Such a statement runs alone.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};

use datafusion::arrow::array::{ArrayRef, RecordBatch, StructArray, new_empty_array};
use datafusion::arrow::compute::cast as arrow_cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::{InSubquery, ScalarFunction, SetComparison, SetQuantifier};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Subquery, TypeSignature, Volatility,
    cast,
};
use datafusion::physical_plan::collect;
use engine::types::limit::current;
use engine::types::{Error, SqlState};

use super::groups_of_nothing::is_group_of_nothing;
use super::hoisted::hoist;
use super::laterals::{
    apply_laterals, field_name, has_doubtful_laterals, has_laterals, keeps_laterals,
};
use super::memberships::apply_unknown;
use super::nested::settle;
use super::pinned::pin;
use super::rewritten::with_expressions;
use super::subqueries::{has, reaches_past};
use crate::alone::{self, Limits};
use crate::bounded::check_expressions;

/// `ARRAY(subquery)` under this name: the subquery's rows as one array.
pub const COLLECT: &str = "__collect";

/// Answers of several rows that are remembered at most.
const REMEMBERED: usize = 1_024;

/// Optimizes a plan; subqueries that stay in it are applied row by row.
pub fn optimize(plan: &LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    check_expressions(plan).map_err(|fault| DataFusionError::External(Box::new(fault)))?;
    let apply_member = |expr, schema: &DFSchema| apply_one(expr, schema, state);
    let plan = match has_doubtful_laterals(plan) {
        true => with_rows(plan.clone(), state)?,
        false => plan.clone(),
    };
    let plan = apply_unknown(plan, &apply_member)?.data;
    let apply_groups = |node| apply_in(node, is_group_of_nothing, state);
    let plan = &plan.transform_up_with_subqueries(apply_groups)?.data;
    if has(plan, &|expr| matches!(expr, Expr::SetComparison(_))) {
        // DataFusion's own way mixes up the columns of a table that is on both sides.
        let applied = apply(plain_membership(plan.clone())?, state)?;
        return settled(state.optimize(&applied.data)?, state);
    }
    if reaches_past(plan)? {
        // DataFusion's joins would look for the column in the query between.
        return settled(state.optimize(&apply(plan.clone(), state)?.data)?, state);
    }
    let optimized = state.optimize(&hoist(pin(plan.clone())?.data)?.data);
    let is_done = |plan: &LogicalPlan| !has_left_over(plan) && !keeps_laterals(plan);
    if optimized.as_ref().is_ok_and(is_done) {
        return settled(optimized?, state);
    }
    let plan = match has_laterals(plan) {
        true => Transformed::yes(with_rows(plan.clone(), state)?),
        false => Transformed::no(plan.clone()),
    };
    let applied = plan.transform_data(|plan| apply(plan, state))?;
    let optimized = if applied.transformed { state.optimize(&applied.data) } else { optimized };
    settled(optimized?, state)
}

/// Lateral joins by the rows of their right sides.
fn with_rows(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    apply_laterals(plan, &|subquery, is_left, schema| {
        call(Kind::Rows { is_left }, subquery, None, schema, state)
    })
}

fn settled(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    settle(plan, state.config_options())
}

/// `= ANY` is IN, `<> ALL` is NOT IN: these DataFusion joins well.
fn plain_membership(plan: LogicalPlan) -> Result<LogicalPlan> {
    let rewritten = plan.transform_down_with_subqueries(|node| {
        let preserver = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = preserver.save(&expr);
            let rewritten = expr.transform_down(plain_member)?;
            Ok(rewritten.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(rewritten.data)
}

fn plain_member(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::SetComparison(compare) = expr else { return Ok(Transformed::no(expr)) };
    let negated = match (compare.op, &compare.quantifier) {
        (Operator::Eq, SetQuantifier::Any) => false,
        (Operator::NotEq, SetQuantifier::All) => true,
        _ => return Ok(Transformed::no(Expr::SetComparison(compare))),
    };
    let SetComparison { expr, subquery, .. } = compare;
    Ok(Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated })))
}

fn has_left_over(plan: &LogicalPlan) -> bool {
    has(plan, &is_left_over)
}

fn is_left_over(expr: &Expr) -> bool {
    match expr {
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => true,
        Expr::ScalarSubquery(subquery) => !subquery.outer_ref_columns.is_empty(),
        Expr::ScalarFunction(call) => call.name() == COLLECT,
        _ => false,
    }
}

/// What is made of a subquery's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// The only row's value, or NULL.
    Value,
    /// All values as an array.
    Array,
    /// All rows as an array; NULL for none where a LEFT JOIN keeps the row beside them.
    Rows { is_left: bool },
    /// Whether there is a row.
    Exists { negated: bool },
    /// Whether the last argument compares so with any, or all, of the values.
    Compare { op: Operator, all: bool },
}

/// Replaces every subquery that is left over by a function of the columns around it.
fn apply(plan: LogicalPlan, state: &SessionState) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up(|node| apply_in(node, |expr| Ok(is_left_over(expr)), state))
}

/// Replaces the subqueries in a node's own expressions that are `wanted`.
fn apply_in(
    node: LogicalPlan,
    wanted: fn(&Expr) -> Result<bool>,
    state: &SessionState,
) -> Result<Transformed<LogicalPlan>> {
    let node = with_expressions(node, |expr, schema| {
        // From above: ARRAY must be seen before the subquery in it.
        expr.transform_down(|expr| match wanted(&expr)? {
            true => apply_one(expr, schema, state),
            false => Ok(Transformed::no(expr)),
        })
    })?;
    if node.transformed { node.map_data(LogicalPlan::recompute_schema) } else { Ok(node) }
}

/// Replaces a subquery by a function of the columns around it.
fn apply_one(expr: Expr, schema: &DFSchema, state: &SessionState) -> Result<Transformed<Expr>> {
    if !is_left_over(&expr) {
        return Ok(Transformed::no(expr));
    }
    let call = match expr {
        Expr::Exists(exists) => {
            let kind = Kind::Exists { negated: exists.negated };
            call(kind, &exists.subquery, None, schema, state)?
        }
        Expr::ScalarSubquery(subquery) => call(Kind::Value, &subquery, None, schema, state)?,
        Expr::InSubquery(member) => {
            let (op, all) = match member.negated {
                false => (Operator::Eq, false),
                true => (Operator::NotEq, true),
            };
            let kind = Kind::Compare { op, all };
            call(kind, &member.subquery, Some(*member.expr), schema, state)?
        }
        Expr::SetComparison(compare) => {
            let all = matches!(compare.quantifier, SetQuantifier::All);
            let kind = Kind::Compare { op: compare.op, all };
            call(kind, &compare.subquery, Some(*compare.expr), schema, state)?
        }
        Expr::ScalarFunction(ref collect) => match collect.args.as_slice() {
            [Expr::ScalarSubquery(subquery)] => call(Kind::Array, subquery, None, schema, state)?,
            _ => return Ok(Transformed::no(expr)),
        },
        other => return Ok(Transformed::no(other)),
    };
    // What is below is part of the function now.
    Ok(Transformed::new(call, true, TreeNodeRecursion::Jump))
}

fn call(
    kind: Kind,
    subquery: &Subquery,
    compared: Option<Expr>,
    schema: &DFSchema,
    state: &SessionState,
) -> Result<Expr> {
    let inner = apply(subquery.subquery.as_ref().clone(), state)?.data;
    let limit = match kind {
        Kind::Value => Some(2),
        Kind::Exists { .. } => Some(1),
        Kind::Array | Kind::Rows { .. } | Kind::Compare { .. } => None,
    };
    let inner = match limit {
        Some(_) => LogicalPlanBuilder::from(inner).limit(0, limit)?.build()?,
        None => inner,
    };
    let plan = settled(state.optimize(&inner)?, state)?;
    let outer = outer_columns(&plan)?;
    let mut arguments: Vec<Expr> = outer.iter().map(|(_, expr)| argument(expr, schema)).collect();
    let mut item = match kind {
        Kind::Rows { .. } => DataType::Struct(row_fields(&plan)),
        _ => plan.schema().field(0).data_type().clone(),
    };
    if let Some(compared) = compared {
        let type_of = compared.get_type(schema)?;
        let common = comparison_coercion(&type_of, &item).ok_or_else(|| {
            DataFusionError::Plan(format!(
                "Cannot infer common argument type for comparison operation {type_of} = {item}"
            ))
        })?;
        arguments.push(if type_of == common { compared } else { cast(compared, common.clone()) });
        item = common;
    }
    let function = Applied {
        kind,
        plan: Arc::new(plan),
        outer: outer.into_iter().map(|(column, _)| column).collect(),
        item,
        state: Arc::new(state.clone()),
        known: Mutex::default(),
        signature: any_arguments(),
    };
    let function = Arc::new(ScalarUDF::new_from_impl(function));
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments)))
}

/// A row of a plan as one value.
fn row_fields(plan: &LogicalPlan) -> Fields {
    let fields = plan.schema().fields().iter().enumerate();
    fields.map(|(i, field)| Field::new(field_name(i), field.data_type().clone(), true)).collect()
}

/// The plans of all applied subqueries that a plan calls; those inside them are not among them.
pub fn applied_plans(plan: &LogicalPlan) -> Vec<Arc<LogicalPlan>> {
    let mut plans = Vec::new();
    let _ = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::ScalarFunction(call) = expr
                    && let Some(applied) = Applied::of(&call.func)
                {
                    plans.push(applied.plan().clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    plans
}

/// Any number of arguments of any types, also none.
fn any_arguments() -> Signature {
    let any = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
    Signature::new(any, Volatility::Volatile)
}

/// The columns of outer queries that a plan reads, each once.
fn outer_columns(plan: &LogicalPlan) -> Result<Vec<(Column, Expr)>> {
    let mut found: Vec<(Column, Expr)> = Vec::new();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr
                    && !found.iter().any(|(known, _)| known == column)
                {
                    found.push((column.clone(), expr.clone()));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

/// A column of the query around, or still an outer one where that query is a subquery itself.
fn argument(outer: &Expr, schema: &DFSchema) -> Expr {
    match outer {
        Expr::OuterReferenceColumn(_, column) if schema.has_column(column) => {
            Expr::Column(column.clone())
        }
        other => other.clone(),
    }
}

/// A subquery as a function.
#[derive(Debug)]
pub struct Applied {
    kind: Kind,
    /// Optimized, over outer columns.
    plan: Arc<LogicalPlan>,
    /// The columns behind the arguments.
    outer: Vec<Column>,
    /// The type of the subquery's values, or that in which they are compared.
    item: DataType,
    state: Arc<SessionState>,
    known: Mutex<HashMap<Vec<ScalarValue>, Arc<[ScalarValue]>>>,
    signature: Signature,
}

impl Applied {
    /// The applied subquery behind a function.
    pub fn of(function: &ScalarUDF) -> Option<&Applied> {
        let inner: &dyn std::any::Any = function.inner().as_ref();
        inner.downcast_ref::<Applied>()
    }

    /// What the subquery runs.
    pub fn plan(&self) -> &Arc<LogicalPlan> {
        &self.plan
    }

    /// The same over another plan, without answers yet.
    pub fn with_plan(&self, plan: LogicalPlan) -> ScalarUDF {
        ScalarUDF::new_from_impl(Applied {
            kind: self.kind,
            plan: Arc::new(plan),
            outer: self.outer.clone(),
            item: self.item.clone(),
            state: self.state.clone(),
            known: Mutex::default(),
            signature: self.signature.clone(),
        })
    }

    /// The subquery's values for these outer values.
    fn values(&self, outer: Vec<ScalarValue>) -> Result<Arc<[ScalarValue]>> {
        let poisoned = "nobody panics while answers are kept";
        if let Some(known) = self.known.lock().expect(poisoned).get(&outer) {
            return Ok(known.clone());
        }
        let plan = substitute(&self.plan, &self.outer, &outer)?;
        let values: Arc<[ScalarValue]> = wait(self.run(plan))??.into();
        let mut known = self.known.lock().expect(poisoned);
        if !matches!(self.kind, Kind::Rows { .. }) || known.len() < REMEMBERED {
            known.insert(outer, values.clone());
        }
        Ok(values)
    }

    async fn run(&self, plan: LogicalPlan) -> Result<Vec<ScalarValue>> {
        let physical =
            self.state.query_planner().create_physical_plan(&plan, self.state.as_ref()).await?;
        let batches = collect(alone::checked(physical)?, self.state.task_ctx()).await?;
        let mut values = Vec::new();
        for batch in batches {
            let given = self.given(&batch)?;
            for row in 0..batch.num_rows() {
                let value = match &given {
                    Some(column) => ScalarValue::try_from_array(column, row)?,
                    None => ScalarValue::Null,
                };
                let wanted = !matches!(self.kind, Kind::Exists { .. });
                values.push(if wanted { value.cast_to(&self.item)? } else { value });
            }
        }
        Ok(values)
    }

    /// What a batch gives: its first column, or its rows.
    fn given(&self, batch: &RecordBatch) -> Result<Option<ArrayRef>> {
        let (Kind::Rows { .. }, DataType::Struct(fields)) = (self.kind, &self.item) else {
            return Ok(batch.columns().first().cloned());
        };
        let columns = batch.columns().iter().zip(fields);
        let columns = columns.map(|(column, field)| Ok(arrow_cast(column, field.data_type())?));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Some(Arc::new(StructArray::try_new(fields.clone(), columns, None)?)))
    }

    fn answer(&self, mut arguments: Vec<ScalarValue>) -> Result<ScalarValue> {
        let compared = match self.kind {
            Kind::Compare { .. } => arguments.pop(),
            _ => None,
        };
        let values = self.values(arguments)?;
        match self.kind {
            Kind::Value => single(&values, &self.item),
            Kind::Rows { is_left: true } if values.is_empty() => {
                ScalarValue::try_from(&DataType::new_list(self.item.clone(), true))
            }
            Kind::Array | Kind::Rows { .. } => {
                let list = ScalarValue::new_list(&values, &self.item, true);
                Ok(ScalarValue::List(list))
            }
            Kind::Exists { negated } => Ok(ScalarValue::from(values.is_empty() == negated)),
            Kind::Compare { op, all } => Ok(ScalarValue::Boolean(compare(
                &compared.unwrap_or(ScalarValue::Null),
                op,
                all,
                &values,
            ))),
        }
    }
}

fn single(values: &[ScalarValue], item: &DataType) -> Result<ScalarValue> {
    match values {
        [] => ScalarValue::try_from(item),
        [value] => Ok(value.clone()),
        _ => {
            let message = "more than one row returned by a subquery used as an expression";
            let error = Error::new(SqlState::CardinalityViolation, message);
            Err(DataFusionError::External(Box::new(error)))
        }
    }
}

/// Whether `left op value` holds for any, or all, of the values; unknown where NULL decides.
fn compare(left: &ScalarValue, op: Operator, all: bool, values: &[ScalarValue]) -> Option<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let mut unknown = false;
    for value in values {
        if left.is_null() || value.is_null() {
            unknown = true;
            continue;
        }
        let order = left.partial_cmp(value);
        let holds = match op {
            Operator::Eq => order == Some(Equal),
            Operator::NotEq => order != Some(Equal),
            Operator::Lt => order == Some(Less),
            Operator::LtEq => matches!(order, Some(Less | Equal)),
            Operator::Gt => order == Some(Greater),
            Operator::GtEq => matches!(order, Some(Greater | Equal)),
            _ => false,
        };
        if holds != all {
            return Some(holds);
        }
    }
    if unknown { None } else { Some(all) }
}

/// The plan with values for its outer columns.
fn substitute(
    plan: &LogicalPlan,
    columns: &[Column],
    values: &[ScalarValue],
) -> Result<LogicalPlan> {
    let replaced = plan.clone().transform_down_with_subqueries(|node| {
        node.map_expressions(|expr| {
            expr.transform_up(|expr| {
                let Expr::OuterReferenceColumn(_, column) = &expr else {
                    return Ok(Transformed::no(expr));
                };
                match columns.iter().position(|known| known == column) {
                    Some(i) => Ok(Transformed::yes(Expr::Literal(values[i].clone(), None))),
                    None => Ok(Transformed::no(expr)),
                }
            })
        })
    })?;
    Ok(replaced.data)
}

/// Runs a future to its end inside a function that cannot wait, as long as its statement runs.
fn wait<F: Future>(future: F) -> Result<F::Output> {
    let limit = current().unwrap_or_else(|| Arc::new(Limits::default()));
    alone::to_its_end(limit, future).map_err(|fault| DataFusionError::External(Box::new(fault)))
}

impl PartialEq for Applied {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.item == other.item && self.plan == other.plan
    }
}

impl Eq for Applied {}

impl Hash for Applied {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.plan.hash(state);
    }
}

impl ScalarUDFImpl for Applied {
    fn name(&self) -> &str {
        "__subquery"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.kind {
            Kind::Value => self.item.clone(),
            Kind::Array | Kind::Rows { .. } => DataType::new_list(self.item.clone(), true),
            Kind::Exists { .. } | Kind::Compare { .. } => DataType::Boolean,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = args.args.iter().map(|arg| arg.to_array(args.number_rows));
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_>>()?;
        let answers = (0..args.number_rows).map(|row| {
            let values = arrays.iter().map(|array| ScalarValue::try_from_array(array, row));
            self.answer(values.collect::<Result<Vec<_>>>()?)
        });
        let answers = answers.collect::<Result<Vec<_>>>()?;
        let array = match answers.is_empty() {
            true => new_empty_array(args.return_field.data_type()),
            false => ScalarValue::iter_to_array(answers)?,
        };
        Ok(ColumnarValue::Array(array))
    }
}

/// Stands for `ARRAY(subquery)` while a statement is planned; never runs.
pub fn collect_function() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Volatile);
    Arc::new(ScalarUDF::new_from_impl(Collect { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Collect {
    signature: Signature,
}

impl ScalarUDFImpl for Collect {
    fn name(&self) -> &str {
        COLLECT
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let item = Field::new_list_field(arguments[0].clone(), true);
        Ok(DataType::List(Arc::new(item)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let message = "ARRAY(...) wants a subquery";
        let error = Error::new(SqlState::FeatureNotSupported, message);
        Err(DataFusionError::External(Box::new(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_decide_only_where_nothing_else_does() {
        let values: Vec<ScalarValue> =
            vec![ScalarValue::from(1i32), ScalarValue::Int32(None), ScalarValue::from(3i32)];
        let one = ScalarValue::from(1i32);
        let two = ScalarValue::from(2i32);
        assert_eq!(compare(&one, Operator::Eq, false, &values), Some(true));
        assert_eq!(compare(&two, Operator::Eq, false, &values), None);
        assert_eq!(compare(&one, Operator::NotEq, true, &values), Some(false));
        assert_eq!(compare(&two, Operator::NotEq, true, &[]), Some(true));
    }
}
