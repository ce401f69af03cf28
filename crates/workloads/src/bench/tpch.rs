//! `shareddb bench tpch`: the workload derived from TPC-H.

use super::Failure;
use super::analytic::{
    AnalyticOptions, Contest, Measured, failures, print_bursts, print_loads, print_loops,
    print_statements, record,
};
use crate::driver::Session;
use crate::peers::System;
use crate::query::QueryMix;
use crate::tpch::{Templates, Tpch, published};

/// Options of the TPC-H-derived benchmark.
#[derive(Debug, clap::Args)]
pub struct TpchOptions {
    /// The scale factor: 1 is 6 million rows in `lineitem`.
    #[arg(long, default_value_t = 1.0)]
    scale_factor: f64,
    #[command(flatten)]
    common: AnalyticOptions,
}

/// Runs the benchmark.
pub fn run(options: &TpchOptions) -> Result<(), Failure> {
    let (common, factor) = (&options.common, options.scale_factor);
    println!("TPC-H-derived, scale factor {factor}, seed {}", common.seed);
    let dataset = Tpch::new(factor);
    let all = Templates::new(factor);
    let mix = Templates::only(&common.select(&all)?, factor);
    let mut contest = Contest::new(common, "tpch", &dataset, &mix)?;
    let mut measured: Vec<Measured> = Vec::new();
    for contestant in common.contestants() {
        let published = |system: &dyn System| verify(system, &mix, factor);
        measured.push(contest.measure(contestant, published, |_, _, _| Ok(()))?);
    }
    print_loads(&measured);
    print_loops(&measured);
    print_statements(&measured);
    print_bursts(&measured);
    if let Some(file) = &common.json {
        let mut value = record(common, "TPC-H-derived", &measured);
        value["scale_factor"] = factor.into();
        std::fs::write(file, serde_json::to_string_pretty(&value)?)?;
    }
    failures(&measured)
}

/// The validation run: answers against the published ones, which exist for scale factor 1.
fn verify(system: &dyn System, mix: &Templates, factor: f64) -> Result<Vec<String>, Failure> {
    let mut session = Session::open(system.connect()?, mix.statements());
    let mut found = Vec::new();
    let mut count = 0;
    for (number, query) in mix.validation() {
        count += 1;
        let start = std::time::Instant::now();
        let answer = session.answer(&query);
        let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
        let rows = answer.as_ref().map_or(0, Vec::len);
        println!("  validation run, Q{number}: {rows} rows in {milliseconds:.1} ms");
        match answer {
            Ok(rows) if factor == 1.0 => {
                let difference = published::difference(number, &rows);
                found.extend(difference.map(|what| format!("Q{number}: {what}")));
            }
            Ok(_) => {}
            Err(failure) => found.push(format!("Q{number} fails: {failure}")),
        }
    }
    let against = if factor == 1.0 { "as published" } else { "answered" };
    println!("validation run: {} of {count} {against}", count - found.len());
    found.iter().for_each(|what| println!("  {what}"));
    Ok(found)
}
