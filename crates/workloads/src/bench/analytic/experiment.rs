//! A figure that is a row of bursts: the same number of queries with more plans, more rows, more of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{AnalyticOptions, Axes, Measured, burst_of, write_figure};
use crate::bench::Failure;
use crate::driver::burst::Burst;
use crate::peers::System;
use crate::query::{Query, QueryMix};
use crate::report::{Line, Table};

/// What the figure shows of each burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Milliseconds until the last answer.
    ResponseTime,
    /// Queries per second.
    Throughput,
}

impl Shown {
    fn axis(self) -> &'static str {
        match self {
            Shown::ResponseTime => "ms until the last answer",
            Shown::Throughput => "queries/s",
        }
    }

    fn value(self, burst: &Burst) -> f64 {
        match self {
            Shown::ResponseTime => burst.milliseconds,
            Shown::Throughput => burst.queries as f64 * 1000.0 / burst.milliseconds,
        }
    }
}

/// One burst to measure.
pub struct Point {
    /// Where it stands in the figure.
    pub x: f64,
    /// The queries, of the experiment's mix with this number.
    pub mix: usize,
    /// All at once.
    pub queries: Vec<Query>,
}

/// A row of bursts.
pub struct Experiment {
    /// In file names and the record.
    pub key: &'static str,
    /// Above the figure.
    pub title: String,
    /// Below it.
    pub x: &'static str,
    /// To its left.
    pub shown: Shown,
    /// What the points' queries are of.
    pub mixes: Vec<Box<dyn QueryMix>>,
    /// From left to right.
    pub points: Vec<Point>,
    /// SharedDB is measured with so many of the queries at a time as well (admission control).
    pub admitted: Vec<usize>,
}

/// What a system showed, once for each way in which it was asked.
#[derive(Clone)]
pub struct Bursts {
    /// The system, and how it was asked.
    pub label: String,
    /// Places in the figure and bursts, from left to right.
    pub points: Vec<(f64, Burst)>,
}

/// What a system showed in each experiment, by its key.
#[derive(Clone, Default)]
pub struct Series(pub BTreeMap<&'static str, Vec<Bursts>>);

impl Experiment {
    /// Measures all points of one system; those that it refuses or would take too long for are left out. What was
    /// measured before the system failed is kept.
    pub fn measure(
        &self,
        options: &AnalyticOptions,
        system: &dyn System,
        measured: &mut Measured,
    ) -> Result<(), Failure> {
        let name = system.name();
        let mut ways = vec![(name.to_owned(), measured.connections)];
        if !measured.is_peer {
            let admitted = self.admitted.iter();
            ways.extend(admitted.map(|&n| (format!("{name}, {n} at a time"), Some(n))));
        }
        for (label, connections) in ways {
            let mut points = Vec::new();
            let per_query_ms = measured.loops_ms_per_query();
            let outcome =
                self.measure_line(options, system, &label, connections, per_query_ms, &mut points);
            let shown = points.iter().map(|(x, burst)| (*x, self.shown.value(burst)));
            let shown: Vec<String> =
                shown.map(|(x, y)| format!("{}: {y:.1}", shortest(x))).collect();
            println!("  {label}, {}, {}: {}", self.key, self.shown.axis(), shown.join("  "));
            measured.series.0.entry(self.key).or_default().push(Bursts { label, points });
            outcome?;
        }
        Ok(())
    }

    fn measure_line(
        &self,
        options: &AnalyticOptions,
        system: &dyn System,
        label: &str,
        connections: Option<usize>,
        mut per_query_ms: f64,
        points: &mut Vec<(f64, Burst)>,
    ) -> Result<(), Failure> {
        for point in &self.points {
            if options.is_too_long(label, point.queries.len(), per_query_ms) {
                continue;
            }
            match burst_of(system, &*self.mixes[point.mix], connections, &point.queries) {
                Ok(burst) => {
                    per_query_ms = per_query_ms.max(burst.milliseconds / burst.queries as f64);
                    points.push((point.x, burst));
                }
                Err(failure) if failure.state.is_empty() => return Err(failure.into()),
                Err(failure) => println!("{label}: {} at {}: {failure}", self.key, point.x),
            }
        }
        Ok(())
    }

    /// The lines of all systems.
    pub fn lines(&self, measured: &[Measured]) -> Vec<Line> {
        let series = measured.iter().filter_map(|system| system.series.0.get(self.key)).flatten();
        let shown = |(x, burst): &(f64, Burst)| (*x, self.shown.value(burst));
        let line = |bursts: &Bursts| Line {
            label: bursts.label.clone(),
            points: bursts.points.iter().map(shown).collect(),
        };
        series.map(line).filter(|line| !line.points.is_empty()).collect()
    }

    /// A table with a column for each point.
    pub fn print(&self, measured: &[Measured]) {
        let lines = self.lines(measured);
        if lines.is_empty() {
            return;
        }
        let title = format!("{}: {} by {}", self.title, self.shown.axis(), self.x);
        let places = self.points.iter().map(|point| shortest(point.x));
        let heading: Vec<String> = std::iter::once("system".to_owned()).chain(places).collect();
        let mut table = Table::new(&heading.iter().map(String::as_str).collect::<Vec<_>>());
        for line in &lines {
            let cells = self.points.iter().map(|point| {
                let found = line.points.iter().find(|(x, _)| *x == point.x);
                found.map_or("-".to_owned(), |(_, value)| format!("{value:.1}"))
            });
            table.row(std::iter::once(line.label.clone()).chain(cells));
        }
        println!("\n{title}\n{table}");
    }

    /// Draws it.
    pub fn draw(
        &self,
        measured: &[Measured],
        file: &std::path::Path,
        at: &str,
    ) -> Result<(), Failure> {
        let axes = Axes { x: self.x, y: self.shown.axis() };
        write_figure(file, &format!("{}, {at}", self.title), axes, self.lines(measured))
    }
}

fn shortest(x: f64) -> String {
    if x.fract() == 0.0 { format!("{x}") } else { format!("{x:.2}") }
}

impl Series {
    /// For the record.
    pub fn json(&self) -> Value {
        let line = |bursts: &Bursts| {
            let points = bursts.points.iter();
            let points = points.map(|(x, burst)| json!({"x": x, "burst": burst}));
            (bursts.label.clone(), Value::Array(points.collect()))
        };
        let lines = |lines: &Vec<Bursts>| -> serde_json::Map<String, Value> {
            lines.iter().map(line).collect()
        };
        let all = self.0.iter();
        all.map(|(key, series)| ((*key).to_owned(), Value::Object(lines(series)))).collect()
    }
}
