//! A branch that is computed by itself: a function of the columns and parameters that it reads.
//!
//! What stands in it is a physical expression already, over the function's arguments, so that whoever rewrites or copies what stands
//! around it rewrites and copies these only. Arguments are what has a value in each row; everything else is computed of the rows
//! that ask for it, as in PostgreSQL.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{cast, is_null};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, Result};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use super::super::guards;
use super::super::shortened::shortened;
use super::coalesce;
use crate::template::check_zones;

/// Its name; what it computes follows in brackets.
const NAME: &str = "__lazy";

/// Whether a function, by its name, is such a branch.
pub fn is_lazy(name: &str) -> bool {
    name.starts_with(NAME)
}

/// A function that computes a CASE, or a `coalesce` whose first argument, which is computed of each row, it is given; `None` where
/// something stands in it that has to be seen.
pub fn lazy(expr: &Expr, schema: &DFSchema, options: &Arc<ConfigOptions>) -> Result<Option<Expr>> {
    let mut inputs = Inputs::default();
    let body = match expr {
        Expr::ScalarFunction(call) if call.name() == coalesce::NAME => inputs.first_of(call)?,
        _ => inputs.hide(expr)?,
    };
    if inputs.has_other {
        return Ok(None);
    }
    // What is in it is not seen any more.
    check_zones(expr, schema)?;
    let field = |(i, input): (usize, &Expr)| Ok(Field::new(name(i), input.get_type(schema)?, true));
    let fields = inputs.exprs.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
    if fields.iter().any(|field| field.data_type().is_null()) {
        return Ok(None);
    }
    let own = Arc::new(Schema::new(fields));
    let gives = Field::new(NAME, expr.get_type(schema)?, expr.nullable(schema)?);
    let steps = Steps::of(&body, &own, options)?;
    let function = Lazy::new(body, own, steps, Arc::new(gives));
    let function = Arc::new(ScalarUDF::new_from_impl(function));
    Ok(Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, inputs.exprs))))
}

fn name(input: usize) -> String {
    format!("#{input}")
}

/// What an expression reads.
#[derive(Default)]
struct Inputs {
    exprs: Vec<Expr>,
    /// Something that is no expression over rows.
    has_other: bool,
}

impl Inputs {
    /// `coalesce` over its first argument.
    fn first_of(&mut self, call: &ScalarFunction) -> Result<Expr> {
        let mut arguments = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            let is_first = arguments.is_empty();
            let own = if is_first { self.read(argument.clone()) } else { self.hide(argument)? };
            arguments.push(own);
        }
        Ok(Expr::ScalarFunction(ScalarFunction::new_udf(call.func.clone(), arguments)))
    }

    fn hide(&mut self, expr: &Expr) -> Result<Expr> {
        self.has_other |= expr.is_volatile();
        Ok(expr.clone().transform_down(|expr| self.take(expr))?.data)
    }

    /// The column that an argument becomes.
    fn read(&mut self, expr: Expr) -> Expr {
        let known = self.exprs.iter().position(|known| *known == expr);
        let position = known.unwrap_or(self.exprs.len());
        if known.is_none() {
            self.exprs.push(expr);
        }
        Expr::Column(Column::from_name(name(position)))
    }

    /// A column in the place of what is read.
    fn take(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        match &expr {
            Expr::Column(_)
            | Expr::Placeholder(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::ScalarSubquery(_) => {
                Ok(Transformed::new(self.read(expr), true, TreeNodeRecursion::Jump))
            }
            Expr::Exists(_)
            | Expr::InSubquery(_)
            | Expr::SetComparison(_)
            | Expr::AggregateFunction(_)
            | Expr::WindowFunction(_)
            | Expr::HigherOrderFunction(_)
            | Expr::GroupingSet(_)
            | Expr::ScalarVariable(..)
            | Expr::Unnest(_) => {
                self.has_other = true;
                Ok(Transformed::new(expr, false, TreeNodeRecursion::Stop))
            }
            _ => Ok(Transformed::no(expr)),
        }
    }
}

/// How it is computed.
#[derive(Debug)]
enum Steps {
    Whole(Arc<dyn PhysicalExpr>),
    /// One after the other, each of the rows in which all before it were NULL.
    FirstOf(Vec<Arc<dyn PhysicalExpr>>),
}

impl Steps {
    fn of(body: &Expr, schema: &SchemaRef, options: &Arc<ConfigOptions>) -> Result<Steps> {
        let df_schema = DFSchema::try_from(schema.clone())?;
        let mut properties = ExecutionProps::new();
        properties.config_options = Some(options.clone());
        let context = PhysicalPlanningContext::default();
        // What stands in it guards as it would outside.
        let physical = |expr: &Expr| {
            let expr = guards::lazy(expr.clone(), &df_schema)?;
            create_physical_expr(&expr, &df_schema, &properties, &context)
        };
        match body {
            Expr::ScalarFunction(call) if call.name() == coalesce::NAME => {
                Ok(Steps::FirstOf(call.args.iter().map(physical).collect::<Result<_>>()?))
            }
            _ => Ok(Steps::Whole(physical(body)?)),
        }
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let rows = batch.num_rows();
        let steps = match self {
            Steps::Whole(whole) => return whole.evaluate(batch)?.into_array(rows),
            Steps::FirstOf(steps) => steps,
        };
        let nothing = || DataFusionError::Internal("coalesce without arguments".to_owned());
        let (first, others) = steps.split_first().ok_or_else(nothing)?;
        let mut result = first.evaluate(batch)?.into_array(rows)?;
        for other in others {
            let missing = is_null(&result)?;
            if !missing.has_true() {
                break;
            }
            let values = other.evaluate_selection(batch, &missing)?.into_array(rows)?;
            result = zip(&missing, &values, &result)?;
        }
        Ok(result)
    }
}

#[derive(Debug)]
struct Lazy {
    /// With what it computes, so that equal names compute the same.
    name: String,
    body: Expr,
    schema: SchemaRef,
    steps: Steps,
    gives: FieldRef,
    signature: Signature,
}

impl Lazy {
    fn new(body: Expr, schema: SchemaRef, steps: Steps, gives: FieldRef) -> Lazy {
        let any = TypeSignature::OneOf(vec![TypeSignature::VariadicAny, TypeSignature::Nullary]);
        let signature = Signature::new(any, Volatility::Immutable);
        Lazy { name: format!("{NAME}[{body}]"), body, schema, steps, gives, signature }
    }
}

impl PartialEq for Lazy {
    fn eq(&self, other: &Lazy) -> bool {
        self.name == other.name && self.schema == other.schema && self.body == other.body
    }
}

impl Eq for Lazy {}

impl Hash for Lazy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Lazy {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let own = shortened(std::slice::from_ref(&self.body));
        let own = own.map_or_else(|| self.name.clone(), |short| format!("{NAME}[{short}]"));
        let names: Vec<_> = arguments.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("{own}({})", names.join(",")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.gives.data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(self.gives.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let given = args.args.iter().zip(self.schema.fields());
        let typed = |(value, field): (&ColumnarValue, &FieldRef)| {
            let array = value.to_array(rows)?;
            Ok(if array.data_type() == field.data_type() {
                array
            } else {
                cast(&array, field.data_type())?
            })
        };
        let arrays = given.map(typed).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)?;
        Ok(ColumnarValue::Array(self.steps.evaluate(&batch)?))
    }
}
