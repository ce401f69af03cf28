//! Groupings.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::AggregateFunction as Call;
use datafusion::logical_expr::{self as df, Expr};
use engine::plan::{Aggregate, AggregateFunction, PlanNode};
use engine::types::Scalar;

use super::expression::Evaluated;
use super::join::{exact_type, key_column};
use super::node::{Columns, Input};
use super::predicate::scalar;
use super::query::Compiler;
use super::{Result, refuse, unalias};

/// Compiles a grouping.
pub fn aggregate(compiler: &mut Compiler, aggregate: &df::Aggregate) -> Result<Input> {
    let mut input = compiler.node(&aggregate.input)?;
    let mut keys = Vec::with_capacity(aggregate.group_expr.len());
    for expr in &aggregate.group_expr {
        if matches!(expr, Expr::GroupingSet(_)) {
            return refuse("GROUPING SETS, ROLLUP or CUBE");
        }
        keys.push(key_column(compiler, &mut input, expr)?);
    }
    let mut types: Vec<_> = keys.iter().map(|key| input.types[*key]).collect();
    let fields = aggregate.schema.fields();
    let mut aggregates = Vec::with_capacity(aggregate.aggr_expr.len());
    for (expr, field) in aggregate.aggr_expr.iter().zip(&fields[keys.len()..]) {
        let call = call(compiler, expr, field.data_type(), &input)?;
        types.push(call.data_type);
        aggregates.push(call);
    }
    let node = PlanNode::Aggregate { input: Box::new(input.node), keys, aggregates };
    let columns = (0..types.len()).collect();
    Ok(Input { node, schema: aggregate.schema.clone(), columns, types })
}

fn call(
    compiler: &mut Compiler,
    expr: &Expr,
    result: &ArrowType,
    input: &Input,
) -> Result<Aggregate> {
    let Expr::AggregateFunction(Call { func, params }) = unalias(expr) else {
        return refuse(format!("the aggregate {expr}"));
    };
    let function = match func.name() {
        "count" => AggregateFunction::Count,
        "sum" => AggregateFunction::Sum,
        "min" => AggregateFunction::Min,
        "max" => AggregateFunction::Max,
        "avg" => AggregateFunction::Average,
        other => return refuse(format!("the aggregate function {other}")),
    };
    let [argument] = params.args.as_slice() else {
        return refuse(format!("{} of several arguments", func.name()));
    };
    let counts_rows = function == AggregateFunction::Count
        && !params.distinct
        && matches!(argument, Expr::Literal(value, _) if !value.is_null());
    let argument = match counts_rows {
        true => None,
        false => Some(argument_of(compiler, function, argument, input)?),
    };
    let filter = match &params.filter {
        Some(filter) => {
            let filter = Evaluated::compile(filter, &mut Columns::of(compiler, input))?;
            Some(Arc::new(filter) as _)
        }
        None => None,
    };
    let data_type = exact_type(result)?;
    Ok(Aggregate { function, argument, distinct: params.distinct, filter, data_type })
}

fn argument_of(
    compiler: &mut Compiler,
    function: AggregateFunction,
    argument: &Expr,
    input: &Input,
) -> Result<Scalar> {
    let sums = matches!(function, AggregateFunction::Sum | AggregateFunction::Average);
    let argument = if sums { below_widening(argument) } else { argument };
    if matches!(argument, Expr::Literal(ScalarValue::Null, _)) {
        return refuse("an aggregate of NULL");
    }
    scalar(argument, &mut Columns::of(compiler, input))
}

/// Sums are exact whatever the argument's width, so the casts to wider numbers that were put there for the
/// result's type are not needed.
fn below_widening(expr: &Expr) -> &Expr {
    match unalias(expr) {
        Expr::Cast(cast)
            if matches!(*cast.expr, Expr::Column(_))
                && matches!(
                    cast.field.data_type(),
                    ArrowType::Int64 | ArrowType::Decimal128(..) | ArrowType::Float64
                ) =>
        {
            &cast.expr
        }
        other => other,
    }
}
