//! `kill -9` under load, during recovery and during checkpoints: nothing acknowledged is lost, nothing is half.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use workloads::client::{Client, Result};

use crate::seeds::seeds;
use crate::server::{Process, Server};
use crate::turns;

/// Kills of a serving server per seed; every third restart is killed once more while it recovers.
const KILLS: usize = 16;
/// Connections that write.
const WRITERS: usize = 4;
/// Accounts among which money moves.
const ACCOUNTS: i64 = 64;

/// What a writer knows to be durable: its highest acknowledged number.
struct Acknowledged([AtomicI64; WRITERS]);

#[test]
fn no_acknowledged_commit_is_lost_and_no_transaction_is_half() {
    let _turn = turns::alone();
    seeds("kill").for_each(kill_again_and_again);
}

fn kill_again_and_again(seed: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let acknowledged = Acknowledged(std::array::from_fn(|_| AtomicI64::new(0)));
    set_up(folder.path());
    let mut random = seed;
    for round in 0..KILLS {
        if round % 3 == 2 {
            kill_while_recovering(folder.path(), &mut random);
        }
        let mut server = Server::start(Some(folder.path()));
        check(&server, &acknowledged, round);
        let checkpoint = round % 4 == 1;
        serve_then_kill(&mut server, &acknowledged, next(&mut random), checkpoint);
    }
    let server = Server::start(Some(folder.path()));
    check(&server, &acknowledged, KILLS);
}

/// A small linear congruential generator (Knuth's MMIX constants).
fn next(random: &mut u64) -> u64 {
    *random =
        random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *random >> 33
}

fn set_up(folder: &std::path::Path) {
    let server = Server::start(Some(folder));
    let mut client = server.connect().expect("it serves");
    client
        .run("CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL)")
        .expect("create");
    client
        .run(
            "CREATE TABLE entry (writer integer, number bigint, amount bigint, note text, \
             PRIMARY KEY (writer, number))",
        )
        .expect("create");
    for id in 0..ACCOUNTS {
        client.run(&format!("INSERT INTO account VALUES ({id}, 1000)")).expect("insert");
    }
    client.run("CREATE INDEX entry_amount ON entry (amount)").expect("index");
}

fn kill_while_recovering(folder: &std::path::Path, random: &mut u64) {
    let mut server = Process::spawn(Some(folder), &[]);
    std::thread::sleep(Duration::from_millis(next(random) % 40));
    server.kill();
}

fn serve_then_kill(
    server: &mut Server,
    acknowledged: &Acknowledged,
    random: u64,
    checkpoint: bool,
) {
    let stop = AtomicBool::new(false);
    let uptime = Duration::from_millis(40 + random % 250);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (stop, server) = (&stop, &*server);
            let client = server.connect().expect("it serves");
            scope.spawn(move || {
                // Ends with the connection: that is the point.
                let _ = write(client, writer, acknowledged, random, stop);
            });
        }
        if checkpoint {
            let mut client = server.connect().expect("it serves");
            scope.spawn(move || {
                let _ = client.run("CHECKPOINT");
            });
        }
        std::thread::sleep(uptime);
        kill_by_id(server);
        stop.store(true, Ordering::Relaxed);
    });
    server.kill();
}

/// Ends the process while its connections are still in use by other threads.
fn kill_by_id(server: &Server) {
    let id = server.id().to_string();
    std::process::Command::new("kill").args(["-9", &id]).status().expect("kill runs");
}

/// Moves money and notes it, transaction after transaction, until the server is gone.
fn write(
    mut client: impl Client,
    writer: usize,
    acknowledged: &Acknowledged,
    seed: u64,
    stop: &AtomicBool,
) -> Result<()> {
    let mut random = seed ^ (writer as u64) << 40;
    let take = client.prepare("UPDATE account SET balance = balance - $1 WHERE id = $2")?;
    let give = client.prepare("UPDATE account SET balance = balance + $1 WHERE id = $2")?;
    let note = client.prepare("INSERT INTO entry VALUES ($1, $2, $3, $4)")?;
    let mut number = acknowledged.0[writer].load(Ordering::SeqCst) + 1;
    // What was sent but not acknowledged before the last kill may be there or not.
    let last = client.prepare("SELECT COALESCE(MAX(number), 0) FROM entry WHERE writer = $1")?;
    number = number.max(client.execute(last, &[(writer as i64).into()])?.integer(0, 0) + 1);
    while !stop.load(Ordering::Relaxed) {
        let amount = (next(&mut random) % 100) as i64;
        let from = (next(&mut random) % ACCOUNTS as u64) as i64;
        let to = (next(&mut random) % ACCOUNTS as u64) as i64;
        client.run("BEGIN")?;
        client.execute(take, &[amount.into(), from.into()])?;
        client.execute(give, &[amount.into(), to.into()])?;
        let text = format!("{from} to {to}");
        let values = [(writer as i64).into(), number.into(), amount.into(), text.into()];
        client.execute(note, &values)?;
        client.run("COMMIT")?;
        acknowledged.0[writer].store(number, Ordering::SeqCst);
        number += 1;
    }
    Ok(())
}

fn check(server: &Server, acknowledged: &Acknowledged, round: usize) {
    let mut client = server.connect().expect("it serves");
    let sum = client.prepare("SELECT CAST(SUM(balance) AS bigint) FROM account").expect("prepare");
    let total = client.execute(sum, &[]).expect("sum").integer(0, 0);
    assert_eq!(total, ACCOUNTS * 1000, "round {round}: money was made or lost");
    let count = "SELECT COUNT(*), COALESCE(MAX(number), 0) FROM entry WHERE writer = $1";
    let count = client.prepare(count).expect("prepare");
    for writer in 0..WRITERS {
        let rows = client.execute(count, &[(writer as i64).into()]).expect("count");
        let (entries, last) = (rows.integer(0, 0), rows.integer(0, 1));
        let known = acknowledged.0[writer].load(Ordering::SeqCst);
        assert_eq!(entries, last, "round {round}: writer {writer} has gaps");
        assert!(last >= known, "round {round}: writer {writer} lost {known} and has {last}");
        assert!(last <= known + 1, "round {round}: writer {writer} has what nobody sent");
        acknowledged.0[writer].store(last, Ordering::SeqCst);
    }
}
