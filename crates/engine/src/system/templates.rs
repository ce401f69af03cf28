//! `shareddb.templates`

use super::{SystemTable, micros, number, text};
use crate::heartbeat::{Engine, PathCost};
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
        // One activation by itself: what the cost model says, and what it took on average.
        ("global_predicted_us", DataType::Double),
        ("global_measured_us", DataType::Double),
        ("alone_predicted_us", DataType::Double),
        ("alone_measured_us", DataType::Double),
    ],
    rows,
};

fn rows(engine: &Engine) -> Vec<Vec<Value>> {
    let templates = engine.reads().templates();
    engine.reads().with_plan(|plan| {
        let row = |registered: Registered<'_>| {
            let Registered { template: id, plan, compiled, lane } = registered;
            let mut operators = 0;
            compiled.root.visit(&mut |_| operators += 1);
            let costs = templates.get(&id).map(|template| template.path_costs());
            let mut row = vec![
                number(id.0),
                number(lane.0),
                text(weight_name(compiled.weight)),
                number(plan.parameters.len()),
                number(operators),
                Value::Double(compiled.root.estimate.rows),
                Value::Double(compiled.root.total_cost() / 1000.0),
                text(&*plan.text),
            ];
            for path in [costs.map(|costs| costs.global), costs.map(|costs| costs.alone)] {
                row.extend(path_cells(path));
            }
            row
        };
        plan.templates().map(row).collect()
    })
}

fn path_cells(cost: Option<PathCost>) -> [Value; 2] {
    let measured = cost.and_then(|cost| cost.measured);
    [cost.map_or(Value::Null, |cost| micros(cost.predicted)), measured.map_or(Value::Null, micros)]
}
