//! `shareddb.heartbeats`: the last heartbeats of lanes that run operators, oldest first. Batches that are nothing but
//! index probes are counted in `shareddb.lanes` only: noting each would take longer than running it.

use super::{SystemTable, micros, number};
use crate::heartbeat::{Engine, Figures};
use crate::types::{DataType, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "heartbeats",
    columns: &[
        ("heartbeat", DataType::BigInt),
        ("lane", DataType::BigInt),
        ("version", DataType::BigInt),
        ("began_us", DataType::Double),
        ("took_us", DataType::Double),
        ("predicted_us", DataType::Double),
        // What was predicted for running its activations one by one.
        ("alone_us", DataType::Double),
        ("activations", DataType::BigInt),
        ("requests", DataType::BigInt),
        ("query_sets", DataType::BigInt),
        ("operators", DataType::BigInt),
        ("rows", DataType::BigInt),
        // Where it joined a pass that was under way, as a share of the table, and how many were aboard.
        ("joined_at", DataType::Double),
        ("joined", DataType::BigInt),
    ],
    rows,
};

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    let row = |figures: Figures| {
        let rows: usize = figures.operators.iter().map(|o| o.rows).sum();
        vec![
            number(figures.number),
            number(figures.lane.0),
            number(figures.version.0),
            micros(figures.began),
            micros(figures.took),
            micros(figures.predicted),
            micros(figures.operators.iter().map(|o| o.alone).sum()),
            number(figures.activations),
            number(figures.requests),
            number(figures.sets),
            number(figures.operators.len()),
            number(rows),
            figures.boarding.map_or(Value::Null, |boarding| Value::Double(boarding.at)),
            figures.boarding.map_or(Value::Null, |boarding| number(boarding.others)),
        ]
    };
    engine.reads().figures().into_iter().map(row).collect()
}
