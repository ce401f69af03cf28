//! What EXPLAIN says of a query: its path through the global plan, or that it runs alone and why.

use std::time::Duration;

use datafusion::logical_expr::LogicalPlan;
use engine::heartbeat::{Engine, Figures, PathCost, Template};
use engine::types::Value;

use crate::alone::Report;
use crate::session::PathSetting;
use crate::template::{Path, QueryTemplate};

/// The lines of EXPLAIN for a query with these parameters, as far as the session's setting leaves a choice.
pub fn lines(template: &QueryTemplate, values: &[Value], path: PathSetting) -> Vec<String> {
    told(template, values, None, None, path)
}

/// The lines of EXPLAIN ANALYZE: also what its heartbeat did, or that it ran alone.
pub fn analyzed(
    template: &QueryTemplate,
    values: &[Value],
    figures: Option<&Figures>,
    report: &Report,
    path: PathSetting,
) -> Vec<String> {
    let mut lines = told(template, values, figures, report.lone(), path);
    lines.extend(report.lines());
    lines
}

fn told(
    template: &QueryTemplate,
    values: &[Value],
    figures: Option<&Figures>,
    lone: Option<Duration>,
    path: PathSetting,
) -> Vec<String> {
    match (&template.path, lone) {
        (Path::Shared(_), _) if path == PathSetting::Alone => {
            alone("shareddb.path is alone", &template.plan)
        }
        (Path::Shared(shared), lone) => {
            let Some(engine) = template.engine.upgrade() else { return Vec::new() };
            let mut lines = match lone {
                Some(_) => alone("by itself that is predicted to be cheaper", &template.plan),
                None => {
                    engine.explain(shared, values, figures).lines().map(str::to_owned).collect()
                }
            };
            if path == PathSetting::Automatic {
                lines.extend(choice(&engine, shared));
            }
            lines.extend(lone.map(|took| format!("It ran alone, in {} µs", took.as_micros())));
            lines
        }
        (Path::Alone(reason), _) => alone(reason, &template.plan),
    }
}

/// Where a query goes that comes by itself, and why.
fn choice(engine: &Engine, shared: &Template) -> Option<String> {
    let costs = engine.path_costs(shared)?;
    let taken = if costs.is_alone_cheaper() { "runs alone" } else { "takes the global plan" };
    let (global, alone) = (cost(&costs.global), cost(&costs.alone));
    Some(format!("By itself it {taken}: {global} in the global plan, {alone} alone"))
}

fn cost(cost: &PathCost) -> String {
    let predicted = rounded(cost.predicted);
    match cost.measured {
        None => format!("predicted {predicted}"),
        Some(measured) => {
            let (corrected, measured) = (rounded(cost.corrected), rounded(measured));
            format!("predicted {corrected} ({predicted} before corrections, measured {measured})")
        }
    }
}

/// Microseconds in two significant digits.
fn rounded(duration: Duration) -> String {
    let micros = (duration.as_nanos() as f64 / 1000.0).max(1.0);
    let unit = 10f64.powf((micros.log10().floor() - 1.0).max(0.0));
    format!("{} µs", (micros / unit).round() * unit)
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
