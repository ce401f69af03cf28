//! `shareddb.lanes`

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::{SystemTable, micros, number, text};
use crate::heartbeat::Engine;
use crate::plan::weight_name;
use crate::types::{DataType, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "lanes",
    columns: &[
        ("lane", DataType::BigInt),
        ("weight", DataType::Text),
        ("templates", DataType::BigInt),
        ("operators", DataType::BigInt),
        ("waiting", DataType::BigInt),
        ("heartbeats", DataType::BigInt),
        ("activations", DataType::BigInt),
        ("refused", DataType::BigInt),
        ("panics", DataType::BigInt),
        ("total_us", DataType::Double),
        ("correction", DataType::Double),
    ],
    rows,
};

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    let row = |lane: std::sync::Arc<crate::heartbeat::Lane>| {
        let (plan, totals) = (lane.plan.load(), &lane.totals);
        vec![
            number(lane.id.0),
            text(weight_name(lane.weight)),
            number(plan.plan.members.len()),
            number(plan.nodes.len()),
            number(lane.waiting()),
            number(totals.heartbeats.load(Relaxed)),
            number(totals.activations.load(Relaxed)),
            number(totals.refused.load(Relaxed)),
            number(totals.panics.load(Relaxed)),
            micros(Duration::from_nanos(totals.time.load(Relaxed))),
            Value::Double(totals.correction.load(Relaxed) as f64 / 1000.0),
        ]
    };
    engine.reads().all_lanes().into_iter().map(row).collect()
}
