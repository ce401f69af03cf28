//! `pgbench`, as it comes with PostgreSQL (package postgresql-contrib): TPC-B at scale 1, 32 clients, all three protocol modes.

use std::process::Command;

use workloads::client::Client;

use crate::server::{Server, output};
use crate::turns;

/// Transactions per client and mode.
const TRANSACTIONS: &str = "50";

fn pgbench(server: &Server, arguments: &[&str]) -> String {
    let address = server.address;
    let mut command = Command::new("pgbench");
    command.args(["-h", "127.0.0.1", "-p", &address.port().to_string(), "-U", "shareddb"]);
    let output = output(command.args(arguments).arg("shareddb"));
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "pgbench {arguments:?}: {text}");
    text
}

#[test]
fn pgbench_runs_without_a_failed_transaction() {
    let _turn = turns::beside_others();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Server::start(Some(folder.path()));
    pgbench(&server, &["-i", "-s", "1", "-q"]);
    for mode in ["simple", "extended", "prepared"] {
        let arguments = ["-n", "-c", "32", "-j", "2", "-t", TRANSACTIONS, "-M", mode];
        let text = pgbench(&server, &arguments);
        assert!(text.contains("number of failed transactions: 0 (0.000%)"), "{mode}: {text}");
        assert!(text.contains("actually processed: 1600/1600"), "{mode}: {text}");
    }
    check_invariants(&server);
}

/// TPC-B's consistency: the balances of accounts, tellers and branches all equal the sum of the history.
fn check_invariants(server: &Server) {
    let mut client = server.connect().expect("it serves");
    let mut sum = |query: &str| {
        let statement = client.prepare(query).expect("prepare");
        client.execute(statement, &[]).expect("execute").integer(0, 0)
    };
    let history = sum("SELECT CAST(SUM(delta) AS bigint) FROM pgbench_history");
    assert_eq!(sum("SELECT COUNT(*) FROM pgbench_history"), 4_800);
    assert_eq!(sum("SELECT CAST(SUM(abalance) AS bigint) FROM pgbench_accounts"), history);
    assert_eq!(sum("SELECT CAST(SUM(tbalance) AS bigint) FROM pgbench_tellers"), history);
    assert_eq!(sum("SELECT CAST(SUM(bbalance) AS bigint) FROM pgbench_branches"), history);
}
