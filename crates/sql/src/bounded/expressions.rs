//! How large expressions become while they are planned.
//!
//! The optimizer copies parts of what it is given, and does so at each level: an operand of BETWEEN becomes two, a filter that goes
//! below a projection has for each column what the projection computes. Nobody can be asked within one of its rules whether to go on.
//! So what comes out is counted before, by what a rule is known to copy, and what came out after it: more than a statement's own parts
//! and as many copies as do no harm is 54001. What DataFusion's physical CASE holds twice is counted as well.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use engine::types::{Error, Result, SqlState};

use super::wanted::{note_parts, parts, step};

/// Parts of expressions that planning may add to those that are written.
const COPIES: u64 = 50_000;

/// Parts that what a filter reads may become where it goes below a projection.
const INLINED: u64 = 1_000;

/// An expression as it is written, and as it will be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    written: u64,
    built: u64,
}

impl Size {
    fn add(&mut self, below: Size, times: u64) {
        self.written = self.written.saturating_add(below.written);
        self.built = self.built.saturating_add(below.built.saturating_mul(times));
    }

    fn check(self) -> Result<()> {
        match self.built.saturating_sub(self.written) > COPIES {
            true => Err(too_many()),
            false => Ok(()),
        }
    }
}

/// Counts a plan's expressions before it is optimized: 54001 where the optimizer would make too many of them.
pub fn check_expressions(plan: &LogicalPlan) -> Result<()> {
    let mut size = Size::default();
    let _ = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            size.add(size_of(expr, simplified), 1);
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(TreeNodeRecursion::Continue)
    });
    note_parts(size.written);
    size.check()
}

/// The same for one expression.
pub fn check_expression(expr: &Expr) -> Result<()> {
    size_of(expr, simplified).check()
}

/// A checkpoint before a rule that walks a node's expressions and copies them: 54001 where they have become many more than its
/// statement had.
pub fn check_node(node: &LogicalPlan) -> Result<()> {
    let mut now = 0;
    let _ = node.apply_expressions(|expr| {
        now += size_of(expr, once).written;
        Ok(TreeNodeRecursion::Continue)
    });
    step(now)?;
    let written = parts();
    if now > written.saturating_add(COPIES) { Err(too_many()) } else { Ok(()) }
}

/// 54001 for an expression that may not be copied.
pub fn check_size(expr: &Expr) -> Result<()> {
    if size_of(expr, once).written > COPIES / 2 { Err(too_many()) } else { Ok(()) }
}

/// 54001 for an expression of which physical CASEs would hold too many copies.
pub fn check_held(expr: &Expr) -> Result<()> {
    size_of(expr, held).check()
}

/// Whether a filter would be much larger below the projection that it reads.
pub fn grows_below(filter: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = filter else { return false };
    let LogicalPlan::Projection(projection) = filter.input.as_ref() else { return false };
    let mut parts = 0;
    let mut open = vec![&filter.predicate];
    while let Some(expr) = open.pop() {
        let column = match expr {
            Expr::Column(column) => projection.schema.maybe_index_of_column(column),
            _ => None,
        };
        let computed = column.and_then(|index| projection.expr.get(index));
        parts += computed.map_or(0, |computed| size_of(computed, once).written);
        let _ = expr.apply_children(|child| {
            open.push(child);
            Ok(TreeNodeRecursion::Continue)
        });
    }
    parts > INLINED
}

/// `times` says how many of an expression's parts at a position there will be.
fn size_of(expr: &Expr, times: fn(&Expr, usize) -> u64) -> Size {
    let mut size = Size { written: 1, built: 1 };
    let mut position = 0;
    let _ = expr.apply_children(|child| {
        size.add(size_of(child, times), times(expr, position));
        position += 1;
        Ok(TreeNodeRecursion::Continue)
    });
    size
}

fn once(_: &Expr, _: usize) -> u64 {
    1
}

/// What the simplifier makes of it.
fn simplified(expr: &Expr, position: usize) -> u64 {
    match expr {
        Expr::Between(_) if position == 0 => 2,
        Expr::ScalarFunction(call) if position == 0 && call.name() == "nvl" => 2,
        _ => 1,
    }
}

/// A physical CASE has all of its parts once more, over the columns that it reads.
fn held(expr: &Expr, _: usize) -> u64 {
    if matches!(expr, Expr::Case(_)) { 2 } else { 1 }
}

/// 54001.
fn too_many() -> Error {
    Error::new(SqlState::StatementTooComplex, "statement too complex")
        .detail(format!("Planning it would copy more than {COPIES} parts of its expressions."))
        .hint("Compute what is nested in a subquery, or nest it less deeply.")
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{LogicalPlanBuilder, when};
    use datafusion::prelude::{col, lit};

    use super::*;

    fn nested(levels: usize, around: impl Fn(Expr) -> Expr) -> Expr {
        (0..levels).fold(col("a"), |inner, _| around(inner))
    }

    #[test]
    fn operands_of_between_double_with_each_level() {
        let between = |levels| nested(levels, |inner| inner.between(lit(1), lit(2)));
        let size = |levels| size_of(&between(levels), simplified);
        assert_eq!(size(1), Size { written: 4, built: 5 });
        assert_eq!(size(2), Size { written: 7, built: 13 });
        assert_eq!(size(64).built, u64::MAX, "it stays where it is");
        assert!(check_expression(&between(10)).is_ok());
        let fault = check_expression(&between(20)).expect_err("a million");
        assert_eq!(fault.state, SqlState::StatementTooComplex);
        assert!(fault.hint.is_some() && fault.detail.is_some());
    }

    #[test]
    fn what_is_long_and_not_nested_is_not_copied() {
        let list = (0..200_000).map(lit).collect();
        assert!(check_expression(&col("a").in_list(list, false)).is_ok());
        assert!(check_expression(&nested(200, |inner| inner.is_null())).is_ok());
    }

    #[test]
    fn cases_are_held_twice() {
        let case = |levels| nested(levels, |inner| when(lit(true), inner).end().expect("a case"));
        assert!(check_held(&case(10)).is_ok());
        assert!(check_held(&case(40)).is_err());
    }

    #[test]
    fn a_filter_grows_below_what_doubles() {
        let values = LogicalPlanBuilder::values(vec![vec![lit(1)]]).expect("a row");
        let over = |items: i32| {
            let member = col("column1").in_list((0..items).map(lit).collect(), false);
            let projected = values.clone().project([member.alias("s")]).expect("a column");
            projected.filter(col("s")).expect("a filter").build().expect("a plan")
        };
        assert!(!grows_below(&over(2)));
        assert!(grows_below(&over(1_000)));
    }
}
