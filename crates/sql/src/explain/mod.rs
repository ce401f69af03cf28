//! What EXPLAIN says of a query: its path through the global plan, or that it runs alone and why.

mod json;

use std::time::Duration;

use datafusion::logical_expr::LogicalPlan;
use engine::heartbeat::{Engine, Figures, PathCost, Template};
use engine::plan::Explanation;
use engine::types::Value;

use crate::alone::Report;
use crate::session::PathSetting;
use crate::template::{Path, QueryTemplate};

/// What EXPLAIN says, before it is text or JSON.
pub struct Told {
    plan: ToldPlan,
    /// What is said of all of it, line by line.
    notes: Vec<String>,
}

enum ToldPlan {
    /// Its path through the global plan.
    Shared(Explanation),
    /// Query at a time, and why.
    Alone(String, LogicalPlan),
    /// There is no plan: how it runs.
    Without(String),
}

impl Told {
    /// Of a statement without a plan.
    pub fn without_plan(how: &str) -> Told {
        Told { plan: ToldPlan::Without(how.to_owned()), notes: Vec::new() }
    }

    /// Of a query with these parameters, as far as the session's setting leaves a choice.
    pub fn of_query(template: &QueryTemplate, values: &[Value], path: PathSetting) -> Told {
        told(template, values, None, None, path)
    }

    /// Of a query that was run: also what its heartbeat did, or that it ran alone.
    pub fn analyzed(
        template: &QueryTemplate,
        values: &[Value],
        figures: Option<&Figures>,
        report: &Report,
        path: PathSetting,
    ) -> Told {
        let mut told = told(template, values, figures, report.lone(), path);
        told.notes.extend(report.lines());
        told
    }

    /// Says something more of all of it.
    pub fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// The lines of the text.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = match &self.plan {
            ToldPlan::Shared(path) => path.to_string().lines().map(str::to_owned).collect(),
            ToldPlan::Alone(reason, plan) => {
                let tree = plan.display_indent().to_string();
                let tree = tree.lines().map(|line| format!("  {line}"));
                std::iter::once(runs_alone(reason)).chain(tree).collect()
            }
            ToldPlan::Without(how) => vec![how.clone()],
        };
        lines.extend(self.notes.iter().cloned());
        lines
    }

    /// JSON in the shape of PostgreSQL's: a plan is an object with its kind and the plans below it.
    pub fn json(&self) -> String {
        let mut told = match &self.plan {
            ToldPlan::Shared(path) => json::of_path(path),
            ToldPlan::Alone(reason, plan) => json::of_logical_plan(&runs_alone(reason), plan),
            ToldPlan::Without(how) => json::without_plan(how),
        };
        json::add_notes(&mut told, &self.notes);
        format!("{:#}", serde_json::Value::Array(vec![told]))
    }
}

fn told(
    template: &QueryTemplate,
    values: &[Value],
    figures: Option<&Figures>,
    lone: Option<Duration>,
    path: PathSetting,
) -> Told {
    let alone = |reason: &str| ToldPlan::Alone(reason.to_owned(), template.plan.clone());
    let mut notes = Vec::new();
    let plan = match &template.path {
        Path::Alone(reason) => alone(reason),
        Path::Shared(_) if path == PathSetting::Alone => alone("shareddb.path is alone"),
        Path::Shared(shared) => {
            let engine = template.engine.upgrade().expect("the session that asks holds it");
            if path == PathSetting::Automatic {
                notes.extend(choice(&engine, shared));
            }
            notes.extend(lone.map(|took| format!("It ran alone, in {} µs", took.as_micros())));
            match lone {
                Some(_) => alone("by itself that is predicted to be cheaper"),
                None => ToldPlan::Shared(engine.explain(shared, values, figures)),
            }
        }
    };
    Told { plan, notes }
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

fn runs_alone(reason: &str) -> String {
    format!("Runs alone, query at a time: {}", first_line(reason))
}

fn first_line(reason: &str) -> &str {
    reason.lines().next().unwrap_or_default()
}
