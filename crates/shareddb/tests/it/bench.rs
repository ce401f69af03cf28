//! Every experiment of `shareddb bench`, small: it runs to its end, answers agree, tables, figures and record are there.
//! Nothing timed is asserted.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::server::{ended, output, terminate};
use crate::turns;
use crate::waiting::eventually;

/// Runs `shareddb bench` with arguments separated by blanks, results below `folder`; what it printed, and its record.
fn bench(folder: &Path, arguments: &str) -> (String, Value) {
    let record = folder.join("record.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_shareddb"));
    command.arg("bench").args(arguments.split_whitespace());
    let output = output(command.arg("--output").arg(folder).arg("--json").arg(&record));
    let printed = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{errors}");
    let text = std::fs::read_to_string(record).expect("the record was written");
    (printed, serde_json::from_str(&text).expect("the record is JSON"))
}

fn figure(folder: &Path, name: &str) -> String {
    let file = folder.join(name);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// The points of a figure's line in the record, each with queries that were all answered.
fn points(system: &Value, key: &str, label: &str) -> usize {
    let points = list(&system["figures"][key][label]);
    assert!(points.iter().all(|point| point["burst"]["milliseconds"].as_f64() > Some(0.0)));
    points.len()
}

/// Both experiments about working sets have all their points, also with few queries at a time.
fn working_sets(system: &Value, name: &str) {
    for key in ["working-sets", "joined-working-sets"] {
        assert_eq!(points(system, key, name), 6, "{key}");
        assert_eq!(points(system, key, &format!("{name}, 4 at a time")), 6, "{key}");
    }
}

#[test]
fn all_figures_of_the_star_schema_are_drawn() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (printed, record) = bench(
        folder.path(),
        "star --settle-seconds 0 --scale-factor 0.001 --seconds 0.1 --concurrency 1,3 --at-once 2,8 --check 2 \
         --no-sharing --updates-per-second 50 --most-at-once 16 --grid-at-once 1,4 --grid-rounds 2 \
         --figure concurrency,selectivity,similarity,working-sets,grid",
    );
    let at = &record[0];
    let updated = "SharedDB, 50 updates/s";
    let names: Vec<_> = list(&at["systems"]).iter().map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["SharedDB", updated, "SharedDB, query at a time"].map(Some));
    for system in list(&at["systems"]) {
        assert_eq!(system["failure"], Value::Null);
        assert!(list(&system["differences"]).is_empty(), "{}", system["differences"]);
        assert_eq!((list(&system["loops"]).len(), list(&system["at_once"]).len()), (2, 2));
        let name = system["name"].as_str().expect("a name");
        if name != updated {
            assert!(system["load"]["resident_mb"].as_f64() > Some(1.0));
            let keys = ["q32", "wide", "selectivity", "plans16", "similarity"];
            let counts = keys.map(|key| points(system, key, name));
            assert_eq!(counts, [5, 5, 5, 1, 2], "{name}");
            working_sets(system, name);
        }
    }
    let packing = list(&at["packing"]);
    let names: Vec<_> = packing.iter().filter_map(|system| system["name"].as_str()).collect();
    assert_eq!(names, ["SharedDB, full sharing", "SharedDB, always packing"]);
    packing.iter().zip(names).for_each(|(system, name)| working_sets(system, name));
    // Five mixes; one plan for one query, equal or different ones for four.
    assert_eq!(list(&at["grid"]["cells"]).len(), 15);
    assert!(at["grid"]["worst"].as_f64() > Some(0.0));
    let drawn = ["q32", "wide", "selectivity", "similarity", "working-sets", "joined-working-sets"];
    for name in ["response", "throughput", "at-once"].into_iter().chain(drawn) {
        let svg = figure(folder.path(), &format!("star-{name}-sf0.001.svg"));
        assert!(svg.contains("SharedDB, query at a time"), "{name}");
    }
    assert!(figure(folder.path(), "star-grid-sf0.001.svg").contains("29.1 % of rows, equal"));
    for text in ["automatic over the better fixed choice", "resident MB", "times as long"] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
}

#[test]
fn costs_over_scale_are_drawn() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (printed, record) = bench(
        folder.path(),
        "star --settle-seconds 0 --scale-factor 0.001,0.002 --seconds 0.1 --concurrency 2 --at-once 2 --check 0 \
         --volatile --figure concurrency --most-at-once 8",
    );
    assert_eq!(list(&record).len(), 2, "a record per scale factor");
    assert!(printed.contains("resident times"), "{printed}");
    assert!(figure(folder.path(), "star-scale.svg").contains("SharedDB, 2 clients"));
    assert!(figure(folder.path(), "star-scale-q32.svg").contains("SharedDB"));
}

#[test]
fn throughput_over_cores_is_drawn() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (_, record) = bench(
        folder.path(),
        "star --settle-seconds 0 --scale-factor 0.002 --cores 1,2 --volatile --seconds 0.1 --concurrency 2 \
         --at-once 2 --check 1 --template Q1.1,Q3.2",
    );
    let cores: Vec<_> = list(&record).iter().map(|at| at["limited_to_cores"].as_u64()).collect();
    assert_eq!(cores, [Some(1), Some(2)]);
    assert!(figure(folder.path(), "star-cores.svg").contains("SharedDB, 2 clients"));
}

#[test]
fn a_run_without_anybody_to_measure_fails() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_shareddb"));
    command
        .args(["bench", "star", "--peers-only", "--against", "duckdb", "--scale-factor", "0.001"])
        .args(["--python", "/nonexistent/python3", "--output"]);
    let output = output(command.arg(folder.path()));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    let expected = "shareddb: no Python interpreter with the peers at /nonexistent/python3: \
                    scripts/install-bench-peers.sh sets it up";
    assert_eq!(said.lines().last(), Some(expected));
}

#[test]
fn tpch_runs_small() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (printed, record) = bench(
        folder.path(),
        "tpch --settle-seconds 0 --scale-factor 0.01 --seconds 0.1 --concurrency 1 --at-once 4 --check 1 --no-sharing",
    );
    assert!(printed.contains("validation run: 22 of 22 answered"), "{printed}");
    for system in list(&record["systems"]) {
        assert_eq!(system["failure"], Value::Null);
        assert!(list(&system["differences"]).is_empty(), "{}", system["differences"]);
    }
}

#[test]
fn all_figures_of_the_bookstore_are_drawn() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (_, record) = bench(
        folder.path(),
        "bookstore --items 100 --browsers 1 --seconds 0.2 --connections 2,4 --rounds 1 --no-sharing \
         --figure throughput,batches,interference,cores,interactions --think-seconds 0.2 --figure-browsers 5,10 \
         --batch-sizes 1,8 --heavy-rates 0,20",
    );
    assert!(list(&record["ended"]).is_empty());
    assert!(list(&record["answers"]["SharedDB, query at a time"]).is_empty());
    for mix in ["browsing", "shopping", "ordering"] {
        let measured = &record["mixes"][mix]["SharedDB"];
        assert!(measured["interactions_per_second"].as_f64() > Some(0.0), "{mix}: {measured}");
        let svg = figure(folder.path(), &format!("throughput-{mix}.svg"));
        assert!(svg.contains("SharedDB, query at a time"), "{mix}");
    }
    for system in ["SharedDB", "SharedDB, query at a time"] {
        let violations = &record["violations"][system]["violations"];
        assert!(list(violations).is_empty(), "{violations}");
    }
    for name in [
        "batches-best-sellers",
        "batches-title-searches",
        "interference-item-look-ups",
        "cores-shopping",
    ] {
        assert!(figure(folder.path(), &format!("{name}.svg")).contains("SharedDB"), "{name}");
    }
    for page in ["Home", "AdminConfirm"] {
        let alone = &record["interactions"]["SharedDB"][page];
        assert!(alone["per_second"].as_f64() > Some(0.0), "{page}: {alone}");
    }
}

#[test]
fn light_statements_are_offered_beside_heavy_ones() {
    let _turn = turns::beside_others();
    for workload in ["lookups", "updates"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let arguments =
            "--settle-seconds 0 --scale-factor 0.001 --seconds 0.2 --times 1,2 --pool 4";
        let (_, record) =
            bench(folder.path(), &format!("overload --workload {workload} {arguments}"));
        for offered in list(&record["offered"]) {
            assert_eq!(offered["failed"], 0, "{workload}: {offered}");
            assert!(offered["beside"]["offered"].as_u64() > Some(0), "{workload}: {offered}");
            assert_eq!(offered["beside"]["failed"], 0, "{workload}: {offered}");
        }
        assert_eq!(list(&record["offered"]).len(), 4);
        assert!(
            figure(folder.path(), &format!("overload-{workload}.svg")).contains("with a promise")
        );
    }
}

#[test]
fn a_driver_that_is_terminated_leaves_no_server() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut driver = Command::new(env!("CARGO_BIN_EXE_shareddb"))
        .args(["bench", "star", "--scale-factor", "0.002", "--seconds", "600", "--output"])
        .arg(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    let server = eventually("the driver starts its server", || server_of(&mut driver));
    terminate(driver.id());
    ended(&mut driver, "the driver ends");
    eventually("the server ends", || (!runs(server)).then_some(()));
}

/// The process `shareddb serve` whose parent is the driver.
fn server_of(driver: &mut Child) -> Option<u32> {
    assert!(driver.try_wait().expect("it is our child").is_none(), "the driver ended");
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|&pid| {
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let serves = command.split('\0').nth(1) == Some("serve");
        serves && stat_field(pid, 1) == Some(driver.id().to_string())
    })
}

/// Runs, and is not merely waiting for its parent to notice its end.
fn runs(pid: u32) -> bool {
    stat_field(pid, 0).is_some_and(|state| state != "Z")
}

/// A field of `/proc/PID/stat` behind the program's name, which may contain blanks: 0 is the state, 1 the parent.
fn stat_field(pid: u32, number: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = &stat[stat.rfind(')')? + 2..];
    fields.split(' ').nth(number).map(str::to_owned)
}
