//! A window function in a form that can be compared.

use std::sync::Arc;

use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::physical_plan::windows::WindowUDFExpr;

/// What DataFusion's debug text of a function ends with if it has no FILTER. It tells of that nowhere else, and what the
/// FILTER reads must be known to be the same for all.
const UNFILTERED: &str = "filter: None }";

/// A function with all that it is told: DataFusion's debug text has its kind, its flags, its frame and its order.
#[derive(Debug)]
pub struct WindowFunction {
    text: String,
    expressions: Vec<Arc<dyn PhysicalExpr>>,
}

/// Expressions are compared with those of the whole operator.
impl PartialEq for WindowFunction {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl WindowFunction {
    /// `None` where it must not be shared.
    pub fn of(function: &dyn WindowExpr) -> Option<WindowFunction> {
        let text = format!("{function:?}");
        let (volatility, arguments) = match standard(function) {
            Some(standard) => {
                let volatility = standard.fun().signature().volatility;
                (volatility, standard.args().to_vec())
            }
            None => {
                let aggregate = aggregate(function).filter(|_| text.ends_with(UNFILTERED))?;
                (aggregate.fun().signature().volatility, function.expressions())
            }
        };
        if volatility != Volatility::Immutable {
            return None;
        }
        let order = function.order_by().iter().map(|key| key.expr.clone());
        let partitions = function.partition_by().iter().cloned();
        let expressions = arguments.into_iter().chain(partitions).chain(order).collect();
        Some(WindowFunction { text, expressions })
    }

    /// What it computes from: arguments, the keys of its partitions, its order.
    pub fn expressions(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.expressions
    }
}

fn standard(function: &dyn WindowExpr) -> Option<&WindowUDFExpr> {
    let standard = function.as_any().downcast_ref::<StandardWindowExpr>()?;
    standard.get_standard_func_expr().as_any().downcast_ref()
}

fn aggregate(function: &dyn WindowExpr) -> Option<&AggregateFunctionExpr> {
    let plain = function.as_any().downcast_ref::<PlainAggregateWindowExpr>();
    let sliding = function.as_any().downcast_ref::<SlidingAggregateWindowExpr>();
    plain
        .map(PlainAggregateWindowExpr::get_aggregate_expr)
        .or_else(|| sliding.map(SlidingAggregateWindowExpr::get_aggregate_expr))
}
