//! Light against heavy (figure 11 of "SharedDB: killing one thousand queries with one stone").

use serde_json::{Value, json};

use super::batches::distinct_parameters;
use super::{BookstoreOptions, Systems, latency_json, write};
use crate::bench::Failure;
use crate::bookstore::Scale;
use crate::bookstore::statements::{ALL, Statement};
use crate::driver::interference::{self, Stream};
use crate::report::{Figure, Table};

/// Light queries per second beside the heavy stream.
const LIGHT_PER_SECOND: f64 = 400.0;

/// What is light: by key, and the paper's own, which shares its join with best sellers.
const LIGHT: [(&str, Statement); 2] =
    [("item look-ups", Statement::ProductDetail), ("searches by title", Statement::SearchTitle)];

/// Measures and draws it, a figure per light query.
pub fn draw(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
) -> Result<Value, Failure> {
    let mut values = serde_json::Map::new();
    for (name, light) in LIGHT {
        values.insert(name.to_owned(), draw_one(options, systems, scale, name, light)?);
    }
    Ok(Value::Object(values))
}

fn draw_one(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
    name: &str,
    light: Statement,
) -> Result<Value, Failure> {
    let light_parameters = distinct_parameters(light, scale, 4_096, options.seed);
    let windows = distinct_parameters(Statement::BestSellersWindow, scale, 20_000, options.seed);
    let mut table = Table::new(&[
        "system",
        "heavy offered/s",
        "heavy served/s",
        "heavy p99 ms",
        "light p50 ms",
        "light p99 ms",
    ]);
    let mut values = serde_json::Map::new();
    let lines = systems.lines(|system, points| {
        for &rate in &options.heavy_rates {
            let light = Stream {
                statement: ALL[light as usize].1,
                parameters: &light_parameters,
                per_second: LIGHT_PER_SECOND,
                connections: 4,
            };
            let heavy = Stream {
                statement: ALL[Statement::BestSellersWindow as usize].1,
                parameters: &windows,
                per_second: rate,
                connections: 64,
            };
            let seconds = options.seconds.min(5.0);
            let (light, heavy) = interference::run(system, &light, &heavy, seconds)?;
            table.row([
                system.name().to_owned(),
                format!("{rate:.0}"),
                format!("{:.0}", heavy.per_second),
                format!("{:.2}", heavy.latency.quantile_ms(0.99)),
                format!("{:.2}", light.latency.quantile_ms(0.5)),
                format!("{:.2}", light.latency.quantile_ms(0.99)),
            ]);
            points.push((rate, light.latency.quantile_ms(0.99)));
            values.insert(
                format!("{}/{rate}", system.name()),
                json!({"light": latency_json(&light.latency),
                       "heavy": latency_json(&heavy.latency),
                       "heavy_served_per_second": heavy.per_second}),
            );
            if heavy.per_second < 0.6 * rate {
                break;
            }
        }
        Ok(())
    })?;
    println!("\n{LIGHT_PER_SECOND} {name} per second beside best sellers\n{table}");
    let figure = Figure {
        title: format!("Light beside heavy: {name}"),
        x: "best-sellers queries per second".to_owned(),
        y: "p99 of the light ones, ms".to_owned(),
        logarithmic: false,
        lines,
        notes: systems.ended.clone(),
    };
    write(&figure, &options.output.join(format!("interference-{}.svg", name.replace(' ', "-"))))?;
    Ok(Value::Object(values))
}
