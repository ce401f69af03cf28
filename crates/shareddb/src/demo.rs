//! The demo of `shareddb serve --demo`.

use std::net::SocketAddr;
use std::time::Instant;

use workloads::bench::load_bookstore;
use workloads::bookstore::Scale;
use workloads::client::PostgresClient;

use crate::Failure;

/// Books in the demo of `serve`.
const DEMO_ITEMS: u64 = 10_000;

/// Browsers in the demo of `serve`: customers and orders for a few seconds of loading.
const DEMO_BROWSERS: u64 = 10;

/// The population's seed: everybody's demo is the same.
const SEED: u64 = 1;

/// Loads the demo into the server of this process and names statements to try. Data that are there already stay.
pub fn load(address: SocketAddr) {
    match fill(address) {
        Ok(()) => println!("{TRY}"),
        Err(failure) => eprintln!("shareddb: the demo is not loaded: {failure}"),
    }
}

fn fill(address: SocketAddr) -> Result<(), Failure> {
    let start = Instant::now();
    let mut client = PostgresClient::connect(address, "shareddb", "shareddb")?;
    let scale = Scale { items: DEMO_ITEMS, browsers: DEMO_BROWSERS };
    let rows = load_bookstore(&mut client, scale, SEED)?;
    println!("loaded {rows} rows in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

const TRY: &str = "
try:
  SELECT i_title, i_cost FROM item WHERE i_subject = 'COOKING' ORDER BY i_pub_date DESC LIMIT 5;
  SELECT i_subject, count(*), avg(i_cost) FROM item GROUP BY i_subject ORDER BY 2 DESC;
  SELECT i_id, i_title, sum(ol_qty) AS sold FROM item JOIN order_line ON ol_i_id = i_id
    WHERE i_subject = 'HISTORY' GROUP BY i_id, i_title ORDER BY sold DESC LIMIT 10;
  EXPLAIN SELECT * FROM item WHERE i_title LIKE '%night%';
  SELECT * FROM shareddb.operators;";
