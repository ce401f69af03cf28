//! Statements described by PostgreSQL and by us.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analysis::{Context, analyze};
use syntax::Node;

use crate::split::statements;
use crate::wire::{Client, Column, Described};
use crate::world::World;
use crate::{skip, started};

/// Where the corpora are unpacked, if anywhere.
fn corpora() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var("SHAREDDB_CORPORA").ok()?);
    folder.is_dir().then_some(folder)
}

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
}

impl Count {
    fn note(&mut self, text: &str, theirs: &Described, ours: &Described) {
        self.statements += 1;
        let Some(kind) = difference(theirs, ours) else { return };
        if is_minor(kind) {
            self.minor += 1
        } else {
            self.major += 1
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

/// The regression files of PostgreSQL.
fn regression(folder: &Path) -> PathBuf {
    folder.join("postgresql-15/src/test/regress/sql")
}

#[test]
#[ignore = "takes minutes: make soak"]
fn postgresqls_own_statements() {
    let Some(cluster) = started("postgresqls_own_statements") else { return };
    let Some(corpora) = corpora() else {
        return skip("postgresqls_own_statements", "SHAREDDB_CORPORA names no folder");
    };
    let files = std::env::var("ANALYSIS_FILES").ok();
    let folder = regression(&corpora);
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".sql") && name != "test_setup.sql")
        .collect();
    names.sort();
    if let Some(files) = &files {
        names.retain(|name| files.split(',').any(|file| name == &format!("{file}.sql")));
    }
    let socket = cluster.socket();
    let mut main = Client::connect(&socket, "postgres");
    main.run("create database prepared").expect("a database");
    let setup = std::fs::read_to_string(folder.join("test_setup.sql")).expect("the setup");
    let mut prepared = Client::connect(&socket, "prepared");
    for statement in statements(&setup) {
        if !is_left_out(&statement) {
            let _ = prepared.run(&statement);
        }
    }
    drop(prepared);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let mut all = Count::default();
    for name in names {
        let made = main.run("create database one template prepared");
        made.expect("a copy of the prepared database");
        let text = String::from_utf8_lossy(&std::fs::read(folder.join(&name)).expect("a file"))
            .into_owned();
        let mut client = Client::connect(&socket, "one");
        let _ = client.run("set statement_timeout = '3s'");
        let before = (all.statements, all.major);
        compare(&mut client, &statements(&text), &mut all);
        println!("{name}: {} of {} differ", all.major - before.1, all.statements - before.0);
        write_report(&all);
        drop(client);
        let _ = main.run("drop database one with (force)");
    }
    println!("{}", all.report("regression").lines().next().unwrap_or_default());
}

/// What has differed so far, where somebody wants to read it.
fn write_report(count: &Count) {
    if let Ok(path) = std::env::var("ANALYSIS_REPORT") {
        std::fs::write(path, count.report("regression")).expect("the report");
    }
}
