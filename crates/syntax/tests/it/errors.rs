//! What is refused, as PostgreSQL 15 refuses it: each row was answered by it.

use syntax::{Severity, parse, parse_bytes};

/// SQLSTATE, message and position of a text that is refused.
fn refused(text: &str) -> (String, String, Option<usize>) {
    let error = parse(text).expect_err(text);
    (error.sqlstate().to_owned(), error.message, error.position)
}

#[test]
fn errors_have_postgresqls_words_and_positions() {
    for (text, sqlstate, message, position) in [
        ("select from from", "42601", "syntax error at or near \"from\"", Some(13)),
        ("select 'éé' from from", "42601", "syntax error at or near \"from\"", Some(18)),
        ("select", "", "", None),
        ("select 1 +", "42601", "syntax error at end of input", Some(11)),
        ("select 'a", "42601", "unterminated quoted string at or near \"'a\"", Some(8)),
        ("select /* a", "42601", "unterminated /* comment at or near \"/* a\"", Some(8)),
        ("select \"\"", "42601", "zero-length delimited identifier at or near \"\"\"\"", Some(8)),
        ("select E'\\u12'", "22025", "invalid Unicode escape", Some(10)),
        ("select E'\\000'", "22021", "invalid byte sequence for encoding \"UTF8\": 0x00", None),
        ("select U&'\\00g1'", "42601", "invalid Unicode escape", Some(11)),
        ("select 1 'a' 'b'", "42601", "syntax error at or near \"'a'\"", Some(10)),
        (
            "create assertion a check (true)",
            "0A000",
            "CREATE ASSERTION is not yet implemented",
            None,
        ),
        ("create role public", "42939", "role name \"public\" is reserved", Some(13)),
        ("create role none", "42939", "role name \"none\" is reserved", Some(13)),
    ] {
        if sqlstate.is_empty() {
            assert!(parse(text).is_ok(), "{text}");
        } else {
            assert_eq!(
                refused(text),
                (sqlstate.to_owned(), message.to_owned(), position),
                "{text}"
            );
        }
    }
}

#[test]
fn hints_and_details_come_along() {
    let error = parse("select E'\\u12'").expect_err("an escape of two digits");
    assert_eq!(error.hint.as_deref(), Some("Unicode escapes must be \\uXXXX or \\UXXXXXXXX."));
    let error = parse("select * from (select 1)").expect_err("no alias");
    assert_eq!(error.hint.as_deref(), Some("For example, FROM (SELECT ...) [AS] foo."));
}

#[test]
fn newer_grammar_is_refused_as_postgresql_15_does() {
    let near = |token: &str| format!("syntax error at or near \"{token}\"");
    let junk = |token: &str| format!("trailing junk after numeric literal at or near \"{token}\"");
    let alias = |what: &str| format!("{what} in FROM must have an alias");
    for (text, message, position) in [
        ("select 0x1F", junk("0x1F"), Some(8)),
        ("select 0b1", junk("0b1"), Some(8)),
        ("select 0o7", junk("0o7"), Some(8)),
        ("select 0x", junk("0x"), Some(8)),
        ("select 0.0e+a", junk("0.0e+"), Some(8)),
        ("select 1_000", junk("1_000"), Some(8)),
        ("select 1.5_0", junk("1.5_0"), Some(8)),
        ("select 123abc", junk("123abc"), Some(8)),
        ("select - 0x1F", junk("0x1F"), Some(10)),
        ("select $1a", "trailing junk after parameter at or near \"$1a\"".to_owned(), Some(8)),
        ("select interval $1", near("$1"), Some(17)),
        ("set x = $1", near("$1"), Some(9)),
        ("alter role r password $1", near("$1"), Some(23)),
        ("select * from (select 1)", alias("subquery"), Some(15)),
        ("select * from ((select 1))", alias("subquery"), Some(15)),
        ("select * from a, (values (1))", alias("VALUES"), Some(18)),
        ("select now() at local", near("local"), Some(17)),
        (
            "merge into a using b on true when matched then delete returning a",
            near("returning"),
            Some(55),
        ),
        ("insert into a values (1) returning with (old as o) o.a", near("with"), Some(36)),
        (
            "create table a (b int, c int generated always as (b) virtual)",
            near("virtual"),
            Some(54),
        ),
        ("create table a (b int storage plain)", near("storage"), Some(23)),
        ("create table a (b int check (b > 0) not enforced)", near("enforced"), Some(41)),
        ("grant a to b with inherit true", near("inherit"), Some(19)),
    ] {
        assert_eq!(refused(text), ("42601".to_owned(), message, position), "{text}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    for (bytes, message) in [
        (&b"select '\xff'"[..], "invalid byte sequence for encoding \"UTF8\": 0xff"),
        (b"select '\xe2\x82'", "invalid byte sequence for encoding \"UTF8\": 0xe2 0x82 0x27"),
        (b"select '\xc3", "invalid byte sequence for encoding \"UTF8\": 0xc3"),
        (b"select \0 1", "invalid byte sequence for encoding \"UTF8\": 0x00"),
    ] {
        let error = parse_bytes(bytes).expect_err("no text");
        assert_eq!((error.sqlstate(), error.message.as_str()), ("22021", message));
    }
}

#[test]
fn cut_identifiers_are_told() {
    let long = "é".repeat(40);
    let tree = parse(&format!("select 1 as {long}")).expect("it is cut, not refused");
    let [notice] = tree.notices() else { panic!("{:?}", tree.notices()) };
    assert_eq!((notice.severity, notice.error.sqlstate()), (Severity::Notice, "42622"));
    let cut = "é".repeat(31);
    let message = format!("identifier \"{long}\" will be truncated to \"{cut}\"");
    assert_eq!(notice.error.message, message);
    let refused = parse(&format!("select 1 as {long} from from")).expect_err("two FROMs");
    assert_eq!(refused.notices.len(), 1);
    let global = parse("create global temporary table a (b int)").expect("it is deprecated");
    assert_eq!(global.notices()[0].severity, Severity::Warning);
}
