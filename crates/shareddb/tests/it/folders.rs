//! Data folders that earlier programs have left: each opens with this one, has its rows, and goes on.
//!
//! `tests/folders/` holds for each program, named by its commit, the folder that it has closed (`<commit>-closed.tar.gz`), the one of which
//! it was killed (`<commit>-killed.tar.gz`), and what it answered before (`<commit>.rows`), after the statements of `made.sql` to those of
//! `asked.sql`. [`make_a_folder`] makes all three; each landing that changes what is written adds its own.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::server::{Server, output};
use crate::waiting::HANG;

/// How a program has left its folder.
const ENDS: [&str; 2] = ["closed", "killed"];

/// What must go on: each of these is a write that reads what is there.
const GOES_ON: [&str; 6] = [
    "INSERT INTO counted (remark) VALUES ('later')",
    "INSERT INTO item (id, name, price) VALUES (17, 'item 17', 1)",
    "UPDATE kinds SET words = words || '!', day = day + 1 WHERE id = 1",
    "DELETE FROM item WHERE id = 42",
    "CREATE INDEX item_price ON item (price)",
    "ALTER TABLE kinds ADD COLUMN late text DEFAULT 'late'",
];

/// What is asked after it, and what must come.
const WENT_ON: [(&str, &str); 6] = [
    ("SELECT remark FROM counted WHERE id > 51 ORDER BY id DESC LIMIT 1", "later"),
    ("SELECT weight FROM item WHERE id = 17", "0.5"),
    ("SELECT day FROM kinds WHERE id = 1", "2024-03-01"),
    ("SELECT count(*) FROM line WHERE item = 42", "0"),
    ("SELECT name FROM item WHERE price = 125", "item 100"),
    ("SELECT late FROM kinds WHERE id = 2", "late"),
];

fn folders() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/folders")
}

/// The statements of a file, one a line.
fn statements(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folders().join(file)).expect("it is there");
    let lines = text.lines().filter(|line| !line.starts_with("--"));
    lines.map(str::to_owned).collect()
}

/// Ends with a value, or panics after as long as only a hang takes.
fn in_time<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(HANG, work).await.expect("it answers") })
}

/// The rows of each statement as the server prints them, a line each; a fault by its SQLSTATE.
fn answers(server: &Server, statements: &[String]) -> String {
    let parameters = format!("host=127.0.0.1 port={} user=shareddb", server.address.port());
    in_time(async {
        let connected = tokio_postgres::connect(&parameters, NoTls).await;
        let (client, connection) = connected.expect("it serves");
        tokio::spawn(connection);
        let mut told = String::new();
        for statement in statements {
            let answer = client.simple_query(statement).await;
            let answer = answer.unwrap_or_else(|fault| panic!("{statement}: {fault:?}"));
            told += &format!("> {statement}\n");
            told.extend(answer.iter().filter_map(line));
        }
        told
    })
}

fn line(message: &SimpleQueryMessage) -> Option<String> {
    let SimpleQueryMessage::Row(row) = message else { return None };
    let values: Vec<&str> = (0..row.len()).map(|i| row.get(i).unwrap_or("NULL")).collect();
    Some(values.join("|") + "\n")
}

fn answer(server: &Server, statement: &str) -> String {
    let told = answers(server, &[statement.to_owned()]);
    told.lines().skip(1).collect::<Vec<_>>().join("\n")
}

/// The commits whose folders are kept.
fn commits() -> BTreeSet<String> {
    let files = std::fs::read_dir(folders()).expect("it is there");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"));
    names.filter_map(|name| Some(name.strip_suffix(".rows")?.to_owned())).collect()
}

fn tar(arguments: [&str; 4], archive: &Path) {
    let mut command = Command::new("tar");
    command.args(&arguments[..3]).arg(archive).arg(arguments[3]);
    let output = output(command.env("GZIP", "-9n"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A folder as a program has left it, unpacked.
fn unpacked(commit: &str, end: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let into = folder.path().to_str().expect("UTF-8");
    tar(["-C", into, "-xzf", "."], &folders().join(format!("{commit}-{end}.tar.gz")));
    folder
}

#[test]
fn what_earlier_programs_have_written_is_there() {
    let commits = commits();
    assert!(!commits.is_empty());
    for (commit, end) in commits.iter().flat_map(|commit| ENDS.map(|end| (commit, end))) {
        let folder = unpacked(commit, end);
        let server = Server::start(Some(folder.path()));
        let expected = std::fs::read_to_string(folders().join(format!("{commit}.rows")));
        let expected = expected.expect("it is there");
        assert_eq!(answers(&server, &statements("asked.sql")), expected, "{commit}, {end}");
    }
}

#[test]
fn what_earlier_programs_have_written_goes_on() {
    for (commit, end) in commits().iter().flat_map(|commit| ENDS.map(|end| (commit, end))) {
        let folder = unpacked(commit, end);
        let mut server = Server::start(Some(folder.path()));
        GOES_ON.iter().for_each(|statement| drop(answer(&server, statement)));
        for is_later in [false, true] {
            if is_later {
                server.kill();
                server = Server::start(Some(folder.path()));
            }
            for (statement, expected) in WENT_ON {
                assert_eq!(answer(&server, statement), expected, "{commit}, {end}: {statement}");
            }
        }
    }
}

/// Another format is refused by name, and it is said what to do.
#[test]
fn a_format_that_is_not_known_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "shareddb\nformat 2\ndatabase 0000000000000001\n";
    std::fs::write(folder.path().join("format"), text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_shareddb"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder.path());
    let output = output(&mut command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("the data directory has format 2, this server reads format 3"), "{said}");
    assert!(said.contains("Use the version of the server that wrote it"), "{said}");
}

/// `SHAREDDB_FOLDER=<commit> SHAREDDB_FOLDER_PROGRAM=<its program>` makes what is kept of a program; without the second, of this one.
#[test]
#[ignore = "makes a fixture"]
fn make_a_folder() {
    let Ok(commit) = std::env::var("SHAREDDB_FOLDER") else {
        println!("SHAREDDB_FOLDER names no commit");
        return;
    };
    let program = std::env::var("SHAREDDB_FOLDER_PROGRAM");
    let program = program.unwrap_or_else(|_| env!("CARGO_BIN_EXE_shareddb").to_owned());
    for end in ENDS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut server = Server::of(&program, folder.path());
        let _ = answers(&server, &statements("made.sql"));
        let rows = answers(&server, &statements("asked.sql"));
        std::fs::write(folders().join(format!("{commit}.rows")), rows).expect("a file");
        if end == "closed" {
            server.terminate()
        } else {
            server.kill()
        }
        let from = folder.path().to_str().expect("UTF-8");
        tar(["-C", from, "-czf", "."], &folders().join(format!("{commit}-{end}.tar.gz")));
    }
}
