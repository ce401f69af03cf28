//! EXPLAIN and EXPLAIN ANALYZE.

use std::fmt::Write;

use super::{Figures, Reads};
use crate::heartbeat::Template;
use crate::operators::{CacheClass, Packed};
use crate::plan::cost::Choice;
use crate::plan::{Catalog, Explained, Explanation, KnownParameters, LaneNode};
use crate::types::Value;

impl Reads {
    /// The template's path through the global plan, with the rows to be expected for these parameters; with `figures`
    /// also what its heartbeat did.
    pub fn explain(
        &self,
        template: &Template,
        parameters: &[Value],
        figures: Option<&Figures>,
    ) -> Explanation {
        let lane = template.lane_handle();
        let program = template.program();
        let prepared = lane.plan.load();
        let given: Vec<Option<Value>> = parameters.iter().cloned().map(Some).collect();
        let known = KnownParameters::new(&template.plan.parameters, &given);
        let known = known.derive(&program.compiled.derived);
        let catalog = Catalog::of(&self.store).with_parameters(known);
        let explained = Explained {
            template: template.id,
            plan: &template.plan,
            compiled: &program.compiled,
            lane: lane.id,
            lane_plan: &prepared.plan,
            catalog: &catalog,
        };
        let notes = |node: &LaneNode| {
            let star = prepared.stars.note(&prepared.plan, node);
            star.into_iter().chain(figures.and_then(|f| operator_line(f, node))).collect()
        };
        let mut explanation = explained.explanation(&notes);
        if let Some(figures) = figures {
            explanation.run.push(summary(figures));
            explanation.run.extend(figures.packed.map(packed));
        }
        explanation
    }
}

fn operator_line(figures: &Figures, node: &LaneNode) -> Option<String> {
    // A template alone in its run has nodes of its own numbering: the signature tells which is meant.
    let same = |o: &&super::OperatorFigures| o.signature == node.signature;
    let operator = figures.operators.iter().find(same)?;
    let choice = match operator.choice {
        Choice::Shared => "shared",
        Choice::Alone => "alone",
    };
    let mut line = format!(
        "actual: {} rows for {} activations in {} µs, {choice}, predicted {} µs and {} µs if each ran alone",
        operator.rows,
        operator.activations,
        operator.took.as_micros(),
        operator.predicted.as_micros(),
        operator.alone.as_micros()
    );
    if let Some(access) = &operator.access {
        let _ = write!(line, "; {access}");
    }
    Some(line)
}

/// How its aggregation shared the cache.
fn packed(packed: Packed) -> String {
    let class = match packed.class {
        CacheClass::AlwaysShare => "always shares the cache",
        CacheClass::CouldShare(_) => "could share the cache",
        CacheClass::NeverShare(_) => "never shares the cache",
    };
    let Packed { packs, queries, bytes, .. } = packed;
    let size = bytes >> 10;
    format!(
        "Packing: {class}, working set of {size} KiB, one of {queries} in its pack of {packs} packs"
    )
}

fn summary(figures: &Figures) -> String {
    let boarding = figures.boarding.map_or_else(String::new, |boarding| {
        let (share, others) = (boarding.at * 100.0, boarding.others);
        format!(
            ", joined a pass under way at {share:.0} % of the table with {others} others aboard"
        )
    });
    format!(
        "Heartbeat {} of lane {}: {} activations, {} distinct, {} query sets, {} µs, predicted {} µs{boarding}",
        figures.number,
        figures.lane,
        figures.activations,
        figures.requests,
        figures.sets,
        figures.took.as_micros(),
        figures.predicted.as_micros()
    )
}
