//! What was measured, as a table, a record and a figure.

use serde_json::{Value, json};

use super::{Best, Offered, OverloadOptions};
use crate::bench::Failure;
use crate::bench::analytic::{Axes, write_figure};
use crate::driver::open::OpenTally;
use crate::report::{Line, Table};

/// Prints what was measured; records and draws it where that is asked for.
pub fn write(options: &OverloadOptions, best: Best, results: &[Offered]) -> Result<(), Failure> {
    print(best.measured, results);
    let name = options.workload.name();
    if let Some(file) = &options.common.json {
        let record = json!({
            "workload": format!("overload: {name}"), "scale_factor": options.scale_factor,
            "promise_ms": options.promise_ms, "pool": options.pool(best.measured), "seed": options.common.seed,
            "cores": std::thread::available_parallelism().map_or(0, usize::from),
            "closed_per_second": best.measured, "beside_closed_per_second": best.beside,
            "offered": results.iter().map(|one| one.json(best.measured)).collect::<Vec<_>>(),
        });
        std::fs::write(file, serde_json::to_string_pretty(&record)?)?;
    }
    let line = |is_promised: bool| {
        let own = results.iter().filter(|one| one.is_promised == is_promised);
        let label = if is_promised { "with a promise" } else { "without" };
        let points = own.map(|one| (one.times * best.measured, one.tally.goodput())).collect();
        Line { label: label.to_owned(), points }
    };
    let title = format!("{name}, {} ms promised for each statement", options.promise_ms);
    let axes = Axes { x: "offered/s", y: "answered in time/s" };
    let file = options.common.output.join(format!("overload-{name}.svg"));
    write_figure(&file, &title, axes, vec![line(false), line(true)])
}

fn print(best: f64, results: &[Offered]) {
    let mut table = Table::new(&[
        "promise",
        "offered",
        "offered/s",
        "in time/s",
        "of the best",
        "refused/s",
        "dropped/s",
        "p50 ms",
        "p99 ms",
        "refusal p99 ms",
        "server CPU s",
        "driver CPU s",
        "failed",
        "beside, in time/s",
        "beside, refused/s",
    ]);
    for Offered { times, is_promised, tally, beside } in results {
        let per_second = |count: u64| format!("{:.0}", count as f64 / tally.seconds);
        table.row([
            if *is_promised { "yes" } else { "no" }.to_owned(),
            format!("{times} x"),
            per_second(tally.offered),
            format!("{:.0}", tally.goodput()),
            format!("{:.3}", tally.goodput() / best),
            per_second(tally.refused),
            per_second(tally.dropped),
            format!("{:.1}", tally.answers.quantile_ms(0.5)),
            format!("{:.1}", tally.answers.quantile_ms(0.99)),
            format!("{:.1}", tally.refusals.quantile_ms(0.99)),
            format!("{:.1}", tally.server_cpu),
            format!("{:.1}", tally.driver_cpu),
            tally.failed().to_string(),
            beside.as_ref().map_or(String::new(), |beside| format!("{:.0}", beside.goodput())),
            beside.as_ref().map_or(String::new(), |beside| per_second(beside.refused)),
        ]);
    }
    println!("\n{table}");
    let tallies = results.iter().flat_map(|one| std::iter::once(&one.tally).chain(&one.beside));
    let failures = tallies.flat_map(|tally| &tally.failures);
    failures.for_each(|(message, count)| println!("{count} x {message}"));
}

impl Offered {
    fn json(&self, best: f64) -> Value {
        let tally = &self.tally;
        json!({
            "times": self.times, "promised": self.is_promised, "offered": tally.offered,
            "in_time": tally.in_time, "refused": tally.refused, "dropped": tally.dropped,
            "failed": tally.failed(), "seconds": tally.seconds,
            "goodput_over_best": tally.goodput() / best,
            "p50_ms": tally.answers.quantile_ms(0.5), "p99_ms": tally.answers.quantile_ms(0.99),
            "served_p99_ms": tally.served.quantile_ms(0.99),
            "refusal_p99_ms": tally.refusals.quantile_ms(0.99),
            "server_cpu_s": tally.server_cpu, "driver_cpu_s": tally.driver_cpu,
            "beside": self.beside.as_ref().map(beside_json),
        })
    }
}

/// What came of the stream beside the one that is measured.
fn beside_json(beside: &OpenTally) -> Value {
    json!({
        "offered": beside.offered, "in_time": beside.in_time, "refused": beside.refused,
        "dropped": beside.dropped, "failed": beside.failed(),
        "p50_ms": beside.answers.quantile_ms(0.5), "p99_ms": beside.answers.quantile_ms(0.99),
    })
}
