//! What a statement fixes of its answer: which order, which rows where it takes a part of them, how many digits.
//!
//! Read off the logical plan, whose uppermost operators are the statement's own LIMIT, projection and ORDER BY.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, Sort};
use engine::types::DataType;

use crate::template::QueryTemplate;

/// Values that even a small sum is taken to have.
const FEWEST_VALUES: f64 = 1024.0;

/// Of sums of `real`, whose digits are few, no more than so many values are taken to round alike.
const MOST_REALS: f64 = 4096.0;

/// What is fixed of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Output columns by which the rows are ordered, as far as the keys are in the output.
    pub order: Vec<usize>,
    /// The statement takes a part of its rows by LIMIT or OFFSET.
    pub is_cut: bool,
    /// By output column, how far two computed floating-point values may be apart for their size; `None` for exact ones.
    pub tolerance: Vec<Option<f64>>,
    /// Which rows it is computed from is left open (a LIMIT in a subquery, DISTINCT ON, windows over ties).
    pub is_open: bool,
}

impl Shape {
    /// Of a statement over tables of so many rows.
    pub fn of(template: &QueryTemplate, rows: u64) -> Shape {
        let tolerance = template.columns.iter().zip(template.output.iter());
        let tolerance = tolerance.map(|(column, output)| match column.table {
            0 => tolerance_of(output.data_type, rows),
            _ => None,
        });
        let top = Top::of(&template.plan);
        Shape {
            order: top.order,
            is_cut: top.is_cut,
            tolerance: tolerance.collect(),
            is_open: top.below.is_some_and(is_open),
        }
    }
}

/// Sums of the same values in another order are apart by the rounding of each addition at most.
fn tolerance_of(data_type: DataType, rows: u64) -> Option<f64> {
    let values = (rows as f64).max(FEWEST_VALUES);
    match data_type {
        DataType::Double => Some(values * f64::EPSILON),
        DataType::Real => Some(values.min(MOST_REALS) * f64::from(f32::EPSILON)),
        _ => None,
    }
}

/// The uppermost operators of a statement.
struct Top<'p> {
    order: Vec<usize>,
    is_cut: bool,
    /// What they stand on.
    below: Option<&'p LogicalPlan>,
}

impl<'p> Top<'p> {
    fn of(plan: &'p LogicalPlan) -> Top<'p> {
        let width = plan.schema().fields().len();
        let mut top = Top { order: Vec::new(), is_cut: false, below: None };
        // By column of the operator looked at, its place in the output.
        let mut places: Vec<Option<usize>> = (0..width).map(Some).collect();
        let mut node = plan;
        loop {
            node = match node {
                LogicalPlan::Limit(limit) => {
                    top.is_cut = true;
                    &limit.input
                }
                LogicalPlan::SubqueryAlias(alias) => &alias.input,
                LogicalPlan::Projection(projection) => {
                    places = below_projection(&places, &projection.expr, &projection.input);
                    &projection.input
                }
                LogicalPlan::Sort(sort) => {
                    top.is_cut |= sort.fetch.is_some();
                    top.order = order(sort, &places);
                    top.below = Some(&sort.input);
                    return top;
                }
                other => {
                    top.below = Some(other);
                    return top;
                }
            };
        }
    }
}

/// The places of a projection's input columns, of those that it passes on.
fn below_projection(
    places: &[Option<usize>],
    expressions: &[Expr],
    input: &LogicalPlan,
) -> Vec<Option<usize>> {
    let mut below = vec![None; input.schema().fields().len()];
    for (expression, place) in expressions.iter().zip(places) {
        let position = column(expression).and_then(|own| input.schema().maybe_index_of_column(own));
        if let Some(position) = position {
            below[position] = below[position].or(*place);
        }
    }
    below
}

fn column(expression: &Expr) -> Option<&Column> {
    match expression {
        Expr::Alias(alias) => column(&alias.expr),
        Expr::Column(column) => Some(column),
        _ => None,
    }
}

/// The leading keys that are in the output: behind one that is not, nothing can be checked.
fn order(sort: &Sort, places: &[Option<usize>]) -> Vec<usize> {
    let schema = sort.input.schema();
    let keys = sort.expr.iter().map_while(|key| {
        let position = schema.maybe_index_of_column(column(&key.expr)?)?;
        places[position]
    });
    keys.collect()
}

fn is_open(plan: &LogicalPlan) -> bool {
    let mut found = false;
    // Looking cannot fail.
    let _ = plan.apply_with_subqueries(|node| {
        found |= match node {
            LogicalPlan::Limit(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Distinct(Distinct::On(_)) => true,
            LogicalPlan::Sort(sort) => sort.fetch.is_some(),
            _ => false,
        };
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// Whether two runs of the plan may give different answers.
pub fn is_volatile(plan: &LogicalPlan) -> bool {
    let mut found = false;
    // Looking cannot fail.
    let _ = plan.apply_with_subqueries(|node| {
        found |= node.expressions().iter().any(Expr::is_volatile);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// The plan without the statement's own LIMIT and OFFSET.
pub fn without_cut(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Limit(limit) => without_cut(limit.input.as_ref().clone()),
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => {
            let changed = plan.map_children(|input| without_cut(input).map(Transformed::yes))?;
            Ok(changed.data)
        }
        other => without_fetch(other),
    }
}

/// What the optimizer has told operators below of a cut that is gone.
fn without_fetch(plan: LogicalPlan) -> Result<LogicalPlan> {
    let changed = plan.transform_down(|node| {
        Ok(match node {
            LogicalPlan::Limit(limit) => {
                Transformed::new(LogicalPlan::Limit(limit), false, TreeNodeRecursion::Jump)
            }
            LogicalPlan::Sort(sort) => {
                Transformed::yes(LogicalPlan::Sort(Sort { fetch: None, ..sort }))
            }
            LogicalPlan::TableScan(mut scan) => {
                scan.fetch = None;
                Transformed::yes(LogicalPlan::TableScan(scan))
            }
            other => Transformed::no(other),
        })
    })?;
    Ok(changed.data)
}
