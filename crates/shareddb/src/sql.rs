//! `shareddb sql`: statements in, rows out as tab-separated text. For scripts; people use psql.

use std::io::Write;

use clap::Args;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::Failure;

/// For --help.
const EXAMPLES: &str = "\
Examples:
  shareddb sql 'SELECT 1'
  shareddb sql 'CREATE TABLE t (a int); INSERT INTO t VALUES (1)' --connect 127.0.0.1:5432

Names and rows are separated by tabs, NULL is written NULL. The role is shareddb, its password comes from the environment
variable PGPASSWORD.";

/// What to run, and where.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SqlOptions {
    /// The statements, separated by semicolons; several are one transaction
    text: String,
    /// A running server
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7432")]
    connect: std::net::SocketAddr,
}

/// Runs.
pub fn run(options: &SqlOptions) -> Result<(), Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(query(options))
}

async fn query(options: &SqlOptions) -> Result<(), Failure> {
    let mut config = tokio_postgres::Config::new();
    config.host(options.connect.ip().to_string()).port(options.connect.port());
    config.user(server::USER).dbname(server::DATABASE);
    if let Ok(password) = std::env::var("PGPASSWORD") {
        config.password(password);
    }
    let (client, connection) = config.connect(NoTls).await?;
    let connection = tokio::spawn(connection);
    let mut out = std::io::stdout().lock();
    for message in client.simple_query(&options.text).await.map_err(explain)? {
        print(&mut out, &message)?;
    }
    drop(client);
    Ok(connection.await??)
}

/// The server's own words: the client's error says no more than that there was one.
fn explain(error: tokio_postgres::Error) -> Failure {
    match error.as_db_error() {
        Some(fault) => format!("{} ({})", fault.message(), fault.code().code()).into(),
        None => error.into(),
    }
}

fn print(out: &mut impl Write, message: &SimpleQueryMessage) -> std::io::Result<()> {
    match message {
        SimpleQueryMessage::RowDescription(columns) => {
            let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
            writeln!(out, "{}", names.join("\t"))
        }
        SimpleQueryMessage::Row(row) => {
            let cells: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("NULL")).collect();
            writeln!(out, "{}", cells.join("\t"))
        }
        SimpleQueryMessage::CommandComplete(rows) => writeln!(out, "-- {rows} rows"),
        _ => Ok(()),
    }
}
