//! Throughput over load (figure 7 of "SharedDB: killing one thousand queries with one stone"): browsers that think.

use std::time::Duration;

use serde_json::Value;

use super::mixes::{BestConnections, mix_name};
use super::{BookstoreOptions, Systems, lines_json, write};
use crate::bench::Failure;
use crate::bookstore::Scale;
use crate::driver::offered::{self, OfferedLoad};
use crate::report::Figure;

/// A line ends where a smaller share of the offered load is served in time.
const SERVED: f64 = 0.6;

/// Measures and draws it, a figure per mix.
pub fn draw(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
    best: &BestConnections,
) -> Result<Value, Failure> {
    let mut values = serde_json::Map::new();
    for &mix in &options.mix {
        let name = mix_name(mix);
        let lines = systems.lines(|system, points| {
            points.push((0.0, 0.0));
            for &browsers in &options.figure_browsers {
                let connections = best[&(name.clone(), system.name().to_owned())];
                let plan = OfferedLoad { mix, connections, ..load(options, scale, browsers) };
                let served = offered::run(system, plan)?.throughput();
                println!("{} with {browsers} browsers: {served:.0} per second", system.name());
                points.push((browsers as f64, served));
                if served < SERVED * browsers as f64 / options.think_seconds {
                    break;
                }
            }
            Ok(())
        })?;
        values.insert(name.clone(), lines_json(&lines));
        let figure = Figure {
            title: format!("Throughput over load, {mix:?} mix"),
            x: format!("emulated browsers, thinking {} s on average", options.think_seconds),
            y: "interactions per second within limits".to_owned(),
            logarithmic: false,
            lines,
            notes: systems.ended.clone(),
        };
        write(&figure, &options.output.join(format!("throughput-{name}.svg")))?;
    }
    Ok(Value::Object(values))
}

/// Browsers are spread over one thinking time before anything is measured.
fn load(options: &BookstoreOptions, scale: Scale, browsers: usize) -> OfferedLoad {
    let think = Duration::from_secs_f64(options.think_seconds);
    OfferedLoad {
        mix: options.mix[0],
        scale,
        browsers,
        think,
        connections: 1,
        warm_up: think,
        measure: Duration::from_secs_f64(options.seconds),
        seed: options.seed,
    }
}
