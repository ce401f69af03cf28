//! The same script files on PostgreSQL, where `SHAREDDB_ORACLE` names one: `host=... user=...`.

use std::path::Path;

use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::scripts::{Fault, files, shown_rows};
use crate::skipping::skip;

struct Connection {
    client: tokio_postgres::Client,
}

async fn connect(address: &str) -> Result<Connection, Fault> {
    let fault =
        |error: tokio_postgres::Error| Fault { state: String::new(), text: error.to_string() };
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.map_err(fault)?;
    tokio::spawn(connection);
    Ok(Connection { client })
}

#[async_trait::async_trait]
impl AsyncDB for Connection {
    type Error = Fault;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, text: &str) -> Result<DBOutput<DefaultColumnType>, Fault> {
        let messages = self.client.simple_query(text).await.map_err(|error| {
            let state = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
            let message = error.as_db_error().map(|e| e.message().to_owned());
            let message = message.unwrap_or_else(|| error.to_string());
            Fault { text: format!("{state}: {message}"), state }
        })?;
        let mut rows = Vec::new();
        let mut described = false;
        let mut count = 0;
        for message in messages {
            match message {
                SimpleQueryMessage::RowDescription(_) => described = true,
                SimpleQueryMessage::Row(row) => {
                    rows.push((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect());
                }
                SimpleQueryMessage::CommandComplete(n) => count = n,
                _ => {}
            }
        }
        Ok(if described { shown_rows(rows) } else { DBOutput::StatementComplete(count) })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "postgresql"
    }

    fn error_sql_state(error: &Fault) -> Option<String> {
        Some(error.state.clone())
    }
}

async fn run(address: &str, file: &Path) -> Result<(), String> {
    let admin = connect(address).await.map_err(|fault| fault.text)?;
    let clear = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
    admin.client.simple_query(clear).await.map_err(|error| error.to_string())?;
    let mut runner = Runner::new(|| connect(address));
    runner.run_file_async(file).await.map_err(|error| error.display(false).to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_gives_what_the_scripts_say() {
    let Ok(address) = std::env::var("SHAREDDB_ORACLE") else {
        return skip(
            "postgresql_gives_what_the_scripts_say",
            "SHAREDDB_ORACLE names no PostgreSQL",
        );
    };
    let mut faults = Vec::new();
    for file in files() {
        if let Err(fault) = run(&address, &file).await {
            faults.push(fault);
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
