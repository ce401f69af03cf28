//! Window functions: their order, partitions, and the aggregates among them.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Expr, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
};

use super::{is_of_intervals, refused, wrap};
use crate::dialect::interval_aggregates::Extreme;

/// Window functions of an expression that is not analyzed yet, ordered by numbers where they were by intervals.
pub fn ordered(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match expr {
        Expr::WindowFunction(mut window) => {
            let keys = &window.params.order_by;
            if keys.iter().any(|key| is_of_intervals(&key.expr, schema)) {
                check_frame(&window)?;
            }
            window.params.order_by.iter_mut().for_each(|key| wrap(&mut key.expr, schema));
            Ok(Transformed::yes(Expr::WindowFunction(window)))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// A distance in a frame would have to be an interval, and the keys are numbers.
fn check_frame(window: &WindowFunction) -> Result<()> {
    let frame = &window.params.window_frame;
    let is_distance = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::CurrentRow => false,
        bound => !bound.is_unbounded(),
    };
    let has_distance = is_distance(&frame.start_bound) || is_distance(&frame.end_bound);
    match has_distance && frame.units == WindowFrameUnits::Range {
        true => Err(refused(
            "RANGE with a distance over intervals",
            "Order the window by extract(epoch FROM ..).",
        )),
        false => Ok(()),
    }
}

/// A window function whose partitions and values are intervals.
pub fn computed(mut window: Box<WindowFunction>, schema: &DFSchema) -> Result<Transformed<Expr>> {
    window.params.partition_by.iter_mut().for_each(|key| wrap(key, schema));
    if let WindowFunctionDefinition::AggregateUDF(function) = &window.fun
        && let Some(extreme) = Extreme::named(function.name())
        && window.params.args.iter().any(|argument| is_of_intervals(argument, schema))
    {
        window.fun = WindowFunctionDefinition::AggregateUDF(extreme.function());
    }
    Ok(Transformed::yes(Expr::WindowFunction(window)))
}
