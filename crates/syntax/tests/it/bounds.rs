//! Long and deep texts: all that PostgreSQL 15 takes is taken, and nothing ends the process.

use syntax::{Limits, Node, parse, parse_within};

/// A text of `count` repetitions between two ends.
fn text(before: &str, repeated: &str, count: usize, middle: &str, repeated_behind: &str) -> String {
    format!("{before}{}{middle}{}", repeated.repeat(count), repeated_behind.repeat(count))
}

fn nodes(text: &str) -> usize {
    let tree = parse(text).unwrap_or_else(|error| panic!("{error}: {:.60}", text));
    tree.statements().map(|statement| statement.node.descendants().count()).sum()
}

fn refused(text: &str) -> (String, String, Option<usize>) {
    let error = parse(text).expect_err("it is beyond the limits");
    (error.sqlstate().to_owned(), error.message, error.position)
}

#[test]
fn what_postgresql_takes_is_taken() {
    assert!(nodes(&text("select ", "(", 3_000, "1", ")")) < 10);
    assert!(nodes(&text("select 1", "::int", 12_000, "", "")) > 12_000);
    assert!(nodes(&text("select 1", " union all select 1", 5_000, "", "")) > 15_000);
    assert!(nodes(&text("select true", " and true", 50_000, "", "")) > 50_000);
    assert!(nodes(&text("select 1", " + 1", 20_000, "", "")) > 40_000);
    assert!(nodes(&text("select ", "not ", 7_300, "true", "")) > 7_300);
    assert!(nodes(&text("select ", "(select ", 1_500, "1", ")")) > 3_000);
    assert!(nodes(&text("select 1 from a", " join a on true", 20_000, "", "")) > 40_000);
    assert!(nodes(&text("select 1", " collate \"C\"", 20_000, "", "")) > 20_000);
    assert!(nodes(&text("select 1", " is null", 20_000, "", "")) > 20_000);
}

#[test]
fn the_grammars_own_stack_is_postgresqls() {
    let exhausted = |near: &str| format!("memory exhausted at or near \"{near}\"");
    let parentheses = text("select ", "(", 100_000, "1", ")");
    assert_eq!(refused(&parentheses), ("42601".to_owned(), exhausted("("), Some(10_004)));
    let cases = text("select ", "case when true then ", 3_000, "1", " end");
    assert_eq!(refused(&cases).0, "42601");
}

#[test]
fn what_is_too_deep_is_54001() {
    let limit = ("54001".to_owned(), "stack depth limit exceeded".to_owned(), None);
    assert_eq!(refused(&text("select now()", " at time zone 'UTC'", 20_000, "", "")), limit);
    let hint = parse(&text("select now()", " at time zone 'UTC'", 20_000, "", ""))
        .expect_err("it is too deep")
        .hint
        .expect("PostgreSQL has one");
    assert!(hint.contains("\"max_stack_depth\" (currently 2048kB)"), "{hint}");
    let limits = Limits { depth: 100, ..Limits::DEFAULT };
    let deep = parse_within(&text("select ", "not ", 100, "true", ""), &limits);
    assert_eq!(deep.expect_err("100 NOTs are below three nodes").sqlstate(), "54001");
    let limits = Limits { nodes: 100, ..Limits::DEFAULT };
    let many = parse_within(&text("select 1", ", 1", 100, "", ""), &limits);
    assert_eq!(many.expect_err("200 nodes").sqlstate(), "54001");
}

#[test]
fn recursion_of_the_library_ends() {
    // The grammar asks where ORDER BY stands, down a chain of operators.
    let chain = text("(select 1 order by 1", "+1", 1_000_000, ") order by 1", "");
    let error = parse(&chain).expect_err("there are two ORDER BYs");
    assert_eq!(
        (error.sqlstate(), error.message.as_str(), error.position),
        ("42601", "multiple ORDER BY clauses not allowed", Some(chain.len()))
    );
    // The grammar copies a type and compares two, with what stands in their parentheses.
    let chain = text("numeric(1", "+1", 100_000, ")", "");
    for deep in [
        format!("create function f() returns table (a {chain}) language sql"),
        format!("create aggregate a (variadic x {chain} order by variadic x {chain}) (sfunc = f)"),
    ] {
        match parse(&deep) {
            Ok(tree) => assert_eq!(tree.statements().len(), 1),
            Err(error) => assert_eq!(error.sqlstate(), "54001", "{error}"),
        }
    }
}

#[test]
fn what_is_too_long_is_54000() {
    let limits = Limits { bytes: 10, ..Limits::DEFAULT };
    assert!(parse_within("select 123", &limits).is_ok());
    assert_eq!(parse_within("select 1234", &limits).expect_err("11 bytes").sqlstate(), "54000");
    let limits = Limits { arena_bytes: 1 << 20, ..Limits::DEFAULT };
    let long = text("select 1", ", 1", 100_000, "", "");
    let error = parse_within(&long, &limits).expect_err("it takes more than a megabyte");
    assert_eq!((error.sqlstate(), error.message.as_str()), ("54000", "statement is too long"));
    assert!(parse(&long).is_ok(), "the thread that refused it goes on");
}

#[test]
fn many_threads_parse_long_texts() {
    let long = text("select 1", ", 1", 10_000, "", "");
    let counted: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..40).map(|_| scope.spawn(|| nodes(&long))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it parses")).collect()
    });
    assert!(counted.iter().all(|count| *count == 20_003), "{counted:?}");
}

#[test]
fn threads_may_come_and_go() {
    for _ in 0..2_000 {
        let thread = std::thread::spawn(|| parse("select 1").expect("it is SQL").memory_bytes());
        assert_eq!(thread.join().expect("it parses"), 8_192);
    }
}

#[test]
fn descendants_come_from_the_left() {
    let tree = parse("select a + b * c, d").expect("it is SQL");
    let statement = tree.statements().next().expect("there is one");
    let names = statement.node.descendants().filter_map(|node| match node {
        Node::StringValue(name) => name.value(),
        _ => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), ["+", "a", "*", "b", "c", "d"]);
}

#[test]
fn outlines_of_deep_trees_end() {
    let tree = parse(&text("select 1", " + 1", 20_000, "", "")).expect("a chain is not deep");
    assert!(format!("{tree:?}").contains(".."));
}
