//! What EXPLAIN says of a query: its path through the global plan, or that it runs alone and why.

use datafusion::logical_expr::LogicalPlan;
use engine::heartbeat::Figures;

use crate::template::{Path, QueryTemplate};

/// The lines of EXPLAIN; with figures of a heartbeat, those of EXPLAIN ANALYZE. `all_alone`: the session keeps away from
/// the global plan.
pub fn lines(template: &QueryTemplate, figures: Option<&Figures>, all_alone: bool) -> Vec<String> {
    match &template.path {
        Path::Shared(_) if all_alone => alone("shareddb.path is alone", &template.plan),
        Path::Shared(shared) => {
            let text = template.engine.upgrade().map(|engine| engine.explain(shared, figures));
            text.unwrap_or_default().lines().map(str::to_owned).collect()
        }
        Path::Alone(reason) => alone(reason, &template.plan),
    }
}

fn alone(reason: &str, plan: &LogicalPlan) -> Vec<String> {
    let mut lines = vec![format!("Runs alone, query at a time: {}", first_line(reason))];
    let tree = plan.display_indent().to_string();
    lines.extend(tree.lines().map(|line| format!("  {line}")));
    lines
}

fn first_line(reason: &str) -> &str {
    reason.lines().next().unwrap_or_default()
}
