//! COPY through sessions.

use sql::{CopyIn, ImplicitTransaction, Outcome, Session};

use crate::connection::{Given, column, database, query};

async fn copy_in(session: &mut Session, text: &str) -> Box<dyn CopyIn> {
    let statement = session.prepare(text, &[]).await.expect("parses");
    match session.execute(&statement, Vec::new(), ImplicitTransaction::Alone).await {
        Ok(Outcome::CopyIn(copy)) => copy,
        Ok(_) => panic!("{text} takes no data"),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn text_comes_in_and_goes_out_as_it_was() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int PRIMARY KEY, b text, c numeric(6,2) DEFAULT 1.5)")
        .await
        .expect("created");
    let mut copy = copy_in(&mut session, "copy t (a, b) from stdin with (freeze on)").await;
    assert_eq!(copy.columns().len(), 2);
    // Messages end in the middle of rows.
    for piece in ["1\tone\n2", "\t\\N\n3\tta\\tb", "\n\\.\n"] {
        copy.data(&mut session, piece.as_bytes()).await.expect("well formed");
    }
    assert_eq!(copy.done(&mut session).await.as_deref(), Ok("COPY 3"));
    let out = query(&mut session, "COPY t TO STDOUT").await.expect("rows");
    let mut lines = column(&out);
    lines.sort();
    assert_eq!(lines, ["1\tone\t1.50\n", "2\t\\N\t1.50\n", "3\tta\\tb\t1.50\n"]);
    assert_eq!(out.tag, "COPY 3");
    let csv = "COPY (SELECT a, b FROM t ORDER BY a) TO STDOUT WITH (FORMAT csv, HEADER)";
    let out = query(&mut session, csv).await.expect("rows");
    assert_eq!(column(&out), ["a,b\n", "1,one\n", "2,\n", "3,ta\tb\n"]);
}

#[tokio::test]
async fn a_bad_line_leaves_nothing_behind_and_says_where() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int, b int)").await.expect("created");
    let mut copy = copy_in(&mut session, "COPY t FROM STDIN").await;
    let error = copy.data(&mut session, b"1\t2\n3\tx\n").await.expect_err("not a number");
    assert_eq!(error.state.code(), "22P02");
    assert_eq!(error.context.as_deref(), Some("COPY t, line 2, column b: \"x\""));
    let mut copy = copy_in(&mut session, "COPY t FROM STDIN").await;
    copy.data(&mut session, b"1\n").await.expect_err("too short");
    let mut copy = copy_in(&mut session, "COPY t FROM STDIN CSV").await;
    copy.data(&mut session, b"1,2\n1,2,3\n").await.expect_err("too long");
    let mut copy = copy_in(&mut session, "COPY t FROM STDIN").await;
    copy.fail(&mut session, "no more").await;
    let rows = query(&mut session, "SELECT count(*) FROM t").await.expect("counts");
    assert_eq!(column(&rows), ["0"]);
}

#[tokio::test]
async fn constraints_hold_for_all_rows_or_none() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int PRIMARY KEY, b int CHECK (b > 0))")
        .await
        .expect("created");
    for (data, state) in
        [(&b"1\t1\n1\t2\n"[..], "23505"), (b"1\t-1\n", "23514"), (b"\\N\t1\n", "23502")]
    {
        let mut copy = copy_in(&mut session, "COPY t FROM STDIN").await;
        let fault = match copy.data(&mut session, data).await {
            Ok(()) => copy.done(&mut session).await.map(|_| ()),
            Err(error) => Err(error),
        };
        assert_eq!(fault.expect_err("refused").state.code(), state);
    }
    let rows = query(&mut session, "SELECT count(*) FROM t").await.expect("counts");
    assert_eq!(column(&rows), ["0"]);
}

#[tokio::test]
async fn a_block_takes_copied_rows_with_it() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int)").await.expect("created");
    for (end, count) in [("ROLLBACK", "0"), ("COMMIT", "2")] {
        query(&mut session, "BEGIN").await.expect("begins");
        let mut copy = copy_in(&mut session, "COPY t FROM STDIN").await;
        copy.data(&mut session, b"1\n2\n").await.expect("well formed");
        copy.done(&mut session).await.expect("copied");
        query(&mut session, end).await.expect("ends");
        let rows = query(&mut session, "SELECT count(*) FROM t").await.expect("counts");
        assert_eq!(column(&rows), [count]);
    }
}

/// The first row.
fn row(given: &Given) -> Vec<&str> {
    given.rows[0].iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect()
}

/// COPY of these lines, each in a message of its own.
async fn copy(
    session: &mut Session,
    text: &str,
    data: &str,
) -> Result<String, engine::types::Error> {
    let mut copy = copy_in(session, text).await;
    for line in data.split_inclusive('\n') {
        copy.data(session, line.as_bytes()).await?;
    }
    copy.done(session).await
}

#[tokio::test]
async fn many_rows_come_in_and_a_late_fault_says_where() {
    let database = database();
    let mut session = database.session("shareddb");
    let create = "CREATE TABLE t (a int PRIMARY KEY, b text, c serial, d int DEFAULT 1 + 1)";
    query(&mut session, create).await.expect("created");
    let lines = |rows: std::ops::Range<i32>| -> String {
        rows.map(|row| format!("{row},\"text\n{}\"\n", row % 9)).collect()
    };
    let statement = "COPY t (a, b) FROM STDIN (FORMAT csv, HEADER)";
    let data = format!("a,b\n{}", lines(0..20_000));
    assert_eq!(copy(&mut session, statement, &data).await.as_deref(), Ok("COPY 20000"));
    let sums = "SELECT count(*), sum(a), max(c), sum(d), count(DISTINCT b) FROM t";
    let sums = query(&mut session, sums).await.expect("sums");
    assert_eq!(row(&sums), ["20000", "199990000", "20000", "40000", "9"]);
    // The first fault in order of lines is told, whatever its kind.
    for (more, state, context) in [
        ("a,b\n-1,x\n17,y\n", "23505", "COPY t, line 3"),
        ("a,b\n-1,x\n-2,x\n-1,y\n", "23505", "COPY t, line 4"),
        ("a,b\n-1,x\n,x\n-1,y\nx,y\n", "23502", "COPY t, line 3"),
        ("a,b\n-1,x\nx,y\n,x\n", "22P02", "COPY t, line 3, column a: \"x\""),
        ("a,b\n-1,x\n-2\n", "22P04", "COPY t, line 3: \"-2\""),
    ] {
        let error = copy(&mut session, statement, more).await.expect_err("refused");
        assert_eq!((error.state.code(), error.context.as_deref()), (state, Some(context)));
    }
    let count = query(&mut session, "SELECT count(*) FROM t").await.expect("counts");
    assert_eq!(column(&count), ["20000"]);
}

#[tokio::test]
async fn a_large_insert_is_like_many_small_ones() {
    let database = database();
    let mut session = database.session("shareddb");
    let create = "CREATE TABLE t (a int PRIMARY KEY, b numeric(8,2), c varchar(3), d serial, \
                  CHECK (b >= 0))";
    query(&mut session, create).await.expect("created");
    query(&mut session, "CREATE TABLE s (a int, b numeric(9,3))").await.expect("created");
    let values: Vec<String> = (0..3_000).map(|row| format!("({row}, {row}.005)")).collect();
    let insert = format!("INSERT INTO s VALUES {}", values.join(", "));
    assert_eq!(query(&mut session, &insert).await.expect("inserted").tag, "INSERT 0 3000");
    let select = "INSERT INTO t (a, b, c) SELECT a, b, 'abc' FROM s";
    assert_eq!(query(&mut session, select).await.expect("inserted").tag, "INSERT 0 3000");
    let sums = query(&mut session, "SELECT sum(b), max(d), min(c) FROM t").await.expect("sums");
    assert_eq!(row(&sums), ["4498530.00", "3000", "abc"]);
    for (select, state) in [
        (select.to_owned(), "23505"),
        ("INSERT INTO t (a, b, c) SELECT a + 5000, b, 'abcd' FROM s".to_owned(), "22001"),
        ("INSERT INTO t (a, b) SELECT a + 5000, b - 7 FROM s".to_owned(), "23514"),
        ("INSERT INTO t (a, b) SELECT NULL, b FROM s".to_owned(), "23502"),
    ] {
        let Err(error) = query(&mut session, &select).await else { panic!("{select} is refused") };
        assert_eq!(error.state.code(), state, "{select}");
    }
    let count = query(&mut session, "SELECT count(*) FROM t").await.expect("counts");
    assert_eq!(column(&count), ["3000"]);
}

#[tokio::test]
async fn columns_are_forced_as_postgresql_does() {
    let database = database();
    let mut session = database.session("shareddb");
    query(&mut session, "CREATE TABLE t (a int, b text, c text)").await.expect("created");
    let options = "(FORMAT csv, FORCE_NULL (b, c), FORCE_NOT_NULL (c), NULL 'nil')";
    let mut copy = copy_in(&mut session, &format!("COPY t FROM STDIN {options}")).await;
    let lines = b"1,\"nil\",nil\n2,nil,\"nil\"\n3,x,\"y\"\n";
    copy.data(&mut session, lines).await.expect("well formed");
    assert_eq!(copy.done(&mut session).await.as_deref(), Ok("COPY 3"));
    let mut copy = copy_in(&mut session, "COPY t FROM STDIN CSV FORCE NOT NULL b, c").await;
    copy.data(&mut session, b"4,,\n").await.expect("well formed");
    assert_eq!(copy.done(&mut session).await.as_deref(), Ok("COPY 1"));
    let rows = "COPY (SELECT a, b, c FROM t ORDER BY a) TO STDOUT";
    let out = query(&mut session, &format!("{rows} (NULL '-')")).await.expect("rows");
    assert_eq!(column(&out), ["1\t-\tnil\n", "2\t-\t-\n", "3\tx\ty\n", "4\t\t\n"]);
    let forced = format!("{rows} (FORMAT csv, HEADER, FORCE_QUOTE (b, a))");
    let out = query(&mut session, &forced).await.expect("rows");
    let expected = ["a,b,c\n", "\"1\",,nil\n", "\"2\",,\n", "\"3\",\"x\",y\n", "\"4\",\"\",\"\"\n"];
    assert_eq!(column(&out), expected);
    for all in ["(FORMAT csv, FORCE_QUOTE *)", "CSV FORCE QUOTE *"] {
        let out = query(&mut session, &format!("{rows} {all}")).await.expect("rows");
        assert_eq!(column(&out)[2], "\"3\",\"x\",\"y\"\n", "{all}");
    }
}
