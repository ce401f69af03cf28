//! Batches of light and heavy queries (figure 10 of "SharedDB: killing one thousand queries with one stone").

use serde_json::{Value, json};

use super::{BookstoreOptions, Systems, write};
use crate::bench::Failure;
use crate::bookstore::statements::{ALL, Statement};
use crate::bookstore::{Browser, Scale};
use crate::client::Parameter;
use crate::driver::burst::{self, Burst};
use crate::peers::System;
use crate::query::{self, Query};
use crate::report::{Figure, Table};

/// Measures and draws them.
pub fn draw(
    options: &BookstoreOptions,
    systems: &mut Systems,
    scale: Scale,
) -> Result<Value, Failure> {
    let kinds: [(&str, Statement); 3] = [
        ("title searches", Statement::SearchTitle),
        ("best sellers", Statement::BestSellersWindow),
        ("item look-ups", Statement::ProductDetail),
    ];
    let mut values = serde_json::Map::new();
    for (name, statement) in kinds {
        let mut table = Table::new(&["at once", "system", "connections", "ms", "server CPU ms"]);
        let lines = systems.lines(|system, points| {
            for &queries in &options.batch_sizes {
                let parameters = distinct_parameters(statement, scale, queries, options.seed);
                let burst = best_burst(system, statement, &parameters)?;
                table.row([
                    queries.to_string(),
                    system.name().to_owned(),
                    burst.connections.to_string(),
                    format!("{:.2}", burst.milliseconds),
                    format!("{:.1}", burst.server_cpu_ms),
                ]);
                points.push((queries as f64, burst.milliseconds));
                let key = format!("{name}/{}/{queries}", system.name());
                values.insert(key, json!(burst));
            }
            Ok(())
        })?;
        println!("\nBatches of {name}\n{table}");
        let figure = Figure {
            title: format!("Response time of a batch: {name}"),
            x: "queries at once".to_owned(),
            y: "milliseconds until the last answer".to_owned(),
            logarithmic: true,
            lines,
            notes: systems.ended.clone(),
        };
        let file = format!("batches-{}.svg", name.replace(' ', "-"));
        write(&figure, &options.output.join(file))?;
    }
    Ok(Value::Object(values))
}

/// The pool at which the system finishes first.
fn best_burst(
    system: &dyn System,
    statement: Statement,
    parameters: &[Vec<Parameter>],
) -> Result<Burst, Failure> {
    let (name, text) = ALL[statement as usize];
    let statements = [query::Statement { name: format!("{name:?}"), text: text.to_owned() }];
    let queries: Vec<Query> = parameters
        .iter()
        .map(|parameters| Query { statement: 0, parameters: parameters.clone() })
        .collect();
    let mut best: Option<Burst> = None;
    for connections in [8, 32, 128, 1_024] {
        if connections > 8 && connections / 4 >= parameters.len() {
            continue;
        }
        let times = if parameters.len() < 64 { 15 } else { 5 };
        let burst = burst::run(system, &statements, &queries, connections, times)?;
        if best.is_none_or(|best| burst.milliseconds < best.milliseconds) {
            best = Some(burst);
        }
    }
    Ok(best.expect("eight connections are always tried"))
}

/// Parameters that differ from each other: no figure may depend on equal activations collapsing.
pub fn distinct_parameters(
    statement: Statement,
    scale: Scale,
    count: usize,
    seed: u64,
) -> Vec<Vec<Parameter>> {
    let mut browser = Browser::new(scale, seed);
    let draw = |i: usize, browser: &mut Browser| match statement {
        Statement::SearchTitle => {
            let key = 1 + i as u64 % scale.title_keys();
            vec![format!("%{}%", crate::bookstore::digit_syllables(key, 7)).into()]
        }
        Statement::BestSellersWindow => {
            let window = 3_333 - (i as i64 / 24) % 1_000;
            let subject = crate::bookstore::population::SUBJECTS[i % 24];
            vec![window.into(), subject.into()]
        }
        _ => vec![browser.any_item().into()],
    };
    (0..count).map(|i| draw(i, &mut browser)).collect()
}
