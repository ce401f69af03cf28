//! `shareddb.operators`: the nodes of the global plan, with what the cost model says and what was measured.

use std::collections::HashMap;
use std::time::Duration;

use super::{SystemTable, micros, number, text};
use crate::heartbeat::{Engine, Figures};
use crate::types::{DataType, LaneId, NodeId, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "operators",
    columns: &[
        ("node", DataType::BigInt),
        ("lane", DataType::BigInt),
        ("operator", DataType::Text),
        ("templates", DataType::BigInt),
        ("heartbeats", DataType::BigInt),
        ("rows", DataType::BigInt),
        ("measured_us", DataType::Double),
        ("predicted_us", DataType::Double),
    ],
    rows,
};

/// Sums over the heartbeats that are still known.
#[derive(Default)]
struct Sums {
    heartbeats: u64,
    rows: u64,
    measured: Duration,
    predicted: Duration,
}

fn sums(history: &[Figures]) -> HashMap<(LaneId, NodeId), Sums> {
    let mut sums: HashMap<(LaneId, NodeId), Sums> = HashMap::new();
    for figures in history {
        for operator in figures.operators.iter() {
            let sum = sums.entry((figures.lane, operator.node)).or_default();
            sum.heartbeats += 1;
            sum.rows += operator.rows as u64;
            sum.measured += operator.took;
            sum.predicted += operator.predicted;
        }
    }
    sums
}

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    let history = engine.reads().figures();
    let sums = sums(&history);
    let none = Sums::default();
    let mut rows = Vec::new();
    for lane in engine.reads().all_lanes() {
        for node in &lane.plan.load().plan.nodes {
            let sum = sums.get(&(lane.id, node.id)).unwrap_or(&none);
            rows.push(vec![
                number(node.id.0),
                number(lane.id.0),
                text(&*node.signature),
                number(node.members.len()),
                number(sum.heartbeats),
                number(sum.rows),
                micros(sum.measured),
                micros(sum.predicted),
            ]);
        }
    }
    rows
}
