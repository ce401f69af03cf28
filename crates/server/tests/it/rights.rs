//! Roles, owners and privileges: scripts of several roles, and what the door asks.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use server::ServerOptions;

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};

/// A line of a script: who, what, and what must come of it.
struct Line<'a> {
    role: &'a str,
    statement: &'a str,
    wanted: Wanted<'a>,
}

enum Wanted<'a> {
    Done,
    Refused(&'a str, &'a str),
    Rows(&'a str),
}

/// `role: statement`, `role: statement ! STATE message`, `role: statement = a|b / c|d`.
fn line(text: &str) -> Line<'_> {
    let (role, rest) = text.split_once(": ").expect("a role");
    if let Some((statement, refusal)) = rest.split_once(" ! ") {
        let (state, message) = refusal.split_once(' ').unwrap_or((refusal, ""));
        return Line { role, statement, wanted: Wanted::Refused(state, message) };
    }
    match rest.rsplit_once(" = ") {
        Some((statement, rows)) if is_rows(statement) => {
            Line { role, statement, wanted: Wanted::Rows(rows) }
        }
        _ => Line { role, statement: rest, wanted: Wanted::Done },
    }
}

fn is_rows(statement: &str) -> bool {
    let first = statement.split(' ').next().unwrap_or_default();
    matches!(first, "SELECT" | "SHOW" | "EXECUTE") || statement.contains("RETURNING")
}

fn connect(fixture: &Fixture, role: &str) -> Raw {
    let mut raw = Raw::open(fixture.address);
    raw.startup(&[("user", role), ("database", "shareddb")]);
    raw.until_ready();
    raw
}

fn run_script(fixture: &Fixture, script: &str) {
    let mut sessions: HashMap<&str, Raw> = HashMap::new();
    let mut wrong = Vec::new();
    for (number, text) in (1..).zip(script.lines()) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let Line { role, statement, wanted } = line(text);
        let session = sessions.entry(role).or_insert_with(|| connect(fixture, role));
        session.query(statement);
        let messages = session.until_ready();
        let fault = messages.iter().find(|message| message.tag == b'E');
        let fault = fault.map(|fault| {
            let field = |code| fault.field(code).unwrap_or_default();
            format!("{} {}", field(b'C'), field(b'M'))
        });
        let rows: Vec<String> = messages
            .rows()
            .iter()
            .map(|row| {
                row.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join("|")
            })
            .collect();
        let fits = match (&wanted, &fault) {
            (Wanted::Done, None) => true,
            (Wanted::Refused(state, message), Some(fault)) => {
                fault.starts_with(state) && fault.contains(message)
            }
            (Wanted::Rows(wanted), None) => rows.join(" / ") == *wanted,
            _ => false,
        };
        if !fits {
            wrong.push(format!("line {number}: {text}\n  {fault:?} {rows:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn roles_may_do_what_they_were_granted() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rights/tables.txt");
    let script = std::fs::read_to_string(place).expect("the script");
    run_script(&Fixture::new(), &script);
}

#[test]
fn rights_outlive_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    {
        let fixture = Fixture::stored(folder.path());
        run_script(
            &fixture,
            "shareddb: CREATE ROLE ann LOGIN PASSWORD 'secret' CONNECTION LIMIT 5\n\
             shareddb: CREATE ROLE staff\n\
             shareddb: GRANT staff TO ann WITH ADMIN OPTION\n\
             shareddb: CREATE TABLE t (a int)\n\
             shareddb: GRANT SELECT ON t TO staff\n\
             shareddb: ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO ann\n\
             shareddb: CHECKPOINT\n\
             shareddb: GRANT INSERT (a) ON t TO ann\n",
        );
    }
    let script = "ann: SELECT * FROM t\n\
                  ann: INSERT INTO t VALUES (1)\n\
                  ann: DELETE FROM t ! 42501 permission denied for table t\n\
                  shareddb: CREATE TABLE u (a int)\n\
                  ann: SELECT * FROM u\n\
                  shareddb: SELECT rolconnlimit FROM pg_roles WHERE rolname = 'ann' = 5\n";
    run_script(&Fixture::stored(folder.path()), script);
    assert_eq!(open_to_others(folder.path()), Vec::<String>::new());
}

/// What of a folder others than its owner could read.
fn open_to_others(folder: &Path) -> Vec<String> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("read").path());
    let all = entries.chain([folder.to_owned()]);
    let open = all.filter(|path| {
        std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
    });
    open.map(|path| path.display().to_string()).collect()
}

/// The SQLSTATE and message of who is not let in.
fn refusal(fixture: &Fixture, role: &str) -> String {
    let mut raw = Raw::open(fixture.address);
    raw.startup(&[("user", role), ("database", "shareddb")]);
    let messages = raw.until_closed();
    let fault = messages.iter().find(|message| message.tag == b'E').expect("a refusal");
    let field = |code| fault.field(code).unwrap_or_default();
    format!("{} {}", field(b'C'), field(b'M'))
}

#[test]
fn the_door_asks_whether_a_role_may_come_in() {
    let fixture = Fixture::new();
    run_script(
        &fixture,
        "shareddb: CREATE ROLE mute NOLOGIN\n\
         shareddb: CREATE ROLE one LOGIN CONNECTION LIMIT 1\n\
         shareddb: CREATE ROLE out LOGIN\n\
         shareddb: REVOKE CONNECT ON DATABASE shareddb FROM PUBLIC\n\
         shareddb: GRANT CONNECT ON DATABASE shareddb TO one\n",
    );
    assert_eq!(refusal(&fixture, "mute"), "28000 role \"mute\" is not permitted to log in");
    assert_eq!(refusal(&fixture, "nobody"), "28000 role \"nobody\" does not exist");
    assert_eq!(refusal(&fixture, "out"), "42501 permission denied for database \"shareddb\"");
    let first = connect(&fixture, "one");
    assert_eq!(refusal(&fixture, "one"), "53300 too many connections for role \"one\"");
    drop(first);
}

#[test]
fn rules_in_a_file_say_who_comes_in() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(
        file.path(),
        "host all ann 127.0.0.0/8 trust\n\
         host all bob all reject\n\
         host all shareddb all trust\n",
    )
    .expect("written");
    let options = ServerOptions { hba: Some(file.path().to_owned()), ..ServerOptions::default() };
    let fixture = Fixture::with(options);
    run_script(
        &fixture,
        "shareddb: CREATE ROLE ann LOGIN\n\
         shareddb: CREATE ROLE bob LOGIN\n\
         shareddb: CREATE ROLE eve LOGIN\n\
         ann: SELECT 1 = 1\n",
    );
    let rejected = refusal(&fixture, "bob");
    assert!(rejected.starts_with("28000 pg_hba.conf rejects connection for host"), "{rejected}");
    let unknown = refusal(&fixture, "eve");
    assert!(unknown.starts_with("28000 no pg_hba.conf entry for host"), "{unknown}");
}
