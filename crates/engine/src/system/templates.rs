//! `shareddb.templates`

use super::{SystemTable, number, text};
use crate::heartbeat::Engine;
use crate::plan::{Registered, weight_name};
use crate::types::{DataType, Value};

pub(super) const TABLE: SystemTable = SystemTable {
    name: "templates",
    columns: &[
        ("template", DataType::BigInt),
        ("lane", DataType::BigInt),
        ("weight", DataType::Text),
        ("parameters", DataType::BigInt),
        ("operators", DataType::BigInt),
        ("estimated_rows", DataType::Double),
        ("estimated_us", DataType::Double),
        ("statement", DataType::Text),
    ],
    rows,
};

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    engine.reads().with_plan(|plan| {
        let row = |registered: Registered<'_>| {
            let Registered { template: id, plan, compiled, lane } = registered;
            let mut operators = 0;
            compiled.root.visit(&mut |_| operators += 1);
            vec![
                number(id.0),
                number(lane.0),
                text(weight_name(compiled.weight)),
                number(plan.parameters.len()),
                number(operators),
                Value::Double(compiled.root.estimate.rows),
                Value::Double(compiled.root.total_cost() / 1000.0),
                text(&*plan.text),
            ]
        };
        plan.templates().map(row).collect()
    })
}
