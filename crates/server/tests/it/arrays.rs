//! Arrays as parameters, binary through tokio-postgres and as literals through raw messages.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};

use crate::fixture::Fixture;
use crate::raw::{Messages, Raw};
use crate::within::within;

const TABLE: &str = "CREATE TABLE t (id integer PRIMARY KEY, name text, short varchar(5), s smallint, \
    b bigint, r real, x double precision, w numeric(6, 2), ok boolean, at date, m timestamp, z timestamptz, raw bytea)";

const ROWS: &str = "INSERT INTO t VALUES \
    (1, 'a', 'a', 1, 10, 1.5, 1.5, 1.5, true, '2024-01-01', '2024-01-01 10:00', '2024-01-01 10:00+00', '\\x01'), \
    (2, 'b c', 'b', 2, 20, 2.5, 2.5, 2.25, false, '2024-01-02', '2024-01-02 10:00', '2024-01-02 10:00+00', '\\x02'), \
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)";

async fn connect(fixture: &Fixture) -> Client {
    let text =
        format!("host=127.0.0.1 port={} user=shareddb dbname=shareddb", fixture.address.port());
    let connected = within("an answer", tokio_postgres::connect(&text, NoTls)).await;
    let (client, connection) = connected.expect("let in");
    tokio::spawn(connection);
    client
}

/// The ids of the rows for which a condition on `$1` is true.
async fn ids(client: &Client, condition: &str, array: &(dyn ToSql + Sync)) -> Vec<i32> {
    let text = format!("SELECT id FROM t WHERE {condition} ORDER BY id");
    let rows = within(condition, client.query(&text, &[array])).await.expect(condition);
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn slices_are_parameters() {
    let fixture = Fixture::new();
    let client = connect(&fixture).await;
    client.batch_execute(TABLE).await.expect("creates");
    client.batch_execute(ROWS).await.expect("stores");
    assert_eq!(ids(&client, "id = ANY($1)", &vec![1i32, 3, 9]).await, [1, 3]);
    assert_eq!(ids(&client, "id = ANY($1)", &Vec::<i32>::new()).await, [0i32; 0]);
    assert_eq!(ids(&client, "id = ANY($1)", &None::<Vec<i32>>).await, [0i32; 0]);
    assert_eq!(ids(&client, "id <> ALL($1)", &vec![1i32, 3]).await, [2]);
    assert_eq!(ids(&client, "id <> ALL($1)", &vec![Some(1i32), None]).await, [0i32; 0]);
    assert_eq!(ids(&client, "id < ALL($1)", &vec![2i32, 3]).await, [1]);
    assert_eq!(ids(&client, "name = ANY($1)", &vec!["a", "b c", "NULL"]).await, [1, 2]);
    assert_eq!(ids(&client, "name <> ALL($1)", &vec!["a"]).await, [2]);
    assert_eq!(ids(&client, "short = ANY($1)", &vec!["a".to_owned()]).await, [1]);
    assert_eq!(ids(&client, "s = ANY($1)", &vec![2i16]).await, [2]);
    assert_eq!(ids(&client, "b = ANY($1)", &vec![10i64, i64::MAX]).await, [1]);
    assert_eq!(ids(&client, "b = ANY($1::int[])", &vec![20i32]).await, [2]);
    assert_eq!(ids(&client, "r = ANY($1)", &vec![1.5f32]).await, [1]);
    assert_eq!(ids(&client, "x > ANY($1)", &vec![1.5f64, 9.0]).await, [2]);
    assert_eq!(ids(&client, "ok = ANY($1)", &vec![false]).await, [2]);
    assert_eq!(ids(&client, "raw = ANY($1)", &vec![vec![2u8], vec![]]).await, [2]);
    let doomed = vec![2i32, 3];
    let doomed: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&doomed];
    let deleted = client.execute("DELETE FROM t WHERE id = ANY($1)", &doomed);
    assert_eq!(within("the rows", deleted).await.expect("deletes"), 2);
}

/// Runs a prepared text with one parameter; its type's id, and the first column.
fn run(raw: &mut Raw, text: &str, parameter: Option<&str>) -> (u32, Vec<String>) {
    raw.parse("", text);
    raw.describe('S', "");
    raw.bind("", "", &[parameter]);
    raw.execute("", 0);
    raw.sync();
    let messages = raw.until_ready();
    let described = messages.iter().find(|message| message.tag == b't').expect("described");
    let id = u32::from_be_bytes(described.body[2..6].try_into().expect("four bytes"));
    let rows = messages.rows().into_iter();
    (id, rows.map(|row| row[0].clone().unwrap_or_default()).collect())
}

#[test]
fn literals_are_parameters() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.run(TABLE);
    raw.run(ROWS);
    let mut ids = |condition: &str, parameter| {
        let text = format!("SELECT id FROM t WHERE {condition} ORDER BY id");
        let (type_id, ids) = run(&mut raw, &text, parameter);
        (type_id, ids.join(","))
    };
    let found = |type_id, ids: &str| (type_id, ids.to_owned());
    assert_eq!(ids("id = ANY($1)", Some("{1, 3,NULL}")), found(1007, "1,3"));
    assert_eq!(ids("id = ANY($1)", Some("{}")), found(1007, ""));
    assert_eq!(ids("id = ANY($1)", None), found(1007, ""));
    assert_eq!(ids("id <> ALL($1)", Some("{1}")), found(1007, "2,3"));
    assert_eq!(ids("name = ANY($1)", Some("{a,\"b c\"}")), found(1009, "1,2"));
    assert_eq!(ids("w = ANY($1)", Some("{1.50,2.254}")), found(1231, "1"));
    assert_eq!(ids("at = ANY($1)", Some("{2024-01-02}")), found(1182, "2"));
    assert_eq!(ids("m = ANY($1)", Some("{2024-01-02 10:00}")), found(1115, "2"));
    assert_eq!(ids("z = ANY($1)", Some("{\"2024-01-02 12:00+02\"}")), found(1185, "2"));
    assert_eq!(ids("id = ANY($1::bigint[])", Some("{2}")), found(1016, "2"));
}

#[test]
fn what_is_no_array_is_refused() {
    let fixture = Fixture::new();
    let mut raw = fixture.connect();
    raw.run(TABLE);
    raw.run(ROWS);
    for (parameter, state) in
        [("1", "22P02"), ("{x}", "22P02"), ("{{1},{2}}", "0A000"), ("[2:2]={1}", "0A000")]
    {
        raw.parse("", "SELECT id FROM t WHERE id = ANY($1)");
        raw.bind("", "", &[Some(parameter)]);
        raw.execute("", 0);
        raw.sync();
        assert_eq!(raw.until_ready().states(), [state], "{parameter}");
    }
}
