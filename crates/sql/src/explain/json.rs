//! EXPLAIN (FORMAT JSON): keys are PostgreSQL's where it has some.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use engine::plan::{Explanation, Step};
use serde_json::{Value, json};

/// A path through the global plan. Scalar subqueries, which run first, are plans below the root as PostgreSQL's InitPlans.
pub fn of_path(path: &Explanation) -> Value {
    let first = path.subqueries.iter().map(|(what, step)| {
        let mut plan = of_step(step, of_inputs(step));
        plan["Parent Relationship"] = "InitPlan".into();
        plan["Subplan Name"] = what.as_str().into();
        plan
    });
    let below = first.chain(of_inputs(&path.root)).collect();
    let mut told = json!({ "Plan": of_step(&path.root, below), "Lane": path.lane });
    add_notes(&mut told, &path.run);
    told
}

fn of_inputs(step: &Step) -> Vec<Value> {
    step.inputs.iter().map(|input| of_step(input, of_inputs(input))).collect()
}

fn of_step(step: &Step, below: Vec<Value>) -> Value {
    let mut plan = operator(step.kind, &step.headline, below);
    if let Some(node) = &step.node {
        plan["Node"] = node.as_str().into();
    }
    if !step.details.is_empty() {
        plan["Details"] = step.details.clone().into();
    }
    plan
}

/// A query that runs alone.
pub fn of_logical_plan(path: &str, plan: &LogicalPlan) -> Value {
    json!({ "Plan": of_logical_operator(plan), "Path": path })
}

fn of_logical_operator(plan: &LogicalPlan) -> Value {
    let description = plan.display().to_string();
    // DataFusion's lines begin with what it is: `Inner Join: a = b`.
    let kind = description.split(':').next().unwrap_or_default();
    let mut below: Vec<Value> = plan.inputs().into_iter().map(of_logical_operator).collect();
    plan.apply_subqueries(|subquery| {
        below.push(of_logical_operator(subquery));
        Ok(TreeNodeRecursion::Continue)
    })
    .expect("nothing that is done with a subquery fails");
    operator(kind, &description, below)
}

fn operator(kind: &str, description: &str, below: Vec<Value>) -> Value {
    let mut plan = json!({ "Node Type": kind, "Description": description });
    if !below.is_empty() {
        plan["Plans"] = below.into();
    }
    plan
}

/// A statement that has no plan.
pub fn without_plan(how: &str) -> Value {
    json!({ "Plan": { "Node Type": how } })
}

/// Adds what is said of all of it.
pub fn add_notes(told: &mut Value, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    let mut all = told["Notes"].take().as_array_mut().map(std::mem::take).unwrap_or_default();
    all.extend(notes.iter().map(|note| note.as_str().into()));
    told["Notes"] = all.into();
}
