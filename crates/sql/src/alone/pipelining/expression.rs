//! Expressions that mean the same wherever and whenever they run.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal, NegativeExpr, NotExpr, TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// Whether two plans that have this expression may take its results from each other. Kinds are named one by one: an
/// expression that looks into its own query's state (a filter that a join sets while it runs, a scalar subquery's
/// result) compares equal to that of another query.
pub fn is_shareable(expression: &Arc<dyn PhysicalExpr>) -> bool {
    let mut shareable = true;
    let visited = expression.apply(|node| {
        shareable = is_pure(node);
        Ok(if shareable { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    visited.is_ok() && shareable
}

fn is_pure(node: &Arc<dyn PhysicalExpr>) -> bool {
    if let Some(call) = node.downcast_ref::<ScalarFunctionExpr>() {
        return call.fun().signature().volatility == Volatility::Immutable;
    }
    if let Some(list) = node.downcast_ref::<InListExpr>() {
        // A list that was given as an array is not compared.
        return !list.list().is_empty();
    }
    node.is::<Column>()
        || node.is::<Literal>()
        || node.is::<BinaryExpr>()
        || node.is::<CastExpr>()
        || node.is::<TryCastExpr>()
        || node.is::<CaseExpr>()
        || node.is::<LikeExpr>()
        || node.is::<IsNullExpr>()
        || node.is::<IsNotNullExpr>()
        || node.is::<NegativeExpr>()
        || node.is::<NotExpr>()
}
