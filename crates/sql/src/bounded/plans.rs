//! How large a plan is once every name stands for what it names.
//!
//! A CTE that is named twice is one plan with two readers, but whatever walks plans walks it twice: sixteen that each name the
//! one before twice are 65,536. They are counted here without walking them, each part once.

use std::collections::HashMap;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use engine::types::{Error, Result, SqlState};

use super::too_deep;
use super::widths::check_targets;

/// Nodes of a plan, each as often as it is read.
const NODE_LIMIT: u64 = 50_000;

/// How deep its nodes may be nested.
const DEPTH_LIMIT: u64 = 5_000;

/// Nodes of a plan that is merged with others', and tables among them: everybody who registers a template waits for that.
const SHARED_NODES: u64 = 500;
const SHARED_TABLES: u64 = 40;

/// A plan, all that is below it counted as often as it is read.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: u64,
    tables: u64,
    depth: u64,
}

/// 54001 for a plan that is too large or too deep, 54011 for one with too many columns.
pub fn check_plan(plan: &LogicalPlan) -> Result<()> {
    check_targets(plan.schema().fields().len())?;
    let mut known = HashMap::new();
    let size = size_of(plan, &mut known);
    if size.depth > DEPTH_LIMIT {
        return Err(too_deep());
    }
    if size.nodes > NODE_LIMIT { Err(too_large()) } else { Ok(()) }
}

/// Why a plan runs alone, where it is too large to be merged with others'.
pub fn too_large_to_share(plan: &LogicalPlan) -> Option<String> {
    let size = size_of(plan, &mut HashMap::new());
    if size.tables > SHARED_TABLES {
        return Some(format!("it reads more than {SHARED_TABLES} tables"));
    }
    (size.nodes > SHARED_NODES).then(|| format!("its plan has more than {SHARED_NODES} nodes"))
}

/// By addresses: plans are shared, never copied, where a name is used twice. Inputs without recursion; subqueries, which are
/// nested no deeper than the text was, with it.
fn size_of(plan: &LogicalPlan, known: &mut HashMap<*const LogicalPlan, Size>) -> Size {
    let mut open = vec![(plan, false)];
    while let Some((node, is_counted_below)) = open.pop() {
        if known.contains_key(&std::ptr::from_ref(node)) {
            continue;
        }
        if !is_counted_below {
            open.push((node, true));
            open.extend(node.inputs().into_iter().map(|input| (input, false)));
            continue;
        }
        let mut size = Size::default();
        for input in node.inputs() {
            add(&mut size, known.get(&std::ptr::from_ref(input)).copied().unwrap_or_default());
        }
        let _ = node.apply_subqueries(|subquery| {
            add(&mut size, size_of(subquery, known));
            Ok(TreeNodeRecursion::Continue)
        });
        size.nodes = size.nodes.saturating_add(1);
        size.depth += 1;
        size.tables =
            size.tables.saturating_add(u64::from(matches!(node, LogicalPlan::TableScan(_))));
        known.insert(std::ptr::from_ref(node), size);
    }
    known.get(&std::ptr::from_ref(plan)).copied().unwrap_or_default()
}

fn add(size: &mut Size, below: Size) {
    size.nodes = size.nodes.saturating_add(below.nodes);
    size.tables = size.tables.saturating_add(below.tables);
    size.depth = size.depth.max(below.depth);
}

/// 54001.
pub(super) fn too_large() -> Error {
    let message =
        "statement too complex: the tables, views and subqueries that it names are too many";
    Error::new(SqlState::StatementTooComplex, message)
}
