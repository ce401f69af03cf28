//! Throughput over load (figure 7 of "SharedDB: killing one thousand queries with one stone"): browsers that think, with and without a
//! promised response time.

use std::time::Duration;

use serde_json::Value;

use super::mixes::{BestConnections, mix_name};
use super::{BookstoreOptions, Systems, lines_json, write};
use crate::bench::Failure;
use crate::bookstore::Scale;
use crate::driver::offered::{self, OfferedLoad};
use crate::peers::System;
use crate::report::{Figure, Line};

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
        let line = |system: &dyn System, setting: Option<&str>| {
            let measured = best[&(name.clone(), system.name().to_owned())];
            let connections = options.figure_pool.unwrap_or(measured);
            let plan = OfferedLoad { mix, connections, setting, ..load(options, scale) };
            over_browsers(options, system, plan)
        };
        let mut lines = systems.lines(|system, points| {
            *points = line(system, None)?;
            Ok(())
        })?;
        if let Some(milliseconds) = options.promise_ms {
            let own = &*systems.running[0];
            let setting = format!("SET shareddb.response_time = '{milliseconds}ms'");
            let label = format!("{}, {milliseconds} ms promised", own.name());
            lines.push(Line { label, points: line(own, Some(&setting))? });
        }
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

/// What is served of each number of browsers; ends where that is little, unless it is asked what comes beyond.
fn over_browsers(
    options: &BookstoreOptions,
    system: &dyn System,
    plan: OfferedLoad<'_>,
) -> Result<Vec<(f64, f64)>, Failure> {
    let mut points = vec![(0.0, 0.0)];
    for &browsers in &options.figure_browsers {
        let served = offered::run(system, OfferedLoad { browsers, ..plan })?.throughput();
        println!("{} with {browsers} browsers: {served:.0} per second", system.name());
        points.push((browsers as f64, served));
        let is_saturated = served < SERVED * browsers as f64 / options.think_seconds;
        if is_saturated && !options.beyond_saturation {
            break;
        }
    }
    Ok(points)
}

/// Browsers are spread over one thinking time before anything is measured.
fn load(options: &BookstoreOptions, scale: Scale) -> OfferedLoad<'static> {
    let think = Duration::from_secs_f64(options.think_seconds);
    OfferedLoad {
        mix: options.mix[0],
        scale,
        browsers: 0,
        think,
        connections: 1,
        setting: None,
        warm_up: think,
        measure: Duration::from_secs_f64(options.seconds),
        seed: options.seed,
    }
}
