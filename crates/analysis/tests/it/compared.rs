//! Statements described by PostgreSQL and by us.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use analysis::{Context, analyze};
use syntax::Node;

use crate::cluster::Cluster;
use crate::record::Record;
use crate::split::statements;
use crate::wire::{Client, Column, Described};
use crate::world::World;
use crate::{skip, started};

/// What differs of two descriptions: nothing, or the kind.
fn difference(theirs: &Described, ours: &Described) -> Option<&'static str> {
    match (theirs, ours) {
        (
            Described::Fine { parameters: a, columns: b },
            Described::Fine { parameters: c, columns: d },
        ) => {
            let names = |columns: &[Column]| {
                columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>()
            };
            let types = |columns: &[Column]| {
                columns.iter().map(|column| column.type_oid).collect::<Vec<_>>()
            };
            if b.len() != d.len() {
                Some("columns")
            } else if types(b) != types(d) {
                Some("types")
            } else if names(b) != names(d) {
                Some("names")
            } else if b != d {
                Some("typmods")
            } else if a != c {
                Some("parameters")
            } else {
                None
            }
        }
        (
            Described::Fault { sqlstate: a, message: b, position: c },
            Described::Fault { sqlstate: d, message: e, position: f },
        ) => {
            if a != d {
                Some("state")
            } else if b != e {
                Some("message")
            } else if c != f {
                Some("position")
            } else {
                None
            }
        }
        (Described::Fine { .. }, Described::Fault { .. }) => Some("we refuse"),
        (Described::Fault { .. }, Described::Fine { .. }) => Some("we accept"),
    }
}

/// Kinds that count apart.
fn is_minor(kind: &str) -> bool {
    matches!(kind, "message" | "position")
}

/// A statement as we describe it; `None` where it is not analysis' to describe.
fn ours(text: &str, world: &World) -> Option<Described> {
    let tree = syntax::parse(text).ok()?;
    let statement = tree.statements().next().filter(|_| tree.statements().len() == 1)?;
    let is_ours = match statement.node {
        Node::SelectStmt(select) => {
            select.into_clause().is_none() && first(select).into_clause().is_none()
        }
        Node::InsertStmt(_) | Node::UpdateStmt(_) | Node::DeleteStmt(_) => true,
        _ => false,
    };
    if !is_ours {
        return None;
    }
    Some(match analyze(text, statement.node, world, &Context::default(), &[]) {
        Ok(analysis) => {
            // The protocol names a domain's base.
            let column = |target: &analysis::tree::Target| {
                let value = &target.expression;
                let (type_oid, typmod) = world.base(value.type_oid, value.typmod);
                Column { name: target.name.to_string(), type_oid, typmod }
            };
            let columns = analysis.query.columns().map(column).collect();
            Described::Fine { parameters: analysis.parameters, columns }
        }
        Err(error) => Described::Fault {
            sqlstate: error.sqlstate.to_owned(),
            message: error.message,
            position: error.position,
        },
    })
}

/// The first SELECT of a set operation.
fn first(select: syntax::SelectStmt<'_>) -> syntax::SelectStmt<'_> {
    let mut select = select;
    while let Some(left) = select.larg() {
        select = left;
    }
    select
}

/// Statements that are not run: blocks, which a fault would end, and what reads or changes the machine.
fn is_left_out(statement: &str) -> bool {
    let is_text = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("--");
    let lower = statement.lines().find(is_text).unwrap_or_default().trim().to_ascii_lowercase();
    let words = [
        "begin",
        "commit",
        "rollback",
        "start transaction",
        "abort",
        "end",
        "savepoint",
        "release",
        "copy",
        "prepare transaction",
        "load ",
        "vacuum",
        "reindex",
        "cluster",
        "create tablespace",
        "declare",
        "fetch",
        "close",
        "explain",
        "analyze",
        "checkpoint",
        "execute",
        "call ",
        "do ",
        "refresh",
    ];
    words.iter().any(|word| lower.starts_with(word))
}

/// Counts of a comparison.
#[derive(Default)]
struct Count {
    statements: usize,
    major: usize,
    minor: usize,
    roots: BTreeMap<String, (usize, String)>,
    /// Kind and statement of all that differ but in words.
    differing: Vec<(&'static str, String)>,
}

impl Count {
    fn note(&mut self, text: &str, theirs: &Described, ours: &Described) {
        self.statements += 1;
        let Some(kind) = difference(theirs, ours) else { return };
        if is_minor(kind) {
            self.minor += 1
        } else {
            self.major += 1;
            self.differing.push((kind, text.to_owned()));
        }
        let root = format!("{kind}: {} | {}", outline(theirs), outline(ours));
        let entry = self.roots.entry(root).or_insert_with(|| {
            (
                0,
                format!(
                    "{}\n      theirs {theirs:?}\n      ours   {ours:?}",
                    text.replace('\n', " ")
                ),
            )
        });
        entry.0 += 1;
    }

    fn report(&self, title: &str) -> String {
        let mut roots: Vec<_> = self.roots.iter().collect();
        roots.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let share = |count: usize| 100.0 - 100.0 * count as f64 / self.statements.max(1) as f64;
        let mut report = format!(
            "{title}: {} statements, {} differ ({:.2} % the same), {} more in message or position\n",
            self.statements,
            self.major,
            share(self.major),
            self.minor
        );
        for (root, (count, example)) in roots {
            report.push_str(&format!("  {count} {root}\n      {example}\n"));
        }
        report
    }
}

/// A description without what is peculiar to the statement.
fn outline(described: &Described) -> String {
    match described {
        Described::Fine { .. } => "fine".to_owned(),
        Described::Fault { sqlstate, message, .. } => {
            let parts: Vec<&str> = message.split('"').step_by(2).collect();
            let outline: String = parts.join("\"\"");
            let outline: String = outline.chars().take(60).collect();
            format!("{sqlstate} {outline}")
        }
    }
}

/// Compares the statements of a script, running what defines things.
fn compare(client: &mut Client, statements: &[String], count: &mut Count) {
    let mut world: Option<World> = None;
    for statement in statements {
        let is_query = {
            let known = world.take().unwrap_or_else(|| {
                let _ = client.run("rollback");
                World::read(client)
            });
            let ours = ours(statement, &known);
            if let Some(ours) = &ours {
                let theirs = client.describe(statement);
                count.note(statement, &theirs, ours);
            }
            world = Some(known);
            ours.is_some()
        };
        if !is_query && !is_left_out(statement) {
            let _ = client.run(statement);
            world = None;
        }
    }
}

/// Scripts that are looked at whenever tests run.
const SAMPLE: &[&str] = &["groupingsets", "insert", "strings"];

/// Unpacks PostgreSQL's regression scripts, which lie beside the checkout or where `SHAREDDB_CORPORA` says; `None` where they do not.
fn unpacked(test: &str) -> Option<tempfile::TempDir> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let folder = std::env::var_os("SHAREDDB_CORPORA").map_or(beside, PathBuf::from);
    let archive = folder.join("postgresql-15-regress.tar.zst");
    if !archive.exists() {
        skip(test, &format!("there is no {}", archive.display()));
        return None;
    }
    let target = tempfile::tempdir().expect("a folder");
    let mut tar = Command::new("tar");
    tar.arg("--zstd").arg("-xf").arg(&archive).arg("-C").arg(target.path());
    let status = tar.args(["--wildcards", "*/src/test/regress/sql/*"]).status().expect("tar");
    assert!(status.success(), "the corpus cannot be unpacked");
    Some(target)
}

/// The scripts of a folder by name, but for what sets all others up.
fn scripts(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let names =
        entries.map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".sql")?.to_owned())).collect();
    names.retain(|name| name != "test_setup");
    names.sort();
    names
}

/// Makes the database that each script starts from.
fn set_up(cluster: &Cluster, folder: &Path) -> Client {
    let mut main = Client::connect(&cluster.socket(), "postgres");
    main.run("create database prepared").expect("a database");
    let setup = std::fs::read_to_string(folder.join("test_setup.sql")).expect("the setup");
    let mut prepared = Client::connect(&cluster.socket(), "prepared");
    for statement in statements(&setup).iter().filter(|statement| !is_left_out(statement)) {
        let _ = prepared.run(statement);
    }
    main
}

/// What differs in a script.
fn differing(main: &mut Client, cluster: &Cluster, folder: &Path, name: &str) -> Count {
    copy_prepared(main);
    let text = std::fs::read(folder.join(format!("{name}.sql"))).expect("a script");
    let mut client = Client::connect(&cluster.socket(), "one");
    let _ = client.run("set statement_timeout = '3s'");
    let mut count = Count::default();
    compare(&mut client, &statements(&String::from_utf8_lossy(&text)), &mut count);
    drop(client);
    let _ = main.run("drop database one with (force)");
    count
}

/// Copies the prepared database, once whoever set it up has left it.
fn copy_prepared(main: &mut Client) {
    for _ in 0..100 {
        if main.run("create database one template prepared").is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the prepared database is not copied");
}

/// Compares scripts, all or those of the sample, with what is recorded of them.
fn compare_scripts(test: &str, is_wanted: impl Fn(&str) -> bool) {
    let Some(cluster) = started(test) else { return };
    let Some(unpacked) = unpacked(test) else { return };
    let folder = unpacked.path().join("postgresql-15/src/test/regress/sql");
    let mut main = set_up(&cluster, &folder);
    let (mut found, mut report) = (Record::default(), String::new());
    for name in scripts(&folder).iter().filter(|name| is_wanted(name)) {
        let count = differing(&mut main, &cluster, &folder, name);
        report.push_str(&count.report(name));
        found.note(name, count.statements, count.differing);
    }
    if let Ok(path) = std::env::var("ANALYSIS_REPORT") {
        std::fs::write(path, report).expect("the report");
    }
    found.compare();
}

#[test]
fn a_sample_of_postgresqls_own_statements() {
    compare_scripts("a_sample_of_postgresqls_own_statements", |name| SAMPLE.contains(&name));
}

#[test]
#[ignore = "takes minutes: make soak"]
fn postgresqls_own_statements() {
    let files = std::env::var("ANALYSIS_FILES").ok();
    let is_wanted =
        |name: &str| files.as_ref().is_none_or(|files| files.split(',').any(|file| file == name));
    compare_scripts("postgresqls_own_statements", is_wanted);
}
