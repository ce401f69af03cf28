//! The most that is served over the number of cores (figure 8 of "SharedDB: killing one thousand queries with one stone").
//!
//! Systems are started and loaded anew for each number of cores; the driver keeps all of them.

use std::path::Path;

use serde_json::Value;

use super::mixes::{mix_name, most};
use super::{BookstoreOptions, lines_json, load_all, start, write};
use crate::bench::Failure;
use crate::bookstore::{Pages, Scale};
use crate::report::{Figure, Line};

/// Measures and draws it, a figure per mix.
pub fn draw(options: &BookstoreOptions, scale: Scale, scratch: &Path) -> Result<Value, Failure> {
    let mut by_mix: Vec<Vec<Line>> = options.mix.iter().map(|_| Vec::new()).collect();
    let (mut notes, own) = (Vec::new(), scratch.join("cores"));
    for cores in 1..=std::thread::available_parallelism().map_or(1, usize::from) {
        std::fs::create_dir_all(&own)?;
        let mut systems = start(options, &own, Some(cores))?;
        load_all(&mut systems, scale, &own, options.seed)?;
        for (&mix, lines) in options.mix.iter().zip(&mut by_mix) {
            systems.on_each(|system| {
                let (_, served) = most(options, system, scale, Pages::Of(mix))?;
                println!("{} on {cores} cores, {mix:?}: {served:.0} per second", system.name());
                Line::extend(lines, system.name(), (cores as f64, served));
                Ok(())
            })?;
        }
        notes.append(&mut systems.ended);
        drop(systems);
        std::fs::remove_dir_all(&own)?;
    }
    let mut values = serde_json::Map::new();
    for (&mix, lines) in options.mix.iter().zip(by_mix) {
        values.insert(mix_name(mix), lines_json(&lines));
        let figure = Figure {
            title: format!("The most over cores, {mix:?} mix"),
            x: "cores of the server".to_owned(),
            y: "interactions per second".to_owned(),
            logarithmic: false,
            lines,
            notes: notes.clone(),
        };
        write(&figure, &options.output.join(format!("cores-{}.svg", mix_name(mix))))?;
    }
    Ok(Value::Object(values))
}
