//! What statements need, by example.

use std::sync::Arc;

use engine::types::{DataType, TableId, TableSchema};

use super::{Subject, needs_of};
use crate::catalog::{Catalog, ViewDefinition};
use crate::statement::create_table::plain_column;

fn catalog() -> Catalog {
    let table = |id: u32, name: &str, columns: &[&str]| {
        Arc::new(TableSchema {
            id: TableId(id),
            schema: "public".into(),
            name: name.into(),
            columns: columns.iter().map(|c| plain_column(c, DataType::Integer)).collect(),
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
        })
    };
    let view = |name: &str, text: &str| ViewDefinition {
        name: name.to_owned(),
        text: text.to_owned(),
        columns: Vec::new(),
    };
    let tables = [table(1, "t", &["a", "b", "c"]), table(2, "u", &["a", "x"])];
    let views = vec![view("v", "SELECT a, b FROM t"), view("w", "SELECT * FROM v")];
    Catalog::new(1, tables, [], views)
}

/// Each need as `relation privileges:read/inserted/updated`, with the view whose owner needs it.
fn needs(text: &str) -> Vec<String> {
    let statement = crate::template::parse(text).expect(text).remove(0);
    let mut found: Vec<String> = needs_of(&catalog(), &statement)
        .relations
        .into_iter()
        .map(|need| {
            let columns = need.columns[..3]
                .iter()
                .map(|columns| columns.iter().map(i16::to_string).collect::<Vec<_>>().join(","));
            let columns: Vec<String> = columns.collect();
            let owner = match need.subject {
                Subject::Invoker => String::new(),
                Subject::OwnerOf(view) => format!(" by {view}"),
            };
            let (relation, letters) = (need.relation, need.privileges.letters());
            format!("{relation} {letters}:{}{owner}", columns.join("/"))
        })
        .collect();
    found.sort();
    found
}

#[test]
fn reads_need_the_columns_that_they_name() {
    let cases: [(&str, &[&str]); 16] = [
        ("SELECT a FROM t WHERE b = 1 ORDER BY c", &["t r:1,2,3//"]),
        ("SELECT count(*) FROM t", &["t r://"]),
        ("SELECT * FROM t", &["t r:1,2,3//"]),
        ("SELECT t FROM t", &["t r:1,2,3//"]),
        ("SELECT z.q FROM t AS z(q)", &["t r:1//"]),
        ("SELECT x FROM t JOIN u USING (a)", &["t r:1//", "u r:1,2//"]),
        ("SELECT u.* FROM t, public.u", &["t r://", "u r:1,2//"]),
        ("SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE x = b)", &["t r:2//", "u r:2//"]),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", &["t r:1//"]),
        ("WITH q AS (SELECT 1) SELECT * FROM q", &[]),
        ("WITH RECURSIVE t AS (SELECT 1) SELECT * FROM t", &[]),
        ("SELECT a FROM (SELECT b AS a FROM t) d", &["t r:2//"]),
        ("SELECT a FROM t UNION SELECT x FROM u", &["t r:1//", "u r:2//"]),
        ("SELECT a FROM t FOR UPDATE", &["t rw:1//"]),
        ("SELECT a FROM __hidden.t", &["t r:1//"]),
        ("SELECT nothing FROM generate_series(1, 2)", &[]),
    ];
    for (text, wanted) in cases {
        assert_eq!(needs(text), wanted, "{text}");
    }
}

#[test]
fn writes_read_only_what_they_name() {
    let cases: [(&str, &[&str]); 13] = [
        ("INSERT INTO t VALUES (1, 2, 3)", &["t a:/1,2,3/"]),
        ("INSERT INTO t (b) VALUES (1)", &["t a:/2/"]),
        ("INSERT INTO t (b) SELECT x FROM u", &["t a:/2/", "u r:2//"]),
        ("INSERT INTO t (b) SELECT a FROM (SELECT x AS a FROM u) d", &["t a:/2/", "u r:2//"]),
        ("INSERT INTO t (b) VALUES (1) RETURNING a", &["t ar:1/2/"]),
        (
            "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = excluded.c",
            &["t arw:1,3/1/2"],
        ),
        ("INSERT INTO t DEFAULT VALUES", &["t a://"]),
        ("UPDATE t SET a = 1", &["t w://1"]),
        ("UPDATE t SET a = b WHERE c = 1", &["t rw:2,3//1"]),
        ("UPDATE t SET a = x FROM u WHERE u.a = t.b", &["t rw:2//1", "u r:1,2//"]),
        ("DELETE FROM t", &["t d://"]),
        ("DELETE FROM t USING u WHERE t.a = u.a", &["t rd:1//", "u r:1//"]),
        (
            "WITH q AS (SELECT a FROM u) DELETE FROM t WHERE b IN (SELECT a FROM q)",
            &["t rd:2//", "u r:1//"],
        ),
    ];
    for (text, wanted) in cases {
        assert_eq!(needs(text), wanted, "{text}");
    }
}

#[test]
fn views_are_read_with_their_owners_rights() {
    assert_eq!(needs("SELECT a FROM v"), ["t r:1,2// by v", "v r:1//"]);
    assert_eq!(needs("SELECT * FROM w"), ["t r:1,2// by v", "v r:1,2// by w", "w r:0//"]);
}

/// A text that a later version no longer parses, and views behind views without end, must not read what their owners may not.
#[test]
fn views_that_cannot_be_told_need_what_nobody_has() {
    let view = |name: String, text: String| ViewDefinition { name, text, columns: Vec::new() };
    let mut views = vec![view("broken".into(), "SELECT ) FROM".into())];
    views.push(view("v0".into(), "SELECT 1 AS a".into()));
    let above = |i: usize| view(format!("v{i}"), format!("SELECT a FROM v{}", i - 1));
    views.extend((1..20).map(above));
    let catalog = Catalog::new(1, [], [], views);
    let unknown = |text: &str| {
        let statement = crate::template::parse(text).expect(text).remove(0);
        let needs = needs_of(&catalog, &statement);
        assert!(!needs.is_empty());
        needs.unknown
    };
    assert_eq!(unknown("SELECT * FROM broken"), ["broken"]);
    assert!(unknown("SELECT a FROM v15").is_empty());
    assert_eq!(unknown("SELECT a FROM v16"), ["v0"]);
    assert_eq!(unknown("SELECT a FROM v19"), ["v3"]);
}

#[test]
fn what_shows_others_is_guarded() {
    let system = |text: &str| {
        let statement = crate::template::parse(text).expect(text).remove(0);
        needs_of(&catalog(), &statement).system
    };
    assert_eq!(system("SELECT * FROM pg_authid"), ["pg_authid"]);
    assert_eq!(system("SELECT * FROM pg_catalog.pg_shadow"), ["pg_shadow"]);
    assert_eq!(system("SELECT * FROM shareddb.templates"), ["templates"]);
    assert!(system("SELECT * FROM pg_class").is_empty());
}
