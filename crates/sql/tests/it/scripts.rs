//! The sqllogictest files under `tests/slt`, each on a database of its own that verifies every answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::heartbeat::{Account, Difference};
use sql::{Database, Session};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};

use crate::connection::{query, shown, verified_database};
use crate::verification::{account, all};

struct Connection {
    session: Session,
}

#[derive(Debug)]
pub struct Fault {
    pub state: String,
    pub text: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

/// Rows as the files write them.
pub fn shown_rows(rows: Vec<Vec<Option<String>>>) -> DBOutput<DefaultColumnType> {
    let types = vec![DefaultColumnType::Text; rows.first().map_or(0, Vec::len)];
    let shown = |value: Option<String>| match value {
        None => "NULL".to_owned(),
        Some(text) if text.is_empty() => "(empty)".to_owned(),
        Some(text) => text,
    };
    let rows = rows.into_iter().map(|row| row.into_iter().map(shown).collect()).collect();
    DBOutput::Rows { types, rows }
}

fn is_query(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let returns = text.to_ascii_lowercase().contains(" returning ");
    matches!(word.as_str(), "select" | "values" | "with" | "show" | "explain" | "execute" | "fetch")
        || returns
}

/// The number at the end of a tag.
pub fn tag_rows(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[async_trait::async_trait]
impl AsyncDB for Connection {
    type Error = Fault;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, text: &str) -> Result<DBOutput<DefaultColumnType>, Fault> {
        let given = query(&mut self.session, text)
            .await
            .map_err(|error| Fault { state: error.state.code().to_owned(), text: shown(&error) })?;
        if given.rows.is_empty() && !is_query(text) {
            return Ok(DBOutput::StatementComplete(tag_rows(&given.tag)));
        }
        Ok(shown_rows(given.rows))
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "shareddb"
    }

    fn error_sql_state(error: &Fault) -> Option<String> {
        Some(error.state.clone())
    }
}

/// All script files, by name.
pub fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let entries = std::fs::read_dir(folder).expect("the folder is part of the crate");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

/// How many answers another path has given, too.
async fn run(file: &Path) -> Result<u64, String> {
    let database: Arc<Database> = verified_database(all());
    let mut runner = Runner::new(|| {
        let session = database.session("shareddb");
        async { Ok(Connection { session }) }
    });
    runner.run_file_async(file).await.map_err(|error| error.display(false).to_string())?;
    let Account { agreed, differed, .. } = account(&database).await;
    let differences = database.engine().ledger().differences();
    let (expected, others): (Vec<_>, Vec<_>) = differences.iter().partition(|d| is_expected(d));
    let told: Vec<String> = others.iter().map(|difference| format!("{difference:#?}")).collect();
    match others.is_empty() && differed.activations == expected.len() as u64 {
        true => Ok(agreed.activations),
        false => Err(format!("{}: answers differ:\n{}", file.display(), told.join("\n"))),
    }
}

/// Statements that the query-at-a-time path is known to answer wrongly, each by how it begins, with the reason.
const EXPECTED: [(&str, &str); 1] = [(
    "SELECT sum(CASE WHEN kind LIKE $1 THEN price * $2 ELSE $3 END), sum(CASE WHEN kind LIKE",
    "DataFusion gives a CASE the digits of its first branch",
)];

fn is_expected(difference: &Difference) -> bool {
    EXPECTED.iter().any(|(begin, _)| difference.statement.starts_with(begin))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_give_what_they_say() {
    let only = std::env::var("SHAREDDB_SLT").ok();
    let (mut faults, mut verified) = (Vec::new(), 0);
    for file in files() {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        match run(&file).await {
            Ok(agreed) => verified += agreed,
            Err(fault) => faults.push(fault),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(only.is_some() || verified > 400, "only {verified} answers were verified");
}
