//! Expressions that the engine cannot look into, evaluated by DataFusion.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, Scalar};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, Volatility};
use datafusion::physical_expr::expressions::{Column, lit};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use engine::types::{
    Arithmetic, ArithmeticCondition, ComputedComparison, DataType, Error, Expression, PrefixIn,
    Result,
};

use super::arithmetic;
use super::predicate::{column_of, comparison, constant, swap};
use super::{Refusal, unalias};
use crate::alone::{evaluate_in_pieces, is_uneven};
use crate::catalog::types::{from_arrow, is_exact, is_string};
use crate::dialect::lazy;
use crate::template::{fault, placeholder_index};

/// Where an expression's columns and subqueries are found.
pub trait Resolve {
    /// The input's output column behind a column, and the type that DataFusion knows it by.
    fn column(
        &mut self,
        column: &datafusion::common::Column,
    ) -> std::result::Result<(usize, ArrowType), Refusal>;

    /// The parameter that receives a scalar subquery's value, and its type.
    fn subquery(
        &mut self,
        subquery: &datafusion::logical_expr::Subquery,
    ) -> std::result::Result<(usize, ArrowType), Refusal>;

    /// The types of the columns, as far as they are known.
    fn schema(&self) -> &dyn ExprSchema;
}

/// An expression over columns and parameters, backed by DataFusion's evaluator.
#[derive(Debug)]
pub struct Evaluated {
    columns: Vec<usize>,
    parameters: Vec<usize>,
    data_type: DataType,
    schema: SchemaRef,
    physical: Arc<dyn PhysicalExpr>,
    /// Whether some rows may take much longer than others.
    is_uneven: bool,
    text: String,
    meaning: String,
    comparison: Option<ComputedComparison>,
    arithmetic: Option<Arithmetic>,
    prefix: Option<PrefixIn>,
}

/// Columns and parameters met so far while an expression is rewritten.
#[derive(Default)]
struct Inputs {
    columns: Vec<(usize, ArrowType)>,
    parameters: Vec<(usize, ArrowType)>,
}

fn remember(list: &mut Vec<(usize, ArrowType)>, item: (usize, ArrowType)) {
    if !list.iter().any(|(known, _)| *known == item.0) {
        list.push(item);
    }
}

fn column_name(position: usize) -> String {
    format!("#{position}")
}

fn parameter_name(position: usize) -> String {
    format!("${}", position + 1)
}

impl Evaluated {
    /// Compiles an analyzed expression; refused where it is volatile or of a type that the engine does not have.
    pub fn compile(
        expr: &Expr,
        resolve: &mut dyn Resolve,
    ) -> std::result::Result<Evaluated, Refusal> {
        let mut inputs = Inputs::default();
        let rewritten = rewrite(expr, &mut inputs, resolve)?;
        let fields = inputs.columns.iter().map(|(at, t)| (column_name(*at), t));
        let fields = fields.chain(inputs.parameters.iter().map(|(at, t)| (parameter_name(*at), t)));
        let fields: Vec<Field> = fields.map(|(n, t)| Field::new(n, t.clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let failed = |error: datafusion::common::DataFusionError| fault(&error).message.clone();
        let df_schema = DFSchema::try_from(schema.clone()).map_err(failed)?;
        let physical = physical(&rewritten, &df_schema).map_err(failed)?;
        let result = physical.data_type(&schema).map_err(failed)?;
        if !is_exact(&result) && !convertible(&result) {
            return Err(format!("a value of type {result}"));
        }
        let columns = inputs.columns.len();
        let condition = |expr: &Expr| condition(expr, columns, &df_schema);
        let known = arithmetic::Inputs { columns, schema: &df_schema, condition: &condition };
        let text = rewritten.to_string();
        let given: Vec<&ArrowType> = inputs.parameters.iter().map(|(_, given)| given).collect();
        let meaning = if given.is_empty() { text.clone() } else { format!("{text} of {given:?}") };
        Ok(Evaluated {
            arithmetic: arithmetic::arithmetic(&rewritten, &known),
            columns: inputs.columns.iter().map(|(at, _)| *at).collect(),
            parameters: inputs.parameters.iter().map(|(at, _)| *at).collect(),
            data_type: from_arrow(&result),
            is_uneven: is_uneven(physical.as_ref(), &schema).map_err(failed)?,
            schema,
            physical,
            text,
            meaning,
            comparison: computed_comparison(expr, resolve)?,
            prefix: prefix_in(expr, &inputs.columns, resolve)?,
        })
    }

    /// Whether it reads no column.
    pub fn is_constant(&self) -> bool {
        self.columns.is_empty()
    }

    /// The type of its result in DataFusion's eyes.
    pub fn with_type(mut self, data_type: DataType) -> Evaluated {
        self.data_type = data_type;
        self
    }

    fn run(&self, arrays: Vec<ArrayRef>, rows: usize) -> datafusion::common::Result<ArrayRef> {
        let arrays = self.typed(arrays)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)?;
        let physical = self.with_constants(&batch)?;
        self.evaluated(&physical, &batch)
    }

    /// With parameters of one value each.
    fn run_for_one(
        &self,
        columns: &[ArrayRef],
        constants: &[ArrayRef],
        rows: usize,
    ) -> datafusion::common::Result<ArrayRef> {
        let arrays = columns.iter().chain(constants).cloned().collect();
        let mut arrays = self.typed(arrays)?;
        let constants = arrays.split_off(columns.len()).into_iter();
        let constants = constants.map(|array| ScalarValue::try_from_array(&array, 0).map(Some));
        let constants = constants.collect::<datafusion::common::Result<Vec<_>>>()?;
        let physical = self.with_literals(&constants)?;
        let fields = self.schema.fields().iter().take(columns.len()).cloned();
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        self.evaluated(&physical, &batch)
    }

    /// Columns and parameters as DataFusion knows them.
    fn typed(&self, arrays: Vec<ArrayRef>) -> datafusion::common::Result<Vec<ArrayRef>> {
        let fields = self.schema.fields().iter();
        let arrays = arrays.into_iter().zip(fields).map(|(array, field)| {
            if array.data_type() == field.data_type() {
                return Ok(array);
            }
            Ok(cast(&array, field.data_type())?)
        });
        arrays.collect()
    }

    fn evaluated(
        &self,
        physical: &Arc<dyn PhysicalExpr>,
        batch: &RecordBatch,
    ) -> datafusion::common::Result<ArrayRef> {
        let result = match self.is_uneven {
            true => evaluate_in_pieces(physical.as_ref(), batch)?,
            false => physical.evaluate(batch)?.into_array(batch.num_rows())?,
        };
        let wanted = self.data_type.arrow();
        if *result.data_type() == wanted {
            return Ok(result);
        }
        crate::alone::to_exact(&result, &wanted)
    }

    /// The expression with literals for parameters that are the same in all rows, so that nothing is cast and computed
    /// of them row by row.
    fn with_constants(
        &self,
        batch: &RecordBatch,
    ) -> datafusion::common::Result<Arc<dyn PhysicalExpr>> {
        let parameters = self.columns.len()..batch.num_columns();
        if batch.num_rows() < MANY_ROWS || parameters.is_empty() {
            return Ok(self.physical.clone());
        }
        let mut constants = Vec::with_capacity(parameters.len());
        for array in &batch.columns()[parameters.clone()] {
            let value = is_uniform(array).then(|| ScalarValue::try_from_array(array, 0));
            constants.push(value.transpose()?);
        }
        self.with_literals(&constants)
    }

    /// The expression with literals for the parameters whose value is given.
    fn with_literals(
        &self,
        constants: &[Option<ScalarValue>],
    ) -> datafusion::common::Result<Arc<dyn PhysicalExpr>> {
        let first = self.columns.len();
        let literals = self.physical.clone().transform_up(|expr| {
            let any: &dyn std::any::Any = expr.as_ref();
            let column = any.downcast_ref::<Column>().map(Column::index);
            let parameter = column.and_then(|index| index.checked_sub(first));
            match parameter.and_then(|parameter| constants[parameter].clone()) {
                Some(value) => Ok(Transformed::yes(lit(value))),
                None => Ok(Transformed::no(expr)),
            }
        })?;
        Ok(literals.data)
    }
}

/// What DataFusion evaluates: it looks at no row that a guard in the expression has not let through.
fn physical(expr: &Expr, schema: &DFSchema) -> datafusion::common::Result<Arc<dyn PhysicalExpr>> {
    let lazy = lazy(expr.clone(), schema)?;
    let (properties, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    create_physical_expr(&lazy, schema, &properties, &context)
}

/// A condition inside an expression whose schema has so many columns, then parameters.
fn condition(expr: &Expr, columns: usize, schema: &DFSchema) -> Option<ArithmeticCondition> {
    let read = expr.column_refs().into_iter().map(|column| schema.maybe_index_of_column(column));
    let mut read: Vec<usize> = read.collect::<Option<_>>()?;
    read.sort_unstable();
    let fields: Vec<Field> =
        read.iter().map(|&position| schema.field(position).as_ref().clone()).collect();
    let own = Arc::new(Schema::new(fields));
    let df_schema = DFSchema::try_from(own.clone()).ok()?;
    let physical = physical(expr, &df_schema).ok()?;
    if physical.data_type(&own).ok()? != ArrowType::Boolean {
        return None;
    }
    let parameters = read.split_off(read.partition_point(|&position| position < columns));
    let parameters: Vec<usize> =
        parameters.into_iter().map(|position| position - columns).collect();
    let expression = Arc::new(Evaluated {
        columns: read.clone(),
        parameters: parameters.clone(),
        data_type: DataType::Boolean,
        is_uneven: is_uneven(physical.as_ref(), &own).ok()?,
        schema: own,
        physical,
        text: expr.to_string(),
        // It is part of an expression, which is compared as a whole.
        meaning: expr.to_string(),
        comparison: None,
        arithmetic: None,
        prefix: None,
    });
    Some(ArithmeticCondition { expression, columns: read, parameters })
}

/// From so many rows on it pays to look whether a parameter has one value only.
const MANY_ROWS: usize = 64;

/// Whether all rows are the same; not asked of types that cannot be compared.
fn is_uniform(array: &ArrayRef) -> bool {
    let first = Scalar::new(array.slice(0, 1));
    distinct(array, &first).is_ok_and(|differs| !differs.has_true())
}

/// The comparison of what is computed of columns alone with what is computed of parameters alone, if `expr` is one.
fn computed_comparison(
    expr: &Expr,
    resolve: &mut dyn Resolve,
) -> std::result::Result<Option<ComputedComparison>, Refusal> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = unalias(expr) else { return Ok(None) };
    let Some(comparison) = comparison(*op) else { return Ok(None) };
    let (of_row, comparison, of_query) = match reads_columns_only(left) {
        true => (left, comparison, right),
        false => (right, swap(comparison), left),
    };
    if !reads_columns_only(of_row) {
        return Ok(None);
    }
    let left = Evaluated::compile(of_row, resolve)?;
    let right = constant(of_query, &left.data_type.arrow(), resolve)?;
    Ok(right.map(|right| ComputedComparison { left: Arc::new(left), comparison, right }))
}

/// `columns` are those that the expression reads.
fn prefix_in(
    expr: &Expr,
    columns: &[(usize, ArrowType)],
    resolve: &mut dyn Resolve,
) -> std::result::Result<Option<PrefixIn>, Refusal> {
    let (part, values) = match unalias(expr) {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            (left, std::slice::from_ref(&**right))
        }
        Expr::InList(list) if !list.negated => (&list.expr, &list.list[..]),
        _ => return Ok(None),
    };
    let Expr::ScalarFunction(call) = unalias(part) else { return Ok(None) };
    let ("substr", [text, start, length]) = (call.func.name(), &call.args[..]) else {
        return Ok(None);
    };
    let Some((column, data_type)) = column_of(text, resolve)? else { return Ok(None) };
    let position = columns.iter().position(|(own, _)| *own == column);
    let Some(position) = position.filter(|_| is_string(&data_type)) else { return Ok(None) };
    let start = constant(start, &ArrowType::Int64, resolve)?;
    let length = constant(length, &ArrowType::Int64, resolve)?;
    let mut known = Vec::with_capacity(values.len());
    for value in values {
        match constant(value, &ArrowType::Utf8View, resolve)? {
            Some(value) => known.push(value),
            None => return Ok(None),
        }
    }
    let ends = start.zip(length);
    Ok(ends.map(|(start, length)| PrefixIn { position, start, length, values: known }))
}

fn reads_columns_only(expr: &Expr) -> bool {
    let is_other = |expr: &Expr| {
        Ok(matches!(
            expr,
            Expr::Placeholder(_)
                | Expr::ScalarSubquery(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
        ))
    };
    !expr.column_refs().is_empty() && expr.exists(is_other).is_ok_and(|other| !other)
}

/// Types that a cast brings to one of the engine's without a change of value.
fn convertible(arrow: &ArrowType) -> bool {
    matches!(
        arrow,
        ArrowType::Null
            | ArrowType::Int8
            | ArrowType::UInt8
            | ArrowType::UInt16
            | ArrowType::UInt32
            | ArrowType::UInt64
            | ArrowType::Timestamp(..)
            | ArrowType::Date64
            | ArrowType::BinaryView
    )
}

fn rewrite(
    expr: &Expr,
    inputs: &mut Inputs,
    resolve: &mut dyn Resolve,
) -> std::result::Result<Expr, Refusal> {
    let mut refusal = None;
    let rewritten = expr.clone().transform_down(|expr| match replacement(&expr, inputs, resolve) {
        Ok(Some(column)) => Ok(Transformed::new(
            column,
            true,
            datafusion::common::tree_node::TreeNodeRecursion::Jump,
        )),
        Ok(None) => Ok(Transformed::no(expr)),
        Err(reason) => {
            refusal.get_or_insert(reason);
            Ok(Transformed::no(expr))
        }
    });
    match (refusal, rewritten) {
        (Some(reason), _) => Err(reason),
        (None, Ok(rewritten)) => Ok(rewritten.data),
        (None, Err(error)) => Err(error.to_string()),
    }
}

fn named(name: String) -> Expr {
    Expr::Column(datafusion::common::Column::from_name(name))
}

fn replacement(
    expr: &Expr,
    inputs: &mut Inputs,
    resolve: &mut dyn Resolve,
) -> std::result::Result<Option<Expr>, Refusal> {
    Ok(Some(match expr {
        Expr::Column(column) => {
            let found = resolve.column(column)?;
            let name = column_name(found.0);
            remember(&mut inputs.columns, found);
            named(name)
        }
        Expr::Placeholder(placeholder) => {
            let index = placeholder_index(&placeholder.id).map_err(|e| e.message.clone())?;
            let data_type = placeholder.field.as_ref().map(|field| field.data_type().clone());
            let data_type = data_type.ok_or("a parameter of unknown type")?;
            remember(&mut inputs.parameters, (index, data_type));
            named(parameter_name(index))
        }
        Expr::ScalarSubquery(subquery) => {
            let found = resolve.subquery(subquery)?;
            let name = parameter_name(found.0);
            remember(&mut inputs.parameters, found);
            named(name)
        }
        Expr::OuterReferenceColumn(..) => return Err("a correlated subquery".to_owned()),
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => {
            return Err("a subquery inside an expression".to_owned());
        }
        Expr::WindowFunction(_) => return Err("a window function".to_owned()),
        Expr::AggregateFunction(_) => return Err("an aggregate inside an expression".to_owned()),
        Expr::ScalarFunction(function)
            if function.func.signature().volatility == Volatility::Volatile =>
        {
            return Err(format!("the volatile function {}", function.func.name()));
        }
        _ => return Ok(None),
    }))
}

impl Expression for Evaluated {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    fn data_type(&self) -> DataType {
        self.data_type
    }

    fn evaluate(
        &self,
        columns: &[ArrayRef],
        parameters: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef, Error> {
        let arrays = columns.iter().chain(parameters).cloned().collect();
        self.run(arrays, rows).map_err(|error| fault(&error))
    }

    fn evaluate_for_one(
        &self,
        columns: &[ArrayRef],
        constants: &[ArrayRef],
        rows: usize,
    ) -> Result<ArrayRef, Error> {
        self.run_for_one(columns, constants, rows).map_err(|error| fault(&error))
    }

    fn is_uneven(&self) -> bool {
        self.is_uneven
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn meaning(&self) -> &str {
        &self.meaning
    }

    fn comparison(&self) -> Option<&ComputedComparison> {
        self.comparison.as_ref()
    }

    fn prefix(&self) -> Option<&PrefixIn> {
        self.prefix.as_ref()
    }

    fn arithmetic(&self) -> Option<&Arithmetic> {
        self.arithmetic.as_ref()
    }
}
