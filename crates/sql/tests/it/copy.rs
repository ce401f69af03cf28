//! COPY through sessions.

use sql::{CopyIn, ImplicitTransaction, Outcome, Session};

use crate::connection::{column, database, query};

async fn copy_in(session: &mut Session, text: &str) -> Box<dyn CopyIn> {
    let statement = session.prepare(text, &[]).expect("parses");
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
    assert_eq!(copy.columns(), 2);
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
    let copy = copy_in(&mut session, "COPY t FROM STDIN").await;
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
